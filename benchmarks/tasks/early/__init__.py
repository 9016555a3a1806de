"""Tasks to choose defaults on, of nine families; `benchmarks.tasks.early.registry` names them."""

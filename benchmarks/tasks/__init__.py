"""What benchmarks optimise; `registry` has the tasks by name."""

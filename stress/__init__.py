"""Stress tests: what must never happen to a search that runs for days, tried on purpose.

Every part is a module with a function `run(part, short)` that tries things and says what it saw:
`part.check` for what must hold, `part.figures` for what was measured. `python -m stress` runs
them (`make stress`); the short version of each is a test (`tests/test_stress.py`).
"""

PARTS = ("kill", "files", "concurrency", "values", "determinism", "security", "versions")

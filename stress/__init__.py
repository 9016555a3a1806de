"""Stress tests: what must never happen to a search that runs for days, tried on purpose.

Every part is a module of tests, `stress/test_<part>.py`; the others are what these use. A test
tries things and says what it saw: `part.check` for what must hold, `part.figures` for what was
measured. `make stress` runs them in full (`pytest stress --full`), `make test-slow` in short.
"""

PARTS = ("kill", "files", "concurrency", "values", "determinism", "security", "versions")

"""Compare thomax with its rivals on suites of tasks: `python -m benchmarks compare`."""

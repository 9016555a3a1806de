"""Compare thomax with its rivals on suites of tasks: `thomax bench compare`."""

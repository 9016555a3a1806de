"""Benchmarks are no part of the library: `make test` leaves their tests to `make test-slow`."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in Path(item.path).parents:
            item.add_marker(pytest.mark.slow)

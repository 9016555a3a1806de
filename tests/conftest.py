"""What `make test` leaves to `make test-slow`: the marker `slow`, and whole folders."""

from pathlib import Path

import pytest

SLOW_FOLDERS = {"bench"}  # benchmarks are no part of the library


def pytest_collection_modifyitems(items):
    for item in items:
        if SLOW_FOLDERS & {*Path(item.path).relative_to(Path(__file__).parent).parts}:
            item.add_marker(pytest.mark.slow)

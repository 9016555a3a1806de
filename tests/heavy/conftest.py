"""Settings that Ray reads when it is imported, and which tests share a worker."""

import os

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep the tests of a file together, for what they start takes long, unless they say else."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))

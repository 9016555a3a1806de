"""One folder for all experiments of a file: figures of the same task share its runs."""

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")

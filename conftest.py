"""For all tests: a worker that has compiled for a thousand tests forgets what it compiled.

Without this each of the two workers of `make test` grows to 4 GB.
"""

import ctypes
import gc
import sys
from pathlib import Path

import pytest

_STATUS = Path("/proc/self/statm")  # Linux; elsewhere nothing is forgotten
_MEGABYTES = 700
_PAGE = 4096


@pytest.fixture(autouse=True, scope="module")
def _forget_what_was_compiled():
    yield
    if "jax" not in sys.modules or not _STATUS.exists():
        return
    if int(_STATUS.read_text().split()[1]) * _PAGE > _MEGABYTES * 2**20:
        sys.modules["jax"].clear_caches()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # else the allocator keeps what was freed

"""For all tests: a worker that has compiled for a thousand tests forgets what it compiled.

Without that each of the two workers of `make test` grows to 4 GB.
"""

import ctypes
import gc
import os
import signal
import sys
import warnings
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


@pytest.fixture
def in_child():
    """Return a function that acts in a forked child."""
    return _in_child


def _in_child(act):
    """Fork, act in the child, and return its status: 0 unless it raised or hung."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that threads and forks are a risk: that is tested here
        child = os.fork()
    if not child:
        signal.alarm(30)
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]

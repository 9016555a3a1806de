"""Keep BLAS to one thread where matrices are small, and several of them to several threads.

On few cores the threads of BLAS wait for each other and for those of JAX: a 200 x 200
factorisation of 0.2 ms was seen to take 8 ms. One thread is never much slower at these sizes; and
the draws of a batch, which have a kernel matrix each, take a thread each without waiting.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

_LARGE = 1500  # rows from which more threads pay within a product or a factorisation
_SMALL = 200  # rows below which nothing pays

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


_limiting = threading.Lock()  # held by the thread whose limit is in force


@contextmanager
def small_matrices(rows: int) -> Iterator[None]:
    """Limit BLAS to one thread within this block unless matrices have many rows.

    The limit is mostly the whole process's. So one thread at a time sets and restores it; others
    that come meanwhile would take it for the user's own, and restore that.

    Args:
        rows: How many rows the matrices have.
    """
    if rows >= _LARGE or not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limiting.release()


def side_by_side(
    function: Callable[[Item], Result], items: Sequence[Item], rows: int
) -> list[Result]:
    """Apply a function of matrices with so many rows to each item, in threads where it pays.

    It pays for NumPy's products. SciPy's factorisations hold Python's lock: they gain nothing.

    Args:
        function: What is applied to each item.
        items: The arguments, one for each call.
        rows: How many rows the matrices have that the function works on.
    """
    if not _SMALL <= rows < _LARGE:
        return [function(item) for item in items]
    return in_threads(function, items)


def in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Apply a function to each item, in as many threads as there are cores.

    Args:
        function: What is applied to each item, a millisecond of NumPy or more.
        items: The arguments, one for each call.
    """
    threads = min(_cores(), len(items))
    if threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as executor:
        return list(executor.map(function, items))


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return (os.cpu_count() or 1) if affinity is None else len(affinity(0))

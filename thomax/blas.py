"""Keep BLAS to one thread where matrices are small.

On few cores the threads of BLAS wait for each other and for those of JAX: a 200 x 200
factorisation of 0.2 ms was seen to take 8 ms. One thread is never much slower at these sizes.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_LARGE = 1500  # rows from which more threads pay


@cache
def _controller() -> Any:
    return ThreadpoolController()


def small_matrices(rows: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread within this block unless matrices have many rows."""
    limit = 1 if rows < _LARGE else None
    return _controller().limit(limits=limit, user_api="blas")

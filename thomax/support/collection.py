"""Python's search for objects that only refer to each other, put off while many are made."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collection_put_off() -> Iterator[None]:
    """Keep the garbage collector from looking, in the body, at all that is being read.

    It looks again and again at whatever has grown: a third of the time of opening a long journal.
    What is no longer referred to is freed at once, as always.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

"""Values of parameters as users give them: unwrapped, compared, copied and shown."""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

Scalar: TypeAlias = str | int | float | bool | None
T = TypeVar("T")


def python_scalar(value: Any) -> Any:
    """Return a scalar of NumPy or JAX as Python's; anything else as it is.

    Args:
        value: Any object.
    """
    return value.item() if getattr(value, "ndim", None) == 0 else value


def identity(value: object) -> tuple[bool, object]:
    """Return what makes two options the same: True is not 1, but 1 is 1.0.

    Args:
        value: A scalar.
    """
    return isinstance(value, bool), value


def are_equal(a: Any, b: Any) -> bool:
    """Return whether two objects are the same or equal; those that cannot be compared are not.

    Args:
        a: Any object.
        b: Any other.
    """
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) is dict:
        return a.keys() == b.keys() and all(are_equal(a[key], b[key]) for key in a)
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(are_equal, a, b))
    try:
        if isinstance(a, np.ndarray):  # a copy is equal also where it holds nan
            is_copy = a.dtype == b.dtype != object and a.tobytes() == b.tobytes()
            return np.array_equal(a, b) or (is_copy and a.shape == b.shape)
        return bool(a == b)
    except Exception:
        return False


def copied(value: T) -> T:
    """Copy dicts, lists, tuples, sets and arrays all the way down; leave anything else alone.

    Args:
        value: Any object.
    """
    same: Any = type(value)  # subclasses, such as named tuples, may be made in another way
    if isinstance(value, dict) and type(value) is dict:
        return same((key, copied(inner)) for key, inner in value.items())
    if isinstance(value, list | tuple | set) and type(value) in (list, tuple, set):
        return same(map(copied, value))
    if isinstance(value, np.ndarray) and type(value) is np.ndarray:
        return value.copy()
    return value


def shortened(values: Sequence[object], most: int = 8) -> str:
    """Return the text of a list, and of a long one its beginning and its length.

    Args:
        values: The list.
        most: How many values are shown.
    """
    if len(values) <= most:
        return repr(list(values))
    shown = ", ".join(repr(value) for value in values[:most])
    return f"[{shown}, ... {len(values)} in all]"

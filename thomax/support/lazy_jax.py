"""JAX, imported when it is used: importing it takes a second, and the default model does without.

from thomax.support.lazy_jax import jax, jnp, pytree, array_module
"""

import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

__all__ = ["array_module", "jax", "jax_is_imported", "jnp", "pytree", "register_waiting"]

T = TypeVar("T")

_waiting: list[Callable[[], object]] = []  # dataclasses that JAX does not know yet
_registering = threading.Lock()


def jax_is_imported() -> bool:
    """Return whether anything has imported JAX in this process."""
    return "jax" in sys.modules


class _Lazy:
    """A module that is imported when one of its names is looked up."""

    def __init__(self, load: Callable[[], ModuleType]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        register_waiting()
        return getattr(self._load(), name)


def _load_jax() -> ModuleType:
    import jax

    return jax


def _load_numpy_of_jax() -> ModuleType:
    import jax.numpy

    return jax.numpy


if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = _Lazy(_load_jax), _Lazy(_load_numpy_of_jax)


def pytree(
    *, data_fields: Sequence[str], meta_fields: Sequence[str] = ()
) -> Callable[[type[T]], type[T]]:
    """Let JAX map over a dataclass of arrays, from when on JAX is used.

    Args:
        data_fields: The fields that hold arrays, or dataclasses of arrays.
        meta_fields: The fields that are constants of compiled code.
    """

    def register(cls: type[T]) -> type[T]:
        _waiting.append(partial(_register, cls, [*data_fields], [*meta_fields]))
        if jax_is_imported():
            register_waiting()
        return cls

    return register


def register_waiting() -> None:
    """Tell JAX of the dataclasses that were defined before it was imported."""
    if _waiting:
        with _registering:
            for register in _waiting:
                register()
            _waiting.clear()


def _register(cls: type[Any], data_fields: list[str], meta_fields: list[str]) -> None:
    _load_jax().tree_util.register_dataclass(cls, data_fields, meta_fields)


def array_module(*arrays: object) -> ModuleType:
    """Return NumPy if all arrays are NumPy's or plain numbers, else JAX's counterpart of it.

    Args:
        arrays: What a function computes with.
    """
    if all(isinstance(a, np.ndarray | np.generic | float | int) for a in arrays):
        return np
    return _load_numpy_of_jax()

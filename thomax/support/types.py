"""The types that many modules share, in words.

Array       an array of numbers, NumPy's or JAX's; shapes stand in docstrings and notation tables
ArrayOrFloat  the same, or one number
Params      a point of a space by names: {"rate": 0.1, "kind": "tree"}
Json        what a record of a journal may hold
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # importing JAX takes long, and most of thomax does without
    import jax
    import numpy as np

Array: TypeAlias = "jax.Array | np.ndarray"
ArrayOrFloat: TypeAlias = "jax.Array | np.ndarray | float"
Params: TypeAlias = dict[str, Any]  # a choice may be any object
ParamsLike: TypeAlias = Mapping[str, Any]  # what users pass
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

"""Scores, and their values and gradients at points: where a search and a model meet.

A policy returns a score, B functions at once. What evaluates them is NumPy: by matrix products
written out for MLPs (`by_hand`), by compiled code of JAX for everything else.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Protocol, cast

import numpy as np

from thomax.model.padding import pad, padded_size
from thomax.support.compilation import compiled, own_settings
from thomax.support.lazy_jax import jax
from thomax.support.types import Array

CHUNK = 4096  # points evaluated at once
_MANY = 16  # functions: the hidden layers of 64 at once took 1.2 GB


class Score(Protocol):
    """What a policy returns: B functions of points, to be maximised.

    It is a JAX pytree, and B is the length of each of its arrays. A score that also estimates the
    objective may be called at points (N, ...), and answers in the objective's units; one that
    cannot be called is taken to have those units already.
    """

    @abstractmethod
    def values(self, x: Array, /) -> Array:
        """Evaluate one function of the batch at points (N, ...), by operations of JAX.

        The caller maps it over the batch, differentiates and compiles it.
        """


class Evaluator(Protocol):
    """B functions as NumPy evaluates them, on the standardised scale, in float64."""

    @property
    def count(self) -> int:
        """How many functions there are, B."""

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of all functions at the same points, (B, N).

        Args:
            x: Encoded points (N, ...), float32.
        """

    def own_values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of each function at its own points, (B, N).

        Args:
            x: Encoded points (B, N, ...), float32.
        """

    def own_gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values (B, N) and gradients (B, N, d) of each function at its own points.

        Args:
            x: Encoded points (B, N, d), float32.
        """

    def part(self, which: slice) -> "Evaluator":
        """Return some of the functions.

        Args:
            which: Their positions.
        """


@dataclass(frozen=True)
class CompiledEvaluator(Evaluator):
    """A score evaluated by code that JAX compiles.

    Args:
        score: The B functions.
    """

    score: Score

    @property
    def count(self) -> int:
        """How many functions there are, B."""
        return len(jax.tree.leaves(self.score)[0])

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of all functions at the same points."""
        return self._chunked(_common_points, x, axis=0)

    def own_values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of each function at its own points."""
        return self._chunked(_own_points, x, axis=1)

    def own_gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values and gradients of each function at its own points."""
        values, gradients = _own_gradients(self.score, x)
        return np.asarray(values, np.float64), np.asarray(gradients, np.float64)

    def part(self, which: slice) -> "CompiledEvaluator":
        """Return some of the functions, as arrays of JAX: else each call copies all weights."""
        with own_settings(x64=True):
            return CompiledEvaluator(jax.device_put(jax.tree.map(itemgetter(which), self.score)))

    def _chunked(
        self, function: Callable[[Score, Array], Array], x: np.ndarray, axis: int
    ) -> np.ndarray:
        """Evaluate a bounded number of points at a time, in few shapes, fewer of many draws."""
        found = []
        chunk = CHUNK // max(1, self.count // _MANY)
        for start in range(0, x.shape[axis], chunk):
            part = x[start : start + chunk] if axis == 0 else x[:, start : start + chunk]
            count = part.shape[axis]
            size = min(chunk, padded_size(count, part.shape[axis + 1 :]))
            values = function(self.score, pad(part, size, axis))
            found.append(np.asarray(values, np.float64)[:, :count])
        return np.concatenate(found, axis=1) if found else np.zeros((self.count, 0))


@compiled(x64=True)  # the exact kernel needs it; networks are float32 by their arrays
def _common_points(score: Score, x: Array) -> Array:
    return jax.vmap(lambda s: s.values(x))(score)


@compiled(x64=True)  # the exact kernel needs it; networks are float32 by their arrays
def _own_points(score: Score, x: Array) -> Array:
    return jax.vmap(lambda s, z: s.values(z))(score, x)


@compiled(x64=True)  # the exact kernel needs it; networks are float32 by their arrays
def _own_gradients(score: Score, x: Array) -> tuple[Array, Array]:
    def total(s: Score, z: Array) -> tuple[Array, Array]:
        values = s.values(z)
        return values.sum(), values

    (_, values), gradients = jax.vmap(jax.value_and_grad(total, argnums=1, has_aux=True))(score, x)
    return values, gradients


def evaluator(score: Score | Evaluator) -> Evaluator:
    """Return what evaluates the functions of a score.

    Args:
        score: The B functions. One that NumPy can evaluate has a method `evaluator()`.

    Raises:
        TypeError: If it is no score.
    """
    if hasattr(score, "own_gradients"):
        return cast(Evaluator, score)
    if hasattr(score, "evaluator"):
        return cast(Evaluator, score.evaluator())
    leaves = jax.tree.leaves(score)
    has_values = callable(getattr(score, "values", None)) and not isinstance(score, Mapping)
    if not has_values or not leaves or not all(np.ndim(leaf) for leaf in leaves):
        raise TypeError(
            "A policy needs to return a score, a JAX pytree of arrays with an entry for each key "
            f"and a method values(x), got {score!r}: see thomax.model.evaluation.Score."
        )
    return CompiledEvaluator(score)


def batch_size(score: Score | Evaluator) -> int:
    """Return how many functions a score holds.

    Args:
        score: The B functions.
    """
    return evaluator(score).count


def evaluate(score: Score | Evaluator, x: np.ndarray) -> np.ndarray:
    """Evaluate all functions on the standardised scale at the same points: (B, N) float64.

    Args:
        score: The B functions.
        x: Encoded points (N, ...), float32.
    """
    return evaluator(score).values(x)


def in_units(score: Score | Evaluator, x: np.ndarray) -> np.ndarray:
    """Evaluate all functions of a score in the objective's units: (B, N).

    Args:
        score: The B functions.
        x: Encoded points (N, ...).
    """
    found = score(x) if callable(score) else evaluate(score, np.asarray(x, np.float32))
    return np.asarray(found, np.float64)

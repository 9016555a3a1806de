"""Draws from the posterior: functions that a maximiser climbs.

A draw is a frozen record of arrays (a JAX pytree), never a closure: code compiled for one draw
serves every later draw of the same sizes. Leading axes of all arrays are the B draws of a batch.
Inside, draws live on the standardised scale; called, they answer in the objective's units.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, Self, TypedDict, TypeVar

import jax
import numpy as np

from thomax.model.kernels import NTK
from thomax.model.networks import Network
from thomax.model.padding import pad, padded_size
from thomax.model.prior import lift
from thomax.model.targets import restored
from thomax.model.training import Certificate
from thomax.support.compilation import compiled
from thomax.support.types import Array

DRAW_FIELDS = ("centre", "scale", "lifting", "warping")  # the arrays of every draw
CHUNK = 4096  # points evaluated at once
_MANY = 16  # functions: the hidden layers of 64 at once took 1.2 GB


T = TypeVar("T")


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


class Units(TypedDict):
    """The fields of a draw that lead back to the objective's units, as keyword arguments."""

    centre: np.ndarray
    scale: np.ndarray
    lifting: np.ndarray | None
    warping: np.ndarray | None
    single: bool


@dataclass(frozen=True)
class Draw(Score):
    """B functions on the standardised scale, and the way back to the objective's units.

    Args:
        centre: What is added in the end, (B,).
        scale: What multiplies the standardised values, (B,).
        lifting: Scales of the inputs before they are lifted to a sphere, (B, d); None if they
            are not lifted.
        single: Whether a single key was given, so that calls return (N,) instead of (B, N).
        warping: Power, shift and spread of the targets' transform, (B, 3); None if they were not
            transformed.
    """

    centre: np.ndarray
    scale: np.ndarray
    lifting: np.ndarray | None
    single: bool
    warping: np.ndarray | None = field(default=None, kw_only=True)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Evaluate in the objective's units: (N,) for a single key, (B, N) for a batch.

        Args:
            x: Encoded points (N, ...).
        """
        standard = evaluate(self, np.asarray(x, np.float32))
        found = restored(standard, self.centre[:, None], self.scale[:, None], self.warping)
        return found[0] if self.single else found

    def __repr__(self) -> str:
        # Arrays of any shape, and no arrays at all, are in a draw that JAX is mapping over.
        shape = np.shape(self.centre)
        what = "single" if self.single else f"batch={shape[0] if shape else 1}"
        network = vars(self).get("network")
        return f"{type(self).__name__}({what}{'' if network is None else f', network={network}'})"

    def inputs(self, x: Array) -> Array:
        """Return points as the network sees them."""
        return x if self.lifting is None else lift(x, self.lifting)

    def as_single(self, single: bool) -> Self:
        """Return the same draws, answering for one key or for a batch."""
        return replace(self, single=single)


def _register(*fields: str) -> Callable[[type[T]], type[T]]:
    return partial(
        jax.tree_util.register_dataclass,
        data_fields=[*DRAW_FIELDS, *fields],
        meta_fields=["single", "network"],
    )


@_register("theta", "theta0_prime", "beta")
@dataclass(frozen=True, repr=False)
class LinearDraw(Draw):
    """A draw of Algorithm 2: f(x) = beta < grad f(x; theta0'), theta >, one JVP.

    Args:
        network: The network f.
        theta: Weights of the linear model, (B, p).
        theta0_prime: Where the network is linearised, (B, p).
        beta: What multiplies the draw, (B,).
    """

    network: Network
    theta: np.ndarray
    theta0_prime: np.ndarray
    beta: np.ndarray

    def values(self, x: Array) -> Array:
        """Evaluate one draw on the standardised scale."""
        return self.beta * _tangent(self.network, self.theta0_prime, self.theta, self.inputs(x))


@_register("theta", "theta0", "theta0_prime", "beta", "certificate")
@dataclass(frozen=True, repr=False)
class NeuralDraw(Draw):
    """A draw of Algorithm 1: f(x) = beta (f(x; theta) + < grad f(x; theta0), theta0' >).

    Args:
        network: The network f.
        theta: Its trained parameters, (B, p).
        theta0: Its initial parameters, (B, p).
        theta0_prime: The direction of the constant term, zero in the last layer, (B, p).
        beta: What multiplies the draw, (B,).
        certificate: How far the loss may still fall.
    """

    network: Network
    theta: np.ndarray
    theta0: np.ndarray
    theta0_prime: np.ndarray
    beta: np.ndarray
    certificate: Certificate

    def values(self, x: Array) -> Array:
        """Evaluate one draw on the standardised scale."""
        x = self.inputs(x)
        delta = _tangent(self.network, self.theta0, self.theta0_prime, x)
        return self.beta * (self.network.apply(self.theta, x) + delta)


@_register("theta", "theta0_prime", "beta", "kernel", "x", "weights")
@dataclass(frozen=True, repr=False)
class PathwiseDraw(Draw):
    """A draw at infinite width, by pathwise conditioning of a wide network's prior draw.

    f(x) = beta ( < grad f(x; theta0'), theta0 >  +  k(x, X) A^-1 (y + eps - prior(X)) )
                  `------- prior draw -------'      `----------- update ------------'

    Args:
        network: The wide network of the prior draw.
        theta: The weights theta0 of the prior draw, (B, p).
        theta0_prime: Where the network is linearised, (B, p).
        beta: What multiplies the draw, (B,).
        kernel: The exact tangent kernel k.
        x: The observed points X, padded, (B, n, ...).
        weights: A^-1 times the residuals, zero on padding, (B, n).
    """

    network: Network
    theta: np.ndarray
    theta0_prime: np.ndarray
    beta: np.ndarray
    kernel: NTK
    x: np.ndarray
    weights: np.ndarray

    def values(self, x: Array) -> Array:
        """Evaluate one draw on the standardised scale."""
        x = self.inputs(x)
        prior = _tangent(self.network, self.theta0_prime, self.theta, x)
        update = self.kernel(x.astype(self.x.dtype), self.x) @ self.weights
        return self.beta * (prior + update.astype(prior.dtype))


def _tangent(network: Network, theta: Array, v: Array, x: Array) -> Array:
    return jax.jvp(lambda t: network.apply(t, x), (theta,), (v,))[1]


@compiled(x64=True)  # the exact kernel needs it; networks are float32 by their arrays
def _shared_points(score: Score, x: Array) -> Array:
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


def batch_size(score: Score) -> int:
    """Return how many functions a score holds.

    Raises:
        TypeError: If it is no score.
    """
    leaves = jax.tree.leaves(score)
    has_values = callable(getattr(score, "values", None)) and not isinstance(score, Mapping)
    if not has_values or not leaves or not all(np.ndim(leaf) for leaf in leaves):
        raise TypeError(
            "A policy needs to return a score, a JAX pytree of arrays with an entry for each key "
            f"and a method values(x), got {score!r}: see thomax.model.draws.Score."
        )
    return len(leaves[0])


def repeated(tree: T, count: int) -> T:
    """Give each of so many scores its copy of what they share.

    Args:
        tree: A pytree of arrays or numbers.
        count: How many scores there are, B: every array gets a first axis of this length.
    """
    return jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], count, 0), tree)


def in_units(score: Score, x: np.ndarray) -> np.ndarray:
    """Evaluate all functions of a score in the objective's units: (B, N).

    Args:
        score: The B functions.
        x: Encoded points (N, ...).
    """
    found = score(x) if callable(score) else evaluate(score, np.asarray(x, np.float32))
    return np.asarray(found, np.float64)


def evaluate(score: Score, x: np.ndarray) -> np.ndarray:
    """Evaluate all functions on the standardised scale at the same points: (B, N) float64.

    Args:
        score: The B functions.
        x: Encoded points (N, ...), float32.
    """
    return _chunked(_shared_points, score, x, axis=0)


def evaluate_own(score: Score, x: np.ndarray) -> np.ndarray:
    """Evaluate each function on the standardised scale at its own points: (B, N) float64.

    Args:
        score: The B functions.
        x: Encoded points (B, N, ...), float32.
    """
    return _chunked(_own_points, score, x, axis=1)


def value_and_gradient(score: Score, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values (B, N) and gradients (B, N, d) of each function at its own points.

    Args:
        score: The B functions.
        x: Encoded points (B, N, d), float32.
    """
    values, gradients = _own_gradients(score, x)
    return np.asarray(values, np.float64), np.asarray(gradients, np.float64)


def _chunked(
    function: Callable[[Score, Array], Array], score: Score, x: np.ndarray, axis: int
) -> np.ndarray:
    """Evaluate a bounded number of points at a time, in few shapes; fewer of many functions."""
    found = []
    chunk = CHUNK // max(1, batch_size(score) // _MANY)
    for start in range(0, x.shape[axis], chunk):
        part = x[start : start + chunk] if axis == 0 else x[:, start : start + chunk]
        count = part.shape[axis]
        size = min(chunk, padded_size(count, part.shape[axis + 1 :]))
        values = function(score, pad(part, size, axis))
        found.append(np.asarray(values, np.float64)[:, :count])
    return np.concatenate(found, axis=1) if found else np.zeros((batch_size(score), 0))

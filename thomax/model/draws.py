"""Draws from the posterior: functions that a maximiser climbs.

A draw is a frozen record of arrays (a JAX pytree), never a closure: code compiled for one draw
serves every later draw of the same sizes. Leading axes of all arrays are the B draws of a batch.
Inside, draws live on the standardised scale; called, they answer in the objective's units.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self, TypedDict, TypeVar

import numpy as np

from thomax.model.by_hand import MLPEvaluator, is_by_hand
from thomax.model.evaluation import CompiledEvaluator, Evaluator, Score, evaluate
from thomax.model.kernels import NTK
from thomax.model.networks import Network
from thomax.model.prior import UnitCube, seen
from thomax.model.targets import restored
from thomax.model.training import Certificate
from thomax.support.lazy_jax import jax, pytree
from thomax.support.types import Array

DRAW_FIELDS = ("centre", "scale", "lifting", "warping")  # the arrays of every draw

T = TypeVar("T")


class Units(TypedDict):
    """The fields of a draw that lead back to the objective's units, as keyword arguments."""

    centre: np.ndarray
    scale: np.ndarray
    lifting: np.ndarray | UnitCube | None
    warping: np.ndarray | None
    single: bool


@dataclass(frozen=True)
class Draw(Score):
    """B functions on the standardised scale, and the way back to the objective's units.

    Args:
        centre: What is added in the end, (B,).
        scale: What multiplies the standardised values, (B,).
        lifting: Scales of the inputs before they are lifted to a sphere, (B, d); UnitCube if they
            are seen in [0, 1]^d, None if they are seen as they are.
        single: Whether a single key was given, so that calls return (N,) instead of (B, N).
        warping: Power, shift and spread of the targets' transform, (B, 3); None if they were not
            transformed.
    """

    centre: np.ndarray
    scale: np.ndarray
    lifting: np.ndarray | UnitCube | None
    single: bool
    warping: np.ndarray | None = field(default=None, kw_only=True)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Evaluate in the objective's units: (N,) for a single key, (B, N) for a batch.

        Args:
            x: Encoded points (N, ...).
        """
        standard = evaluate(self, np.asarray(x, np.float32))
        centre, scale = (np.asarray(z)[:, None] for z in (self.centre, self.scale))
        found = restored(standard, centre, scale, self.warping)
        return found[0] if self.single else found

    def __repr__(self) -> str:
        # Arrays of any shape, and no arrays at all, are in a draw that JAX is mapping over.
        shape = np.shape(self.centre)
        what = "single" if self.single else f"batch={shape[0] if shape else 1}"
        network = vars(self).get("network")
        return f"{type(self).__name__}({what}{'' if network is None else f', network={network}'})"

    def inputs(self, x: Array) -> Array:
        """Return points as the network sees them."""
        return seen(x, self.lifting)

    def evaluator(self) -> Evaluator:
        """Return what evaluates these draws: JAX, unless NumPy can."""
        return CompiledEvaluator(self)

    def as_single(self, single: bool) -> Self:
        """Return the same draws, answering for one key or for a batch."""
        return replace(self, single=single)


def _register(*fields: str) -> Callable[[type[T]], type[T]]:
    return pytree(data_fields=[*DRAW_FIELDS, *fields], meta_fields=["single", "network"])


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

    def evaluator(self) -> Evaluator:
        """Return what evaluates these draws: NumPy for an MLP, else JAX."""
        if not is_by_hand(self.network):
            return CompiledEvaluator(self)
        return MLPEvaluator.of(
            self.network, self.lifting, self.beta, base=self.theta0_prime, direction=self.theta
        )


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

    def evaluator(self) -> Evaluator:
        """Return what evaluates these draws: NumPy for an MLP, else JAX."""
        if not is_by_hand(self.network):
            return CompiledEvaluator(self)
        return MLPEvaluator.of(
            self.network, self.lifting, self.beta, base=self.theta0, direction=self.theta0_prime,
            trained=self.theta,
        )  # fmt: skip


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


def repeated(tree: T, count: int) -> T:
    """Give each of so many scores its copy of what they share.

    Args:
        tree: A pytree of arrays or numbers.
        count: How many scores there are, B: every array gets a first axis of this length.
    """
    return jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], count, 0), tree)

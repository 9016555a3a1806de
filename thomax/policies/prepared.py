"""Data as a model sees them: what every policy that learns does first.

Notation:
    n       observed points that gave a value
    K, A    covariances of the observed points, and K + s2 I with the noise variance s2   (n, n)
    beta    inflation of the posterior's standard deviation
    gain    beta times the prior's amplitude: what multiplies the model
    s2_i    noise variance of value i, where values differ in it; then A = K + diag(s2_i)      (n,)

beta divides the targets and multiplies the model: so it leaves the posterior's mean as it is. In
units of the targets the model is f = beta a g, g ~ GP(0, K) with the amplitude a. For the mean to
be that of beta = 1, the noise has to be inflated by beta as f is: noise of the variance v_i enters
as beta^2 v_i, in units of the model as beta^2 v_i / (beta a)^2 = v_i / a^2. Then the mean is
beta a k^T (K + diag(v_i / a^2))^-1 y / (beta a), without beta, and the covariance beta^2 times
that of beta = 1. So what is known of the noise is divided by the amplitude, and not by beta.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from thomax.keys import Stream, normals
from thomax.model.data import Data
from thomax.model.draws import PathwiseDraw, Units, repeated
from thomax.model.kernels import NTK, Kernel, gram, variances
from thomax.model.networks import CNN, MLP, Network
from thomax.model.noise import Noise
from thomax.model.padding import pad, padded_size
from thomax.model.posterior import SMALLEST_VARIANCE, Factor
from thomax.model.prior import Prior
from thomax.model.tangents import push
from thomax.model.targets import Standardised

Schedule: TypeAlias = float | Callable[[int], float]  # the argument is the number of observations
P = TypeVar("P", bound=Prior)

_ROWS_AT_ONCE = 2**14  # draws times points that are trained in one go
_POINTS_AT_ONCE = 4096  # whose covariances with the observed ones are held in memory


@dataclass(frozen=True)
class Marginals:
    """What a Gaussian posterior says of single points, on the scale of the targets.

    Args:
        mean: The mean of the function at each point, (N,).
        std: Its standard deviation, (N,).
        noise_std: The standard deviation of the noise that a single measurement adds to it: what
            is fitted, or the usual one of the observations if it is known of all of them.
        standard: The way back to the objective's units.
    """

    mean: np.ndarray
    std: np.ndarray
    noise_std: float
    standard: Standardised


@runtime_checkable
class HasMarginals(Protocol):
    """A policy whose posterior is known in closed form."""

    def marginals(self, data: Data, points: np.ndarray, /) -> "Marginals | None":
        """Return mean and deviation at encoded points, or None where only draws are known."""


@dataclass(frozen=True)
class PreparedData(Generic[P]):
    """The points, targets and prior that all scores of a call share.

    Args:
        data: The evaluations that gave a value, in canonical order.
        x: The points of these, then pending ones, then padding, as the model sees them.
        pending: How many rows of x are pending points.
        standard: The targets, and the way back to the objective's units.
        prior: Scales of inputs and outputs, and the noise.
        beta: What multiplies the posterior's standard deviation.
        noise: What is known of the noise of each value, in units of the targets; None if all
            values are single measurements of unknown noise.
    """

    data: Data
    x: np.ndarray
    pending: int
    standard: Standardised
    prior: P
    beta: float
    noise: Noise | None

    @classmethod
    def of(
        cls,
        data: Data,
        fit: Callable[[np.ndarray, np.ndarray, Noise | None], P],
        *,
        standardise: bool,
        warp: bool = False,
        with_pending: bool = False,
        beta: Schedule = 1.0,
        owner: str = "A policy",
    ) -> "PreparedData[P]":
        """Prepare data for a model.

        Args:
            data: What is known; failures are left out.
            fit: Choose the prior from observed points (n, ...), targets (n,) and their noise.
            standardise: Bring the targets to mean zero and unit variance.
            warp: Compress a long tail of bad targets as well.
            with_pending: Append the pending points to the observed ones.
            beta: What multiplies the standard deviation: a number or a function of n.
            owner: The policy's name for error messages.
        """
        data = data.successes().in_canonical_order()
        n, shape = len(data), data.x.shape[1:]
        standard = data.targets(standardise, standardise and warp)
        noise = data.noise(standard)
        prior = fit(data.x, standard.targets, noise)
        found = at(beta, n)
        if not 0 < found < math.inf:
            raise ValueError(f"{owner} needs beta > 0, got {found} for {n} observations.")
        x = np.concatenate([data.x, data.pending]) if with_pending else data.x
        x = prior.inputs(pad(x, padded_size(len(x), shape)))
        pending = len(data.pending) if with_pending else 0
        return cls(data, x, pending, standard, prior, found, noise)

    @property
    def n(self) -> int:
        """How many points are observed."""
        return len(self.data)

    @property
    def dimension(self) -> int:
        """How many numbers make up a point as it was given."""
        return math.prod(self.data.x.shape[1:])

    @property
    def observed(self) -> np.ndarray:
        """The observed points as the model sees them, (n, ...)."""
        return self.x[: self.n]

    @property
    def is_observed(self) -> np.ndarray:
        """1 for the rows of observed points, 0 for the others, float32."""
        return (np.arange(len(self.x)) < self.n).astype(np.float32)

    @property
    def mean_weights(self) -> np.ndarray:
        """Weights of squared residuals in a loss that is their mean, not their sum, float32."""
        return self.is_observed / np.float32(self.n)

    @property
    def gain(self) -> float:
        """What multiplies the model: beta, and the amplitude of the prior."""
        return self.beta * self.prior.amplitude  # Algorithm 1, line 2; Algorithm 2, line 2

    def gains(self, count: int, precision: type[np.floating] = np.float32) -> np.ndarray:
        """Return the gain once for each of so many draws, in this precision, (count,)."""
        return np.full(count, self.gain, precision)

    @property
    def s2(self) -> float:
        """The noise variance of one measurement in units of the model."""
        return self.prior.noise_std**2

    @property
    def variances(self) -> float | np.ndarray:
        """The noise variance of the values in units of the model: s2, or one for each, (n,)."""
        if self.noise is None:
            return self.s2
        return np.asarray(self.noise.in_units(self.prior.amplitude).variances(self.s2))

    def residual_weights(self) -> tuple[np.ndarray, float]:
        """Return what multiplies residuals in a loss with a single noise variance, and that one.

        It is the geometric mean of those of the values: it does not matter to the minimiser, and
        keeps the weights, 0 on padding, near 1.
        """
        if self.noise is None:
            return self.is_observed, self.s2
        s2 = float(np.exp(np.mean(np.log(self.variances))))
        weights = np.sqrt(s2 / np.asarray(self.variances))
        return pad(weights, len(self.x)).astype(np.float32), s2

    @property
    def targets(self) -> np.ndarray:
        """The targets in units of the model, (n,)."""
        return self.standard.targets / self.gain

    def perturbed_targets(self, keys: np.ndarray) -> np.ndarray:
        """Return the targets of every draw, (B, n), with a draw of the noise."""
        std = self.prior.noise_std if self.noise is None else np.sqrt(self.variances)
        return self.targets + std * normals(keys, self.n, Stream.EPS)

    def tiled_targets(self, count: int) -> np.ndarray:
        """Return the targets once for each of so many networks, padded, (count, N) float32."""
        with np.errstate(over="ignore"):  # raw targets beyond float32 make a descent diverge
            return np.tile(pad(self.targets, len(self.x)).astype(np.float32), (count, 1))

    def solve(self, kernel: Kernel, residuals: np.ndarray) -> np.ndarray:
        """Return A^-1 times residuals (B, n), with zeros for all rows but the observed: (B, N).

        Args:
            kernel: The kernel of K, on points as the model sees them.
            residuals: What the prior draws leave of the targets, (B, n).
        """
        weights = np.zeros((len(residuals), len(self.x)))
        if self.n:
            K = gram(kernel, self.observed, self.observed)
            weights[:, : self.n] = Factor(K, self.variances).solve(residuals.T).T
        return weights

    def marginals(self, kernel: Kernel, new: np.ndarray) -> Marginals:
        """Return the posterior's mean and deviation at points, whatever beta is.

        Args:
            kernel: The kernel of K, on points as the model sees them.
            new: Points as the model sees them, (N, ...).
        """
        x, amplitude = self.observed, self.prior.amplitude
        factor = Factor(gram(kernel, x, x), self.variances)
        half_targets = factor.half_solve(self.standard.targets / amplitude)
        means, left = [np.empty(0)], [np.empty(0)]
        for start in range(0, len(new), _POINTS_AT_ONCE):
            some = new[start : start + _POINTS_AT_ONCE]
            half = factor.half_solve(gram(kernel, x, some))
            means.append(half.T @ half_targets)
            left.append(variances(kernel, some) - np.square(half).sum(axis=0))
        std = np.sqrt(np.maximum(np.concatenate(left), SMALLEST_VARIANCE))
        noise_std = amplitude * self.prior.noise_std
        if self.noise is not None and not self.noise.is_common.any():
            noise_std = float(np.sqrt(np.median(self.noise.known * self.noise.repeats)))
        return Marginals(
            amplitude * np.concatenate(means), amplitude * std, noise_std, self.standard
        )

    def units(self, count: int) -> Units:
        """Return the fields of so many draws that lead back to the objective's units."""
        warping = self.standard.warping
        return {
            "centre": np.full(count, self.standard.centre),
            "scale": np.full(count, self.standard.scale),
            "lifting": self.prior.lifting(count, self.dimension),
            "warping": None if warping is None else np.tile(warping, (count, 1)),
            "single": False,
        }


def pathwise_draws(
    keys: np.ndarray,
    known: PreparedData[P],
    kernel: NTK,
    network: MLP,
    targets: np.ndarray,
    *,
    precision: type[np.floating] = np.float32,
) -> PathwiseDraw:
    """Condition prior draws of a wide network on the data, by its exact tangent kernel.

    Args:
        keys: One key for each draw, (B, 2).
        known: The data.
        kernel: The exact tangent kernel.
        network: The wide network that prior draws are taken from.
        targets: The targets of every draw, (B, n).
        precision: The type of the gain, to which values of draws are rounded.
    """
    p = network.size(known.x.shape[1:])
    theta0, theta0_prime = normals(keys, p, Stream.THETA0), normals(keys, p, Stream.THETA0_PRIME)
    residuals = targets
    if known.n:
        prior = np.asarray(push(network, theta0_prime, theta0, known.x), np.float64)
        residuals = targets - prior[:, : known.n]
    kernels, points = repeated((kernel, known.x.astype(np.float64)), len(keys))
    return PathwiseDraw(
        **known.units(len(keys)), network=network, theta=theta0, theta0_prime=theta0_prime,
        beta=known.gains(len(keys), precision), kernel=kernels, x=points,
        weights=known.solve(kernel, residuals),
    )  # fmt: skip


def groups(count: int, rows: int) -> list[slice]:
    """Return which draws are trained together, so that memory stays bounded.

    Args:
        count: The number of draws.
        rows: How many points each of them has, padding included.
    """
    size = max(1, _ROWS_AT_ONCE // rows)
    return [slice(start, start + size) for start in range(0, count, size)]


def at(schedule: Schedule, n: int) -> float:
    """Return a schedule's value after n observations."""
    return float(schedule(n) if callable(schedule) else schedule)


def is_infinite(network: Network) -> bool:
    """Return whether a network stands for the limit of infinite width."""
    return isinstance(network, MLP | CNN) and network.width == math.inf

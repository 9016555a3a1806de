"""Data as a model sees them: what every policy that learns does first.

Notation:
    n       observed points that gave a value
    beta    inflation of the posterior's standard deviation
    gain    beta times the prior's amplitude: what multiplies the model

beta divides the targets and multiplies the model: so it leaves the posterior's mean as it is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from thomax.keys import Stream, normals
from thomax.model.data import Data
from thomax.model.draws import Units
from thomax.model.networks import CNN, MLP, Network
from thomax.model.padding import pad, padded_size
from thomax.model.prior import Prior
from thomax.model.targets import Standardised

Schedule: TypeAlias = float | Callable[[int], float]  # the argument is the number of observations
P = TypeVar("P", bound=Prior)


@dataclass(frozen=True)
class PreparedData(Generic[P]):
    """The points, targets and prior that all scores of a call share.

    Args:
        x: Observed points in canonical order, then pending ones, then padding, as the model sees
            them.
        n: How many points are observed.
        pending: How many of the rows after those are pending.
        standard: The targets, and the way back to the objective's units.
        prior: Scales of inputs and outputs, and the noise.
        beta: What multiplies the posterior's standard deviation.
        dimension: How many numbers make up a point as it was given.
    """

    x: np.ndarray
    n: int
    pending: int
    standard: Standardised
    prior: P
    beta: float
    dimension: int

    @classmethod
    def of(
        cls,
        data: Data,
        fit: Callable[[np.ndarray, np.ndarray], P],
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
            fit: Choose the prior from observed points (n, ...) and targets (n,).
            standardise: Bring the targets to mean zero and unit variance.
            warp: Compress a long tail of bad targets as well.
            with_pending: Append the pending points to the observed ones.
            beta: What multiplies the standard deviation: a number or a function of n.
            owner: The policy's name for error messages.
        """
        data = data.successes().in_canonical_order()
        n, shape = len(data), data.x.shape[1:]
        standard = data.targets(standardise, standardise and warp)
        prior = fit(data.x, standard.targets)
        found = at(beta, n)
        if not 0 < found < math.inf:
            raise ValueError(f"{owner} needs beta > 0, got {found} for {n} observations.")
        x = np.concatenate([data.x, data.pending]) if with_pending else data.x
        x = prior.inputs(pad(x, padded_size(len(x), shape)))
        pending = len(data.pending) if with_pending else 0
        return cls(x, n, pending, standard, prior, found, math.prod(shape))

    @property
    def observed(self) -> np.ndarray:
        """The observed points as the model sees them, (n, ...)."""
        return self.x[: self.n]

    @property
    def is_observed(self) -> np.ndarray:
        """1 for the rows of observed points, 0 for the others, float32."""
        return (np.arange(len(self.x)) < self.n).astype(np.float32)

    @property
    def gain(self) -> float:
        """What multiplies the model: beta, and the amplitude of the prior."""
        return self.beta * self.prior.amplitude

    @property
    def s2(self) -> float:
        """The noise variance in units of the model."""
        return self.prior.noise_std**2

    @property
    def targets(self) -> np.ndarray:
        """The targets in units of the model, (n,)."""
        return self.standard.targets / self.gain

    def perturbed_targets(self, keys: np.ndarray) -> np.ndarray:
        """Return the targets of every draw, (B, n), with a draw of the noise."""
        return self.targets + self.prior.noise_std * normals(keys, self.n, Stream.EPS)

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


def at(schedule: Schedule, n: int) -> float:
    """Return a schedule's value after n observations."""
    return float(schedule(n) if callable(schedule) else schedule)


def is_infinite(network: Network) -> bool:
    """Return whether a network stands for the limit of infinite width."""
    return isinstance(network, MLP | CNN) and network.width == math.inf

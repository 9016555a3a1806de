"""Several objectives as one function to climb: a weighting of draws, or what they add to a front.

Both are exact where points are compared, and smooth where they are climbed: a maximum of the
least of several functions lies on a kink, at which quasi-Newton steps get stuck.

Notation:
    f     draws of K objectives on their standardised scales, larger is better   (K, B, N)
    w     weights, uniform on the simplex                                        (B, K)
    z     f in units in which the front has about the same extent in each objective
    z*    the best of the front in each objective                                (K,)

    augmented Chebyshev weighting     min_k w_k (z_k - z*_k) + rho sum_k w_k (z_k - z*_k)
    hypervolume improvement           volume that z adds to what the front dominates

Knowles (2006) has the first with rho = 0.05; the second is a sum over the boxes of which the
region that the front does not dominate is made up.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.special import softmax

from thomax.model.metric_data import spread

_RHO = 0.05
_SOFTNESS = 0.02  # of the minimum, in units of z: far less than a front's extent
# Of the front's extent, between its worst values and the reference point. With 0.1 an early front
# hardly grows at its ends: 40 evaluations of Branin-Currin found a volume of 88.7, with 0.5 100.3.
_MARGIN = 0.5
_MOST_POINTS = {1: 1, 2: 200, 3: 24, 4: 12}  # of a front, by its objectives: boxes are many


class Tradeoff(Protocol):
    """How K functions become one."""

    def values(self, f: np.ndarray) -> np.ndarray:
        """Return the values of the one function, (B, N).

        Args:
            f: Those of all objectives, (K, B, N).
        """

    def slopes(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return smooth values, (B, N), and their derivatives by the objectives, (K, B, N).

        Args:
            f: Those of all objectives, (K, B, N).
        """

    def part(self, which: slice) -> "Tradeoff":
        """Return the same for some of the B draws.

        Args:
            which: Their positions.
        """


@dataclass(frozen=True)
class First(Tradeoff):
    """There is one objective."""

    def values(self, f: np.ndarray) -> np.ndarray:
        """Return the values of the objective."""
        return f[0]

    def slopes(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values and derivatives."""
        return f[0], np.ones_like(f)

    def part(self, which: slice) -> "First":
        """Return the same."""
        return self


@dataclass(frozen=True)
class Chebyshev(Tradeoff):
    """The augmented Chebyshev weighting, with weights of its own for each draw.

    Args:
        weights: w, (B, K).
        ideal: z* on the standardised scales, (K,).
        unit: What multiplies the standardised scales to give z, (K,).
    """

    weights: np.ndarray
    ideal: np.ndarray
    unit: np.ndarray

    def values(self, f: np.ndarray) -> np.ndarray:
        """Return the weighted values."""
        terms = self._terms(f)
        return np.asarray(terms.min(axis=0) + _RHO * terms.sum(axis=0))

    def slopes(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values with a soft minimum, and their derivatives."""
        terms = self._terms(f)
        least = terms.min(axis=0)
        with np.errstate(under="ignore"):
            sums = np.exp((least - terms) / _SOFTNESS).sum(axis=0)
            share = softmax(-terms / _SOFTNESS, axis=0)
        values = least - _SOFTNESS * np.log(sums) + _RHO * terms.sum(axis=0)
        return values, (share + _RHO) * self._factors

    def part(self, which: slice) -> "Chebyshev":
        """Return the same for some of the draws."""
        return replace(self, weights=self.weights[which])

    @property
    def _factors(self) -> np.ndarray:
        return (self.weights * self.unit).T[:, :, None]

    def _terms(self, f: np.ndarray) -> np.ndarray:
        return (f - self.ideal[:, None, None]) * self._factors


@dataclass(frozen=True)
class Hypervolume(Tradeoff):
    """What a point adds to the volume that the front dominates; below zero, how much it lacks.

    Args:
        front: The points of the front in units of z, (F, K).
        reference: Where volumes begin, in units of z, (K,).
        lower: The lower corners of the boxes that nothing dominates yet, (n, K).
        upper: Their upper corners, (n, K); infinite for some.
        unit: What multiplies the standardised scales to give z, (K,).
    """

    front: np.ndarray
    reference: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    unit: np.ndarray

    def values(self, f: np.ndarray) -> np.ndarray:
        """Return the improvements."""
        z = f * self.unit[:, None, None]
        return self._improvement(z) + np.minimum(self._depth(z)[0], 0.0)

    def slopes(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the improvements and their derivatives."""
        z = f * self.unit[:, None, None]
        depth, at = self._depth(z)
        is_inside = depth < 0  # where nothing is added
        slopes = np.where(is_inside, np.arange(len(z))[:, None, None] == at, 0.0)
        for lower, upper in zip(self.lower, self.upper, strict=True):
            sides = np.clip(z - lower[:, None, None], 0.0, (upper - lower)[:, None, None])
            is_between = (z > lower[:, None, None]) & (z < upper[:, None, None])
            for k in range(len(z)):
                others = np.delete(sides, k, axis=0).prod(axis=0)
                slopes[k] += np.where(is_between[k], others, 0.0)
        values = self._improvement(z) + np.minimum(depth, 0.0)
        return values, slopes * self.unit[:, None, None]

    def part(self, which: slice) -> "Hypervolume":
        """Return the same."""
        return self

    def _improvement(self, z: np.ndarray) -> np.ndarray:
        total = np.zeros(z.shape[1:])
        for lower, upper in zip(self.lower, self.upper, strict=True):
            sides = np.clip(z - lower[:, None, None], 0.0, (upper - lower)[:, None, None])
            total += sides.prod(axis=0)
        return total

    def _depth(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far z lies outside of what is dominated, and the objective that decides."""
        over = z - self.reference[:, None, None]
        depth, at = over.min(axis=0), over.argmin(axis=0)
        for point in self.front:
            over = z - point[:, None, None]
            largest = over.max(axis=0)
            at = np.where(largest < depth, over.argmax(axis=0), at)
            depth = np.minimum(depth, largest)
        return depth, at


def chebyshev(weights: np.ndarray, goals: np.ndarray) -> Chebyshev:
    """Weight draws by what the front spans.

    Args:
        weights: A row for each draw, (B, K).
        goals: The points of the front, or others if there is none, on standardised scales, (F, K).
    """
    return Chebyshev(weights, goals.max(axis=0), _unit(goals))


def hypervolume(goals: np.ndarray) -> Hypervolume:
    """Measure what draws add to a front.

    Args:
        goals: The points of the front on standardised scales, (F, K).
    """
    unit = _unit(goals)
    z = goals[spread(goals, _MOST_POINTS[goals.shape[1]])] * unit
    extent = np.where(np.ptp(z, axis=0) > 0, np.ptp(z, axis=0), 1.0)
    reference = z.min(axis=0) - _MARGIN * extent
    lower, upper = boxes(z, reference)
    return Hypervolume(z, reference, lower, upper, unit)


def _unit(goals: np.ndarray) -> np.ndarray:
    """Return what makes a front equally wide in all objectives, and leaves their scale alone.

    The standardised scales are those that settings of the search refer to.
    """
    span = np.ptp(goals, axis=0)
    span = np.where(span > 0, span, 1.0)
    return np.asarray(np.exp(np.log(span).mean()) / span)


def boxes(front: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut the region above a reference that a front does not dominate into boxes.

    Between two neighbouring values of the last objective, what dominates is the same: the points
    above, seen without it.

    Args:
        front: Points, larger being better, (F, K).
        reference: The lower corner of the region, (K,).

    Returns:
        The lower and the upper corners of the boxes, (n, K).

    Examples:
        >>> lower, upper = boxes(np.array([[1.0, 2.0]]), np.zeros(2))
        >>> lower.tolist(), upper.tolist()
        ([[1.0, 0.0], [0.0, 2.0]], [[inf, 2.0], [inf, inf]])
    """
    if front.shape[1] == 1:
        start = max(float(front.max(initial=-np.inf)), float(reference[0]))
        return np.array([[start]]), np.array([[np.inf]])
    levels = np.unique(front[:, -1])
    edges = [float(reference[-1]), *(v for v in levels.tolist() if v > reference[-1]), np.inf]
    lowers, uppers = [], []
    for low, high in pairwise(edges):
        lower, upper = boxes(front[front[:, -1] > low][:, :-1], reference[:-1])
        lowers.append(np.column_stack([lower, np.full(len(lower), low)]))
        uppers.append(np.column_stack([upper, np.full(len(upper), high)]))
    return np.concatenate(lowers), np.concatenate(uppers)

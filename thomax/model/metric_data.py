"""Observations of several metrics: objectives to be weighed up, and limits to be kept.

Notation:
    x      finished evaluations, encoded                                              (n, ...)
    y      values of the metrics, larger is better; NaN where one is missing          (n, m)
    b      bounds: an evaluation is feasible where y is on the right side of all      (L,)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thomax.model.data import Data


@dataclass(frozen=True)
class Bound:
    """A limit on a metric.

    Args:
        column: The position of the metric.
        value: The bound, in the units of y.
        is_lower: Whether y must be at least the bound, and not at most.
    """

    column: int
    value: float
    is_lower: bool

    def margin(self, y: np.ndarray) -> np.ndarray:
        """Return how far values lie inside the limit: feasible where that is >= 0.

        Args:
            y: Values of the metric.
        """
        return y - self.value if self.is_lower else self.value - y


@dataclass(frozen=True)
class MetricData:
    """What is known of several metrics: one or more objectives, and what is limited.

    Args:
        x: Finished evaluations, encoded, (n, ...).
        y: Values of the metrics, larger being better, NaN where one is missing, (n, m); an
            evaluation without any value has failed.
        metrics: What the model of each metric learns from: the evaluations that have it, and
            the failed ones as NaN.
        objectives: How many metrics are objectives: the first ones.
        bounds: The limits.
    """

    x: np.ndarray
    y: np.ndarray
    metrics: Sequence[Data]
    objectives: int
    bounds: Sequence[Bound] = ()

    def __len__(self) -> int:
        return len(self.x)

    @classmethod
    def of(
        cls,
        x: np.ndarray,
        y: np.ndarray,
        objectives: int,
        bounds: Sequence[Bound] = (),
        pending: np.ndarray | None = None,
    ) -> "MetricData":
        """Return data of which nothing else is known than the values.

        Args:
            x: Finished evaluations, encoded, (n, ...).
            y: Values of the metrics, larger being better, NaN where one is missing, (n, m).
            objectives: How many metrics are objectives: the first ones.
            bounds: The limits.
            pending: Points that are being evaluated, (k, ...).
        """
        x, y = np.asarray(x, np.float32), np.asarray(y, np.float64)
        running = np.empty(0) if pending is None else pending
        failed = np.isnan(y).all(axis=1)
        kept = [failed | ~np.isnan(column) for column in y.T]
        metrics = [Data(x[k], column[k], running) for k, column in zip(kept, y.T, strict=True)]
        return cls(x, y, metrics, objectives, bounds)

    @property
    def pending(self) -> np.ndarray:
        """Points that are being evaluated, (k, ...)."""
        return self.metrics[0].pending

    @property
    def outcomes(self) -> Data:
        """Where evaluations succeeded (0) and failed (NaN), in the order of their trials."""
        failed = np.isnan(self.y).all(axis=1)
        return Data(self.x, np.where(failed, np.nan, 0.0), self.pending)

    @property
    def goals(self) -> np.ndarray:
        """The values of the objectives, (n, K)."""
        return self.y[:, : self.objectives]

    @property
    def violations(self) -> np.ndarray:
        """How far each evaluation is from feasible; NaN where a limited value is missing, (n,).

        Violations of different limits are compared in units of the mean violation of each.
        """
        total = np.zeros(len(self))
        for bound in self.bounds:
            each = np.maximum(-bound.margin(self.y[:, bound.column]), 0.0)
            known = each[~np.isnan(each)]
            total += each / (known.mean() if known.any() else 1.0)
        return np.where(np.isnan(self.y).all(axis=1), np.nan, total)

    def best(self, count: int) -> np.ndarray:
        """Return the positions of good evaluations: the best feasible ones, or the closest ones.

        Of several objectives these are points all along the front.

        Args:
            count: How many at most.
        """
        violations = self.violations
        complete = ~np.isnan(self.goals).any(axis=1)
        feasible = np.flatnonzero(complete & (violations == 0))
        if not len(feasible):
            known = np.flatnonzero(~np.isnan(violations) & complete)
            return known[np.argsort(violations[known], kind="stable")][:count]
        if self.objectives == 1:
            return feasible[np.argsort(-self.goals[feasible, 0], kind="stable")][:count]
        return self.front[spread(self.goals[self.front], count)]

    @property
    def front(self) -> np.ndarray:
        """The positions of the feasible evaluations that no other feasible one beats."""
        complete = ~np.isnan(self.goals).any(axis=1)
        feasible = np.flatnonzero(complete & (self.violations == 0))
        return feasible[non_dominated(self.goals[feasible])]


def non_dominated(y: np.ndarray) -> np.ndarray:
    """Return which points no other one beats: as good in all objectives and better in one.

    Args:
        y: Values of the objectives, larger being better, (n, K).

    Examples:
        >>> non_dominated(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5]])).tolist()
        [True, True, False]
    """
    kept = np.ones(len(y), bool)
    for i, point in enumerate(y):
        as_good = (y >= point).all(axis=1)
        kept[i] = not (as_good & (y > point).any(axis=1)).any()
    return kept


def spread(y: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of points that lie far apart, the extremes first.

    Args:
        y: Points, such as those of a front, (n, K).
        count: How many at most.
    """
    if len(y) <= count:
        return np.arange(len(y))
    span = np.ptp(y, axis=0)
    z = y / np.where(span > 0, span, 1.0)
    chosen = [int(z[:, 0].argmax())]
    distance = np.full(len(z), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, np.square(z - z[chosen[-1]]).sum(axis=1))
        chosen.append(int(distance.argmax()))
    return np.array(chosen)[:count]

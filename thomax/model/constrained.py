"""Draws of several metrics as one score: a trade-off of objectives where all limits hold.

Of the points where all drawn limits hold the best drawn value counts; where none holds, the least
violation (Eriksson and Poloczek 2021, section 3). Points are compared by that rule exactly. Where
they are climbed, violations have a price: a climb then crosses the border, and ends just inside.

Notation:
    f       draws of the metrics on their standardised scales        (M, B, N)
    margin  how far a draw lies inside its limit                     (L, B, N)
    v       violation, the sum of what is missing                    (B, N)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thomax.model.evaluation import Evaluator
from thomax.model.tradeoffs import Tradeoff

_FLOOR = -1e9  # below all values of draws, and still far from where floats lose violations
_PRICE = 10.0  # standard deviations of the objective for one of a limited metric
_WIDTH = 0.02  # of the border where the price sets in, in standard deviations


@dataclass(frozen=True)
class DrawnLimit:
    """A limit on the draws of a metric.

    Args:
        column: The position of the metric.
        threshold: The bound on the scale of the draws.
        is_lower: Whether draws must be at least the bound, and not at most.
    """

    column: int
    threshold: float
    is_lower: bool

    @property
    def sign(self) -> float:
        """What a larger draw does to the margin."""
        return 1.0 if self.is_lower else -1.0

    def margin(self, f: np.ndarray) -> np.ndarray:
        """Return how far draws lie inside the limit.

        Args:
            f: Draws of all metrics, (M, B, N).
        """
        return self.sign * (f[self.column] - self.threshold)


@dataclass(frozen=True)
class MetricScore(Evaluator):
    """B functions, each made of one independent draw for each metric.

    Args:
        metrics: What evaluates the draws of each metric; the objectives come first.
        objectives: How many metrics are objectives.
        tradeoff: How the objectives become one.
        limits: The limits.
    """

    metrics: Sequence[Evaluator]
    objectives: int
    tradeoff: Tradeoff
    limits: Sequence[DrawnLimit] = ()

    @property
    def count(self) -> int:
        """How many functions there are, B."""
        return self.metrics[0].count

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of all functions at the same points."""
        return self._by_the_rule(np.stack([m.values(x) for m in self.metrics]))

    def own_values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of each function at its own points."""
        return self._by_the_rule(np.stack([m.own_values(x) for m in self.metrics]))

    def own_gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return smooth values, with a price on violations, and their gradients."""
        found = [m.own_gradients(x) for m in self.metrics]
        f = np.stack([values for values, _ in found])
        values, slopes = self.tradeoff.slopes(f[: self.objectives])
        by_metric = np.zeros_like(f)
        by_metric[: self.objectives] = slopes
        for limit in self.limits:
            price, slope = _priced(limit.margin(f))
            values = values - price
            by_metric[limit.column] -= slope * limit.sign
        gradients = sum(
            slope[..., None] * gradient
            for slope, (_, gradient) in zip(by_metric, found, strict=True)
        )
        return values, np.asarray(gradients)

    def part(self, which: slice) -> "MetricScore":
        """Return some of the functions."""
        metrics = [m.part(which) for m in self.metrics]
        return replace(self, metrics=metrics, tradeoff=self.tradeoff.part(which))

    def _by_the_rule(self, f: np.ndarray) -> np.ndarray:
        values = self.tradeoff.values(f[: self.objectives])
        if not self.limits:
            return values
        violation = sum(np.maximum(-limit.margin(f), 0.0) for limit in self.limits)
        return np.where(violation == 0, values, _FLOOR - violation)


def _priced(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the price of violations, and its derivative by the margin.

    It is zero from a margin of one width on, and straight from a violation of one width on: a
    climb that the price outweighs by more than a half ends at a positive margin.
    """
    depth = np.clip(_WIDTH - margin, 0.0, 2 * _WIDTH)
    beyond = np.maximum(-_WIDTH - margin, 0.0)
    return _PRICE * (depth**2 / (4 * _WIDTH) + beyond), -_PRICE * depth / (2 * _WIDTH)

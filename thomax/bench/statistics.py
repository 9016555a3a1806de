"""From records to curves, and from curves to verdicts.

Notation:
    starts       evaluations before the first iteration
    best         the largest value observed so far
    score        the mean of `best` over the iterations, on a scale where 0 is what the starts
                 gave and 1 the best value any run of the task has seen
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Record = Mapping[str, Any]
Verdict = Literal["holds", "does not hold", "not enough seeds", "not run"]

SMALL = 0.05  # an advantage below this share of the whole improvement counts as none
EQUAL = 0.10  # and a difference below this one as a tie
_CONFIDENCE = 0.95
_FEWEST_SEEDS = 3


def best_by_evaluation(record: Record) -> np.ndarray:
    """Return the best value after the starts and after each further evaluation."""
    values = [-math.inf if v is None else v for v in record["values"]]
    best = np.maximum.accumulate(values)
    return best[max(record["starts"] - 1, 0) :]


def best_by_iteration(record: Record) -> np.ndarray:
    """Return the best value after the starts and after each iteration: a batch counts as one."""
    batch = int(str(record["method"]).partition("@")[2] or 1)
    return best_by_evaluation(record)[::batch]


def mean_and_error(curves: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard error over runs, as far as the shortest goes."""
    length = min(len(curve) for curve in curves)
    stacked = np.array([curve[:length] for curve in curves])
    if len(stacked) == 1:
        return stacked[0], np.zeros(length)
    return stacked.mean(axis=0), stacked.std(axis=0, ddof=1) / math.sqrt(len(stacked))


@dataclass(frozen=True)
class Scale:
    """The way from values of a task to scores: `start` becomes 0 and `top` 1."""

    start: float
    top: float

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Scale":
        """Take the scale from all runs of a task."""
        curves = [best_by_evaluation(record) for record in records]
        return cls(float(np.mean([c[0] for c in curves])), max(float(c[-1]) for c in curves))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Bring values to the scale."""
        width = self.top - self.start
        return (values - self.start) / (width if width > 0 else 1.0)


@dataclass(frozen=True)
class Comparison:
    """A paired comparison over seeds: mean difference of scores, its interval, its size."""

    seeds: int
    difference: float
    low: float
    high: float
    standardised: float  # the mean over the standard deviation of the differences

    @classmethod
    def of(cls, differences: Sequence[float]) -> "Comparison":
        """Compare by differences, one a seed, with Student's interval."""
        from scipy import stats  # here, because importing it takes long

        d = np.asarray(differences, float)
        n, mean = len(d), float(np.mean(d))
        if n < 2:
            return cls(n, mean, -math.inf, math.inf, math.nan)
        std = float(d.std(ddof=1))
        half = float(stats.t.ppf(0.5 + _CONFIDENCE / 2, n - 1)) * std / math.sqrt(n)
        size = mean / std if std > 0 else math.copysign(math.inf, mean) if mean else 0.0
        return cls(n, mean, mean - half, mean + half, size)

    def superiority(self) -> Verdict:
        """Judge the claim that the difference is positive."""
        if self.seeds < _FEWEST_SEEDS:
            return "not enough seeds"
        if self.low > 0:
            return "holds"
        return "does not hold" if self.high < SMALL else "not enough seeds"

    def equality(self) -> Verdict:
        """Judge the claim that there is no difference to speak of."""
        if self.seeds < _FEWEST_SEEDS:
            return "not enough seeds"
        if self.low > -EQUAL and self.high < EQUAL:
            return "holds"
        return "does not hold" if self.low > 0 or self.high < 0 else "not enough seeds"

    def no_great_loss(self) -> Verdict:
        """Judge the claim that the difference, if negative, is small."""
        if self.seeds < _FEWEST_SEEDS:
            return "not enough seeds"
        if self.low > -EQUAL:
            return "holds"
        return "does not hold" if self.high < -EQUAL else "not enough seeds"


def scores(
    records: Sequence[Record], scale: Scale, *, by: Literal["iteration", "evaluation"], upto: int
) -> dict[int, float]:
    """Return the score of each seed over the first `upto` iterations or evaluations."""
    curve = best_by_iteration if by == "iteration" else best_by_evaluation
    return {r["seed"]: float(scale(curve(r)[1 : upto + 1]).mean()) for r in records}


def compare(
    first: Sequence[Record],
    second: Sequence[Record],
    scale: Scale,
    *,
    by: Literal["iteration", "evaluation"] = "iteration",
) -> Comparison:
    """Compare two methods over the seeds both have, as far as both go."""
    curve = best_by_iteration if by == "iteration" else best_by_evaluation
    upto = min(len(curve(r)) for r in (*first, *second)) - 1
    one, two = (scores(records, scale, by=by, upto=upto) for records in (first, second))
    return Comparison.of([one[seed] - two[seed] for seed in sorted(one.keys() & two.keys())])

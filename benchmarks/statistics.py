"""From records to curves, and from curves to verdicts.

Notation:
    starts       evaluations before the first iteration
    best         the largest value observed so far
    score        the mean of `best` over the iterations, on a scale where 0 is what the starts
                 gave and 1 the best value any run of the task has seen; measured from the optimum
                 where it is known, since the runs of a task may be of different functions
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

Record = Mapping[str, Any]
Verdict = Literal["holds", "does not hold", "not enough seeds", "not run"]

SMALL = 0.05  # share of the whole improvement: what is surely less of an advantage counts as none
EQUAL = 0.10  # and a difference that is surely less as a tie
_CONFIDENCE = 0.95
_FEWEST_SEEDS = 3
_MOST_PLACES = 6  # behind the point; smaller numbers get an exponent


def best_by_evaluation(record: Record) -> np.ndarray:
    """Return the best value after the starts and after each further evaluation."""
    values = [-math.inf if v is None else v for v in record["values"]]
    best = np.maximum.accumulate(values)
    return best[max(record["starts"] - 1, 0) :]


def best_by_iteration(record: Record) -> np.ndarray:
    """Return the best value after the starts and after each iteration: a batch counts as one.

    A run that ended early, because its space was exhausted, has found what there is.
    """
    best, batch = best_by_evaluation(record), batch_of(record)
    steps = np.arange(record["iterations"] + 1) * batch
    return best[np.minimum(steps, len(best) - 1)]


def batch_of(record: Record) -> int:
    """Return how many evaluations an iteration of the run has."""
    return int(str(record["method"]).partition("@")[2] or 1)


def above_optimum(curve: np.ndarray, record: Record) -> np.ndarray:
    """Measure from the optimum where it is known: runs may be of different functions."""
    optimum = record.get("optimum")
    return curve if optimum is None else curve - optimum


def mean_and_error(curves: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard error over runs, as far as the shortest goes."""
    length = min(len(curve) for curve in curves)
    stacked = np.array([curve[:length] for curve in curves])
    if len(stacked) == 1:
        return stacked[0], np.full(length, math.nan)
    return stacked.mean(axis=0), stacked.std(axis=0, ddof=1) / math.sqrt(len(stacked))


def with_error(values: Sequence[float]) -> str:
    """Write a mean with its standard error, both as exact as the error's two digits.

    Example:
        >>> with_error([1000.0, 1300.0, 700.0]), with_error([2e-9, 4e-9])
        ('1000 ± 170', '3e-09 ± 1e-09')
        >>> with_error([0.9067]), with_error([0.9067, 0.9067])
        ('0.9067', '0.9067 ± 0')
    """
    mean, error = (float(z[0]) for z in mean_and_error([np.array([v]) for v in values]))
    if not error > 0:  # one value has none
        return f"{mean:.4g}" + (" ± 0" if error == 0 else "")
    places = 1 - math.floor(math.log10(error))
    if places > _MOST_PLACES:
        return f"{mean:.2g} ± {error:.2g}"
    return " ± ".join(f"{round(number, places):.{max(places, 0)}f}" for number in (mean, error))


@dataclass(frozen=True)
class Scale:
    """The way from values of a task to scores: `start` becomes 0 and `top` 1."""

    start: float
    top: float

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Scale":
        """Take the scale from all runs of a task."""
        curves = [above_optimum(best_by_evaluation(r), r) for r in records]
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
    upto: int = 0  # iterations (or evaluations) that were compared

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
        different = self.low > EQUAL or self.high < -EQUAL
        return "does not hold" if different else "not enough seeds"

    def no_great_loss(self) -> Verdict:
        """Judge the claim that the difference, if negative, is small."""
        if self.seeds < _FEWEST_SEEDS:
            return "not enough seeds"
        if self.low > -EQUAL:
            return "holds"
        return "does not hold" if self.high < -EQUAL else "not enough seeds"


def compare(
    first: Sequence[Record],
    second: Sequence[Record],
    scale: Scale,
    *,
    by: Literal["iteration", "evaluation"] = "iteration",
) -> Comparison | None:
    """Compare two methods over the seeds both have, as far as both go; None if there are none."""
    one, two = ({r["seed"]: r for r in runs} for runs in (first, second))
    seeds = sorted(one.keys() & two.keys())
    if not seeds:
        return None
    upto = min(_length(r, by) for runs in (one, two) for s, r in runs.items() if s in seeds)
    differences = [
        _score(one[s], scale, by, upto) - _score(two[s], scale, by, upto) for s in seeds
    ]
    return replace(Comparison.of(differences), upto=upto)


def _length(record: Record, by: str) -> int:
    return int(record["iterations"]) * (1 if by == "iteration" else batch_of(record))


def _score(record: Record, scale: Scale, by: str, upto: int) -> float:
    """Return the mean of the best value over the first steps, on the scale of scores."""
    curve = best_by_iteration(record) if by == "iteration" else best_by_evaluation(record)
    steps = np.minimum(np.arange(1, upto + 1), len(curve) - 1)
    return float(scale(above_optimum(curve[steps], record)).mean())

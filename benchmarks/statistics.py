"""From records to curves, and from curves to verdicts.

Notation:
    starts       evaluations before the first iteration
    best         the largest value so far: noise-free where the record knows it, else observed
    score        the mean of `best` over the iterations: how high a curve lies
    end          `best` after the last iteration that both methods have, judged anew where the
                 record knows it: where a curve ends

Two methods are compared on a scale of their own: 0 is what the starts gave, on average, and 1
the average end of the better of the two. Other methods on the task do not move it. Values are
measured from the optimum where it is known, since runs of a task may be of different functions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

Record = Mapping[str, Any]
Verdict = Literal["holds", "does not hold", "not enough seeds", "not enough iterations", "not run"]
By = Literal["iteration", "evaluation"]

SMALL = 0.05  # share of the whole improvement: what is surely less of an advantage counts as none
EQUAL = 0.10  # and a difference that is surely less as a tie
ZERO = 0.01  # share of the regret of the starts that counts as none
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
    def of(cls, differences: Sequence[float] | np.ndarray) -> "Comparison":
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

    def not_zero(self) -> Verdict:
        """Judge the claim that a regret, as a share of that of the starts, stays above zero."""
        if self.seeds < _FEWEST_SEEDS:
            return "not enough seeds"
        if self.low > ZERO:
            return "holds"
        return "does not hold" if self.high < ZERO else "not enough seeds"

    def no_great_loss(self) -> Verdict:
        """Judge the claim that the difference, if negative, is small."""
        if self.seeds < _FEWEST_SEEDS:
            return "not enough seeds"
        if self.low > -EQUAL:
            return "holds"
        return "does not hold" if self.high < -EQUAL else "not enough seeds"


@dataclass(frozen=True)
class Compared:
    """Two methods compared by the height of their curves, and by where these end."""

    score: Comparison
    end: Comparison


def compare(
    first: Sequence[Record], second: Sequence[Record], *, by: By = "iteration"
) -> Compared | None:
    """Compare two methods over the seeds both have, as far as both go; None if there are none."""
    one, two = ({r["seed"]: noise_free(r) for r in runs} for runs in (first, second))
    seeds = sorted(one.keys() & two.keys())
    if not seeds:
        return None
    runs = [[one[s] for s in seeds], [two[s] for s in seeds]]
    upto = min(length(r, by) for side in runs for r in side)
    curves = np.array([[_curve(r, by, upto) for r in side] for side in runs])
    scale = Scale(float(curves[:, :, 0].mean()), float(curves[:, :, -1].mean(axis=1).max()))
    scores = scale(curves[:, :, 1:]).mean(axis=2)
    ends = scale(_ends(runs, curves, by, upto))
    score, end = (replace(Comparison.of(z[0] - z[1]), upto=upto) for z in (scores, ends))
    return Compared(score, end)


def regret_left(records: Sequence[Record]) -> Comparison:
    """Return the regret at the end as a share of that of the starts: a mean with its interval."""
    runs = [noise_free(r) for r in records]
    upto = min(length(r) for r in runs)
    curves = np.array([_curve(r, "iteration", upto) for r in runs])
    return replace(Comparison.of(curves[:, -1] / curves[:, 0].mean()), upto=upto)


def noise_free(record: Record) -> Record:
    """Return a record with the noise-free values, where it has them, in place of the observed."""
    return {**record, "values": record["truth"]} if "truth" in record else record


def length(record: Record, by: By = "iteration") -> int:
    """Return how many iterations or evaluations a run has after the starts."""
    return int(record["iterations"]) * (1 if by == "iteration" else batch_of(record))


def _curve(record: Record, by: By, upto: int) -> np.ndarray:
    """Return the best value after the starts and after each of the first steps."""
    curve = best_by_iteration(record) if by == "iteration" else best_by_evaluation(record)
    return above_optimum(curve[np.minimum(np.arange(upto + 1), len(curve) - 1)], record)


def _ends(runs: list[list[Record]], curves: np.ndarray, by: By, upto: int) -> np.ndarray:
    """Return the last values, judged anew where all runs end here and have been judged."""
    flat = [record for side in runs for record in side]
    judged = [r.get("judged") for r in flat]
    if any("truth" in r or length(r, by) != upto for r in flat) or None in judged:
        return curves[:, :, -1]
    values = [above_optimum(np.array(j), r) for j, r in zip(judged, flat, strict=True)]
    return np.reshape(values, curves.shape[:2])

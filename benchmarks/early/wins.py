"""Who is ahead after so many evaluations: wins, scores, ranks and tests, with tasks as units.

Notation:
    win     1 if a method's best value is larger than another's on the same task and seed, 1/2 if
            they are equal, else 0; a task's win rate is the mean over seeds
    score   the best value on a scale where 0 is the mean over methods of what eight evaluations
            gave (the starts, where they are common) and 1 the best that any run of this task and
            seed saw; at least -1
    error   the standard error over tasks
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare.ranking import holm, ranks, signed_rank_p
from benchmarks.statistics import Record, batch_of

Array = NDArray[np.float64]
Rates = dict[str, float]  # by task
Key = tuple[str, str, int]  # task, method and seed

CHECKPOINTS = (8, 16, 32, 64)
_BASE = 8  # evaluations that a score of 0 is made of
_LOWEST = -1.0
_EQUAL = 1e-9  # share of the values: a smaller difference is rounding


@dataclass(frozen=True, eq=False)
class Field:
    """The runs of several methods on several tasks, at one batch size.

    Args:
        curves: The best value so far by evaluation, the first after the common starts.
        bases: Of each task and seed what is worth a score of 0.
        tops: Of each task and seed what is worth a score of 1.
    """

    curves: Mapping[Key, Array]
    bases: Mapping[tuple[str, int], float]
    tops: Mapping[tuple[str, int], float]

    @classmethod
    def of(cls, records: Iterable[Record], batch: int) -> "Field":
        """Take the runs of a batch size; of several of a method and seed the longest."""
        curves: dict[Key, Array] = {}
        bases: dict[tuple[str, int], list[float]] = {}
        for record in (r for r in records if batch_of(r) == batch):
            best = np.fmax.accumulate([-math.inf if v is None else v for v in record["values"]])
            key = record["task"], str(record["method"]).partition("@")[0], record["seed"]
            starts = record["starts"]
            if key in curves and len(curves[key]) >= len(best) - starts:
                continue
            curves[key] = best[starts:]
            base = best[min((starts or _BASE), len(best)) - 1]
            bases.setdefault((key[0], key[2]), []).append(float(base))
        tops: dict[tuple[str, int], float] = {}
        for (task, _, seed), curve in curves.items():
            tops[task, seed] = max(tops.get((task, seed), -math.inf), float(curve[-1]))
        return cls(curves, {where: float(np.mean(b)) for where, b in bases.items()}, tops)

    @cached_property
    def methods(self) -> list[str]:
        """The methods in the order of their first runs."""
        return list(dict.fromkeys(method for _, method, _ in self.curves))

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks in the order of their first runs."""
        return list(dict.fromkeys(task for task, _, _ in self.curves))

    @cached_property
    def _seeds(self) -> dict[tuple[str, str], set[int]]:
        found: dict[tuple[str, str], set[int]] = {}
        for task, method, seed in self.curves:
            found.setdefault((task, method), set()).add(seed)
        return found

    @cached_property
    def length(self) -> int:
        """Evaluations of the longest run."""
        return max((len(curve) for curve in self.curves.values()), default=0)

    def checkpoints(self) -> list[int]:
        """Return after how many evaluations methods are compared; the last is the end."""
        return [*(k for k in CHECKPOINTS if k < self.length), self.length]

    def best(self, task: str, method: str, seed: int, k: int) -> float:
        """Return the best value after k evaluations; what exhausted its space keeps its last."""
        curve = self.curves[task, method, seed]
        return float(curve[min(k, len(curve)) - 1])

    def seeds(self, task: str, *methods: str) -> list[int]:
        """Return the seeds that all of these methods have on a task."""
        return sorted(set.intersection(*(self._seeds.get((task, m), set()) for m in methods)))

    def wins(self, first: str, second: str, k: int) -> dict[str, list[float]]:
        """Return by task who is ahead after k evaluations, one number for each seed of both."""
        found = {}
        for task in self.tasks:
            pairs = [
                (self.best(task, first, s, k), self.best(task, second, s, k))
                for s in self.seeds(task, first, second)
            ]
            if pairs:
                found[task] = [_win(a, b) for a, b in pairs]
        return found

    def score(self, task: str, method: str, seed: int, k: int) -> float:
        """Return the score of a run after k evaluations."""
        base, top = self.bases[task, seed], self.tops[task, seed]
        width = top - base
        if not 0 < width < math.inf:
            return 0.0
        return max(_LOWEST, (self.best(task, method, seed, k) - base) / width)

    def score_differences(self, first: str, second: str, k: int) -> dict[str, list[float]]:
        """Return by task the differences of scores after k evaluations, by seed."""
        found = {}
        for task in self.tasks:
            seeds = self.seeds(task, first, second)
            if seeds:
                found[task] = [
                    self.score(task, first, s, k) - self.score(task, second, s, k) for s in seeds
                ]
        return found

    def mean_ranks(self, k: int) -> Rates:
        """Return the mean rank of each method over the tasks and seeds that all methods have."""
        by_task = []
        for task in self.tasks:
            seeds = self.seeds(task, *self.methods)
            if seeds:
                table = [[self.best(task, m, s, k) for s in seeds] for m in self.methods]
                by_task.append(ranks(np.array(table)).mean(axis=1))
        if not by_task:
            return {}
        return dict(zip(self.methods, np.mean(by_task, axis=0).tolist(), strict=True))

    def mean_scores(self, k: int) -> Rates:
        """Return the mean score of each method over its tasks; every task counts the same."""
        found = {}
        for method in self.methods:
            tasks = [
                np.mean([self.score(task, method, s, k) for s in seeds])
                for task in self.tasks
                if (seeds := self.seeds(task, method))
            ]
            found[method] = float(np.mean(tasks))
        return found


def _win(a: float, b: float) -> float:
    both = math.isfinite(a) and math.isfinite(b)  # nothing told yet is minus infinity
    if a == b or (both and abs(a - b) <= _EQUAL * max(abs(a), abs(b))):
        return 0.5
    return float(a > b)


@dataclass(frozen=True)
class Duel:
    """A method against another after some evaluations, over tasks.

    Args:
        tasks: How many tasks both were run on.
        rate: The mean of the tasks' win rates.
        error: Its standard error over tasks, nan for one task.
        p: Of Wilcoxon's signed-rank test that win rates are 1/2; corrected in `duels`.
        score: The mean difference of scores.
        score_error: Its standard error over tasks.
    """

    tasks: int
    rate: float
    error: float
    p: float
    score: float
    score_error: float

    @classmethod
    def of(cls, field: Field, first: str, second: str, k: int) -> "Duel | None":
        """Compare two methods after k evaluations; None where no task has both."""
        rates = [float(np.mean(w)) for w in field.wins(first, second, k).values()]
        if not rates:
            return None
        differences = field.score_differences(first, second, k).values()
        scores = [float(np.mean(d)) for d in differences]
        p = signed_rank_p(rates, [0.5] * len(rates))
        return cls(len(rates), *mean_error(rates), p, *mean_error(scores))


def mean_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, nan for a single value.

    Example:
        >>> mean_error([0.0, 1.0])
        (0.5, 0.5)
    """
    count = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(count) if count > 1 else math.nan
    return float(np.mean(values)), error


def duels(field: Field, reference: str, k: int) -> dict[str, Duel]:
    """Compare a method with all others after k evaluations, p-values corrected after Holm."""
    others = [m for m in field.methods if m != reference]
    found = {m: duel for m in others if (duel := Duel.of(field, reference, m, k)) is not None}
    corrected = holm({m: duel.p for m, duel in found.items()})
    return {
        m: Duel(d.tasks, d.rate, d.error, corrected[m], d.score, d.score_error)
        for m, d in found.items()
    }

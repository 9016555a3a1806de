"""From records to a comparison: finals, scores, ranks and tests of one suite at one batch size.

Notation:
    final   the best value observed within the budget; measured from the optimum where it is known
    score   the final on a scale where 0 is the mean of the starts and 1 the best any run saw

A task is compared as far as its shortest run goes; of several, the nearest to the budget counts.
A method's mean is over all seeds it has; ranks are over the seeds that all methods have, and
comparisons of two over those that both have.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median_low
from typing import Any

import numpy as np

from benchmarks.compare.ranking import LEVEL, holm, ranks, signed_rank_p
from benchmarks.compare.suites import (
    BATCHES,
    OURS,
    SUITES,
    Budget,
    can_search,
    is_run,
    named,
)
from benchmarks.statistics import (
    Comparison,
    Record,
    Scale,
    above_optimum,
    batch_of,
    best_by_evaluation,
)

Runs = dict[str, dict[int, Record]]  # by method and seed

_NOISY = 0.01  # share of the scale
_KEPT_UP = 0.9  # share of the median method's runs that a method needs to be shown beside it


@dataclass(frozen=True)
class TaskResult:
    """What methods came to on a task."""

    name: str
    runs: Runs

    @cached_property
    def upto(self) -> int:
        """Evaluations after the starts that all runs have."""
        return min(int(r["iterations"]) * batch_of(r) for r in self.records)

    @property
    def records(self) -> list[Record]:
        """The runs of all methods."""
        return [record for by_seed in self.runs.values() for record in by_seed.values()]

    @property
    def regret(self) -> bool:
        """Whether finals are measured from the optimum."""
        return all(r["optimum"] is not None for r in self.records)

    def curve(self, record: Record) -> np.ndarray:
        """Return the best value by evaluation; what exhausted its space keeps its last."""
        best = above_optimum(best_by_evaluation(record), record)
        return best[np.minimum(np.arange(self.upto + 1), len(best) - 1)]

    def finals(self, method: str) -> dict[int, float]:
        """Return the finals of a method by seed."""
        return {seed: float(self.curve(r)[-1]) for seed, r in self.runs[method].items()}

    @cached_property
    def scale(self) -> Scale:
        """The way from finals to scores."""
        curves = [self.curve(r) for r in self.records]
        return Scale(float(np.mean([c[0] for c in curves])), max(float(c[-1]) for c in curves))

    def judged(self, method: str, point: str = "judged") -> dict[int, float]:
        """Return by seed what the best observed point is worth without noise, where it is known.

        It is known of the best point of a whole run: not of one that others do not go on with.
        With "recommended" it is that of the point our model prefers.
        """
        runs = self.runs.get(method, {})
        known = {s: r for s, r in runs.items() if r.get(point) is not None}
        whole = {s: r for s, r in known.items() if r["iterations"] * batch_of(r) == self.upto}
        return {s: float(above_optimum(np.array([r[point]]), r)[0]) for s, r in whole.items()}

    @property
    def noisy(self) -> bool:
        """Whether the best points are worth something else than was observed."""
        gaps = []
        for method in self.runs:
            finals = self.finals(method)
            gaps += [abs(finals[seed] - value) for seed, value in self.judged(method).items()]
        return bool(gaps) and float(np.mean(gaps)) > _NOISY * (self.scale.top - self.scale.start)

    def scores(self, method: str) -> dict[int, float]:
        """Return the scores of a method by seed."""
        return {s: float(self.scale(np.array(v))) for s, v in self.finals(method).items()}

    def shared_seeds(self, methods: Sequence[str]) -> list[int]:
        """Return the seeds that all of these methods have."""
        return sorted(set.intersection(*(set(self.runs.get(m, {})) for m in methods)))

    def ranks(self, methods: Sequence[str]) -> dict[str, float]:
        """Return the mean ranks of methods over the seeds that all have, if there are any."""
        seeds = self.shared_seeds(methods)
        if not seeds:
            return {}
        finals = {m: self.finals(m) for m in methods}
        found = ranks(np.array([[finals[m][s] for s in seeds] for m in methods]))
        return dict(zip(methods, found.mean(axis=1).tolist(), strict=True))

    def versus(self, rival: str) -> Comparison | None:
        """Compare our scores with a rival's over the seeds that both have."""
        seeds = self.shared_seeds([OURS, rival])
        ours, theirs = (self.scores(m) if m in self.runs else {} for m in (OURS, rival))
        return Comparison.of([ours[s] - theirs[s] for s in seeds]) if seeds else None


@dataclass(frozen=True)
class SuiteResult:
    """What methods came to on the tasks of a suite, at one batch size."""

    suite: str
    batch: int
    methods: tuple[str, ...]
    budgets: Mapping[str, Budget]
    tasks: tuple[TaskResult, ...]
    hidden: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # of incomplete methods

    @property
    def pace(self) -> str:
        """The batch size in words."""
        return "one at a time" if self.batch == 1 else f"batches of {self.batch}"

    @cached_property
    def ranked(self) -> dict[str, dict[str, float]]:
        """The mean ranks by task, where all methods took part."""
        found = {task.name: task.ranks(self.methods) for task in self.tasks}
        return {name: ranks for name, ranks in found.items() if ranks}

    def mean_rank(self) -> dict[str, float]:
        """Return the mean of a method's ranks; every task counts the same."""
        found = self.ranked.values()
        return {m: float(np.mean([r[m] for r in found])) for m in self.methods} if found else {}

    def mean_score(self) -> dict[str, float]:
        """Return the mean of a method's mean scores, over the tasks that are ranked."""
        own = [task for task in self.tasks if task.name in self.ranked]
        return {m: float(np.mean([_mean(t.scores(m)) for t in own])) for m in self.methods if own}

    def wins(self) -> dict[str, int]:
        """Count the ranked tasks on which a method has the best mean, alone or with others."""
        count = dict.fromkeys(self.methods, 0)
        for task in (task for task in self.tasks if task.name in self.ranked):
            means = {m: _mean(task.scores(m)) for m in self.methods}
            best = max(means.values()) - LEVEL
            for method in (m for m in self.methods if means[m] >= best):
                count[method] += 1
        return count

    def seconds(self) -> dict[str, float]:
        """Return the median over runs of the mean seconds that a suggestion took."""
        found = {}
        for method in self.methods:
            own = [r for t in self.tasks for r in t.runs.get(method, {}).values() if r["asks"]]
            times = [r["ask_seconds"] / (r["asks"] * self.batch) for r in own]
            found[method] = float(np.median(times)) if times else math.nan
        return found

    def versus(self, rival: str) -> dict[str, Comparison]:
        """Return our comparisons with a rival by task."""
        found = {task.name: task.versus(rival) for task in self.tasks}
        return {name: comparison for name, comparison in found.items() if comparison is not None}

    def better_and_worse(self, rival: str) -> tuple[int, int]:
        """Count the tasks where our mean score is higher than a rival's, and where it is lower."""
        differences = [c.difference for c in self.versus(rival).values()]
        return sum(d > LEVEL for d in differences), sum(d < -LEVEL for d in differences)

    def p_holm(self) -> dict[str, float]:
        """Test over tasks that we and a rival have different scores, corrected for the rivals."""
        p_values = {}
        for rival in (m for m in self.methods if m != OURS):
            differences = [c.difference for c in self.versus(rival).values()]
            if differences:
                p_values[rival] = signed_rank_p(differences, [0.0] * len(differences))
        return holm(p_values)

    def summary(self) -> dict[str, Any]:
        """Return what is known in a form for JSON."""
        counts = {m: self.better_and_worse(m) for m in self.methods if m != OURS}
        return {
            "mean_rank": _rounded(self.mean_rank(), 2),
            "score": _rounded(self.mean_score(), 3),
            "wins": self.wins(),
            "p_holm": _rounded(self.p_holm(), 4),
            "better": {m: better for m, (better, _) in counts.items()},
            "worse": {m: worse for m, (_, worse) in counts.items()},
            "seconds": _rounded(self.seconds(), 3),
            "ranked_tasks": [*self.ranked],
            "seeds": {t.name: len({s for r in t.runs.values() for s in r}) for t in self.tasks},
            "budgets": {t.name: t.upto for t in self.tasks},
        }

    def progress(self, method: str) -> tuple[int, int]:
        """Return how many runs of a method there are, and how many the suite plans."""
        if method in self.hidden:
            return self.hidden[method]
        budgets = {n: b for n, b in self.budgets.items() if is_run(method, b)}
        runs = [t.runs.get(method, {}) for t in self.tasks if t.name in budgets]
        return sum(map(len, runs)), sum(b.seeds for b in budgets.values())

    def unrelated(self) -> "SuiteResult | None":
        """Return what is left without tasks that resemble those used for tuning."""
        left = tuple(task for task in self.tasks if not self.budgets[task.name].related)
        return replace(self, tasks=left) if 0 < len(left) < len(self.tasks) else None

    def absent(self) -> dict[str, list[str]]:
        """Return by method the tasks whose spaces it cannot search."""
        found = {
            m: [name for name, budget in self.budgets.items() if not can_search(m, budget)]
            for m in self.methods
        }
        return {method: names for method, names in found.items() if names}


def suite_results(
    records: Sequence[Record],
    methods: Sequence[str],
    *,
    suites: Mapping[str, Mapping[str, Budget]] = SUITES,
    batches: Sequence[int] = BATCHES,
) -> list[SuiteResult]:
    """Return a result for each suite and batch size of which there are runs by two methods."""
    found = []
    for suite, budgets in suites.items():
        for batch in batches:
            tasks = [_task_result(n, b, records, methods, batch) for n, b in budgets.items()]
            ran = [task for task in tasks if task.runs]
            here = tuple(m for m in methods if any(m in task.runs for task in ran))
            if len(here) > 1:
                found.append(SuiteResult(suite, batch, here, budgets, tuple(ran)))
    return found


def _task_result(
    name: str, budget: Budget, records: Sequence[Record], methods: Sequence[str], batch: int
) -> TaskResult:
    """Take each method's and seed's run whose length is nearest to the budget's."""
    length = budget.iterations(batch)
    fewest = length if budget.whole else 1
    here = [r for r in records if r["task"] == name and r["iterations"] >= fewest]
    nearest_last = sorted(here, key=lambda r: (-abs(r["iterations"] - length), r["iterations"]))
    runs: Runs = {}
    for method in methods:
        own = {r["seed"]: r for r in nearest_last if r["method"] == named(method, batch)}
        if own:
            runs[method] = dict(sorted(own.items()))
    return TaskResult(name, runs)


def without_incomplete(results: Sequence[SuiteResult]) -> list[SuiteResult]:
    """Leave out the methods that have few runs yet: ranks would be over their few seeds."""
    found = []
    for result in results:
        have = {m: np.divide(*result.progress(m)) for m in result.methods}
        enough = _KEPT_UP * median_low(have.values())
        kept = tuple(m for m in result.methods if have[m] >= enough)
        hidden = {m: result.progress(m) for m in result.methods if m not in kept}
        tasks = [
            replace(t, runs={m: t.runs[m] for m in kept if m in t.runs}) for t in result.tasks
        ]
        found.append(replace(result, methods=kept, tasks=tuple(tasks), hidden=hidden))
    return found


def summarised(results: Sequence[SuiteResult]) -> dict[str, Any]:
    """Return the summaries by suite and batch size, and the versions of the rivals' packages."""
    summary: dict[str, Any] = {}
    for result in results:
        summary.setdefault(result.suite, {})[f"batch_{result.batch}"] = result.summary()
    return summary | {"versions": versions(results)}


def versions(results: Sequence[SuiteResult]) -> list[str]:
    """Return the packages behind the rivals, as they were when these ran."""
    records = [r for result in results for task in result.tasks for r in task.records]
    return sorted({r["package"] for r in records if "package" in r})


def _mean(by_seed: Mapping[int, float]) -> float:
    return float(np.mean([*by_seed.values()]))


def _rounded(values: Mapping[str, float], digits: int) -> dict[str, float | None]:
    return {k: round(v, digits) if math.isfinite(v) else None for k, v in values.items()}

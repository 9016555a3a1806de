"""Who is ahead after so many evaluations, by hypervolume or by the best feasible value.

Comparisons are those of `benchmarks.early.wins`: wins by task and seed, tasks as units, Wilcoxon's
signed-rank test with Holm's correction. Mean ranks are over methods that were run on all tasks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.early.wins import Array, Duel, Field, Key, duels
from benchmarks.metrics.registry import MODES, metric_task, mode_of
from benchmarks.metrics.runner import START_POINTS, Record, curve, infeasible_share

CHECKPOINTS = (40, 100)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The runs of one kind of tasks at one batch size.

    Args:
        mode: What tasks have: several objectives, or limits.
        batch: How many points are asked for at once.
        methods: The methods that there are runs of, ours first.
        records: By task, method and seed.
    """

    mode: str
    batch: int
    methods: tuple[str, ...]
    records: Mapping[Key, Record]

    @property
    def title(self) -> str:
        """A heading."""
        pace = "one at a time" if self.batch == 1 else f"batches of {self.batch}"
        what = "Several objectives" if self.mode == "objectives" else "Limits"
        return f"{what}, {pace}"

    @cached_property
    def field(self) -> Field:
        """What is to be maximised, as curves."""
        return _field(self.curves)

    @cached_property
    def curves(self) -> dict[Key, Array]:
        """Hypervolumes, or minus the best feasible loss, by evaluation."""
        return {key: curve(record) for key, record in self.records.items()}

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that there are runs of, in the order of the registry."""
        return tuple(t for t in MODES[self.mode] if any(t == task for task, _, _ in self.records))

    def checkpoints(self) -> list[int]:
        """Return after how many evaluations methods are compared."""
        longest = max(len(c) for c in self.curves.values())
        return [k for k in CHECKPOINTS if k <= longest] or [longest]

    def seeds(self, task: str, method: str) -> list[int]:
        """Return the seeds of a task and a method."""
        return sorted(s for t, m, s in self.records if (t, m) == (task, method))

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The methods that were run on all tasks."""
        return tuple(m for m in self.methods if all(self.seeds(t, m) for t in self.tasks))

    def mean_ranks(self, k: int) -> dict[str, float]:
        """Return the mean ranks of the methods that were run on all tasks."""
        own = {key: c for key, c in self.curves.items() if key[1] in self.ranked}
        return _field(own).mean_ranks(k) if own else {}

    def duels(self, k: int) -> dict[str, Duel]:
        """Compare the first method with all others, p-values corrected after Holm."""
        return duels(self.field, self.methods[0], k)

    def tops(self) -> dict[str, float]:
        """Return by task the largest hypervolume that is known, or the best value that any saw."""
        found = {}
        for task in self.tasks:
            own = [float(c[-1]) for (t, _, _), c in self.curves.items() if t == task]
            found[task] = max([*own, metric_task(task).volume or -np.inf])
        return found

    def volume_share(self, method: str, k: int) -> float:
        """Return the mean share of the largest known hypervolume; every task counts the same."""
        tops, shares = self.tops(), []
        for task in self.tasks:
            own = [self.field.best(task, method, s, k) for s in self.seeds(task, method)]
            if own:
                shares.append(float(np.mean(own)) / tops[task])
        return float(np.mean(shares))

    def infeasible(self, method: str, k: int) -> float:
        """Return the mean share of infeasible evaluations after the starts."""
        limited = [t for t in self.tasks if metric_task(t).limits]
        return _mean_of_tasks(
            [infeasible_share(self.records[t, method, s], k) for s in self.seeds(t, method)]
            for t in limited
        )

    def found_feasible(self, method: str, k: int) -> float:
        """Return the mean share of runs that have a feasible point."""
        return _mean_of_tasks(
            ["1" in self.records[t, method, s]["feasible"][:k] for s in self.seeds(t, method)]
            for t in self.tasks
        )

    def seconds(self, method: str) -> float:
        """Return the mean time of a suggestion."""
        own = [r for (_, m, _), r in self.records.items() if m == method]
        asked = sum(len(r["feasible"]) - START_POINTS for r in own)
        return float(sum(r["seconds"] for r in own) / asked) if asked else float("nan")


def comparisons(records: Iterable[Record], methods: Sequence[str]) -> list[Comparison]:
    """Return a comparison for each kind of tasks and batch size with runs of two methods."""
    records, found = [*records], []
    for mode in MODES:
        for batch in sorted({r["batch"] for r in records}, reverse=True):
            own = {
                (r["task"], r["method"], r["seed"]): r
                for r in records
                if r["batch"] == batch and mode_of(r["task"]) == mode and r["method"] in methods
            }
            here = tuple(m for m in methods if any(m == method for _, method, _ in own))
            if len(here) > 1:
                found.append(Comparison(mode, batch, here, own))
    return found


def _field(curves: Mapping[Key, Array]) -> Field:
    """Return curves as a field; its scores are not used."""
    where = {(task, seed) for task, _, seed in curves}
    return Field(curves, dict.fromkeys(where, 0.0), dict.fromkeys(where, 1.0))


def _mean_of_tasks(by_task: Iterable[Sequence[float]]) -> float:
    means = [float(np.mean(own)) for own in by_task if len(own)]
    return float(np.mean(means)) if means else float("nan")

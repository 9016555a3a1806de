"""Run methods on tasks with several metrics: same starts for all, every run repeatable.

A finished run is one JSON line in `<folder>/<task>.jsonl`; one that was stopped begins anew. The
seed of the starting points depends on the run's seed only, so that all methods see the same.

Of a run are kept, for every evaluation, if it was feasible, and the losses of those that were
feasible and at their time dominated by no other one: all that hypervolumes and the best feasible
value depend on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.metrics.hypervolume import improvements, non_dominated
from benchmarks.metrics.methods import Session, takes_part
from benchmarks.metrics.problem import Array, MetricTask, Params, Values
from benchmarks.metrics.registry import metric_task
from benchmarks.runner import OPTIMISER, STARTS, append_record, commit, in_processes, records
from thomax.keys import make_key, stream

Record = dict[str, Any]
START_POINTS = 8  # told to every method before it is asked; they count as evaluations
EVALUATIONS = 100


@dataclass(frozen=True)
class MetricRun:
    """What identifies a run."""

    task: str
    method: str
    batch: int
    seed: int
    evaluations: int = EVALUATIONS


def runs(
    tasks: Sequence[str],
    methods: Sequence[str],
    batches: Sequence[int],
    seeds: int,
    evaluations: int = EVALUATIONS,
) -> list[MetricRun]:
    """Return the runs of a comparison, seed by seed: a part of them is already a comparison."""
    return [
        MetricRun(task, method, batch, seed, evaluations)
        for seed in range(seeds)
        for batch in batches
        for task in tasks
        for method in methods
        if takes_part(method, task)
    ]


def perform(run: MetricRun) -> Record:
    """Perform a run and return its record."""
    task = metric_task(run.task)
    seed = int(stream(make_key(run.seed), OPTIMISER).integers(2**31))
    points = starts(task, run.seed)[: run.evaluations]
    told: list[Values] = []
    with threadpool_limits(limits=1):  # as we do ourselves, see thomax.model.blas
        session = Session(run.method, task, seed, len(points))
        while len(told) < run.evaluations:
            if told:
                points = session.ask(min(run.batch, run.evaluations - len(told)))
            if not points:
                break
            for params in points:
                values = task.evaluate(params)
                session.tell(params, values)
                told.append(values)
    made_by = session.made_by | ({"commit": code} if (code := commit()) else {})
    return asdict(run) | _kept(task, told) | {"seconds": round(session.seconds, 2)} | made_by


def starts(task: MetricTask, seed: int) -> list[Params]:
    """Return the points that all methods are told first."""
    rng = stream(make_key(seed), STARTS)
    return task.space.decode(task.space.sample(rng, START_POINTS))


def _kept(task: MetricTask, told: Sequence[Values]) -> Record:
    feasible = [task.is_feasible(values) for values in told]
    kept: list[tuple[int, Array]] = []
    for place, values in enumerate(told):
        losses = task.losses(values)
        front = np.array([y for _, y in kept] + [losses])
        if feasible[place] and non_dominated(front)[-1]:
            kept.append((place, losses))
    return {
        "feasible": "".join(str(int(f)) for f in feasible),
        "front": [[place, *(float(f"{v:.7g}") for v in y)] for place, y in kept],
    }


def curve(record: Record) -> Array:
    """Return what is to be maximised after each evaluation of a run.

    The hypervolume, or minus the best feasible loss; minus infinity where none is feasible yet.
    """
    front = tuple(tuple(entry) for entry in record["front"])
    return _curve(record["task"], front, len(record["feasible"]))


@cache  # several tables and figures show the same runs
def _curve(name: str, front: tuple[tuple[float, ...], ...], count: int) -> Array:
    task = metric_task(name)
    losses = np.full((count, len(task.objectives)), np.inf)
    for place, *y in front:
        losses[int(place)] = y
    if task.has_front:
        return improvements(losses, task.reference_losses())
    return -np.minimum.accumulate(losses[:, 0])


def infeasible_share(record: Record, evaluations: int) -> float:
    """Return the share of infeasible evaluations, the starts left out.

    Example:
        >>> infeasible_share({"feasible": "00000000" + "1101"}, 12)
        0.25
    """
    asked = record["feasible"][START_POINTS:evaluations]
    return asked.count("0") / len(asked) if asked else 0.0


def run_all(
    wanted: Iterable[MetricRun], folder: Path, *, workers: int = 1, progress: bool = True
) -> None:
    """Perform the runs that have no record yet, and append their records."""
    done = finished(folder)
    missing = [run for run in wanted if run not in done]
    with tqdm(total=len(missing), disable=not progress, unit="run") as bar:
        for record in in_processes(partial(perform), missing, workers):
            append_record(folder / f"{record['task']}.jsonl", record)
            bar.update()
            bar.set_postfix_str(f"{record['task']} {record['method']} seed {record['seed']}")


def finished(folder: Path) -> set[MetricRun]:
    """Return the runs that have a record."""
    return {run_of(record) for record in records(folder)}


def run_of(record: Record) -> MetricRun:
    """Return which run a record is of."""
    names = "task", "method", "batch", "seed", "evaluations"
    return MetricRun(*(record[name] for name in names))


def forget(folder: Path, methods: Sequence[str]) -> None:
    """Remove the records of some methods, to run them anew."""
    import json

    for path in sorted(folder.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if json.loads(line)["method"] not in methods]
        path.write_text("".join(kept), encoding="utf-8")

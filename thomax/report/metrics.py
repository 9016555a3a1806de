"""One metric of several as a search of its own, and how far a search for several has come.

Notation:
    volume    the share of a box that the front dominates; the box goes from a tenth of the span
              below the worst feasible values to the best ones of each objective
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thomax.model.metric_data import MetricData, non_dominated
from thomax.model.tradeoffs import boxes
from thomax.recommendation import recommended
from thomax.storage.front import is_feasible, value_in
from thomax.storage.metrics import UNNAMED, Metrics
from thomax.storage.observations import all_metrics_data
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Trial, sign_of
from thomax.suggest import default_policy

_BELOW = 0.1  # of the span
_MOST_STEPS = 60  # volumes that are computed
_MOST_MEASURED = 3  # objectives: the volume of more takes long


class Step(NamedTuple):
    """How far a search had come with a trial.

    Args:
        number: The trial.
        volume: The volume that the front dominated then; None where it takes long to compute.
        size: The number of trials on the front.
    """

    number: int
    volume: float | None
    size: int


def metric_snapshot(snapshot: Snapshot, name: str) -> Snapshot:
    """Return the search as if nothing but one metric had been measured.

    Trials that miss it are left out.

    Args:
        snapshot: The search.
        name: The metric.
    """
    metrics = snapshot.metrics
    trials = [
        _only(trial, name, metrics)
        for trial in snapshot.trials
        if trial.state != "complete" or value_in(trial, name, metrics) is not None
    ]
    return replace(snapshot, metrics=Metrics.of(direction=metrics.better(name)), trials=trials)


def _only(trial: Trial, name: str, metrics: Metrics) -> Trial:
    repeated, stds = trial.replicates.get(name), trial.noise_std.get(name)
    return replace(
        trial,
        value=value_in(trial, name, metrics),
        values={},
        replicates={} if repeated is None else {UNNAMED: repeated},
        noise_std={} if stds is None else {UNNAMED: stds},
    )


def standard_error(trial: Trial, name: str = UNNAMED) -> float | None:
    """Return the standard error of a value: of known noise, or of repeated measurements.

    Args:
        trial: A trial.
        name: The metric.

    Examples:
        >>> standard_error(Trial(0, {}, 0.5, "complete", replicates={"value": (0.4, 0.6)}))
        0.1
    """
    repeated = trial.replicates.get(name, ())
    std = trial.noise_std.get(name)
    if std is None and len(repeated) > 1:
        std = statistics.stdev(repeated)
    return None if std is None else round(std / math.sqrt(max(len(repeated), 1)), 15)


def preferred_trials(snapshot: Snapshot) -> list[Trial]:
    """Return the trials that slices go through, the first that has a parameter.

    The trial that `Optimizer.recommend` returns comes first, all objectives counting alike; then
    the front, and then all others.

    Args:
        snapshot: The search.
    """
    first: list[Trial] = []
    if snapshot.space is not None and snapshot.complete:
        told, data = observed(snapshot)
        policy = snapshot.policy or default_policy(snapshot.space)
        weights = np.ones(data.objectives)
        row = recommended(policy, snapshot.space, data, weights, seed=snapshot.seed)
        first = [] if row is None else [told[row]]
    numbers = {t.number: t for t in (*first, *snapshot.ranked, *snapshot.complete)}
    return [*numbers.values()]


def observed(snapshot: Snapshot) -> tuple[list[Trial], MetricData]:
    """Return the trials that ended, and what the models of all metrics learn from them.

    Args:
        snapshot: The search, with a space.
    """
    told = [t for t in snapshot.trials if t.state in ("complete", "failed")]
    rows, pending = snapshot.encode(told), snapshot.encode(snapshot.pending)
    return told, all_metrics_data(told, rows, pending, snapshot.metrics)


def steps_of(snapshot: Snapshot) -> list[Step]:
    """Return how far the search had come with each feasible trial, thinned out if they are many.

    Args:
        snapshot: A search for several objectives.
    """
    names = [*snapshot.metrics.objectives]
    trials = [
        t
        for t in snapshot.complete
        if is_feasible(t, snapshot.metrics) and all(t.values.get(n) is not None for n in names)
    ]
    if not trials:
        return []
    signs = np.array([sign_of(d) for d in snapshot.metrics.objectives.values()])
    z = signs * np.array([[t.values[n] for n in names] for t in trials], float)
    extent = np.where(np.ptp(z, axis=0) > 0, np.ptp(z, axis=0), 1.0)
    z = (z - z.min(axis=0) + _BELOW * extent) / (np.ptp(z, axis=0) + _BELOW * extent)
    ends = np.unique(np.linspace(1, len(z), min(len(z), _MOST_STEPS)).astype(int)).tolist()
    fronts = [(trials[end - 1].number, z[:end][non_dominated(z[:end])]) for end in ends]
    return [
        Step(number, volume(front) if len(names) <= _MOST_MEASURED else None, len(front))
        for number, front in fronts
    ]


def volume(front: np.ndarray) -> float:
    """Return the share of the unit box that points dominate, larger being better.

    Args:
        front: Points of the unit box, (F, K).

    Examples:
        >>> volume(np.array([[1.0, 0.5], [0.5, 1.0]]))
        0.75
    """
    lower, upper = boxes(front, np.zeros(front.shape[1]))
    sides = np.maximum(np.minimum(upper, 1.0) - np.minimum(lower, 1.0), 0.0)
    return float(1 - sides.prod(axis=1).sum())


def kept_counts(snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """Return how many trials keep each limit, and how many have a value of it.

    Args:
        snapshot: The search.
    """
    found = {}
    for name, limit in snapshot.metrics.limits.items():
        values = measured(snapshot.complete, name, snapshot.metrics)
        found[name] = sum(limit.margin(v) >= 0 for _, v in values), len(values)
    return found


def measured(trials: Sequence[Trial], name: str, metrics: Metrics) -> list[tuple[Trial, float]]:
    """Return the trials that have a value of a metric, with it.

    Args:
        trials: Trials of a search.
        name: The metric.
        metrics: The objectives and limits of the search.
    """
    found = [(t, value_in(t, name, metrics)) for t in trials]
    return [(t, value) for t, value in found if value is not None]

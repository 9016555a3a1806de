"""Which trials are feasible, and which of those no other one beats in every objective."""

from collections.abc import Iterable, Sequence

from thomax.storage.metrics import UNNAMED, Metrics
from thomax.storage.trial import Trial, sign_of


def value_in(trial: Trial, name: str, metrics: Metrics) -> float | None:
    """Return the value of a metric in a trial, or None where there is none.

    Args:
        trial: A trial in any state.
        name: The metric.
        metrics: The objectives and limits of its search.
    """
    return trial.value if metrics.is_plain and name == UNNAMED else trial.values.get(name)


def margins(trial: Trial, metrics: Metrics) -> dict[str, float | None]:
    """Return how far the limited values lie inside their limits, None where one is missing.

    Args:
        trial: A trial in any state.
        metrics: The objectives and limits of its search.
    """
    found = {name: value_in(trial, name, metrics) for name in metrics.limits}
    return {
        name: None if value is None else metrics.limits[name].margin(value)
        for name, value in found.items()
    }


def is_feasible(trial: Trial, metrics: Metrics) -> bool:
    """Return whether a trial keeps all limits; one that misses a limited value may not.

    Args:
        trial: A trial in any state.
        metrics: The objectives and limits of its search.
    """
    kept = margins(trial, metrics).values()
    return trial.state == "complete" and all(m is not None and m >= 0 for m in kept)


def front_of(trials: Iterable[Trial], metrics: Metrics) -> list[Trial]:
    """Return the feasible trials that no other feasible one beats, in the order of their numbers.

    One trial beats another if it is as good in all objectives and better in one. A trial that
    misses an objective cannot be compared and is left out.

    Args:
        trials: Trials in any state.
        metrics: The objectives and limits of their search.

    Examples:
        >>> metrics = Metrics.of({"yield": "maximize", "cost": "minimize"})
        >>> values = [(0.8, 3.0), (0.7, 3.0), (0.9, 9.0)]
        >>> trials = [
        ...     Trial(n, {}, state="complete", values={"yield": y, "cost": c})
        ...     for n, (y, c) in enumerate(values)
        ... ]
        >>> [t.number for t in front_of(trials, metrics)]
        [0, 2]
    """
    feasible = [(_point(t, metrics), t) for t in trials if is_feasible(t, metrics)]
    known = [(point, trial) for point, trial in feasible if point is not None]
    # The best in the first objective come first: what comes later beats none of them.
    kept: list[tuple[Sequence[float], Trial]] = []
    for point, trial in sorted(known, key=lambda each: each[0], reverse=True):
        if not any(_beats(other, point) for other, _ in kept):
            kept.append((point, trial))
    return sorted((trial for _, trial in kept), key=lambda t: t.number)


def _point(trial: Trial, metrics: Metrics) -> tuple[float, ...] | None:
    """Return the objectives, larger being better, or None if one is missing."""
    found = [
        None if (value := value_in(trial, name, metrics)) is None else sign_of(direction) * value
        for name, direction in metrics.objectives.items()
    ]
    known = tuple(v for v in found if v is not None)
    return known if len(known) == len(found) else None


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def ranked(trials: Iterable[Trial], metrics: Metrics) -> list[Trial]:
    """Return the feasible trials of one objective, the best first, equal ones by their numbers.

    Args:
        trials: Trials in any state.
        metrics: The objective, and the limits.

    Examples:
        >>> trials = [Trial(n, {}, value, "complete") for n, value in enumerate([2.0, 1.0, 3.0])]
        >>> [t.number for t in ranked(trials, Metrics.of(direction="minimize"))]
        [1, 0, 2]
    """
    sign = sign_of(metrics.direction)
    known = [(-sign * t.value, t) for t in trials if t.value is not None]
    found = [each for each in known if is_feasible(each[1], metrics)]
    return [trial for _, trial in sorted(found, key=lambda each: each[0])]


def least_violating(trials: Iterable[Trial], metrics: Metrics) -> Trial | None:
    """Return the trial closest to feasible, if one has all limited values.

    Violations of different metrics are compared in units of the mean violation of each.

    Args:
        trials: Trials in any state.
        metrics: The objectives and limits of their search.
    """
    violations: list[tuple[Trial, list[float]]] = []
    for trial in trials:
        known = [m for m in margins(trial, metrics).values() if m is not None]
        if trial.state == "complete" and len(known) == len(metrics.limits):
            violations.append((trial, [max(0.0, -m) for m in known]))
    if not violations:
        return None
    columns = zip(*(each for _, each in violations), strict=True)
    units = [sum(v / len(violations) for v in column) or 1.0 for column in columns]

    def total(each: list[float]) -> float:
        return sum(v / unit for v, unit in zip(each, units, strict=True))

    return min(violations, key=lambda found: (total(found[1]), found[0].number))[0]

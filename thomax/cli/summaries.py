"""What there is to say about a search: counts, the best trial, rows of tables."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NotRequired, TypedDict

from thomax.cli.texts import LAST_COLUMNS, cell
from thomax.storage.front import is_feasible, least_violating, margins, value_in
from thomax.storage.metrics import Metrics
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Direction, Trial, outcome_words, state_words, value_of
from thomax.support.types import Params

STATES = ("complete", "failed", "pending", "dropped", "retracted")


class Summary(TypedDict):
    """A search in a few words, as `--json` prints it.

    Args:
        journal: The path of the journal.
        direction: Whether large or small values are best.
        seed: The seed of the search.
        counts: How many trials are in each state.
        best: The best trial that keeps all limits, if there is one; none of several objectives.
        objectives: The directions of the objectives by name, if they have names.
        limits: The limits by the names of metrics, if there are any.
        front: The numbers of the trials that no other one beats; not for one number a trial.
        feasible: The number of trials that keep all limits; not for one number a trial.
    """

    journal: str
    direction: Direction
    seed: int
    counts: dict[str, int]
    best: Params | None
    objectives: NotRequired[dict[str, Direction]]
    limits: NotRequired[dict[str, str]]
    front: NotRequired[list[int]]
    feasible: NotRequired[int]


def summary(path: Path, snapshot: Snapshot) -> Summary:
    """Return counts and the best trial as a dictionary for JSON.

    Args:
        path: The journal as the user calls it.
        snapshot: The search.
    """
    states: list[str] = [t.state for t in snapshot.trials]
    metrics = snapshot.metrics
    found: Summary = {
        "journal": str(path),
        "direction": snapshot.direction,
        "seed": snapshot.seed,
        "counts": {state: states.count(state) for state in STATES},
        "best": None if snapshot.best is None else asdict(snapshot.best),
    }
    if metrics.is_plain:
        return found
    return {
        **found,
        "objectives": dict(metrics.objectives),
        "limits": {name: str(limit) for name, limit in metrics.limits.items()},
        "front": [t.number for t in snapshot.front],
        "feasible": sum(is_feasible(t, metrics) for t in snapshot.complete),
    }


def standing_lines(snapshot: Snapshot) -> list[str]:
    """Return in a few lines how far a search has come: the best trial, or the front.

    Args:
        snapshot: The search.
    """
    metrics, trials = snapshot.metrics, snapshot.complete
    if not trials:
        return []
    lines = []
    if metrics.limits:
        count = sum(is_feasible(t, metrics) for t in trials)
        kept = "no trial keeps" if not count else f"{count} of {len(trials)} complete trials keep"
        lines.append(f"{kept} all limits" + ("" if count else " yet"))
        closest = least_violating(trials, metrics)
        if not count and closest is not None:
            lines[-1] += f"; the closest is trial {closest.number} ({outcome_words(closest)})"
    if metrics.only is None:
        many = len(snapshot.front)
        lines.append(f"front: {many} trial{'' if many == 1 else 's'} that no other one beats")
    elif snapshot.best is not None:
        lines.append(f"best: {value_of(snapshot.best):.6g} (trial {snapshot.best.number})")
    return lines


def shown_trials(snapshot: Snapshot, most: int) -> list[Trial]:
    """Return the best trials; as long as none keeps all limits the one that is closest to it.

    Args:
        snapshot: The search.
        most: How many to return.
    """
    closest = None if snapshot.ranked else least_violating(snapshot.trials, snapshot.metrics)
    return (snapshot.ranked if closest is None else [closest])[:most]


def mark_of(trial: Trial, snapshot: Snapshot) -> str:
    """Return whether a trial breaks a limit, or stands on the front.

    Args:
        trial: A trial of the search.
        snapshot: The search.
    """
    if trial.state != "complete":
        return ""
    if not is_feasible(trial, snapshot.metrics):
        known = [m for m in margins(trial, snapshot.metrics).values() if m is not None]
        return "infeasible" if min(known, default=0.0) < 0 else "limit unknown"
    is_front = snapshot.metrics.only is None and any(t is trial for t in snapshot.front)
    return "front" if is_front else ""


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts as words.

    Args:
        counts: How many trials are in each state.

    Examples:
        >>> counts_text({"complete": 3, "failed": 0, "pending": 1})
        '4 trials (3 complete, 1 pending)'
    """
    parts = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    total = sum(counts.values())
    return f"{total} trial{'' if total == 1 else 's'}" + (f" ({parts})" if parts else "")


def param_cells(trial: Trial, taken: Collection[str]) -> dict[str, str]:
    """Return a trial's params as cells; one that is called like another column gets a space.

    Args:
        trial: The trial.
        taken: The names of the other columns.
    """
    return {f"{n} " if n in taken else n: cell(value) for n, value in trial.params.items()}


def trial_row(trial: Trial, snapshot: Snapshot) -> dict[str, str]:
    """Return a trial as a row of a table.

    Args:
        trial: The trial.
        snapshot: Its search.
    """
    metrics = snapshot.metrics
    row = {"trial": str(trial.number), "state": state_words(trial)}
    if not metrics.is_one:
        row["mark"] = mark_of(trial, snapshot)
    row |= {name: measured_text(trial, name, metrics) for name in metrics.names}
    row |= param_cells(trial, taken=(*row, *LAST_COLUMNS))
    remarks = {name: getattr(trial, name) for name in LAST_COLUMNS}
    return row | {name: cell(text.partition("\n")[0]) for name, text in remarks.items() if text}


def measured_text(trial: Trial, name: str, metrics: Metrics) -> str:
    """Return the value of a metric, with its known error and how often it was measured.

    Args:
        trial: The trial.
        name: The metric.
        metrics: What the search measures.

    Examples:
        >>> trial = Trial(0, {}, 0.5, "complete", replicates={"value": (0.4, 0.6)})
        >>> measured_text(trial, "value", Metrics())
        '0.5 (mean of 2)'
    """
    value = value_in(trial, name, metrics)
    if value is None:
        return ""
    error = f" ± {trial.noise_std[name]:.3g}" if name in trial.noise_std else ""
    times = len(trial.replicates.get(name, ()))
    return f"{value:.6g}{error}" + (f" (mean of {times})" if times > 1 else "")

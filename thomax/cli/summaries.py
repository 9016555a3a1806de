"""What there is to say about a search: counts, the best trial, rows of tables."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from thomax.cli.texts import cell
from thomax.storage.journal import Trial

STATES = ("complete", "failed", "pending", "dropped")


def ranked(trials: Iterable[Trial], direction: str) -> list[Trial]:
    """Return the complete trials, the best one first."""
    sign = -1 if direction == "maximize" else 1
    return sorted(
        (t for t in trials if t.state == "complete"), key=lambda t: sign * float(t.value or 0)
    )


def summary(path: Any, header: Mapping[str, Any], trials: Sequence[Trial]) -> dict[str, Any]:
    """Return counts and the best trial as a dictionary for JSON."""
    best = ranked(trials, header["direction"])[:1]
    states: list[str] = [t.state for t in trials]
    return {
        "journal": str(path),
        "direction": header["direction"],
        "seed": header.get("seed"),
        "counts": {state: states.count(state) for state in STATES},
        "best": asdict(best[0]) if best else None,
    }


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts as words.

    Example:
        >>> counts_text({"complete": 3, "failed": 0, "pending": 1})
        '4 trials (3 complete, 1 pending)'
    """
    parts = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    total = sum(counts.values())
    return f"{total} trial{'' if total == 1 else 's'}" + (f" ({parts})" if parts else "")


def param_cells(trial: Trial, taken: Collection[str]) -> dict[str, str]:
    """Return a trial's params as cells; one that is called like another column gets a space."""
    return {f"{n} " if n in taken else n: cell(value) for n, value in trial.params.items()}


def trial_row(trial: Trial) -> dict[str, str]:
    """Return a trial as a row of a table."""
    value = "" if trial.value is None else f"{trial.value:.6g}"
    row = {"trial": str(trial.number), "state": trial.state, "value": value}
    row |= param_cells(trial, taken=(*row, "error"))
    return row | ({"error": cell(trial.error.partition("\n")[0])} if trial.error else {})

"""What there is to say about a search: counts, the best trial, rows of tables."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TypedDict

from thomax.cli.texts import LAST_COLUMNS, cell
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Direction, Trial, state_words
from thomax.support.types import Params

STATES = ("complete", "failed", "pending", "dropped", "retracted")


class Summary(TypedDict):
    """A search in a few words, as `--json` prints it.

    Args:
        journal: The path of the journal.
        direction: Whether large or small values are best.
        seed: The seed of the search.
        counts: How many trials are in each state.
        best: The best trial, if there is one.
    """

    journal: str
    direction: Direction
    seed: int
    counts: dict[str, int]
    best: Params | None


def summary(path: Path, snapshot: Snapshot) -> Summary:
    """Return counts and the best trial as a dictionary for JSON.

    Args:
        path: The journal as the user calls it.
        snapshot: The search.
    """
    states: list[str] = [t.state for t in snapshot.trials]
    return {
        "journal": str(path),
        "direction": snapshot.direction,
        "seed": snapshot.seed,
        "counts": {state: states.count(state) for state in STATES},
        "best": None if snapshot.best is None else asdict(snapshot.best),
    }


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


def trial_row(trial: Trial) -> dict[str, str]:
    """Return a trial as a row of a table.

    Args:
        trial: The trial.
    """
    value = "" if trial.value is None else f"{trial.value:.6g}"
    row = {"trial": str(trial.number), "state": state_words(trial), "value": value}
    row |= param_cells(trial, taken=(*row, *LAST_COLUMNS))
    remarks = {name: getattr(trial, name) for name in LAST_COLUMNS}
    return row | {name: cell(text.partition("\n")[0]) for name, text in remarks.items() if text}

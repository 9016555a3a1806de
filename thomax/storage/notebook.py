"""How searches and trials look in a notebook: small tables, with everything escaped."""

from collections.abc import Mapping, Sequence
from html import escape

from thomax.storage.front import value_in
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Trial, outcome_words, state_words

_LONGEST = 60  # characters of a cell
_LAST = 5  # trials that are shown
_MOST_FRONT = 10  # trials of the front that are shown


def trial_html(trial: Trial) -> str:
    """Return a trial as a table of two columns.

    Args:
        trial: The trial.
    """
    rows = {"trial": trial.number, "state": state_words(trial), **_outcome(trial)}
    lines = [("", rows), ("params", trial.params)]
    body = "".join(
        f"<tr><th>{_cell(f'{group} {name}'.strip())}</th><td>{_cell(value)}</td></tr>"
        for group, values in lines
        for name, value in values.items()
    )
    return f"<table>{body}</table>"


def search_html(title: str, snapshot: Snapshot) -> str:
    """Return a search as its title, its best trial or its front, and its last ones.

    Args:
        title: A line about the search, not escaped yet.
        snapshot: The search.
    """
    front = [] if snapshot.metrics.only else snapshot.front[:_MOST_FRONT]
    shown = [("best", snapshot.best)] if snapshot.best else [("front", t) for t in front]
    shown += [("", trial) for trial in snapshot.trials[-_LAST:]]
    names = [*dict.fromkeys(name for _, trial in shown for name in trial.params)]
    remarks = [name for name in ("error", "note") if any(getattr(t, name) for _, t in shown)]
    metrics = snapshot.metrics
    head = ["", "trial", "state", *metrics.names, *names, *remarks]
    rows = [
        [mark, t.number, state_words(t)]
        + [_shown(value_in(t, name, metrics)) for name in metrics.names]
        + [_shown(t.params.get(name)) for name in names]
        + [_shown(getattr(t, name)) for name in remarks]
        for mark, t in shown
    ]
    table = _row("th", head) + "".join(_row("td", row) for row in rows)
    left = len(snapshot.trials) - _LAST
    note = f"<p>{left} earlier trials are not shown.</p>" if left > 0 else ""
    return f"<p>{escape(title)}</p>" + (f"<table>{table}</table>{note}" if shown else "")


def _outcome(trial: Trial) -> Mapping[str, float | str]:
    before = ", ".join(map(outcome_words, trial.corrections)) or None
    measured = {"value": trial.value} if not trial.values else trial.values
    found = {**measured, "error": trial.error, "note": trial.note, "before": before}
    return {name: value for name, value in found.items() if value is not None}


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _row(tag: str, cells: Sequence[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_cell(cell)}</{tag}>" for cell in cells) + "</tr>"


def _cell(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")

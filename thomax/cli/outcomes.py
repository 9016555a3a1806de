"""Files of outcomes: what came of many points, as CSV or JSON lines."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from thomax.cli.numbers import value_in, whole_in
from thomax.cli.points import RESERVED, Points
from thomax.cli.sheets import Sheet, decoded, read_sheet
from thomax.cli.texts import json_object, shown
from thomax.optimizer import Optimizer
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.outcomes import checked_outcome
from thomax.storage.trial import Trial
from thomax.support.types import Json, Params, ParamsLike

_FINISHED = ("complete", "failed", "retracted")


@dataclass(frozen=True)
class Outcome:
    """What came of a trial, given by its number, or of any point, given by its params.

    Args:
        where: How errors name the place of the outcome.
        number: The number of the trial; None for a point that is given by its params.
        value: The observed value.
        error: Why there is no value.
        params: The point; beside a number, what was really evaluated.
        columns: The columns that the row has, also where its cell is empty.
        note: A remark on it.
    """

    where: str
    number: int | None
    value: float | None
    error: str | None
    params: Params = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    note: str | None = None


@dataclass
class Outcomes:
    """What a file holds.

    Args:
        found: The outcomes.
        blank: How many rows have no outcome yet.
    """

    found: list[Outcome]
    blank: int = 0


@dataclass
class Told:
    """What became of outcomes.

    Args:
        trials: The trials that were recorded.
        before: How many outcomes had been recorded before.
        outdated: How many of them were corrected or retracted since.
        other_notes: How many of them were recorded with another note.
    """

    trials: list[Trial] = field(default_factory=list)
    before: int = 0
    outdated: int = 0
    other_notes: int = 0


def tell_outcomes(
    optimizer: Optimizer,
    outcomes: list[Outcome],
    *,
    as_run: bool = False,
    allow_repeats: bool = False,
) -> Told:
    """Record all outcomes, or none if one is wrong; leave out those recorded before.

    Args:
        optimizer: The search.
        outcomes: What to record.
        as_run: Whether a trial may be recorded with other params than it was proposed with.
        allow_repeats: Whether a point is recorded once more with a value that it has already.
    """
    teller = _Teller(optimizer, as_run, allow_repeats)
    for outcome in outcomes:
        params = teller.points.canonical(outcome.where, outcome.params)
        try:
            teller.take(replace(outcome, params=params))
        except ValueError as error:
            raise ValueError(f"{outcome.where}: {error} Nothing was recorded.") from None
    told = optimizer.tell_all(teller.chosen, as_run=as_run)
    return Told(told, teller.before, teller.outdated, teller.other_notes)


class _Teller:
    """Sort outcomes into those to record and those that the search has already."""

    def __init__(self, optimizer: Optimizer, as_run: bool, allow_repeats: bool) -> None:
        self.points = Points(optimizer.space)
        self._trials = {t.number: t for t in optimizer.trials}
        self._as_run = as_run
        self._taken: set[int] = set()
        told = [] if allow_repeats else [t for t in self._trials.values() if t.state in _FINISHED]
        self._recorded = Counter(_identity(t.params, t.value, t.error) for t in told)
        # What was corrected or retracted still stands in the table that it came from.
        self._outdated = Counter(
            _identity(t.params, c.value, c.error) for t in told for c in t.corrections
        )
        self._pending: dict[str, list[Trial]] = {}
        for trial in self._trials.values():
            if trial.state == "pending":
                self._pending.setdefault(_identity(trial.params), []).append(trial)
        self.chosen: list[tuple[Trial | Params, float | None, str | None, str | None]] = []
        self.before, self.outdated, self.other_notes = 0, 0, 0

    def take(self, outcome: Outcome) -> None:
        value, error = checked_outcome(outcome.value, outcome.error)
        target: Trial | Params
        if outcome.number is None:
            params = self.points.complete(outcome.params)
            key = _identity(params, value, error)
            known = next((c for c in (self._recorded, self._outdated) if c[key] > 0), None)
            if is_recorded := known is not None:
                known[key] -= 1
                self.outdated += known is self._outdated
            target = params if is_recorded else self._awaited(params)
        else:
            target = trial = self._trial(outcome)
            if is_recorded := trial.state in _FINISHED:
                self.outdated += _is_outdated(trial, value, error)
                self.other_notes += outcome.note not in (None, trial.note)
        if is_recorded:
            self.before += 1
        else:
            self.chosen.append((target, outcome.value, outcome.error, outcome.note))

    def _awaited(self, params: Params) -> Trial | Params:
        """Return the first trial that waits for this point, or the point if none does."""
        waiting = self._pending.get(_identity(params), [])
        trial = next((t for t in waiting if t.number not in self._taken), None)
        if trial is None:
            return params
        self._taken.add(trial.number)
        return trial

    def _trial(self, outcome: Outcome) -> Trial:
        trial = self._trials.get(outcome.number or 0)
        if trial is None or trial.number in self._taken or trial.state == "dropped":
            pending = [t.number for t in self._trials.values() if t.state == "pending"]
            left = [n for n in pending if n not in self._taken]
            raise ValueError(
                f"trial {outcome.number} needs to be pending, and told once; "
                f"pending are {left or 'none'}."
            )
        self._taken.add(trial.number)
        different = self.points.differences(trial.params, outcome.params)
        if not different:
            return trial
        if self._as_run and trial.state == "pending":
            params = self.points.complete(outcome.params, outcome.columns, trial.params)
            return Trial(trial.number, params)
        asked = {name: trial.params.get(name, "nothing") for name in different}
        way_on = (
            "mend the row, or give --as-run to record what the row says was run."
            if trial.state == "pending"
            else "it was recorded so before."
        )
        raise ValueError(
            f"trial {trial.number} was proposed with {shown(asked)}, but the row has "
            f"{shown(different)}: {way_on}"
        )


def _identity(params: ParamsLike, value: float | None = None, error: str | None = None) -> str:
    return repr((sorted(params.items()), value, error))  # repr: True is another choice than 1


def _is_outdated(trial: Trial, value: float | None, error: str | None) -> bool:
    """Return whether an outcome was that of the trial before a correction, or refuse another."""
    if trial.state != "retracted" and (trial.value, trial.error) == (value, error):
        return False
    if any((c.value, c.error) == (value, error) for c in trial.corrections):
        return True
    old, new = (
        f"the error {e!r}" if v is None else f"the value {v}"
        for v, e in ((trial.value, trial.error), (value, error))
    )
    was = "retracted" if trial.state == "retracted" else f"recorded with {old}"
    right = "--failed ..." if value is None else value
    raise ValueError(
        f"trial {trial.number} needs to be pending, and told once; it is {was}, "
        f"and the row has {new}. If the row is right: "
        f"thomax correct JOURNAL {trial.number} {right}."
    )


# Reading

_NOTE = "note"  # a column, unless a parameter is called so
_FAILURES = "leave `value` empty and write the reason in the column `error`"


def read_outcomes(path: Path, space: Space | Pool) -> Outcomes:
    """Read a file: on each line a `number` or `params`, and a `value` or an `error`.

    In a CSV file every parameter has a column of its own. Rows whose value is empty, or null,
    and which have no error are left out.

    Args:
        path: The file.
        space: The space of the search.
    """
    kind = path.suffix.lower()
    if kind not in (".csv", ".jsonl"):
        raise ValueError(f"--from needs a file that ends in .csv or .jsonl, got {path}.")
    points = Points(space)
    if kind == ".jsonl":
        rows = [*json_rows(path)]
        told = [(n, row) for n, row in rows if not _is_blank(row)]
        found = [_json_outcome(f"{path}, line {n}", row) for n, row in told]
        for outcome in found:
            if outcome.number is not None:
                _require_no_near_names(outcome.where, outcome.params, points)
        return Outcomes(found, len(rows) - len(told))
    known = {*RESERVED, _NOTE, *points.names, points.name_column or "name"}
    return _sheet_outcomes(read_sheet(path, known), points)


def _json_outcome(where: str, row: Mapping[str, Json]) -> Outcome:
    number, params = row.get("number"), row.get("params", {})
    whole = number if isinstance(number, int) and not isinstance(number, bool) else None
    is_known = whole is not None or ("number" not in row and "params" in row)
    if not is_known or not isinstance(params, dict):
        wrong = row.get("number", row.get("params")) if whole is None else params
        raise ValueError(f"{where} needs a whole number or params, got {wrong!r}.")
    value, error = row.get("value"), row.get("error") or None
    if (value is None) == (error is None) or not isinstance(error, str | None):
        raise ValueError(
            f"{where} needs a value, or an error that is a text, got {value!r} and {error!r}."
        )
    if not isinstance(note := row.get(_NOTE), str | None):
        raise ValueError(f"{where} needs a note that is a text, got {note!r}.")
    read = None if value is None else value_in(value, where, _FAILURES)
    return Outcome(where, whole, read, error, params, (*params,), note or None)


def _is_blank(row: Mapping[str, Json]) -> bool:
    """Return whether a line waits for its value, like a row of a table with an empty cell."""
    return row.get("value", 0) in (None, "") and row.get("error") in (None, "")


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the objects of a file of JSON lines, each with the number of its line.

    Args:
        path: The file.
    """
    for line, text in enumerate(decoded(path).split("\n"), start=1):
        if not text.strip():
            continue
        row = json_object(text)
        if row is None:
            raise ValueError(f"{path}, line {line} needs a JSON object, got {text[:80]!r}.")
        yield line, row


def _sheet_outcomes(sheet: Sheet, points: Points) -> Outcomes:
    outcomes = Outcomes([])
    for line, row in sheet.rows:
        if any(row.get(name, "").strip() for name in ("value", "error")):
            outcomes.found.append(_row_outcome(sheet, points, sheet.where(line), row))
        else:
            _require_value_column(sheet)
            outcomes.blank += 1
    return outcomes


def _row_outcome(sheet: Sheet, points: Points, where: str, row: Mapping[str, str]) -> Outcome:
    text = "" if "number" in points.names else row.get("number", "").strip()
    number = _number(where, text) if text else None
    if number is None and (taken := [n for n in ("value", "error") if n in points.names]):
        raise ValueError(
            f"{where} needs its columns value and error for what came of the "
            f"point, got a parameter called {taken[0]!r}: give numbers, or a .jsonl file."
        )
    value, error = (row.get(name, "").strip() for name in ("value", "error"))
    if value and error:
        raise ValueError(
            f"{where} needs a value, or an error that is a text, got {value!r} and {error!r}."
        )
    read = None
    if value:
        found = sheet.number(value)
        read = value_in(value if found is None else found, where, _FAILURES)
    if number is not None:
        _require_no_near_names(where, sheet.columns, points)
    columns = tuple(n for n in sheet.columns if n in points.names and n not in RESERVED)
    row = points.canonical(where, row)
    params = _params(sheet, row, points, with_number=number is not None)
    note = None if _NOTE in points.names else row.get(_NOTE, "").strip() or None
    return Outcome(where, number, read, error or None, params, columns, note)


def _require_value_column(sheet: Sheet) -> None:
    if "value" in sheet.columns:
        return
    similar = {name.lower(): name for name in sheet.columns}
    close = difflib.get_close_matches("value", similar, 1)
    hint = f": did you mean {similar[close[0]]!r}?" if close else "."
    raise ValueError(
        f"{sheet.path}: there is no column 'value' among {', '.join(sheet.columns)}{hint}"
    )


def _require_no_near_names(where: str, names: Iterable[str], points: Points) -> None:
    """Refuse notes that are called like a parameter but for capitals and spaces."""
    similar = {n.strip().lower(): n for n in points.names if n not in RESERVED}
    for note in names:
        close = similar.get(note.strip().lower())
        if close is not None and note not in (*points.names, *RESERVED):
            raise ValueError(
                f"{where} needs notes that are not called like a parameter, got {note!r}: did "
                f"you mean {close!r}? Rename it. Nothing was recorded."
            )


def _number(where: str, text: str) -> int:
    number = whole_in(text)
    if number is None:
        raise ValueError(f"{where} needs a whole number or params, got {text!r}.")
    return number


def _params(sheet: Sheet, row: Mapping[str, str], points: Points, with_number: bool) -> Params:
    """Return the row's point; beside a number, columns that are no parameters are notes."""
    own = [name for name in RESERVED if with_number or name not in points.names]
    own += [_NOTE] if _NOTE not in points.names else []
    return {
        name: points.value(name, text, sheet.number)
        for name, text in row.items()
        if name not in own
        and (name in points.names or not with_number)
        and (text.strip() or points.may_be_empty(name))
    }

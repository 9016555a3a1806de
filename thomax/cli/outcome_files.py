"""Files of outcomes as CSV or JSON lines: a row for each point.

A column is a parameter, `number`, `error`, `note`, or what was measured: `value`, or columns that
are called like the metrics of the search. `noise_std` is the known standard deviation of one
measurement; of a metric its column is called `noise_std_` and the metric's name.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from thomax.cli.numbers import value_in, whole_in
from thomax.cli.outcomes import Outcome, Outcomes
from thomax.cli.points import Points
from thomax.cli.sheets import Sheet, decoded, read_sheet
from thomax.cli.texts import json_object
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.metrics import PLAIN, UNNAMED, Metrics
from thomax.storage.outcomes import Measured, NoiseStd, Value
from thomax.support.types import Json, Params

_NOTE, _NOISE_STD = "note", "noise_std"  # columns, unless parameters are called so


def read_outcomes(path: Path, space: Space | Pool, metrics: Metrics = PLAIN) -> Outcomes:
    """Read a file: on each line a `number` or `params`, and what was measured or an `error`.

    In a CSV file every parameter has a column of its own. Rows without a value, or with null, and
    without an error are left out.

    Args:
        path: The file.
        space: The space of the search.
        metrics: What the search measures.
    """
    kind = path.suffix.lower()
    if kind not in (".csv", ".jsonl"):
        raise ValueError(f"--from needs a file that ends in .csv or .jsonl, got {path}.")
    columns = _Columns(Points(space), metrics)
    if kind == ".jsonl":
        rows = [*json_rows(path)]
        told = [(n, row) for n, row in rows if not columns.is_blank(row)]
        found = [_json_outcome(f"{path}, line {n}", row, columns) for n, row in told]
        for outcome in found:
            if outcome.number is not None:
                _require_no_near_names(outcome.where, outcome.params, columns)
        return Outcomes(found, len(rows) - len(told))
    return _sheet_outcomes(read_sheet(path, columns.known), columns)


class _Columns:
    """What the columns of a file are.

    Args:
        points: Reads the parameters.
        metrics: What the search measures.
    """

    def __init__(self, points: Points, metrics: Metrics) -> None:
        self.points, self.metrics = points, metrics
        self.measured = metrics.names
        self.reserved = ("number", *self.measured, "error")
        stds = {} if metrics.is_plain else {f"{_NOISE_STD}_{n}": n for n in self.measured}
        if len(self.measured) == 1:
            stds[_NOISE_STD] = self.measured[0]
        self.stds = {column: n for column, n in stds.items() if column not in points.names}
        self.remarks = [n for n in (_NOTE, *self.stds) if n not in points.names]

    @cached_property
    def known(self) -> set[str]:
        """All columns that a file may have."""
        names = self.points.name_column or "name"
        return {*self.reserved, *self.remarks, *self.points.names, names}

    def is_blank(self, row: Mapping[str, Json]) -> bool:
        """Return whether a line of JSON waits for its values."""
        values = [row[name] for name in self.measured if name in row]
        is_empty = all(value in (None, "") for value in values)
        return bool(values) and is_empty and row.get("error") in (None, "")

    def require_measured(self, where: str, names: Iterable[str], *, is_any: bool = False) -> None:
        """Refuse names that resemble those of metrics that are missing.

        Args:
            where: How errors name the place of the names.
            names: Those of the columns.
            is_any: Whether one of the metrics must be among them.
        """
        names = [*names]
        missing = [name for name in self.measured if name not in names]
        others = {name.lower(): name for name in names if name not in self.known}
        for name in missing:
            close = difflib.get_close_matches(name.lower(), others, 1)
            if close and (is_any or not self.metrics.is_plain):
                raise ValueError(
                    f"{where}: there is no column {name!r} among {', '.join(names)}: did you "
                    f"mean {others[close[0]]!r}?"
                )
        if is_any and missing == self.measured:
            wanted = " or ".join(map(repr, self.measured))
            raise ValueError(f"{where}: there is no column {wanted} among {', '.join(names)}.")
        if _NOISE_STD in names and _NOISE_STD not in {*self.stds, *self.points.names}:
            raise ValueError(
                f"{where} needs a column for the noise_std of each metric, got {_NOISE_STD!r}: "
                f"call them {', '.join(self.stds)}."
            )

    def failures(self, name: str) -> str:
        """Return what to do to tell that an evaluation failed."""
        return f"leave `{name}` empty and write the reason in the column `error`"


def _json_outcome(where: str, row: Mapping[str, Json], columns: _Columns) -> Outcome:
    number, params = row.get("number"), row.get("params", {})
    whole = number if isinstance(number, int) and not isinstance(number, bool) else None
    is_known = whole is not None or ("number" not in row and "params" in row)
    if not is_known or not isinstance(params, dict):
        wrong = row.get("number", row.get("params")) if whole is None else params
        raise ValueError(f"{where} needs a whole number or params, got {wrong!r}.")
    error = row.get("error") or None
    values = {name: row[name] for name in columns.measured if row.get(name) is not None}
    if bool(values) is (error is not None) or not isinstance(error, str | None):
        shown = values if not columns.metrics.is_plain else row.get(UNNAMED)
        raise ValueError(
            f"{where} needs a value, or an error that is a text, got {shown!r} and {error!r}."
        )
    if not isinstance(note := row.get(_NOTE), str | None):
        raise ValueError(f"{where} needs a note that is a text, got {note!r}.")
    if not columns.metrics.is_plain and not isinstance(row.get(_NOISE_STD), dict):
        columns.require_measured(where, row)
    read = {
        name: _read([*each] if isinstance(each, list) else [each], where, columns.failures(name))
        for name, each in values.items()
    }
    return Outcome(
        where, whole, _value(read, columns), error, params, (*params,), note or None,
        _json_stds(where, row, columns) if values else None,
    )  # fmt: skip


def _json_stds(where: str, row: Mapping[str, Json], columns: _Columns) -> NoiseStd:
    several = row.get(_NOISE_STD)
    if not columns.metrics.is_plain and isinstance(several, dict):
        stds = {name: _std(where, std) for name, std in several.items()}
        return stds or None
    found = {name: row[column] for column, name in columns.stds.items() if column in row}
    return _noise_std(
        {n: _std(where, std) for n, std in found.items() if std is not None}, columns
    )


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


def _sheet_outcomes(sheet: Sheet, columns: _Columns) -> Outcomes:
    outcomes = Outcomes([])
    if not columns.metrics.is_plain:
        columns.require_measured(str(sheet.path), sheet.columns)
    for line, row in sheet.rows:
        if any(row.get(name, "").strip() for name in (*columns.measured, "error")):
            outcomes.found.append(_row_outcome(sheet, columns, sheet.where(line), row))
        else:
            columns.require_measured(str(sheet.path), sheet.columns, is_any=True)
            outcomes.blank += 1
    return outcomes


def _row_outcome(sheet: Sheet, columns: _Columns, where: str, row: Mapping[str, str]) -> Outcome:
    points = columns.points
    text = "" if "number" in points.names else row.get("number", "").strip()
    number = _number(where, text) if text else None
    outcome = (*columns.measured, "error")
    if number is None and (taken := [n for n in outcome if n in points.names]):
        raise ValueError(
            f"{where} needs its columns {' and '.join(outcome)} for what came of the "
            f"point, got a parameter called {taken[0]!r}: give numbers, or a .jsonl file."
        )
    error = row.get("error", "").strip()
    values = {n: text for n in columns.measured if (text := row.get(n, "").strip())}
    if values and error:
        shown = values if not columns.metrics.is_plain else values[UNNAMED]
        raise ValueError(
            f"{where} needs a value, or an error that is a text, got {shown!r} and {error!r}."
        )
    read = {
        name: _read(
            [_cell(sheet, part) for part in text.split(";")], where, columns.failures(name)
        )
        for name, text in values.items()
    }
    stds = {
        name: _std(where, _cell(sheet, text))
        for column, name in columns.stds.items()
        if (text := row.get(column, "").strip()) and name in values
    }
    if number is not None:
        _require_no_near_names(where, sheet.columns, columns)
    present = tuple(n for n in sheet.columns if n in points.names and n not in columns.reserved)
    row = points.canonical(where, row)
    params = _params(sheet, row, columns, with_number=number is not None)
    note = None if _NOTE in points.names else row.get(_NOTE, "").strip() or None
    return Outcome(
        where, number, _value(read, columns), error or None, params, present, note,
        _noise_std(stds, columns),
    )  # fmt: skip


def _read(parts: list[Json], where: str, failures: str) -> Measured:
    """Return a number, or the repeated measurements."""
    numbers = [value_in(part, where, failures) for part in parts]
    return numbers[0] if len(numbers) == 1 else numbers


def _cell(sheet: Sheet, text: str) -> str | float:
    found = sheet.number(text)
    return text if found is None else found


def _std(where: str, std: object) -> float:
    if isinstance(std, bool) or not isinstance(std, int | float):
        raise ValueError(f"{where} needs a number >= 0 as noise_std, got {std!r}.")
    return float(std)


def _value(read: Mapping[str, Measured], columns: _Columns) -> Value:
    if not read:
        return None
    return read[UNNAMED] if columns.metrics.is_plain else read


def _noise_std(stds: Mapping[str, float], columns: _Columns) -> NoiseStd:
    if not stds:
        return None
    return stds[UNNAMED] if columns.metrics.is_plain else stds


def _require_no_near_names(where: str, names: Iterable[str], columns: _Columns) -> None:
    """Refuse notes that are called like a parameter but for capitals and spaces."""
    taken = (*columns.points.names, *columns.reserved)
    similar = {n.strip().lower(): n for n in columns.points.names if n not in columns.reserved}
    for note in names:
        close = similar.get(note.strip().lower())
        if close is not None and note not in taken:
            raise ValueError(
                f"{where} needs notes that are not called like a parameter, got {note!r}: did "
                f"you mean {close!r}? Rename it. Nothing was recorded."
            )


def _number(where: str, text: str) -> int:
    number = whole_in(text)
    if number is None:
        raise ValueError(f"{where} needs a whole number or params, got {text!r}.")
    return number


def _params(sheet: Sheet, row: Mapping[str, str], columns: _Columns, with_number: bool) -> Params:
    """Return the row's point; beside a number, columns that are no parameters are notes."""
    points = columns.points
    own = [name for name in columns.reserved if with_number or name not in points.names]
    own += columns.remarks
    return {
        name: points.value(name, text, sheet.number)
        for name, text in row.items()
        if name not in own
        and (name in points.names or not with_number)
        and (text.strip() or points.may_be_empty(name))
    }

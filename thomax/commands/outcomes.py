"""Files of outcomes: what came of many points, as CSV or JSON lines."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from thomax.commands.texts import as_text
from thomax.journal import Trial
from thomax.optimizer import Optimizer
from thomax.parameters import Categorical, Float, Int, Ordinal, Parameter
from thomax.spaces import Space

_OUTCOME = ("value", "error")  # columns of a table


class Outcome(NamedTuple):
    """What came of a trial, given by its number, or of any point, given by its params."""

    where: str
    trial: int | dict[str, Any]
    value: float | None
    error: str | None


def tell_all(optimizer: Optimizer, outcomes: list[Outcome]) -> list[Trial]:
    """Tell all outcomes, or none of them if one is wrong, and return their trials."""
    pending = {trial.number for trial in optimizer.pending}
    for outcome in outcomes:
        if isinstance(outcome.trial, dict):
            try:
                optimizer.space.validate(outcome.trial)
            except ValueError as error:
                raise ValueError(f"{outcome.where}: {error} Nothing was recorded.") from None
        elif outcome.trial in pending:
            pending.remove(outcome.trial)
        else:
            raise ValueError(
                f"{outcome.where}: trial {outcome.trial} needs to be pending, and told once; "
                f"pending are {sorted(pending) or 'none'}. Nothing was recorded."
            )
    return [optimizer.tell(o.trial, o.value, error=o.error) for o in outcomes]


def read_outcomes(path: Path, space: Space) -> list[Outcome]:
    """Read a file: on each line a `number` or `params`, and a `value` or an `error`.

    In a CSV file every parameter has a column of its own.
    """
    if path.suffix not in (".csv", ".jsonl"):
        raise ValueError(f"--from needs a file that ends in .csv or .jsonl, got {path}.")
    rows = _csv_rows(path, space) if path.suffix == ".csv" else _json_rows(path)
    return [_outcome(f"{path}, line {line}", row) for line, row in rows]


def number_of(text: Any, where: str) -> float:
    """Return a value as a number; nan stands for a failed evaluation."""
    try:
        if isinstance(text, bool):
            raise TypeError
        return float(text)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{where} needs a number as value, got {str(text)[:80]!r}: a failed trial has an "
            "error instead."
        ) from None


def _outcome(where: str, row: Mapping[str, Any]) -> Outcome:
    trial = row.get("number", row.get("params"))
    if isinstance(trial, bool) or not isinstance(trial, int | dict):
        raise ValueError(f"{where} needs a whole number or params, got {trial!r}.")
    value, error = row.get("value"), row.get("error") or None
    if (value is None) == (error is None) or not isinstance(error, str | None):
        raise ValueError(
            f"{where} needs a value, or an error that is a text, got {value!r} and {error!r}."
        )
    return Outcome(where, trial, None if value is None else number_of(value, where), error)


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(path.read_text("utf-8-sig").split("\n"), start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {line} needs a JSON object, got {text[:80]!r}.")
        yield line, row


def _csv_rows(path: Path, space: Space) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restkey="", restval="")
        for row in _whole_rows(reader, path):
            where = f"{path}, line {reader.line_num}"
            if "" in row:
                raise ValueError(f"{where} has more cells than there are columns.")
            filled = {
                name: text
                for name, text in row.items()
                if text != "" or _may_be_empty(space.parameters.get(name))
            }
            outcome: dict[str, Any] = {
                name: filled.pop(name) for name in _OUTCOME if name in filled
            }
            if "number" in filled and "number" not in space.parameters:
                outcome["number"] = _whole(filled["number"])
            elif taken := [name for name in _OUTCOME if name in space.parameters]:
                raise ValueError(
                    f"{where} needs its columns {' and '.join(_OUTCOME)} for what came of the "
                    f"point, got a parameter called {taken[0]!r}: give numbers, or a .jsonl file."
                )
            else:
                outcome["params"] = {n: _typed(space.parameters.get(n), filled[n]) for n in filled}
            yield reader.line_num, outcome


def _whole_rows(reader: Any, path: Path) -> Iterator[dict[str, str]]:
    try:
        yield from reader
    except csv.Error as error:
        where = f"{path}, line {reader.line_num + 1}"
        raise ValueError(f"{where} needs to be a line of a table, got: {error}.") from None


def _typed(parameter: Parameter | None, text: str) -> Any:
    """Return the value that a text stands for; what is none is left for `validate` to refuse."""
    number = _number(text)
    if isinstance(parameter, Float | Int):
        return text if number is None else number  # `validate` turns 2.0 into the 2 of an Int
    options: Any = (False, True)
    if isinstance(parameter, Categorical):
        options = parameter.choices
    elif isinstance(parameter, Ordinal):
        options = parameter.values
    exact = [option for option in options if as_text(option) == text]
    similar = [option for option in options if _may_be_written(option, text)]
    return [*exact, *similar, text][0]


def _may_be_empty(parameter: Parameter | None) -> bool:
    """Say whether an empty cell is a choice; that of a parameter with a condition is none."""
    return isinstance(parameter, Categorical) and "" in parameter.choices and not parameter.when


def _may_be_written(option: Any, text: str) -> bool:
    """Say whether a table may show an option so: TRUE, or 16.0 in a column that has gaps."""
    if isinstance(option, bool):
        return as_text(option) == text.lower()
    return isinstance(option, int | float) and option == _number(text)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _whole(text: str) -> int | str:
    """Return the number of a trial, 3 also for 3.0; what is none is left to be refused."""
    number = _number(text)
    return text if number is None or not number.is_integer() else int(number)

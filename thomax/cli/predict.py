"""`thomax predict`: what the model expects at points of one's own."""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from thomax.cli.journals import read_search, space_of
from thomax.cli.outcome_files import json_rows
from thomax.cli.points import RESERVED, Points
from thomax.cli.sheets import Sheet, read_sheet, write_sheet
from thomax.cli.summaries import param_cells
from thomax.cli.tell import params_in
from thomax.cli.texts import cell, say, table
from thomax.prediction import NUMBERS, Prediction, predict
from thomax.storage.metrics import Metrics
from thomax.storage.trial import Trial
from thomax.suggest import default_policy
from thomax.support.types import Params

EXAMPLES = """examples:
  thomax predict search.jsonl --params '{"lr": 0.01, "act": "relu"}'
  thomax predict search.jsonl --from new.csv
  thomax predict search.jsonl --from new.csv --csv predicted.csv"""

_ABOUT = """Print what the model expects at points: the mean and its deviation, the 5 and 95 %
quantiles (low, high), and those of one more measurement, noise included; of each metric, if the
search has several."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax predict`.

    Args:
        parser: The parser of the command.
    """
    parser.description, parser.epilog = _ABOUT, EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    points = parser.add_mutually_exclusive_group(required=True)
    points.add_argument("--params", metavar="JSON", help="one point of the space")
    points.add_argument(
        "--from", type=Path, dest="file", metavar="FILE",
        help="points in the rows of a .csv or .jsonl file",
    )  # fmt: skip
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--json", action="store_true", help="print one JSON object per line")
    way.add_argument("--csv", type=Path, metavar="FILE", help="write a table to a new file")
    parser.add_argument(
        "--decimal-comma", action="store_true",
        help="with --csv: write 0,5 for 0.5, and semicolons between cells",
    )  # fmt: skip
    parser.add_argument(
        "--space", type=Path, metavar="SPACE.toml", help="the space, if the journal lacks it"
    )
    parser.set_defaults(act=_predict)


def _predict(options: argparse.Namespace) -> None:
    if options.decimal_comma and options.csv is None:
        raise ValueError("--decimal-comma needs --csv FILE: it is about the table.")
    snapshot = read_search(options.journal)
    space = space_of(snapshot, options.journal, options.space)
    points = Points(space)
    if options.csv is not None:
        _require_writable(options.csv, points, snapshot.metrics)
    if options.params is not None:
        params = [points.complete(points.canonical("--params", params_in(options.params)))]
    else:
        params = _read(options.file, points)
    searched, metrics = replace(snapshot, searched=space), snapshot.metrics
    found = {
        name: predict(
            default_policy(space), space, searched.data(name), params,
            direction=metrics.better(name), seed=snapshot.seed,
            metric=None if metrics.is_plain else name,
        )
        for name in metrics.names
    }  # fmt: skip
    _show(options, [*_rows(params, found, metrics)], points.names)


def _rows(
    params: list[Params], found: Mapping[str, Prediction], metrics: Metrics
) -> Iterator[tuple[Params, dict[str, dict[str, float]]]]:
    """Yield each point with its predictions by metric; an objective without a name is ""."""
    rows = {"" if metrics.is_plain else name: each.rows() for name, each in found.items()}
    for i, point in enumerate(params):
        yield point, {name: each[i] for name, each in rows.items()}


def _show(
    options: argparse.Namespace,
    rows: list[tuple[Params, dict[str, dict[str, float]]]],
    names: list[str],
) -> None:
    if options.csv is not None:
        metrics = [*rows[0][1]] if rows else []
        head = [f"{name}_{n}" if name else n for name in metrics for n in NUMBERS]
        cells = [
            [
                *(point.get(n, "") for n in names),
                *(v for own in found.values() for v in own.values()),
            ]
            for point, found in rows
        ]
        write_sheet(options.csv, [[*names, *head], *cells], options.decimal_comma)
        many = f"{len(rows)} point{'' if len(rows) == 1 else 's'}"
        say(f"wrote predictions of {many} to {options.csv}")
    elif options.json:
        for point, found in rows:
            print(json.dumps({"params": point, **found.get("", {"metrics": found})}))
    elif rows:
        say(table([
            ({"metric": cell(name)} if name else {})
            | param_cells(Trial(0, point), ("metric", *NUMBERS))
            | {n: cell(v) for n, v in own.items()}
            for point, found in rows
            for name, own in found.items()
        ]))  # fmt: skip


def _read(path: Path, points: Points) -> list[Params]:
    """Read the points of a file; columns that are no parameters are notes."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".jsonl"):
        raise ValueError(f"--from needs a file that ends in .csv or .jsonl, got {path}.")
    rows: list[tuple[str, Params]]
    if kind == ".jsonl":
        lines = [(f"{path}, line {n}", row.get("params", row)) for n, row in json_rows(path)]
        rows = [(where, dict(row) if isinstance(row, dict) else {}) for where, row in lines]
    else:
        known = {*RESERVED, *points.names, points.name_column or "name"}
        sheet = read_sheet(path, known)
        rows = [(sheet.where(n), _values(sheet, sheet.where(n), r, points)) for n, r in sheet.rows]
    found = []
    for where, row in rows:
        own = {n: v for n, v in points.canonical(where, row).items() if n in points.names}
        try:
            found.append(points.complete(own))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return found


def _values(sheet: Sheet, where: str, row: Mapping[str, str], points: Points) -> Params:
    return {
        name: points.value(name, text, sheet.number)
        for name, text in points.canonical(where, row).items()
        if name in points.names and (text.strip() or points.may_be_empty(name))
    }


def _require_writable(path: Path, points: Points, metrics: Metrics) -> None:
    if path.exists():
        raise ValueError(f"--csv needs a new file, got {path}, which exists: rename it.")
    if not path.parent.is_dir():
        raise ValueError(f"--csv needs a file in a folder that exists, got {path}.")
    columns = [n if metrics.is_plain else f"{m}_{n}" for m in metrics.names for n in NUMBERS]
    if taken := [name for name in columns if name in points.names]:
        raise ValueError(
            f"--csv needs the column {taken[0]!r} for itself, got a parameter of that name: "
            "use --json."
        )

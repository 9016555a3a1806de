"""`thomax suggest`: the next points, for whoever evaluates them by other means."""

import argparse
import json
import shlex
import sys
from functools import partial
from pathlib import Path

from thomax.cli.journals import add_shared, open_again, open_new, opened_in_turn
from thomax.cli.numbers import whole_flag
from thomax.cli.points import Points
from thomax.cli.sheets import write_sheet
from thomax.cli.summaries import param_cells
from thomax.cli.texts import say, table
from thomax.optimizer import Optimizer
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.metrics import Metrics
from thomax.storage.trial import Trial

EXAMPLES = """examples:
  thomax suggest search.jsonl --space space.toml -n 4
  thomax suggest search.jsonl --json
  thomax suggest search.jsonl -n 8 --csv plan.csv
  thomax suggest search.jsonl -n 4 --given catalyst=P1-L4"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax suggest`.

    Args:
        parser: The parser of the command.
    """
    parser.description = "Propose points; `thomax tell` records what came of them."
    parser.epilog = EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "-n", type=whole_flag, default=1, help="how many points to propose (default 1)"
    )
    parser.add_argument(
        "--given", nargs="+", action="extend", default=[], metavar="NAME=VALUE",
        help="propose only points with these values; the model learns from all",
    )  # fmt: skip
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--json", action="store_true", help="print one JSON object per line")
    way.add_argument(
        "--csv", type=Path, metavar="FILE", help="write a table to be filled in: `tell --from`"
    )
    parser.add_argument(
        "--decimal-comma", action="store_true",
        help="with --csv: write 0,5 for 0.5, and semicolons between cells",
    )  # fmt: skip
    add_shared(parser)
    parser.set_defaults(act=_suggest)


def _suggest(options: argparse.Namespace) -> None:
    if options.n < 1:
        raise ValueError(f"-n needs a whole number >= 1, got {options.n}.")
    if options.decimal_comma and options.csv is None:
        raise ValueError("--decimal-comma needs --csv FILE: it is about the table.")
    with opened_in_turn(lambda: _opened(options), options.wait) as optimizer:
        points = Points(optimizer.space)
        columns, given = points.names, points.given("--given", options.given)
        _require_writable(options.csv, optimizer.space, optimizer.metrics)
        trials = optimizer.ask(options.n, given=given)
    if len(trials) < options.n:
        where = " with what is given" if given else " of the space"
        say(f"thomax: every point{where} has been proposed", file=sys.stderr)
    if options.csv is not None and trials:
        _write(options, columns, trials, optimizer.metrics.names)
    elif options.json:
        for trial in trials:
            print(json.dumps({"number": trial.number, "params": trial.params}))
    elif trials:
        say(table([{"trial": str(t.number)} | param_cells(t, ("trial",)) for t in trials]))


def _opened(options: argparse.Namespace) -> Optimizer:
    journal, space = options.journal, options.space
    if space is None and not journal.exists():
        raise ValueError(
            f"The journal {journal} does not exist: give --space SPACE.toml to create it."
        )
    if space is None:
        return open_again(journal)
    return open_new(journal, space, check=partial(_require_writable, options.csv))


def _require_writable(path: Path | None, space: Space | Pool, metrics: Metrics) -> None:
    """Refuse before anything is proposed, or a journal made, what cannot be written."""
    if path is None:
        return
    columns = Points(space).names
    if path.exists():
        raise ValueError(f"--csv needs a new file, got {path}, which may hold values: rename it.")
    if not path.parent.is_dir():
        raise ValueError(f"--csv needs a file in a folder that exists, got {path}.")
    if taken := [name for name in ("number", *metrics.names, "error") if name in columns]:
        raise ValueError(
            f"--csv needs the column {taken[0]!r} for itself, got a parameter of that name: "
            "rename the parameter, or use --json."
        )


def _write(
    options: argparse.Namespace, columns: list[str], trials: list[Trial], measured: list[str]
) -> None:
    rows = [
        [t.number, *[t.params.get(name, "") for name in columns], *[""] * len(measured)]
        for t in trials
    ]
    try:
        write_sheet(options.csv, [["number", *columns, *measured], *rows], options.decimal_comma)
    except OSError as error:
        numbers = ", ".join(str(t.number) for t in trials)
        raise OSError(
            f"{options.csv} could not be written ({error.strerror}). The trials {numbers} are "
            f"pending: `thomax show {options.journal} --all --json` has their params."
        ) from error
    again = shlex.join(["thomax", "tell", str(options.journal), "--from", str(options.csv)])
    many = f"{len(trials)} point{'' if len(trials) == 1 else 's'}"
    what = f"column{'' if len(measured) == 1 else 's'} {' and '.join(measured)}"
    say(f"wrote {many} to {options.csv}: fill in the {what}, then {again}")

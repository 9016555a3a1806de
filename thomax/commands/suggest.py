"""`thomax suggest`: the next points, for whoever evaluates them by other means."""

import argparse
import json
import sys
from pathlib import Path

from thomax.commands.journals import add_wait, open_again, opened_in_turn
from thomax.commands.settings import DEFAULTS
from thomax.commands.spacefile import read_space_file
from thomax.commands.summaries import param_cells
from thomax.commands.texts import table
from thomax.optimizer import Optimizer

EXAMPLES = """examples:
  thomax suggest search.jsonl --space space.toml -n 4
  thomax suggest search.jsonl --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax suggest`."""
    parser.description = "Propose points; `thomax tell` records what came of them."
    parser.epilog = EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "--space", type=Path, metavar="SPACE.toml", help="the space: needed the first time"
    )
    parser.add_argument("-n", type=int, default=1, help="how many (default 1)")
    parser.add_argument("--json", action="store_true", help="print a JSON object a line")
    add_wait(parser)
    parser.set_defaults(act=_suggest)


def _suggest(options: argparse.Namespace) -> None:
    if options.n < 1:
        raise ValueError(f"-n needs a whole number >= 1, got {options.n}.")
    with opened_in_turn(
        lambda: _opened(options.journal, options.space), options.wait
    ) as optimizer:
        trials = optimizer.ask(options.n)
    if len(trials) < options.n:
        print("thomax: every point of the space has been proposed", file=sys.stderr)
    if options.json:
        for trial in trials:
            print(json.dumps({"number": trial.number, "params": trial.params}))
    elif trials:
        print(table([{"trial": str(t.number)} | param_cells(t, ("trial",)) for t in trials]))


def _opened(journal: Path, space: Path | None) -> Optimizer:
    if space is None and not journal.exists():
        raise ValueError(
            f"The journal {journal} does not exist: give --space SPACE.toml to create it."
        )
    if space is None:
        return open_again(journal)
    file = read_space_file(space)
    return Optimizer(
        file.space,
        direction=file.settings.get("direction", DEFAULTS["direction"]),
        seed=file.settings.get("seed"),
        initial=file.settings.get("initial"),
        journal=journal,
    )

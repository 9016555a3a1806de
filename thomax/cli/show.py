"""`thomax show`: what a journal holds, also while another process writes to it."""

import argparse
import json
import shlex
from dataclasses import asdict
from pathlib import Path

from thomax.cli.journals import read_search
from thomax.cli.numbers import whole_flag
from thomax.cli.summaries import Summary, counts_text, summary, trial_row
from thomax.cli.texts import say, table
from thomax.storage.trial import Trial

EXAMPLES = """examples:
  thomax show search.jsonl
  thomax show search.jsonl --all --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax show`.

    Args:
        parser: The parser of the command.
    """
    parser.description, parser.epilog = "List the best trials of a search.", EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "--top",
        type=whole_flag,
        default=10,
        metavar="N",
        help="how many trials to list (default 10)",
    )
    parser.add_argument("--all", action="store_true", help="list all trials, in their order")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(act=show)


def show(options: argparse.Namespace) -> None:
    """Print counts, the best trial and a table.

    Args:
        options: What was typed.
    """
    if options.top < 0:
        raise ValueError(f"--top needs a whole number >= 0, got {options.top}.")
    snapshot = read_search(options.journal)
    chosen = snapshot.trials if options.all else snapshot.ranked[: options.top]
    found = summary(options.journal, snapshot)
    if options.json:
        say(json.dumps({**found, "trials": [asdict(trial) for trial in chosen]}))
    else:
        _print(found, chosen, hidden=len(snapshot.trials) - len(chosen))


def _print(found: Summary, chosen: list[Trial], hidden: int) -> None:
    say(f"{found['journal']}: {counts_text(found['counts'])}, {found['direction']}")
    if found["best"]:
        print(f"best: {found['best']['value']:.6g} (trial {found['best']['number']})")
    if chosen:
        say(f"\n{table([trial_row(trial) for trial in chosen])}")
    if hidden:
        say(f"({hidden} more: thomax show {shlex.quote(str(found['journal']))} --all)")

"""`thomax show`: what a journal holds, also while another process writes to it."""

import argparse
import json
import shlex
from dataclasses import asdict
from pathlib import Path

from thomax.cli.journals import read_search
from thomax.cli.numbers import whole_flag
from thomax.cli.summaries import (
    counts_text,
    shown_trials,
    standing_lines,
    summary,
    trial_row,
)
from thomax.cli.texts import cell, say, table
from thomax.storage.snapshot import Change, Snapshot
from thomax.storage.trial import Correction, Trial, outcome_words
from thomax.support.types import Params

EXAMPLES = """examples:
  thomax show search.jsonl
  thomax show search.jsonl --all --json
  thomax show search.jsonl --history"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax show`.

    Args:
        parser: The parser of the command.
    """
    parser.description = (
        "List the best trials of a search; of several objectives the front, the trials that no "
        "other one beats."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "--top",
        type=whole_flag,
        default=10,
        metavar="N",
        help="how many trials to list (default 10)",
    )
    parser.add_argument("--all", action="store_true", help="list all trials, in their order")
    parser.add_argument(
        "--history",
        action="store_true",
        help="list what was corrected and retracted, in the order in which that was done",
    )
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
    if options.history:
        _print_changes(options, snapshot.changes)
        return
    chosen = snapshot.trials if options.all else shown_trials(snapshot, options.top)
    if options.json:
        found = summary(options.journal, snapshot)
        say(json.dumps({**found, "trials": [asdict(trial) for trial in chosen]}))
    else:
        _print(options.journal, snapshot, chosen)


def _print_changes(options: argparse.Namespace, changes: list[Change]) -> None:
    if options.json:
        listed = [
            {"number": number, "before": _filled(before), "after": _outcome(after)}
            for number, before, after in changes
        ]
        say(json.dumps({"journal": str(options.journal), "changes": listed}))
    elif not changes:
        say(f"{options.journal}: nothing was corrected or retracted")
    else:
        say(table([_change_row(change) for change in changes]))


def _change_row(change: Change) -> dict[str, str]:
    number, before, after = change
    was, became = (cell(outcome_words(outcome)) for outcome in (before, after))
    row = {"record": str(before.record), "trial": str(number), "was": was, "is": became}
    return {**row, "why": cell(before.why or "")}


def _filled(before: Correction) -> Params:
    """Return what a trial was; what only several metrics or measurements have, if it is there."""
    found = asdict(before)
    empty = [name for name in ("values", "replicates", "noise_std") if not found[name]]
    return {name: value for name, value in found.items() if name not in empty}


def _outcome(outcome: Correction | Trial) -> Params:
    values = {"values": outcome.values} if outcome.values else {}
    return {"state": outcome.state, "value": outcome.value, "error": outcome.error, **values}


def _print(journal: Path, snapshot: Snapshot, chosen: list[Trial]) -> None:
    counts = counts_text(summary(journal, snapshot)["counts"])
    say(f"{journal}: {counts}, {snapshot.metrics}")
    for line in standing_lines(snapshot):
        say(line)
    if chosen:
        say(f"\n{table([trial_row(trial, snapshot) for trial in chosen])}")
    if hidden := len(snapshot.trials) - len(chosen):
        say(f"({hidden} more: thomax show {shlex.quote(str(journal))} --all)")

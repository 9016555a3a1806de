"""`thomax tell`: record what came of a point."""

import argparse
import json
import re
from pathlib import Path
from typing import Any, cast

from thomax.commands.journals import add_wait, open_again, opened_in_turn
from thomax.commands.outcomes import Outcome, number_of, read_outcomes, tell_all
from thomax.spaces import Space

EXAMPLES = """examples:
  thomax tell search.jsonl 3 0.93
  thomax tell search.jsonl 4 --failed "out of memory"
  thomax tell search.jsonl --params '{"lr": 0.01, "act": "relu"}' 0.87
  thomax tell search.jsonl --from results.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax tell`."""
    parser.description = "Record the value of a trial, or that it failed."
    parser.epilog = EXAMPLES
    # argparse takes -1e-05 for a flag, until Python 3.14.
    parser._negative_number_matcher = re.compile(r"-(\.?\d|inf|nan)")
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "outcome", nargs="*", metavar="NUMBER VALUE", help="as suggested; nan fails"
    )
    parser.add_argument(
        "--failed", nargs="?", const="failed", metavar="REASON", help="instead of a value"
    )
    parser.add_argument(
        "--params",
        nargs="+",
        metavar=("JSON", "VALUE"),
        help="instead of a number: any point of the space",
    )
    parser.add_argument(
        "--from", type=Path, dest="file", metavar="FILE", help="many at once, .csv or .jsonl"
    )
    add_wait(parser)
    parser.set_defaults(act=_tell)


def _tell(options: argparse.Namespace) -> None:
    with opened_in_turn(lambda: open_again(options.journal), options.wait) as optimizer:
        told = tell_all(optimizer, _outcomes(options, cast(Space, optimizer.space)))
    words = f"{len(told)} trials" if len(told) != 1 else f"trial {told[0].number}"
    print(f"recorded {words} in {options.journal}")


def _outcomes(options: argparse.Namespace, space: Space) -> list[Outcome]:
    given = [options.outcome, options.params, options.file]
    if sum(bool(way) for way in given) != 1:
        raise ValueError("tell needs one of NUMBER, --params JSON and --from FILE.")
    if options.file:
        if options.failed is not None:
            raise ValueError("--from takes no --failed: the file has errors in it.")
        return read_outcomes(options.file, space)
    trial, *values = options.params or options.outcome
    if len(values) != (options.failed is None):
        raise ValueError(f"tell needs one VALUE, or --failed without a VALUE, got {values}.")
    target = _params(trial) if options.params else _number(trial)
    value = number_of(values[0], "tell") if values else None
    return [Outcome("tell", target, value, options.failed)]


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"NUMBER needs to be the whole number of a trial, got {text!r}.")
    return int(text)


def _params(text: str) -> dict[str, Any]:
    try:
        params = json.loads(text)
    except ValueError:
        params = None
    if not isinstance(params, dict):
        raise ValueError(f"--params needs a JSON object such as '{{\"x\": 1}}', got {text!r}.")
    return params

"""`thomax retract`: take the results of finished trials back."""

import argparse
from pathlib import Path

from thomax.cli.journals import add_shared, open_again, opened_in_turn
from thomax.cli.numbers import whole_flag
from thomax.cli.texts import say

EXAMPLES = """examples:
  thomax retract search.jsonl 9 --why leak
  thomax retract search.jsonl 4 5 7"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax retract`.

    Args:
        parser: The parser of the command.
    """
    parser.description = (
        "Take the results of finished trials back: nothing is learnt from them, and their points "
        "may be proposed again."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument("numbers", type=whole_flag, nargs="+", metavar="NUMBER")
    parser.add_argument("--why", metavar="TEXT", help="why they are retracted")
    add_shared(parser)
    parser.set_defaults(act=_retract)


def _retract(options: argparse.Namespace) -> None:
    numbers = list(dict.fromkeys(options.numbers))
    with opened_in_turn(lambda: open_again(options.journal, options.space), options.wait) as found:
        states = {trial.number: trial.state for trial in found.trials}
        for number in numbers:
            if (state := states.get(number, "unknown")) in ("pending", "dropped", "unknown"):
                raise ValueError(
                    f"retract needs finished trials, got {number}, which is {state}. Nothing was "
                    "retracted. See `thomax show --all`; `thomax drop` gives up pending trials."
                )
        left = [number for number in numbers if states[number] != "retracted"]
        for number in left:
            found.retract(number, why=options.why)
    before = len(numbers) - len(left)
    what = (
        f"trial{'' if len(left) == 1 else 's'} {', '.join(map(str, left))}" if left else "nothing"
    )
    say(
        f"retracted {what} in {options.journal}"
        + (f"; {before} had been retracted before" if before else "")
    )

"""`thomax drop`: give up trials that nobody will evaluate."""

import argparse
from pathlib import Path

from thomax.cli.journals import add_shared, open_again, opened_in_turn
from thomax.cli.numbers import whole_flag
from thomax.cli.texts import say

EXAMPLES = """examples:
  thomax drop search.jsonl 3
  thomax drop search.jsonl 4 5 7"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax drop`.

    Args:
        parser: The parser of the command.
    """
    parser.description = "Give up pending trials: they no longer count, and teach nothing."
    parser.epilog = EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument("numbers", type=whole_flag, nargs="+", metavar="NUMBER")
    add_shared(parser)
    parser.set_defaults(act=_drop)


def _drop(options: argparse.Namespace) -> None:
    numbers = list(dict.fromkeys(options.numbers))
    with opened_in_turn(lambda: open_again(options.journal, options.space), options.wait) as found:
        states = {trial.number: trial.state for trial in found.trials}
        for number in numbers:
            if (state := states.get(number, "unknown")) not in ("pending", "dropped"):
                pending = [n for n, s in states.items() if s == "pending"]
                raise ValueError(
                    f"drop needs pending trials, got {number}, which is {state}; "
                    f"pending are {pending or 'none'}. Nothing was dropped."
                )
        left = [number for number in numbers if states[number] == "pending"]
        for number in left:
            found.drop(number)
    before = len(numbers) - len(left)
    what = (
        f"trial{'' if len(left) == 1 else 's'} {', '.join(map(str, left))}" if left else "nothing"
    )
    say(
        f"dropped {what} in {options.journal}"
        + (f"; {before} had been dropped before" if before else "")
    )

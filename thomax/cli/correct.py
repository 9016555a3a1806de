"""`thomax correct`: change what a finished trial came to."""

import argparse
from pathlib import Path

from thomax.cli.journals import add_shared, open_again, opened_in_turn
from thomax.cli.numbers import take_negative_numbers, value_in, whole_flag
from thomax.cli.texts import say
from thomax.storage.trial import outcome_words

EXAMPLES = """examples:
  thomax correct search.jsonl 7 0.81 --why "wrong dilution"
  thomax correct search.jsonl 8 --failed "the sensor was off"
  thomax show search.jsonl --history"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax correct`.

    Args:
        parser: The parser of the command.
    """
    parser.description = (
        "Change the value of a finished trial, or make it a failure; bring a retracted one back."
    )
    parser.epilog = EXAMPLES
    take_negative_numbers(parser)
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument("number", type=whole_flag, metavar="NUMBER", help="the trial")
    parser.add_argument(
        "value", nargs="?", metavar="VALUE", help="its right value; nan is a failure"
    )
    parser.add_argument(
        "--failed",
        nargs="?",
        const="failed",
        metavar="REASON",
        help="record a failure instead of a value",
    )
    parser.add_argument("--why", metavar="TEXT", help="why it is corrected")
    add_shared(parser)
    parser.set_defaults(act=_correct)


def _correct(options: argparse.Namespace) -> None:
    if (options.value is None) == (options.failed is None):
        raise ValueError(
            f"correct needs a VALUE, or --failed without a VALUE, got "
            f"{'neither' if options.value is None else 'both'}."
        )
    value = None
    if options.value is not None:
        value = value_in(options.value, "correct", "give --failed REASON")
    with opened_in_turn(lambda: open_again(options.journal, options.space), options.wait) as found:
        trial = found.correct(options.number, value, error=options.failed, why=options.why)
    before = outcome_words(trial.corrections[-1])
    say(
        f"corrected trial {trial.number} in {options.journal}: "
        f"{outcome_words(trial)}, was {before}"
    )

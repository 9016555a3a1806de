"""`thomax correct`: change what a finished trial came to."""

import argparse
from pathlib import Path

from thomax.cli.journals import add_shared, open_again, opened_in_turn
from thomax.cli.measured import measured_in, noise_std_in
from thomax.cli.numbers import take_negative_numbers, whole_flag
from thomax.cli.tell import add_noise_std
from thomax.cli.texts import say
from thomax.storage.trial import outcome_words

EXAMPLES = """examples:
  thomax correct search.jsonl 7 0.81 --why "wrong dilution"
  thomax correct search.jsonl 7 cost=3.1 --why "a zero too many"
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
        "values",
        nargs="*",
        metavar="VALUE",
        help="its right value, or NAME=VALUE for the metrics that change; nan is a failure, "
        "NAME=nan a missing metric",
    )
    parser.add_argument(
        "--failed",
        nargs="?",
        const="failed",
        metavar="REASON",
        help="record a failure instead of a value",
    )
    add_noise_std(parser)
    parser.add_argument("--why", metavar="TEXT", help="why it is corrected")
    add_shared(parser)
    parser.set_defaults(act=_correct)


def _correct(options: argparse.Namespace) -> None:
    if bool(options.values) is (options.failed is not None):
        raise ValueError(
            f"correct needs a VALUE, or --failed without a VALUE, got "
            f"{'both' if options.values else 'neither'}."
        )
    with opened_in_turn(lambda: open_again(options.journal, options.space), options.wait) as found:
        value, metrics = None, found.metrics
        if options.values:
            value = measured_in(options.values, metrics, "correct")
        trial = found.correct(
            options.number,
            value,
            error=options.failed,
            why=options.why,
            noise_std=noise_std_in(options.noise_std, metrics, "correct"),
        )
    before = outcome_words(trial.corrections[-1])
    say(
        f"corrected trial {trial.number} in {options.journal}: "
        f"{outcome_words(trial)}, was {before}"
    )

"""`thomax tell`: record what came of a point."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thomax.cli.journals import add_shared, metrics_of, open_again, opened_in_turn
from thomax.cli.measured import measured_in, named_values, noise_std_in
from thomax.cli.numbers import take_negative_numbers, whole_in
from thomax.cli.texts import json_object, say
from thomax.storage.locks import waiting
from thomax.storage.metrics import Metrics
from thomax.storage.outcomes import NoiseStd, Value
from thomax.storage.telling import tell_pending
from thomax.support.types import Params

if TYPE_CHECKING:
    from thomax.cli.outcomes import Outcomes, Told
    from thomax.space.pool import Pool
    from thomax.space.space import Space

EXAMPLES = """examples:
  thomax tell search.jsonl 3 0.93
  thomax tell search.jsonl 4 --failed "out of memory"
  thomax tell search.jsonl 5 0.88 --note "stirrer slow"
  thomax tell search.jsonl 6 0.71,0.74,0.69
  thomax tell search.jsonl 7 yield=0.81 cost=3.2 --noise-std yield=0.02
  thomax tell search.jsonl --params '{"lr": 0.01, "act": "relu"}' 0.87
  thomax tell search.jsonl --from results.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax tell`.

    Args:
        parser: The parser of the command.
    """
    parser.description = "Record the value of a trial, or that it failed."
    parser.epilog = EXAMPLES
    take_negative_numbers(parser)
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "outcome",
        nargs="*",
        metavar="NUMBER VALUE",
        help="a trial and its value, or NAME=VALUE for each metric; nan is a failure, "
        "0.71,0.74,0.69 are repeated measurements",
    )
    parser.add_argument(
        "--failed",
        nargs="?",
        const="failed",
        metavar="REASON",
        help="record a failure instead of a value",
    )
    add_noise_std(parser)
    parser.add_argument("--note", metavar="TEXT", help="a remark to keep with the result")
    parser.add_argument(
        "--params",
        nargs="+",
        metavar=("JSON", "VALUE"),
        help="a point of the space in place of a trial's number",
    )
    parser.add_argument(
        "--from",
        type=Path,
        dest="file",
        metavar="FILE",
        help="record the rows of a .csv or .jsonl file",
    )
    parser.add_argument(
        "--as-run",
        action="store_true",
        help="with --from: record trials with the params of the file, where these differ",
    )
    parser.add_argument(
        "--allow-repeats",
        action="store_true",
        help="with --from: record points once more with a value that they have already",
    )
    add_shared(parser)
    parser.set_defaults(act=_tell)


def add_noise_std(parser: argparse.ArgumentParser) -> None:
    """Add the option --noise-std.

    Args:
        parser: The parser of a command that takes values.
    """
    parser.add_argument(
        "--noise-std", action="append", default=[], metavar="STD",
        help="the known standard deviation of one measurement, NAME=STD for that of a metric "
        "(once for each)",
    )  # fmt: skip


def _tell(options: argparse.Namespace) -> None:
    if _is_told_at_once(options):
        say(f"recorded trial {_number(options.outcome[0])} in {options.journal}")
        return
    from thomax.cli.outcomes import tell_outcomes  # NumPy, which telling a number does without

    opened = opened_in_turn(lambda: open_again(options.journal, options.space), options.wait)
    with opened as optimizer:
        outcomes = _outcomes(options, optimizer.space, optimizer.metrics)
        told = tell_outcomes(
            optimizer,
            outcomes.found,
            as_run=options.as_run,
            # One point on the command line is told on purpose.
            allow_repeats=options.allow_repeats or options.file is None,
        )
    say(_words(told, outcomes.blank, options.journal))


def _is_told_at_once(options: argparse.Namespace) -> bool:
    """Tell a pending trial of a long journal without reading all of it, if that is possible."""
    others = [options.params, options.file, options.space, options.as_run, options.allow_repeats]
    is_one = options.outcome and bool(options.outcome[1:]) is (options.failed is None)
    if any(others) or not is_one:
        return False
    trial, *words = options.outcome
    number, metrics = _number(trial), metrics_of(options.journal)
    value, noise_std = _measured(options, words, metrics)
    with waiting(options.wait):
        return tell_pending(
            options.journal, number, value, options.failed, options.note, noise_std
        )


def _measured(
    options: argparse.Namespace, words: Sequence[str], metrics: Metrics
) -> tuple[Value, NoiseStd]:
    noise_std = noise_std_in(options.noise_std, metrics, "tell")
    if bool(words) is (options.failed is not None):
        example = "VALUE" if metrics.is_plain else named_values(metrics.names)
        raise ValueError(f"tell needs one {example}, or --failed without a VALUE, got {[*words]}.")
    return (measured_in(words, metrics, "tell") if words else None), noise_std


def _words(told: "Told", blank: int, journal: Path) -> str:
    count = len(told.trials)
    what = f"trial {told.trials[0].number}" if count == 1 else f"{count or 'no'} trials"
    parts = [f"recorded {what} in {journal}"]
    if told.before:
        parts.append(f"{told.before} had been recorded before")
    if told.outdated:
        rows = "1 row has" if told.outdated == 1 else f"{told.outdated} rows have"
        parts.append(f"{rows} a result that was corrected or retracted since, which stays so")
    if told.other_notes:
        parts.append(f"the notes of {told.other_notes} stay as they were recorded")
    if told.other_noise:
        parts.append(f"the noise_std of {told.other_noise} stays as it was recorded")
    if blank:
        parts.append(f"skipped {blank} row{'' if blank == 1 else 's'} without a value")
    return "; ".join(parts)


def _outcomes(options: argparse.Namespace, space: "Space | Pool", metrics: Metrics) -> "Outcomes":
    from thomax.cli.outcome_files import read_outcomes
    from thomax.cli.outcomes import Outcome, Outcomes

    given = [options.outcome, options.params, options.file]
    if sum(bool(way) for way in given) != 1:
        raise ValueError("tell needs one of NUMBER, --params JSON and --from FILE.")
    if options.file:
        if options.failed is not None:
            raise ValueError("--from takes no --failed: the file has errors in it.")
        if options.note is not None:
            raise ValueError("--from takes no --note: write notes in a column `note` of the file.")
        if options.noise_std:
            raise ValueError("--from takes no --noise-std: the file has columns for it.")
        return read_outcomes(options.file, space, metrics)
    if options.as_run or options.allow_repeats:
        raise ValueError("--as-run and --allow-repeats need --from FILE.")
    trial, *words = options.params or options.outcome
    value, noise_std = _measured(options, words, metrics)
    said = {"note": options.note, "noise_std": noise_std}
    if options.params:
        point = params_in(trial)
        return Outcomes([Outcome("tell", None, value, options.failed, point, **said)])
    return Outcomes([Outcome("tell", _number(trial), value, options.failed, **said)])


def _number(text: str) -> int:
    number = whole_in(text)
    if number is None or number < 0:
        raise ValueError(f"NUMBER needs to be the whole number of a trial, got {text!r}.")
    return number


def params_in(text: str) -> Params:
    """Return the point that a flag --params has.

    Args:
        text: What was typed.
    """
    params = json_object(text)
    if params is None:
        raise ValueError(f"--params needs a JSON object such as '{{\"x\": 1}}', got {text!r}.")
    return params

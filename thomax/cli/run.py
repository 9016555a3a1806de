"""`thomax run`: optimise any program that prints a number, or several by name."""

import argparse
import json
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

from thomax.cli.evaluation import Evaluation
from thomax.cli.numbers import number_in, whole_in
from thomax.cli.points import Points
from thomax.cli.program import Program, require_program
from thomax.cli.settings import DEFAULTS, RULES, Settings, check_setting
from thomax.cli.spacefile import SpaceFile, read_space_file
from thomax.cli.summaries import (
    Summary,
    counts_text,
    shown_trials,
    standing_lines,
    summary,
    trial_row,
)
from thomax.cli.supervision import supervise
from thomax.cli.texts import cell, say, table
from thomax.cli.values import ValueRule
from thomax.optimizer import Optimizer
from thomax.storage.metrics import UNNAMED, Metrics
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Trial

_MOST_ROWS = 10  # of the front that are printed
TRIALS = 50  # if neither trials nor a time limit is given
EXAMPLES = """examples:
  thomax run space.toml -- python train.py --epochs 3
  thomax run space.toml --minimize --trials 40 --jobs 4 -- ./train lr={lr} out/{trial}"""


class Ending(Summary):
    """What is printed of a run that has ended.

    Args:
        stopped: Why it ended.
        command: What to paste into a shell to evaluate the best trial again.
    """

    stopped: str
    command: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax run`.

    Args:
        parser: The parser of the command.
    """
    parser.usage = "thomax run SPACE.toml [options] -- PROGRAM [arguments]"
    parser.description = "Run a program again and again, to find the params of its best value."
    parser.epilog = EXAMPLES
    parser.add_argument("space", type=Path, metavar="SPACE.toml")
    direction = parser.add_mutually_exclusive_group()
    for word, text in [
        ("minimize", "small values are good"),
        ("maximize", "large values are good (default)"),
    ]:
        direction.add_argument(
            f"--{word}", dest="direction", action="store_const", const=word, help=text
        )
    for name, metavar, text in [
        ("trials", "N", f"finished trials in all (default {TRIALS}, or as many as time allows)"),
        ("jobs", "N", "programs that run side by side (default 1)"),
        ("seed", "N", "seed of the proposals"),
        ("initial", "N", "quasi-random trials before the model proposes"),
        ("timeout", "SECONDS", "time of each program; then it is ended, and its trial has failed"),
        ("time-limit", "SECONDS", "time of the run; then nothing new is started"),
        ("give-up", "N", "stop if the first N trials of the run all fail (default 3; 0: never)"),
    ]:
        parser.add_argument(f"--{name}", type=_number, metavar=metavar, help=text)
    parser.add_argument(
        "--journal", metavar="PATH", help="the file that keeps everything (default: SPACE.jsonl)"
    )
    parser.add_argument(
        "--value",
        metavar="[FILE][:KEY]",
        help="where the value is (default: the last line; of several metrics a JSON object, or "
        "lines such as yield=0.81)",
    )
    parser.add_argument(
        "--as", choices=["flags", "env"], help="how the program gets its params (default: flags)"
    )
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(act=run)


def run(options: argparse.Namespace) -> int:
    """Run the program until there are enough trials, and print what was found.

    Args:
        options: What was typed.
    """
    file = read_space_file(options.space)
    settings = _settings(options, file)
    metrics = _metrics(options, file)
    rule = ValueRule(metrics=metrics)
    if "value" in settings:
        rule = ValueRule.parse(settings["value"], metrics)
    rule.check_jobs(settings["jobs"])
    names = tuple(Points(file.space).names)
    require_program(options.program)
    program = Program(tuple(options.program), names, settings["as"] == "env")
    journal = Path(settings["journal"])
    logs = journal.with_name(journal.name + ".logs")
    evaluation = Evaluation(program, rule, logs, settings.get("timeout"))
    with Optimizer(
        file.space,
        **metrics.options(),
        seed=settings.get("seed"),
        initial=settings.get("initial"),
        journal=journal,
    ) as optimizer:
        progress = not options.no_progress and sys.stderr.isatty()
        stopped, failure = supervise(optimizer, evaluation, settings, progress)
        snapshot = optimizer.snapshot()
    trials = snapshot.trials
    best = snapshot.best
    command = None if best is None else program.line(best.params, best.number)
    found: Ending = {"stopped": stopped, **summary(journal, snapshot), "command": command}
    code, why = _ending(found, trials, failure)
    with suppress(BrokenPipeError):  # whoever reads may be gone: how it ended stays the same
        say(json.dumps(found) if options.json else _text(found, snapshot, logs))
        if why:
            say(f"thomax: {why}", file=sys.stderr)
    return code


def _number(text: str) -> int | float | str:
    """Return a number if it is one; the rules of the settings say what is wrong otherwise."""
    whole, number = whole_in(text), number_in(text)
    return text if number is None else number if whole is None else whole


def _settings(options: argparse.Namespace, file: SpaceFile) -> Settings:
    """Return the settings: flags before the file, the file before the defaults."""
    flags = {name: value for name in RULES if (value := getattr(options, name, None)) is not None}
    for name, value in flags.items():
        check_setting(f"--{name.replace('_', '-')}", name, value)
    found = cast(Settings, {**DEFAULTS, **file.settings, **flags})  # each was checked
    if "trials" not in found and "time_limit" not in found:
        found["trials"] = TRIALS
    if "journal" not in flags:  # in the file a path is relative to the file
        written = file.settings.get("journal", file.path.with_suffix(".jsonl").name)
        found["journal"] = str(file.path.parent / written)
    return found


def _metrics(options: argparse.Namespace, file: SpaceFile) -> Metrics:
    """Return what is measured: a flag overrules the direction of an objective without a name."""
    if options.direction is None:
        return file.metrics
    if file.metrics.is_named:
        raise ValueError(
            f"--{options.direction} is for one objective without a name: the table [objectives] "
            f"of {file.path} has a direction for each."
        )
    return replace(file.metrics, objectives={UNNAMED: options.direction})


def _ending(found: Ending, trials: list[Trial], failure: str) -> tuple[int, str]:
    """Return the exit code and what it is about."""
    counts = found["counts"]
    failed = [t.error or "" for t in trials if t.state == "failed"]
    if found["stopped"] == "interrupted":
        count = counts["pending"]
        pending = f" with {count} trial{'' if count == 1 else 's'} pending" if count else ""
        return 130, f"stopped{pending}; the same command goes on from here"
    if found["stopped"] == "failures":
        return 1, (
            "stopped, because the first trials of the run all failed; mend the program, then run "
            "the same command again, which evaluates them first (--give-up 0 goes on whatever "
            f"fails). The last failure: {failure}"
        )
    if not counts["complete"]:
        reason = f"; the last failure: {failed[-1]}" if failed else ""
        return 1, f"no trial was successful{reason}"
    return 0, ""


_WHY = {
    "timeout": "the time limit was reached",
    "exhausted": "every point of the space has been tried",
}


def _text(found: Ending, snapshot: Snapshot, logs: Path) -> str:
    why = _WHY.get(found["stopped"])
    lines = [f"{found['journal']}: {counts_text(found['counts'])}" + (f"; {why}" if why else "")]
    if failed := snapshot.failed:
        reason = (failed[-1].error or "").partition("\n")[0]
        lines.append(f"last failure: {reason} (see {logs / f'{failed[-1].number}.err'})")
    if not snapshot.metrics.is_one:
        lines += [*standing_lines(snapshot), *_rows(snapshot)]
    elif best := found["best"]:
        lines.append(
            f"best value {best['value']:.6g} ({snapshot.metrics}), trial {best['number']}:"
        )
        lines += [f"  {name} = {cell(value)}" for name, value in best["params"].items()]
    if found["command"]:
        lines.append(f"again: {found['command']}")
    lines.append(f"next: thomax report {shlex.quote(str(found['journal']))}")
    return "\n".join(lines)


def _rows(snapshot: Snapshot) -> list[str]:
    """Return the best trials as lines of a table."""
    chosen = shown_trials(snapshot, 1 if snapshot.best else _MOST_ROWS)
    return table([trial_row(trial, snapshot) for trial in chosen]).split("\n") if chosen else []

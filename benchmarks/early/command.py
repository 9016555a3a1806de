"""`python -m benchmarks early`: run what is missing, print tables, draw the win rates."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.early.plots import draw_wins
from benchmarks.early.suites import (
    EVALUATIONS,
    FAMILIES,
    METHODS,
    STARTS,
    runs,
    task_with_starts,
    task_without_starts,
)
from benchmarks.early.tables import lines, power_lines, summary
from benchmarks.early.wins import Field
from benchmarks.methods import parse_method
from benchmarks.options import add_comparison, first_is_compared
from benchmarks.rivals import RIVALS
from benchmarks.rivals.packages import require_packages
from benchmarks.runner import finished, records, run_all
from benchmarks.tasks.sealed.registry import refuse_sealed

RESULTS, QUICK_FOLDER = Path("benchmarks/results"), Path("build/early-quick")
_SEEDS, _BATCHES = 3, (1, 4)
_QUICK_TASKS = ("tanks8", "composite9", "branches17")
_QUICK_METHODS = ("auto", "random", "optuna-tpe", "optuna-gp")
_QUICK_EVALUATIONS, _QUICK_SEEDS = 16, 2


def add_arguments(parser: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Add the options of `python -m benchmarks early`."""
    add_comparison(
        parser, positive, methods=first_is_compared(METHODS), batches="1 4", seeds=str(_SEEDS),
        folder=f"{RESULTS}/SUITE/STARTS",
        quick=f"{len(_QUICK_TASKS)} tasks, {_QUICK_SEEDS} seeds, batches of four, "
        f"in {QUICK_FOLDER}",
    )  # fmt: skip
    add = parser.add_argument
    add("--suite", choices=[*FAMILIES], default="early", help="(default early)")
    add("--unseal", action="store_true", help="run the sealed suite: the default is chosen")
    add("--families", nargs="+", metavar="FAMILY", help="some of the suite's families")
    add("--evaluations", type=positive, help=f"of a run, starts included (default {EVALUATIONS})")
    own = f"each method takes its own first points (default: {STARTS} common ones)"
    add("--own-starts", action="store_true", help=own)
    parser.set_defaults(act=early)


def early(options: argparse.Namespace) -> None:
    """Run what is missing and say how the methods compare along the run."""
    tasks, methods, quick = _tasks(options), _methods(options), options.quick
    refuse_sealed(tasks, unseal=options.unseal)
    batches = tuple(options.batch or ((4,) if quick else _BATCHES))
    evaluations = options.evaluations or (_QUICK_EVALUATIONS if quick else EVALUATIONS)
    count = evaluations if options.own_starts else evaluations - STARTS
    if count < 1:
        raise ValueError(f"--evaluations needs more than the {STARTS} starts, got {evaluations}.")
    seeds = options.seeds or (_QUICK_SEEDS if quick else _SEEDS)
    folder = _folder(options)
    make = task_without_starts if options.own_starts else task_with_starts
    wanted = runs(tasks, methods, batches, seeds, count)
    done = finished(folder)
    missing = [run for run in wanted if run not in done]
    for method in dict.fromkeys(parse_method(run.method).name for run in missing):
        if method in RIVALS:
            require_packages(method, RIVALS[method].packages)
    for task in dict.fromkeys(run.task for run in missing):
        make(task, 0)  # so that workers find tables that are computed once
    run_all(
        wanted, folder, make, workers=options.workers, progress=not options.no_progress,
        unseal=options.unseal,
    )  # fmt: skip
    _report(options, folder, [*tasks], [*methods], batches)


def _report(
    options: argparse.Namespace,
    folder: Path,
    tasks: list[str],
    methods: list[str],
    batches: tuple[int, ...],
) -> None:
    known = [
        r
        for r in records(folder)
        if r["task"] in tasks and r["method"].partition("@")[0] in methods
    ]
    starts = "own" if options.own_starts else "common"
    fields, found = {}, {}
    for batch in batches:
        field, pace = (
            Field.of(known, batch),
            f"batches of {batch}" if batch > 1 else "one at a time",
        )
        fields[f"{options.suite}, {starts} starts, {pace}"] = field
        print(f"\n{options.suite}, {starts} starts, {pace}: {len(field.tasks)} tasks")
        print("\n".join([*lines(field, methods[0]), "", *power_lines(field, methods[0])]))
        found[str(batch)] = summary(field, methods[0])
    if len(methods) > 1:
        figure = folder / "figures" / "wins.svg"
        draw_wins(fields, methods[0], figure)
        print(f"wrote {figure}")
    result = {"suite": options.suite, "starts": starts, "reference": methods[0], "batch": found}
    (folder / "summary.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result | {"quick": options.quick}))


def _tasks(options: argparse.Namespace) -> tuple[str, ...]:
    families = FAMILIES[options.suite]
    for family in options.families or ():
        if family not in families:
            raise ValueError(f"A family is one of {', '.join(families)}; got {family!r}.")
    some = {n: t for n, t in families.items() if options.families is None or n in options.families}
    known = [name for tasks in some.values() for name in tasks]
    for task in options.tasks or ():
        if task not in known:
            raise ValueError(f"A task of this suite is one of {', '.join(known)}; got {task!r}.")
    usual = _QUICK_TASKS if options.quick and options.suite == "early" else tuple(known)
    return tuple(options.tasks or usual)


def _methods(options: argparse.Namespace) -> tuple[str, ...]:
    methods = options.methods or (_QUICK_METHODS if options.quick else METHODS)
    for method in methods:
        if parse_method(method).batch != 1:
            raise ValueError(
                f"Methods are compared at the same batch size: leave it out, got {method!r}, and "
                "use --batch."
            )
    return tuple(dict.fromkeys(methods))


def _folder(options: argparse.Namespace) -> Path:
    starts = "own" if options.own_starts else "common"
    if options.folder is not None:
        return Path(options.folder)
    return QUICK_FOLDER / starts if options.quick else RESULTS / options.suite / starts

"""`python -m benchmarks.metrics`: run what is missing, print tables, write the page."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.metrics.methods import METHODS, OURS, check_method
from benchmarks.metrics.page import write_page
from benchmarks.metrics.registry import MODES, TASKS, mode_of
from benchmarks.metrics.rivals import RIVALS
from benchmarks.metrics.runner import EVALUATIONS, finished, forget, run_all, runs
from benchmarks.metrics.summary import Comparison, comparisons
from benchmarks.metrics.tables import lines, summary
from benchmarks.options import add_comparison, first_is_compared
from benchmarks.rivals.packages import require_packages
from benchmarks.runner import records

FOLDER, QUICK_FOLDER = Path("benchmarks/results/metrics"), Path("build/metrics-quick")
PAGE = Path("docs/research/metrics.md")
_SEEDS, _BATCHES = 10, (4, 1)
_QUICK_TASKS = ("branin_currin", "gramacy")
_QUICK_METHODS = (OURS, "random", "optuna-nsga2", "optuna-tpe")
_QUICK_EVALUATIONS, _QUICK_SEEDS = 16, 2


def add_arguments(parser: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Add the options of `python -m benchmarks.metrics`."""
    add_comparison(
        parser, positive, methods=first_is_compared(METHODS), batches="4 1", seeds=str(_SEEDS),
        folder=str(FOLDER),
        quick=f"2 tasks, 2 seeds, {_QUICK_EVALUATIONS} evaluations, in {QUICK_FOLDER}",
    )  # fmt: skip
    add = parser.add_argument
    add("--mode", choices=[*MODES], help="only tasks with several objectives, or with limits")
    add("--forget", nargs="+", metavar="METHOD", help="remove the results of these first")
    add("--no-runs", action="store_true", help="compare what was run, and run nothing")
    add("--document", type=Path, metavar="PAGE", help=f"also write the page, such as {PAGE}")
    parser.set_defaults(act=metrics)


def metrics(options: argparse.Namespace) -> None:
    """Run what is missing and say how the methods compare."""
    tasks, methods, quick = _tasks(options), _methods(options), options.quick
    batches = tuple(options.batch or ((4,) if quick else _BATCHES))
    evaluations = _QUICK_EVALUATIONS if quick else EVALUATIONS
    seeds = options.seeds or (_QUICK_SEEDS if quick else _SEEDS)
    folder = options.folder or (QUICK_FOLDER if quick else FOLDER)
    if options.forget:
        forget(folder, options.forget)
    if not options.no_runs:
        wanted = runs(tasks, methods, batches, seeds, evaluations)
        done = finished(folder)
        for method in dict.fromkeys(run.method for run in wanted if run not in done):
            if method in RIVALS:
                require_packages(method, RIVALS[method].packages)
        run_all(wanted, folder, workers=options.workers, progress=not options.no_progress)
    known = [r for r in records(folder) if r["task"] in tasks and r["method"] in methods]
    found = comparisons(known, methods)
    for comparison in found:
        _print(comparison)
    if options.document is not None:
        write_page(records(folder), folder, options.document)
    result = {"comparisons": [summary(c) for c in found], "quick": quick}
    print(json.dumps(result))


def _print(comparison: Comparison) -> None:
    print(f"\n{comparison.title}\n")
    print("\n".join(lines(comparison)))


def _tasks(options: argparse.Namespace) -> tuple[str, ...]:
    for task in options.tasks or ():
        if task not in TASKS:
            raise ValueError(f"A task is one of {', '.join(TASKS)}; got {task!r}.")
    usual = _QUICK_TASKS if options.quick else TASKS
    chosen = options.tasks or usual
    return tuple(t for t in chosen if options.mode in (None, mode_of(t)))


def _methods(options: argparse.Namespace) -> tuple[str, ...]:
    methods = options.methods or (_QUICK_METHODS if options.quick else METHODS)
    for method in methods:
        check_method(method)
    return tuple(dict.fromkeys(methods))

"""`python -m benchmarks compare`: run what is missing, print tables, write the summary."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.compare.page import write_page
from benchmarks.compare.suites import (
    BATCHES,
    METHODS,
    QUICK_METHODS,
    QUICK_SUITE,
    SUITES,
    VARIANTS,
    Budget,
    planned,
    runs,
    suite_task,
)
from benchmarks.compare.summary import SuiteResult, suite_results, summarised, without_incomplete
from benchmarks.compare.tables import finals, judgements, losses, overview
from benchmarks.methods import parse_method
from benchmarks.options import add_comparison
from benchmarks.rivals import RIVALS
from benchmarks.rivals.packages import require_packages
from benchmarks.runner import finished, records, run_all

FOLDER, QUICK_FOLDER = Path("benchmarks/results/compare"), Path("build/compare-quick")
_BATCHES_ONLY = (4,)  # of the quick comparison and of ablations


def add_arguments(parser: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Add the options of `python -m benchmarks compare`."""
    add_comparison(
        parser, positive, methods=f"of {' '.join(METHODS)} (default: the suite's)",
        batches="1 4; ablations 4", seeds="the suite's", folder=str(FOLDER),
        quick=f"4 tasks, 2 seeds, 12 evaluations, {len(QUICK_METHODS)} methods, "
        f"in {QUICK_FOLDER}",
    )  # fmt: skip
    add = parser.add_argument
    add("--suite", choices=[*SUITES, "all"], default="development", help="(default development)")
    add("--ablation", action="store_true", help="compare variants of ours, on development tasks")
    add("--document", type=Path, metavar="PAGE", help="also write the page of all results")
    parser.set_defaults(act=compare)


def compare(options: argparse.Namespace) -> None:
    """Run what is missing and say how the methods compare."""
    suites, methods, batches = _suites(options), _methods(options), _batches(options)
    folder = options.folder or (QUICK_FOLDER if options.quick else FOLDER)
    wanted = [
        run
        for suite, tasks in suites.items()
        for batch in batches
        for run in runs(tasks, methods or planned(suite, batch), [batch], options.seeds)
    ]
    done = finished(folder)
    for method in dict.fromkeys(parse_method(r.method).name for r in wanted if r not in done):
        if method in RIVALS:
            require_packages(method, RIVALS[method].packages)
    run_all(wanted, folder, suite_task, workers=options.workers, progress=not options.no_progress)
    known = records(folder)
    chosen = suite_results(known, methods or METHODS, suites=suites, batches=batches)
    chosen = chosen if methods else without_incomplete(chosen)
    for result in chosen:
        _print(result)
    name, everything = ("ablation", VARIANTS) if options.ablation else ("compare", METHODS)
    shown = without_incomplete(suite_results(known, everything))
    _write(folder.with_name(f"{name}.json"), summarised(shown))
    if options.document is not None:
        write_page(folder, options.document)
    print(json.dumps(summarised(chosen) | {"quick": options.quick}))


def _suites(options: argparse.Namespace) -> dict[str, dict[str, Budget]]:
    names = [*SUITES] if options.suite == "all" else [options.suite]
    suites = {name: SUITES[name] for name in names}
    if options.ablation:
        suites = {"development": SUITES["development"]}
    if options.quick:
        suites = {"development": QUICK_SUITE}
    if options.tasks is None:
        return suites
    known = list(dict.fromkeys(task for tasks in suites.values() for task in tasks))
    unknown = [task for task in options.tasks if task not in known]
    if unknown:
        raise ValueError(f"A task of this suite is one of {', '.join(known)}; got {unknown[0]!r}.")
    return {
        name: {task: b for task, b in tasks.items() if task in options.tasks}
        for name, tasks in suites.items()
    }


def _methods(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the methods for all suites and batch sizes; none: those that each of them plans."""
    if options.methods is None:
        usual = QUICK_METHODS if options.quick else ()
        return VARIANTS if options.ablation else usual
    for method in options.methods:
        if parse_method(method).batch != 1:
            raise ValueError(f"Methods are compared at the same batch size: leave it out, got "
                             f"{method!r}, and use --batch.")  # fmt: skip
    return tuple(dict.fromkeys(options.methods))


def _batches(options: argparse.Namespace) -> tuple[int, ...]:
    usual = _BATCHES_ONLY if options.quick or options.ablation else BATCHES
    return tuple(options.batch or usual)


def _print(result: SuiteResult) -> None:
    print(f"\n{result.suite}, {result.pace}\n")
    remarks = [*losses(result), *judgements(result)]
    print("\n".join([*overview(result), "", *finals(result), "", *remarks]))


def _write(path: Path, summary: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")

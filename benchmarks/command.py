"""The command `python -m benchmarks`."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.compare.command import add_arguments as add_compare_arguments
from benchmarks.early.command import add_arguments as add_early_arguments
from benchmarks.methods import parse_method
from benchmarks.paper import exploration
from benchmarks.paper.claims import OURS, PAPER, findings, table
from benchmarks.paper.document import write_document
from benchmarks.paper.figures import FIGURES, Figure, figure
from benchmarks.paper.plots import draw, draw_exploration
from benchmarks.runner import Run, results, run_all
from benchmarks.statistics import Record
from benchmarks.tasks.problem import MissingPackageError, Problem
from benchmarks.tasks.registry import TASKS, task

FOLDER, QUICK_FOLDER = Path("build/bench"), Path("build/bench-quick")
_QUICK_METHODS, _QUICK_ITERATIONS, _QUICK_DRAWS = 4, 1, 10
_DRAWS, _EXPLORATION_SEEDS = 100, 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `python -m benchmarks`."""
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("list", help="list figures, tasks and what they need")
    show.set_defaults(act=_list)
    run = commands.add_parser(
        "run",
        help="run a figure of the paper, a task, or everything; draw it and judge its claims",
        epilog="Example: python -m benchmarks run 3c --seeds 10 --iterations 50 --workers 2. "
        "The same command goes on with a run that was stopped; more iterations prolong one that "
        "has ended.",
    )
    run.add_argument("what", help="a figure (1abc, 1d, 2a, ...), a task, or all")
    _add_run_options(run)
    run.add_argument(
        "--methods", nargs="+", metavar="METHOD", help="such as sto-paper:8x64@4 or gp-ts"
    )
    run.add_argument("--batch", type=_positive, help="of all methods whose name has none")
    run.add_argument("--format", default="svg", choices=["svg", "png", "pdf"], help="of figures")
    run.add_argument(
        "--document", type=Path, metavar="PAGE", help="also write the page of all figures"
    )
    run.set_defaults(act=_reproduce)
    plot = commands.add_parser("plot", help="draw a figure from results")
    plot.add_argument("what", help="a figure, a task, or all")
    _add_folder(plot)
    plot.add_argument("--format", default="svg", choices=["svg", "png", "pdf"])
    plot.set_defaults(act=_plot)
    claims = commands.add_parser("claims", help="judge the paper's claims by the results")
    _add_folder(claims)
    claims.add_argument("--json", action="store_true", help="print JSON instead of a table")
    claims.add_argument(
        "--ours", action="store_true", help="those against baselines that are not the paper's"
    )
    claims.set_defaults(act=_claims)
    compare = commands.add_parser(
        "compare",
        help="compare with other optimisers",
        epilog="Example: python -m benchmarks compare --suite report --batch 4 --workers 2",
    )
    add_compare_arguments(compare, _positive)
    early = commands.add_parser(
        "early",
        help="compare methods after 8, 16, 32 and 64 evaluations and at the end",
        epilog="Example: python -m benchmarks early --methods auto optuna-gp --own-starts",
    )
    add_early_arguments(early, _positive)
    document = commands.add_parser("document", help="write the page of figures and verdicts")
    _add_folder(document)
    document.add_argument("--output", type=Path, default=Path("docs/research/reproduction.md"))
    document.set_defaults(act=lambda o: write_document(_folder(o), o.output))


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, help=f"where results are (default {FOLDER})")


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument("--seeds", type=_positive, help="how many, from 0 on")
    parser.add_argument("--iterations", type=_positive, help="after the starting points")
    parser.add_argument("--paper", action="store_true", help="as many iterations as the paper")
    parser.add_argument("--paper-only", action="store_true", help="only the paper's own curves")
    parser.add_argument("--workers", type=_positive, default=1, help="processes (default 1)")
    quick = f"four methods, one seed, one iteration, in {QUICK_FOLDER}: does it run?"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--no-progress", action="store_true")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"needs a whole number >= 1, got {text!r}")
    return int(text)


def _folder(options: argparse.Namespace) -> Path:
    if options.folder is not None:
        return Path(options.folder)
    return QUICK_FOLDER if getattr(options, "quick", False) else FOLDER


def _reproduce(options: argparse.Namespace) -> None:
    """Run what is missing, draw the figure, judge its claims: an experiment of the paper."""
    _run(options)
    _plot(options)
    folder = _folder(options)
    known = results(folder)
    rows = table(findings(known))
    _print_rows([row for row in rows if options.what in _names(row)])
    if options.document is not None:
        write_document(folder, options.document)
    verdicts = Counter(row["verdict"] for row in rows)
    print(json.dumps({"runs": len(known), "verdicts": verdicts, "quick": options.quick}))


def _names(row: dict[str, Any]) -> set[str]:
    return {"all", *(part[name] for part in row["parts"] for name in ("figure", "task"))}


def _run(options: argparse.Namespace) -> None:
    if options.what in ("1abc", "all"):
        seeds = options.seeds or (1 if options.quick else _EXPLORATION_SEEDS)
        count = _QUICK_DRAWS if options.quick else _DRAWS
        exploration.measure(_folder(options), range(seeds), count)
        if options.what == "1abc":
            return
    by_task: dict[str, list[Run]] = {}
    for run in dict.fromkeys(_chosen_runs(options)):
        by_task.setdefault(run.task, []).append(run)
    left_out = []
    for runs in by_task.values():
        try:
            run_all(
                runs,
                _folder(options),
                _unjudged_task if options.quick else task,
                workers=options.workers,
                progress=not options.no_progress,
                extend=True,
            )
        except MissingPackageError as error:
            left_out.append(str(error))
    if left_out:
        raise MissingPackageError("; ".join(left_out))


def _chosen_runs(options: argparse.Namespace) -> list[Run]:
    """Return the runs that are meant: the paper's curves, the authors' code, then ours."""
    figures, runs = _figures(options.what), []
    if options.methods is not None:
        chosen = [(one, options.methods) for one in figures]
    else:
        end = _QUICK_METHODS if options.quick else None
        chosen = [(one, one.methods[:end]) for one in figures]
        if not options.quick:
            chosen += [(one, one.released) for one in figures]
        if not (options.quick or options.paper_only):
            chosen += [(one, one.ours) for one in figures]
    for one, methods in chosen:
        usual = one.paper_iterations if options.paper else one.iterations
        iterations = options.iterations or (_QUICK_ITERATIONS if options.quick else usual)
        seeds = options.seeds or (1 if options.quick else one.seeds)
        runs += one.runs(iterations, range(seeds), [_named(m, options.batch) for m in methods])
    return runs


def _named(method: str, batch: int | None) -> str:
    """Return a method's name with the batch for those that have none; a batch of 1 has no name."""
    parse_method(method)
    return method if "@" in method or batch in (None, 1) else f"{method}@{batch}"


def _figures(what: str) -> list[Figure]:
    """Return the figures that are meant; a task of no figure is one of its own."""
    if what == "all":
        return list(FIGURES.values())
    if what not in TASKS:
        return [figure(what)]
    found = [f for f in FIGURES.values() if f.task == what]
    return found or [_own_figure(what, ("auto", "random"))]


def _own_figure(name: str, methods: tuple[str, ...]) -> Figure:
    """Return a figure that the paper does not have."""
    return Figure(name, "", name, name, methods, 50, 50, 10, (), "simple regret")


def _unjudged_task(name: str, seed: int) -> Problem:
    """Make a task without its judge, which may take longer than the rest of a quick run."""
    return replace(task(name, seed), judge=None)


def _plot(options: argparse.Namespace) -> None:
    folder, quick = _folder(options), getattr(options, "quick", False)
    known = results(folder)
    for name in ["1abc", *FIGURES] if options.what == "all" else [options.what]:
        path = folder / "figures" / f"{name}.{options.format}"
        if name == "1abc":
            draw_exploration(path, count=_QUICK_DRAWS if quick else _DRAWS)
        else:
            draw(_figure_of(name, known), known, path)
        print(f"wrote {path}")


def _figure_of(name: str, known: Sequence[Record]) -> Figure:
    """Return a figure, or for a task one of all methods that were run on it."""
    if name not in TASKS:
        return figure(name)
    methods = tuple(dict.fromkeys(r["method"] for r in known if r["task"] == name))
    return _own_figure(name, methods)


def _claims(options: argparse.Namespace) -> None:
    claims = OURS if options.ours else PAPER
    rows = table(findings(results(_folder(options)), claims))
    if options.json:
        print(json.dumps(rows, allow_nan=False))
    else:
        _print_rows(rows)


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        print(f"{row['verdict']:>21}  {row['claim']} ({row['place']})")
        for part in row["parts"]:
            against = f" - {part['second']}" if part["second"] else ""
            numbers = ""
            if "seeds" in part:
                low, high = part["interval"]
                numbers = f": {part['difference']:+} [{low}, {high}], at the end {part['end']:+}, "
                numbers += f"{part['upto']} {part['by']}s, {part['seeds']} seeds"
            print(f"{'':23}{part['task']}: {part['first']}{against}{numbers}")


def _list(_: argparse.Namespace) -> None:
    print("1abc           exploration  Acquisition functions where nothing was observed")
    for one in FIGURES.values():
        print(f"{one.name:<14} {one.task:<12} {one.title} ({len(one.every)} methods)")
    print("tasks:", ", ".join(TASKS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m benchmarks`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add_arguments(parser)
    return act(parser.parse_args(arguments))


def act(options: argparse.Namespace) -> int:
    """Do what the options ask for; a user's mistake is one sentence and exit code 2."""
    try:
        options.act(options)
    except (ValueError, ImportError, OSError, RuntimeError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("benchmarks: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0

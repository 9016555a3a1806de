"""The `thomax bench` command, and the short files of `experiments/`."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thomax.bench import exploration
from thomax.bench.claims import findings, table
from thomax.bench.document import write_document
from thomax.bench.figures import FIGURES, Figure, figure
from thomax.bench.methods import parse_method
from thomax.bench.plots import draw, draw_exploration
from thomax.bench.problem import Problem
from thomax.bench.runner import Run, records, run_all
from thomax.bench.tasks import TASKS, task

FOLDER = Path("build/bench")
_QUICK_ITERATIONS, _QUICK_DRAWS = 1, 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `thomax bench`."""
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("list", help="list figures, tasks and what they need")
    show.set_defaults(act=_list)
    run = commands.add_parser(
        "run",
        help="run a figure, a task, or everything",
        epilog="Example: thomax bench run 3c --seeds 10 --iterations 50 --workers 2",
    )
    run.add_argument("what", help="a figure (1abc, 1d, 2a, ...), a task, or all")
    _add_run_options(run)
    run.add_argument(
        "--methods", nargs="+", metavar="METHOD", help="such as sto-paper:8x64@4 or gp-ts"
    )
    run.add_argument("--batch", type=int, help="of all methods whose name has none")
    run.set_defaults(act=_run)
    plot = commands.add_parser("plot", help="draw a figure from results")
    plot.add_argument("what", help="a figure, or all")
    _add_folder(plot)
    plot.add_argument("--format", default="svg", choices=["svg", "png", "pdf"])
    plot.set_defaults(act=_plot)
    claims = commands.add_parser("claims", help="judge the paper's claims by the results")
    _add_folder(claims)
    claims.add_argument("--json", action="store_true", help="print JSON instead of a table")
    claims.set_defaults(act=_claims)
    document = commands.add_parser("document", help="write the page of figures and verdicts")
    _add_folder(document)
    document.add_argument("--output", type=Path, default=Path("docs/reproduction.md"))
    document.set_defaults(act=lambda o: write_document(o.folder, o.output))


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help=f"where results are (default {FOLDER})"
    )


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument("--seeds", type=int, help="how many, from 0 on")
    parser.add_argument("--iterations", type=int, help="after the starting points")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--quick", action="store_true", help="one seed, one iteration: does it run?"
    )
    parser.add_argument("--no-progress", action="store_true")


def reproduce(name: str, description: str | None) -> None:
    """Run a figure, draw it, and print what becomes of its claims: all an experiment file does."""
    parser = argparse.ArgumentParser(description=description)
    _add_run_options(parser)
    options = parser.parse_args()
    options.methods = options.batch = None
    options.what, options.format = name, "svg"
    _run(options)
    _plot(options)
    own = [row for row in table(findings(records(options.folder))) if row["figure"] == name]
    _print_rows([row for row in own if row["verdict"] != "not run"])


def _figures(what: str) -> list[Figure]:
    if what in TASKS:
        return [f for f in FIGURES.values() if f.task == what]
    return list(FIGURES.values()) if what == "all" else [figure(what)]


def _run(options: argparse.Namespace) -> None:
    if options.what in ("1abc", "all"):
        seeds = 1 if options.quick else options.seeds or 10
        count = _QUICK_DRAWS if options.quick else 100
        exploration.measure(options.folder, range(seeds), count)
        if options.what == "1abc":
            return
    runs = list(dict.fromkeys(_chosen_runs(options)))
    run_all(runs, options.folder, task, workers=options.workers, progress=not options.no_progress)


def _chosen_runs(options: argparse.Namespace) -> list[Run]:
    chosen = _figures(options.what)
    if options.methods is not None:
        for method in options.methods:
            parse_method(method)
    if not chosen:  # a task of no figure
        chosen = [
            Figure(options.what, options.what, options.what, ("auto", "random"), 50, (50, 10))
        ]
    runs = []
    for one in chosen:
        iterations = options.iterations or (
            _QUICK_ITERATIONS if options.quick else one.measured[0]
        )
        seeds = options.seeds or (1 if options.quick else one.measured[1])
        for run in one.runs(iterations, range(seeds), options.methods):
            batched = options.batch is not None and "@" not in run.method
            method = f"{run.method}@{options.batch}" if batched else run.method
            runs.append(Run(run.task, method, run.seed, run.iterations))
    return runs


def _unjudged_task(name: str, seed: int) -> Problem:
    """Make a task without its judge, which may take longer than the rest of a quick run."""
    return replace(task(name, seed), judge=None)


def _plot(options: argparse.Namespace) -> None:
    names = ["1abc", *FIGURES] if options.what == "all" else [options.what]
    known = records(options.folder)
    for name in names:
        path = options.folder / "figures" / f"{name}.{options.format}"
        if name == "1abc":
            draw_exploration(path, count=_QUICK_DRAWS if getattr(options, "quick", 0) else 100)
        else:
            draw(figure(name), known, path)
        print(f"wrote {path}")


def _claims(options: argparse.Namespace) -> None:
    rows = table(findings(records(options.folder)))
    if options.json:
        print(json.dumps(rows))
    else:
        _print_rows(rows)


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        where = f"{row['verdict']:>16}  {row['figure']:<13} {row['task']:<11}"
        numbers = ""
        if "seeds" in row:
            numbers = f": {row['difference']:+} {row['interval']}, {row['seeds']} seeds"
        print(f"{where} {row['claim']}{numbers}")


def _list(_: argparse.Namespace) -> None:
    print("1abc           exploration  Acquisition functions where nothing was observed")
    for one in FIGURES.values():
        print(f"{one.name:<14} {one.task:<12} {one.title} ({len(one.methods)} methods)")
    print("tasks:", ", ".join(TASKS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `thomax bench`."""
    parser = argparse.ArgumentParser(prog="thomax bench", description=__doc__)
    add_arguments(parser)
    return act(parser.parse_args(arguments))


def act(options: argparse.Namespace) -> int:
    """Do what the options ask for; a user's mistake is one sentence and exit code 2."""
    try:
        options.act(options)
    except (ValueError, ImportError) as error:
        print(f"thomax: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("thomax: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0

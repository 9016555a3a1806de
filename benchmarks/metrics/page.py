"""Write the page about several objectives and limits, from results and nothing else."""

import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.metrics.methods import METHODS, OURS, VARIANTS
from benchmarks.metrics.plots import draw_regret
from benchmarks.metrics.registry import FRONTS, LIMITED, MODES, metric_task
from benchmarks.metrics.runner import EVALUATIONS, START_POINTS, Record
from benchmarks.metrics.summary import Comparison, comparisons
from benchmarks.metrics.tables import lines, name_of, overview

_PLANNED_SEEDS = 10
_HEAD = f"""# Several objectives and limits, beside other optimisers

`make bench-metrics` writes this page from `benchmarks/results/metrics`, and runs what is missing.

**How to read it.** All methods are told the same {START_POINTS} random points, which count as
evaluations, and then propose the rest of {EVALUATIONS}, one at a time or four at once. Rivals keep
their own defaults. With several objectives, methods are ranked by the *hypervolume* of what they
found: the volume between the front and a fixed reference point, of feasible points only. With
limits, they are ranked by the *best feasible value*; a run without a feasible point is behind all
that have one. Ranks are taken for each task and seed, ties share theirs, and each task counts the
same; a method that was not run on all tasks has none. The *wins* of thomax are the share of runs
on the same task and seed in which it is ahead, over all runs that both methods have; p is of
Wilcoxon's signed-rank test over the tasks' win rates, corrected for the number of rivals after
Holm. Below the tables stand the tasks on which thomax wins less than half of the runs, and against
whom; bold is a loss in three of four runs, of at least five. *Infeasible* is the share of
proposals that broke a limit. NSGA-II first evaluates a population of 50 and has but one more
within {EVALUATIONS} evaluations: it is made for thousands. Times are of a shared machine: compare
orders of magnitude at most.
"""


def write_page(records: Sequence[Record], folder: Path, output: Path) -> None:
    """Write the page and its figures.

    Args:
        records: All runs.
        folder: Of results, to which figures are added.
        output: The file of the page.
    """
    found = comparisons(records, METHODS)
    for comparison in found:
        draw_regret(comparison, _figure(folder, comparison))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page(records, folder, output), encoding="utf-8")


def page(records: Sequence[Record], folder: Path, output: Path) -> str:
    """Return the text of the page; its links are relative to where it is written."""
    parts = [_HEAD, _progress(records)]
    for comparison in comparisons(records, METHODS):
        picture = Path(os.path.relpath(_figure(folder, comparison), output.parent)).as_posix()
        parts += [
            f"## {comparison.title}\n",
            f"{_legend(comparison)}\n",
            "\n".join(lines(comparison)) + "\n",
            f"![{comparison.title}: what is missing]({picture})\n",
        ]
    parts += [_variants(records), _tasks(), _versions(records)]
    return "\n".join(parts)


def _figure(folder: Path, comparison: Comparison) -> Path:
    return folder / "figures" / f"{comparison.mode}-batch{comparison.batch}.svg"


def _legend(comparison: Comparison) -> str:
    found = f"{len(comparison.tasks)} of {len(MODES[comparison.mode])} tasks."
    if comparison.mode == "objectives":
        return (
            f"{found} Of tasks, the median share of the largest hypervolume that is known or that "
            "any run had."
        )
    return f"{found} Of tasks, the median of the best feasible values."


def _progress(records: Sequence[Record]) -> str:
    """Write how many seeds there are of each method, and that there are few while there are."""
    parts = []
    for mode, tasks in MODES.items():
        for batch in (4, 1):
            counts = {
                m: len([r for r in records if (r["method"], r["batch"]) == (m, batch)
                        and r["task"] in tasks])
                for m in METHODS
            }  # fmt: skip
            words = [f"{name_of(m)} {n / len(tasks):.1f}" for m, n in counts.items() if n]
            pace = "one at a time" if batch == 1 else f"batches of {batch}"
            parts.append(f"- {mode}, {pace}: {', '.join(words) or 'nothing yet'}")
    head = f"Seeds of a task that were run, of {_PLANNED_SEEDS} planned, on average:\n\n"
    return head + "\n".join(parts) + "\n"


def _variants(records: Sequence[Record]) -> str:
    names = (OURS, *(v for v in VARIANTS if v != OURS and any(r["method"] == v for r in records)))
    if len(names) == 1:
        return ""
    parts = [
        "## Variants of thomax\n",
        "`chebyshev` and `hypervolume` say how draws of several objectives become one; `limits` "
        "say how wide draws of metrics that are only limited are.\n",
    ]
    for comparison in comparisons(records, names):
        parts += [f"### {comparison.title}\n", "\n".join(overview(comparison)) + "\n"]
    return "\n".join(parts)


def _tasks() -> str:
    rows = ["| task | parameters | objectives | limits | from |", "|---|---|---|---|---|"]
    for name in (*FRONTS, *LIMITED):
        task = metric_task(name)
        goals = ", ".join(f"{n} ({d[:3]}.)" for n, d in task.objectives.items())
        limits = ", ".join(f"{n} {limit}" for n, limit in task.limits.items())
        cells = (name, str(len(task.space.parameters)), goals, limits, task.source)
        rows.append(f"| {' | '.join(cells)} |")
    return "## Tasks\n\n" + "\n".join(rows) + "\n"


def _versions(records: Sequence[Record]) -> str:
    names = sorted({r["package"] for r in records if "package" in r})
    return f"Versions: {', '.join(names)}.\n" if names else ""

"""How often the 90 % intervals of `Optimizer.predict` hold what is measured next.

    python -m benchmarks.coverage [--quick] [--workers 2]

Searches of the default policy run in batches of 4. After n = 10, 20, 40 and 80 values the next
batch is asked for and predicted, and so are points drawn at random; then all are measured, and
counted if they lie between `measurement_low` and `measurement_high`. Points that a search asks
for are not any points: it goes where it hopes for more than was seen.
"""

import argparse
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process on each core

import numpy as np

import thomax as tx
from benchmarks.runner import in_processes
from benchmarks.tasks.registry import task

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "coverage.json"
PAGE = ROOT.parent / "docs" / "research" / "coverage.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
# A function of two variables, one of six without and with noise, ten noisy ones, numbers and
# choices mixed, choices alone, the tuning of a real model, and a pool of 1,797 candidates.
TASKS = (
    "branin", "hartmann6", "noisy_hartmann6", "noisy_levy10", "mixed_a", "categorical_a", "svm",
    "digits",
)  # fmt: skip
AFTER = (10, 20, 40, 80)
QUICK_AFTER = (10, 20)
SEEDS = 10
BATCH, ANYWHERE = 4, 16  # points of a search, and random ones, that are predicted each time


def run(job: tuple[str, int, tuple[int, ...]]) -> list[dict[str, Any]]:
    """Search one task with one seed, and count after each of these numbers of values."""
    name, seed, stages = job
    problem, rng = task(name, seed), np.random.default_rng([seed, 7])
    search = tx.Optimizer(problem.space, seed=seed)
    anywhere = tx.Optimizer(problem.space, tx.Random(), seed=seed + 1000, initial=0)
    rows = []
    for n in stages:
        while (left := n - len(search.trials)) > 0:
            for trial in search.ask(min(left, BATCH)):
                search.tell(trial, problem.objective(trial.params, rng))
        trials, others = search.ask(BATCH), anywhere.ask(ANYWHERE)
        found = search.predict([*trials, *others])
        assert isinstance(found, tx.Prediction)  # not one for each of several metrics
        values = [problem.objective(t.params, rng) for t in [*trials, *others]]
        inside = (found.measurement_low <= values) & (values <= found.measurement_high)
        for trial, value in zip(trials, values, strict=False):
            search.tell(trial, value)
        next_inside, any_inside = inside[:BATCH], inside[BATCH:]
        rows.append({
            "task": name, "seed": seed, "n": n,
            "next": [int(next_inside.sum()), len(next_inside)],
            "anywhere": [int(any_inside.sum()), len(any_inside)],
        })  # fmt: skip
    return rows


def share(rows: Iterable[dict[str, Any]], which: str) -> float:
    """Return the share of predicted points whose value lay within its interval."""
    counts = np.array([row[which] for row in rows])
    return float(counts[:, 0].sum() / counts[:, 1].sum())


def table(rows: list[dict[str, Any]], which: str) -> str:
    """Return the shares of each task as a table of Markdown, a column for each n."""
    stages = sorted({row["n"] for row in rows})
    lines = [f"| task | {' | '.join(f'n = {n}' for n in stages)} | all |"]
    lines.append("|---|" + "---|" * (len(stages) + 1))
    for name in [*dict.fromkeys(row["task"] for row in rows), "all"]:
        own = [row for row in rows if name in (row["task"], "all")]
        shares = [share([r for r in own if r["n"] == n], which) for n in stages]
        cells = [f"{100 * each:.0f} %" for each in [*shares, share(own, which)]]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page_with(rows: list[dict[str, Any]]) -> str:
    """Return the page of the documentation with these tables."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = f"{table(rows, 'next')}\n\nPoints drawn at random:\n\n{table(rows, 'anywhere')}"
    return f"{before}{BEGIN}\n\nPoints that the search asked for next:\n\n{tables}\n\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one seed, up to 20 values")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    stages, seeds = (QUICK_AFTER, 1) if options.quick else (AFTER, SEEDS)
    jobs = [(name, seed, stages) for seed in range(seeds) for name in TASKS]
    rows = [row for found in in_processes(run, jobs, options.workers) for row in found]
    rows.sort(key=lambda row: (TASKS.index(row["task"]), row["seed"], row["n"]))
    if not options.quick:
        lines = ",\n".join(map(json.dumps, rows))
        RESULTS.write_text(f'{{"seeds": {seeds}, "rows": [\n{lines}\n]}}\n', "utf-8")
        PAGE.write_text(page_with(rows), "utf-8")
    print(table(rows, "next"))
    print(json.dumps({
        "next": share(rows, "next"), "anywhere": share(rows, "anywhere"), "seeds": seeds,
        "quick": options.quick,
    }))  # fmt: skip


if __name__ == "__main__":
    main()

"""How many points should come before the model? Search from nothing with designs of many lengths.

A search makes 48 evaluations of a development task in batches of four, of which the first are
quasi-random: 4, 8, or as many as the dimension d asks for. Results are added to
`benchmarks/results/initial.jsonl`; what is there already is not run again.

A score is the best value so far, where 0 is the mean of what all searches of the task have after
four evaluations and 1 the best that any of them found.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.compare.ranking import ranks
from benchmarks.runner import NOISE, append_record, in_processes, records
from benchmarks.statistics import Scale
from benchmarks.tasks.registry import task
from thomax import Optimizer
from thomax.keys import make_key, stream

RESULTS = Path(__file__).parent / "results"
TASKS = (
    "branin", "hartmann6", "rosenbrock8", "ackley10", "levy10", "michalewicz10", "mixed_a",
    "mixed_b", "categorical_a", "svm", "trees", "digits", "pushing",
)  # fmt: skip
DESIGNS = {
    "4": lambda d: 4,
    "8": lambda d: 8,
    "d + 4": lambda d: min(20, d + 4),
    "2d": lambda d: 2 * d,
}
POOL = 10  # parameters that a pool counts for
BATCH, BATCHES, SEEDS = 4, 12, 10
AFTER = (12, 24, 36, 48)


def searched(job):
    """Return the best values after some numbers of evaluations, from the optimum if known."""
    name, design, seed = job
    problem = task(name, seed)
    d = len(getattr(problem.space, "parameters", range(POOL)))
    optimizer = Optimizer(problem.space, seed=seed, initial=DESIGNS[design](d))
    for _ in range(BATCHES):
        for trial in optimizer.ask(BATCH):
            noise = stream(make_key(seed, trial.number), NOISE)
            optimizer.tell(trial, problem.objective(trial.params, noise))
    best = np.maximum.accumulate([t.value for t in optimizer.trials]) - (problem.optimum or 0.0)
    values = {str(n): float(f"{best[n - 1]:.7g}") for n in (BATCH, *AFTER)}
    return {"task": name, "design": design, "seed": seed, "best": values}


def curves(found, tasks, seeds):
    """Return the best values by task: designs, seeds and evaluations, (k, s, 1 + len(AFTER))."""
    by_job = {(r["task"], r["design"], r["seed"]): [*r["best"].values()] for r in found}
    return {
        name: np.array([[by_job[name, design, s] for s in seeds] for design in DESIGNS])
        for name in tasks
    }


def scores(values):
    """Return the mean scores of designs on a task, (k, len(AFTER))."""
    return Scale(float(values[:, :, 0].mean()), float(values[:, :, -1].max()))(
        values[:, :, 1:]
    ).mean(axis=1)


def mean_ranks(values):
    """Return the mean ranks of designs on a task, the best 1, (k, len(AFTER))."""
    return np.stack([ranks(values[:, :, i + 1]).mean(axis=1) for i in range(len(AFTER))], axis=1)


def summarised(by_task):
    """Return mean ranks and scores over tasks by design and number of evaluations."""
    found = {}
    for name, measure in (("mean_rank", mean_ranks), ("score", scores)):
        means = np.mean([measure(values) for values in by_task.values()], axis=0)
        found[name] = {
            design: dict(zip(map(str, AFTER), row.round(3).tolist(), strict=True))
            for design, row in zip(DESIGNS, means, strict=True)
        }
    return found


def table(summary):
    """Return the summary in Markdown."""
    head = ["first points", *(f"after {n}: rank, score" for n in AFTER)]
    rows = [
        [design, *(f"{row[str(n)]:.2f}, {summary['score'][design][str(n)]:.3f}" for n in AFTER)]
        for design, row in summary["mean_rank"].items()
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two tasks, one seed, nothing kept")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    tasks, seeds = (("branin", "hartmann6"), [0]) if options.quick else (TASKS, [*range(SEEDS)])
    found = [] if options.quick else records(RESULTS, "initial")
    done = {(r["task"], r["design"], r["seed"]) for r in found}
    jobs = [(name, design, seed) for seed in seeds for name in tasks for design in DESIGNS]
    jobs = [job for job in jobs if job not in done]
    for record in in_processes(searched, jobs, options.workers):
        if not options.quick:
            append_record(RESULTS / "initial.jsonl", record)
        found.append(record)
        print(f"{record['task']}, {record['design']} first, seed {record['seed']}", flush=True)
    summary = summarised(curves(found, tasks, seeds))
    print(f"\n{table(summary)}")
    print(json.dumps(summary | {"tasks": len(tasks), "seeds": len(seeds), "quick": options.quick}))


if __name__ == "__main__":
    main()

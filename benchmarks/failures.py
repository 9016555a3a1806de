"""What failed evaluations cost: told as failures, dropped, and in Optuna's GPSampler.

Random failures: each trial fails with a given probability, wherever it is. All methods lose the
same trials of the same seed; the regret after them shows what was learnt wrongly. A failing
region: the optimum lies on its border; counted is how many of the last 30 of 60 failed.

Runs that are recorded are not made again; the table goes into docs/research/failures.md.
"""

import argparse
import json
import math
import os
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process on each core, also for torch

import numpy as np

import thomax as tx
from benchmarks.tasks.functions import BRANIN, HARTMANN6, Function

RESULTS = Path(__file__).parent / "results" / "failures.json"
PAGE = Path(__file__).parent.parent / "docs" / "research" / "failures.md"
BEGIN, END = "<!-- benchmarks/failures.py -->", "<!-- end -->"
RATES = (0.05, 0.15, 0.5)
METHODS = ("told", "dropped", "GPSampler")
SEEDS = 10
LAST = 30  # evaluations of a failing region that are looked at

Objective = Callable[[dict[str, float]], float]


@dataclass(frozen=True)
class Task:
    """A function to maximise, moved anew for every seed, and how many trials it gets."""

    name: str
    trials: int
    made: Callable[[int], tuple[tx.Space, Objective, float]]


def moved(function: Function) -> Callable[[int], tuple[tx.Space, Objective, float]]:
    def make(seed: int) -> tuple[tx.Space, Objective, float]:
        problem = function.shifted(seed)
        return problem.space, problem.judge, problem.optimum

    return make


def quadratic(d: int) -> Function:
    return Function(f"quadratic-{d}", lambda x: -float(x @ x), [0.0] * d, [1.0] * d, [0.0] * d)


def wall(seed: int) -> tuple[tx.Space, Objective, float]:
    """Fail beyond a straight border; the optimum lies on it."""
    border, height = np.random.default_rng(seed).uniform(0.4, 0.7, 2)
    space = tx.Space({"x1": tx.Float(0, 1), "x2": tx.Float(0, 1)})

    def objective(p: dict[str, float]) -> float:
        if p["x1"] > border:
            return math.nan
        return -float(4 * (p["x1"] - border) ** 2 + (p["x2"] - height) ** 2)

    return space, objective, 0.0


def overload(seed: int) -> tuple[tx.Space, Objective, float]:
    """Fail where a product is too large; the objective grows with both factors."""
    most = float(np.random.default_rng(seed).uniform(0.3, 0.5))
    space = tx.Space({"x1": tx.Float(0, 1), "x2": tx.Float(0, 1), "x3": tx.Float(-1, 1)})

    def objective(p: dict[str, float]) -> float:
        if p["x1"] * p["x2"] > most:
            return math.nan
        return p["x1"] + 0.8 * p["x2"] - p["x3"] ** 2

    return space, objective, 1 + 0.8 * most


TASKS = {
    task.name: task
    for task in (
        Task("quadratic, 2-d", 22, moved(quadratic(2))),
        Task("quadratic, 4-d", 40, moved(quadratic(4))),
        Task("Branin", 40, moved(BRANIN)),
        Task("Hartmann-6", 60, moved(HARTMANN6)),
    )
}
REGIONS = {
    task.name: task for task in (Task("wall, 2-d", 60, wall), Task("overload, 3-d", 60, overload))
}


def run(name: str, method: str, rate: float, seed: int) -> dict[str, float]:
    """Return the regret, and how many of the last evaluations failed."""
    task = {**TASKS, **REGIONS}[name]
    space, objective, optimum = task.made(seed)
    luck = np.random.default_rng([seed, 1]).uniform(size=task.trials) < rate
    evaluate = gp_sampler if method == "GPSampler" else thomax(dropping=method == "dropped")
    values = evaluate(space, objective, luck, seed)
    finite = [value for value in values if not math.isnan(value)]
    return {
        "regret": optimum - max(finite) if finite else math.inf,
        "failed": sum(map(math.isnan, values[-LAST:])),
    }


def thomax(dropping: bool) -> Callable[..., list[float]]:
    def evaluate(
        space: tx.Space, objective: Objective, luck: np.ndarray, seed: int
    ) -> list[float]:
        search, values = tx.Optimizer(space, seed=seed), []
        for is_lost in luck:
            trial = search.ask()
            values.append(math.nan if is_lost else objective(trial.params))
            if not math.isnan(values[-1]):
                search.tell(trial, values[-1])
            elif dropping:
                search.drop(trial)
            else:
                search.tell(trial, error="it failed")
        return values

    return evaluate


def gp_sampler(space: tx.Space, objective: Objective, luck: np.ndarray, seed: int) -> list[float]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=seed))
    values = []
    for is_lost in luck:
        trial = study.ask()
        params = {
            name: trial.suggest_float(name, p.low, p.high)
            for name, p in space.parameters.items()
            if isinstance(p, tx.Float)
        }
        values.append(math.nan if is_lost else objective(params))
        if math.isnan(values[-1]):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, values[-1])
    return values


def planned(seeds: int) -> list[tuple[str, str, float, int]]:
    random = product(TASKS, METHODS, RATES, range(seeds))
    return [*random, *product(REGIONS, METHODS, [0.0], range(seeds))]


def label(name: str, method: str, rate: float, seed: int) -> str:
    return f"{name} | {method} | {rate} | {seed}"


def recorded() -> dict[str, dict[str, float]]:
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def medians(
    results: dict[str, dict[str, float]], name: str, method: str, rate: float
) -> tuple[float, float]:
    found = [v for k, v in results.items() if k.startswith(label(name, method, rate, 0)[:-1])]
    if not found:
        return math.nan, math.nan
    return (
        statistics.median(v["regret"] for v in found),
        statistics.mean(v["failed"] for v in found),
    )


def table(results: dict[str, dict[str, float]]) -> str:
    """Return the two tables of the page."""
    lines = [
        "| random failures, regret | share | told | dropped | GPSampler, forgotten |",
        "|---|---|---|---|---|",
    ]
    for name, rate in product(TASKS, RATES):
        cells = [f"{medians(results, name, method, rate)[0]:.1e}" for method in METHODS]
        lines.append(f"| {name}, {TASKS[name].trials} trials | {rate:.0%} | {' | '.join(cells)} |")
    lines += [
        "",
        f"| a failing region | failures in the last {LAST}: told | dropped | GPSampler "
        "| regret: told | dropped | GPSampler |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in REGIONS:
        found = [medians(results, name, method, 0.0) for method in METHODS]
        cells = [f"{failed:.1f}" for _, failed in found] + [f"{r:.1e}" for r, _ in found]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page_with(results: dict[str, dict[str, float]]) -> str:
    """Return docs/research/failures.md with these results in it."""
    text = PAGE.read_text("utf-8")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    return f"{head}{BEGIN}\n{table(results)}\n{END}{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds of one task, not recorded")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    results = {} if options.quick else recorded()
    plan = [run for run in planned(2 if options.quick else SEEDS) if label(*run) not in results]
    if options.quick:
        plan = [p for p in plan if p[0] == "quadratic, 2-d" and p[2] == 0.15]
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        futures = {label(*p): pool.submit(run, *p) for p in plan}
        for i, (name, future) in enumerate(futures.items(), start=1):
            results[name] = future.result()
            print(f"{i}/{len(plan)} {name}: {results[name]}", flush=True)
            if not options.quick:
                RESULTS.write_text(
                    json.dumps(dict(sorted(results.items())), indent=0) + "\n", "utf-8"
                )
    if not options.quick:
        PAGE.write_text(page_with(results), "utf-8")
    told, dropped = (medians(results, "quadratic, 2-d", m, 0.15)[0] for m in METHODS[:2])
    print(json.dumps({"told": told, "dropped": dropped, "ratio": told / dropped}))


if __name__ == "__main__":
    main()

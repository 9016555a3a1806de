"""Compare ThomaxSampler with Optuna's TPE, GP and CMA-ES samplers, all with their defaults.

Six functions, minimised. Every sampler starts from the same random points, which are enqueued, and
every seed shifts the optimum or shuffles the choices anew, so that nobody is helped by a function
that is easy at the centre. A duplicate is a trial whose parameters an earlier one had.
"""

import argparse
import json
import math
import os
import statistics
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two processes on two cores, also for torch

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from thomax.integrations.optuna import ThomaxSampler

RESULTS = Path(__file__).parent / "results"
INITIAL = 10

SAMPLERS = {
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "GP": lambda seed: optuna.samplers.GPSampler(seed=seed),
    "CMA-ES": lambda seed: optuna.samplers.CmaEsSampler(seed=seed),
    "thomax": lambda seed: ThomaxSampler(seed=seed, warn_independent_sampling=False),
}


# Problems: functions of a generator (the seed's) that return distributions and an objective.


def box(d, low, high):
    return {f"x{i}": FloatDistribution(low, high) for i in range(d)}


def vector(params):
    return np.array([params[f"x{i}"] for i in range(len(params))])


def shifted(function, d, low, high):
    """Move the optimum to a random place in the middle half of the box."""

    def problem(rng):
        shift = rng.uniform(-0.25, 0.25, d) * (high - low)
        return box(d, low, high), lambda params: function(vector(params) - shift)

    return problem


def branin(x):
    """Take coordinates in [-10, 10] for Branin's own box; its least value is 0.3979."""
    u, v = 0.75 * x[0] + 2.5, 0.75 * x[1] + 7.5
    b, c = 5.1 / (4 * math.pi**2), 5 / math.pi
    return (v - b * u**2 + c * u - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(u) + 10


def levy(x):
    w = 1 + x / 4  # the optimum at 0
    middle = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + middle.sum() + last)


def ackley(x):
    norm, waves = np.sqrt(np.mean(x**2)), np.mean(np.cos(2 * np.pi * x))
    return float(-20 * np.exp(-0.2 * norm) - np.exp(waves) + 20 + np.e)


HARTMANN_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
     [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)  # fmt: skip
HARTMANN_P = 1e-4 * np.array(
    [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
     [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
)  # fmt: skip


def hartmann(rng):
    def objective(params):
        exponents = (HARTMANN_A * (vector(params) - HARTMANN_P) ** 2).sum(axis=1)
        return float(-np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-exponents))

    return box(6, 0, 1), objective


def training(rng):
    """Pretend to tune a network: rates on a log scale, sizes, and an optimiser that matters."""
    distributions = {
        "rate": FloatDistribution(1e-5, 1, log=True),
        "decay": FloatDistribution(1e-6, 1e-1, log=True),
        "dropout": FloatDistribution(0, 0.9),
        "layers": IntDistribution(1, 8),
        "units": IntDistribution(8, 1024, log=True),
        "optimiser": CategoricalDistribution(["adam", "sgd", "lion", "rmsprop"]),
        "activation": CategoricalDistribution(["relu", "tanh", "gelu"]),
    }
    best_rate = dict(zip("aslr", rng.uniform(-4, -1, 4), strict=True))
    level = dict(zip("aslr", rng.permutation([0.0, 0.1, 0.3, 0.6]), strict=True))
    curve = dict(zip("rtg", rng.permutation([0.0, 0.15, 0.4]), strict=True))
    decay, dropout, layers, units = rng.uniform([-5, 0.1, 2, 4], [-2, 0.6, 7, 9])

    def objective(p):
        kind = p["optimiser"][0]
        return (
            level[kind]
            + curve[p["activation"][0]]
            + 0.3 * (math.log10(p["rate"]) - best_rate[kind]) ** 2
            + 0.05 * (math.log10(p["decay"]) - decay) ** 2
            + (p["dropout"] - dropout) ** 2
            + 0.05 * (p["layers"] - layers) ** 2
            + 0.05 * (math.log2(p["units"]) - units) ** 2
        )

    return distributions, objective


def codes(rng):
    """Choose six letters of four: each has its effect, neighbours interact; 4096 points."""
    distributions = {f"c{i}": CategoricalDistribution(list("abcd")) for i in range(6)}
    single, pair = rng.normal(size=(6, 4)), rng.normal(size=(5, 4, 4))

    def value(levels):
        return sum(single[i, k] for i, k in enumerate(levels)) + sum(
            pair[i, levels[i], levels[i + 1]] for i in range(5)
        )

    least = min(value(levels) for levels in np.ndindex(*[4] * 6))
    return distributions, lambda p: float(
        value(["abcd".index(p[f"c{i}"]) for i in range(6)]) - least
    )


PROBLEMS = {
    "Branin 2": shifted(branin, 2, -10, 10),
    "Hartmann 6": hartmann,
    "Levy 10": shifted(levy, 10, -10, 10),
    "Ackley 10": shifted(ackley, 10, -5, 5),
    "mixed 7": training,
    "choices 4096": codes,
}


def run(job):
    """Return the best value after each trial, the seconds of each suggestion, and duplicates."""
    sampler, problem, seed, trials = job
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(seed)
    distributions, objective = PROBLEMS[problem](rng)
    study = optuna.create_study(sampler=SAMPLERS[sampler](seed))
    starts = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    for _ in range(INITIAL):
        study.enqueue_trial(starts.ask(distributions).params)
    seconds, values, seen, duplicates = [], [], set(), 0
    for number in range(trials):
        start = time.perf_counter()
        trial = study.ask(distributions)
        if number >= INITIAL:
            seconds.append(time.perf_counter() - start)
        point = tuple(sorted(trial.params.items()))
        duplicates += point in seen
        seen.add(point)
        values.append(objective(trial.params))
        study.tell(trial, values[-1])
    best = np.minimum.accumulate(values).tolist()
    return {"best": best, "seconds": statistics.median(seconds), "duplicates": duplicates}


def summarised(runs):
    best = np.array([r["best"][-1] for r in runs])
    return {
        "best": float(best.mean()),
        "se": float(best.std(ddof=1) / math.sqrt(len(best))),
        "seconds": statistics.median(r["seconds"] for r in runs),
        "duplicates": sum(r["duplicates"] for r in runs),
        "curve": np.mean([r["best"] for r in runs], axis=0).round(5).tolist(),
        "finals": best.tolist(),
    }


def table(results):
    lines = ["| function | " + " | ".join(SAMPLERS) + " |", "|---" * (len(SAMPLERS) + 1) + "|"]
    for problem, found in results.items():
        least = min(r["best"] for r in found.values())
        cells = []
        for r in found.values():
            text = f"{r['best']:.3f} ± {r['se']:.3f}"
            cells.append(f"**{text}**" if r["best"] == least else text)
        lines.append(f"| {problem} | " + " | ".join(cells) + " |")
    for name, unit in (("seconds", 3), ("duplicates", 0)):
        middle = statistics.median if name == "seconds" else sum
        cells = [f"{middle(f[s][name] for f in results.values()):.{unit}f}" for s in SAMPLERS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ranks(results):
    """Rank the samplers for each function and seed by their final value; ties share a rank."""
    finals = np.array([[f[s]["finals"] for s in SAMPLERS] for f in results.values()])
    below = (finals[:, None] < finals[:, :, None]).sum(axis=2)
    equal = (finals[:, None] == finals[:, :, None]).sum(axis=2)
    return below + (equal + 1) / 2  # (functions, samplers, seeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three functions, two seeds")
    quick = parser.parse_args().quick
    trials, seeds = (25, 2) if quick else (60, 10)
    problems = ["Branin 2", "mixed 7", "choices 4096"] if quick else [*PROBLEMS]
    results = {}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        for problem in problems:
            jobs = [(s, problem, seed, trials) for s in SAMPLERS for seed in range(seeds)]
            found = list(executor.map(run, jobs))
            results[problem] = {
                s: summarised(found[i * seeds : (i + 1) * seeds]) for i, s in enumerate(SAMPLERS)
            }
            print(f"{problem}: " + ", ".join(f"{s} {r['best']:.3f} ({r['seconds']:.3f} s)"
                  for s, r in results[problem].items()), flush=True)  # fmt: skip
    rank = ranks(results)
    winners = [min(f, key=lambda s: f[s]["best"]) for f in results.values()]
    summary = {
        "mean_rank": dict(zip(SAMPLERS, rank.mean(axis=(0, 2)).round(2).tolist(), strict=True)),
        "wins": {s: winners.count(s) for s in SAMPLERS},
        "median_seconds": {
            s: round(statistics.median(f[s]["seconds"] for f in results.values()), 3)
            for s in SAMPLERS
        },
        "duplicates": {s: sum(f[s]["duplicates"] for f in results.values()) for s in SAMPLERS},
        "functions": len(results),
        "seeds": seeds,
        "trials": trials,
        "optuna": optuna.__version__,
        "quick": quick,
    }
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"summary": summary, "results": results}, indent=1)
        (RESULTS / "optuna.json").write_text(text + "\n")
    print()
    print(table(results))
    print(json.dumps(summary))


if __name__ == "__main__":
    main()

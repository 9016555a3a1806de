"""Search cheap functions for 20,000 evaluations: windows of observations beside CMA-ES.

What a draw is conditioned on beyond `max_observations` points is a choice: fewer cost less, and
may find less. Ours asks for batches of 64; CMA-ES starts anew with twice its population where it
stops, its first mean at random and its first step a fifth of an edge. Both see the same
functions, of which the least value is 0: shifted and rotated Rosenbrock, and Rastrigin, in ten
dimensions. A run is written down at 1,000, 2,000, 5,000, 10,000 and 20,000 evaluations, so that
one which is broken off is of use.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import thomax as tx

RESULTS = Path(__file__).parents[1] / "results" / "long.json"
DIMENSIONS, BATCH = 10, 64
CHECKPOINTS = (1000, 2000, 5000, 10_000, 20_000)
WINDOWS = (200, 500, 1000)


def rosenbrock(z):
    u = 1 + z  # the least value is at z = 0
    return float((100 * (u[1:] - u[:-1] ** 2) ** 2 + (1 - u[:-1]) ** 2).sum())


def rastrigin(z):
    return float((z**2 + 10 * (1 - np.cos(2 * np.pi * z))).sum())


FUNCTIONS = {"rosenbrock": (rosenbrock, 2.0), "rastrigin": (rastrigin, 5.0)}


def shifted(name, seed):
    """Return a function of the cube [-1, 1]^d, least somewhere in the middle half."""
    function, radius = FUNCTIONS[name]
    rng = np.random.default_rng([seed, 77])
    shift = rng.uniform(-0.5, 0.5, DIMENSIONS)
    rotation = np.linalg.qr(rng.normal(size=(DIMENSIONS, DIMENSIONS)))[0]
    if name == "rastrigin":
        rotation = np.eye(DIMENSIONS)
    return lambda x: function(radius * rotation @ (np.asarray(x) - shift))


def by_thomax(function, seed, window):
    """Yield the values of our default policy with a window of observations."""
    space = {f"x{i}": tx.Float(-1, 1) for i in range(DIMENSIONS)}
    policy = tx.STOBNTSLinear(beta=0.5, max_observations=window)
    optimizer = tx.Optimizer(space, policy, direction="minimize", seed=seed)
    while True:
        for trial in optimizer.ask(BATCH):
            value = function([*trial.params.values()])
            optimizer.tell(trial, value)
            yield value


def by_cmaes(function, seed):
    """Yield the values of CMA-ES, begun anew with twice the population where it stops."""
    from cmaes import CMA

    rng = np.random.default_rng([seed, 78])
    bounds, size = np.array([[-1.0, 1.0]] * DIMENSIONS), None
    while True:
        search = CMA(
            rng.uniform(-1, 1, DIMENSIONS), 0.4, bounds=bounds, population_size=size,
            seed=int(rng.integers(2**31)),
        )  # fmt: skip
        while not search.should_stop():
            points = [search.ask() for _ in range(search.population_size)]
            values = [function(x) for x in points]
            yield from values
            search.tell([*zip(points, values, strict=True)])
        size = 2 * search.population_size


def measure(name, method, seed, checkpoints):
    """Yield what is found so far at every checkpoint, and the CPU seconds until then."""
    function = shifted(name, seed)
    begun, best, found = time.process_time(), np.inf, {}
    values = by_cmaes(function, seed) if method == "cmaes" else by_thomax(function, seed, method)
    for count, value in enumerate(values, start=1):
        best = min(best, value)
        if count in checkpoints:
            found[count] = {"best": best, "cpu_s": round(time.process_time() - begun, 1)}
            yield {"function": name, "method": method, "seed": seed, "found": found}
        if count == checkpoints[-1]:
            return


def stored():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else []


def store(row):
    """Put a row into the results in place of the one of the same run."""
    run = ("function", "method", "seed")
    others = [r for r in stored() if any(r[key] != row[key] for key in run)]
    rows = sorted([*others, row], key=lambda r: (r["function"], str(r["method"]), r["seed"]))
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="300 evaluations, stored nowhere")
    parser.add_argument("--functions", nargs="+", default=[*FUNCTIONS], choices=[*FUNCTIONS])
    parser.add_argument("--windows", nargs="*", type=int, default=WINDOWS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    arguments = parser.parse_args()
    checkpoints = (100, 300) if arguments.quick else CHECKPOINTS
    for seed in arguments.seeds:
        for method in ("cmaes", *arguments.windows):
            for name in arguments.functions:
                for row in measure(name, method, seed, checkpoints):
                    count, last = [*row["found"].items()][-1]
                    print(f"{name:>10} {method!s:>6} seed {seed}: {count:>6} evaluations "
                          f"{last['best']:.3g}, {last['cpu_s']} CPU-s", flush=True)  # fmt: skip
                    if not arguments.quick:
                        store(row)


if __name__ == "__main__":
    sys.exit(main())

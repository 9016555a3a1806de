"""Time new processes: to the first points, to the first batch of a model, to a suggestion.

Every row is a process of its own, started in turn with its rivals, and its CPU seconds and wall
seconds are medians. "cold" means that nothing has been compiled on this machine before.

    first points    import, an optimiser over twelve numbers, four points
    first model     the same, sixteen values told, and four points that a model proposes
    suggest         `thomax suggest -n 4` on a journal of 100 trials

`--quick` takes one repetition; the last line is a JSON summary.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[1]

OURS = """
import thomax as tx
optimizer = tx.Optimizer({f"x{i}": tx.Float(0, 1) for i in range(12)}, seed=0)
"""
TRIALS_OF_OURS = """
for trial in optimizer.ask(16):
    optimizer.tell(trial, -sum((v - 0.3) ** 2 for v in trial.params.values()))
"""
OPTUNA = """
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=optuna.samplers.{sampler}(seed=0))
space = {{f"x{{i}}": optuna.distributions.FloatDistribution(0, 1) for i in range(12)}}
for _ in range({told}):
    trial = study.ask(space)
    study.tell(trial, sum((v - 0.3) ** 2 for v in trial.params.values()))
for _ in range(4):
    study.ask(space)
"""
JOURNAL = """
import sys
import thomax as tx
space = {f"x{i}": tx.Float(0, 1) for i in range(12)}
with tx.Optimizer(space, tx.Sobol(), seed=0, journal=sys.argv[1]) as optimizer:
    for _ in range(100):
        trial = optimizer.ask()
        optimizer.tell(trial, -sum((v - 0.3) ** 2 for v in trial.params.values()))
"""


def seconds(*arguments: str, cache: str | None = None) -> tuple[float, float]:
    """Run Python with these arguments; return its CPU seconds and wall seconds."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    if cache is not None:
        environment["THOMAX_CACHE"] = cache
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def measure(repeats: int) -> dict[str, dict[str, float]]:
    """Return the median seconds of every row, the rows taken in turn."""
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        journal, warm = f"{folder}/run.jsonl", f"{folder}/cache"
        seconds("-c", JOURNAL, journal)
        model = OURS + TRIALS_OF_OURS + "optimizer.ask(4)"
        seconds("-c", model, cache=warm)
        seconds("-m", "thomax", "suggest", journal, "-n", "4", cache=warm)
        for i in range(repeats):
            rows = {
                "import numpy, scipy": ("-c", "import numpy, scipy"),
                "first points, thomax": ("-c", OURS + "optimizer.ask(4)"),
                "first points, TPE": ("-c", OPTUNA.format(sampler="TPESampler", told=0)),
                "first model, thomax, warm": ("-c", model),
                "first model, GPSampler": ("-c", OPTUNA.format(sampler="GPSampler", told=16)),
                "suggest after 100 trials": ("-m", "thomax", "suggest", journal, "-n", "4"),
            }
            for name, arguments in rows.items():
                found.setdefault(name, []).append(seconds(*arguments, cache=warm))
            cold = seconds("-c", model, cache=f"{folder}/cold{i}")
            found.setdefault("first model, thomax, cold", []).append(cold)
    return {
        name: {
            "cpu": statistics.median(c for c, _ in all_),
            "wall": statistics.median(w for _, w in all_),
        }
        for name, all_ in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one repetition, nothing is written")
    quick = parser.parse_args().quick
    found = measure(1 if quick else 5)
    for name, row in found.items():
        print(f"{name:<28} {row['cpu']:6.2f} CPU-s {row['wall']:6.2f} s")
    summary = {
        "first_points_s": round(found["first points, thomax"]["wall"], 3),
        "first_points_to_tpe": _ratio(found, "first points, thomax", "first points, TPE", "wall"),
        "model_warm_to_gp": _ratio(
            found, "first model, thomax, warm", "first model, GPSampler", "cpu"
        ),
        "model_cold_to_gp": _ratio(
            found, "first model, thomax, cold", "first model, GPSampler", "cpu"
        ),
        "suggest_s": round(found["suggest after 100 trials"]["wall"], 2),
    }
    if not quick:
        text = json.dumps({"rows": found, "summary": summary}, indent=1)
        (RESULTS / "start.json").write_text(text + "\n")
    print(json.dumps(summary | {"quick": quick}))


def _ratio(found: dict[str, dict[str, float]], ours: str, theirs: str, unit: str) -> float:
    return round(found[ours][unit] / found[theirs][unit], 2)


if __name__ == "__main__":
    main()

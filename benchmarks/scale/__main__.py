"""Measure what becomes of time and memory when a problem is large, beside Optuna and BoTorch.

    asks     ask(1) by observations and dimensions, and by the size of the batch
    rivals   a batch of four, on the same history: Optuna's samplers, BoTorch's pathwise draws
    pools    scoring memory-mapped candidates, as a share of the speed of matrix products
    update   what one more observation costs, and what is done again for it
    discrete spaces of 20,000 Booleans, and with a choice among 10,000
    journals opening a journal of 200,000 records, and telling one more value
    soak     memory of a process that asks and tells for a long time

Every row is measured in a process of its own, whose peak memory is its own. Seconds are medians,
after a first call which compiles. A row that takes too long is given up. The full run takes about
25 minutes on two idle cores.
"""

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path

from benchmarks.scale.summary import summarise
from benchmarks.scale.timing import MB

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results"

FULL = {
    "asks": [
        *[{"n": n, "d": 12, "batch": 1} for n in (100, 300, 1000, 3000, 10_000, 100_000)],
        *[{"n": 300, "d": d, "batch": 1} for d in (50, 200, 500)],
        *[{"n": 300, "d": 12, "batch": batch} for batch in (16, 64, 256)],
    ],
    "rivals": [{"n": 1000, "d": 12, "batch": 4}],
    "pools": [
        {"rows": 10**5, "features": 8},
        {"rows": 10**6, "features": 8, "workers": 2},
        {"rows": 10**7, "features": 8},
        {"rows": 10**6, "features": 64},
    ],
    "update": [{"n": 300, "d": 12}, {"n": 1000, "d": 12}],
    "discrete": [{"booleans": 20_000}, {"choices": 10_000}],
    "journals": [{"records": 200_000}],
    "soak": [{"seconds": 900, "every": 10}],
}
QUICK = {
    "asks": [{"n": 300, "d": 12, "batch": 1}, {"n": 300, "d": 12, "batch": 16}],
    "rivals": [{"n": 100, "d": 12, "batch": 4}],
    "pools": [{"rows": 10**5, "features": 8, "workers": 1}],
    "update": [{"n": 100, "d": 12}],
    "discrete": [{"booleans": 400}, {"choices": 1001}],
    "journals": [{"records": 10_000}],
    "soak": [{"seconds": 5, "every": 1}],
}
# The function of each part, by name: the first process imports none of them, so that no row
# pays for what another one loads.
MOST_SECONDS = 1200  # of a row
MEASURES = {
    "asks": "asks.measure_asks",
    "rivals": "rivals.measure_rivals",
    "pools": "pools.measure_pools",
    "update": "asks.measure_update",
    "discrete": "discrete.measure_discrete",
    "journals": "journals.measure_journals",
    "soak": "soak.measure_soak",
}


def in_child(part, settings):
    """Measure in a process of its own; what it prints before its last line is passed on."""
    command = [sys.executable, "-m", "benchmarks.scale", "--child", part, json.dumps(settings)]
    try:
        run = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=MOST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return {**settings, "given_up_s": MOST_SECONDS}
    *said, last = run.stdout.splitlines()
    for line in said:
        print(line, flush=True)
    return {**settings, **json.loads(last)}


def child(part, settings):
    warnings.simplefilter("ignore")
    module, function = MEASURES[part].split(".")
    measure = getattr(importlib.import_module(f"benchmarks.scale.{module}"), function)
    found = measure(**settings)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found["peak_mb"] = peak / (MB if sys.platform == "darwin" else 1024)
    print(json.dumps(found))


def shown(row):
    if isinstance(row, dict):
        return "  ".join(f"{key} {shown(value)}" for key, value in row.items())
    if isinstance(row, list):
        return f"{len(row)} samples"
    return f"{row:.4g}" if isinstance(row, float) else str(row)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute, small sizes, no targets")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=[*FULL],
        help="measure these only, and keep the other results",
    )
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        part, settings = arguments.child
        child(part, json.loads(settings))
        return
    plan = QUICK if arguments.quick else FULL
    found = {part: [] for part in plan}
    if arguments.parts and not arguments.quick:
        before = json.loads((RESULTS / "scale.json").read_text())
        found |= {part: before.get(part, []) for part in plan if part not in arguments.parts}
    for part, rows in plan.items():
        if arguments.parts and part not in arguments.parts:
            continue
        for settings in rows:
            found[part].append(in_child(part, settings))
            print(f"{part:>8}  {shown(found[part][-1])}", flush=True)
    figures, missed = summarise(found)
    summary = {**figures, "quick": arguments.quick}
    if not arguments.quick:
        summary |= {"cores": os.cpu_count(), "missed": missed}
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"summary": summary, **found}, indent=1)
        (RESULTS / "scale.json").write_text(text + "\n")
    print(json.dumps(summary))
    sys.exit(bool(missed) and not arguments.quick)


if __name__ == "__main__":
    main()

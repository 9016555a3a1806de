"""Time suggestions beside Optuna's TPESampler and GPSampler, in one run on the same history.

For n observations in a 12-D float space and in a mixed one: CPU and wall-clock seconds of ask(1)
and ask(4), medians of several asks after a first one (which compiles). Optuna's batch of four is
four asks without tells in between. Also: ours by number of observations and dimensions, tell,
import, and scoring a large pool.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import thomax as tx
from thomax.search.maximise import maximise

RESULTS = Path(__file__).parent / "results"
LETTERS = list("abcdefgh")

SPACES = {
    "float": {f"x{i}": tx.Float(0, 1) for i in range(12)},
    "mixed": {
        **{f"x{i}": tx.Float(0, 1) for i in range(4)},
        **{f"log{i}": tx.Float(1e-4, 1, log=True) for i in range(2)},
        **{f"int{i}": tx.Int(1, 20) for i in range(2)},
        **{f"cat{i}": tx.Categorical(LETTERS) for i in range(4)},
    },
}


def objective(params):
    numbers = [v if isinstance(v, int | float) else LETTERS.index(v) / 4 for v in params.values()]
    return float(sum(np.sin(3 * v) for v in numbers))


def history(space, n):
    rng = np.random.default_rng(0)
    points = tx.Space(space)
    found = points.decode(points.sample(rng, n))
    return found, [objective(p) + 0.1 * rng.normal() for p in found]


def timed(function, repeats):
    """Return medians of wall-clock and CPU seconds, after one call that does not count."""
    function()
    wall, cpu = [], []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        function()
        wall.append(time.perf_counter() - start[0])
        cpu.append(time.process_time() - start[1])
    return {"wall_s": statistics.median(wall), "cpu_s": statistics.median(cpu)}


def ours(policy, space, n, batch, repeats):
    optimizer = tx.Optimizer(space, policy, seed=0, initial=0)
    for params, value in zip(*history(space, n), strict=True):
        optimizer.tell(params, value)

    def ask():
        for trial in optimizer.ask(batch):
            optimizer.drop(trial)

    return timed(ask, repeats)


def optunas(sampler, space, n, batch, repeats):
    import optuna

    from thomax.integrations.optuna_studies import distributions as distributions_of

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = distributions_of(tx.Space(space).describe())
    study.add_trials(
        [
            optuna.trial.create_trial(params=params, distributions=distributions, value=value)
            for params, value in zip(*history(space, n), strict=True)
        ]
    )

    def ask():
        trials = [study.ask(distributions) for _ in range(batch)]
        for trial in trials:  # failed trials are forgotten: the history stays n long
            study.tell(trial, state=optuna.trial.TrialState.FAIL)

    return timed(ask, repeats)


def tell_seconds():
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "run.jsonl"
        with tx.Optimizer(SPACES["float"], seed=0, initial=400, journal=journal) as optimizer:
            trials = optimizer.ask(300)
            start = time.perf_counter()
            for trial in trials:
                optimizer.tell(trial, 0.0)
            return (time.perf_counter() - start) / len(trials)


def import_cpu_seconds():
    script = "import thomax, time; thomax.Optimizer; print(time.process_time())"
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
            for _ in range(3)]  # fmt: skip
    return min(float(run.stdout) for run in runs)


def pool_seconds(rows):
    features = np.random.default_rng(0).normal(size=(rows, 64)).astype(np.float32)
    pool = tx.Pool(features)
    data = tx.Data(pool.at(np.arange(100)), features[:100].sum(1))
    score = tx.STOBNTSLinear()(tx.make_keys(0, 1), data)
    rng = np.random.default_rng(0)
    return timed(lambda: maximise(rng, score, pool), 2)


def measure(kind, n, quick):
    import optuna

    space, row = SPACES[kind], {"space": kind, "n": n}
    few = 2 if quick else 3
    for batch in (1, 4):
        row[f"linear ask({batch})"] = ours(None, space, n, batch, 5)
        if not quick:
            row[f"neural ask({batch})"] = ours(tx.STOBNTS(), space, n, batch, 3)
        row[f"TPE ask({batch})"] = optunas(
            optuna.samplers.TPESampler(seed=0), space, n, batch, few
        )
        if n <= 300 or not quick:
            gp = optuna.samplers.GPSampler(seed=0)
            row[f"GP ask({batch})"] = optunas(gp, space, n, batch, few if n <= 300 else 1)
    return row


def by_size(quick):
    """Time our own asks by dimension and number of observations."""
    rows = []
    for d in (12,) if quick else (2, 12, 50):
        space = {f"x{i}": tx.Float(0, 1) for i in range(d)}
        for n in (100,) if quick else (100, 300, 1000):
            found = {f"ask({batch})": ours(None, space, n, batch, 5) for batch in (1, 4)}
            rows.append({"d": d, "n": n, **found})
            print(f"d={d:<3} n={n:<5} ask(1) {found['ask(1)']['wall_s']:.3f} s  "
                  f"ask(4) {found['ask(4)']['wall_s']:.3f} s", flush=True)  # fmt: skip
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only n = 300")
    quick = parser.parse_args().quick
    warnings.filterwarnings("ignore", module="optuna")
    sizes = [300] if quick else [100, 300, 1000]
    rows = []
    for kind in SPACES:
        for n in sizes:
            row = measure(kind, n, quick)
            rows.append(row)
            for name, found in row.items():
                if isinstance(found, dict):
                    print(f"{kind:>6} n={n:<5} {name:<14} {found['cpu_s']:8.3f} CPU-s "
                          f"{found['wall_s']:8.3f} s", flush=True)  # fmt: skip
    at_300 = {row["space"]: row for row in rows if row["n"] == 300}
    own = by_size(quick)
    pool = pool_seconds(20_000 if quick else 100_000)
    summary = {
        f"{kind}_{measure}": round(value, 2)
        for kind, row in at_300.items()
        for measure, value in {
            "ask4_speedup_over_gp": row["GP ask(4)"]["wall_s"] / row["linear ask(4)"]["wall_s"],
            "ask4_over_ask1": row["linear ask(4)"]["wall_s"] / row["linear ask(1)"]["wall_s"],
        }.items()
    }
    summary["tell_ms"] = round(1e3 * tell_seconds(), 3)
    summary["import_cpu_s"] = round(import_cpu_seconds(), 2)
    summary["pool_1e5x64_s_per_draw"] = round(pool["wall_s"] * (5 if quick else 1), 2)
    summary["quick"] = quick
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"summary": summary, "rows": rows, "by_size": own}, indent=1)
        (RESULTS / "ask.json").write_text(text + "\n")
    print(json.dumps(summary))


if __name__ == "__main__":
    main()

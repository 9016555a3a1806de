"""Measure what becomes of time and memory when a problem is large, beside Optuna and BoTorch.

    asks     ask(1) by observations and dimensions, and by the size of the batch
    rivals   a batch of four, on the same history: Optuna's samplers, BoTorch's pathwise draws
    pools    scoring memory-mapped candidates, as a share of the speed of matrix products
    update   what one more observation costs, and what is done again for it
    soak     memory of a process that asks and tells for a long time

Every row is measured in a process of its own, whose peak memory is its own. Seconds are medians,
after a first call which compiles. The full run takes about 25 minutes on two idle cores.
"""

import argparse
import importlib.util
import json
import os
import pickle
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
STATUS = Path("/proc/self/status")
MB = 2**20
WIDTH = 256  # of the default network

FULL = {
    "asks": [
        *[{"n": n, "d": 12, "batch": 1} for n in (100, 300, 1000, 3000, 10_000)],
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
    "soak": [{"seconds": 900, "every": 10}],
}
QUICK = {
    "asks": [{"n": 300, "d": 12, "batch": 1}, {"n": 300, "d": 12, "batch": 16}],
    "rivals": [{"n": 100, "d": 12, "batch": 4}],
    "pools": [{"rows": 10**5, "features": 8, "workers": 1}],
    "update": [{"n": 100, "d": 12}],
    "soak": [{"seconds": 10, "every": 1}],
}


# Histories ----------------------------------------------------------------------------------


def history(n, d):
    """Return a space, and points of it with noisy values."""
    import thomax as tx

    space = {f"x{i}": tx.Float(0, 1) for i in range(d)}
    rng = np.random.default_rng(0)
    x = tx.Space(space).sample(rng, n)
    values = np.sin(3 * x).sum(axis=1) + 0.1 * rng.normal(size=n)
    return space, tx.Space(space).decode(x), values.tolist()


def our_asks(n, d, batch):
    """Return an optimiser with a history, and a function that asks and leaves no trace."""
    import thomax as tx

    space, points, values = history(n, d)
    optimizer = tx.Optimizer(space, seed=0, initial=0)
    for params, value in zip(points, values, strict=True):
        optimizer.tell(params, value)

    def ask():
        for trial in optimizer.ask(batch):
            optimizer.drop(trial)

    return optimizer, ask


def spent(function):
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def timed(function, repeats):
    first = spent(function)
    times = [spent(function) for _ in range(repeats)]
    medians = {key: statistics.median(t[key] for t in times) for key in first}
    return {"first_s": first["wall_s"], **medians}


# What the processes do ----------------------------------------------------------------------


def measure_asks(n, d, batch):
    _, ask = our_asks(n, d, batch)
    return timed(ask, 1 if n > 3000 or batch > 64 else 3)


def measure_rivals(n, d, batch):
    import optuna

    threads = {1, os.cpu_count()} if n > 300 else {1}
    found = {"thomax": timed(our_asks(n, d, batch)[1], 9)}
    tpe, gp = optuna.samplers.TPESampler(seed=0), optuna.samplers.GPSampler(seed=0)
    found["TPESampler"] = timed(optunas(tpe, n, d, batch), 3)
    found["GPSampler"] = with_best_threads(threads, optunas(gp, n, d, batch))
    if importlib.util.find_spec("botorch") is None:
        print("BoTorch is not installed, so its row is left out: pip install botorch", flush=True)
    else:
        found["BoTorch pathwise"] = with_best_threads(threads, botorchs(n, d, batch))
    return found


def with_best_threads(counts, ask):
    """Time an ask with each of these numbers of PyTorch's threads: the fastest counts."""
    import torch

    found = []
    for count in counts:
        torch.set_num_threads(count)
        found.append({"threads": count, **timed(ask, 3)})
    return min(found, key=lambda row: row["wall_s"])


def optunas(sampler, n, d, batch):
    import optuna

    from thomax.integrations.optuna_studies import distributions as distributions_of
    from thomax.spaces import Space

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space, points, values = history(n, d)
    distributions = distributions_of(Space(space).describe())
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials(
        [
            optuna.trial.create_trial(params=params, distributions=distributions, value=value)
            for params, value in zip(points, values, strict=True)
        ]
    )

    def ask():
        trials = [study.ask(distributions) for _ in range(batch)]
        for trial in trials:  # failed trials are forgotten: the history stays n long
            study.tell(trial, state=optuna.trial.TrialState.FAIL)

    return ask


def botorchs(n, d, batch):
    from thomax.bench.rivals.botorch import thompson
    from thomax.spaces import Space

    space, points, values = history(n, d)
    rival = thompson(Space(space), seed=0)
    for params, value in zip(points, values, strict=True):
        rival.tell(params, value)
    return lambda: rival.ask(batch)


def measure_pools(rows, features, workers=0):
    import thomax as tx
    from thomax.maximise import maximise

    with tempfile.TemporaryDirectory() as folder:
        needed = rows * features * 4
        if shutil.disk_usage(folder).free < 2 * needed:
            print(f"{needed / MB:.0f} MB do not fit into {folder}: left out {rows} rows.")
            return {}
        mapped = written(Path(folder) / "pool.npy", rows, features)
        start = time.perf_counter()
        pool = tx.Pool(mapped)
        found = {"open_s": time.perf_counter() - start}
        x = pool.at(range(100))
        score = tx.STOBNTSLinear()(tx.make_keys(0, 1), tx.Data(x, x.sum(axis=1)))
        maximise(None, score, tx.Pool(mapped[: 2**15]))  # compiles
        products = matrix_products()
        speeds, times = [], []
        with AnonymousMemory() as memory:
            for _ in range(1 if rows > 10**6 else 3):
                speeds.append(products())
                times.append(spent(lambda: maximise(None, score, pool)))
            speeds.append(products())
        if workers:
            found |= sharded(mapped, score, maximise(None, score, pool), workers)
    return found | {"anonymous_mb": memory.growth_mb} | shares(times, speeds, rows, features)


def written(path, rows, features):
    """Write standard normal features piece by piece; return them mapped."""
    rng = np.random.default_rng(0)
    kind = np.float32
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(rows, features))
    for start in range(0, rows, 2**16):
        part = mapped[start : start + 2**16]
        part[:] = rng.standard_normal(part.shape, dtype=kind)
    mapped.flush()
    return np.load(path, mmap_mode="r")


def matrix_products():
    """Return a function that measures how fast two square matrices are multiplied."""
    import jax
    import jax.numpy as jnp

    size, count = 1024, 50
    matrix = jnp.ones((size, size), jnp.float32)
    multiply = jax.jit(jnp.matmul)
    multiply(matrix, matrix).block_until_ready()

    def several():
        for _ in range(count):
            multiply(matrix, matrix).block_until_ready()

    def measured():
        return {key: count * 2 * size**3 / value for key, value in spent(several).items()}

    return measured


def shares(times, speeds, rows, features):
    """Compare the speed of scoring with that of matrix products, in floating-point operations.

    A draw is one Jacobian-vector product of a network with two hidden layers. Points are lifted
    by one dimension and a layer's bias is one more input. Products with the primal and the
    tangent weights: two in the first layer (points have no tangent), three in the second, two in
    the last (its primal output is not needed).
    """
    a, b = features + 2, WIDTH + 1
    flops = 2 * rows * (2 * a * WIDTH + 3 * b * WIDTH + 2 * b)
    wall, cpu = (statistics.median(t[key] for t in times) for key in ("wall_s", "cpu_s"))
    peak = {key: statistics.median(s[key] for s in speeds) for key in ("wall_s", "cpu_s")}
    return {
        "wall_s": wall,
        "cpu_s": cpu,
        "rows_per_s": rows / wall,
        "product_gflops": peak["wall_s"] / 1e9,
        "share": flops / wall / peak["wall_s"],
        "share_of_cpu": flops / cpu / peak["cpu_s"],
    }


def sharded(mapped, score, expected, workers):
    """Score the pool in other processes, which open the file themselves."""
    import thomax as tx
    from thomax.maximise import maximise

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        pool = tx.Pool(mapped, executor=executor)
        same = maximise(None, score, pool) == expected  # the workers start and compile
        seconds = spent(lambda: maximise(None, score, pool))["wall_s"]
    sent = len(pickle.dumps((score, next(pool.parts(2**18)))))
    return {"sharded_s": seconds, "sharded_same": same, "sent_mb": sent / MB}


def measure_update(n, d):
    """Ask on n observations, again on the same, and after one more; time the steps of an ask."""
    import thomax as tx
    from thomax.blas import small_matrices

    optimizer, ask = our_asks(n, d, 1)
    _, other = our_asks(n + 1, d, 1)
    other()
    found = {"first": spent(ask)["cpu_s"], "again": spent(ask)["cpu_s"]}
    _, points, values = history(n + 1, d)
    optimizer.tell(points[-1], values[-1])
    found["one more"] = spent(ask)["cpu_s"]
    data, key = optimizer._data(), tx.make_keys(0, 1)
    with small_matrices(n):
        prior = timed(lambda: optimizer.policy.prior(data), 3)["cpu_s"]
        draw = timed(lambda: optimizer.policy(key, data), 3)["cpu_s"]
    rest = {"scales and noise": prior, "draw": draw - prior, "search": found["one more"] - draw}
    return found | rest


def measure_soak(seconds, every, length=200):
    """Ask and tell up to `length` trials, then begin anew; sample the memory all along."""
    import thomax as tx

    space = {
        **{f"x{i}": tx.Float(0, 1) for i in range(4)},
        "n": tx.Int(1, 20),
        "kind": tx.Categorical(["a", "b", "c"]),
    }
    start = time.monotonic()
    samples, asked, optimizer = [], 0, None
    while time.monotonic() - start < seconds:
        if optimizer is None or len(optimizer.trials) >= length:
            optimizer = tx.Optimizer(space, seed=asked)
        for trial in optimizer.ask(4):
            x = [value for name, value in trial.params.items() if name.startswith("x")]
            optimizer.tell(trial, float(np.sin(3 * np.array(x)).sum()))
            asked += 1
        now = time.monotonic() - start
        if not samples or now - samples[-1][0] >= every:
            samples.append((now, status_mb("VmRSS")))
    t, memory = np.array(samples).T
    late = t >= t[-1] / 2
    slope = float(np.polyfit(t[late], memory[late], 1)[0]) if late.sum() > 1 else 0.0
    return {
        "trials": asked,
        "rss_mb": memory.round(1).tolist(),
        "mb_per_hour": 3600 * slope,
        "late_growth_mb": slope * float(np.ptp(t[late])),
    }


def status_mb(name):
    """Return a line of this process's status in MB; NaN where there is no such file."""
    if not STATUS.exists():
        return float("nan")
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[name].split()[0]) / 1024


class AnonymousMemory:
    """Watch how much memory is taken that is no mapped file: those pages are given back."""

    def __enter__(self):
        self._end, self.growth_mb = threading.Event(), 0.0
        self._before = status_mb("RssAnon")
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _watch(self):
        while not self._end.wait(0.02):
            self.growth_mb = max(self.growth_mb, status_mb("RssAnon") - self._before)


MEASURES = {
    "asks": measure_asks,
    "rivals": measure_rivals,
    "pools": measure_pools,
    "update": measure_update,
    "soak": measure_soak,
}


# What the first process does ----------------------------------------------------------------


def in_child(part, settings):
    """Measure in a process of its own; what it prints before its last line is passed on."""
    command = [sys.executable, __file__, "--child", part, json.dumps(settings)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    *said, last = run.stdout.splitlines()
    for line in said:
        print(line, flush=True)
    return {**settings, **json.loads(last)}


def child(part, settings):
    warnings.simplefilter("ignore")
    found = MEASURES[part](**settings)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found["peak_mb"] = peak / (MB if sys.platform == "darwin" else 1024)
    print(json.dumps(found))


def shown(row):
    if isinstance(row, dict):
        return "  ".join(f"{key} {shown(value)}" for key, value in row.items())
    if isinstance(row, list):
        return f"{len(row)} samples"
    return f"{row:.4g}" if isinstance(row, float) else str(row)


def summarise(found):
    """Return the figures that have a target, and those that miss it."""
    figures, targets = {}, {}

    def add(name, value, low=-np.inf, high=np.inf):
        figures[name] = round(float(value), 3)
        targets[name] = low <= value <= high

    for row in found["asks"]:
        if row["n"] == 10_000:
            add("ask_n10000_s", max(row["first_s"], row["wall_s"]), high=60)
            add("ask_n10000_mb", row["peak_mb"], high=4096)
        if row["batch"] > 1:
            add(f"ask{row['batch']}_s", row["wall_s"])
            add(f"ask{row['batch']}_mb", row["peak_mb"], high=4096)
    row = found["rivals"][0]
    add("ask4_speedup_over_gp", row["GPSampler"]["wall_s"] / row["thomax"]["wall_s"], low=5)
    if "BoTorch pathwise" in row:
        ratio = row["BoTorch pathwise"]["wall_s"] / row["thomax"]["wall_s"]
        add("ask4_speedup_over_botorch", ratio, low=1)
    pools = {(row["rows"], row["features"]): row for row in found["pools"] if "wall_s" in row}
    for (rows, features), row in pools.items():
        name = f"pool_1e{len(str(rows)) - 1}x{features}"
        add(f"{name}_s", row["wall_s"])
        add(f"{name}_share", row["share"], low=0.4 if features == 64 else 0)
        add(f"{name}_mb", row["anonymous_mb"], high=500)
        if "sharded_s" in row:
            add(f"{name}_sharded_s", row["sharded_s"])
            add(f"{name}_sharded_same", row["sharded_same"], low=1)
    sizes = [(10**6, 8), (10**7, 8)]
    if all(size in pools for size in sizes):
        few, many = (pools[size]["share"] for size in sizes)  # the machine may have slowed down
        add("pool_cost_a_row_1e7_over_1e6", few / many, high=1.5)
    row = found["update"][-1]
    add("one_more_over_again", row["one more"] / row["again"], high=2)
    soak = found["soak"][0]
    add("soak_mb_per_hour", soak["mb_per_hour"])
    add("soak_late_growth_mb", soak["late_growth_mb"], high=20)
    return figures, [name for name, met in targets.items() if not met]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute, small sizes, no targets")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        part, settings = arguments.child
        child(part, json.loads(settings))
        return
    plan = QUICK if arguments.quick else FULL
    found = {part: [] for part in plan}
    for part, rows in plan.items():
        for settings in rows:
            found[part].append(in_child(part, settings))
            print(f"{part:>7}  {shown(found[part][-1])}", flush=True)
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

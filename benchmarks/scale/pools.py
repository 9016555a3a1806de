"""Scoring memory-mapped candidates, as a share of the speed of matrix products."""

import pickle
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import thomax as tx
from benchmarks.scale.timing import MB, AnonymousMemory, spent
from thomax.search.maximise import maximise

WIDTH = 256  # of the default network


def measure_pools(rows, features, workers=0):
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
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        pool = tx.Pool(mapped, executor=executor)
        same = maximise(None, score, pool) == expected  # the workers start and compile
        seconds = spent(lambda: maximise(None, score, pool))["wall_s"]
    sent = len(pickle.dumps((score, next(pool.parts(2**18)))))
    return {"sharded_s": seconds, "sharded_same": same, "sent_mb": sent / MB}

"""Time posterior draws: the paper's gradient descent against Algorithms 1 and 2 as built here.

All of it in one run, side by side, because machines are noisy: (a) 10,000 plain gradient steps
(some are timed, the rest extrapolated), (b) STO-BNTS, (c) STO-BNTS-Linear. Times are wall-clock
seconds for a batch of B draws, the median of several repetitions after one for compilation.
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

import numpy as np

from thomax import MLP, STOBNTS, Data, STOBNTSLinear, make_keys
from thomax.model.kernels import empirical_ntk

RESULTS = Path(__file__).parent / "results"
D, NETWORK = 12, MLP(depth=2, width=256)
PAPER_STEPS = 10_000
# The released code's constant learning rate, as a share of the stable maximum at its features:
# there rate x (largest eigenvalue) is 0.21 to 0.25.
PAPER_RATE = 0.23
P = NETWORK.size((D,))


def objective(x):
    rng = np.random.default_rng(1)
    waves = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + np.cos(2 * x[:, 3:].sum(1))
    return waves + 0.1 * rng.normal(size=len(x))


def make_data(n):
    x = np.random.default_rng(0).uniform(-1, 1, (n, D)).astype(np.float32)
    return Data(x, objective(x))


def seconds(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def paper_policy(**training):
    return STOBNTS(NETWORK, noise_std=0.1, inputs="cube", **training)


def learning_rate(keys, data):
    """The paper's rate for the loss |y - f|^2, whose curvature is twice the kernel's."""
    theta0 = paper_policy(steps=0, polish=0)(keys[:1], data).theta0[0]
    largest = np.linalg.eigvalsh(empirical_ntk(NETWORK, theta0, data.x))[-1]
    return PAPER_RATE / (2 * float(largest))


def gradient_descent(keys, data, steps, timed_steps):
    """Return seconds for `steps` gradient steps: `timed_steps` timed in two lengths, the rest
    extrapolated from their difference, which leaves out set-up."""
    rate = learning_rate(keys, data)
    long, short = (paper_policy(descent=(s, rate)) for s in (timed_steps, timed_steps // 4))
    for policy in (long, short):
        policy(keys, data)
    spent = [seconds(lambda p=p: p(keys, data), 1) for p in (long, short)]
    return (spent[0] - spent[1]) / (timed_steps - timed_steps // 4) * steps


def loss_after(keys, data, steps):
    policy = paper_policy(descent=(steps, learning_rate(keys, data)))
    return float(policy(keys, data).certificate.loss.mean())


def matrix_product_gflops():
    a = np.random.default_rng(0).normal(size=(2000, 2000)).astype(np.float32)
    a @ a
    return 2 * 2000**3 / seconds(lambda: a @ a, 3) / 1e9


def linear_draw_flops(n, batch):
    """Count the arithmetic of Algorithm 2: features, Gram products, factor, one JVP, one VJP."""
    m = int(NETWORK.width)
    sweeps = n * 2 * P * (2 + 2 + 3)  # forward and signals; JVP (2 forwards); VJP
    return batch * (sweeps + 2 * n * n * (D + 4 * m) / 2 + n**3 / 3)


def measure(n, batch, quick):
    data, keys = make_data(n), make_keys(0, batch)
    neural, linear = (
        STOBNTS(NETWORK, noise_std=0.1, inputs="cube"),
        STOBNTSLinear(NETWORK, noise_std=0.1, inputs="cube"),
    )
    draws = neural(keys, data)
    linear(keys, data)
    # Timings alternate, so that a busy minute hits all of them.
    a = gradient_descent(keys, data, PAPER_STEPS, 40 if quick else 200)
    b = seconds(lambda: neural(keys, data), 2 if quick else 5)
    c = seconds(lambda: linear(keys, data), 5 if quick else 9)
    return {
        "n": n,
        "batch": batch,
        "gradient_descent_s": a,
        "neural_s": b,
        "linear_s": c,
        "speedup_neural": a / b,
        "speedup_linear": a / c,
        "neural_loss": float(draws.certificate.loss.mean()),
        "neural_relative_gradient": float(draws.certificate.relative_gradient.max()),
        "linear_gflops": linear_draw_flops(n, batch) / c / 1e9,
    }


FIRST_DRAW = """
import resource, sys
from benchmarks import draws
data, keys = draws.make_data(200), draws.make_keys(0, 4)
getattr(draws, sys.argv[1])(draws.NETWORK, noise_std=0.1, inputs="cube")(keys, data)
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_utime + usage.ru_stime)
"""


def first_draw_cpu_seconds(policy, cache):
    """CPU seconds of a new process, from its start to the first batch of four draws at n = 200."""
    command = [sys.executable, "-c", FIRST_DRAW, policy]
    environment = {**os.environ, "THOMAX_CACHE": cache}
    run = subprocess.run(
        command,
        env=environment,
        cwd=RESULTS.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def first_draws():
    found = {}
    for policy in ("STOBNTSLinear", "STOBNTS"):
        with tempfile.TemporaryDirectory() as cache:
            cold = first_draw_cpu_seconds(policy, cache)
            found[policy] = {"cold": cold, "warm": first_draw_cpu_seconds(policy, cache)}
    return found


def print_table(rows):
    print(f"d = {D}, {NETWORK}, p = {P}; seconds a batch")
    print("(a) is extrapolated from part of its 10,000 steps")
    print(f"{'n':>5} {'B':>3} {'(a) descent':>12} {'(b) neural':>11} {'(c) linear':>11}"
          f" {'a/b':>7} {'a/c':>8} {'loss (b)':>9} {'GFLOP/s (c)':>12}")  # fmt: skip
    for r in rows:
        times = f"{r['gradient_descent_s']:>12.2f} {r['neural_s']:>11.3f} {r['linear_s']:>11.4f}"
        ratios = f"{r['speedup_neural']:>7.0f} {r['speedup_linear']:>8.0f}"
        quality = f"{r['neural_loss']:>9.3f} {r['linear_gflops']:>12.1f}"
        print(f"{r['n']:>5} {r['batch']:>3} {times} {ratios} {quality}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only n = 200, B = 4")
    quick = parser.parse_args().quick
    cases = [(200, 4)] if quick else [(n, b) for n in (50, 200, 500, 1000) for b in (1, 4, 16)]
    rows = [measure(n, batch, quick) for n, batch in cases]
    print_table(rows)
    key_row = next(r for r in rows if (r["n"], r["batch"]) == (200, 4))
    losses = {}
    if not quick:  # the whole of (a) once, to compare what it reaches
        losses = {"gradient_descent": loss_after(make_keys(0, 4), make_data(200), PAPER_STEPS),
                  "neural": key_row["neural_loss"]}  # fmt: skip
        print(f"mean loss at n = 200, B = 4: (a) {losses['gradient_descent']:.3f}, "
              f"(b) {losses['neural']:.3f}")  # fmt: skip
    first = first_draws()
    for policy, found in first.items():
        print(f"first draw of {policy} from process start: {found['cold']:.1f} CPU-s cold, "
              f"{found['warm']:.1f} CPU-s with a warm compilation cache")  # fmt: skip
    peak = matrix_product_gflops()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"matrix product: {peak:.0f} GFLOP/s in float32; peak memory {memory:.0f} MB")
    summary = {
        "speedup_neural": round(key_row["speedup_neural"], 1),
        "speedup_linear": round(key_row["speedup_linear"], 1),
        "loss_gradient_descent": losses.get("gradient_descent"),
        "loss_neural": key_row["neural_loss"],
        "first_draw_cpu_s": first,
        "matrix_product_gflops": round(peak, 1),
        "linear_share_of_matrix_product": round(key_row["linear_gflops"] / peak, 3),
        "peak_memory_mb": round(memory),
        "quick": quick,
    }
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / "draws.json"
        path.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")
    print(json.dumps(summary))


if __name__ == "__main__":
    main()

"""Time posterior draws: the paper's gradient descent against Algorithms 1 and 2 as built here.

All of it in one run, side by side, because machines are noisy: (a) 10,000 plain gradient steps
(some are timed, the rest extrapolated), (b) STO-BNTS until its training stops by itself, (b=) with
as few iterations as reach the loss of (a), (c) STO-BNTS-Linear. Times are wall-clock seconds for a
batch of B draws, the median of several repetitions after one for compilation.

Then the paper's preset on raw values of the paper's tasks at random points: the losses that its
training and the released code's gradient steps reach.
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
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.tasks.registry import task
from thomax import MLP, STOBNTS, Data, STOBNTSLinear, make_keys

RESULTS = Path(__file__).parent / "results"
D, NETWORK = 12, MLP(depth=2, width=256)
PAPER_STEPS = 10_000
RATE = 1e-3  # of the released code, in the standard parameterisation
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


def descent_seconds(keys, data, steps, timed_steps):
    """Return seconds for `steps` gradient steps: `timed_steps` timed in two lengths, the rest
    extrapolated from their difference, which leaves out set-up."""
    long, short = (paper_policy(descent=(s, RATE)) for s in (timed_steps, timed_steps // 4))
    for policy in (long, short):
        policy(keys, data)
    spent = [seconds(lambda p=p: p(keys, data), 1) for p in (long, short)]
    return (spent[0] - spent[1]) / (timed_steps - timed_steps // 4) * steps


def loss_after(keys, data, steps):
    policy = paper_policy(descent=(steps, RATE))
    return float(policy(keys, data).certificate.loss.mean())


EFFORTS = [(s, 0) for s in range(1, 25)] + [(60, p) for p in range(1, 200)]


def least_effort(keys, data, loss):
    """Return the policy with the fewest iterations that reach a mean loss."""
    for steps, polish in EFFORTS:
        policy = paper_policy(steps=steps, polish=polish, tolerance=0.0)
        if policy(keys, data).certificate.loss.mean() <= loss:
            return policy
    raise RuntimeError(f"Training does not reach the loss {loss} of gradient descent.")


def raw_data(name, n):
    """Return a task's raw values at random points; the seed is 0."""
    problem, rng = task(name, seed=0), np.random.default_rng(0)
    x = problem.space.sample(rng, n)
    return Data(x, np.array([problem.objective(p, rng) for p in problem.space.decode(x)]))


def measure_task(name, n, batch):
    """Compare the losses of the paper's preset with those of gradient descent, draw by draw.

    Where the released rate diverges, as raw values make it do on some tasks, it is halved: a
    descent that diverges stays where it began.
    """
    data, keys = raw_data(name, n), make_keys(0, batch)
    paper = STOBNTS.paper()
    certificate = paper(keys, data).certificate
    start = replace(paper, steps=0, polish=0)(keys, data).certificate.loss
    for halvings in range(8):
        steps = (PAPER_STEPS, RATE * 0.5**halvings)
        descended = replace(paper, descent=steps)(keys, data).certificate
        if (descended.loss < start).all():
            break
    found = {
        "task": name, "n": n, "batch": batch, "rate_halved": halvings,
        "loss_neural": certificate.loss.tolist(),
        "loss_gradient_descent": descended.loss.tolist(),
        "decrease": certificate.decrease.tolist(),
        "iterations": int(certificate.iterations.max()),
        "neural_s": seconds(lambda: paper(keys, data), 1),
        "no_higher": bool((certificate.loss <= descended.loss).all()),
    }  # fmt: skip
    print(f"{name}, n = {n}: losses {_list(certificate.loss)} after {found['neural_s']:.2f} s, "
          f"gradient descent {_list(descended.loss)} (rate halved {halvings} times); "
          f"may still fall by {_list(100 * certificate.decrease)} %", flush=True)  # fmt: skip
    return found


def _list(values):
    return ", ".join(f"{v:.4g}" for v in values)


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
    """Time (a) to (c); (b=) only where the whole of (a) was run, now or for the stored results."""
    data, keys = make_data(n), make_keys(0, batch)
    loss = known_loss() if quick else None
    if not quick and (n, batch) in WHOLE:
        loss = loss_after(keys, data, PAPER_STEPS)
    neural, linear = (
        STOBNTS(NETWORK, noise_std=0.1, inputs="cube"),
        STOBNTSLinear(NETWORK, noise_std=0.1, inputs="cube"),
    )
    draws = neural(keys, data)
    linear(keys, data)
    # Timings alternate, so that a busy minute hits all of them.
    a = descent_seconds(keys, data, PAPER_STEPS, 40 if quick else 200)
    b = seconds(lambda: neural(keys, data), 2 if quick else 5)
    equal = None
    if loss is not None:
        least = least_effort(keys, data, loss)
        equal = seconds(lambda: least(keys, data), 3 if quick else 9)
    c = seconds(lambda: linear(keys, data), 5 if quick else 9)
    return {
        "n": n,
        "batch": batch,
        "gradient_descent_s": a,
        "neural_s": b,
        "linear_s": c,
        "neural_equal_loss_s": equal,
        "speedup_neural": a / equal if equal else None,
        "speedup_neural_converged": a / b,
        "speedup_linear": a / c,
        "gradient_descent_loss": loss,
        "neural_loss": float(draws.certificate.loss.mean()),
        "neural_decrease": float(draws.certificate.decrease.max()),
        "linear_gflops": linear_draw_flops(n, batch) / c / 1e9,
    }


WHOLE = ((50, 4), (200, 4))  # where all 10,000 steps are taken
TASKS = ("lunar", "pushing", "rover", "forest")


def known_loss():
    """Return the mean loss of all 10,000 steps at n = 200, B = 4, from the stored results."""
    summary = json.loads((RESULTS / "draws.json").read_text())["summary"]
    return summary["loss_gradient_descent"]


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
    print(
        "(a) is extrapolated from part of its 10,000 steps; (b=) reaches the loss of all of them"
    )
    print(f"{'n':>5} {'B':>3} {'(a) descent':>12} {'(b=) equal':>11} {'(b) neural':>11}"
          f" {'(c) linear':>11} {'a/b=':>7} {'a/b':>6} {'a/c':>7} {'loss (a)':>9} {'loss (b)':>9}"
          f" {'GFLOP/s (c)':>12}")  # fmt: skip
    for r in rows:
        equal, ratio, loss = (
            "" if r[k] is None else f"{r[k]:.3f}"
            for k in ("neural_equal_loss_s", "speedup_neural", "gradient_descent_loss")
        )
        times = f"{r['gradient_descent_s']:>12.2f} {equal:>11} {r['neural_s']:>11.3f}"
        ratios = f"{ratio.split('.')[0]:>7} {r['speedup_neural_converged']:>6.0f}"
        quality = f"{loss:>9} {r['neural_loss']:>9.3f} {r['linear_gflops']:>12.1f}"
        print(f"{r['n']:>5} {r['batch']:>3} {times} {r['linear_s']:>11.4f} {ratios}"
              f" {r['speedup_linear']:>7.0f} {quality}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only n = 200, B = 4")
    quick = parser.parse_args().quick
    on_tasks = [("lunar", 50)] if quick else [(name, n) for name in TASKS for n in (50, 200)]
    for name, _ in on_tasks:
        task(name, seed=0)  # what it lacks is said before minutes of measuring
    cases = [(200, 4)] if quick else [(n, b) for n in (50, 200, 500, 1000) for b in (1, 4, 16)]
    rows = [measure(n, batch, quick) for n, batch in cases]
    print_table(rows)
    key_row = next(r for r in rows if (r["n"], r["batch"]) == (200, 4))
    tasks = [measure_task(name, n, 1 if quick else 2) for name, n in on_tasks]
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
        "speedup_neural_converged": round(key_row["speedup_neural_converged"], 1),
        "tasks_no_higher": f"{sum(t['no_higher'] for t in tasks)} of {len(tasks)}",
        "loss_gradient_descent": key_row["gradient_descent_loss"],
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
        path.write_text(
            json.dumps({"summary": summary, "rows": rows, "tasks": tasks}, indent=1) + "\n"
        )
    print(json.dumps(summary))


if __name__ == "__main__":
    main()

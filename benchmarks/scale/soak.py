"""Memory of a process that asks and tells for a long time."""

import time

import numpy as np

import thomax as tx
from benchmarks.scale.timing import status_mb


def measure_soak(seconds, every, length=200):
    """Ask and tell up to `length` trials, then begin anew; sample the memory all along."""
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

"""Optimise where a third of the space crashes: failures teach the model to stay away."""

import numpy as np

import thomax as tx

SPACE = {"speed": tx.Float(0, 10), "load": tx.Float(0, 10), "angle": tx.Float(-1, 1)}


def yield_of(p):
    if p["speed"] * p["load"] > 40:
        raise RuntimeError("the machine stopped: overload")
    return p["speed"] + 0.8 * p["load"] - 4 * p["angle"] ** 2  # best next to the overload


optimizer = tx.Optimizer(SPACE, seed=0)
optimizer.run(yield_of, 60, batch=4, synchronous=True, progress=False)

failed = np.array([t.state == "failed" for t in optimizer.trials])
for start in range(0, 60, 20):
    print(f"trials {start:2} to {start + 19}: {failed[start : start + 20].sum():2} failed")
print(f"best {optimizer.best.value:.2f} at {optimizer.best.params}")
print("a failure says:", next(t.error for t in optimizer.trials if t.error))

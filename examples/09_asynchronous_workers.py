"""Keep two worker processes busy although evaluations take different times.

A new trial starts as soon as one ends; what is still running needs no special treatment, because
every proposal is a posterior draw of its own.
"""

import itertools
import time
from concurrent.futures import ProcessPoolExecutor

import thomax as tx

SPACE = {"x": tx.Float(-2, 2), "y": tx.Float(-2, 2)}


def slow(p):
    """Pretend to simulate: points far out take longer."""
    time.sleep(0.05 + 0.1 * abs(p["x"]))
    return -((p["x"] - 1) ** 2) - (p["y"] + 0.5) ** 2


if __name__ == "__main__":  # processes import this file
    order = []
    optimizer = tx.Optimizer(SPACE, seed=0, journal="workers.jsonl")
    with optimizer, ProcessPoolExecutor(2) as executor:
        optimizer.run(
            slow,
            32,
            batch=2,
            executor=executor,
            callbacks=[lambda _, trial: order.append(trial.number)],
        )
        overtaken = sum(a > b for a, b in itertools.pairwise(order))
        print(f"{overtaken} trials ended before an earlier one")
        print(f"best {optimizer.best.value:.4f} at {optimizer.best.params}")
    print("run it again: it goes on from workers.jsonl")

"""Find reference points for hypervolumes: `python -m benchmarks.metrics.references [TASK ...]`.

Of many random feasible points, the worst of the non-dominated ones in each objective and a tenth
of their extent beyond it. What this printed once stands in the tasks, rounded.
"""

import sys

import numpy as np

from benchmarks.metrics.hypervolume import non_dominated
from benchmarks.metrics.problem import Array, MetricTask
from benchmarks.metrics.registry import FRONTS, metric_task

POINTS, SLOW_POINTS = 20_000, 500
SLOW = ("network",)
_BEYOND = 0.1


def random_reference(task: MetricTask, points: int = POINTS) -> Array:
    """Return the reference point in the objectives' own signs."""
    params = task.space.decode(task.space.sample(np.random.default_rng(0), points))
    values = [task.evaluate(p) for p in params]
    losses = np.array([task.losses(v) for v in values if task.is_feasible(v)])
    front = losses[non_dominated(losses)]
    worst, best = front.max(axis=0), front.min(axis=0)
    signs = np.sign(task.losses(dict.fromkeys(task.objectives, 1.0)))
    return signs * (worst + _BEYOND * (worst - best))


if __name__ == "__main__":
    for name in sys.argv[1:] or FRONTS:
        found = random_reference(metric_task(name), SLOW_POINTS if name in SLOW else POINTS)
        print(name, [float(f"{v:.4g}") for v in found], metric_task(name).reference)

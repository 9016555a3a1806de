"""Spaces of very many discrete changes: what a suggestion costs after 30 values."""

import numpy as np

import thomax as tx
from benchmarks.scale.timing import timed

VALUES = 30


def measure_discrete(booleans=0, choices=0):
    space = {f"b{i}": tx.Bool() for i in range(booleans)}
    if choices:
        space |= {"c": tx.Categorical([f"v{i}" for i in range(choices)]), "x": tx.Float(0, 1)}
    rng = np.random.default_rng(0)
    optimizer = tx.Optimizer(space, seed=0, initial=0)
    points = tx.Space(space).sample(rng, VALUES)
    values = points @ rng.normal(size=points.shape[1]) / np.sqrt(points.shape[1])
    params = tx.Space(space).decode(points)
    optimizer.tell_all([(p, v, None) for p, v in zip(params, values.tolist(), strict=True)])
    return timed(lambda: optimizer.drop(optimizer.ask()), 3)

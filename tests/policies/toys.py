"""Small data for every policy, and data at the edges of what may come."""

import numpy as np

from thomax import Data


def toy(n, d=2, seed=0, pending=0):
    """Return n noisy values of a wave, and points that are still evaluated."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n + pending, d))
    return Data(x[:n], np.sin(3 * x[:n].sum(1)) + 0.1 * rng.normal(size=n), x[n:])


EDGES = {
    "no data": Data(np.zeros((0, 2)), np.zeros(0)),
    "only pending": Data(np.zeros((0, 2)), np.zeros(0), toy(6).x[:2]),
    "one point": Data([[0.1, 0.2]], [3.0]),
    "two points": Data([[0.1, 0.2], [0.3, 0.4]], [3.0, 4.0]),
    "pending": Data(toy(6).x, np.arange(6.0), toy(6).x[:2]),
    "constant": Data(toy(6).x, np.full(6, 2.0)),
    "duplicates": Data(np.zeros((5, 2)), np.arange(5.0), np.zeros((2, 2))),
    "equal rows": Data(np.zeros((5, 2)), np.ones(5)),
    "outlier": Data(toy(6).x, [1, 2, 3, 4, 5, 1e12]),
    "huge": Data(toy(3).x, [1e308, -1e308, 0.0]),
    "a failure": Data(toy(6).x, [1, 2, 3, np.nan, 5, 6]),
    "some failed": Data(toy(4).x, [np.nan, 1.0, np.inf, -np.inf]),
    "all failed": Data(toy(3).x, np.full(3, np.nan)),
    "known noise": Data(
        toy(6).x,
        [1, 2, 3, np.nan, 5, 6],
        toy(6).x[:2],
        repeats=[1, 3, 1, 1, 2, 1],
        noise_std=[np.nan, np.nan, 0, 0.5, np.nan, 2],
        scatter=[0, 0.1, 0, 0, np.nan, 0],
    ),
    "d = 1": Data(toy(6, d=1).x, np.arange(6.0)),
    "d = 200": Data(toy(6, d=200).x, np.arange(6.0)),
}

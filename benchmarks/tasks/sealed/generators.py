"""Generators of functions; the seed draws the function.

fourier8    many waves, the shorter the weaker
planes12    the lowest of many planes through one point: sharp edges everywhere
thickets15  a sum of random trees of depth three: plateaus and cliffs
quotients9  quotients of slopes: humps that fade outwards
chain18     neighbours that have to follow each other, with a best point that is known
"""

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Problem, on_box

Array = NDArray[np.float64]


def fourier(seed: int) -> Problem:
    """Return waves along random directions with a spectrum that falls."""
    rng = np.random.default_rng([808, seed])
    lengths = rng.pareto(1.5, 80) + 0.4
    directions = rng.standard_normal((80, 8)) / lengths[:, None]
    phases, heights = rng.uniform(0, 2 * math.pi, 80), rng.standard_normal(80) * lengths**0.8

    def value(x: Array) -> float:
        return float(heights @ np.sin(directions @ x + phases)) / 10

    return on_box("fourier8", value, -2, 2, 8)


def planes(seed: int) -> Problem:
    """Return the lowest of 48 planes, in opposite pairs of different slope."""
    rng = np.random.default_rng([1212, seed])
    best, slopes = rng.uniform(-0.8, 0.8, 12), rng.standard_normal((24, 12))
    back = rng.uniform(0.2, 3, 24)

    def value(x: Array) -> float:
        height = slopes @ (x - best)
        return -float(np.max(np.maximum(height, -back * height)))

    return on_box("planes12", value, -1, 1, 12, best)


def thickets(seed: int) -> Problem:
    """Return a sum of 60 random trees, each of three questions."""
    rng = np.random.default_rng([1515, seed])
    relevance = rng.dirichlet(np.full(15, 0.7))
    features = rng.choice(15, (60, 3), p=relevance)
    thresholds, leaves = rng.uniform(0.1, 0.9, (60, 3)), rng.standard_normal((60, 8))
    powers, rows = np.array([4, 2, 1]), np.arange(60)

    def value(x: Array) -> float:
        return float(leaves[rows, (x[features] > thresholds) @ powers].sum()) / 8

    return on_box("thickets15", value, 0, 1, 15)


def quotients(seed: int) -> Problem:
    """Return a sum of 12 humps u / (1 + u² + v²), u and v slopes."""
    rng = np.random.default_rng([909, seed])
    u, v = rng.standard_normal((2, 12, 9)) * 1.5
    offsets, heights = rng.standard_normal((2, 12)), rng.gamma(2.0, 1.0, 12)

    def value(x: Array) -> float:
        a, b = u @ x + offsets[0], v @ x + offsets[1]
        return float(heights @ (a / (1 + a**2 + b**2)))

    return on_box("quotients9", value, -2, 2, 9)


def chain(seed: int) -> Problem:
    """Return 18 links: each has to follow the one before, stiffly or loosely."""
    rng = np.random.default_rng([1818, seed])
    best, stiff = rng.uniform(-1.5, 1.5, 18), 10 ** rng.uniform(-0.5, 1, 18)
    order = rng.permutation(18)

    def value(x: Array) -> float:
        z = (x - best)[order]
        follows = z - np.concatenate([[0.0], np.sin(2 * z[:-1])])
        return -float(np.sum(np.logaddexp(stiff * follows, -stiff * follows) - math.log(2)))

    return on_box("chain18", value, -2, 2, 18, best)


GENERATORS = {
    "fourier8": fourier,
    "planes12": planes,
    "thickets15": thickets,
    "quotients9": quotients,
    "chain18": chain,
}

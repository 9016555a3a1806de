"""Functions of 15 to 30 parameters of which a few matter; the seed draws which, and the shape.

waves     three of 15, rotated among themselves: a bowl with ripples
network   four of 25 feed a random network; the others have a small slope
edges     five of 20 saturate one after the other, with products of neighbours: best at edges
heaps     four of 30: six bells of different width and direction
gates     two switches of ten decide which of ten numbers matter
"""

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.early.rotated import rotation, weights
from benchmarks.tasks.problem import Params, Problem, exact, on_box
from thomax.space.parameters import Bool, Float, Parameter
from thomax.space.space import Space

Array = NDArray[np.float64]


def _drawn(d: int, k: int, seed: int) -> tuple[np.random.Generator, NDArray[np.int64]]:
    rng = np.random.default_rng([d, k, seed])
    return rng, np.sort(rng.choice(d, k, replace=False))


def waves(seed: int) -> Problem:
    """Return a rippled bowl in three of 15 parameters."""
    rng, active = _drawn(15, 3, seed)
    best = rng.uniform(-0.8, 0.8, 15)
    turn = weights(3, 5.0)[:, None] * rotation(rng, 3)

    def value(x: Array) -> float:
        z = turn @ (x - best)[active]
        return -float(z @ z + 0.6 * np.sum(1 - np.cos(2 * math.pi * z)))

    return on_box("sparse_waves15", value, -1, 1, 15, best)


def network(seed: int) -> Problem:
    """Return a random network of four of 25 parameters."""
    rng, active = _drawn(25, 4, seed)
    first, second = 2 * rng.standard_normal((16, 5)), rng.standard_normal(16)
    slope = 0.01 * rng.standard_normal(25)

    def value(x: Array) -> float:
        return float(second @ np.tanh(first @ np.append(x[active], 0.5)) + slope @ x)

    return on_box("sparse_network25", value, -1, 1, 25)


def edges(seed: int) -> Problem:
    """Return a saturating function of five of 20 parameters, with products of neighbours."""
    rng, active = _drawn(20, 5, seed)
    sign, rate, pair = rng.choice([-1.0, 1.0], 5), rng.uniform(1, 6, 5), rng.uniform(-1, 1, 4)

    def value(x: Array) -> float:
        u = (1 + sign * x[active]) / 2
        return float(np.sum((1 - np.exp(-rate * u)) / rate) + pair @ (u[1:] * u[:-1]))

    return on_box("sparse_edges20", value, -1, 1, 20)


def heaps(seed: int) -> Problem:
    """Return the highest of six bells in four of 30 parameters."""
    rng, active = _drawn(30, 4, seed)
    centres, heights = rng.uniform(-0.9, 0.9, (6, 4)), np.linspace(1, 0.5, 6)
    shapes = [rng.uniform(1, 3, 4)[:, None] * rotation(rng, 4) for _ in range(6)]
    best = np.zeros(30)
    best[active] = centres[0]

    def value(x: Array) -> float:
        away = [
            float(np.sum((a @ (x[active] - c)) ** 2)) for a, c in zip(shapes, centres, strict=True)
        ]
        return float(np.max(heights * np.exp(-0.5 * np.array(away))))

    return on_box("sparse_heaps30", value, -1, 1, 30, best)


def gates(seed: int) -> Problem:
    """Return a function of ten switches and ten numbers: two switches say which numbers matter."""
    rng = np.random.default_rng([20, seed])
    gate = rng.choice(10, 2, replace=False)
    right = rng.integers(2, size=2).astype(bool)
    active = rng.permutation(10)[:8].reshape(4, 2)  # numbers of each state of the gates
    centres, tops = rng.uniform(-0.8, 0.8, (4, 2)), np.array([0.0, -0.3, -0.4, -0.8])
    turn = np.array([rotation(rng, 2) for _ in range(4)])

    def judge(params: Params) -> float:
        wrong = [bool(params[f"b{g + 1}"]) != r for g, r in zip(gate, right, strict=True)]
        state = 2 * wrong[0] + wrong[1]
        x = np.array([params[f"x{i + 1}"] for i in active[state]])
        z = np.array([3.0, 1.0]) * (turn[state] @ (x - centres[state]))
        return float(tops[state] - np.linalg.norm(z))

    switches: dict[str, Parameter] = {f"b{i + 1}": Bool() for i in range(10)}
    numbers: dict[str, Parameter] = {f"x{i + 1}": Float(-1, 1) for i in range(10)}
    best: Params = dict.fromkeys(switches, False) | dict.fromkeys(numbers, 0.0)
    best |= {f"b{g + 1}": bool(r) for g, r in zip(gate, right, strict=True)}
    best |= {f"x{i + 1}": float(c) for i, c in zip(active[0], centres[0], strict=True)}
    return exact("sparse_gates20", Space(switches | numbers), judge, 0.0, best=best)


SPARSE = {
    "sparse_waves15": waves,
    "sparse_network25": network,
    "sparse_edges20": edges,
    "sparse_heaps30": heaps,
    "sparse_gates20": gates,
}

"""Functions made when the defaults stood, less kind than those of development.

(Earlier forms of some had a part in choosing: those are `related` in `benchmarks.compare.suites`.)

Optima lie anywhere in the box, on its edges too; some functions are turned, so that no parameter
can be set by itself, and some are noisy. Two kinds have no known optimum:

    ridges   waves along random directions, steeper along some parameters, and a plane
    path     points that a path follows among discs: to cross one costs much, at once
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.functions import ACKLEY10, HARTMANN6, LEVY10, ROSENBROCK8, Choices, Function
from benchmarks.tasks.problem import Params, Problem
from thomax.space.parameters import Float
from thomax.space.space import Space

Array = NDArray[np.float64]

_WAVES = 12
_DISCS = 15
_PLACES = 300  # of a path
_SMOOTHED = 15  # neighbouring places that are averaged
_FREE_COST, _HIT_COST = 0.3, 8.0
_START, _GOAL = [0.05, 0.05], [0.95, 0.95]


def _rastrigin(x: Array) -> float:
    return -float(np.sum(x**2 + 10 * (1 - np.cos(2 * math.pi * x))))


def _styblinski(x: Array) -> float:
    return -float(0.5 * np.sum(x**4 - 16 * x**2 + 5 * x))


def _griewank(x: Array) -> float:
    ripple = np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1))))
    return -float(1 + np.sum(x**2) / 4000 - ripple)


def _ellipsoid(x: Array) -> float:
    return -float(np.sum(100 ** np.linspace(0, 1, len(x)) * x**2))


def _zakharov(x: Array) -> float:
    slope = np.sum(0.5 * np.arange(1, len(x) + 1) * x)
    return -float(np.sum(x**2) + slope**2 + slope**4)


def _anywhere(
    name: str,
    value: Callable[[Array], float],
    low: float,
    high: float,
    best: list[float],
    *,
    turned: bool = False,
) -> Function:
    box = [low] * len(best), [high] * len(best)
    return Function(name, value, *box, best, margin=0.0, turned=turned)


def _ridges(name: str, d: int) -> Problem:
    rng = np.random.default_rng(d)
    directions = 1.5 * rng.standard_normal((_WAVES, d)) * rng.gamma(1.0, 1.0, d)
    phases, heights = rng.uniform(0, 2 * math.pi, _WAVES), rng.standard_normal(_WAVES)
    plane = 0.5 * rng.standard_normal(d)

    def value(x: Array) -> float:
        return float(heights @ np.cos(directions @ x + phases) + plane @ x)

    return _on_box(name, value, -1, d)


def _path(name: str, d: int) -> Problem:
    rng = np.random.default_rng(d)
    centres, radii = rng.uniform(0.1, 0.9, (_DISCS, 2)), rng.uniform(0.05, 0.12, _DISCS)

    def value(x: Array) -> float:
        places = _along(np.array([_START, *x.reshape(-1, 2), _GOAL]))
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
        middles = (places[1:] + places[:-1]) / 2
        hit = (np.linalg.norm(middles[:, None] - centres, axis=2) < radii).any(axis=1)
        return 5 - float(steps @ (_FREE_COST + _HIT_COST * hit))

    return _on_box(name, value, 0, d)


def _along(points: Array) -> Array:
    """Return places along the points: straight lines with rounded corners, the ends kept."""
    t = np.linspace(0, len(points) - 1, _PLACES)
    lines = np.stack([np.interp(t, np.arange(len(points)), c) for c in points.T])
    padded = np.pad(lines, ((0, 0), (_SMOOTHED // 2, _SMOOTHED // 2)), mode="edge")
    weights = np.full(_SMOOTHED, 1 / _SMOOTHED)
    return np.stack([np.convolve(c, weights, "valid") for c in padded], axis=1)


def _on_box(name: str, value: Callable[[Array], float], low: float, d: int) -> Problem:
    names = [f"x{i + 1}" for i in range(d)]

    def judge(params: Params) -> float:
        return value(np.array([params[n] for n in names]))

    space = Space({n: Float(low, 1) for n in names})
    return Problem(name, space, lambda params, rng: judge(params), judge)


FURTHER: dict[str, Function | Choices] = {
    function.name: function
    for function in (
        _anywhere("rastrigin8", _rastrigin, -5.12, 5.12, [0.0] * 8),
        _anywhere("styblinski8", _styblinski, -5, 5, [-2.903534] * 8),
        _anywhere("griewank12", _griewank, -60, 60, [0.0] * 12),
        _anywhere("ellipsoid15", _ellipsoid, -5, 5, [0.0] * 15, turned=True),
        _anywhere("levy6", LEVY10.value, -10, 10, [1.0] * 6, turned=True),
        _anywhere("ackley12", ACKLEY10.value, -10, 10, [0.0] * 12),
        _anywhere("rosenbrock6", ROSENBROCK8.value, -3, 3, [1.0] * 6),
        _anywhere("zakharov8", _zakharov, -5, 10, [0.0] * 8),
        replace(HARTMANN6, name="noisy_hartmann6", noise_std=0.4),
        replace(LEVY10, name="noisy_levy10", noise_std=8.0),
        Choices("mixed_c", [3, 3], floats=8, ints=2),
    )
}
SINGLE_FURTHER: dict[str, Callable[[], Problem]] = {
    "ridges6": partial(_ridges, "ridges6", 6),
    "ridges12": partial(_ridges, "ridges12", 12),
    "path10": partial(_path, "path10", 10),
    "path20": partial(_path, "path20", 20),
}

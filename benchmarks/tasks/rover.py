"""A rover finds its way between obstacles: 20 numbers, 10 points that a smooth path follows.

Wang et al. (2018), "Batched large-scale Bayesian optimization in high-dimensional spaces": the
smaller of their two domains. The path is a smoothing spline. Away from the corners of the box it
needs no inner knot and is one cubic per coordinate, which we fit directly: much faster, and it
does not mind points that coincide.

Notation:
    u       the inputs, points (x, y) one after the other, in units of the box     (20,)
    t       chord-length parameter of the points, from 0 at the start to 1         (12,)
    B       Bernstein polynomials of degree 3 at given parameters                  (n, 4)
    P       control points of a cubic path                                         (4, 2)
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, splprep

from benchmarks.tasks.problem import Params, Problem
from thomax.space.parameters import Float
from thomax.space.space import Space

Array = NDArray[np.float64]

START, GOAL = np.array([0.05, 0.05]), np.array([0.95, 0.95])
LOW, WIDTH = -0.1, 1.2  # the box of the points is a little larger than the map [0, 1)^2
INPUT_NOISE_STD = 1e-4
FREE_COST, HIT_COST = 0.05, 20.0
OFFSET = 5.0
HALF_SIDE = 0.05
SMOOTHING = 12 - math.sqrt(24)  # m - sqrt(2 m) for m points, FITPACK's usual choice
PLACES = np.linspace(0, 1, 1000)
OBSTACLES = np.array([
    [0.11353145, 0.17251116], [0.4849413, 0.7684513], [0.38840863, 0.10730809],
    [0.32968556, 0.37542275], [0.64342773, 0.32438415], [0.42, 0.35],
    [0.38745546, 0.0688907], [0.05771529, 0.1670573], [0.48750001, 0.67864249],
    [0.5294646, 0.66245226], [0.88495861, 0.76770809], [0.71132462, 0.46580745],
    [0.02038182, 0.32146063], [0.34077448, 0.70446464], [0.61490175, 0.79081785],
    [0.37367616, 0.6720441], [0.14711569, 0.57060365], [0.76084188, 0.65168123],
    [0.51038721, 0.78655373], [0.50396508, 0.90299952], [0.23763956, 0.38260748],
    [0.40169679, 0.72553068], [0.59670114, 0.08541569], [0.5514408, 0.62855134],
    [0.84606733, 0.94264543], [0.8, 0.19590218], [0.39181603, 0.46357532],
    [0.44800403, 0.27380116], [0.5681913, 0.1468706], [0.37418262, 0.69210095],
])  # fmt: skip
NAMES = [f"{axis}{i}" for i in range(1, 11) for axis in "xy"]


def rover() -> Problem:
    """Return the rover's problem: 5 minus the cost of its path.

    Example:
        >>> problem = rover()
        >>> round(problem.judge(dict.fromkeys(problem.space.parameters, 0.5)), 3)
        0.113
    """
    return Problem("rover", Space({name: Float(0, 1) for name in NAMES}), _noisy_value, _value)


def _noisy_value(params: Params, rng: np.random.Generator) -> float:
    return _value_at(_points(params) + INPUT_NOISE_STD * rng.standard_normal((10, 2)))


def _value(params: Params) -> float:
    return _value_at(_points(params))


def _points(params: Params) -> Array:
    u = np.array([params[name] for name in NAMES])
    return (LOW + WIDTH * u).reshape(10, 2)


def _value_at(points: Array) -> float:
    path = _path(np.vstack([START, points, GOAL]))
    costs = np.where(_hits(path), FREE_COST + HIT_COST, FREE_COST)
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    return OFFSET - float(lengths @ (costs[1:] + costs[:-1]) / 2)


def _path(through: Array) -> Array:
    """Fit a curve by least squares, then tie its ends to start and goal."""
    chords = np.linalg.norm(np.diff(through, axis=0), axis=1)
    t = np.concatenate([[0], np.cumsum(chords)]) / chords.sum()
    B = _bernstein(t)
    P = np.linalg.lstsq(B, through, rcond=None)[0]
    if ((B @ P - through) ** 2).sum() > SMOOTHING:
        return _path_with_knots(t, through)
    P[0], P[-1] = START, GOAL
    return _bernstein(PLACES) @ P


def _path_with_knots(t: Array, through: Array) -> Array:
    """Let FITPACK add knots until the curve is close enough.

    It needs increasing parameters, so points that coincide become one of their joint weight.
    """
    t, first, count = np.unique(t, return_index=True, return_counts=True)
    fit: Any = splprep(through[first].T, w=np.sqrt(count), u=t, s=SMOOTHING)
    (knots, coefficients, degree), _ = fit
    P = np.stack(coefficients, axis=1)
    P[0], P[-1] = START, GOAL
    return BSpline(knots, P, degree)(PLACES)


def _bernstein(t: Array) -> Array:
    s = 1 - t
    return np.stack([s**3, 3 * s**2 * t, 3 * s * t**2, t**3], axis=1)


def _hits(path: Array) -> NDArray[np.bool_]:
    """Return whether each place lies in an obstacle or off the map; low edges belong to it."""
    place = path[:, None, :]
    low, high = OBSTACLES - HALF_SIDE, OBSTACLES + HALF_SIDE
    inside = ((low <= place) & (place < high)).all(-1).any(-1)
    off_map = ((path < 0) | (path >= 1)).any(-1)
    return np.logical_or(inside, off_map)

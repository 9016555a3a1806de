"""Rotated, non-separable functions; the seed of a run draws rotation, shift and shape.

Most shapes are known from the COCO platform's noiseless suite (Hansen et al., 2009), written anew:

    ellipsoid   squares of very different weight          sector      steep on one side of the best
    steps       an ellipsoid of plateaus                  discus      one direction matters a lot
    ridge       a sharp ridge to follow                   powers      exponents from 2 to 6
    weierstrass rough at every scale                      schaffer    ripples that grow outwards
    peaks       21 peaks of different shape               funnels     the wide funnel is the worse
    composite   the best of four functions with places and rotations of their own

All are largest, 0, at a random place of the box [-5, 5]^d.

Notation:
    z   a point seen from the best one, rotated   (d,)
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Problem, on_box

Array = NDArray[np.float64]
Cost = Callable[[Array], float]
Draw = Callable[[int, np.random.Generator], Cost]

_EDGE = 5.0
_INNER = 4.0  # no coordinate of the best point is larger
_PEAKS = 21
_OCTAVES = 12  # of the Weierstrass function
_SECOND_FUNNEL = 2.5  # the coordinates of its bottom


def rotation(rng: np.random.Generator, d: int) -> Array:
    """Return a random rotation, or one with a reflection.

    Example:
        >>> q = rotation(np.random.default_rng(0), 3)
        >>> bool(np.allclose(q @ q.T, np.eye(3)))
        True
    """
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def weights(d: int, largest: float) -> Array:
    """Return weights that grow from 1 to the largest by the same factor each.

    Example:
        >>> weights(3, 100.0).tolist()
        [1.0, 10.0, 100.0]
    """
    return np.asarray(largest ** np.linspace(0, 1, d))


def _ellipsoid(d: int, rng: np.random.Generator) -> Cost:
    w = weights(d, 1e4)
    return lambda z: float(w @ z**2)


def _sector(d: int, rng: np.random.Generator) -> Cost:
    steep, w = rng.choice([-1.0, 1.0], d), weights(d, 10.0)
    second = rotation(rng, d)

    def cost(z: Array) -> float:
        turned = second @ (w * z)
        return float(np.sum((np.where(turned * steep > 0, 100.0, 1.0) * turned) ** 2) ** 0.45)

    return cost


def _steps(d: int, rng: np.random.Generator) -> Cost:
    second, w = rotation(rng, d), weights(d, 100.0)

    def cost(z: Array) -> float:
        scaled = math.sqrt(10) ** np.linspace(0, 1, d) * z
        rounded = np.where(np.abs(scaled) > 0.5, np.round(scaled), np.round(10 * scaled) / 10)
        return float(max(abs(scaled[0]) / 1e4, w @ (second @ rounded) ** 2) / 10)

    return cost


def _discus(d: int, rng: np.random.Generator) -> Cost:
    return lambda z: float(1e4 * z[0] ** 2 + z[1:] @ z[1:])


def _ridge(d: int, rng: np.random.Generator) -> Cost:
    w = weights(d, 10.0)
    return lambda z: float((w[0] * z[0]) ** 2 + 100 * np.linalg.norm((w * z)[1:]))


def _powers(d: int, rng: np.random.Generator) -> Cost:
    exponents = 2 + 4 * np.linspace(0, 1, d)
    return lambda z: float(np.sqrt(np.sum(np.abs(z) ** exponents)))


def _weierstrass(d: int, rng: np.random.Generator) -> Cost:
    second, w = rotation(rng, d), weights(d, 0.1)
    k = np.arange(_OCTAVES)[:, None]
    lowest = float(np.sum(0.5**k * np.cos(math.pi * 3.0**k)))

    def cost(z: Array) -> float:
        turned = second @ (w * z)
        waves = 0.5**k * np.cos(2 * math.pi * 3.0**k * (turned + 0.5))
        return float(10 * (waves.sum() / d - lowest) ** 3 + 0.1 * z @ z)

    return cost


def _schaffer(d: int, rng: np.random.Generator) -> Cost:
    second, w = rotation(rng, d), weights(d, 30.0)

    def cost(z: Array) -> float:
        turned = w * (second @ z)
        s = np.hypot(turned[:-1], turned[1:])
        return float(np.mean(np.sqrt(s) * (1 + np.sin(50 * s**0.2) ** 2)) ** 2)

    return cost


def _peaks(d: int, rng: np.random.Generator) -> Cost:
    centres = rng.uniform(-_EDGE, _EDGE, (_PEAKS, d))
    centres[0] = 0.0
    heights = np.array([10.0, *np.linspace(1.1, 9.1, _PEAKS - 1)])
    largest = 1000.0 ** rng.permutation(np.linspace(0, 1, _PEAKS))
    shapes = np.array([rng.permutation(weights(d, c) / c**0.25) for c in largest])

    def cost(z: Array) -> float:
        away = np.sum(shapes * (z - centres) ** 2, axis=1)
        return float(10 - np.max(heights * np.exp(-away / (2 * d)))) ** 2

    return cost


def _funnels(d: int, rng: np.random.Generator) -> Cost:
    second = rotation(rng, d)
    other = _SECOND_FUNNEL * rng.choice([-1.0, 1.0], d)

    def cost(z: Array) -> float:
        bowl = min(float(z @ z), d + 0.5 * float((z - other) @ (z - other)))
        return bowl + 2 * float(np.sum(1 - np.cos(2 * math.pi * (second @ z))))

    return cost


def _composite(d: int, rng: np.random.Generator) -> Cost:
    parts = []
    for i, draw in enumerate((_powers, _ellipsoid, _ridge, _discus)):
        cost, turn = draw(d, rng), rotation(rng, d)
        usual = float(np.median([cost(z) for z in rng.uniform(-_EDGE, _EDGE, (200, d))]))
        centre = rng.uniform(-_INNER, _INNER, d) if i else np.zeros(d)
        parts.append((cost, turn, centre, usual, 0.15 * i))

    def combined(z: Array) -> float:
        return min(
            bias + cost(turn @ (z - centre)) / usual for cost, turn, centre, usual, bias in parts
        )

    return combined


def rotated(name: str, d: int, draw: Draw, seed: int) -> Problem:
    """Return the function that this seed draws, turned around its best point."""
    rng = np.random.default_rng([d, seed])
    best, turn, cost = rng.uniform(-_INNER, _INNER, d), rotation(rng, d), draw(d, rng)
    return on_box(name, lambda x: -cost(turn @ (x - best)), -_EDGE, _EDGE, d, best)


ROTATED: dict[str, tuple[int, Draw]] = {
    "ellipsoid10": (10, _ellipsoid),
    "sector10": (10, _sector),
    "steps8": (8, _steps),
    "discus20": (20, _discus),
    "ridge12": (12, _ridge),
    "powers15": (15, _powers),
    "weierstrass6": (6, _weierstrass),
    "schaffer7": (7, _schaffer),
    "peaks8": (8, _peaks),
    "funnels10": (10, _funnels),
    "composite9": (9, _composite),
}

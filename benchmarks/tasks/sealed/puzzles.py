"""Puzzles of choices; the seed draws the instance.

clauses24   weighted clauses of three switches, all of which can be met
colours16   colours of a map's 16 countries, of which three suffice
folding14   a chain on a square lattice: contacts of the parts that avoid water
knapsack22  what to pack, within three limits
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem, exact
from thomax.space.parameters import Bool, Categorical
from thomax.space.space import Space

Array = NDArray[np.float64]

_COLOURS = ("red", "green", "blue", "white")
_TURNS = {"left": 1j, "straight": 1 + 0j, "right": -1j}


def clauses(seed: int) -> Problem:
    """Return the weight of the clauses that are met; a hidden assignment meets all."""
    rng = np.random.default_rng([24, seed])
    hidden = rng.integers(2, size=24).astype(bool)
    members = np.array([rng.choice(24, 3, replace=False) for _ in range(110)])
    wanted = rng.integers(2, size=members.shape).astype(bool)
    unmet = ~(hidden[members] == wanted).any(axis=1)
    wanted[unmet, 0] = hidden[members[unmet, 0]]
    weight = rng.dirichlet(np.full(110, 2.0))

    def judge(params: Params) -> float:
        bits = np.array([params[f"b{i + 1}"] for i in range(24)], dtype=bool)
        return float(weight @ (bits[members] == wanted).any(axis=1))

    space = Space({f"b{i + 1}": Bool() for i in range(24)})
    best = {f"b{i + 1}": bool(b) for i, b in enumerate(hidden)}
    return exact("clauses24", space, judge, judge(best), best=best)


def colours(seed: int) -> Problem:
    """Return minus the weight of borders between equal colours, and the price of white."""
    rng = np.random.default_rng([16, 4, seed])
    hidden = rng.integers(3, size=16)
    borders = np.array([(i, j) for i in range(16) for j in range(i) if hidden[i] != hidden[j]])
    borders = borders[rng.permutation(len(borders))[:34]]
    weight = rng.uniform(0.3, 1.7, len(borders))

    def judge(params: Params) -> float:
        c = np.array([_COLOURS.index(params[f"country{i + 1}"]) for i in range(16)])
        equal = c[borders[:, 0]] == c[borders[:, 1]]
        return -float(weight @ equal + 0.4 * np.sum(c == 3))

    space = Space({f"country{i + 1}": Categorical(_COLOURS) for i in range(16)})
    best = {f"country{i + 1}": _COLOURS[c] for i, c in enumerate(hidden)}
    return exact("colours16", space, judge, judge(best), best=best)


def folding(seed: int) -> Problem:
    """Return contacts between the parts of a chain that avoid water, less its crossings."""
    rng = np.random.default_rng([14, seed])
    avoids = rng.uniform(size=16) < 0.55
    strength = rng.uniform(0.5, 1.5, 16) * avoids

    def judge(params: Params) -> float:
        place, heading = [0j, 1 + 0j], 1 + 0j
        for i in range(14):
            heading *= _TURNS[params[f"turn{i + 1}"]]
            place.append(place[-1] + heading)
        z = np.array(place)
        away = np.abs(z[:, None] - z)
        crossings = np.triu(away < 0.5, 1).sum()
        touching = np.triu(np.abs(away - 1) < 0.1, 2)
        return float(strength @ touching @ strength - 1.5 * crossings)

    space = Space({f"turn{i + 1}": Categorical([*_TURNS]) for i in range(14)})
    return exact("folding14", space, judge)


def knapsack(seed: int) -> Problem:
    """Return the worth of what is packed; what is too much costs twice what it may bring."""
    rng = np.random.default_rng([22, seed])
    sizes = rng.uniform(0.1, 1, (3, 22))
    worth = sizes.mean(axis=0) + 0.4 * rng.uniform(size=22)
    together = np.triu(0.15 * rng.standard_normal((22, 22)), 1)
    room = 0.4 * sizes.sum(axis=1)

    def judge(params: Params) -> float:
        bits = np.array([params[f"b{i + 1}"] for i in range(22)], dtype=float)
        over = np.maximum(sizes @ bits - room, 0).sum()
        return float(worth @ bits + bits @ together @ bits - 2 * over)

    return exact("knapsack22", Space({f"b{i + 1}": Bool() for i in range(22)}), judge)


PUZZLES = {
    "clauses24": clauses,
    "colours16": colours,
    "folding14": folding,
    "knapsack22": knapsack,
}

"""Combinatorial problems of switches and choices; the seed draws the instance.

nk             Kauffman's landscapes: a switch and k neighbours look up their share in a table
maxcut         a weighted random graph in two parts: the weight between them
labs           binary sequences of low autocorrelation: the merit factor, some places inverted
contamination  after each stage one may pay to clean: contaminated stages cost
pests          at each stage one of four pesticides or none; pests get used to what is repeated
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem, exact
from thomax.space.parameters import Bool, Categorical
from thomax.space.space import Space

Array = NDArray[np.float64]
Bits = NDArray[np.int64]

_LISTED = 20  # switches whose states are all looked at to find the best
_PATHS = 50  # random courses that a cost is averaged over
_PESTICIDES = ("none", "a", "b", "c", "d")


def switches(n: int) -> Space:
    """Return a space of n switches.

    Example:
        >>> switches(3).size
        8
    """
    return Space({f"b{i + 1}": Bool() for i in range(n)})


def bits_of(params: Params) -> Bits:
    """Return the states of the switches as zeros and ones.

    Example:
        >>> bits_of({"b1": True, "b2": False}).tolist()
        [1, 0]
    """
    return np.array([params[f"b{i + 1}"] for i in range(len(params))], dtype=np.int64)


def all_bits(n: int) -> Bits:
    """Return all states of n switches, one row each.

    Example:
        >>> all_bits(2).tolist()
        [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return np.arange(2**n)[:, None] >> np.arange(n) & 1


def _as_params(bits: Bits) -> Params:
    return {f"b{i + 1}": bool(b) for i, b in enumerate(bits)}


def nk(n: int, k: int, seed: int) -> Problem:
    """Return a landscape of n switches, each with k neighbours drawn at random."""
    rng = np.random.default_rng([n, k, seed])
    others = [rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)]
    places = np.array([[i, *near] for i, near in enumerate(others)])
    tables = rng.uniform(0, 1, (n, 2 ** (k + 1)))
    powers = 2 ** np.arange(k + 1)

    def values(bits: Bits) -> Array:
        return np.mean([tables[i][bits[:, p] @ powers] for i, p in enumerate(places)], axis=0)

    def judge(params: Params) -> float:
        return float(values(bits_of(params)[None])[0])

    if n > _LISTED:
        return exact(f"nk{n}", switches(n), judge)
    everything = all_bits(n)
    found = values(everything)
    best = _as_params(everything[int(found.argmax())])
    return exact(f"nk{n}", switches(n), judge, judge(best), best=best)


def maxcut(n: int, seed: int) -> Problem:
    """Return the cut of a random graph of n vertices, with weights up to 1."""
    rng = np.random.default_rng([n, seed])
    w = np.triu(rng.uniform(0, 1, (n, n)) * (rng.uniform(size=(n, n)) < 0.4), 1)
    w = w + w.T

    def judge(params: Params) -> float:
        spins = 1.0 - 2 * bits_of(params)
        return float(w.sum() - spins @ w @ spins) / 4

    half = 1.0 - 2 * np.pad(all_bits(n - 1), ((0, 0), (0, 1)))  # the last one stays: by symmetry
    cuts = (w.sum() - np.einsum("ij,ij->i", half @ w, half)) / 4
    best = _as_params(half[int(cuts.argmax())] < 0)
    return exact(f"maxcut{n}", switches(n), judge, judge(best), best=best)


def labs(n: int, seed: int) -> Problem:
    """Return the merit factor of a binary sequence; the seed inverts some of the places."""
    mask = np.random.default_rng([n, seed]).choice([-1, 1], n)

    def judge(params: Params) -> float:
        s = mask * (1 - 2 * bits_of(params))
        correlations = np.correlate(s, s, "full")[n:]
        return n**2 / (2 * float(correlations @ correlations))

    return exact(f"labs{n}", switches(n), judge)


def contamination(n: int, seed: int) -> Problem:
    """Return minus the cost of cleaning after some of n stages, and of what stays contaminated."""
    rng = np.random.default_rng([n, seed])
    share = rng.beta(1, 30, _PATHS)
    spreads, cleans = rng.beta(1, 17 / 3, (_PATHS, n)), rng.beta(1, 3 / 7, (_PATHS, n))
    price = rng.uniform(0.1, 0.9, n)

    def judge(params: Params) -> float:
        z, cost = share, 0.0
        for i, clean in enumerate(bits_of(params)):
            z = (1 - cleans[:, i]) * z if clean else spreads[:, i] * (1 - z) + z
            cost += price[i] * clean + float(np.mean(z > 0.1)) - 0.05
        return -cost

    return exact(f"contamination{n}", switches(n), judge)


def pests(n: int, seed: int) -> Problem:
    """Return minus the cost of n stages, each with one of four pesticides or none."""
    rng = np.random.default_rng([n, seed])
    price, power = rng.uniform(0.5, 1.2, 4), rng.uniform(0.5, 0.95, 4)
    tolerance, growth = rng.uniform(0.1, 0.3, 4), rng.uniform(0.05, 0.35, (_PATHS, n))

    def judge(params: Params) -> float:
        pests, cost, left = np.full(_PATHS, 0.2), 0.0, power.copy()
        for i in range(n):
            choice = params[f"stage{i + 1}"]
            pests = np.minimum(pests * (1 + growth[:, i]) + 0.03, 1.0)
            if choice != "none":
                j = _PESTICIDES.index(choice) - 1
                pests = pests * (1 - left[j])
                cost += price[j] * 0.3
                left[j] *= 1 - tolerance[j]
            cost += float(np.mean(np.maximum(pests - 0.1, 0))) * 3
        return -cost

    space = Space({f"stage{i + 1}": Categorical(_PESTICIDES) for i in range(n)})
    return exact(f"pests{n}", space, judge)

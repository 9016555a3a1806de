"""Scores whose maxima are known, spaces to find them in, and the best points found by hand."""

from dataclasses import dataclass
from functools import partial
from itertools import product

import jax
import numpy as np

from thomax import (
    MLP,
    Bool,
    Categorical,
    Data,
    Float,
    Int,
    Ordinal,
    Search,
    Space,
    STOBNTSLinear,
    make_keys,
)

register = partial(
    jax.tree_util.register_dataclass,
    data_fields=["centre", "scale", "target"],
    meta_fields=["single"],
)


def score_class(values):
    """Make a score, a registered record of arrays, from a function of (target, x)."""

    @register
    @dataclass(frozen=True)
    class Score:
        centre: np.ndarray
        scale: np.ndarray
        single: bool
        target: np.ndarray

        def values(self, x):
            return values(self.target, x)

    def of(*targets):
        zeros = np.zeros(len(targets))
        return Score(zeros, zeros + 1, False, np.array(targets, np.float32))

    return of


bowl = score_class(lambda target, x: -((x - target) ** 2).sum(-1))
linear = score_class(lambda target, x: x @ target)
needle = score_class(lambda target, x: jax.numpy.exp(-200 * ((x - target) ** 2).sum(-1)))
# Target: heights and places of three peaks, one for each choice; the last column is the place.
peaks = score_class(
    lambda target, x: x[:, :3] @ target[:3] - 4 * (x[:, 3] - x[:, :3] @ target[3:]) ** 2
)

QUICK = Search(candidates=300, restarts=4)


def rng(seed=0):
    return np.random.default_rng(seed)


def draws(space, count=5):
    """Return posterior draws of a small network, rough enough to have many local maxima."""
    x = space.sample(rng(1), 12)
    policy = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
    return policy(make_keys(0, count), Data(x, rng(2).normal(size=12)))


LEVELS = ["a", "b", "c", "d"]
SPACES = {
    "categorical": Space({f"c{i}": Categorical(LEVELS) for i in range(4)}),
    "conditional": Space({
        "kind": Categorical(["tree", "line"]),
        "depth": Int(1, 30, when={"kind": "tree"}),
        "slope": Float(-1, 1, step=0.1, when={"kind": "line"}),
        "flag": Bool(),
    }),
    "constrained": Space(
        {"a": Int(0, 40), "b": Ordinal([1, 2, 5, 10])},
        constraint=lambda p: (p["a"] + p["b"]) % 3 == 1,
    ),
    "larger than a chunk": Space({"a": Int(0, 150), "b": Int(0, 150)}),
}  # fmt: skip

CUBE = Space({name: Float(-1, 1) for name in "abcdef"})
INSIDE = np.array([0.3, -0.7, 0.05, 0.9, -0.2, 0.55])
BEYOND = np.array([1.5, -0.7, -3.0, 0.9, -0.2, 2.0])
MIXED = Space({"kind": Categorical(["a", "b", "c"]), "place": Float(-1, 1)})


def all_points(space):
    """List the points of a space by hand: every combination that it accepts, once."""
    places = [p.scale.place(np.arange(p.scale.count)) for p in space.parameters.values()]
    rows = np.array([np.concatenate(row) for row in product(*places)])
    points = {tuple(params.items()): params for params in space.decode(rows)}
    return [p for p in points.values() if space.constraint is None or space.constraint(p)]


def greedy_by_hand(values, taken=()):
    """Give each draw its best point which no draw before it has got."""
    chosen = []
    for row in values:
        chosen.append(next(i for i in np.argsort(-row) if i not in [*taken, *chosen]))
    return chosen

"""How much of the model's variation each parameter explains: Sobol indices by full grids.

Notation:
    f(n, l)   a function at random point n with one parameter moved to level l     (N, L)
    m(l)      mean of f over the points: the parameter's main effect               (L,)
    V         variance of f over all these points

    first     Var_l m(l) / V,         what the parameter explains alone
    total     mean_n Var_l f(n, l) / V,   with all its interactions

The levels are the middles of L equal parts of the parameter's scale, or its choices (32 of them
where there are more); random points take each of them equally often. Var_l m(l) also contains 1/N
of the interactions by chance: that part, estimated as in a two-way analysis of variance, is taken
off. A constraint is ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thomax.model.evaluation import CHUNK
from thomax.space.encoding import OneHot
from thomax.space.parameters import Numeric, Parameter
from thomax.space.space import Space

_LEVELS = 8
_MOST_LEVELS = 32  # of a categorical
_EVALUATIONS = 2 * CHUNK  # of each draw, in all
_FEWEST_POINTS, _MOST_POINTS = 24, 256


@dataclass(frozen=True)
class Importance:
    """Shares of the posterior mean's variance by parameter.

    Args:
        names: The parameters.
        first: What each explains alone.
        total: What each explains with all its interactions.
        low: The 5 % quantiles of `first` over the posterior draws.
        high: The 95 % quantiles of `first` over the posterior draws.
        points: The number of random points at which each parameter was moved.
    """

    names: list[str]
    first: np.ndarray
    total: np.ndarray
    low: np.ndarray
    high: np.ndarray
    points: int

    @property
    def ranking(self) -> list[str]:
        """The names, the most important first."""
        return [self.names[i] for i in np.argsort(-self.total, kind="stable")]


def importance_of(
    functions: Callable[[np.ndarray], np.ndarray], space: Space, rng: np.random.Generator
) -> Importance:
    """Estimate the indices of B functions, given as x -> (B, N), and of their mean.

    Args:
        functions: The functions, from encoded points (N, d) to values (B, N).
        space: Their space.
        rng: What chooses the points.
    """
    grids = {name: levels_of(p) for name, p in space.parameters.items()}
    each = _EVALUATIONS // sum(len(levels) for levels in grids.values())
    count = min(max(each, _FEWEST_POINTS), _MOST_POINTS)
    # Every parameter gets a value, active or not: one that a moved parameter activates needs it.
    base = np.hstack([_shuffled(levels, count, rng) for levels in grids.values()])
    rows = [_moved(base, space, name, levels) for name, levels in grids.items()]
    values = functions(space.snap(np.concatenate(rows)))
    values = values / max(float(np.abs(values).max()), np.finfo(float).tiny)  # squares are finite
    values = np.concatenate([values.mean(0, keepdims=True), values])  # the mean comes first
    parts = np.split(values, np.cumsum([len(r) for r in rows])[:-1], axis=1)
    effects = [effects_of(part.reshape(len(part), count, -1)) for part in parts]
    # The draws, too, are measured by the mean's variance: their own contains all that is unknown.
    variance = max(float(values[0].var()), np.finfo(float).tiny)
    first, total = (np.stack(e, axis=1) / variance for e in zip(*effects, strict=True))
    low, high = np.quantile(first[1:], [0.05, 0.95], axis=0)
    first, total = np.minimum(first[0], 1.0), np.minimum(total[0], 1.0)  # more is sampling error
    return Importance([*grids], first, total, low, high, count)


def effects_of(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the variances explained alone and in total by the last axis of f (..., N, L).

    Args:
        f: Values at N points with one parameter at L levels.

    Examples:
        >>> points, levels = np.array([[1.0], [-1.0]]), np.array([[3.0, -3.0]])
        >>> [float(v) for v in effects_of(points + levels)]
        [9.0, 9.0]
        >>> [float(v) for v in effects_of(points * levels)]
        [0.0, 9.0]
    """
    count = f.shape[-2]
    main = f.mean(-2, keepdims=True)
    point = f.mean(-1, keepdims=True)
    interaction = ((f - main - point + f.mean((-2, -1), keepdims=True)) ** 2).mean((-2, -1))
    by_chance = interaction / max(count - 1, 1)
    first = np.maximum(main[..., 0, :].var(-1) - by_chance, 0.0)
    return first, f.var(-1).mean(-1)


def levels_of(parameter: Parameter) -> np.ndarray:
    """Return places of a parameter that stand for equal parts of its scale, (L, width).

    Args:
        parameter: A parameter of the space.
    """
    scale = parameter.scale
    if isinstance(scale, OneHot):
        return scale.place(spread_codes(scale.count, _MOST_LEVELS))
    is_log = isinstance(parameter, Numeric) and parameter.log
    if scale.count <= _LEVELS and not is_log:
        return scale.place(np.arange(scale.count))
    middles = (2 * np.arange(_LEVELS) + 1) / _LEVELS - 1
    return scale.place(scale.nearest(middles[:, None]))


def spread_codes(count: int, most: int) -> np.ndarray:
    """Return the codes 0 to count - 1, or `most` of them from everywhere.

    Args:
        count: How many codes there are.
        most: How many to return at most.

    Examples:
        >>> spread_codes(3, 5).tolist(), spread_codes(11, 3).tolist()
        ([0, 1, 2], [0, 5, 10])
    """
    return np.rint(np.linspace(0, count - 1, min(count, most))).astype(np.int64)


def _shuffled(levels: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return every level equally often, or as nearly as may be, in random order."""
    return rng.permutation(np.resize(levels, (count, levels.shape[1])))


def _moved(base: np.ndarray, space: Space, name: str, levels: np.ndarray) -> np.ndarray:
    """Return every point with one parameter at every level, (N L, d)."""
    columns = next(block.columns for block in space.blocks if block.name == name)
    rows = np.repeat(base, len(levels), axis=0)
    rows[:, columns] = np.tile(levels, (len(base), 1))
    return rows

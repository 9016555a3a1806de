"""Cuts through the model: one or two parameters move, the others stay at a good trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from thomax.report.belief import Belief
from thomax.report.importance import spread_codes
from thomax.space.parameters import Listed, Parameter
from thomax.space.space import Space
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Trial

MOST_SLICES, MOST_PAIRED = 12, 4
_POINTS, _PAIR_POINTS = 41, 21
_MOST_CHOICES = 30
_SAMPLES = 3  # draws that are shown one by one


@dataclass(frozen=True)
class Slice:
    """The belief along one parameter: mean, 5–95 % band and a few draws.

    Args:
        name: The parameter.
        centre: The trial that gives the other parameters their values.
        values: The parameter's values.
        mean: The posterior mean at each.
        low: The 5 % quantiles of the posterior draws.
        high: The 95 % quantiles of the posterior draws.
        samples: A few draws, one row each.
    """

    name: str
    centre: Trial
    values: list[object]
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    samples: np.ndarray


@dataclass(frozen=True)
class Pair:
    """The mean belief over two parameters, a row for each value of the second.

    Args:
        names: The two parameters.
        centre: The trial that gives the other parameters their values.
        values: The values of both.
        mean: The posterior mean at each pair of values.
    """

    names: tuple[str, str]
    centre: Trial
    values: tuple[list[object], list[object]]
    mean: np.ndarray


@dataclass(frozen=True)
class _Cut:
    names: tuple[str, ...]
    centre: Trial
    values: list[list[object]]
    rows: np.ndarray


def cuts_of(
    snapshot: Snapshot,
    space: Space,
    belief: Belief,
    ranking: Sequence[str],
    preferred: Sequence[Trial],
) -> tuple[list[Slice], list[Pair]]:
    """Cut along the most important parameters, through the first preferred trial that has them.

    A parameter that no trial had active is left out.

    Args:
        snapshot: The search.
        space: Its space.
        belief: The posterior draws.
        ranking: The parameters, the most important first.
        preferred: Trials to cut through, the best first.
    """
    wanted: list[tuple[str, ...]] = [(name,) for name in ranking[:MOST_SLICES]]
    wanted += combinations(ranking[:MOST_PAIRED], 2)
    cuts = [
        cut for names in wanted if (cut := _cut(snapshot, space, names, preferred)) is not None
    ]
    if not cuts:
        return [], []
    # One call for all: every size of input compiles anew.
    values = belief.values(np.concatenate([cut.rows for cut in cuts]))
    parts = np.split(values, np.cumsum([len(cut.rows) for cut in cuts])[:-1], axis=1)
    found = [*zip(cuts, parts, strict=True)]
    return (
        [_slice(cut, part) for cut, part in found if len(cut.names) == 1],
        [_pair(cut, part) for cut, part in found if len(cut.names) == 2],
    )


def _cut(
    snapshot: Snapshot, space: Space, names: tuple[str, ...], preferred: Sequence[Trial]
) -> _Cut | None:
    centre = next((t for t in preferred if all(name in t.params for name in names)), None)
    if centre is None or _depend(space, names):
        return None
    count = _POINTS if len(names) == 1 else _PAIR_POINTS
    grids = [grid_of(space.parameters[name], count, centre.params[name]) for name in names]
    mesh = np.meshgrid(*(np.arange(len(places)) for _, places in grids))
    rows = np.repeat(snapshot.encode([centre]), mesh[0].size, axis=0)
    columns = {block.name: block.columns for block in space.blocks}
    for name, (_, places), indices in zip(names, grids, mesh, strict=True):
        rows[:, columns[name]] = places[indices.ravel()]
    return _Cut(names, centre, [values for values, _ in grids], space.snap(rows))


def _depend(space: Space, names: tuple[str, ...]) -> bool:
    """Return whether one parameter switches another off: then there is no plane of the two."""
    return any(other in space.parameters[name].conditions for name in names for other in names)


def grid_of(parameter: Parameter, count: int, centre: object) -> tuple[list[object], np.ndarray]:
    """Return values of a parameter in their order, and their places: all, or evenly spread.

    That of the centre is one of them where options are listed.

    Args:
        parameter: The parameter.
        count: How many values to take from a range of more.
        centre: A value of the parameter; one of those returned where options are listed.
    """
    scale = parameter.scale
    if isinstance(parameter, Listed):
        codes = spread_codes(int(scale.count), _MOST_CHOICES)
        codes = np.union1d(codes, [parameter.code_of(centre)])
    elif scale.count <= count:
        codes = np.arange(scale.count)
    else:
        codes = np.unique(scale.nearest(np.linspace(-1, 1, count)[:, None]))
    return [parameter.value_of(code) for code in codes.tolist()], scale.place(codes)


def _slice(cut: _Cut, draws: np.ndarray) -> Slice:
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    values = cut.values[0]
    return Slice(cut.names[0], cut.centre, values, draws.mean(0), low, high, draws[:_SAMPLES])


def _pair(cut: _Cut, draws: np.ndarray) -> Pair:
    first, second = cut.values
    mean = draws.mean(0).reshape(len(second), len(first))
    return Pair((cut.names[0], cut.names[1]), cut.centre, (first, second), mean)

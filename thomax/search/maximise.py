"""Find the maxima of B posterior draws at once: line 8 of Algorithm 1, line 7 of Algorithm 2.

Pools of any size, and small finite spaces, are scored whole. Other spaces are searched: random
points and neighbours of good ones, the best of them climbed by limited-memory BFGS with
exact gradients along continuous parameters, in turns with the best single change of a discrete
one.

Notation:
    B, R     draws, and starts for each draw
    x        encoded points of the cube [-1, 1]^d     (B, R, d)
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any

import jax
import numpy as np

from thomax.checks import FLAG, SHARE, check, whole
from thomax.compilation import own_settings
from thomax.model.draws import CHUNK, batch_size, evaluate, evaluate_own, value_and_gradient
from thomax.model.lbfgs import minimise
from thomax.space.pool import Part, Pool
from thomax.space.space import Block, Space
from thomax.spelling import spell_checked

_MOVES = 12  # levels of one parameter tried at once
_STEPS = (-9, -3, -1, 1, 3, 9)  # from where a number is, instead of random levels
_NUMBERS = 10**6  # in the copies of the maxima that hold neighbours, one for each parameter
_RUNNERS_UP = 50  # candidates of a finite space that stand by when better points are taken
_SMALL = 5_000  # points that are scored whole as fast as they are searched
_DRAWS = 16  # evaluated at once: more take memory, and wait for the slowest climb among them
_ROWS = 4 * CHUNK  # of a finite space read at once
_TRIES = 20  # at a candidate that a constraint allows: some constraints refuse nearly all
_PART = 16 * _ROWS  # rows of a pool that one task of an executor scores: about a second


@spell_checked
@dataclass(frozen=True)
class Search:
    """How hard to look for a draw's maximum.

    `candidates` random points are screened, the best refined: `restarts` in all for the draws of
    a batch, at least `restarts_per_draw` each, for `iterations` of BFGS in each of `rounds`. In
    finite spaces up to `max_enumerated` points nothing is missed because a maximum is taken:
    then all points are scored. `local_fraction` is the share of candidates near good points.
    `rounding` treats
    everything as continuous and rounds at the end.
    """

    candidates: int = 2000
    local_fraction: float = 0.5
    restarts: int = 12
    restarts_per_draw: int = 4
    iterations: int = 25
    rounds: int = 3
    max_enumerated: int = 100_000
    rounding: bool = False

    def __post_init__(self) -> None:
        counts = ("candidates", "restarts", "restarts_per_draw", "rounds")
        check(
            self, **dict.fromkeys(counts, whole(1)), iterations=whole(0), max_enumerated=whole(0),
            local_fraction=SHARE, rounding=FLAG,
        )  # fmt: skip

    @classmethod
    def paper(cls) -> "Search":
        """Return the paper's search: 10,000 random points, 100 restarts, rounding.

        More than 30 iterations find nothing better: draws end at faces of the cube.
        """
        return cls(
            candidates=10_000,
            local_fraction=0.0,
            restarts_per_draw=100,
            iterations=30,
            rounds=1,
            rounding=True,
        )


_USUAL_SEARCH = Search()
_NO_NUMBER = (
    "A policy's score needs to be a number somewhere, got none at any point: "
    "check the policy's settings."
)


def maximise(
    rng: np.random.Generator,
    score: Any,
    space: Space | Pool,
    *,
    search: Search = _USUAL_SEARCH,
    exclude: Sequence[Mapping[str, Any]] = (),
    centres: np.ndarray | None = None,
    known: np.ndarray | tuple[()] = (),
) -> list[dict[str, Any]]:
    """Return the point where each draw is largest, all of them different.

    Points of `exclude` are never returned. Fewer points than draws, or none, come back when a
    finite space is exhausted. `centres` are good points whose neighbourhood is searched as well.
    `known` are encoded points from which others are found where a constraint refuses nearly all.
    """
    can_be_listed = isinstance(space, Pool) or space.size <= search.max_enumerated
    if isinstance(space, Space) and not (can_be_listed and _is_scored_at_once(space, search)):
        found = _search(rng, score, space, search, exclude, centres, known, sure=can_be_listed)
        if found is not None:
            return space.decode(np.array(found)) if found else []
    excluded = np.array(sorted({*space.index(exclude)}), np.int64)
    chosen = _first_untaken(_rankings(score, space, excluded))
    if not chosen and _is_any_left(space, excluded):
        raise ValueError(_NO_NUMBER)
    return space.params(chosen)


def _is_any_left(space: Space | Pool, excluded: np.ndarray) -> bool:
    return any(not np.isin(indices, excluded).all() for indices, _ in space.chunks(_ROWS))


def _is_scored_at_once(space: Space, search: Search) -> bool:
    """Say whether it pays to score a finite space without searching it first.

    On 59,049 combinations the search takes 0.2 s for four draws where scoring takes 3 s; but it
    makes no single steps among very many levels, and may hardly find what a constraint allows.
    """
    listed = all(block.levels is not None for block in space.blocks)
    return space.size <= _SMALL or not listed or space.constraint is not None or search.rounding


@dataclass(frozen=True)
class _Best:
    """The best points of each draw, best first; of equal ones that of the lower index.

    As many are kept as there are draws: then each can have one of its own.
    """

    values: np.ndarray
    indices: np.ndarray

    @classmethod
    def none(cls, draws: int) -> "_Best":
        return cls(np.full((draws, draws), -np.inf), np.full((draws, draws), -1))

    def with_more(self, values: np.ndarray, indices: np.ndarray) -> "_Best":
        """Look at points of higher indices, (B, N) or the same N for all draws."""
        columns = self.values, self.indices, values, np.broadcast_to(indices, values.shape)
        kept = [_merged(*row) for row in zip(*columns, strict=True)]
        return _Best(np.array([v for v, _ in kept]), np.array([i for _, i in kept]))

    def rankings(self) -> list[list[int]]:
        """Return the indices that each draw prefers, best first."""
        rows = zip(self.indices, self.values, strict=True)
        return [row[value > -np.inf].tolist() for row, value in rows]


def _merged(
    values: np.ndarray, indices: np.ndarray, new_values: np.ndarray, new_indices: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sort what beats the worst that is kept in among the kept: soon, hardly anything does."""
    better = np.flatnonzero(new_values > values[-1])
    if not len(better):
        return values, indices
    pairs = (values, new_values), (indices, new_indices)
    all_values, all_indices = (np.concatenate([old, new[better]]) for old, new in pairs)
    top = np.argsort(-all_values, kind="stable")[: len(values)]
    return all_values[top], all_indices[top]


def _rankings(score: Any, space: Space | Pool, excluded: np.ndarray) -> list[list[int]]:
    """Score every point, here or where the pool's executor works; rank the best of each draw."""
    if not isinstance(space, Pool) or space.executor is None:
        return _best_of(score, space, excluded).rankings()
    tasks = [
        space.executor.submit(
            _best_of, score, part, excluded[_within(excluded, part.start, part.stop)]
        )
        for part in space.parts(_PART)
    ]
    best = _Best.none(batch_size(score))
    try:
        for task in tasks:
            found = task.result()
            best = best.with_more(found.values, found.indices)
    finally:
        for task in tasks:
            task.cancel()
    return best.rankings()


def _best_of(score: Any, points: Space | Pool | Part, excluded: np.ndarray) -> _Best:
    """Score points in chunks; `excluded` are indices in ascending order."""
    best = _Best.none(batch_size(score))
    groups = _groups(score)
    for indices, x in points.chunks(_ROWS):
        x = np.asarray(x, np.float32)
        values = np.concatenate([evaluate(group, x) for group in groups])
        here = excluded[_within(excluded, indices[0], indices[-1] + 1)]
        if len(here):
            values[:, np.isin(indices, here)] = -np.inf
        best = best.with_more(values, indices)
    return best


def _within(ascending: np.ndarray, start: int, stop: int) -> slice:
    low, high = np.searchsorted(ascending, [start, stop])
    return slice(low, high)


def _groups(score: Any) -> list[Any]:
    """Split the draws of a batch into groups of nearly the same size, not too large.

    They become JAX's arrays here, once: else each of the many evaluations copies all weights.
    """
    count = batch_size(score)
    edges = np.linspace(0, count, math.ceil(count / _DRAWS) + 1).astype(int).tolist()
    with own_settings(x64=True):
        groups = [jax.tree.map(itemgetter(slice(*edge)), score) for edge in pairwise(edges)]
        return [jax.device_put(group) for group in groups]


def _first_untaken(rankings: list[list[int]]) -> list[int]:
    """Give each draw its best point that no earlier draw has taken."""
    taken: list[int] = []
    for ranking in rankings:
        free = next((i for i in ranking if i not in taken), None)
        if free is not None:
            taken.append(free)
    return taken


def _search(
    rng: np.random.Generator,
    score: Any,
    space: Space,
    search: Search,
    exclude: Sequence[Mapping[str, Any]],
    centres: np.ndarray | None,
    known: np.ndarray | tuple[()],
    *,
    sure: bool,
) -> list[np.ndarray] | None:
    """Screen, refine, and pick for each draw the best new point.

    To be `sure` is to return None when the best point of a draw is not new: the search knows the
    next best only by chance.
    """
    candidates = _candidates(rng, space, search, centres, known)
    restarts = max(search.restarts_per_draw, search.restarts // batch_size(score))
    chosen: list[np.ndarray] = []

    def is_new(row: np.ndarray) -> bool:
        chosen_before = any(np.array_equal(row, point) for point in chosen)
        return not chosen_before and not _is_among(row, space, exclude)

    for group in _groups(score):
        for i, ranked in enumerate(_climbed(rng, group, space, search, candidates, restarts)):
            if sure and not any(map(is_new, ranked[:1])):
                return None
            point = next(filter(is_new, ranked), None)
            if point is None:
                others = _sample(rng, space, search.candidates, known)
                point = next(filter(is_new, _others(group, i, space, others)), None)
            if point is not None:
                chosen.append(point)
    return chosen


def _others(score: Any, i: int, space: Space, points: np.ndarray) -> Iterator[np.ndarray]:
    """Yield random points, the best of draw i first, then all that a finite space has.

    A space with too many points to list has no others.
    """
    values = evaluate(score, points.astype(np.float32))[i]
    yield from points[np.argsort(-values, kind="stable")]
    if space.can_be_listed:
        yield from (row for _, rows in space.chunks(_ROWS) for row in rows)


def _is_among(row: np.ndarray, space: Space, points: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether an encoded point is one of the points; only those that look equal are encoded.

    Encoding a long history would take longer than searching the draws. Equal looks are not
    enough: True and 1 may be two choices.
    """
    params = space.decode(row[None])[0]
    equal = [p for p in points if p == params]
    return bool(equal) and bool((space.encode(equal) == row).all(axis=1).any())


def _climbed(
    rng: np.random.Generator,
    score: Any,
    space: Space,
    search: Search,
    candidates: np.ndarray,
    restarts: int,
) -> list[np.ndarray]:
    """Return for each draw the best candidates and where they lead, best first."""
    values = evaluate(score, candidates.astype(np.float32))
    if np.isnan(values).all(axis=1).any():
        raise ValueError(_NO_NUMBER)
    order = np.argsort(-values, axis=1, kind="stable")
    refined = _refine(rng, score, space, search, candidates[order[:, :restarts]])
    others, kept = [], restarts
    if space.is_finite and not search.rounding:  # the best points may be taken
        others, kept = _neighbours(rng, space, refined), restarts + _RUNNERS_UP
    x = np.concatenate([refined, *others, candidates[order[:, :kept]]], axis=1)
    values = evaluate_own(score, x.astype(np.float32))
    values[~space.satisfies(x.reshape(-1, x.shape[-1])).reshape(values.shape)] = -np.inf
    order = np.argsort(-values, axis=1, kind="stable")
    rows = zip(x, values, order, strict=True)
    return [points[best[value[best] > -np.inf]] for points, value, best in rows]


def _candidates(
    rng: np.random.Generator,
    space: Space,
    search: Search,
    centres: np.ndarray | None,
    known: np.ndarray | tuple[()],
) -> np.ndarray:
    """Return random points, a share of them around the centres if there are any."""
    count = search.candidates
    local = int(search.local_fraction * count)
    if centres is None or len(centres) == 0 or local == 0:
        return _sample(rng, space, count, known)
    elsewhere = _sample(rng, space, count - local, known)
    return np.concatenate([elsewhere, _around(rng, space, centres, local, known)])


def _sample(
    rng: np.random.Generator, space: Space, count: int, known: np.ndarray | tuple[()]
) -> np.ndarray:
    """Return random points, some of them again where hardly any satisfies the constraint."""
    found = space.sample(rng, count, tries=_TRIES * count, known=known)
    return found[np.arange(count) % max(len(found), 1)]


def _around(
    rng: np.random.Generator,
    space: Space,
    centres: np.ndarray,
    count: int,
    known: np.ndarray | tuple[()],
) -> np.ndarray:
    """Perturb some parameters of randomly chosen centres, at many scales."""
    x = centres[rng.integers(len(centres), size=count)].astype(np.float64)
    other = _sample(rng, space, count, known)
    scale = 0.5 * 10.0 ** -rng.uniform(0, 3, (count, 1))
    share = rng.uniform(min(1.0, 1.5 / len(space.blocks)), min(1.0, 20 / len(space.blocks)), count)
    for block in space.blocks:
        change = (rng.uniform(size=count) < share)[:, None]
        if block.levels is None:
            moved = x[:, block.columns] + scale * rng.normal(size=x[:, block.columns].shape)
            new = np.clip(moved, -1, 1)
        else:
            new = other[:, block.columns]
        x[:, block.columns] = np.where(change, new, x[:, block.columns])
    x = space.snap(x)
    fits = space.satisfies(x)
    return np.where(fits[:, None], x, other)


def _refine(
    rng: np.random.Generator, score: Any, space: Space, search: Search, starts: np.ndarray
) -> np.ndarray:
    """Improve every start: gradients on continuous parameters, single changes on the others."""
    x = starts
    if search.rounding:
        return _snapped(space, _climb(score, x, np.ones_like(x, bool), search.iterations))
    discrete = _discrete(space)
    for _ in range(search.rounds if discrete else 1):
        before = x
        free = _continuous_columns(space, x)
        if free.any():
            x = _snapped(space, _climb(score, x, free, search.iterations))
        if discrete:
            x = _best_single_changes(rng, score, space, discrete, x)
        if np.array_equal(x, before):
            break
    return x


def _snapped(space: Space, x: np.ndarray) -> np.ndarray:
    return space.snap(x.reshape(-1, x.shape[-1])).reshape(x.shape)


def _continuous_columns(space: Space, x: np.ndarray) -> np.ndarray:
    """Mark the columns of active continuous parameters: those that snapping lets move."""
    probe = x.copy()
    for block in space.blocks:
        if block.levels is None:
            probe[..., block.columns] = 0.5
    moved = _snapped(space, probe)
    free = np.zeros(x.shape, bool)
    for block in space.blocks:
        if block.levels is None:
            free[..., block.columns] = moved[..., block.columns] > 0.25
    return free


def _climb(score: Any, x: np.ndarray, free: np.ndarray, iterations: int) -> np.ndarray:
    """Maximise each draw from each start over the free columns of the cube."""
    found = minimise(
        _negative(score),
        x,
        iterations=iterations,
        tolerance=1e-4,
        memory=6,
        lower=np.where(free, -1.0, x),
        upper=np.where(free, 1.0, x),
    )
    return found.x


def _negative(score: Any) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = value_and_gradient(score, x.astype(np.float32))
        return -values, -gradients

    return function


def _best_single_changes(
    rng: np.random.Generator,
    score: Any,
    space: Space,
    discrete: list[Block],
    x: np.ndarray,
    sweeps: int = 2,
) -> np.ndarray:
    """Set one discrete parameter after the other to the best of (some of) its levels."""
    values = evaluate_own(score, x.astype(np.float32))
    for _ in range(sweeps):
        changed = False
        for block in rng.permutation(np.array(discrete, object)):
            options = _variants(rng, space, block, x)
            flat = options.reshape(len(x), -1, x.shape[-1])
            scores = evaluate_own(score, flat.astype(np.float32)).reshape(options.shape[:-1])
            fits = space.satisfies(options.reshape(-1, x.shape[-1])).reshape(scores.shape)
            scores = np.where(fits, scores, -np.inf)
            best = scores.argmax(axis=-1)
            top = np.take_along_axis(scores, best[..., None], -1)[..., 0]
            better = top > values
            picked = np.take_along_axis(options, best[..., None, None], -2)[..., 0, :]
            x = np.where(better[..., None], picked, x)
            values = np.where(better, top, values)
            changed |= bool(better.any())
        if not changed:
            break
    return x


def _neighbours(rng: np.random.Generator, space: Space, x: np.ndarray) -> list[np.ndarray]:
    """Return what is a single change of a discrete parameter away."""
    some = rng.permutation(np.array(_discrete(space), object))[: max(1, _NUMBERS // x.size)]
    return [_variants(rng, space, b, x).reshape(len(x), -1, x.shape[-1]) for b in some]


def _discrete(space: Space) -> list[Block]:
    return [block for block in space.blocks if block.levels is not None]


def _variants(rng: np.random.Generator, space: Space, block: Block, x: np.ndarray) -> np.ndarray:
    """Return x with one parameter at every level, or at neighbours and random ones: (B, R, k, d).

    Only a choice, whose levels take a column each, has no neighbours among its levels.
    """
    levels = np.asarray(block.levels)
    if len(levels) > _MOVES:
        numbers = np.broadcast_to(
            rng.choice(len(levels), _MOVES, replace=False), (*x.shape[:-1], _MOVES)
        ).copy()
        if levels.shape[1] == 1:
            here = np.searchsorted(levels[:, 0], x[..., block.columns] - 1e-9)
            steps = np.clip(here + np.array(_STEPS), 0, len(levels) - 1)
            numbers[..., : len(_STEPS)] = steps
        levels = levels[numbers]
    options = np.repeat(x[..., None, :], levels.shape[-2], axis=-2)
    options[..., block.columns] = levels
    return _snapped(space, options)

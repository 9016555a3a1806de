"""Search a space too large to be scored whole: climb from the best of many candidates.

Random points, at first near evaluated ones (`trust`), and neighbours of good ones are screened,
the best of them climbed by limited-memory BFGS with exact gradients along continuous parameters,
in turns with the best single change of a discrete one.

Notation:
    B, R     draws, and starts for each draw
    x        encoded points of the cube [-1, 1]^d     (B, R, d)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thomax.model.evaluation import Evaluator, Score, batch_size
from thomax.model.lbfgs import minimise
from thomax.search.changes import has_many_changes, is_choice, promised_changes
from thomax.search.scores import NO_NUMBER, ROWS, groups_of_draws
from thomax.search.settings import Search
from thomax.search.trust import Box, trust_set
from thomax.space.space import Block, Space
from thomax.support.types import ParamsLike

_MOVES = 12  # levels of one parameter tried at once
_STEPS = (-9, -3, -1, 1, 3, 9)  # from where a number is, instead of random levels
_NUMBERS = 10**6  # in the copies of the maxima that hold neighbours, one for each parameter
_MOST_NUMBERS = 2**23  # in the candidates: very long rows get fewer, as climbing finds more
_CHEAP = 3  # times as many starts where gradients choose the changes: it takes a tenth each
_MOST_CLIMBED = 2**16  # numbers in the points of a draw that are improved
_FEWEST_CANDIDATES = 200
_RUNNERS_UP = 50  # candidates of a finite space that stand by when better points are taken
_MANY_BLOCKS = 256  # parameters: one by one they take seconds to perturb
_TRIES = 20  # at a candidate that a constraint allows: some constraints refuse nearly all


@dataclass(frozen=True)
class Found:
    """The points that a search has found.

    Args:
        points: An encoded point for each draw; fewer where there are no more.
        stopped: Whether the search stopped because the best point of a draw was taken.
    """

    points: list[np.ndarray]
    stopped: bool


def climb_candidates(
    rng: np.random.Generator,
    score: Score | Evaluator,
    space: Space,
    search: Search,
    exclude: Sequence[ParamsLike],
    centres: np.ndarray | None,
    known: ArrayLike,
    evaluated: ArrayLike,
    *,
    distinct: bool,
    stop_if_taken: bool,
) -> Found:
    """Evaluate candidates, improve the best, and choose for each draw the best new point.

    Args:
        rng: The source of random numbers.
        score: A batch of functions.
        space: Where to search.
        search: How thoroughly to search.
        exclude: Points that are not returned.
        centres: Encoded good points whose neighbourhood is searched as well.
        known: Encoded points that may satisfy the constraint.
        evaluated: Encoded points that have a value, near which numbers stay at first.
        distinct: Whether draws must have different points.
        stop_if_taken: Whether to stop where the best point of a draw is excluded, or chosen for
            an earlier draw: the search knows the next best only by chance.
    """
    candidates = _candidates(rng, space, search, centres, known)
    trusted = trust_set(search.trust, space, np.asarray(evaluated))
    spread = len(candidates) - int(search.local_fraction * len(candidates))
    candidates, box = trusted.confine(rng, candidates, spread)
    # A climb in a box ends where its box does: at first a batch needs as many as a single draw.
    shared_by = batch_size(score) if trusted.is_whole else 1
    wanted = search.restarts // shared_by * (_CHEAP if has_many_changes(space) else 1)
    restarts = max(search.restarts_per_draw, min(wanted, _MOST_CLIMBED // space.dimension))
    chosen: list[np.ndarray] = []

    def is_new(row: np.ndarray) -> bool:
        chosen_before = distinct and any(np.array_equal(row, point) for point in chosen)
        return not chosen_before and not _is_among(row, space, exclude)

    for group in groups_of_draws(score):
        climbed = _climbed(rng, group, space, search, candidates, box, restarts)
        for i, ranked in enumerate(climbed):
            if stop_if_taken and not any(map(is_new, ranked[:1])):
                return Found(chosen, stopped=True)
            point = next(filter(is_new, ranked), None)
            if point is None:
                others = _sample(rng, space, search.candidates, known)
                others, _ = trusted.confine(rng, others, len(others))
                point = next(filter(is_new, _others(group, i, space, others)), None)
            if point is not None:
                chosen.append(point)
    return Found(chosen, stopped=False)


def _others(score: Evaluator, i: int, space: Space, points: np.ndarray) -> Iterator[np.ndarray]:
    """Yield random points, the best of draw i first, then all that a finite space has.

    A space with too many points to list has no others.
    """
    values = score.values(points.astype(np.float32))[i]
    yield from points[np.argsort(-values, kind="stable")]
    if space.can_be_listed:
        yield from (row for _, rows in space.chunks(ROWS) for row in rows)


def _is_among(row: np.ndarray, space: Space, points: Sequence[ParamsLike]) -> bool:
    """Return whether an encoded point is one of the points.

    Only those that compare equal are encoded: a long history would take longer than the search.
    To compare equal is not enough: True and 1 may be two choices.
    """
    params = space.decode(row[None])[0]
    equal = [p for p in points if p == params]
    return bool(equal) and bool((space.encode(equal) == row).all(axis=1).any())


def _climbed(
    rng: np.random.Generator,
    score: Evaluator,
    space: Space,
    search: Search,
    candidates: np.ndarray,
    box: Box,
    restarts: int,
) -> list[np.ndarray]:
    """Return for each draw the best candidates and where they lead, best first."""
    values = score.values(candidates.astype(np.float32))
    if np.isnan(values).all(axis=1).any():
        raise ValueError(NO_NUMBER)
    order = np.argsort(-values, axis=1, kind="stable")
    starts = order[:, :restarts]
    if search.random_starts:  # the first candidates are random, also where others are local
        starts = np.broadcast_to(np.arange(len(candidates))[:restarts], starts.shape)
    refined = _refine(rng, score, space, search, candidates[starts], box.take(starts))
    others, kept = [], restarts
    if space.is_finite and not search.rounding:  # the best points may be taken
        others, kept = _neighbours(rng, space, refined), restarts + _RUNNERS_UP
    x = np.concatenate([refined, *others, candidates[order[:, :kept]]], axis=1)
    values = score.own_values(x.astype(np.float32))
    values[~space.satisfies(x.reshape(-1, x.shape[-1])).reshape(values.shape)] = -np.inf
    order = np.argsort(-values, axis=1, kind="stable")
    rows = zip(x, values, order, strict=True)
    return [points[best[value[best] > -np.inf]] for points, value, best in rows]


def _candidates(
    rng: np.random.Generator,
    space: Space,
    search: Search,
    centres: np.ndarray | None,
    known: ArrayLike,
) -> np.ndarray:
    """Return random points, a share of them around the centres if there are any."""
    count = min(search.candidates, max(_FEWEST_CANDIDATES, _MOST_NUMBERS // space.dimension))
    local = int(search.local_fraction * count)
    if centres is None or len(centres) == 0 or local == 0:
        return _sample(rng, space, count, known)
    elsewhere = _sample(rng, space, count - local, known)
    return np.concatenate([elsewhere, _around(rng, space, centres, local, known)])


def _sample(rng: np.random.Generator, space: Space, count: int, known: ArrayLike) -> np.ndarray:
    """Return random points, some of them again where hardly any satisfies the constraint."""
    found = space.sample(rng, count, tries=_TRIES * count, known=known)
    return found[np.arange(count) % max(len(found), 1)]


def _around(
    rng: np.random.Generator,
    space: Space,
    centres: np.ndarray,
    count: int,
    known: ArrayLike,
) -> np.ndarray:
    """Perturb some parameters of randomly chosen centres, at many scales."""
    x = centres[rng.integers(len(centres), size=count)].astype(np.float64)
    other = _sample(rng, space, count, known)
    scale = 0.5 * 10.0 ** -rng.uniform(0, 3, (count, 1))
    share = rng.uniform(min(1.0, 1.5 / len(space.blocks)), min(1.0, 20 / len(space.blocks)), count)
    if len(space.blocks) > _MANY_BLOCKS and not any(b.levels is None for b in space.blocks):
        marked = rng.uniform(size=(count, len(space.blocks))) < share[:, None]
        widths = [b.columns.stop - b.columns.start for b in space.blocks]
        return _allowed(space, np.where(np.repeat(marked, widths, axis=1), other, x), other)
    for block in space.blocks:
        change = (rng.uniform(size=count) < share)[:, None]
        if block.levels is None:
            moved = x[:, block.columns] + scale * rng.normal(size=x[:, block.columns].shape)
            new = np.clip(moved, -1, 1)
        else:
            new = other[:, block.columns]
        x[:, block.columns] = np.where(change, new, x[:, block.columns])
    return _allowed(space, x, other)


def _allowed(space: Space, x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the valid points nearest to x, and others where the constraint refuses them."""
    x = space.snap(x)
    return np.where(space.satisfies(x)[:, None], x, other)


def _refine(
    rng: np.random.Generator,
    score: Evaluator,
    space: Space,
    search: Search,
    starts: np.ndarray,
    box: Box,
) -> np.ndarray:
    """Improve every start: gradients on continuous parameters, single changes on the others."""
    x = starts
    if search.rounding:
        return _snapped(space, _climb(score, x, np.ones_like(x, bool), box, search.iterations))
    discrete, many = _discrete(space), has_many_changes(space)
    for _ in range(search.rounds if discrete or many else 1):
        before = x
        free = _continuous_columns(space, x)
        if free.any():
            x = _snapped(space, _climb(score, x, free, box, search.iterations))
        if many:
            x = promised_changes(score, space, x)
            if not free.any():
                break
        elif discrete:
            x = _best_single_changes(rng, score, space, discrete, x)
        if np.array_equal(x, before):
            break
    return x


def _snapped(space: Space, x: np.ndarray) -> np.ndarray:
    return space.snap(x.reshape(-1, x.shape[-1])).reshape(x.shape)


def _continuous_columns(space: Space, x: np.ndarray) -> np.ndarray:
    """Mark the columns of active continuous parameters: those that snapping lets move."""
    probe, free = x.copy(), np.zeros(x.shape, bool)
    continuous = [b.columns for b in space.blocks if b.levels is None and not is_choice(b.columns)]
    if not continuous:
        return free
    for columns in continuous:
        probe[..., columns] = 0.5
    moved = _snapped(space, probe)
    for columns in continuous:
        free[..., columns] = moved[..., columns] > 0.25
    return free


def _climb(
    score: Evaluator, x: np.ndarray, free: np.ndarray, box: Box, iterations: int
) -> np.ndarray:
    """Maximise each draw from each start over the free columns, within the box of the start."""
    found = minimise(
        _negative(score),
        x,
        iterations=iterations,
        tolerance=1e-4,
        memory=6,
        lower=np.where(free, np.minimum(box.low, x), x),
        upper=np.where(free, np.maximum(box.high, x), x),
    )
    return found.x


def _negative(score: Evaluator) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = score.own_gradients(x.astype(np.float32))
        return -values, -gradients

    return function


def _best_single_changes(
    rng: np.random.Generator,
    score: Evaluator,
    space: Space,
    discrete: list[Block],
    x: np.ndarray,
    sweeps: int = 2,
) -> np.ndarray:
    """Set one discrete parameter after the other to the best of (some of) its levels."""
    values = score.own_values(x.astype(np.float32))
    for _ in range(sweeps):
        changed = False
        for block in rng.permutation(np.array(discrete, object)):
            options = _variants(rng, space, block, x)
            flat = options.reshape(len(x), -1, x.shape[-1])
            scores = score.own_values(flat.astype(np.float32)).reshape(options.shape[:-1])
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

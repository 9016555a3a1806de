"""Score every point of a finite space or a pool, here or in the tasks of an executor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thomax.model.evaluation import Evaluator, Score, batch_size
from thomax.search.scores import NO_NUMBER, ROWS, groups_of_draws
from thomax.space.features import Part
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.support.types import Params, ParamsLike

_PART = 16 * ROWS  # rows of a pool that one task of an executor scores: about a second


def best_points(
    score: Score | Evaluator,
    space: Space | Pool,
    exclude: Sequence[ParamsLike],
    *,
    distinct: bool = True,
) -> list[Params]:
    """Return the point where each draw is largest.

    Args:
        score: A batch of functions.
        space: A finite space or a pool.
        exclude: Points that are not returned.
        distinct: Whether all of them must be different.

    Raises:
        ValueError: If no draw has a number at any point that is not excluded.
    """
    excluded = np.array(sorted({*space.index(exclude)}), np.int64)
    rankings = _rankings(score, space, excluded)
    chosen = _first_untaken(rankings) if distinct else [r[0] for r in rankings if r]
    if not chosen and _is_any_left(space, excluded):
        raise ValueError(NO_NUMBER)
    return space.params(chosen)


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
        """Return the best of these and of points with higher indices.

        Args:
            values: The scores of the points, (B, N).
            indices: Their indices, (N,), or (B, N) where each draw has points of its own.
        """
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


def _rankings(
    score: Score | Evaluator, space: Space | Pool, excluded: np.ndarray
) -> list[list[int]]:
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


def _best_of(score: Score | Evaluator, points: Space | Pool | Part, excluded: np.ndarray) -> _Best:
    """Score points in chunks; `excluded` are indices in ascending order."""
    best = _Best.none(batch_size(score))
    groups = groups_of_draws(score)
    for indices, x in points.chunks(ROWS):
        x = np.asarray(x, np.float32)
        values = np.concatenate([group.values(x) for group in groups])
        here = excluded[_within(excluded, indices[0], indices[-1] + 1)]
        if len(here):
            values[:, np.isin(indices, here)] = -np.inf
        best = best.with_more(values, indices)
    return best


def _within(ascending: np.ndarray, start: int, stop: int) -> slice:
    low, high = np.searchsorted(ascending, [start, stop])
    return slice(low, high)


def _first_untaken(rankings: list[list[int]]) -> list[int]:
    """Give each draw its best point that no earlier draw has taken."""
    taken: list[int] = []
    for ranking in rankings:
        free = next((i for i in ranking if i not in taken), None)
        if free is not None:
            taken.append(free)
    return taken


def _is_any_left(space: Space | Pool, excluded: np.ndarray) -> bool:
    return any(not np.isin(indices, excluded).all() for indices, _ in space.chunks(ROWS))

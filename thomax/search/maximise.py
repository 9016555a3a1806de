"""Find the maxima of B posterior draws at once: line 8 of Algorithm 1, line 7 of Algorithm 2.

Pools of any size, and small finite spaces, are scored whole (`exhaustive`). Other spaces are
searched (`multistart`).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from thomax.model.evaluation import Evaluator, Score, batch_size, evaluator
from thomax.search.embedded import EmbeddedEvaluator
from thomax.search.exhaustive import best_points
from thomax.search.multistart import climb_candidates
from thomax.search.settings import Search
from thomax.space.given import Region
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.support.types import Params, ParamsLike

_SMALL = 5_000  # points that are scored whole as fast as they are searched
_USUAL_SEARCH = Search()


def maximise(
    rng: np.random.Generator,
    score: Score | Evaluator,
    space: Space | Pool | Region,
    *,
    search: Search = _USUAL_SEARCH,
    exclude: Sequence[ParamsLike] = (),
    centres: np.ndarray | None = None,
    known: ArrayLike = (),
    evaluated: ArrayLike = (),
    distinct: bool = True,
) -> list[Params]:
    """Return the point where each draw is largest.

    Args:
        rng: The source of random numbers.
        score: A batch of functions, such as posterior draws.
        space: Where to search: a space, a pool, or a region of one.
        search: How thoroughly to search.
        exclude: Points that are not returned.
        centres: Encoded good points whose neighbourhood is searched as well.
        known: Encoded points that may satisfy the constraint: where it refuses nearly all random
            points, others are found from these.
        evaluated: Encoded points that have a value: at first, numbers stay within `search.trust`
            of one of them. Without any the whole space is searched.
        distinct: Whether all points must be different; if not, each is its draw's maximum over
            all that is searched, save what is excluded.

    Returns:
        The points of the draws in their order; fewer where a finite space has no more.
    """
    if isinstance(space, Region):
        return _maximise_in_region(
            rng, score, space, exclude, centres, known, evaluated, search=search,
            distinct=distinct,
        )  # fmt: skip
    if isinstance(space, Pool):
        return best_points(score, space, exclude, distinct=distinct)
    can_be_enumerated = space.size <= search.max_enumerated
    if can_be_enumerated and _is_enumerated_first(space, search):
        return best_points(score, space, exclude, distinct=distinct)
    found = climb_candidates(
        rng, score, space, search, exclude, centres, known, evaluated,
        distinct=distinct, stop_if_taken=can_be_enumerated,
    )  # fmt: skip
    if found.stopped:
        return best_points(score, space, exclude, distinct=distinct)
    return space.decode(np.array(found.points)) if found.points else []


def _maximise_in_region(
    rng: np.random.Generator,
    score: Score | Evaluator,
    region: Region,
    exclude: Sequence[ParamsLike],
    centres: np.ndarray | None,
    known: ArrayLike,
    evaluated: ArrayLike,
    *,
    search: Search,
    distinct: bool,
) -> list[Params]:
    """Search what is left of a space where some parameters are given.

    Good points elsewhere are good places to begin, too, with what is given in place of what
    they had.
    """
    taken = [p for p in (region.inside({**point}) for point in exclude) if p is not None]
    if region.space is None:
        free = 0 if taken else 1 if distinct else batch_size(score)
        return [region.completed({})] * free
    if region.given and isinstance(region.space, Space):
        score = EmbeddedEvaluator(evaluator(score), region)
        centres = None if centres is None else region.project(centres)
        known, evaluated = (
            region.project(rows) if len(rows) else rows
            for rows in (np.asarray(known), np.asarray(evaluated))
        )
    found = maximise(
        rng, score, region.space, search=search, exclude=taken, centres=centres, known=known,
        evaluated=evaluated, distinct=distinct,
    )  # fmt: skip
    return [region.completed(point) for point in found]


def _is_enumerated_first(space: Space, search: Search) -> bool:
    """Return whether it pays to score a finite space without searching it first.

    On 59,049 combinations the search takes 0.2 s for four draws where scoring takes 3 s; but it
    makes no single steps among very many levels, and may hardly find what a constraint allows.
    """
    listed = all(block.levels is not None for block in space.blocks)
    return space.size <= _SMALL or not listed or space.constraint is not None or search.rounding

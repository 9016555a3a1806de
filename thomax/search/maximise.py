"""Find the maxima of B posterior draws at once: line 8 of Algorithm 1, line 7 of Algorithm 2.

Pools of any size, and small finite spaces, are scored whole (`exhaustive`); other spaces are
searched (`multistart`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thomax.search.exhaustive import best_points
from thomax.search.multistart import search_points
from thomax.search.settings import Search
from thomax.space.pool import Pool
from thomax.space.space import Space

_SMALL = 5_000  # points that are scored whole as fast as they are searched
_USUAL_SEARCH = Search()


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
        found = search_points(
            rng, score, space, search, exclude, centres, known, sure=can_be_listed
        )
        if found is not None:
            return space.decode(np.array(found)) if found else []
    return best_points(score, space, exclude)


def _is_scored_at_once(space: Space, search: Search) -> bool:
    """Say whether it pays to score a finite space without searching it first.

    On 59,049 combinations the search takes 0.2 s for four draws where scoring takes 3 s; but it
    makes no single steps among very many levels, and may hardly find what a constraint allows.
    """
    listed = all(block.levels is not None for block in space.blocks)
    return space.size <= _SMALL or not listed or space.constraint is not None or search.rounding

"""More points that a constraint allows, found from a few that it allows.

Where a constraint refuses nearly all random points, those that it allows mostly lie close together
(a small region) or along a surface (shares that sum to one). So the known ones are moved, what the
constraint allows of the result is known too, and so on. The moves:

    drift     a few parameters by Gaussian steps of one size
    trade     a few parameters by steps of one size, up or down: keeps many a sum
    stride    all parameters by a multiple of the difference of two other known points: keeps any
              linear equality that all known points satisfy
    cross     a few parameters take the values of another known point
    redraw    a few parameters take random values

A choice has no direction: where a move asks for a step it is drawn anew. Steps are long at first,
so that the points spread, and shorter whenever hardly anything is allowed.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from thomax.space.encoding import Places

_DRIFT, _TRADE, _STRIDE, _CROSS, _REDRAW = range(5)
_AT_ONCE = 1000  # moves
_FEWEST_ROUNDS, _MOST_ROUNDS = 5, 40  # the first lead away from the known points
_FEW = _AT_ONCE // 50  # new points of a round: then steps may be ten times shorter
_MOST_DECADES = 8  # from the longest step to the shortest


def perturbed(
    rng: np.random.Generator,
    known: Places,
    n: int,
    *,
    columns: Sequence[slice],
    draw: Callable[[np.random.Generator, int], Places],
    allowed: Callable[[Places], Places],
) -> Places:
    """Return up to n points other than the known ones; the known ones where no other is found.

    Args:
        rng: The source of random numbers.
        known: Points that the constraint allows, one row each.
        n: How many points.
        columns: The columns of each parameter.
        draw: Draws random points, whether or not the constraint allows them.
        allowed: Moves rows to valid points, and returns those that the constraint allows.
    """
    points, seen, decades = known, {row.tobytes() for row in known}, 1
    for number in range(_MOST_ROUNDS):
        if number >= _FEWEST_ROUNDS and len(points) >= len(known) + n:
            break
        moved = allowed(_moved(rng, points, columns, draw(rng, _AT_ONCE), decades))
        new = {row.tobytes(): row for row in moved if row.tobytes() not in seen}
        if new:
            points, seen = np.concatenate([points, [*new.values()]]), seen | {*new}
        if len(new) < _FEW:
            decades = min(decades + 1, _MOST_DECADES)
    found = points[len(known) :] if len(points) > len(known) else points
    return found[rng.permutation(len(found))[:n]]


def _moved(
    rng: np.random.Generator,
    points: Places,
    columns: Sequence[slice],
    drawn: Places,
    decades: int,
) -> Places:
    """Move random points, each in one of the five ways."""
    count, dimension = drawn.shape
    x, other, third = points[rng.integers(len(points), size=(3, count))]
    size = 2 * 10.0 ** -rng.uniform(0, decades, (count, 1))
    gauss = rng.normal(size=x.shape)
    ways = np.empty((5, count, dimension))
    ways[_DRIFT] = x + size * gauss
    ways[_TRADE] = x + size * np.sign(gauss)
    ways[_STRIDE] = x + rng.uniform(-1, 1, (count, 1)) * (other - third)
    ways[_CROSS], ways[_REDRAW] = other, drawn
    for c in columns:
        if c.stop - c.start > 1:  # a choice
            ways[_DRIFT, :, c] = ways[_TRADE, :, c] = drawn[:, c]
    way = rng.integers(len(ways), size=count)
    changed = _few(rng, count, columns) | (way == _STRIDE)[:, None]
    return np.clip(np.where(changed, ways[way, np.arange(count)], x), -1, 1)


def _few(rng: np.random.Generator, count: int, columns: Sequence[slice]) -> NDArray[np.bool_]:
    """Mark the columns of one parameter, or of more, in each of so many rows."""
    total = len(columns)
    share = total ** -rng.uniform(0, 1, (count, 1))
    marked = rng.uniform(size=(count, total)) < share
    marked[np.arange(count), rng.integers(total, size=count)] = True
    return np.repeat(marked, [c.stop - c.start for c in columns], axis=1)

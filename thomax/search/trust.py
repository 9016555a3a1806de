"""The trust set: numbers stay near what was evaluated at first, and are free later.

Far from a few values a draw is its prior, and the maximum of that lies at the faces of the cube.
So at first points come from the union of boxes around all evaluated points, as in Vizier's trust
region (Song et al. 2024); the boxes grow with the evaluations for each parameter until each could
hold the whole space. Choices and Booleans, of which nothing is near, are always free.

Notation:
    h    half the side of a box, as a share of a parameter's range
    n    evaluated points, d parameters
"""

from dataclasses import dataclass

import numpy as np

from thomax.space.space import Space

_GROWTH = 0.03  # of h for each evaluation of each parameter
_WHOLE = 0.5  # h at which the whole space is searched


@dataclass(frozen=True)
class Box:
    """Where the points of an array may be moved to, each in a box of its own.

    Args:
        low: The least values of the columns, (..., D).
        high: The greatest ones, (..., D).
    """

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> "Box":
        """Return the whole cube for each point of an array of this shape."""
        return cls(np.broadcast_to(-1.0, shape), np.broadcast_to(1.0, shape))

    def take(self, index: np.ndarray) -> "Box":
        """Return the boxes of some points.

        Args:
            index: The positions of the points.
        """
        return Box(self.low[index], self.high[index])


def half_width(trust: float | None, n: int, d: int) -> float | None:
    """Return h, or None where the whole space is searched.

    Args:
        trust: h before anything is evaluated; None for the whole space.
        n: The number of evaluated points.
        d: The number of parameters.

    Examples:
        >>> half_width(0.2, 0, 9), half_width(0.2, 1000, 9)
        (0.2, None)
    """
    if trust is None or n == 0:
        return None
    h = trust + _GROWTH * n / (d + 1)
    return h if h < _WHOLE else None


def confined(
    rng: np.random.Generator,
    space: Space,
    candidates: np.ndarray,
    spread: int,
    known: np.ndarray,
    h: float,
) -> tuple[np.ndarray, Box]:
    """Return candidates inside the trust set, and the boxes that they may move in.

    Args:
        rng: The source of random numbers.
        space: The space that is searched.
        candidates: Encoded points, (N, D).
        spread: How many of them, the first ones, are spread over the space: each is drawn into the
            box of a random evaluated point. The others are near one already, and are moved into
            the box of the closest.
        known: The evaluated points, encoded, (n, D).
        h: Half the side of the boxes.
    """
    numeric = _numeric(space)
    if not len(numeric):
        return candidates, Box.whole(candidates.shape)
    width = 2 * h  # the cube's sides are 2 long
    centres = np.empty_like(candidates)
    centres[:spread] = known[rng.integers(len(known), size=spread)]
    centres[spread:] = _closest(candidates[spread:], known)
    box = Box(np.full(candidates.shape, -1.0), np.full(candidates.shape, 1.0))
    box.low[:, numeric] = np.maximum(centres[:, numeric] - width, -1.0)
    box.high[:, numeric] = np.minimum(centres[:, numeric] + width, 1.0)
    x = candidates.copy()
    x[:spread, numeric] = centres[:spread, numeric] + width * candidates[:spread, numeric]
    x = space.snap(np.clip(x, box.low, box.high))
    return np.where(space.satisfies(x)[:, None], x, candidates), box


def _numeric(space: Space) -> np.ndarray:
    """Return the columns of numbers and ordered levels: of a Boolean nothing is near."""
    columns = [
        b.columns.start
        for b in space.blocks
        if b.columns.stop - b.columns.start == 1 and (b.levels is None or len(b.levels) > 2)
    ]
    return np.array(columns, int)


def _closest(x: np.ndarray, known: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist  # here, because importing it takes long

    return known[cdist(x, known).argmin(axis=1)] if len(x) else x

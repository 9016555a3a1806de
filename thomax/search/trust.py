"""The trust set: numbers stay near points that have a value at first, and are free later.

Far from a few values a draw is its prior, and the maximum of that lies at the faces of the cube.
So at first points come from the union of boxes around all evaluated points that did not fail.
Vizier's trust region (Song et al. 2024) is such a union, which grows; here it ends with the start
of a search. Choices and Booleans, of which nothing is near, are always free, and so are
conditional numbers, which not every point has.

Notation:
    h    half the side of a box, as a share of a parameter's range
    n    evaluated points that have a value; d parameters
    D    columns of encoded points
"""

from dataclasses import dataclass

import numpy as np

from thomax.space.space import Space

_START_EACH = 3  # evaluations for each parameter that the start of a search has
_START_MOST = 30  # however many parameters there are


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


@dataclass(frozen=True)
class TrustSet:
    """Boxes around evaluated points, or the whole space.

    Args:
        space: The space that is searched.
        known: The evaluated points that have a value, encoded, (n, D).
        h: Half the side of the boxes; None for the whole space.
    """

    space: Space
    known: np.ndarray
    h: float | None

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole space."""
        return self.h is None

    def confine(
        self, rng: np.random.Generator, x: np.ndarray, spread: int
    ) -> tuple[np.ndarray, Box]:
        """Return points inside the trust set, and the boxes that they may be moved in.

        Args:
            rng: The source of random numbers.
            x: Encoded points, (N, D).
            spread: How many of them, the first ones, are spread over the space: each is drawn into
                the box of a random evaluated point. The others are near one already: where they
                leave the box of the closest, they come to a random place in it.
        """
        if self.h is None:
            return x, Box.whole(x.shape)
        numeric = _numeric(self.space)
        width = 2 * self.h  # the cube's sides are 2 long
        centres = np.empty_like(x)
        centres[:spread] = self.known[rng.integers(len(self.known), size=spread)]
        centres[spread:] = _closest(x[spread:], self.known)
        box = Box(np.full(x.shape, -1.0), np.full(x.shape, 1.0))
        box.low[:, numeric] = np.maximum(centres[:, numeric] - width, -1.0)
        box.high[:, numeric] = np.minimum(centres[:, numeric] + width, 1.0)
        # Points that were only cut off would pile up on the faces.
        leaves = (x < box.low) | (x > box.high)
        leaves[:spread] = True
        low, high = box.low[:, numeric], box.high[:, numeric]
        inside = x.copy()
        inside[:, numeric] = np.where(
            leaves[:, numeric], low + (high - low) * rng.uniform(size=low.shape), x[:, numeric]
        )
        inside = self.space.snap(inside)
        return np.where(self.space.satisfies(inside)[:, None], inside, x), box


def start_length(d: int) -> int:
    """Return how many evaluations the start of a search has.

    Args:
        d: The number of parameters.
    """
    return min(_START_MOST, _START_EACH * d)


def trust_set(trust: float | None, space: Space, known: np.ndarray) -> TrustSet:
    """Return where points are proposed.

    Args:
        trust: h during the start of a search; None for the whole space.
        space: The space that is searched.
        known: The evaluated points that have a value, encoded, (n, D).

    Examples:
        >>> from thomax import Float
        >>> space = Space({"x": Float(0, 1), "y": Float(0, 1)})
        >>> trust_set(0.2, space, np.zeros((5, 2))).h, trust_set(0.2, space, np.zeros((6, 2))).h
        (0.2, None)
    """
    is_start = 0 < len(known) < start_length(len(space.parameters))
    return TrustSet(space, known, trust if is_start and len(_numeric(space)) else None)


def _numeric(space: Space) -> np.ndarray:
    """Return the columns of numbers and ordered levels that every point has."""
    columns = [
        b.columns.start
        for b in space.blocks
        if b.columns.stop - b.columns.start == 1
        and (b.levels is None or len(b.levels) > 2)
        and not space.parameters[b.name].when
    ]
    return np.array(columns, int)


def _closest(x: np.ndarray, known: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist  # here, because importing it takes long

    return known[cdist(x, known).argmin(axis=1)] if len(x) else x

"""Exact hypervolumes of two to four losses, and which points no other one dominates.

Notation:
    y   losses, to be minimised                                   (n, m)
    r   the reference point: only what is below it counts         (m,)

The hypervolume is that of the union of the boxes [y_i, r]. With two losses it is a sum over a
staircase. With more, points enter in the order of their last loss; between two neighbours' heights
the slice is the same, and its hypervolume is one of m - 1 losses.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def hypervolume(y: Array, r: Array) -> float:
    """Return the volume of what the points dominate below the reference point.

    Example:
        >>> hypervolume(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([2.0, 2.0]))
        3.0
    """
    y, r = np.asarray(y, float).reshape(-1, len(r)), np.asarray(r, float)
    y = y[(y < r).all(axis=1)]
    if not len(y):
        return 0.0
    y = y[non_dominated(y)]
    return _staircase(y, r) if len(r) == 2 else _slices(y, r)


def non_dominated(y: Array) -> NDArray[np.bool_]:
    """Return which points no other point dominates; of equal ones the first counts.

    Example:
        >>> non_dominated(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])).tolist()
        [True, True, False]
    """
    y = np.asarray(y, float)
    kept = np.ones(len(y), dtype=bool)
    for i in range(len(y)):
        if kept[i]:
            worse = (y >= y[i]).all(axis=1)
            worse[i] = False
            kept &= ~worse
    return kept


def _staircase(y: Array, r: Array) -> float:
    """Add up the steps of points that do not dominate each other."""
    y = y[np.argsort(y[:, 0])]
    heights = np.concatenate([[r[1]], y[:-1, 1]]) - y[:, 1]
    return float(np.sum((r[0] - y[:, 0]) * heights))


def _slices(y: Array, r: Array) -> float:
    """Add up slices along the last loss; a slice holds all points that begin below it."""
    y = y[np.argsort(y[:, -1], kind="stable")]
    thickness = np.diff(np.append(y[:, -1], r[-1]))
    return float(
        sum(
            width * hypervolume(y[: i + 1, :-1], r[:-1])
            for i, width in enumerate(thickness)
            if width > 0
        )
    )


def improvements(y: Array, r: Array) -> Array:
    """Return the hypervolume after each of the points, in their order.

    Points with a loss that is not finite count for nothing.

    Example:
        >>> improvements(np.array([[1.0, 1.0], [np.inf, 0.0], [0.0, 1.0]]), np.array([2.0, 2.0]))
        array([1., 1., 2.])
    """
    front, found, last = np.empty((0, len(r))), [], 0.0
    for point in np.asarray(y, float):
        counts = np.isfinite(point).all() and not (front <= point).all(axis=1).any()
        if counts and (point < r).all():
            # Of its box, what others dominate are the boxes of their common corners with it.
            last += float(np.prod(r - point)) - hypervolume(np.maximum(front, point), r)
            front = np.vstack([front[~(front >= point).all(axis=1)], point])
        found.append(last)
    return np.array(found)

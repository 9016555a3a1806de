"""Scrambled Sobol sequences: any point of one, whether or not the others were asked for."""

from functools import lru_cache

import numpy as np

MOST_DIMENSIONS = 21_201  # that SciPy has directions for
_BLOCK = 64  # points that are made together: setting a sequence up takes longer than they do


def sobol_point(dimension: int, seed: int, index: int) -> np.ndarray:
    """Return a point of [0, 1)^d; the time to get there grows with its index.

    Args:
        dimension: number of coordinates.
        seed: of the scrambling.
        index: place in the sequence, from 0.

    Examples:
        >>> sobol_point(2, seed=0, index=5).shape
        (2,)
    """
    block, place = divmod(index, _BLOCK)
    point: np.ndarray = _points(dimension, seed, block)[place]
    return point


@lru_cache(maxsize=8)
def _points(dimension: int, seed: int, block: int) -> np.ndarray:
    from scipy.stats import qmc  # here, because importing it takes as long as the rest of thomax

    sequence = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(seed))
    if block:  # SciPy refuses to go forward by nothing
        sequence.fast_forward(block * _BLOCK)
    points: np.ndarray = sequence.random(_BLOCK)
    points.setflags(write=False)  # they are handed out again
    return points

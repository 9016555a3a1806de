"""Scrambled Sobol sequences: any point of one, whether or not the others were asked for.

The points are those of SciPy's `qmc.Sobol`, whose direction numbers (Joe and Kuo 2008) are read
from SciPy's own file: importing `scipy.stats` takes longer than everything else before the first
point. Where SciPy keeps no such file, SciPy makes the points.

Notation:
    v       direction numbers, one for each binary digit of the index     (d, bits)
    L       random lower triangular binary matrices, ones on the diagonal (d, bits, bits)
    shift   random digits that are added to every point                   (d,)

Point i is (shift xor the sum over the digits j of i's Gray code of L v_j) / 2^bits, where sums and
products are of binary digits (Matousek 1998).
"""

from functools import lru_cache
from importlib.util import find_spec

import numpy as np

MOST_DIMENSIONS = 21_201  # that SciPy has directions for
_BITS = 30
_PLACES = np.arange(_BITS - 1, -1, -1, dtype=np.uint32)  # of binary digits, the highest first
_BLOCK = 64  # points that are made together: setting a sequence up takes longer than they do


def sobol_point(dimension: int, seed: int, index: int) -> np.ndarray:
    """Return a point of [0, 1)^d.

    Args:
        dimension: The number of coordinates.
        seed: The seed of the scrambling.
        index: The place in the sequence, from 0.

    Examples:
        >>> sobol_point(2, seed=0, index=5).shape
        (2,)
    """
    block, place = divmod(index, _BLOCK)
    point: np.ndarray = _points(dimension, seed, block)[place]
    return point


@lru_cache(maxsize=8)
def _points(dimension: int, seed: int, block: int) -> np.ndarray:
    """Return a block of points, (64, d)."""
    rng = np.random.default_rng(seed)
    directions = _direction_numbers(dimension)
    points = (
        _from_scipy(dimension, rng, block)
        if directions is None
        else _scrambled(directions, rng, np.arange(block * _BLOCK, (block + 1) * _BLOCK))
    )
    points.setflags(write=False)  # they are handed out again
    return points


def _scrambled(v: np.ndarray, rng: np.random.Generator, index: np.ndarray) -> np.ndarray:
    """Return the points of these indices, (N, d), drawing shift and L in SciPy's order."""
    (rng,) = rng.spawn(1)  # SciPy draws from a generator of its own
    powers = 2 ** np.arange(_BITS, dtype=np.uint32)
    d = len(v)
    shift = rng.integers(2, size=(d, _BITS), dtype=np.uint32) @ powers
    L = np.tril(rng.integers(2, size=(d, _BITS, _BITS), dtype=np.uint32), -1)
    L |= np.eye(_BITS, dtype=np.uint32)
    digits = (v[:, None, :] >> _PLACES[None, :, None]) & 1  # (d, bits, j), high first
    mixed = (L.astype(np.uint8) @ digits.astype(np.uint8)) & 1  # 30 ones fit into a byte
    v = np.tensordot(mixed.astype(np.uint32), powers[::-1], axes=(1, 0))  # (d, j)
    gray = index ^ (index >> 1)
    x = np.broadcast_to(shift.astype(np.uint32), (len(index), d)).copy()
    for j in range(int(gray.max()).bit_length()):
        x ^= np.where((gray >> j & 1)[:, None].astype(bool), v[:, j], np.uint32(0))
    return x * (1.0 / 2**_BITS)


@lru_cache(maxsize=8)
def _direction_numbers(dimension: int) -> np.ndarray | None:
    """Return v from the polynomials and first numbers in SciPy's file, or None without it."""
    scipy = find_spec("scipy")  # imports nothing
    homes = (scipy and scipy.submodule_search_locations) or [""]
    try:
        with np.load(f"{homes[0]}/stats/_sobol_direction_numbers.npz") as table:
            polynomials, first = table["poly"][:dimension], table["vinit"][:dimension]
    except (OSError, KeyError):
        return None
    m = np.ones((dimension, _BITS), np.uint32)
    degrees = np.frompyfunc(int.bit_length, 1, 1)(polynomials.astype(object)).astype(int) - 1
    for degree in {*degrees[1:].tolist()}:
        rows = np.flatnonzero(degrees[1:] == degree) + 1
        numbers = m[rows]
        numbers[:, :degree] = first[rows, :degree]
        for j in range(degree, _BITS):  # the recurrence of Bratley and Fox (1988)
            numbers[:, j] = numbers[:, j - degree] ^ (numbers[:, j - degree] << degree)
            for k in range(1, degree):
                has_term = (polynomials[rows] >> (degree - k) & 1).astype(np.uint32)
                numbers[:, j] ^= has_term * (numbers[:, j - k] << k)
        m[rows] = numbers
    return m << _PLACES


def _from_scipy(dimension: int, rng: np.random.Generator, block: int) -> np.ndarray:
    from scipy.stats import qmc

    sequence = qmc.Sobol(dimension, scramble=True, rng=rng)
    if block:  # SciPy refuses to go forward by nothing
        sequence.fast_forward(block * _BLOCK)
    points: np.ndarray = sequence.random(_BLOCK)
    return points

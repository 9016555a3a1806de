"""The first points of a search, before there is anything to learn from.

Point i of a design depends only on the seed, on i, and on the points that came before.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from thomax.keys import Stream, make_key, stream
from thomax.model.padding import pad, padded_size
from thomax.model.sobol import MOST_DIMENSIONS, sobol_point
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.support.checks import is_whole
from thomax.support.types import Params, ParamsLike

Covariance: TypeAlias = Callable[[np.ndarray], np.ndarray]
Identity: TypeAlias = int | bytes  # what tells points apart

_CANDIDATES = 1000
_TRIES = 50  # at a random point that the constraint allows
_MOST_POSITIONS = 2**62  # more are no plain numbers
_LONGEST = 2**16  # points of a sequence: those before a point have to be walked through


def design_length(initial: int | str | None, space: Space | Pool) -> int:
    """Return the number of initial points: by default a few more than there are parameters.

    Args:
        initial: The number, "uncertainty", or None for the default.
        space: Where to search.
    """
    if initial is None or initial == "uncertainty":
        parameters = 10 if isinstance(space, Pool) else len(space.parameters)
        return min(20, parameters + 4)
    if not is_whole(initial, 0):
        raise ValueError(
            f'Optimizer needs initial to be a whole number >= 0 or "uncertainty", got {initial!r}.'
        )
    return int(initial)


def may_repeat(space: Space | Pool) -> bool:
    """Return whether a point can come twice: not where a continuous parameter is always active.

    A branch of a conditional space without numbers is a single point.

    Args:
        space: Where to search.
    """
    if isinstance(space, Pool) or space.is_finite:
        return True
    return any(p.when for p in space.parameters.values())


def identities(
    space: Space | Pool, params: Sequence[Params], rows: Iterable[np.ndarray]
) -> Sequence[Identity]:
    """Return what tells points apart: positions in a space that has them, else encoded points.

    The position of a point among 2^20000 has thousands of digits, and takes seconds to find.

    Args:
        space: Where to search.
        params: The points.
        rows: The same points, encoded.
    """
    has_positions = space.is_finite and space.size <= _MOST_POSITIONS
    return space.index(params) if has_positions else [row.tobytes() for row in rows]


def quasi_random_point(
    space: Space | Pool,
    seed: int,
    number: int,
    seen: Collection[Identity],
    before: ArrayLike = (),
) -> Params | None:
    """Return point `number` of a scrambled Sobol sequence, a random one if it is seen or late.

    A pool is walked in a random order.

    Args:
        space: Where to search.
        seed: The seed of the sequence.
        number: Which point of the sequence.
        seen: The identities of points that are not returned.
        before: Encoded points that came before: where the constraint refuses nearly all random
            points, others are found from these.

    Returns:
        The point, or None where there are no others.
    """
    if isinstance(space, Pool):
        walk = stream(make_key(seed), Stream.INITIAL_DESIGN).permutation(space.size)
        order = np.roll(walk, -(number % space.size))
        return _first(space.params([int(i)])[0] for i in order if i not in seen)
    found = _first(
        params
        for rows in _attempts(space, seed, number, before)
        for params, identity in zip(*_identified(space, rows), strict=True)
        if identity not in seen
    )
    if found is None and not space.is_finite:  # there are others, but hard to find
        attempts = _attempts(space, seed, number, before)
        return _first(params for rows in attempts for params in space.decode(rows))
    return found


def most_uncertain_point(
    space: Space | Pool,
    seed: int,
    number: int,
    before: Sequence[ParamsLike],
    seen: Collection[Identity],
    covariance: Covariance,
    noise_std: float,
) -> Params | None:
    """Return the candidate of largest posterior variance given all points before it.

    This is uncertainty sampling, the initial stage of the paper's Theorem 1, on random candidates.

    Args:
        space: Where to search.
        seed: The seed of the candidates.
        number: The number of the trial.
        before: The points that came before.
        seen: The identities of points that are not returned.
        covariance: The prior covariance of encoded points (n, d): (n, n).
        noise_std: The standard deviation of the observation noise.

    Returns:
        The point, or None where there are no others.
    """
    from thomax.model.posterior import variance  # SciPy, which other first points do without

    rng = stream(make_key(seed, number), Stream.INITIAL_DESIGN)
    known = space.encode(before) if before else np.zeros((0, *space.shape))
    if isinstance(space, Pool):
        positions = rng.choice(space.size, min(_CANDIDATES, space.size), replace=False).tolist()
        rows: np.ndarray = space.at(positions)
        params = space.params(positions)
    else:
        rows = space.sample(rng, _CANDIDATES, tries=_TRIES * _CANDIDATES, known=known)
        params, positions = _identified(space, rows)
    k, n = len(before), len(before) + len(rows)
    points = np.concatenate([known, rows]) if k else rows
    K = covariance(pad(points, padded_size(n)))[:n, :n]  # padded: few sizes to compile for
    variances = variance(K[:k, :k], K[:k, k:], np.diag(K)[k:], noise_std)
    ranked = np.argsort(-variances, kind="stable")
    found = _first(params[i] for i in ranked if positions[i] not in seen)
    # All of them may be seen, and others of a finite space not.
    return found or quasi_random_point(space, seed, number, seen, known)


def _first(points: Iterable[Params]) -> Params | None:
    return next(iter(points), None)


def _attempts(space: Space, seed: int, number: int, before: ArrayLike) -> Iterator[np.ndarray]:
    """Yield rows to choose from: the wanted one, random ones, and all that can be listed."""
    if number < _LONGEST and space.dimension <= MOST_DIMENSIONS:
        row = space.spread(sobol_point(space.dimension, seed % 2**63, number)[None])
        yield row[space.satisfies(row)]
    rng = stream(make_key(seed, number), Stream.INITIAL_DESIGN)
    yield space.sample(rng, 100, tries=100 * _TRIES, known=before)
    if space.can_be_listed:
        yield from (rows for _, rows in space.chunks(_CANDIDATES))


def _identified(space: Space, rows: np.ndarray) -> tuple[list[Params], Sequence[Identity]]:
    params = space.decode(rows)
    return params, identities(space, params, rows)

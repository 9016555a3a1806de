"""The first points of a search, before there is anything to learn from.

Point i of a design depends only on the seed, on i, and on the points that came before.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from thomax.keys import Stream, make_key, stream
from thomax.model.sobol import MOST_DIMENSIONS, sobol_point
from thomax.search.settings import Search
from thomax.space.given import Region
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.support.checks import POSITIVE, check, is_whole, whole
from thomax.support.spelling import spell_checked
from thomax.support.types import Params, ParamsLike

if TYPE_CHECKING:  # importing JAX takes long, and the first points do without
    from thomax.model.kernels import Kernel

Identity: TypeAlias = int | bytes  # what tells points apart

_USUAL_LENGTH = 5
_CANDIDATES = 1000
_TRIES = 50  # at a random point that the constraint allows
_MOST_POSITIONS = 2**62  # more are no plain numbers
_LONGEST = 2**16  # points of a sequence: those before a point have to be walked through
_WHOLE = 20_000  # candidates of a pool whose variance is computed for each point
_STANDING_IN = 1000  # points that stand for a space when the length of a stage is found
_USUAL_SEARCH = Search()
_LONGEST_STAGE = 1000  # points: to evaluate more of them before searching is hardly meant


@spell_checked
@dataclass(frozen=True)
class UncertaintySampling:
    """Begin with the points of largest posterior variance: the initial stage of the theorems.

    Each point is the most uncertain one given all points before it, pending ones too; no values
    are needed. The policy's prior and noise decide what is uncertain, so that it must have them.
    A finite space repeats a point only with `allow_repeats`; the theorems ask for that.

    Args:
        length: How many points. None takes the smallest T with (B - 1) gamma_T / T <= C, after
            which the pending points of a batch hold little information; nothing for a batch of 1.
        batch: B, how many points are evaluated at the same time in the search that follows.
        C: How many nats of information the pending points of a batch may hold.

    Examples:
        >>> from thomax import Float, Optimizer, STOBNTSLinear
        >>> stage = UncertaintySampling(3)
        >>> search = Optimizer({"x": Float(0, 1)}, STOBNTSLinear(), seed=0, initial=stage)
        >>> sorted(round(t.params["x"], 1) for t in search.ask(3))
        [0.0, 0.4, 1.0]
    """

    length: int | None = None
    batch: int = 4
    C: float = 1.0

    def __post_init__(self) -> None:
        check(self, length=whole(0).or_none(), batch=whole(1), C=POSITIVE)


Initial: TypeAlias = int | Literal["uncertainty"] | UncertaintySampling | None


def checked_initial(initial: Initial) -> int | UncertaintySampling | None:
    """Return what the argument `initial` of an optimiser stands for, or raise.

    Args:
        initial: A number of quasi-random points, None for the default number, or uncertainty
            sampling; the word "uncertainty" stands for that with its default settings.
    """
    if initial == "uncertainty":
        return UncertaintySampling()
    if initial is None or isinstance(initial, UncertaintySampling):
        return initial
    if not is_whole(initial, 0):
        raise ValueError(
            'Optimizer needs initial to be a whole number >= 0, "uncertainty" or an '
            f"UncertaintySampling, got {initial!r}."
        )
    return int(initial)


def design_length(length: int | None) -> int:
    """Return the number of quasi-random points: by default five, however many parameters.

    Args:
        length: The number, or None for the default.
    """
    return _USUAL_LENGTH if length is None else length


def stage_length(
    stage: UncertaintySampling, space: Space | Pool, kernel: "Kernel", noise_std: float
) -> int:
    """Return how many points uncertainty sampling takes.

    A space that is not small is stood for by random points of it.

    Args:
        stage: Its settings.
        space: Where to search.
        kernel: The prior covariance of encoded points.
        noise_std: The standard deviation of the observation noise.
    """
    from thomax.model.kernels import gram
    from thomax.theory import greedy_information_gain, initial_length

    if stage.batch == 1:
        return 0
    x = _representatives(space)
    K = gram(kernel, x, x)
    for most in (_LONGEST_STAGE // 16, _LONGEST_STAGE // 4, _LONGEST_STAGE):
        gains, _ = greedy_information_gain(K, noise_std, most)
        if (stage.batch - 1) * gains[-1] / most <= stage.C:  # the ratio only falls
            return initial_length(gains, stage.batch, stage.C)
    raise ValueError(
        f"UncertaintySampling needs a batch and a C whose stage has at most {_LONGEST_STAGE}"
        f" points, got batch={stage.batch} and C={stage.C}: in this space and with this prior it"
        " is longer. Pass a smaller batch, a larger C, or a length of your own such as"
        " UncertaintySampling(20)."
    )


def _representatives(space: Space | Pool) -> np.ndarray:
    """Return all points of a small finite space, or as many random ones, encoded."""
    if space.size <= _STANDING_IN:
        return np.concatenate([rows for _, rows in space.chunks(_STANDING_IN)])
    rng = stream(make_key(0), Stream.INITIAL_DESIGN)  # the same for all seeds of a search
    if isinstance(space, Pool):
        return space.at(rng.choice(space.size, _STANDING_IN, replace=False).tolist())
    return space.sample(rng, _STANDING_IN, tries=_TRIES * _STANDING_IN)


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


def quasi_random_point_in(
    region: Region,
    seed: int,
    number: int,
    exclude: Sequence[Params],
    before: np.ndarray,
) -> Params | None:
    """Return a point like `quasi_random_point` where some parameters are given.

    Args:
        region: Where to search.
        seed: The seed of the sequence.
        number: Which point of the sequence.
        exclude: Points of the whole space that are not returned.
        before: Encoded points of the whole space that came before.

    Returns:
        The point of the whole space, or None where there are no others.
    """
    taken = [point for point in map(region.inside, exclude) if point is not None]
    space = region.space
    if space is None:
        return None if taken else region.completed({})
    seen = {*identities(space, taken, space.encode(taken) if taken else [])}
    found = quasi_random_point(space, seed, number, seen, region.project(before))
    return None if found is None else region.completed(found)


def most_uncertain_point(
    space: Space | Pool,
    seed: int,
    number: int,
    before: Sequence[ParamsLike],
    exclude: Sequence[ParamsLike],
    kernel: "Kernel",
    noise_std: float,
    search: Search = _USUAL_SEARCH,
    region: Region | None = None,
) -> Params | None:
    """Return the point of largest posterior variance given all points before it.

    This is uncertainty sampling, the initial stage of the paper's Theorem 1. Pools that are not
    very large and small finite spaces are searched whole; in others the best of many candidates
    are climbed.

    Args:
        space: Where to search.
        seed: The seed of the candidates.
        number: The number of the trial.
        before: The points that came before.
        exclude: Points that are not returned.
        kernel: The prior covariance of encoded points.
        noise_std: The standard deviation of the observation noise.
        search: How the variance is maximised.
        region: The region of the space that the point must lie in; None for all of it.

    Returns:
        The point, or None where there are no others.
    """
    from thomax.model.evaluation import evaluate  # JAX, which other first points do without
    from thomax.model.uncertainty import Uncertainty
    from thomax.search.maximise import maximise

    rng = stream(make_key(seed, number), Stream.INITIAL_DESIGN)
    known = space.encode(before) if before else np.zeros((0, *space.shape))
    uncertainty = Uncertainty.given(kernel, known, noise_std)
    region = region or Region(space)
    pool = region.space
    if isinstance(pool, Pool) and pool.size > _WHOLE:
        taken = [point for point in exclude if region.inside({**point}) is not None]
        seen = {*pool.index(taken)}
        some = [i for i in rng.choice(pool.size, _WHOLE, replace=False).tolist() if i not in seen]
        if some:
            variances = evaluate(uncertainty, np.asarray(pool.at(some), np.float32))[0]
            return pool.params([some[variances.argmax()]])[0]
    found = maximise(rng, uncertainty, region, search=search, exclude=exclude, known=known)
    return _first(found)


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

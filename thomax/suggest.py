"""Turn data into the next points: where a policy and the search for its maxima meet.

Everything here is a function of the seed, the trials' numbers and the data: the optimiser and the
adapters to other tools propose the same points from the same history.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from thomax.keys import NO_TRIAL, Stream, make_key, make_keys, stream
from thomax.metric_scores import metric_score
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.evaluation import Evaluator, Score, evaluator, in_units
from thomax.model.failures import avoid_failures
from thomax.model.metric_data import MetricData
from thomax.model.prior import SMALLEST_MAX_NOISE_STD
from thomax.policies.base import Policy
from thomax.policies.prepared import HasMarginals
from thomax.policies.sto import STOBNTSLinear
from thomax.search.maximise import maximise
from thomax.search.settings import Search
from thomax.search.trust import start_length
from thomax.space.given import Region
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.support.types import Params, ParamsLike

FEWEST_VALUES = 3  # with fewer, a model knows no better than the values
_RECOMMEND_DRAWS = 16  # draws averaged to estimate the posterior mean
_GREEDY_STD = 0.25  # of draws while there are few values, in posterior standard deviations
_POOL_PARAMETERS = 10  # that a pool counts as
_FEW = 2  # parameters: there is time to look everywhere
_FEW_WITH_CHOICES = 5  # parameters: there is time to look at every option
_ANY_NOISE_STD = 1.0  # in units of the function's amplitude
_CLEAR_EVIDENCE = 3.0  # nats: twenty times as likely
_CENTRES = 5  # good points whose neighbourhood is searched


def suggest(
    policy: Policy,
    space: Space | Pool | Region,
    data: Data | MetricData,
    n: int,
    *,
    seed: int,
    number: int,
    search: Search | None = None,
    exclude: Sequence[ParamsLike] = (),
    distinct: bool = True,
    repeatable: Sequence[ParamsLike] = (),
    repeat_margin: float = 0.0,
) -> list[Params]:
    """Return the next points: the maxima of n scores.

    Trials of the same number on the same data get the same score, however they are asked for.

    Args:
        policy: What turns keys and data into scores.
        space: Where to search: a space, a pool, or a region of one. The policy sees all data.
        data: What has been observed, larger values being better: of one objective, or of several
            metrics.
        n: How many points; there are fewer where a finite space has no more.
        seed: The seed of the run.
        number: The number of the first trial that a point is wanted for.
        search: How hard to search; None for the default.
        exclude: Points that are not returned.
        distinct: Whether the points must all differ, save repeated ones.
        repeatable: The evaluated points, in the order of the data, if they may be evaluated once
            more; none if not.
        repeat_margin: How much larger the maximum of a draw must be than its value at the best of
            those, for not to repeat that one: in standard deviations of the noise; where a policy
            does not tell the noise, any margin is 0.
    """
    search = search or Search()
    with small_matrices(len(data)):
        keys = make_keys(seed, n, first=number)
        if isinstance(data, MetricData):
            score = metric_score(policy, keys, data, scalarisation=search.scalarisation)
        else:
            score = _score(policy, keys, data)
        found = maximise(  # Algorithm 1, line 8; Algorithm 2, line 7
            # As long as nothing is told the search looks at the same points: then asking for n
            # trials at once or one by one is the same, up to the accuracy of the search (a draw
            # alone is climbed from more points).
            stream(make_key(seed, len(data)), Stream.SEARCH),
            score,
            space,
            search=search,
            exclude=exclude,
            centres=data.x[data.best(_CENTRES if policy.search_near_best else 0)],
            known=data.x if len(data.x) else data.pending,
            evaluated=_worked(data) if policy.search_near_best else (),
            distinct=distinct,
        )
        if not repeatable or isinstance(data, MetricData):
            return found
        return _with_repeats(policy, score, space, data, found, repeatable, repeat_margin)


def _worked(data: Data | MetricData) -> np.ndarray:
    """Return the points that have a value."""
    failed = data.outcomes.failed if isinstance(data, MetricData) else data.failed
    return data.x[~failed]


def _with_repeats(
    policy: Policy,
    score: Score | Evaluator,
    space: Space | Pool | Region,
    data: Data,
    found: list[Params],
    repeatable: Sequence[ParamsLike],
    margin: float,
) -> list[Params]:
    """Return the points that were found, or evaluated ones in their place."""
    region = space if isinstance(space, Region) else Region(space)
    allowed = np.array([region.inside({**point}) is not None for point in repeatable])
    allowed &= ~data.failed
    if not allowed.any():
        return found
    maxima = np.asarray(region.whole.encode(found), np.float32) if found else data.x[:0]
    margin = margin * _noise_std(policy, data)
    rows = rows_to_repeat(score, maxima, data, allowed=allowed, margin=margin)
    return [
        point if row is None else {**repeatable[row]} for point, row in zip_longest(found, rows)
    ]


def rows_to_repeat(
    score: Score | Evaluator,
    maxima: np.ndarray,
    data: Data,
    *,
    allowed: np.ndarray,
    margin: float,
) -> list[int | None]:
    """Return for each draw the evaluation to repeat, or None where its maximum is to be evaluated.

    A draw is a guess at the function. Where it promises hardly more at its maximum than at a point
    that was evaluated before, measuring that one again teaches as much of the best value.

    Args:
        score: The draws.
        maxima: Encoded points where the draws are largest, one for each of the first of them; a
            draw without one has no new point left.
        data: What has been observed.
        allowed: Which evaluations may be repeated, (n,); at least one.
        margin: How much more a draw must promise, on the scale of the targets.
    """
    draws = evaluator(score)
    values = np.where(allowed, draws.values(data.x), -np.inf)
    rows = values.argmax(axis=1)
    known = values.max(axis=1)
    promised = np.full(len(known), -np.inf)
    if len(maxima):
        promised[: len(maxima)] = np.diag(draws.values(maxima))  # draw i at maximum i
    return [
        int(r) if p <= k + margin else None for r, p, k in zip(rows, promised, known, strict=True)
    ]


def _noise_std(policy: Policy, data: Data) -> float:
    """Return the deviation of one measurement on the scale of the targets, 0 if unknown."""
    found = policy.marginals(data, data.x[:1]) if isinstance(policy, HasMarginals) else None
    return 0.0 if found is None else found.noise_std


def _score(policy: Policy, keys: np.ndarray, data: Data) -> Score | Evaluator:
    """Return the policy's scores, lowered where evaluations are likely to fail.

    The policy learns from the successes. While there are none, all failures get the same value.
    """
    failed = data.failed
    if not failed.any() or not policy.avoids_failures:
        return policy(keys, data)
    if failed.all():
        return policy(keys, replace(data, y=np.zeros(len(data))))
    # All draws of a batch see the same border, as they would if they were asked for one by one.
    key = make_key(int(keys[0, 0]), NO_TRIAL + len(data))
    return avoid_failures(policy(keys, data.successes()), key, data)


@dataclass(frozen=True)
class GreedyStart:
    """The deviation of draws by the number of observations: small at first, then a larger one.

    What few evaluations have shown is best followed up; whoever has many can explore.

    Args:
        length: Before so many observations the deviation is small.
        then: The deviation afterwards.
        first: The deviation before.

    Examples:
        >>> deviation = GreedyStart(length=30, then=0.5)
        >>> deviation(29), deviation(30)
        (0.25, 0.5)
    """

    length: int
    then: float
    first: float = _GREEDY_STD

    def __call__(self, n: int) -> float:
        """Return what multiplies the posterior's standard deviation after n observations.

        Args:
            n: The number of observations.
        """
        return self.first if n < self.length else self.then


def default_policy(space: Space | Pool) -> STOBNTSLinear:
    """Choose the policy for a space.

    Draws begin with a quarter of the posterior's standard deviation, for as long as there are
    fewer than three values for each parameter, at most thirty. Afterwards full Thompson draws
    would in many dimensions explore for too long: draws have half the standard deviation. Few
    dimensions, few parameters with choices, conditional spaces and pools must be explored fully
    then, and with warped targets the search would stay where it was good first.
    docs/research/defaults.md and docs/research/first-evaluations.md have the numbers.

    Args:
        space: The space that will be searched.
    """
    d = _POOL_PARAMETERS if isinstance(space, Pool) else len(space.parameters)
    length = start_length(d)
    if _needs_full_exploration(space):
        return STOBNTSLinear(beta=GreedyStart(length, then=1.0), warp_targets=False)
    return STOBNTSLinear(beta=GreedyStart(length, then=0.5))


def belief_policy(policy: Policy, space: Space | Pool, **settings: Any) -> Policy:
    """Return the policy whose draws estimate the objective, for `recommend()` and the report.

    Estimating takes for noise whatever looks like it; searching follows it, because the next
    evaluation tells.

    Args:
        policy: The policy of the search; where it is no model, the default one takes its place.
        space: The space that is searched.
        **settings: Settings to change, where the policy has them.
    """
    if not policy.is_model:
        policy = default_policy(space)
    if not is_dataclass(policy):
        return policy
    settings = {"max_noise_std": _ANY_NOISE_STD, **settings}
    known = {field.name for field in fields(policy)}
    return replace(policy, **{name: v for name, v in settings.items() if name in known})


def posterior_means(
    policy: Policy, space: Space | Pool, data: Data, *, seed: int
) -> np.ndarray | None:
    """Return the posterior mean at each successful evaluation, by which one is recommended.

    Without noise the best observed value is no overestimate, and there is nothing to correct.
    Where only known errors are noise, the other values are taken as they are.

    Args:
        policy: The policy of the search.
        space: The space that is searched.
        data: What has been observed.
        seed: The seed of the search.

    Returns:
        The means in the order of the data, or None where the values show no noise and no errors
        are known.
    """
    data = data.successes()
    if len(data) < FEWEST_VALUES:
        return None
    if shows_noise(space, data):
        believing = belief_policy(policy, space)
    elif (data.noise_std > 0).any():
        believing = belief_policy(policy, space, max_noise_std=SMALLEST_MAX_NOISE_STD)
    else:
        return None
    keys = make_keys(seed, _RECOMMEND_DRAWS, first=NO_TRIAL)
    draws = in_units(believing(keys, data), data.x)
    # Divided first: values may be near the largest float.
    means: np.ndarray = (draws / _RECOMMEND_DRAWS).sum(axis=0)
    return means


def shows_noise(space: Space | Pool, data: Data) -> bool:
    """Return whether values differ at points that are too close together for a function.

    What measurements of the same point differ by, and noise that is known, is taken into account.

    Args:
        space: The space that is searched.
        data: What has been observed.
    """
    model = replace(default_policy(space), max_noise_std=_ANY_NOISE_STD)
    return model.evidence_of_noise(data) > _CLEAR_EVIDENCE


def _needs_full_exploration(space: Space | Pool) -> bool:
    if isinstance(space, Pool):
        return True
    parameters = space.parameters.values()
    has_choices = any(not p.is_ordered for p in parameters)
    few = _FEW_WITH_CHOICES if has_choices else _FEW
    return len(parameters) <= few or any(p.when for p in parameters)

"""Turn data into the next points: where a policy and the search for its maxima meet.

Everything here is a function of the seed, the trials' numbers and the data: the optimiser and the
adapters to other tools propose the same points from the same history.
"""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from thomax.keys import NO_TRIAL, Stream, make_key, make_keys, stream
from thomax.metric_scores import metric_score
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.evaluation import Evaluator, Score, in_units
from thomax.model.failures import avoid_failures
from thomax.model.metric_data import MetricData
from thomax.policies.base import Policy
from thomax.policies.sto import STOBNTSLinear
from thomax.search.maximise import maximise
from thomax.search.settings import Search
from thomax.space.given import Region
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.support.types import Params, ParamsLike

FEWEST_VALUES = 3  # with fewer, a model knows no better than the values
_RECOMMEND_DRAWS = 16  # draws averaged to estimate the posterior mean
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
        distinct: Whether the points must all differ.
    """
    search = search or Search()
    with small_matrices(len(data)):
        keys = make_keys(seed, n, first=number)
        if isinstance(data, MetricData):
            score = metric_score(policy, keys, data, scalarisation=search.scalarisation)
        else:
            score = _score(policy, keys, data)
        return maximise(  # Algorithm 1, line 8; Algorithm 2, line 7
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
            distinct=distinct,
        )


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


def default_policy(space: Space | Pool) -> STOBNTSLinear:
    """Choose the policy for a space.

    In many dimensions full Thompson draws explore for too long: draws have half the standard
    deviation. Few dimensions, few parameters with choices, conditional spaces and pools must be
    explored fully, and with warped targets the search would stay where it was good first.
    docs/research/defaults.md has the numbers.

    Args:
        space: The space that will be searched.
    """
    if _needs_full_exploration(space):
        return STOBNTSLinear(beta=1.0, warp_targets=False)
    return STOBNTSLinear(beta=0.5)


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

    Args:
        policy: The policy of the search.
        space: The space that is searched.
        data: What has been observed.
        seed: The seed of the search.

    Returns:
        The means in the order of the data, or None where the values show no noise.
    """
    data = data.successes()
    if len(data) < FEWEST_VALUES or not shows_noise(space, data):
        return None
    keys = make_keys(seed, _RECOMMEND_DRAWS, first=NO_TRIAL)
    draws = in_units(belief_policy(policy, space)(keys, data), data.x)
    # Divided first: values may be near the largest float.
    means: np.ndarray = (draws / _RECOMMEND_DRAWS).sum(axis=0)
    return means


def shows_noise(space: Space | Pool, data: Data) -> bool:
    """Return whether values differ at points that are too close together for a function.

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

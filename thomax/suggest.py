"""Turn data into the next points: where a policy and the search for its maxima meet.

Everything here is a function of the seed, the trials' numbers and the data: the optimiser and the
adapters to other tools propose the same points from the same history.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from thomax.keys import NO_TRIAL, make_key, make_keys, stream
from thomax.model.data import Data
from thomax.model.failures import avoid_failures
from thomax.policies.sto import STOBNTSLinear
from thomax.search.maximise import maximise
from thomax.search.settings import Search
from thomax.space.parameters import Bool, Categorical
from thomax.space.pool import Pool
from thomax.space.space import Space

Policy = Callable[[np.ndarray, Data], Any]
Params = dict[str, Any]

_SEARCH = 12  # the stream of a key that the maximiser uses
_FEW = 2  # parameters: there is time to look everywhere
_FEW_WITH_CHOICES = 5  # parameters: there is time to look at every option
_ANY_NOISE_STD = 1.0  # in units of the function's amplitude
_CLEAR_EVIDENCE = 3.0  # nats: twenty times as likely
_CENTRES = 5  # good points whose neighbourhood is searched


def suggest(
    policy: Policy,
    space: Space | Pool,
    data: Data,
    n: int,
    *,
    seed: int,
    number: int,
    search: Search | None = None,
    exclude: Sequence[Mapping[str, Any]] = (),
) -> list[Params]:
    """Return the points of trials `number` to `number + n - 1`: the maxima of n draws.

    They differ from each other and from `exclude`; there are fewer where a finite space has no
    more. Trials of the same number on the same data get the same draw, however they are asked for.
    """
    score = _score(policy, make_keys(seed, n, first=number), data)
    count = _CENTRES if getattr(policy, "search_near_best", True) else 0
    best = np.argsort(-data.y, kind="stable")[:count]
    return maximise(  # Algorithm 1, line 8; Algorithm 2, line 7
        # As long as nothing is told the search looks at the same points: then asking for n
        # trials at once or one by one is the same, up to the accuracy of the search (a draw
        # alone is climbed from more points).
        stream(make_key(seed, len(data)), _SEARCH),
        score,
        space,
        search=search or Search(),
        exclude=exclude,
        centres=data.x[best[np.isfinite(data.y[best])]],
        known=data.x if len(data.x) else data.pending,
    )


def _score(policy: Policy, keys: np.ndarray, data: Data) -> Any:
    """Return the policy's scores, kept away from where evaluations are likely to fail.

    The policy learns from the successes. While there are none, all failures are worth the same,
    and its draws look elsewhere.
    """
    failed = data.failed
    if not failed.any() or not getattr(policy, "avoids_failures", True):
        return policy(keys, data)
    if failed.all():
        return policy(keys, replace(data, y=np.zeros(len(data))))
    # All draws of a batch see the same border, as they would if they were asked for one by one.
    key = make_key(int(keys[0, 0]), NO_TRIAL + len(data))
    return avoid_failures(policy(keys, data.successes()), key, data)


def default_policy(space: Space | Pool) -> STOBNTSLinear:
    """Choose the policy for a space: draws at half the deviation, unless it has to be roamed.

    Full Thompson draws roam a space of many dimensions for long. But one or two dimensions, the
    options of a choice among few parameters, branches of a conditional space and the rows of a
    pool have to be roamed; bending targets towards the good ones would keep the search where it
    was good first. docs/how-to-choose.md has the numbers.
    """
    if _needs_full_exploration(space):
        return STOBNTSLinear(beta=1.0, warp_targets=False)
    return STOBNTSLinear(beta=0.5)


def models_objective(policy: Policy) -> bool:
    """Say whether a policy's scores estimate the objective, as draws do and bounds do not."""
    return getattr(policy, "is_model", True)


def belief_policy(policy: Policy, space: Space | Pool, **settings: Any) -> Policy:
    """Return a policy to ask what is believed, with these settings where it has them.

    Where its own scores say nothing about that it is the space's default one. To believe is to
    take for noise whatever looks like it. To search is to follow it: the next evaluation tells.
    """
    if not models_objective(policy):
        policy = default_policy(space)
    if not is_dataclass(policy):
        return policy
    settings = {"max_noise_std": _ANY_NOISE_STD, **settings}
    its: Any = policy
    return replace(its, **{name: v for name, v in settings.items() if hasattr(its, name)})


def shows_noise(space: Space | Pool, data: Data) -> bool:
    """Return whether values differ at points that are too close together for a function."""
    believed = replace(default_policy(space), max_noise_std=_ANY_NOISE_STD)
    return believed.evidence_of_noise(data) > _CLEAR_EVIDENCE


def _needs_full_exploration(space: Space | Pool) -> bool:
    if isinstance(space, Pool):
        return True
    parameters = space.parameters.values()
    has_choices = any(isinstance(p, Categorical | Bool) for p in parameters)
    few = _FEW_WITH_CHOICES if has_choices else _FEW
    return len(parameters) <= few or any(p.when for p in parameters)

"""Which evaluated trial is recommended where several metrics are measured: `Optimizer.recommend`.

Where the values of a metric show noise, its posterior means take their place: the best of many
noisy values is an overestimate, and so is the one that seems just inside a limit.
"""

import math
from collections.abc import Mapping
from numbers import Real

import numpy as np

from thomax.model.metric_data import MetricData, non_dominated
from thomax.policies.base import Policy
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.metrics import Metrics
from thomax.suggest import posterior_means
from thomax.support.spelling import nearest


def recommended(
    policy: Policy, space: Space | Pool, data: MetricData, weights: np.ndarray, *, seed: int
) -> int | None:
    """Return the position of the best evaluation that is expected to keep all limits, if one is.

    Objectives are weighed up in units of what the front spans.

    Args:
        policy: The policy of the search.
        space: The space that is searched.
        data: What has been observed.
        weights: The weights of the objectives, (K,).
        seed: The seed of the search.
    """
    expected = _expected(policy, space, data, seed)
    margins = [bound.margin(expected[:, bound.column]) for bound in data.bounds]
    goals = expected[:, : data.objectives]
    is_candidate = ~np.isnan(goals[:, weights > 0]).any(axis=1)
    for margin in margins:
        is_candidate &= margin >= 0
    rows = np.flatnonzero(is_candidate)
    if not len(rows):
        return None
    known = goals[rows][~np.isnan(goals[rows]).any(axis=1)]
    front = known[non_dominated(known)] if len(known) else np.zeros((1, len(weights)))
    span = np.ptp(front, axis=0)
    scaled = np.nan_to_num(goals[rows]) * (weights / np.where(span > 0, span, 1.0))
    return int(rows[scaled.sum(axis=1).argmax()])


def _expected(policy: Policy, space: Space | Pool, data: MetricData, seed: int) -> np.ndarray:
    """Return values, or posterior means where values show noise, NaN where one is missing."""
    expected = data.y.copy()
    for column, metric in enumerate(data.metrics):
        means = posterior_means(policy, space, metric, seed=seed)
        if means is not None:
            expected[~np.isnan(data.y[:, column]), column] = means
    return expected


def checked_weights(weights: Mapping[str, float] | None, metrics: Metrics) -> np.ndarray:
    """Return the weight of each objective, or raise.

    Args:
        weights: What a user has passed.
        metrics: The objectives and limits of the search.
    """
    names = [*metrics.objectives]
    if len(names) == 1:
        if weights is not None:
            raise ValueError(
                f"recommend needs weights only for several objectives, got {weights!r} for one: "
                "leave them out."
            )
        return np.ones(1)
    example = "{" + ", ".join(f'"{name}": 1' for name in names) + "}"
    if not isinstance(weights, Mapping):
        raise ValueError(
            f"recommend needs weights for several objectives, got {weights!r}: pass "
            f"weights={example}, or choose from `front`."
        )
    for name, weight in weights.items():
        if name not in names:
            raise ValueError(f"{name!r} is no objective: {nearest(name, names)}")
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not is_number or not 0 <= float(weight) < math.inf:
            raise ValueError(f"recommend needs a weight >= 0 for {name!r}, got {weight!r}.")
    found = np.array([float(weights.get(name, 0.0)) for name in names])
    if not found.any():
        raise ValueError(f"recommend needs a weight > 0, got {dict(weights)}: pass {example}.")
    return found

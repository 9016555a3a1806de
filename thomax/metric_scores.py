"""From data of several metrics to a score: a posterior draw of each, and a rule to weigh them up.

Each metric has a model of its own, which learns from the evaluations that have it. Draws of
different metrics are independent. With one objective and no limit it would be the policy's score.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from thomax.keys import NO_TRIAL, Stream, make_key, metric_keys, stream
from thomax.model.constrained import DrawnLimit, MetricScore
from thomax.model.data import Data
from thomax.model.evaluation import Evaluator, Score, evaluator
from thomax.model.failures import avoid_failures
from thomax.model.metric_data import Bound, MetricData
from thomax.model.targets import around, on_scale
from thomax.model.tradeoffs import First, Tradeoff, chebyshev, hypervolume
from thomax.policies.base import Policy
from thomax.search.settings import Scalarisation

LIMIT_BETA: float | None = 1.0  # for draws of limited metrics; None: as for objectives


def metric_score(
    policy: Policy,
    keys: np.ndarray,
    data: MetricData,
    *,
    scalarisation: Scalarisation = "chebyshev",
    limit_beta: float | None = LIMIT_BETA,
) -> Score | Evaluator:
    """Return one score for each key, lowered where evaluations are likely to fail.

    A policy that learns nothing sees the first objective only.

    Args:
        policy: What turns keys and data into the draws of one metric.
        keys: The keys of the trials, (B, 2).
        data: What has been observed.
        scalarisation: How objectives are weighed up: by a random augmented "chebyshev" weighting
            for each draw, or by the "hypervolume" that a draw adds to the front.
        limit_beta: What multiplies the posterior's deviation in draws of metrics that are only
            limited; None for what the policy has for objectives.
    """
    outcomes = data.outcomes
    if not policy.avoids_failures or outcomes.failed.all():
        return policy(keys, _or_zeros(data.metrics[0]))
    found = _weighed(policy, keys, data, scalarisation, limit_beta)
    if not outcomes.failed.any():
        return found
    # All draws of a batch see the same border, as they would if they were asked for one by one.
    key = make_key(int(keys[0, 0]), NO_TRIAL + len(data))
    return avoid_failures(found, key, outcomes)


def _weighed(
    policy: Policy,
    keys: np.ndarray,
    data: MetricData,
    scalarisation: Scalarisation,
    limit_beta: float | None,
) -> MetricScore:
    # Of a limited metric that nothing is known of yet, nothing can be asked.
    bounds = [b for b in data.bounds if len(data.metrics[b.column].successes())]
    known = _around_bounds(data, bounds)
    kept = [*range(data.objectives)]
    kept += [b.column for b in bounds if b.column >= data.objectives]
    scores: list[Score] = []
    for j in kept:
        of_metric = policy if j < data.objectives else _with_beta(policy, limit_beta)
        scores.append(of_metric(metric_keys(keys, j), _or_zeros(known.metrics[j]).successes()))
    limits = [
        DrawnLimit(
            kept.index(b.column), float(_on_scale(scores[kept.index(b.column)], 0.0)), b.is_lower
        )
        for b in bounds
    ]
    tradeoff = _tradeoff(keys, known, data.front, scores, scalarisation)
    return MetricScore([evaluator(s) for s in scores], data.objectives, tradeoff, limits)


def _around_bounds(data: MetricData, bounds: list[Bound]) -> MetricData:
    """Return the data with limited metrics on scales where the bound is zero."""
    y, metrics = data.y.copy(), [*data.metrics]
    for b in bounds:
        every = np.concatenate([metrics[b.column].y, y[:, b.column]])
        moved = around(every, b.value)
        n = len(metrics[b.column])
        metrics[b.column] = replace(metrics[b.column], y=moved[:n])
        y[:, b.column] = moved[n:]
    return replace(data, y=y, metrics=metrics)


def _tradeoff(
    keys: np.ndarray,
    data: MetricData,
    front: np.ndarray,
    scores: list[Score],
    scalarisation: Scalarisation,
) -> Tradeoff:
    count = data.objectives
    if count == 1:
        return First()
    complete = data.goals[~np.isnan(data.goals).any(axis=1)]
    goals = data.goals[front] if len(front) > 1 else complete
    if len(goals) == 0:
        goals = _any_values(data)
    standard = np.column_stack([_on_scale(scores[k], goals[:, k]) for k in range(count)])
    if scalarisation == "hypervolume":
        return hypervolume(standard)
    weights = [stream(key, Stream.WEIGHTS).dirichlet(np.ones(count)) for key in keys]
    return chebyshev(np.array(weights), standard)


def _any_values(data: MetricData) -> np.ndarray:
    """Return the extremes of each objective, where no evaluation has all of them."""
    low = [np.nanmin(y) if not np.isnan(y).all() else 0.0 for y in data.goals.T]
    high = [np.nanmax(y) if not np.isnan(y).all() else 0.0 for y in data.goals.T]
    return np.array([low, high])


def _or_zeros(data: Data) -> Data:
    """Return data with a value: while there is none, all failures get the same."""
    return replace(data, y=np.zeros(len(data))) if data.failed.all() else data


def _on_scale(score: Score, y: Any) -> np.ndarray:
    """Return where values lie on the scale of a score: one without units has their own."""
    centre, scale = getattr(score, "centre", None), getattr(score, "scale", None)
    if centre is None or scale is None:
        return np.asarray(y, np.float64)
    warping = getattr(score, "warping", None)
    first = None if warping is None else np.asarray(warping)[0]
    return on_scale(y, float(np.asarray(centre)[0]), float(np.asarray(scale)[0]), first)


def _with_beta(policy: Policy, beta: float | None) -> Policy:
    """Return the policy with another deviation of its draws, if it has such a setting."""
    has_beta = is_dataclass(policy) and "beta" in {field.name for field in fields(policy)}
    if beta is None or not has_beta:
        return policy
    changed: Policy = replace(policy, beta=beta)  # type: ignore[type-var]
    return changed

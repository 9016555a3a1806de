"""From data of several metrics to a score: independent draws, limits on their own scale."""

import numpy as np
import pytest

from thomax import MLP, Random, STOBNTSLinear
from thomax.keys import make_keys, metric_keys
from thomax.metric_scores import metric_score
from thomax.model.constrained import MetricScore
from thomax.model.evaluation import evaluate
from thomax.model.failures import FeasibleScore
from thomax.model.metric_data import Bound, MetricData
from thomax.model.targets import around, standardise

POLICY = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
NAN = np.nan


def observed(n=12, seed=0, metrics=2):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    return x, np.column_stack([np.sin(3 * x[:, 0] + k) + x[:, 1] ** 2 for k in range(metrics)])


@pytest.mark.slow
def test_draws_of_several_metrics_are_independent_posteriors():
    """Each has the law that it has alone, and no two are correlated."""
    x, y = observed()
    data, points = MetricData.of(x, y, 2), np.random.default_rng(1).uniform(-1, 1, (5, 2))
    keys = make_keys(0, 1000)
    policy = STOBNTSLinear(noise_std=0.1, warp_targets=False)
    score = metric_score(policy, keys, data)
    both = [m.values(points.astype(np.float32)) for m in score.metrics]
    alone = evaluate(policy(make_keys(9, 1000), data.metrics[1]), points.astype(np.float32))
    std, four_sigma = alone.std(axis=0), 4 / np.sqrt(len(keys))
    z = [(f - f.mean(axis=0)) / f.std(axis=0) for f in both]
    assert np.abs(z[0].T @ z[1] / len(keys)).max() < four_sigma
    # Two means of 1000 draws differ by sqrt(2) of the deviation of one.
    difference = np.abs(both[1].mean(axis=0) - alone.mean(axis=0)) / std
    assert difference.max() < np.sqrt(2) * four_sigma
    # The variance of a normal sample's deviation is 1 / 2n.
    assert np.abs(np.log(both[1].std(axis=0) / std)).max() < four_sigma


def test_the_first_metric_has_the_keys_of_the_trials():
    keys = make_keys(7, 3, first=5)
    assert metric_keys(keys, 0) is keys
    others = [metric_keys(keys, j) for j in (1, 2)]
    assert all((k[:, 1] == keys[:, 1]).all() for k in others)
    assert len({int(k[0, 0]) for k in [keys, *others]}) == 3
    # A trial has the same keys however many are asked for.
    np.testing.assert_array_equal(metric_keys(keys[1:], 2), others[1][1:])


def test_a_trial_has_the_same_score_however_it_is_asked_for():
    x, y = observed(metrics=3)
    data = MetricData.of(x, y, 2, [Bound(2, 0.5, True)])
    points = np.random.default_rng(1).uniform(-1, 1, (20, 2)).astype(np.float32)
    whole = metric_score(POLICY, make_keys(0, 3, first=12), data).values(points)
    last = metric_score(POLICY, make_keys(0, 1, first=14), data).values(points)
    np.testing.assert_allclose(last[0], whole[2], rtol=1e-5, atol=1e-5)


def test_what_keeps_a_limit_does_so_by_the_draws_too():
    """With little noise draws pass close to the data: so must the border that they see."""
    policy = STOBNTSLinear(noise_std=1e-3)
    x, y = observed(20)
    y[:, 1] = np.exp(4 * y[:, 1])  # a long tail
    bound = float(np.quantile(y[:, 1], 0.4))
    for is_lower in (True, False):
        score = metric_score(
            policy, make_keys(0, 4), MetricData.of(x, y, 1, [Bound(1, bound, is_lower)])
        )
        assert isinstance(score, MetricScore)
        (limit,) = score.limits
        margins = limit.margin(np.stack([m.values(x.astype(np.float32)) for m in score.metrics]))
        expected = (y[:, 1] >= bound) if is_lower else (y[:, 1] <= bound)
        is_far = np.abs(np.log(y[:, 1] / bound)) > 0.1
        assert ((margins > 0) == expected)[:, is_far].all()


@pytest.mark.parametrize("bound", [-1e6, -3.0, 0.0, 0.7, 1e9])
def test_the_scale_around_a_bound_keeps_order_and_is_left_straight(bound):
    y = np.random.default_rng(0).standard_cauchy(50)
    z = around(np.append(y, bound), bound)
    assert z[-1] == 0
    np.testing.assert_array_equal(np.argsort(z[:-1]), np.argsort(y))
    np.testing.assert_array_equal(z[:-1] > 0, y > bound)
    found = standardise(z[:-1])  # which would pull in what lies far away
    np.testing.assert_allclose(found.values(found.targets), z[:-1], atol=1e-9)
    assert around(np.array([2.0, 2.0, NAN]), 3.0)[:2].tolist() == [-1.0, -1.0]


def test_failures_lower_the_score_as_for_one_objective():
    x, y = observed(metrics=2)
    y[:3] = NAN
    score = metric_score(POLICY, make_keys(0, 2), MetricData.of(x, y, 1, [Bound(1, 0.0, True)]))
    assert isinstance(score, FeasibleScore)


@pytest.mark.parametrize("scalarisation", ["chebyshev", "hypervolume"])
def test_metrics_without_a_value_do_not_stand_in_the_way(scalarisation):
    x, y = observed(metrics=3)
    bounds = [Bound(2, 0.0, True)]
    points = x.astype(np.float32)
    for missing in ([2], [1], [1, 2], [0, 1, 2]):
        some = y.copy()
        some[:, missing] = NAN
        data = MetricData.of(x, some, 2, bounds)
        score = metric_score(POLICY, make_keys(0, 2), data, scalarisation=scalarisation)
        assert np.isfinite(evaluate(score, points)).all()


def test_a_policy_that_learns_nothing_ignores_limits():
    x, y = observed()
    data = MetricData.of(x, y, 1, [Bound(1, 0.0, True)])
    points = x.astype(np.float32)
    found = evaluate(metric_score(Random(), make_keys(0, 2), data), points)
    expected = evaluate(Random()(make_keys(0, 2), data.metrics[0]), points)
    np.testing.assert_array_equal(found, expected)

"""Observations of several metrics: who learns from what, which are good, how far others are."""

import numpy as np

from thomax.model.metric_data import Bound, MetricData, spread

NAN = np.nan
X = np.arange(6.0)[:, None]
Y = np.array([
    [1.0, 5.0, 0.0], [NAN, NAN, NAN], [2.0, 4.0, 9.0], [3.0, NAN, 1.0], [0.5, 4.5, 1.0],
    [2.0, 3.0, 2.0],
])  # fmt: skip


def test_each_metric_learns_from_the_evaluations_that_have_it():
    data = MetricData.of(X, Y, 2)
    assert [m.x[:, 0].tolist() for m in data.metrics] == [
        [0, 1, 2, 3, 4, 5], [0, 1, 2, 4, 5], [0, 1, 2, 3, 4, 5],
    ]  # fmt: skip
    assert all(np.isnan(m.y).sum() == 1 for m in data.metrics)  # the failure
    assert data.outcomes.failed.tolist() == [False, True, False, False, False, False]


def test_the_best_are_feasible_ones_or_else_the_closest():
    data = MetricData.of(X, Y, 1, [Bound(2, 1.0, is_lower=False)])
    assert data.best(2).tolist() == [3, 0]
    none = MetricData.of(X, Y, 1, [Bound(2, -1.0, is_lower=False)])
    assert none.best(3).tolist() == [0, 3, 4]


def test_the_front_is_feasible_and_complete():
    assert MetricData.of(X, Y, 2).front.tolist() == [0, 2]
    limited = MetricData.of(X, Y, 2, [Bound(2, 5.0, is_lower=False)])
    assert limited.front.tolist() == [0, 5]


def test_violations_are_compared_in_units_of_their_mean():
    y = np.array([[1.0, -1000.0, 0.0], [1.0, 0.0, -0.001], [1.0, 0.0, NAN]])
    data = MetricData.of(X[:3], y, 1, [Bound(1, 0.0, True), Bound(2, 0.0, True)])
    np.testing.assert_allclose(data.violations, [3.0, 2.0, NAN])


def test_a_spread_has_the_ends_of_a_front():
    t = np.linspace(0, 1, 50)
    chosen = spread(np.column_stack([t, 1000 * (1 - t)]), 3)
    assert len(spread(np.column_stack([t, t]), 0)) == 0
    assert sorted(t[chosen].round(1).tolist()) == [0.0, 0.5, 1.0]

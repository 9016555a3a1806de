"""Curves, intervals and verdicts against independent computations."""

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.statistics import (
    EQUAL,
    SMALL,
    ZERO,
    Comparison,
    best_by_evaluation,
    best_by_iteration,
    compare,
    mean_and_error,
    regret_left,
)


def record(values, method="random", seed=0, starts=2, optimum=None):
    batch = int(method.partition("@")[2] or 1)
    return {
        "values": values, "method": method, "seed": seed, "starts": starts, "task": "t",
        "optimum": optimum, "iterations": (len(values) - starts) // batch,
    }  # fmt: skip


def test_the_best_so_far_begins_after_the_starts_and_skips_failures():
    curve = best_by_evaluation(record([1.0, 3.0, None, 2.0, 5.0]))
    np.testing.assert_array_equal(curve, [3, 3, 3, 5])
    np.testing.assert_array_equal(best_by_evaluation(record([1.0, 2.0], starts=0)), [1, 2])


def test_a_batch_is_one_iteration():
    batch = record([0.0, 0.0, 1.0, 5.0, 2.0, 7.0], method="sto:2x8@2")
    np.testing.assert_array_equal(best_by_iteration(batch), [0, 5, 7])
    np.testing.assert_array_equal(best_by_evaluation(batch), [0, 1, 5, 5, 7])


def test_a_run_that_exhausted_its_space_keeps_what_it_found():
    short = record([0.0, 0.0, 1.0, 5.0, 7.0], method="sto@2") | {"iterations": 4}
    np.testing.assert_array_equal(best_by_iteration(short), [0, 5, 7, 7, 7])
    other = record([0.0] * 6)
    found = compare([short | {"seed": 0}], [other]).score
    assert (found.upto, found.difference) == (4, pytest.approx((5 + 7 + 7 + 7) / 4 / 7))


def test_mean_and_error_are_those_of_the_runs():
    curves = [np.array([1.0, 2.0, 9.0]), np.array([3.0, 6.0])]
    mean, error = mean_and_error(curves)
    np.testing.assert_allclose(mean, [2, 4])
    np.testing.assert_allclose(error, [1, 2])
    assert np.isnan(mean_and_error(curves[:1])[1]).all()  # one run has no error to show


def test_the_interval_is_students():
    d = np.random.default_rng(0).normal(0.3, 1, 12)
    ours = Comparison.of(list(d))
    low, high = stats.ttest_1samp(d, 0.0).confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((low, high))
    assert ours.standardised == pytest.approx(d.mean() / d.std(ddof=1))


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """2,000 samples: the count of covering intervals has a standard deviation of 0.5 %."""
    rng = np.random.default_rng(1)
    found = [Comparison.of(list(rng.normal(0.2, 1, 10))) for _ in range(2000)]
    share = np.mean([c.low < 0.2 < c.high for c in found])
    assert abs(share - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def interval(low, high, seeds=10):
    return Comparison(seeds, (low + high) / 2, low, high, 1.0)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.2, "holds"),
        (-0.2, SMALL - 0.01, "does not hold"),
        (-0.2, -0.1, "does not hold"),
        (-0.1, 0.2, "not enough seeds"),
    ],
)
def test_superiority(low, high, verdict):
    assert interval(low, high).superiority() == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-EQUAL / 2, EQUAL / 2, "holds"),
        (EQUAL + 0.01, 0.3, "does not hold"),
        (-0.3, -EQUAL - 0.01, "does not hold"),
        (-0.3, 0.3, "not enough seeds"),
        (0.01, EQUAL + 0.01, "not enough seeds"),
    ],
)
def test_equality(low, high, verdict):
    assert interval(low, high).equality() == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-EQUAL / 2, 0.5, "holds"),
        (-0.5, -EQUAL - 0.01, "does not hold"),
        (-0.5, 0.1, "not enough seeds"),
    ],
)
def test_no_great_loss(low, high, verdict):
    assert interval(low, high).no_great_loss() == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (ZERO + 0.01, 0.5, "holds"),
        (0.0, ZERO / 2, "does not hold"),
        (0.0, 0.5, "not enough seeds"),
    ],
)
def test_not_zero(low, high, verdict):
    assert interval(low, high).not_zero() == verdict


def test_two_seeds_are_never_enough():
    for judge in ("superiority", "equality", "no_great_loss", "not_zero"):
        assert getattr(interval(0.01, 0.02, seeds=2), judge)() == "not enough seeds"
    assert Comparison.of([0.3]).superiority() == "not enough seeds"


def by_hand(first, second, ends=None):
    """The effect and its interval, from lists of curves: starts first, one step an iteration."""
    first, second = np.array(first), np.array(second)
    start = np.mean([first[:, 0], second[:, 0]])
    width = max(np.mean(first[:, -1]), np.mean(second[:, -1])) - start
    score = (first[:, 1:].mean(1) - second[:, 1:].mean(1)) / width
    one, two = ends or (first[:, -1], second[:, -1])
    end = (np.array(one) - np.array(two)) / width
    return [
        (d.mean(), *stats.t.interval(0.95, len(d) - 1, d.mean(), stats.sem(d)))
        for d in (score, end)
    ]


def numbers(comparison):
    return comparison.difference, comparison.low, comparison.high


def test_effects_and_intervals_are_those_computed_by_hand():
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(2, 6, 1 + 15)).cumsum(axis=2)
    first, second = (
        [record([-9.0, *values], "random", seed) for seed, values in enumerate(side)]
        for side in raw
    )
    best = np.maximum.accumulate(raw, axis=2)
    found = compare(first, second)
    score, end = by_hand(*best)
    assert numbers(found.score) == pytest.approx(score)
    assert numbers(found.end) == pytest.approx(end)
    judged = rng.normal(size=(2, 6))
    first, second = (
        [r | {"judged": j} for r, j in zip(side, values, strict=True)]
        for side, values in zip((first, second), judged, strict=True)
    )
    again = compare(first, second)
    assert numbers(again.end) == pytest.approx(by_hand(*best, list(judged))[1])
    assert again.score == found.score
    longer = [r | {"values": [*r["values"], 0.0], "iterations": 16} for r in first]
    assert compare(longer, second).end == found.end  # theirs was judged at another place


def test_the_noise_free_values_count_where_they_are_known():
    lucky = [
        record([0.0, 0.0, 9.0, 9.0], seed=s) | {"truth": [0.0, 0.0, 1.0, 1.0], "judged": 1.0}
        for s in range(3)
    ]
    plain = [record([0.0, 0.0, 2.0, 2.0], seed=s) | {"judged": 2.0} for s in range(3)]
    found = compare(lucky, plain)
    assert found.score.difference == found.end.difference == pytest.approx(-0.5)


def test_functions_with_optima_of_their_own_are_measured_from_them():
    """Both runs find half of what there is to find, though one function is ten times higher."""
    low = record([0.0, 0.0, 0.5], seed=0, optimum=1.0)
    high = record([9.0, 9.0, 9.5], seed=1, optimum=10.0)
    still = [record([0.0, 0.0, 0.0], seed=0, optimum=1.0),
             record([9.0, 9.0, 9.0], seed=1, optimum=10.0)]  # fmt: skip
    found = compare([low, high], still).score
    assert found.difference == pytest.approx(1.0)
    assert found.high - found.low == pytest.approx(0.0)


def test_runs_that_find_nothing_are_level():
    runs = [record([1.0, 1.0, 1.0], seed=s) for s in range(3)]
    assert compare(runs, runs).score.equality() == "holds"


def test_regret_left_is_a_share_of_the_regret_of_the_starts():
    runs = [
        record([-2.0, -4.0, -1.0], seed=0, optimum=0.0),
        record([-6.0, -8.0, 0.5, 3.0], seed=1, optimum=0.0)
        | {"truth": [-6.0, -8.0, -3.0, -0.5], "iterations": 2},
    ]
    found = regret_left(runs)
    assert found.upto == 1
    assert found.difference == pytest.approx(np.mean([1.0, 3.0]) / np.mean([2.0, 6.0]))


def test_a_comparison_pairs_seeds_and_ends_where_the_shorter_ends():
    first = [record([0.0, 0.0, 1.0, 4.0], seed=s) for s in (0, 1, 2)]
    second = [record([0.0, 0.0, 0.5], seed=s) for s in (2, 1, 5)]
    found = compare(first, second).score
    assert (found.seeds, found.upto) == (2, 1)
    assert compare(first, [record([0.0] * 3, seed=9)]) is None
    assert found.difference == pytest.approx(0.5)  # only the first iteration counts
    batch = [record([0.0, 0.0, 0.0, 4.0], "random@2", seed=s) for s in (0, 1, 2)]
    still = [record([0.0] * 3, seed=s) for s in (0, 1, 2)]
    assert compare(batch, still).score.difference == pytest.approx(1.0)
    assert compare(batch, still, by="evaluation").score.difference == 0

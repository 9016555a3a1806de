"""Hypervolumes against boxes computed by hand, Monte Carlo, and inclusion and exclusion."""

from itertools import combinations

import numpy as np
import pytest

from benchmarks.metrics.hypervolume import hypervolume, improvements, non_dominated


def by_inclusion_and_exclusion(y, r):
    """Add and subtract the boxes that all subsets of the points have in common."""
    y = y[(y < r).all(axis=1)]
    total = 0.0
    for size in range(1, len(y) + 1):
        for subset in combinations(range(len(y)), size):
            total -= (-1) ** size * np.prod(r - y[list(subset)].max(axis=0))
    return total


@pytest.mark.parametrize("m", [2, 3, 4])
def test_a_point_dominates_the_box_up_to_the_reference(m):
    assert hypervolume(np.full((1, m), 0.5), np.full(m, 2.0)) == pytest.approx(1.5**m)


def test_two_boxes_overlap():
    y = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    assert hypervolume(y, np.full(3, 2.0)) == pytest.approx(2 * 1 * 1 + 1 * 2 * 2 - 1)


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_volumes_are_exact(m, seed):
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=(9, m)).round(1)  # with ties
    r = np.full(m, 0.9)
    assert hypervolume(y, r) == pytest.approx(by_inclusion_and_exclusion(y, r), abs=1e-12)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_volumes_are_those_of_monte_carlo(m):
    rng = np.random.default_rng(m)
    y, r, n = rng.uniform(size=(30, m)), np.ones(m), 20_000
    u = rng.uniform(size=(n, m))
    inside = (u[:, None] >= y).all(axis=2).any(axis=1).mean()
    assert hypervolume(y, r) == pytest.approx(inside, abs=4 * 0.5 / np.sqrt(n))


def test_points_beyond_the_reference_and_no_points_count_for_nothing():
    r = np.ones(2)
    assert hypervolume(np.array([[0.0, 1.0], [2.0, -1.0]]), r) == 0
    assert hypervolume(np.empty((0, 2)), r) == 0


def test_of_equal_points_the_first_is_not_dominated():
    y = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 2.0], [2.0, 2.0]])
    assert non_dominated(y).tolist() == [True, False, True, False]


def test_the_volume_along_a_run_is_that_of_its_first_points():
    rng = np.random.default_rng(0)
    y, r = rng.uniform(size=(25, 3)), np.full(3, 0.8)
    y[[3, 7]] = np.inf  # infeasible ones
    expected = [hypervolume(np.delete(y, [3, 7], 0)[: i - (i > 3) - (i > 7)], r)
                for i in range(1, 26)]  # fmt: skip
    np.testing.assert_allclose(improvements(y, r), expected, atol=1e-12)

"""Weighting draws, and the volume that they add to a front, against independent computations."""

import itertools

import numpy as np
import pytest

from thomax.model.tradeoffs import First, boxes, chebyshev, hypervolume


def staircase(rng, k, count=6):
    """Return points on a simplex: none beats another."""
    return rng.dirichlet(np.ones(k), count)


def draws(rng, k, b=3, n=40):
    return rng.uniform(-0.5, 1.5, (k, b, n))


def volume_by_inclusion(points, reference):
    """Return the volume of a union of boxes by inclusion and exclusion."""
    total = 0.0
    for size in range(1, len(points) + 1):
        for some in itertools.combinations(points, size):
            corner = np.min(some, axis=0)
            total -= (-1) ** size * np.prod(np.maximum(corner - reference, 0.0))
    return total


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_improvement_is_the_volume_that_a_point_adds(k):
    rng = np.random.default_rng(k)
    found = hypervolume(staircase(rng, k))
    f = draws(rng, k, b=1, n=30)
    values = found.values(f)[0]
    before = volume_by_inclusion(found.front, found.reference)
    for value, point in zip(values, (f[:, 0] * found.unit[:, None]).T, strict=True):
        added = volume_by_inclusion([*found.front, point], found.reference) - before
        assert max(value, 0.0) == pytest.approx(added, abs=1e-12)


def test_the_improvement_over_a_known_front():
    """A point at (2, 2) beside (1, 3) and (3, 1), seen from the origin."""
    lower, upper = boxes(np.array([[1.0, 3.0], [3.0, 1.0]]), np.zeros(2))
    sides = np.clip(np.array([2.0, 2.0]) - lower, 0.0, upper - lower)
    assert sides.prod(axis=1).sum() == 1.0


def test_the_boxes_cover_what_the_front_does_not_dominate_once():
    rng = np.random.default_rng(0)
    front, reference = staircase(rng, 3, 8), np.full(3, -0.1)
    lower, upper = boxes(front, reference)
    points = rng.uniform(-0.1, 1.0, (5000, 3))
    inside = (points[:, None] > lower) & (points[:, None] < upper)
    is_dominated = (points[:, None] <= front).all(axis=2).any(axis=1)
    np.testing.assert_array_equal(inside.all(axis=2).sum(axis=1), ~is_dominated)


def test_what_adds_nothing_is_worse_the_deeper_it_lies():
    found = hypervolume(np.array([[0.0, 1.0], [1.0, 0.0], [0.6, 0.6]]))
    f = np.array([[[0.5, 0.3, 0.0]], [[0.5, 0.3, 0.0]]])
    values = found.values(f)[0]
    assert (values < 0).all()
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize("rho", [0.05])
def test_the_weighting_is_the_augmented_chebyshev_one(rho):
    rng = np.random.default_rng(0)
    front, weights, f = staircase(rng, 3), rng.dirichlet(np.ones(3), 3), draws(rng, 3)
    found = chebyshev(weights, front)
    z = (f - front.max(axis=0)[:, None, None]) / np.ptp(front, axis=0)[:, None, None]
    z *= np.ptp(front, axis=0).prod() ** (1 / 3)  # so that the scale as a whole stays
    terms = weights.T[:, :, None] * z
    np.testing.assert_allclose(found.values(f), terms.min(axis=0) + rho * terms.sum(axis=0))
    np.testing.assert_allclose(found.part(slice(1, 3)).values(f[:, 1:]), found.values(f)[1:])


def test_every_weighting_finds_another_part_of_a_front():
    """The best of a convex and of a concave front, by weights: from one end to the other."""
    t = np.linspace(0, 1, 201)
    for power in (0.5, 2.0):
        front = np.stack([t, (1 - t**power) ** (1 / power)])
        weights = np.array([[w, 1 - w] for w in np.linspace(0.01, 0.99, 25)])
        values = chebyshev(weights, front.T).values(np.repeat(front[:, None], 25, axis=1))
        chosen = t[values.argmax(axis=1)]
        assert (np.diff(chosen) >= 0).all()
        assert chosen[0] < 0.15
        assert chosen[-1] > 0.85
        assert np.diff(chosen).max() < 0.5  # the sum prefers the ends of a convex front


def tradeoffs(rng, k):
    front = staircase(rng, k)
    return [chebyshev(rng.dirichlet(np.ones(k), 3), front), hypervolume(front)]


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("which", [0, 1])
def test_slopes_are_those_of_finite_differences(k, which):
    rng = np.random.default_rng(k)
    found, f, step = tradeoffs(rng, k)[which], draws(rng, k), 1e-6
    values, slopes = found.slopes(f)
    for j in range(k):
        moved = np.zeros_like(f)
        moved[j] = step
        up, down = found.slopes(f + moved)[0], found.slopes(f - moved)[0]
        # Kinks lie somewhere, but not between hardly any of the pairs.
        is_close = np.isclose(slopes[j], (up - down) / (2 * step), rtol=1e-3, atol=1e-5)
        assert is_close.mean() > 0.99
    # Climbed values stay close to those by which points are compared.
    np.testing.assert_allclose(values, found.values(f), atol=0.02 * np.log(k) + 1e-12)


def test_one_objective_is_itself():
    f = np.random.default_rng(0).normal(size=(1, 2, 3))
    np.testing.assert_array_equal(First().values(f), f[0])
    np.testing.assert_array_equal(First().slopes(f)[1], np.ones((1, 2, 3)))

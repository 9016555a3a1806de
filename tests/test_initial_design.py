import math

import numpy as np
import pytest

from thomax import (
    SE,
    Bool,
    Categorical,
    Float,
    Int,
    Optimizer,
    Ordinal,
    Pool,
    Space,
    UncertaintySampling,
)
from thomax.initial_design import (
    checked_initial,
    design_length,
    most_uncertain_point,
    quasi_random_point,
    stage_length,
)
from thomax.model import evaluation

SQUARE = Space({"x": Float(0, 1), "y": Float(0, 1)})
SMALL = Space({"c": Categorical(["a", "b", "c"]), "n": Int(1, 4, when={"c": ["a", "b"]})})
ODD = Space({"a": Int(0, 9), "b": Int(0, 1)}, constraint=lambda p: p["a"] % 2 == 1)
POOL = Pool(np.random.default_rng(0).normal(size=(9, 2)))
FINITE = {"conditional": (SMALL, 9), "constrained": (ODD, 10), "pool": (POOL, 9)}


def test_the_design_has_five_points_unless_another_number_is_wanted():
    assert design_length(None) == 5
    assert design_length(3) == 3
    assert design_length(0) == 0


def test_the_word_uncertainty_stands_for_the_stage_with_its_defaults():
    assert checked_initial("uncertainty") == UncertaintySampling(length=None, batch=4, C=1.0)
    assert checked_initial(UncertaintySampling(7)) == UncertaintySampling(7)
    assert checked_initial(np.int64(3)) == 3
    assert checked_initial(None) is None


@pytest.mark.parametrize("initial", [-1, 2.5, True, "random", [3]])
def test_a_design_of_another_kind_is_refused(initial):
    with pytest.raises(ValueError, match='a whole number >= 0, "uncertainty" or an Unc'):
        checked_initial(initial)


@pytest.mark.parametrize("seed", [0, 7, 2**70, -3])
def test_points_fill_the_cube_evenly(seed):
    """Each of 16 equal slices along every axis holds one of the first 16 points."""
    points = [quasi_random_point(SQUARE, seed, i, []) for i in range(16)]
    for name in SQUARE.parameters:
        assert sorted(int(16 * p[name]) for p in points) == list(range(16))


@pytest.mark.parametrize(
    ("parameter", "shares"),
    [
        (Int(1, 3), [1 / 3] * 3),
        (Ordinal(["small", "medium", "large"]), [1 / 3] * 3),
        (Float(0, 1, step=0.25), [0.2] * 5),
        (Int(1, 4, log=True), np.log([4, 3, 2, 16 / 9]) / np.log(128 / 3)),  # cells in between
        (Bool(), [0.5, 0.5]),
    ],
)
def test_every_level_gets_its_share_of_the_first_points(parameter, shares):
    """The first and the last level too; within one point of the share in each half of 128."""
    space = Space({"x": Float(0, 1), "p": parameter})
    points = [quasi_random_point(space, 3, i, []) for i in range(128)]
    levels = np.bincount([parameter.code_of(p["p"]) for p in points])
    np.testing.assert_allclose(levels, 128 * np.array(shares), atol=2)


def test_a_branch_that_is_a_single_point_comes_once():
    space = {
        "kind": Categorical(["none", "l1", "l2"]),
        "strength": Float(1e-3, 1, log=True, when={"kind": "l2"}),
    }
    for seed in range(4):
        points = [str(t.params) for t in Optimizer(space, seed=seed).ask(12)]
        assert len({*points}) == 12
        repeated = [str(t.params) for t in Optimizer(space, seed=seed, allow_repeats=True).ask(12)]
        assert len({*repeated}) < 12


def test_a_space_whose_other_points_are_hard_to_find_is_not_exhausted():
    space = {
        "kind": Categorical([*range(400)]),
        "strength": Float(0, 1, when={"kind": 7}),
    }
    assert len(Optimizer(space, seed=0).ask(420)) == 420


def test_points_of_more_columns_than_sequences_have_are_random():
    space = Space({"c": Categorical([*range(30_000)])})
    assert quasi_random_point(space, 0, 0, [])["c"] in range(30_000)


def test_a_constraint_that_refuses_nearly_all_does_not_take_for_ever():
    """One point in 720 satisfies it: 100 of them were drawn, where one is enough."""
    calls = []

    def is_mixture(params):
        calls.append(params)
        return sum(params.values()) <= 1

    space = Space({c: Float(0, 1) for c in "abcdef"}, constraint=is_mixture)
    assert is_mixture(quasi_random_point(space, 0, 0, []))
    assert len(calls) < 15_000


def test_a_point_depends_on_seed_and_number_only():
    first = [quasi_random_point(SQUARE, 0, i, []) for i in range(8)]
    assert quasi_random_point(SQUARE, 0, 5, []) == first[5]
    assert quasi_random_point(SQUARE, 1, 5, []) != first[5]
    walk = [quasi_random_point(POOL, 0, i, []) for i in range(9)]
    assert quasi_random_point(POOL, 0, 5, POOL.index(walk[:5])) == walk[5]
    assert [quasi_random_point(POOL, 1, i, []) for i in range(9)] != walk


@pytest.mark.parametrize("number", [2**16, 10**15])
def test_points_of_very_late_trials_are_random(number):
    """A file may claim any number: no sequence is walked through that far."""
    points = [quasi_random_point(SQUARE, 0, number + i, []) for i in range(3)]
    assert all(SQUARE.validate(p) == p for p in points)
    assert len({p["x"] for p in points}) == 3
    assert quasi_random_point(SQUARE, 0, number, []) == points[0]


@pytest.mark.parametrize("name", FINITE)
def test_a_finite_space_is_walked_without_repetition_to_its_end(name):
    space, size = FINITE[name]
    seen = []
    while (point := quasi_random_point(space, 0, len(seen), seen)) is not None:
        assert space.validate(point) == point
        seen += space.index([point])
    assert len(set(seen)) == len(seen) == size


def test_the_last_point_of_a_large_space_is_found_though_chance_misses_it():
    space = Space({"n": Int(1, 5000)})
    for last in (1, 1234, 5000):
        taken = [{"n": i} for i in range(1, 5001) if i != last]
        assert quasi_random_point(space, 0, 4999, space.index(taken)) == {"n": last}


@pytest.mark.parametrize("name", FINITE)
def test_points_may_return_if_nothing_is_excluded(name):
    """With allow_repeats a design goes on after the last point, and repeats more than one."""
    space, size = FINITE[name]
    points = [quasi_random_point(space, 0, i, []) for i in range(2 * size)]
    assert None not in points
    assert 1 < len(set(space.index(points))) <= size


def test_points_outside_the_constraint_are_replaced():
    space = Space({"x": Float(0, 1)}, constraint=lambda p: p["x"] < 0.1)
    points = [quasi_random_point(space, 0, i, [])["x"] for i in range(8)]
    assert max(points) < 0.1
    assert len(set(points)) == 8


def test_a_constraint_that_nothing_satisfies_is_reported():
    refused = {
        Float(0, 1): "refused 100000 random points in a row",
        Int(0, 9): "refused all 10 points of the space",
    }
    for parameter, sentence in refused.items():
        space = Space({"x": parameter}, constraint=lambda p: False)
        with pytest.raises(ValueError, match=f"The constraint {sentence}"):
            quasi_random_point(space, 0, 0, [])


# Uncertainty sampling

KERNEL = SE(math.sqrt(0.5))


def covariance(x, z):
    """Compute the kernel above by hand."""
    return np.exp(-np.square(x[:, None] - z).sum(-1))


def variance_given(points, x, noise_std=0.1):
    """Return posterior variances at x the textbook way."""
    A = covariance(points, points) + noise_std**2 * np.eye(len(points))
    k = covariance(points, x)
    return 1 - np.einsum("in,ij,jn->n", k, np.linalg.inv(A), k)


def next_uncertain(space, before, exclude=None):
    exclude = before if exclude is None else exclude
    return most_uncertain_point(space, 0, len(before), before, exclude, KERNEL, 0.1)


@pytest.mark.parametrize("repeats", [False, True])
def test_uncertainty_sampling_takes_the_largest_posterior_variance(repeats):
    """All candidates of the pool are looked at, and with repeats those before as well."""
    pool = Pool(np.random.default_rng(1).normal(size=(1500, 2)))
    x = pool.at(np.arange(1500)).astype(np.float64)
    chosen = pool.index([next_uncertain(pool, [])])
    for _ in range(12):
        variance = variance_given(x[chosen], x)
        if not repeats:
            variance[chosen] = -1
        found = next_uncertain(pool, pool.params(chosen), [] if repeats else None)
        assert variance[found["index"]] == pytest.approx(variance.max(), rel=1e-4)
        chosen.append(found["index"])


def test_uncertainty_sampling_is_the_greedy_choice_by_brute_force():
    """Each point tells most beside those before: log determinants of all extended sets."""
    pool = Pool(np.random.default_rng(2).normal(size=(40, 3)))
    x, chosen = pool.at(np.arange(40)).astype(np.float64), []

    def information(points):
        return np.linalg.slogdet(np.eye(len(points)) + covariance(x[points], x[points]) / 0.01)[1]

    for _ in range(8):
        found = next_uncertain(pool, pool.params(chosen))["index"]
        gains = [information([*chosen, i]) for i in range(40) if i not in chosen]
        assert information([*chosen, found]) == pytest.approx(max(gains))
        chosen.append(found)


@pytest.mark.parametrize("d", [1, 2])
def test_no_point_of_a_fine_grid_is_more_uncertain(d):
    """The best candidates are climbed: random ones alone stay below the grid's best."""
    space = Space({f"x{i}": Float(0, 1) for i in range(d)})
    axes = np.meshgrid(*[np.linspace(-1, 1, 20_001 if d == 1 else 201)] * d)
    grid = np.stack([axis.ravel() for axis in axes], axis=1)
    points = []
    for _ in range(7):
        found = next_uncertain(space, points)
        if points:
            x = space.encode(points).astype(np.float64)
            best = variance_given(x, grid).max()
            assert variance_given(x, space.encode([found]))[0] >= best * (1 - 1e-4)
        points.append(found)


def test_discrete_parameters_are_set_to_what_is_most_uncertain():
    space = Space({"c": Categorical(["a", "b", "c"]), "n": Int(1, 400), "x": Float(0, 1)})
    points = [{"c": "a", "n": 200, "x": 0.5}, {"c": "b", "n": 1, "x": 0.0}]
    everywhere = [
        {"c": c, "n": n, "x": x} for c in "abc" for n in range(1, 401) for x in (0.0, 0.5, 1.0)
    ]
    for _ in range(4):
        found = next_uncertain(space, points)
        x = space.encode(points).astype(np.float64)
        best = variance_given(x, space.encode(everywhere)).max()
        assert variance_given(x, space.encode([found]))[0] >= best * (1 - 1e-4)
        points.append(found)


@pytest.mark.parametrize("name", FINITE)
def test_uncertainty_sampling_repeats_nothing_and_ends(name):
    space, size = FINITE[name]
    points = []
    while (point := next_uncertain(space, points)) is not None:
        assert space.validate(point) == point
        points.append(point)
    assert len(set(space.index(points))) == len(points) == size
    assert next_uncertain(space, points, exclude=[]) is not None


def test_a_random_part_of_a_very_large_pool_is_looked_at_and_the_last_points_are_found():
    pool = Pool(np.random.default_rng(0).normal(size=(60_000, 2)))
    x = pool.at(np.arange(60_000)).astype(np.float64)
    found = next_uncertain(pool, pool.params([5]))
    variance = variance_given(x[[5]], x)
    assert (variance > variance[found["index"]]).mean() < 1e-3
    for last in (0, 30_000):
        seen = pool.params([i for i in range(60_000) if i != last])
        assert next_uncertain(pool, pool.params([5]), seen) == {"index": last}


def test_a_point_depends_on_the_points_before_and_on_nothing_else():
    points = []
    for _ in range(5):
        points.append(next_uncertain(SQUARE, points))
    x = SQUARE.encode(points)
    distances = np.linalg.norm(x[:, None] - x, axis=-1)
    assert distances[~np.eye(5, dtype=bool)].min() > 0.8
    assert next_uncertain(SQUARE, points[:2]) == points[2]


def test_a_growing_stage_compiles_few_sizes():
    before, points = evaluation._own_gradients._cache_size(), []
    for _ in range(12):
        points.append(next_uncertain(SQUARE, points))
    assert evaluation._own_gradients._cache_size() - before <= 1


@pytest.mark.parametrize(("batch", "C"), [(1, 1.0), (2, 0.3), (4, 2.0)])
def test_the_length_of_the_stage_is_that_of_the_theorem(batch, C):
    """The smallest T with (B - 1) gamma_T / T <= C, by log determinants of the points taken."""
    x = Pool(np.linspace(0, 1, 60)[:, None])
    length = stage_length(UncertaintySampling(batch=batch, C=C), x, KERNEL, 0.5)
    points, ratios = x.at(np.arange(60)).astype(np.float64), []
    chosen = []
    for t in range(1, length + 1):
        variance = variance_given(points[chosen], points, 0.5) if chosen else np.ones(60)
        chosen.append(int(variance.argmax()))
        K = covariance(points[chosen], points[chosen])
        gain = 0.5 * np.linalg.slogdet(np.eye(t) + K / 0.25)[1]
        ratios.append((batch - 1) * gain / t)
    assert all(ratio > C for ratio in ratios[:-1])
    assert batch == 1 or (length > 1 and ratios[-1] <= C)


def test_a_stage_that_would_not_end_is_refused():
    space = Space({f"x{i}": Float(0, 1) for i in range(12)})
    with pytest.raises(ValueError, match=r"got batch=16 and C=0\.5.*UncertaintySampling\(20\)"):
        stage_length(UncertaintySampling(batch=16, C=0.5), space, SE(0.5), 0.1)


@pytest.mark.parametrize("wrong", [{"length": -1}, {"length": 2.5}, {"batch": 0}, {"C": 0}])
def test_settings_of_a_stage_are_checked(wrong):
    with pytest.raises(ValueError, match=f"UncertaintySampling needs {next(iter(wrong))}"):
        UncertaintySampling(**wrong)

import numpy as np
import pytest

from thomax import Bool, Categorical, Float, Int, Optimizer, Ordinal, Pool, Space
from thomax.initial_design import design_length, most_uncertain_point, quasi_random_point

SQUARE = Space({"x": Float(0, 1), "y": Float(0, 1)})
SMALL = Space({"c": Categorical(["a", "b", "c"]), "n": Int(1, 4, when={"c": ["a", "b"]})})
ODD = Space({"a": Int(0, 9), "b": Int(0, 1)}, constraint=lambda p: p["a"] % 2 == 1)
POOL = Pool(np.random.default_rng(0).normal(size=(9, 2)))
FINITE = {"conditional": (SMALL, 9), "constrained": (ODD, 10), "pool": (POOL, 9)}


@pytest.mark.parametrize(
    ("space", "length"),
    [(SQUARE, 6), (Space({f"x{i}": Float(0, 1) for i in range(30)}), 20), (POOL, 14)],
)
def test_the_design_has_a_few_more_points_than_parameters(space, length):
    assert design_length(None, space) == design_length("uncertainty", space) == length
    assert design_length(3, space) == design_length(np.int64(3), space) == 3
    assert design_length(0, space) == 0


@pytest.mark.parametrize("initial", [-1, 2.5, True, "random", [3]])
def test_a_design_of_another_length_is_refused(initial):
    with pytest.raises(ValueError, match='a whole number >= 0 or "uncertainty", got'):
        design_length(initial, SQUARE)


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


def covariance(x):
    """Compute a squared-exponential kernel by hand."""
    return np.exp(-np.square(x[:, None] - x).sum(-1))


def next_uncertain(space, before, exclude=None, kernel=covariance):
    exclude = before if exclude is None else exclude
    seen = space.index(exclude) if space.is_finite else []
    return most_uncertain_point(space, 0, len(before), before, seen, kernel, 0.1)


def test_uncertainty_sampling_takes_the_largest_posterior_variance():
    pool = Pool(np.random.default_rng(1).normal(size=(40, 3)))
    K = covariance(pool.at(np.arange(40)))
    chosen = pool.index([next_uncertain(pool, [])])
    for _ in range(6):
        A = K[np.ix_(chosen, chosen)] + 0.01 * np.eye(len(chosen))
        variance = np.diag(K - K[:, chosen] @ np.linalg.inv(A) @ K[chosen]).copy()
        variance[chosen] = -1
        found = next_uncertain(pool, pool.params(chosen))
        assert found == {"index": int(variance.argmax())}
        chosen.append(found["index"])


@pytest.mark.parametrize("name", FINITE)
def test_uncertainty_sampling_repeats_nothing_and_ends(name):
    space, size = FINITE[name]
    points = []
    while (point := next_uncertain(space, points)) is not None:
        assert space.validate(point) == point
        points.append(point)
    assert len(set(space.index(points))) == len(points) == size
    assert next_uncertain(space, points, exclude=[]) is not None


def test_uncertainty_sampling_finds_the_last_points_that_chance_misses():
    pool = Pool(np.random.default_rng(0).normal(size=(1500, 2)))
    for last in range(3):
        seen = [i for i in range(1500) if i != last]
        found = most_uncertain_point(pool, 0, 1499, pool.params([5]), seen, covariance, 0.1)
        assert found == {"index": last}


def test_uncertainty_sampling_spreads_over_a_continuous_space():
    points = []
    for _ in range(5):
        points.append(next_uncertain(SQUARE, points))
    x = SQUARE.encode(points)
    distances = np.linalg.norm(x[:, None] - x, axis=-1)
    assert distances[~np.eye(5, dtype=bool)].min() > 0.8
    assert next_uncertain(SQUARE, points[:2]) == points[2]


def test_a_growing_design_asks_for_few_sizes_of_covariance():
    """Every size is compiled anew."""
    sizes, points = set(), []

    def noting(x):
        sizes.add(len(x))
        return covariance(x)

    for _ in range(12):
        points.append(next_uncertain(SQUARE, points, kernel=noting))
    assert len(sizes) == 1

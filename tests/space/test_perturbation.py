"""Row 15: constraints that allow hardly anything, and points that are known to be allowed."""

import numpy as np
import pytest

from thomax import SE, Categorical, Float, Int, Optimizer, Random, Space
from thomax.initial_design import most_uncertain_point, quasi_random_point

SQUARE = {"a": Float(0, 1), "b": Float(0, 1)}
CENTRE = {"a": 0.3, "b": 0.7}


def is_close(params):
    """2e-5 of the square."""
    return abs(params["a"] - 0.3) < 0.00224 and abs(params["b"] - 0.7) < 0.00224


def is_whole(params):
    return sum(params.values()) == 100


def is_mixture(params):
    return abs(sum(params.values()) - 1) < 1e-9


def is_cold(params):
    return params["b"] < 1e-6 and params.get("a", 0.0) < 1e-4


RARE = {
    "a small square": (Space(SQUARE, constraint=is_close), CENTRE),
    "shares on a grid": (
        Space({c: Int(0, 100) for c in "abcdefg"}, constraint=is_whole),
        {"a": 100} | dict.fromkeys("bcdefg", 0),
    ),
    "shares": (
        Space({c: Float(0, 1) for c in "abcd"}, constraint=is_mixture),
        dict.fromkeys("abcd", 0.25),
    ),
    "branches": (
        Space(
            {
                "kind": Categorical(["x", "y", "z"]),
                "a": Float(0, 1, when={"kind": "x"}),
                "b": Float(0, 1),
            },
            constraint=is_cold,
        ),
        {"kind": "y", "b": 0.0},
    ),
}


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", RARE)
def test_known_points_lead_to_others_that_are_allowed(name):
    """They are many, all different, and not all close to the one that was known."""
    space, known = RARE[name]
    x = space.sample(rng(), 200, tries=1000, known=space.encode([known]))
    assert len({row.tobytes() for row in x}) == 200
    assert space.satisfies(x).all()
    np.testing.assert_array_equal(space.snap(x), x)
    again = space.sample(rng(), 200, tries=1000, known=space.encode([known]))
    np.testing.assert_array_equal(again, x)
    kinds = {params.get("kind") for params in space.decode(x)}
    assert kinds == ({"x", "y", "z"} if name == "branches" else {None})


def test_points_spread_over_all_that_is_allowed():
    """Of shares that sum to one, each goes from little to much."""
    space, known = RARE["shares"]
    x = space.sample(rng(), 1000, tries=100, known=space.encode([known]))
    assert (x.min(axis=0) < -0.95).all()
    assert (x.max(axis=0) > 0.4).all()


def test_a_few_points_found_by_chance_lead_to_others():
    space = Space({"a": Float(0, 1)}, constraint=lambda p: p["a"] < 1e-3)
    x = space.sample(rng(), 100, tries=5000)
    assert len({*x[:, 0]}) == 100


def test_known_points_that_are_refused_do_not_help():
    space = Space(SQUARE, constraint=lambda p: False)
    with pytest.raises(ValueError, match="refused 100000 random points in a row: loosen it, cho"):
        space.sample(rng(), 3, tries=100, known=space.encode([CENTRE]))


def test_a_single_point_is_returned_where_there_is_no_other():
    only = {"a": 0.25, "b": 0.75}
    space = Space(SQUARE, constraint=lambda p: p == only)
    x = space.sample(rng(), 3, tries=100, known=space.encode([only, CENTRE]))
    assert space.decode(x) == [only]


@pytest.mark.parametrize("allowed", [[(77, 77)], [(5, 900), (77, 77)]])
def test_the_points_that_a_listable_space_has_are_found_and_no_others(allowed):
    """One or two of 300,000: all are proposed, then the space is exhausted."""
    space = Space(
        {"a": Int(0, 299), "b": Int(0, 999)},
        constraint=lambda p: (p["a"], p["b"]) in allowed,
    )
    for initial in (5, 0):
        search = Optimizer(space, Random(), seed=0, initial=initial)
        found = search.ask(5)
        assert sorted((t.params["a"], t.params["b"]) for t in found) == allowed
        assert search.ask(1) == []


@pytest.mark.parametrize("name", RARE)
@pytest.mark.parametrize("initial", [None, 0])
def test_a_search_goes_on_from_a_point_that_was_told(name, initial):
    space, known = RARE[name]
    search = Optimizer(space, Random(), seed=0, initial=initial)
    search.tell(known, 1.0)
    found = [t.params for t in search.ask(10)]
    assert len({str(params) for params in found}) == 10
    assert all(space.constraint(params) for params in found)


def test_a_search_goes_on_from_a_point_that_was_enqueued():
    search = Optimizer(RARE["a small square"][0], Random(), seed=0)
    search.enqueue(CENTRE)
    first, *others = search.ask(4)
    assert first.params == CENTRE
    assert len({t.params["a"] for t in others} - {0.3}) == 3


def test_uncertainty_sampling_starts_from_the_points_before():
    space = RARE["a small square"][0]
    found = most_uncertain_point(space, 0, 1, [CENTRE], [], SE(1.0), 0.1)
    assert space.constraint(found)
    assert quasi_random_point(space, 0, 1, [], space.encode([CENTRE])) != CENTRE


def test_a_resumed_run_equals_the_unbroken_one(tmp_path):
    space = RARE["a small square"][0]

    def steps(search, numbers):
        for number in numbers:
            if number == 0:
                search.enqueue(CENTRE)
            for trial in search.ask(2):
                search.tell(trial, -trial.params["a"])

    whole = Optimizer(space, Random(), seed=3, initial=4)
    steps(whole, range(4))
    for number in range(4):
        with Optimizer(space, Random(), seed=3, initial=4, journal=tmp_path / "run") as part:
            steps(part, [number])
    assert part.trials == whole.trials

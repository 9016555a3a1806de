"""Spaces that are searched: climbed along numbers, stepped through levels, screened at random."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scores import (
    BEYOND,
    CUBE,
    INSIDE,
    LEVELS,
    MIXED,
    QUICK,
    SPACES,
    all_points,
    bowl,
    draws,
    linear,
    needle,
    peaks,
    rng,
    score_class,
)

from thomax import Categorical, Float, Int, Search, Space
from thomax.search.maximise import maximise


def test_the_search_steps_to_the_top_of_a_grid():
    """Without steps to neighbours it ends next to the top in most draws."""
    space = SPACES["larger than a chunk"]
    score, points = draws(space, 8), all_points(space)
    found = maximise(rng(), score, space, search=Search(max_enumerated=0))
    tops = [points[i] for i in score(space.encode(points)).argmax(axis=1)]
    assert sum(a == b for a, b in zip(found, tops, strict=True)) >= 7


def test_the_search_goes_next_to_maxima_that_are_taken():
    """All climbs end at the top, which is taken: what remains must not be where they began."""
    space = Space({f"n{i}": Int(0, 4) for i in range(6)})
    target = np.linspace(0.02, 0.1, 6)
    away = np.sort(((space.encode(all_points(space)) - target) ** 2).sum(axis=1))
    exclude = []
    for rank in range(6):  # as a run does whose model has settled
        found = maximise(
            rng(), bowl(target), space, search=Search(max_enumerated=0), exclude=exclude
        )
        assert ((space.encode(found) - target) ** 2).sum() == pytest.approx(away[rank])
        exclude += found


def test_the_search_finds_nearly_what_scoring_all_points_finds():
    """Why spaces of many points are searched first: scoring all of them takes longer."""
    space = Space({f"c{i}": Categorical([*"abc"]) for i in range(9)})
    score = draws(space, 8)
    values = score(space.encode(all_points(space)))
    found = np.diag(score(space.encode(maximise(rng(), score, space))))
    assert np.mean((values.max(axis=1) - found) / values.std(axis=1)) < 0.1


def test_a_continuous_space_is_climbed_to_the_top_inside_and_at_the_border():
    found = maximise(rng(), bowl(INSIDE, BEYOND, -INSIDE), CUBE, search=QUICK)
    expected = [INSIDE, np.clip(BEYOND, -1, 1), -INSIDE]
    np.testing.assert_allclose(CUBE.encode(found), expected, atol=1e-3)


def test_floats_are_searched_on_their_own_scale():
    space = Space({"rate": Float(1e-4, 1, log=True), "share": Float(0, 10)})
    found = maximise(rng(), bowl([0.5, -0.5]), space, search=QUICK)[0]
    assert found["rate"] == pytest.approx(0.1, rel=1e-2)
    assert found["share"] == pytest.approx(2.5, abs=1e-2)


def test_the_neighbourhood_of_good_points_is_searched_as_well():
    """A needle that random points miss, and whose slope is too small to feel from afar."""
    score, search = needle(INSIDE), Search(candidates=400, restarts=4)
    near = INSIDE[None] + 0.05
    lost = CUBE.encode(maximise(rng(), score, CUBE, search=search))
    found = CUBE.encode(maximise(rng(), score, CUBE, search=search, centres=near))
    assert np.abs(lost - INSIDE).max() > 0.1
    np.testing.assert_allclose(found[0], INSIDE, atol=1e-2)
    empty = np.empty((0, 6))
    assert len(maximise(rng(), score, CUBE, search=search, centres=empty)) == 1
    elsewhere = Search(candidates=400, restarts=4, local_fraction=0.0)
    assert maximise(rng(), score, CUBE, search=elsewhere, centres=near) == CUBE.decode(lost)


@pytest.mark.parametrize(
    ("heights", "places", "best"),
    [
        ([0.5, 1.0, 0.9], [-0.9, 0.8, -0.8], ("b", 0.8)),
        ([0.5, 1.0, 1.1], [-0.9, 0.8, -0.8], ("c", -0.8)),
        ([1.0, 0.2, 0.0], [2.0, 0.0, 0.0], ("b", 0.0)),  # the highest peak is out of reach
    ],
)
@pytest.mark.parametrize("search", [QUICK, Search(candidates=8, restarts=8)])
def test_choices_and_floats_are_searched_jointly(heights, places, best, search):
    found = maximise(rng(), peaks([*heights, *places]), MIXED, search=search)[0]
    assert (found["kind"], found["place"]) == (best[0], pytest.approx(best[1], abs=1e-3))


def test_a_discrete_space_too_large_to_list_is_searched_by_single_changes():
    space = Space({f"c{i}": Categorical(LEVELS) for i in range(12)} | {"n": Int(0, 40)})
    weights = rng(5).normal(size=(3, space.dimension))
    found = maximise(rng(), linear(*weights), space, search=QUICK)
    for params, row in zip(found, weights, strict=True):
        best = row[:48].reshape(12, 4).argmax(1)
        assert [params[f"c{i}"] for i in range(12)] == [LEVELS[i] for i in best]
        assert params["n"] == (40 if row[48] > 0 else 0)


def test_a_parameter_of_very_many_levels_is_climbed_and_snapped():
    space = Space({"n": Int(0, 10**7), "x": Float(-1, 1)})
    found = maximise(rng(), bowl([0.5, 0.25]), space, search=QUICK)[0]
    assert isinstance(found["n"], int)
    assert found["n"] == pytest.approx(7_500_000, abs=5000)
    assert found["x"] == pytest.approx(0.25, abs=1e-3)


CONDITIONAL = Space({
    "kind": Categorical(["a", "b", "c"]),
    "place": Float(-1, 1, when={"kind": ["b", "c"]}),
})  # fmt: skip


@pytest.mark.parametrize(
    ("target", "best"),
    [
        ([1.0, 0.9, 0.8, 0.0, 0.7, -0.7], {"kind": "a"}),
        ([0.7, 0.9, 0.8, 0.0, 0.7, -0.7], {"kind": "b", "place": pytest.approx(0.7, abs=1e-3)}),
        ([0.7, 0.7, 0.8, 0.0, 0.7, -0.7], {"kind": "c", "place": pytest.approx(-0.7, abs=1e-3)}),
    ],
)
def test_conditional_parameters_appear_where_they_are_active(target, best):
    assert maximise(rng(), peaks(target), CONDITIONAL, search=QUICK) == [best]


def test_a_constraint_that_refuses_nearly_all_is_not_asked_for_ever():
    """One random point in 5,040 satisfies it: 2,000 candidates would ask ten million times."""
    calls = []

    def is_mixture(params):
        calls.append(params)
        return sum(params.values()) <= 1

    space = Space({c: Float(0, 1) for c in "abcdefg"}, constraint=is_mixture)
    centre = space.encode([dict.fromkeys("abcdefg", 0.1)])
    score = draws(space, 2)
    calls.clear()
    found = maximise(rng(), score, space, centres=centre)
    assert all(map(is_mixture, found))
    assert len(found) == 2
    assert len(calls) < 300_000


def test_every_point_satisfies_the_constraint():
    spaces = {
        "continuous": Space(
            {"a": Float(-1, 1), "b": Float(-1, 1)}, constraint=lambda p: p["a"] + p["b"] < 0.5
        ),
        "mixed": Space(
            {"a": Float(-1, 1), "n": Int(-10, 10)}, constraint=lambda p: p["a"] + p["n"] / 10 < 0.5
        ),
    }
    for space in spaces.values():
        found = maximise(rng(), linear([1.0, 1.0], [1.0, 0.9], [-1.0, 2.0]), space, search=QUICK)
        x = space.encode(found)
        assert space.satisfies(x).all()
        assert (x[:2].sum(1) > 0.4).all()  # and it lies near the border that holds it back
        assert x[2, 1] > 0.95


def test_rounding_at_the_end_gives_valid_points():
    space = Space({"n": Int(0, 10), "x": Float(-1, 1), "step": Float(0, 1, step=0.25)})
    search = Search(candidates=300, restarts=4, rounding=True)
    found = maximise(rng(), bowl([0.63, 0.3, -0.6]), space, search=search)
    assert found == [{"n": 8, "x": pytest.approx(0.3, abs=1e-3), "step": 0.25}]
    found = maximise(rng(), peaks([0.5, 1.0, 0.9, -0.9, 0.8, -0.8]), MIXED, search=search)[0]
    assert MIXED.validate(found) == found
    constrained = Space({"n": Int(0, 10), "x": Float(-1, 1)}, constraint=lambda p: p["n"] != 8)
    assert maximise(rng(), bowl([0.63, 0.3]), constrained, search=search)[0]["n"] != 8


def test_rounding_keeps_what_was_best_before_it():
    """The paper's way: x is the best partner of the unrounded n, not of the rounded one."""
    space = Space({"n": Int(0, 2), "x": Float(-1, 1)})
    tied = score_class(lambda target, x: -100 * (x[:, 0] - x[:, 1]) ** 2 - (x[:, 1] - target) ** 2)
    for search, x in (
        (Search(candidates=1, restarts=1, rounding=True), 0.3),
        (Search(candidates=50, restarts=4), 0.0),
    ):
        expected = {"n": 1, "x": pytest.approx(x, abs=0.01)}
        assert maximise(rng(), tied(0.3), space, search=search) == [expected]


@pytest.mark.parametrize("space", [CUBE, MIXED, SPACES["categorical"], SPACES["conditional"]])
@pytest.mark.parametrize("exhaustive", [10**5, 0])
def test_a_batch_of_equal_draws_has_distinct_points_none_of_them_excluded(space, exhaustive):
    search = Search(candidates=100, restarts=4, max_enumerated=exhaustive)
    corner = np.full(space.dimension, 2.0)
    first = maximise(rng(), bowl(corner), space, search=search)
    found = maximise(rng(), bowl(*[corner] * 4), space, search=search, exclude=first)
    rows = {row.tobytes() for row in space.encode([*first, *found])}
    assert len(rows) == 5


def test_the_search_is_a_function_of_its_generator():
    score = draws(MIXED)
    once, again = (maximise(rng(7), score, MIXED, search=QUICK) for _ in range(2))
    assert once == again


def test_the_maximum_of_a_rough_draw_is_that_of_a_dense_grid_or_higher():
    space = Space({"a": Float(-1, 1), "b": Float(-1, 1)})
    score = draws(space)
    axis = np.linspace(-1, 1, 101)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    found = maximise(rng(), score, space, search=Search(candidates=2000, restarts=12))
    ours = np.diag(score(space.encode(found)))
    assert (ours >= score(grid).max(1) - 1e-3).all()


@pytest.mark.parametrize("name", ["candidates", "restarts", "restarts_per_draw", "rounds"])
def test_a_search_that_looks_nowhere_is_refused(name):
    for number in (0, 1.5, None):
        with pytest.raises(ValueError, match=f"Search needs {name} to be a whole number >= 1"):
            Search(**{name: number})


def test_a_search_may_do_without_climbing_but_not_climb_backwards():
    assert Search(iterations=0).iterations == 0
    with pytest.raises(ValueError, match="Search needs iterations to be a whole number >= 0"):
        Search(iterations=-1)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_the_local_share_is_a_share(share):
    with pytest.raises(ValueError, match="Search needs local_fraction from 0 to 1"):
        Search(local_fraction=share)


def test_the_papers_search_screens_ten_thousand_points_and_rounds():
    assert Search.paper().candidates == 10_000
    assert Search.paper().local_fraction == 0
    assert Search.paper().rounding


def test_random_starts_are_climbed_whatever_their_score():
    """Of many peaks the best candidate is at the highest; a random one climbs another."""
    space = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
    waves = score_class(lambda t, x: (jnp.cos(12 * (x - t)) - (x - t) ** 2).sum(-1))
    score, target = waves([0.3, -0.7]), np.array([[0.3, -0.7]])
    search = Search(candidates=2000, local_fraction=0.0, restarts=1, restarts_per_draw=1)
    climbed = space.encode(maximise(rng(), score, space, search=search))
    np.testing.assert_allclose(climbed, target, atol=1e-3)
    random = replace(search, random_starts=True)
    best = space.encode(maximise(rng(), score, space, search=random))
    unclimbed = replace(search, iterations=0)
    np.testing.assert_array_equal(
        best, space.encode(maximise(rng(), score, space, search=unclimbed))
    )
    assert np.abs(best - target).max() > 1e-3
    many = replace(random, restarts=200)  # some of them start there
    np.testing.assert_allclose(
        space.encode(maximise(rng(), score, space, search=many)), target, atol=1e-3
    )

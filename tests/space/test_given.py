"""Regions of a space: what is given stands still, and the rest is a space of its own."""

import numpy as np
import pandas as pd
import pytest

from thomax import Bool, Categorical, Float, Int, Pool, Space
from thomax.space.given import region_of

PARAMETERS = {
    "kind": Categorical(["a", "b", "c"]),
    "x": Float(-1, 1),
    "rate": Float(1e-3, 1, log=True, when={"kind": ["a", "b"]}),
    "n": Int(1, 5, when={"kind": "c"}),
    "deep": Bool(when={"n": 3}),
}
SPACE = Space(PARAMETERS)
TABLE = pd.DataFrame(
    {"metal": ["Pd", "Pd", "Ni", "Cu"], "load": [1.0, 2.0, 1.0, 2.0], "dry": [True, False] * 2},
    index=["P1", "P2", "N1", "C1"],
)


@pytest.mark.parametrize(
    "given",
    [{"kind": "b"}, {"x": 0.25}, {"rate": 0.1}, {"n": 3}, {"deep": True}, {"kind": "c", "x": 0.5}],
    ids=str,
)
def test_points_of_a_region_are_points_of_the_space_with_what_is_given(given):
    region = region_of(SPACE, given)
    u = region.space.sample(np.random.default_rng(0), 50)
    whole = [region.completed(point) for point in region.space.decode(u)]
    assert [SPACE.validate(point) for point in whole] == whole
    assert all(point[name] == value for point in whole for name, value in given.items())
    np.testing.assert_array_equal(region.embed(u), SPACE.encode(whole))
    np.testing.assert_array_equal(region.project(region.embed(u)), u)
    assert [region.completed(region.inside(point)) for point in whole] == whole


def test_a_region_holds_all_points_that_fit_and_no_others():
    space = Space({name: p for name, p in PARAMETERS.items() if name not in ("x", "rate")})
    every = space.params(range(space.size))
    for given in ({"kind": "c"}, {"n": 3}, {"deep": False}, {"kind": "a"}):
        region = region_of(space, given)
        fitting = [p for p in every if all(p.get(n) == v for n, v in given.items())]
        assert [p for p in every if region.inside(p) is not None] == fitting
        if region.space is None:
            assert [region.completed({})] == fitting
        else:
            found = [region.completed(p) for p in region.space.params(range(region.space.size))]
            assert sorted(map(repr, found)) == sorted(map(repr, fitting))


def test_what_a_given_parameter_depends_on_keeps_the_values_that_activate_it():
    region = region_of(SPACE, {"rate": 0.5})
    rows = region.space.sample(np.random.default_rng(0), 100)
    assert {p["kind"] for p in region.space.decode(rows)} == {"a", "b"}
    assert region_of(SPACE, {"deep": True}).completed({"x": 0.0}) == {
        "kind": "c", "x": 0.0, "n": 3, "deep": True,
    }  # fmt: skip
    assert region_of(SPACE, {"deep": True}).given == {"deep": True}


def test_the_constraint_sees_what_is_given():
    space = Space(
        {"x": Float(0, 1), "y": Float(0, 1)}, constraint=lambda p: p["x"] + p["y"] <= 0.6
    )
    region = region_of(space, {"x": 0.5})
    rows = region.space.sample(np.random.default_rng(0), 30)
    assert all(p["y"] <= 0.1 for p in region.space.decode(rows))
    with pytest.raises(ValueError, match=r"Where given=\{'x': 0.9\} holds: The constraint ref"):
        region_of(space, {"x": 0.9}).require_point(np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"given needs values that a point has.*The constraint"):
        region_of(space, {"x": 0.5, "y": 0.5})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"kin": "a"}, "given needs names of parameters, got 'kin': did you mean 'kind'?"),
        ({"kind": "z"}, "given: parameter 'kind' needs one of ['a', 'b', 'c'], got 'z'."),
        ({"x": 2}, "given: parameter 'x' needs"),
        ({"kind": "a", "n": 1}, "'n' is active only when 'kind' is 'c'"),
        ({"rate": 0.1, "n": 1}, "given needs parameters that can be active together"),
        ({"kind": "a", "deep": True}, "'n' is active only when 'kind' is 'c'"),
    ],
)
def test_what_no_point_has_is_refused(given, sentence):
    with pytest.raises(ValueError) as caught:
        region_of(SPACE, given)
    assert sentence in str(caught.value)


def test_given_needs_to_be_values_by_name():
    with pytest.raises(TypeError, match="given needs values by the names of parameters, got 'x'"):
        region_of(SPACE, "x")


def test_nothing_given_is_the_whole_space():
    assert region_of(SPACE, {}).space is region_of(SPACE, None).space is SPACE


@pytest.mark.parametrize(
    ("given", "rows"),
    [({"metal": "Pd"}, [0, 1]), ({"load": 2}, [1, 3]), ({"dry": True, "load": 1.0}, [0, 2]),
     ({"index": 3}, [3]), ({"label": "N1"}, [2])],
    ids=str,
)  # fmt: skip
def test_a_pool_keeps_the_candidates_that_have_what_is_given(given, rows):
    pool = Pool(TABLE)
    region = region_of(pool, given)
    assert [p["index"] for p in region.space.params(range(region.space.size))] == rows
    np.testing.assert_array_equal(region.space.at(range(len(rows))), pool.at(rows))
    inside = [i for i in range(4) if region.inside(pool.params([i])[0]) is not None]
    assert inside == rows
    chunks = [x for _, x in region.space.chunks(1)]
    np.testing.assert_array_equal(np.concatenate(chunks), pool.at(rows))
    parts = [x for part in region.space.parts(1) for _, x in part.chunks(8)]
    np.testing.assert_array_equal(np.concatenate(parts), pool.at(rows))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"metall": "Pd"}, "given needs what a candidate has, got 'metall': did you mean 'metal'"),
        ({"metal": "Pt"}, "some candidate has, got metal='Pt'"),
        ({"dry": 1}, "some candidate has, got dry=1"),
        ({"index": 9}, "the index needs to be from 0 to 3"),
        ({"metal": "Ni", "load": 2.0}, "none has all"),
    ],
)
def test_what_no_candidate_has_is_refused(given, sentence):
    with pytest.raises(ValueError) as caught:
        region_of(Pool(TABLE), given)
    assert sentence in str(caught.value)

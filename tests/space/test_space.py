import copy
import json
import math
import pickle
import sys

import numpy as np
import pytest
from made import is_short, same, tuning

from thomax.optimizer import Optimizer
from thomax.policies.random import Random
from thomax.space.parameters import Bool, Categorical, Float, Int, Ordinal
from thomax.space.pool import Pool
from thomax.space.space import Space, as_space

# One contract for all spaces --------------------------------------------------------------


EXAMPLES = {
    "line": Space({"x": Float(-1, 1)}),
    "log": Space({"x": Float(1e-5, 1, log=True), "n": Int(1, 100, log=True)}),
    "grid": Space({"x": Float(0, 0.9, step=0.3), "n": Int(0, 8, step=4)}),
    "listed": Space({"c": Categorical([True, 1, None, "é"]), "o": Ordinal([3, 1.5, "x"])}),
    "single": Space({"c": Categorical(["only"]), "n": Int(3, 3), "o": Ordinal([None])}),
    "conditions": tuning(),
    "constraint": tuning(constraint=is_short),
    "vectors": Pool(np.random.default_rng(0).normal(3, 5, (40, 6))),
    "images": Pool(np.random.default_rng(0).integers(0, 256, (30, 4, 5), dtype=np.uint8)),
}


@pytest.fixture(params=EXAMPLES.values(), ids=EXAMPLES.keys())
def space(request):
    return request.param


FINITE = {name: space for name, space in EXAMPLES.items() if space.is_finite}


@pytest.fixture(params=FINITE.values(), ids=FINITE.keys())
def finite_space(request):
    return request.param


def test_samples_are_points_that_satisfy_the_constraint(space):
    x = space.sample(np.random.default_rng(0), 50)
    assert x.shape == (50, *space.shape)
    assert space.dimension == math.prod(space.shape)
    assert space.satisfies(x).tolist() == [True] * 50
    assert space.sample(np.random.default_rng(0), 0).shape == (0, *space.shape)


def test_samples_depend_on_the_generator_only(space):
    draws = [space.sample(np.random.default_rng(seed), 20) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert space.size == 1 or (draws[0] != draws[2]).any()


def test_positions_params_and_points_agree(finite_space):
    for indices, x in finite_space.chunks(7):
        params = finite_space.params(indices)
        np.testing.assert_array_equal(finite_space.at(indices), x)
        np.testing.assert_array_equal(finite_space.encode(params), x)
        assert finite_space.index(params) == indices.tolist()
        assert finite_space.satisfies(x).all()
        assert [finite_space.validate(p) for p in params] == params
        assert json.loads(json.dumps(params)) == params


def test_positions_outside_the_space_are_refused(finite_space):
    for wrong in (-1, finite_space.size, 2**70):
        with pytest.raises(ValueError, match=r"index needs 0 <= index < \d+, got"):
            finite_space.at([wrong])


def test_descriptions_are_json_and_decide_equality(space):
    description = space.describe()
    assert json.loads(json.dumps(description)) == description
    assert description["kind"] == ("pool" if isinstance(space, Pool) else "space")
    for other in EXAMPLES.values():
        assert (space == other) == (space is other)
    assert copy.deepcopy(space) == pickle.loads(pickle.dumps(space)) == space


def test_spaces_are_accepted_as_they_are(space):
    assert as_space(space) is space


# Where points lie -------------------------------------------------------------------------


def test_choices_are_one_hot_and_inactive_parameters_are_zero():
    x = tuning().encode(
        [
            {"optimiser": "sgd", "momentum": 0.75, "nesterov": True, "layers": 1},
            {"optimiser": "sgd", "momentum": 0.25, "layers": 2},
            {"optimiser": "adam", "layers": 3, "width_3": 16},
        ]
    )
    expected = [[0, 1, 0.5, 1, -1, 0], [0, 1, -0.5, 0, 0, 0], [1, 0, 0, 0, 1, 1]]
    np.testing.assert_array_equal(x, expected)


def test_inactive_logarithmic_parameters_are_zero_without_a_warning():
    space = Space({"on": Bool(), "rate": Float(1, 9, log=True, when={"on": True})})
    assert space.encode([{"on": False}]).tolist() == [[-1, 0]]


def test_size_counts_inactive_parameters_once():
    # adam: 1; sgd: 5 momenta, two of which have a nesterov flag. layers 3 has 13 widths.
    assert tuning().size == (1 + 3 + 2 * 2) * (2 + 13)
    assert tuning(constraint=is_short).size == tuning().size
    assert Space({"x": Float(0, 1)}).size == math.inf
    assert not Space({"x": Float(0, 1), "n": Int(0, 1)}).is_finite


def test_chunks_leave_out_what_the_constraint_refuses():
    space = tuning(constraint=is_short)
    assert sum(len(indices) for indices, _ in space.chunks(10)) == 8 * 2


# Drawing ----------------------------------------------------------------------------------


def test_a_constraint_that_refuses_everything_is_reported():
    space = Space({"x": Float(0, 1)}, constraint=lambda params: False)
    with pytest.raises(ValueError, match=r"refused 100000 random points in a row: loosen it"):
        space.sample(np.random.default_rng(0), 3)


def test_rare_points_are_found_by_rejection():
    space = Space({"n": Int(0, 999)}, constraint=lambda params: params["n"] == 7)
    x = space.sample(np.random.default_rng(0), 5)
    assert space.decode(x) == [{"n": 7}] * 5
    assert len(space.sample(np.random.default_rng(0), 150)) == 150  # 150,000 draws in all


def test_validation_returns_canonical_python_values():
    space = Space(
        {
            "x": Float(0, 4),
            "g": Float(0, 1, step=0.1),
            "n": Int(0, 9),
            "b": Bool(),
            "c": Categorical([1, True, "a"]),
            "o": Ordinal([0.5, 2]),
        }
    )
    given = {
        "o": np.float32(0.5),
        "c": 1.0,
        "b": np.bool_(True),
        "n": np.float64(3),
        "g": 0.1 + 0.2,
        "x": np.array(1),
    }
    canonical = {"x": 1.0, "g": 0.3, "n": 3, "b": True, "c": 1, "o": 0.5}
    assert same(space.validate(given), canonical)
    assert same(space.validate(canonical | {"c": True})["c"], True)
    assert same(space.validate(canonical | {"x": -0.0})["x"], 0.0)


def test_spaces_print_as_they_are_written():
    space = Space({"x": Float(0, 1), "c": Categorical(["a"], when={"b": True}), "b": Bool()})
    assert repr(space) == (
        "Space({'x': Float(0.0, 1.0), 'c': Categorical(['a'], when={'b': (True,)}), 'b': Bool()})"
    )
    assert repr(tuning(constraint=is_short)).endswith(", constraint=is_short)")


def test_dictionaries_are_spaces():
    assert as_space({"x": Float(0, 1)}) == Space({"x": Float(0, 1)})


def test_equality_tells_types_and_order_apart():
    assert Space({"c": Categorical([True])}) != Space({"c": Categorical([1])})
    assert Space({"a": Bool(), "b": Bool()}) != Space({"b": Bool(), "a": Bool()})
    assert Space({"a": Bool()}) != "a"


def test_descriptions_mention_the_constraint_and_take_it_back():
    space = tuning(constraint=is_short)
    assert space.describe()["constraint"] is True
    assert Space.from_description(space.describe()) != space
    assert Space.from_description(space.describe(), constraint=is_short) == space


# Extremes ---------------------------------------------------------------------------------


def test_ten_thousand_choices():
    space = Space({"c": Categorical([*range(10_000)]), "x": Float(0, 1)})
    params = [{"c": c, "x": 0.5} for c in (0, 17, 9_999)]
    assert space.decode(space.encode(params)) == params
    assert space.blocks[0].levels is None


def test_five_hundred_dimensions_with_positions_beyond_int64():
    space = Space({f"x{i}": Int(0, 9) for i in range(500)})
    x = space.sample(np.random.default_rng(0), 10)
    positions = space.index(space.decode(x))
    assert space.size == 10**500
    assert max(positions) > 2**63
    np.testing.assert_array_equal(space.at(positions), x)
    indices, first = next(space.chunks(4))
    assert indices.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(space.at([0, 1, 2, 3]), first)


def calls_of(function, *args):
    """Count the Python calls that a call makes."""
    calls = []
    sys.setprofile(lambda _, event, __: calls.append(event) if event == "call" else None)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return len(calls)


def test_a_million_points_are_walked_in_whole_chunks():
    space = Space({name: Int(0, 9) for name in "abcdef"})
    assert [len(x) for _, x in space.chunks(8192)] == [8192] * 122 + [10**6 - 122 * 8192]
    assert calls_of(list, space.chunks(8192)) < 40_000  # and by no loop over its points


def test_snapping_is_no_loop_over_points():
    kinds = [Float(0, 1), Float(1e-5, 1, log=True), Int(1, 1000, log=True), Bool()]
    space = Space({f"x{i}": kinds[i % 4] for i in range(12)})
    x = np.random.default_rng(0).uniform(-1, 1, (10_000, 12))
    assert 12 <= calls_of(space.snap, x) < 1000


def test_chunks_of_very_long_rows_are_short():
    space = Space({"x": Categorical([f"c{i}" for i in range(6000)])})
    sizes = [len(x) for _, x in space.chunks(16_384)]
    assert sum(sizes) == 6000
    assert max(sizes) * 6000 <= 2**24


def test_a_constraint_that_changes_its_argument_changes_nothing_else(tmp_path):
    """Row 9: what it added was written, and the journal never opened again."""

    def meddling(params):
        params["x"] = 7.0
        params.pop("n", None)
        params["new"] = object()
        return True

    space = Space({"x": Float(0, 1), "n": Int(0, 9)}, constraint=meddling)
    point = {"x": 0.25, "n": 3}
    assert space.validate(point) == point == {"x": 0.25, "n": 3}
    with Optimizer(space, Random(), seed=0, journal=tmp_path / "run.jsonl") as search:
        search.tell(point, 1.0)
        search.enqueue(point)
        search.ask(3)
    with Optimizer(space, Random(), journal=tmp_path / "run.jsonl") as again:
        assert again.trials == search.trials
        assert [t.params for t in again.trials[:2]] == [point, point]


def test_parameters_of_one_scale_are_placed_and_read_as_each_alone():
    parameters = {}
    for i in range(4):
        parameters |= {
            f"b{i}": Bool(),
            f"c{i}": Categorical([*"abc"]),
            f"x{i}": Float(1, 9, log=True),
        }
    parameters["n"] = Int(0, 5, when={"b0": True})
    space = Space(parameters)
    x = np.random.default_rng(0).uniform(-1, 1, (50, space.dimension))
    alone = []
    for block in space.blocks:
        scale = parameters[block.name].scale
        alone.append(scale.place(scale.nearest(x[:, block.columns])))
    alone[-1][alone[0][:, 0] < 0] = 0  # n is not active where b0 is false
    assert space.snap(x).tobytes() == np.concatenate(alone, axis=1).tobytes()


def test_very_many_parameters_are_drawn_encoded_and_told_apart():
    space = Space({f"b{i}": Bool() for i in range(3000)})
    x = space.sample(np.random.default_rng(0), 40)
    assert abs(x.mean()) < 5 / np.sqrt(x.size)  # of a fair coin: five standard deviations
    assert {*np.unique(x)} == {-1.0, 1.0}
    params = space.decode(x)
    assert space.encode(params).tobytes() == x.tobytes()
    assert space.size == 2**3000
    assert space.index(params[:1]) == [int("".join("1" if v > 0 else "0" for v in x[0]), 2)]

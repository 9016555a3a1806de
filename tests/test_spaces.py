import copy
import json
import math
import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_parameters import levels_of, parameters, quick, same

from thomax.parameters import Bool, Categorical, Float, Int, Ordinal
from thomax.pools import Pool
from thomax.spaces import Space, as_space

# Random spaces ----------------------------------------------------------------------------


@st.composite
def spaces(draw, finite=False):
    made = {}
    for name in draw(st.permutations(["a", "b", "ç", "d d", "е"]))[: draw(st.integers(1, 5))]:
        parents = [n for n, p in made.items() if p.scale.count < 100]
        chosen = draw(st.lists(st.sampled_from(parents), max_size=2)) if parents else []
        when = {
            parent: draw(st.lists(st.sampled_from(levels_of(made[parent])), min_size=1))
            for parent in chosen
        }
        made[name] = draw(parameters(when or None, finite))
    names = draw(st.permutations([*made]))  # conditions may refer to later parameters
    return Space({name: made[name] for name in names})


@st.composite
def spaces_and_points(draw, finite=False):
    space = draw(spaces(finite))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return space, rng.uniform(-1.2, 1.2, (20, space.dimension))


@quick
@given(spaces_and_points())
def test_snapped_points_survive_decoding_bit_for_bit(case):
    """A replayed journal must be the very same data."""
    space, x = case
    snapped = space.snap(x)
    assert snapped.dtype == np.float64
    assert abs(snapped).max() <= 1
    assert not np.signbit(snapped[snapped == 0]).any()
    np.testing.assert_array_equal(space.encode(space.decode(x)), snapped)
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    assert same(space.decode(snapped), space.decode(x))


@quick
@given(spaces_and_points())
def test_decoded_params_are_canonical_python_values_within_bounds(case):
    space, x = case
    for params in space.decode(x):
        assert same(space.validate(params), params)
        for name, value in params.items():
            parameter = space.parameters[name]
            assert type(value) in (str, int, float, bool, type(None))
            if isinstance(parameter, Float | Int):
                assert type(value) is (float if isinstance(parameter, Float) else int)
                assert parameter.low <= value <= parameter.high


@quick
@given(spaces_and_points())
def test_a_parameter_is_present_exactly_where_its_condition_holds(case):
    space, x = case
    for params, row in zip(space.decode(x), space.snap(x), strict=True):
        for block in space.blocks:
            when = space.parameters[block.name].when or {}
            active = all(
                parent in params and any(same(params[parent], v) for v in values)
                for parent, values in when.items()
            )
            assert (block.name in params) == active
            assert active or not row[block.columns].any()


@quick
@given(spaces(finite=True), st.integers(1, 50))
def test_chunks_meet_every_distinct_point_once(space, rows):
    if space.size > 3000:
        space = Space({"only": Bool()})
    chunks = [*space.chunks(rows)]
    assert all(0 < len(indices) <= rows for indices, _ in chunks)
    indices = np.concatenate([indices for indices, _ in chunks])
    x = np.concatenate([x for _, x in chunks])
    assert indices.dtype == np.int64
    assert indices.tolist() == [*range(space.size)]
    assert len({repr(params) for params in space.decode(x)}) == space.size
    assert space.index(space.decode(x)) == indices.tolist()
    np.testing.assert_array_equal(space.at(indices), x)
    np.testing.assert_array_equal(space.snap(x), x)
    assert same(space.params(indices), space.decode(x))


@quick
@given(spaces_and_points(finite=True))
def test_every_point_of_a_finite_space_has_a_position(case):
    space, x = case
    positions = space.index(space.decode(x))
    assert all(type(i) is int and 0 <= i < space.size for i in positions)
    np.testing.assert_array_equal(space.at(positions), space.snap(x))


@quick
@given(spaces())
def test_spaces_are_rebuilt_from_their_description(space):
    description = json.loads(json.dumps(space.describe()))
    rebuilt = Space.from_description(description)
    assert rebuilt == space
    assert hash(rebuilt) == hash(space)
    assert same(rebuilt.describe(), space.describe())


@quick
@given(spaces())
def test_blocks_cover_the_columns_and_list_what_snapping_keeps(space):
    columns = [c for block in space.blocks for c in range(space.dimension)[block.columns]]
    assert columns == [*range(space.dimension)]
    for block in space.blocks:
        scale = space.parameters[block.name].scale
        if block.levels is None:
            assert scale.count > 1000
        else:
            assert block.levels.shape == (scale.count, scale.width)
            assert scale.nearest(block.levels).tolist() == [*range(int(scale.count))]


@quick
@given(spaces_and_points())
def test_snapping_moves_to_the_nearest_level(case):
    space, x = case
    for block in space.blocks:
        if block.levels is None:
            continue
        u = x[:, block.columns]
        nearest = space.parameters[block.name].scale.nearest(u)
        distance = ((u[:, None] - block.levels) ** 2).sum(-1)
        chosen = distance[np.arange(len(x)), nearest]
        np.testing.assert_allclose(chosen, distance.min(1), atol=1e-12)


# One contract for all spaces --------------------------------------------------------------


def tuning(**options):
    return Space(
        {
            "optimiser": Categorical(["adam", "sgd"]),
            "momentum": Float(0, 1, step=0.25, when={"optimiser": "sgd"}),
            "nesterov": Bool(when={"momentum": [0.5, 0.75]}),
            "layers": Int(1, 3),
            "width_3": Int(4, 16, log=True, when={"layers": 3}),
        },
        **options,
    )


def is_short(params):
    return params["layers"] < 3


EXAMPLES = {
    "line": Space({"x": Float(-1, 1)}),
    "log": Space({"x": Float(1e-5, 1, log=True), "n": Int(1, 100, log=True)}),
    "grid": Space({"x": Float(0, 1, step=0.3), "n": Int(0, 10, step=4)}),
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
    with pytest.raises(ValueError, match=r"refused 1000\d\d random points in a row: loosen it"):
        space.sample(np.random.default_rng(0), 3)


def test_rare_points_are_found_by_rejection():
    space = Space({"n": Int(0, 999)}, constraint=lambda params: params["n"] == 7)
    x = space.sample(np.random.default_rng(0), 5)
    assert space.decode(x) == [{"n": 7}] * 5
    assert len(space.sample(np.random.default_rng(0), 150)) == 150  # 150,000 draws in all


# Validation -------------------------------------------------------------------------------


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


GOOD = {"optimiser": "sgd", "momentum": 0.25, "layers": 1}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"lr": 1},
            "Unknown parameter 'lr': the space has ['optimiser', 'momentum', 'nesterov', "
            "'layers', 'width_3']; check the spelling.",
        ),
        ({"layers": ...}, "Parameter 'layers' is missing: give it a value."),
        ({"momentum": 2}, "Parameter 'momentum' needs a number from 0.0 to 1.0, got 2."),
        ({"momentum": math.nan}, "Parameter 'momentum' needs a number from 0.0 to 1.0, got nan."),
        ({"momentum": True}, "Parameter 'momentum' needs a number from 0.0 to 1.0, got True."),
        ({"momentum": "1"}, "Parameter 'momentum' needs a number from 0.0 to 1.0, got '1'."),
        (
            {"momentum": 0.3},
            "Parameter 'momentum' needs 0.0 plus a multiple of 0.25, got 0.3 "
            "(the nearest is 0.25).",
        ),
        ({"layers": 1.5}, "Parameter 'layers' needs a whole number from 1 to 3, got 1.5."),
        ({"layers": 4}, "Parameter 'layers' needs a whole number from 1 to 3, got 4."),
        ({"layers": math.inf}, "Parameter 'layers' needs a whole number from 1 to 3, got inf."),
        ({"optimiser": "lamb"}, "Parameter 'optimiser' needs one of ['adam', 'sgd'], got 'lamb'."),
        (
            {"optimiser": ["sgd"]},
            "Parameter 'optimiser' needs one of ['adam', 'sgd'], got ['sgd'].",
        ),
        ({"width_3": 4}, "Parameter 'width_3' is active only when 'layers' is 3: leave it out."),
        (
            {"nesterov": True},
            "Parameter 'nesterov' is active only when 'momentum' is in [0.5, 0.75]: leave it out.",
        ),
        (
            {"momentum": 0.5, "nesterov": 1},
            "Parameter 'nesterov' needs one of [False, True], got 1.",
        ),
        (
            {"layers": 3, "width_3": 4},
            "The constraint refuses {'optimiser': 'sgd', 'momentum': "
            "0.25, 'layers': 3, 'width_3': 4}: change one of the values.",
        ),
    ],
)
def test_wrong_params_are_named(change, sentence):
    params = {name: value for name, value in (GOOD | change).items() if value is not ...}
    with pytest.raises(ValueError) as caught:
        tuning(constraint=is_short).validate(params)
    assert str(caught.value) == sentence


def test_params_must_be_a_mapping():
    with pytest.raises(TypeError, match="params needs a mapping from names to values, got 'x'"):
        Space({"x": Float(0, 1)}).encode({"x": 1})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Space({}), "Space needs at least one parameter, got none."),
        (lambda: Space([1]), "Space needs a mapping from names to parameters, got [1]."),
        (lambda: Space({1: Bool()}), "Space needs names that are strings, got 1."),
        (
            lambda: Space({"x": (0, 1)}),
            "Space needs a parameter for 'x', got (0, 1): use "
            "Float(low, high), Int(low, high), Categorical(choices), Ordinal(values) or Bool().",
        ),
        (
            lambda: Space({"x": Bool()}, constraint=1),
            "constraint needs a function of the params, got 1.",
        ),
        (
            lambda: Space({"x": Bool(when={"y": 1})}),
            "The condition of 'x' needs a parameter of the space, got 'y': the space has ['x'].",
        ),
        (
            lambda: Space({"x": Bool(when={"y": 1}), "y": Float(0, 1)}),
            "The condition of 'x' needs "
            "a parameter with separate values, got 'y': give it a step.",
        ),
        (
            lambda: Space({"x": Bool(when={"y": "c"}), "y": Categorical(["a", "b"])}),
            "The condition of 'x': 'y' needs one of ['a', 'b'], got 'c'.",
        ),
        (
            lambda: Space({"x": Bool(when={"x": True})}),
            "Conditions must not depend on each other in a circle, got 'x' -> 'x'.",
        ),
        (
            lambda: Space.from_description({"kind": "pool"}),
            "A description of a space has kind 'space', got 'pool'.",
        ),
        (
            lambda: Space.from_description({"kind": "space", "parameters": [{"type": "Real"}]}),
            "A parameter is one of ['Float', 'Int', 'Categorical', 'Ordinal', 'Bool'], "
            "got 'Real'.",
        ),
        (
            lambda: Space.from_description([1]),
            "A description of a space has kind 'space', got [1].",
        ),
        (
            lambda: Space.from_description({"kind": "space", "parameters": [{"type": "Bool"}]}),
            "A space needs the description that `describe` gives, "
            "got {'kind': 'space', 'parameters': [{'type': 'Bool'}]} ('name').",
        ),
        (lambda: Space({"x": Bool()}).decode([1.0]), "x needs shape (n, 1), got (1,)."),
        (
            lambda: Space({"x": Bool()}).snap([[math.nan]]),
            "x needs finite numbers, got nan or inf.",
        ),
        (
            lambda: Space({"x": Float(0, 1)}).index([{"x": 0}]),
            "Only finite spaces have positions: give every Float a step.",
        ),
        (
            lambda: next(Space({"x": Float(0, 1)}).chunks(9)),
            "Only finite spaces have positions: give every Float a step.",
        ),
        (
            lambda: as_space(np.zeros((3, 2))),
            "A space is a Space, a Pool or a dictionary of "
            "parameters, got ndarray: wrap arrays and tables in Pool(...).",
        ),
    ],
)
def test_mistakes_are_explained_in_one_sentence(make, sentence):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert str(caught.value) == sentence


def test_circular_conditions_are_shown():
    circle = {"a": Bool(when={"b": True}), "b": Bool(when={"a": True})}
    with pytest.raises(ValueError, match=r"in a circle, got '[ab]' -> '[ab]' -> '[ab]'"):
        Space(circle)


def test_a_constraint_that_raises_is_reported_with_its_params():
    space = tuning(constraint=lambda params: params["momentum"] > 0)
    with pytest.raises(ValueError, match=r"KeyError\('momentum'\) for {'optimiser': 'adam'"):
        space.validate({"optimiser": "adam", "layers": 1})


# Reading ----------------------------------------------------------------------------------


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


def test_a_million_points_are_walked_quickly():
    space = Space({name: Int(0, 9) for name in "abcdef"})
    start = time.perf_counter()
    assert sum(len(x) for _, x in space.chunks(8192)) == 10**6
    assert time.perf_counter() - start < 4  # a tenth of it on an idle machine


def test_snapping_is_vectorised():
    kinds = [Float(0, 1), Float(1e-5, 1, log=True), Int(1, 1000, log=True), Bool()]
    space = Space({f"x{i}": kinds[i % 4] for i in range(12)})
    x = np.random.default_rng(0).uniform(-1, 1, (10_000, 12))
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        space.snap(x)
        best = min(best, time.perf_counter() - start)
    assert best < 0.05  # a few milliseconds on an idle machine


def test_chunks_of_very_long_rows_are_short():
    space = Space({"x": Categorical([f"c{i}" for i in range(6000)])})
    sizes = [len(x) for _, x in space.chunks(16_384)]
    assert sum(sizes) == 6000
    assert max(sizes) * 6000 <= 2**24

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import floats, levels_of, quick, same

from thomax.space.parameters import Bool, Categorical, Float, Int, Ordinal
from thomax.space.space import Space


class Twice(Mapping):
    """A mapping as a careless library may make one."""

    def __getitem__(self, label):
        return label

    def __iter__(self):
        return iter(["a", "a"])

    def __len__(self):
        return 2

    def items(self):
        return [("a", 1), ("a", 2)]


def placed(parameter, values):
    return parameter.scale.place(np.array([parameter.code_of(value) for value in values]))


def read(parameter, x):
    return [parameter.value_of(code) for code in parameter.scale.nearest(x).tolist()]


# Where values lie -----------------------------------------------------------------------


@quick
@given(floats(), st.floats(0, 1))
def test_floats_survive_encoding_up_to_rounding(parameter, fraction):
    value = min(parameter.low + fraction * (parameter.high - parameter.low), parameter.high)
    if parameter.step is not None:
        return
    [back] = read(parameter, placed(parameter, [value]))
    assert abs(back - value) <= 1e-12 * (parameter.high - parameter.low)


@pytest.mark.parametrize(
    ("parameter", "values", "places"),
    [
        (Float(2, 4), [2, 3, 3.5, 4], [-1, 0, 0.5, 1]),
        (Float(0.01, 100, log=True), [0.01, 0.1, 1, 100], [-1, -0.5, 0, 1]),
        (Float(0, 0.8, step=0.4), [0, 0.4, 0.8], [-1, 0, 1]),
        (Int(1, 5), [1, 2, 5], [-1, -0.5, 1]),
        (Int(1, 16, log=True), [1, 2, 4, 16], [-1, -0.5, 0, 1]),
        (Ordinal(["s", "m", "l"]), ["s", "m", "l"], [-1, 0, 1]),
        (Bool(), [False, True], [-1, 1]),
        (Int(7, 7), [7], [0]),
        (Int(7, 7, log=True), [7], [0]),
    ],
)
def test_ordered_parameters_run_from_minus_one_to_one(parameter, values, places):
    np.testing.assert_allclose(placed(parameter, values)[:, 0], places, atol=1e-15)


@pytest.mark.parametrize("low", range(1, 40))
def test_logarithmic_integers_never_leave_the_cube(low):
    for high in range(low + 1, 80):
        parameter = Int(low, high, log=True)
        assert placed(parameter, [low, high]).tolist() == [[-1], [1]]


def test_choices_are_one_hot_and_a_single_choice_is_zero():
    assert placed(Categorical(["a", 1]), [1, "a"]).tolist() == [[0, 1], [1, 0]]
    assert placed(Categorical(["only"]), ["only"]).tolist() == [[0]]


def test_step_grids_hold_the_decimals_people_write():
    tenths = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert levels_of(Float(0.1, 1.0, step=0.1)) == tenths
    assert Float(0, 0.3, step=0.1).high == 0.3
    assert Float(0.2, 0.3, step=0.1).high == 0.3
    assert len(levels_of(Float(0, 1, step=1 / 3))) == 4  # ends a rounding error below 1


@pytest.mark.parametrize(
    ("make", "end", "sentence"),
    [
        (
            lambda: Float(0, 1, step=0.3),
            0.9,
            "Float(0.0, 1.0, step=0.3) ends at 0.9: 1.0 is not 0.0 plus a multiple of 0.3. "
            "Write high=0.9, or choose another step.",
        ),
        (lambda: Float(0.1, 1.05, step=0.1), 1.0, "Float(0.1, 1.05, step=0.1) ends at 1.0: "),
        (lambda: Int(0, 10, step=4), 8, "Int(0, 10, step=4) ends at 8: 10 is not 0 plus a "),
    ],
)
def test_a_step_that_misses_high_says_where_it_ends(make, end, sentence):
    """Row 20: also the line of the user's code is named; what was lowered does not warn again."""
    with pytest.warns(UserWarning, match=re.escape(sentence)) as caught:
        parameter = make()
    assert caught[0].filename == __file__
    assert parameter.high == end
    assert f"{end}, step=" in repr(parameter)
    assert replace(parameter, when={"x": 1}).high == end
    description = Space({"p": parameter}).describe()
    assert Space.from_description(description).describe() == description


# Drawing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter",
    [
        Int(0, 4),
        Float(0, 1, step=0.25),
        Ordinal([5, 3, "a", 1, 0]),
        Categorical(["a", None, True, 1, 0]),
    ],
)
def test_levels_are_drawn_equally_often(parameter):
    n = 20_000
    counts = np.bincount(parameter.scale.draw(np.random.default_rng(0), n), minlength=5)
    four_sigma = 4 * math.sqrt(n * 0.2 * 0.8)
    np.testing.assert_allclose(counts, n / 5, atol=four_sigma)


def test_logarithmic_integers_are_drawn_by_their_share_of_the_logarithmic_scale():
    n = 40_000
    codes = Int(2, 9, log=True).scale.draw(np.random.default_rng(0), n)
    values = np.arange(2, 10)
    share = np.log((values + 0.5) / (values - 0.5)) / np.log(9.5 / 1.5)
    counts = np.bincount(codes, minlength=8)
    np.testing.assert_array_less(abs(counts - n * share), 4 * np.sqrt(n * share * (1 - share)))


@pytest.mark.parametrize("parameter", [Float(3, 9), Float(1e-4, 10, log=True)])
def test_floats_are_drawn_uniformly_on_their_scale(parameter):
    n = 20_000
    codes = parameter.scale.draw(np.random.default_rng(0), n)
    x = np.sort(parameter.scale.place(codes)[:, 0])
    gap = abs(x - np.linspace(-1, 1, n)).max() / 2
    assert gap < 1.95 / math.sqrt(n)  # Kolmogorov-Smirnov at level 0.001


# Mistakes -------------------------------------------------------------------------------


def test_off_grid_integers_are_named():
    with pytest.raises(ValueError, match="needs 1 plus a multiple of 3, got 3"):
        Int(1, 7, step=3).code_of(3)


def test_long_lists_are_shortened():
    parameter = Categorical([*range(100)])
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3, 4, 5, 6, 7, ... 100 in all\], got 100"):
        parameter.code_of(100)
    assert repr(parameter) == "Categorical([0, 1, 2, 3, 4, 5, 6, 7, ... 100 in all])"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Float(1, 0), "Float needs low < high, got low=1, high=0."),
        (lambda: Float(1, 1), "Float needs low < high, got low=1, high=1."),
        (lambda: Float(math.nan, 1), "Float needs a finite number for low, got nan."),
        (lambda: Float(0, math.inf), "Float needs a finite number for high, got inf."),
        (lambda: Float(0, 10**400), f"Float needs a finite number for high, got {10**400}."),
        (lambda: Float("0", 1), "Float needs a finite number for low, got '0'."),
        (lambda: Float(False, 1), "Float needs a finite number for low, got False."),
        (
            lambda: Float(-1e308, 1e308),
            "Float needs high - low below 1.8e308, got low=-1e+308, high=1e+308.",
        ),
        (lambda: Float(0, 1, log=True), "Float with log=True needs low > 0, got low=0."),
        (
            lambda: Float(1e-300, 1e300, log=True),
            "Float with log=True needs high / low below 1e308, got low=1e-300, high=1e+300.",
        ),
        (
            lambda: Float(1, 2, log=True, step=1),
            "Float takes log=True or a step, got both (step=1).",
        ),
        (lambda: Float(0, 1, step=0), "Float needs 0 < step <= high - low = 1.0, got step=0.0."),
        (lambda: Float(0, 1, step=2), "Float needs 0 < step <= high - low = 1.0, got step=2.0."),
        (lambda: Float(0, 1, step=math.nan), "Float needs a finite number for step, got nan."),
        (
            lambda: Float(1e16, 2e16, step=1),
            "Float needs a step that float64 resolves between "
            "1e+16 and 2e+16, got step=1.0: leave it out.",
        ),
        (lambda: Int(2, 1), "Int needs low <= high, got low=2, high=1."),
        (lambda: Int(0.5, 1), "Int needs a whole number within ±2**53 for low, got 0.5."),
        (
            lambda: Int(0, 2**53 + 1),
            "Int needs a whole number within ±2**53 for high, got 9007199254740993.",
        ),
        (lambda: Int(0, math.nan), "Int needs a whole number within ±2**53 for high, got nan."),
        (lambda: Int(0, True), "Int needs a whole number within ±2**53 for high, got True."),
        (lambda: Int(0, 9, step=0), "Int needs 1 <= step <= high - low = 9, got step=0."),
        (lambda: Int(0, 9, step=10), "Int needs 1 <= step <= high - low = 9, got step=10."),
        (lambda: Int(0, 9, log=True), "Int with log=True needs low > 0, got low=0."),
        (lambda: Int(1, 9, log=True, step=2), "Int takes log=True or a step, got both (step=2)."),
        (
            lambda: Int(1, 2**41, log=True),
            "Int with log=True needs high <= 2**40, "
            "got high=2199023255552: use Float with log=True.",
        ),
        (lambda: Categorical([]), "Categorical needs at least one choice, got none."),
        (lambda: Categorical("abc"), "Categorical needs a list of choices, got 'abc'."),
        (lambda: Categorical({1}), "Categorical needs a list of choices, got {1}."),
        (lambda: Categorical(3), "Categorical needs a list of choices, got 3."),
        (lambda: Categorical([1, 1.0]), "Categorical needs distinct choices, got 1.0 twice."),
        (
            lambda: Categorical([[1]]),
            (
                "Categorical needs str, int, float, bool or None, got [1]: give other objects "
                'labels, as in Categorical({"a label": [1], ...}).'
            ),
        ),
        (
            lambda: Categorical([math.nan]),
            "Categorical needs finite numbers, got nan: use a string for it.",
        ),
        (lambda: Ordinal([]), "Ordinal needs at least one value, got none."),
        (lambda: Categorical({}), "Categorical needs at least one choice, got none."),
        (
            lambda: Categorical({1: (64,)}),
            "Categorical needs labels that are strings, got 1: write '1'.",
        ),
        (
            lambda: Categorical({"a": [1], "b": [1]}),
            "Categorical needs distinct objects, got equal ones for 'a' and 'b'.",
        ),
        (
            lambda: Ordinal({"a": "b", "b": (1,)}),
            "Ordinal needs labels that name one object, got 'b', which is the label of one and "
            "the object of 'a': rename a label.",
        ),
        (lambda: Categorical(Twice()), "Categorical needs distinct labels, got 'a' twice."),
        (lambda: Ordinal(["a", "a"]), "Ordinal needs distinct values, got 'a' twice."),
        (lambda: Bool(when="x"), "when needs a mapping like {'optimiser': 'sgd'}, got 'x'."),
        (lambda: Bool(when={"x": []}), "when needs at least one value of 'x', got none."),
    ],
)
def test_mistakes_are_explained_in_one_sentence(make, sentence):
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == sentence


# Reading --------------------------------------------------------------------------------


def test_lists_become_tuples():
    assert Categorical(np.array(["a", "b"])).choices == ("a", "b")
    assert Ordinal([1, 2], when={"x": ["a", 1]}).when == {"x": ("a", 1)}
    letters = "dbfaec"  # as a set they come in another order in every process
    assert Bool(when={"x": {*letters}}).when == {"x": (*sorted(letters),)}
    assert hash(Float(0, 1, when={"x": 1})) == hash(Float(0.0, 1.0, when={"x": 1}))


# Extremes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter",
    [
        Float(0, 1e-12),
        Float(1, 1 + 1e-12),
        Float(1, 1 + 1e-12, log=True),
        Float(1e-300, 1, log=True),
        Float(1e-7, 1e300, log=True),
        Float(-8e307, 8e307),
        Float(5e-324, 1e-320),
        Float(1, 1 + 2**-4),
        Float(0, 1, step=1e-15),
        Int(-(2**53), 2**53),
        Int(1 - 2**53, 2**53),
        Int(-3, 2**53 - 4),
        Int(1, 2**40, log=True),
        Int(2**40 - 5, 2**40, log=True),
    ],
)
def test_extreme_ranges_survive_the_round_trip(parameter):
    rng = np.random.default_rng(0)
    near_the_top = 1 - abs(rng.normal(size=2000)) * 1e-15
    x = np.concatenate([rng.uniform(-1, 1, 2000), near_the_top, -near_the_top, [-1, 0, 1]])
    snapped = parameter.scale.place(parameter.scale.nearest(x[:, None]))
    values = read(parameter, snapped)
    np.testing.assert_array_equal(placed(parameter, values), snapped)
    assert same(read(parameter, placed(parameter, values)), values)
    assert values[-3] == parameter.low
    assert values[-1] == parameter.high
    assert abs(snapped).max() <= 1


@pytest.mark.parametrize("low", [-(2**53), 1 - 2**53, -(2**52) - 12345, 0, 2**51 + 12345])
def test_neighbouring_huge_integers_stay_apart(low):
    parameter = Int(low, 2**53)
    anywhere = np.random.default_rng(0).integers(low, 2**53, size=2000).tolist()
    values = [*range(low, low + 50), *range(-25, 25), *range(2**53 - 50, 2**53 + 1), *anywhere]
    values = [value for value in values if value >= low]
    assert read(parameter, placed(parameter, values)) == values


def test_every_float_of_a_narrow_range_is_kept():
    low = 1.0
    values = low + np.arange(4000) * math.ulp(low)
    parameter = Float(low, float(values[-1]))
    assert read(parameter, placed(parameter, values)) == values.tolist()


# Many values at once --------------------------------------------------------------------

MANY = [
    (Float(-1, 1), [0.5, -0.0, -1.0, 1.0, 0.5]),
    (Float(-1, 1), [0.5, 1, np.float32(0.25)]),
    (Float(0, 0.9, step=0.3), [0.3, 0.0, 0.9, 0.3]),
    (Int(1, 9, step=2), [1, 9, 3.0, 3]),
    (Int(1, 100, log=True), [1, 100, 7]),
    (Categorical(["a", True, 1, None]), [1, True, 1.0, None, "a"]),
    (Ordinal([1, 2, 4]), [4, 2.0, 1]),
    (Bool(), [True, False, True]),
]


@pytest.mark.parametrize(("parameter", "values"), MANY, ids=lambda x: str(x)[:30])
def test_points_of_many_rows_are_encoded_as_each_alone(parameter, values):
    space = Space({"p": parameter, "other": Float(0, 1)})
    rows = [{"p": value, "other": 0.5} for value in values]
    alone = np.concatenate([space.encode([{**row}]) for row in rows])
    by_hand = placed(parameter, values)
    assert space.encode(rows).tobytes() == alone.tobytes()
    assert alone[:, : by_hand.shape[1]].tobytes() == by_hand.tobytes()


@pytest.mark.parametrize(("parameter", "values"), MANY, ids=lambda x: str(x)[:30])
@pytest.mark.parametrize("wrong", [2.5, math.nan, 10**400, "b", [1], None, -7], ids=repr)
def test_one_wrong_value_among_many_is_refused_as_it_is_alone(parameter, values, wrong):
    space = Space({"p": parameter})
    try:
        parameter.code_of(wrong)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            space.encode([{"p": value} for value in [*values, wrong]])


def test_rows_with_too_many_or_too_few_names_are_refused_among_many():
    space = Space({"a": Float(0, 1), "b": Float(0, 1)})
    whole = {"a": 0.5, "b": 0.5}
    with pytest.raises(ValueError, match="'b' is missing"):
        space.encode([whole, {"a": 0.5}])
    with pytest.raises(ValueError, match="Unknown parameter 'c'"):
        space.encode([whole, {"a": 0.5, "c": 0.5}])

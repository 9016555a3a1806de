import pytest

from thomax import Bool, Categorical, Float, Int, Ordinal
from thomax.report.axes import Axis, axis_of, axis_of_values


def test_numbers_stand_where_their_scale_puts_them():
    assert axis_of("x", Float(0, 4)).unit(1.0) == 0.25
    assert axis_of("x", Int(1, 16, log=True)).unit(4) == pytest.approx(0.5)
    assert axis_of("x", Int(3, 3)).unit(3) == 0.5


def test_listed_values_stand_in_their_order():
    assert axis_of("x", Categorical(["b", "a", None])).unit("a") == 0.5
    assert axis_of("x", Ordinal(["s", "m", "l"])).coordinate("l") == 2
    assert axis_of("x", Bool()).unit(True) == 1
    assert axis_of("x", Categorical([1, True])).coordinate(True) == 1  # though 1 == True


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        (Axis("x", 0, 1), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (Axis("x", 1, 6), ["1", "2", "3", "4", "5", "6"]),
        (Axis("x", -0.3, 0.31), ["-0.2", "0", "0.2"]),
        (Axis("x", 1e-3, 10, log=True), ["0.001", "0.01", "0.1", "1", "10"]),
        (Axis("x", 16, 90, log=True), ["16", "90"]),
        (Axis("x", 0, 1, options=("a", None)), ["a", "None"]),
        (Axis("x", 7, 7), ["7"]),
        (Axis("x", 0, 5e-324), ["0", "4.941e-324"]),
    ],
)
def test_ticks_are_round_numbers_powers_or_choices(axis, texts):
    assert [text for _, text in axis.ticks()] == texts
    assert all(-1e-9 <= unit <= 1 + 1e-9 for unit, _ in axis.ticks())


def test_many_choices_share_a_few_ticks():
    assert len(Axis("x", 0, 99, options=[*range(100)]).ticks()) <= 12


def test_a_column_is_a_range_or_a_list():
    assert axis_of_values("x", [3, 1.5, 2]) == Axis("x", 1.5, 3)
    assert [*axis_of_values("x", ["b", "a", "b"]).options] == ["a", "b"]
    assert [*axis_of_values("x", [True, False]).options] == [False, True]

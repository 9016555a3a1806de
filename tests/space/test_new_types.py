"""What a new type of parameter needs: its class, and its entry in the list of types."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from thomax import Float, Optimizer, Random, Space
from thomax.cli.points import Points
from thomax.report.axes import axis_of
from thomax.report.slices import grid_of
from thomax.space.encoding import Interval, OneHot
from thomax.space.parameters import PARAMETER_TYPES, Listed, Numeric


@dataclass(frozen=True, repr=False)
class Weekday(Listed):
    is_ordered: ClassVar[bool] = False
    _listed = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

    def _scale(self):
        return OneHot(len(self.options))


@dataclass(frozen=True, repr=False)
class Share(Numeric):
    low: float = 0.0
    high: float = 1.0

    def _scale(self):
        return Interval(self.low, self.high, self.log)

    def code_of(self, value):
        if not self.low <= value <= self.high:
            raise ValueError(f"needs a share from 0 to 1, got {value!r}")
        return float(value)

    def value_of(self, code):
        return float(code)


@pytest.fixture
def space(monkeypatch):
    for kind in (Weekday, Share):
        monkeypatch.setitem(PARAMETER_TYPES, kind.__name__, kind)
    return Space({"day": Weekday(), "rate": Share(), "x": Float(0, 1, when={"day": "Sun"})})


def test_a_new_type_is_searched_and_its_journal_resumed(space, tmp_path):
    path = tmp_path / "search.jsonl"
    asked = []
    for _ in range(2):
        with Optimizer(space, Random(), seed=0, initial=2, journal=path) as optimizer:
            for trial in optimizer.ask(3):
                asked.append(trial.params)
                optimizer.tell(trial, trial.params["rate"])
    assert {type(p["day"]) for p in asked} == {str}
    assert all(0 <= p["rate"] <= 1 for p in asked)
    assert Space.from_description(space.describe()) == space


def test_a_new_type_is_plotted_and_read_from_tables(space):
    day, rate = space.parameters["day"], space.parameters["rate"]
    assert axis_of("day", day).ticks()[6] == (1.0, "Sun")
    assert axis_of("rate", rate).unit(0.25) == 0.25
    assert len(grid_of(day, 3, "Mon")[0]) == 7
    points = Points(space)
    assert points.value("day", "Tue", float) == "Tue"
    assert points.value("rate", "0.5", float) == 0.5


def test_a_mistake_in_a_new_type_is_explained_like_any_other(space):
    with pytest.raises(ValueError, match="Parameter 'rate' needs a share from 0 to 1, got 2"):
        space.validate({"day": "Mon", "rate": 2})
    with pytest.raises(ValueError, match=r"Parameter 'day' needs one of .'Mon'.*got 'Monday'"):
        space.validate({"day": "Monday", "rate": 0.5})

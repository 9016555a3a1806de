"""The short version of every part of the battery."""

import pytest

from battery import PARTS
from battery.page import PAGE, page
from battery.part import run


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_the_battery_holds(name):
    part = run(name, short=True)
    assert part.failures == []
    assert part.passed > 0


def test_the_page_tells_what_was_measured():
    assert PAGE.read_text() == page()

"""The short version of every part of the stress."""

import pytest

from stress import PARTS
from stress.page import PAGE, page
from stress.part import run


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_part_holds(name):
    part = run(name, short=True)
    assert part.failures == []
    assert part.passed > 0


def test_the_page_tells_what_was_measured():
    assert PAGE.read_text() == page()

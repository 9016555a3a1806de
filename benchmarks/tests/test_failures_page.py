"""The figures of the docs about failed evaluations are those that were measured."""

import pytest

from benchmarks import failures


def test_the_page_shows_what_was_recorded():
    assert failures.PAGE.read_text("utf-8") == failures.page_with(failures.recorded())


def test_everything_planned_is_recorded():
    missing = [
        p
        for p in failures.planned(failures.SEEDS)
        if failures.label(*p) not in failures.recorded()
    ]
    assert not missing


@pytest.mark.parametrize("name", failures.TASKS)
@pytest.mark.parametrize("rate", failures.RATES)
def test_random_failures_cost_at_most_a_factor_of_ten(name, rate):
    """Row 1, on the recorded runs of ten seeds."""
    results = failures.recorded()
    told, dropped = (failures.medians(results, name, m, rate)[0] for m in ("told", "dropped"))
    assert told <= 10 * dropped


@pytest.mark.parametrize("name", failures.REGIONS)
def test_a_failing_region_is_mostly_avoided(name):
    """Row 1, on the recorded runs: on average at most a third of the last 30 fail."""
    assert failures.medians(failures.recorded(), name, "told", 0.0)[1] <= failures.LAST / 3

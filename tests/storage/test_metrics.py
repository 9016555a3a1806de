"""Objectives and limits as users state them, and as the header of a journal keeps them."""

import pytest

from thomax.storage.metrics import PLAIN, Limit, Metrics

TWO = {"yield": "maximize", "cost": "minimize"}


@pytest.mark.parametrize(
    ("text", "is_upper", "bound"),
    [("<= 0.02", True, 0.02), (">=3", False, 3.0), ("< -1e3", True, -1000.0), (" > 0 ", False, 0)],
)
def test_a_limit_is_a_comparison_and_a_number(text, is_upper, bound):
    limit = Limit.parse("impurity", text)
    assert (limit.is_upper, limit.bound) == (is_upper, bound)
    assert Limit.parse("impurity", str(limit)) == limit
    assert limit.margin(bound) == 0
    assert (limit.margin(bound + 1) > 0) is not is_upper


@pytest.mark.parametrize(
    "text", ["0.02", "== 2", "<= two", "<= nan", "<= inf", "2 <=", 0.02, None]
)
def test_a_limit_that_is_no_comparison_is_refused(text):
    with pytest.raises(ValueError, match=r"A limit needs .* for 'impurity': write it like"):
        Metrics.of(limits={"impurity": text})


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"objectives": {}}, ValueError, "one to 4 objectives, got 0"),
        ({"objectives": dict.fromkeys("abcde", "maximize")}, ValueError, "to 4 objectives, got 5"),
        ({"objectives": {"cost": "small"}}, ValueError, "for the objective 'cost', got 'small'"),
        ({"objectives": ["yield"]}, TypeError, "needs objectives by their names"),
        ({"objectives": {1: "maximize"}}, TypeError, "needs objectives by their names"),
        ({"objectives": {"note": "maximize"}}, ValueError, "another name than 'note'"),
        ({"limits": "cost <= 5"}, TypeError, "needs limits by their names"),
        ({"limits": {"error": "<= 5"}}, ValueError, "another name than 'error'"),
        ({"objectives": TWO, "direction": "minimize"}, ValueError, "objectives or a direction"),
        ({"direction": "up"}, ValueError, 'direction "maximize" or "minimize", got \'up\''),
    ],
)
def test_what_states_no_metrics_is_refused(options, error, problem):
    with pytest.raises(error, match=problem):
        Metrics.of(**options)


@pytest.mark.parametrize(
    "metrics",
    [
        PLAIN, Metrics.of(direction="minimize"), Metrics.of(TWO), Metrics.of(TWO, {"ph": ">= 6"}),
        Metrics.of({"value": "maximize"}), Metrics.of(None, {"cost": "<= 5"}, "minimize"),
    ],
    ids=str,
)  # fmt: skip
def test_a_header_gives_the_metrics_back(metrics):
    assert Metrics.of_header({"seed": 0, "space": {}, **metrics.options()}) == metrics


def test_a_metric_may_be_an_objective_and_limited():
    metrics = Metrics.of(TWO, {"cost": "<= 5", "ph": ">= 6"})
    assert metrics.names == ["yield", "cost", "ph"]
    assert [metrics.better(name) for name in metrics.names] == ["maximize", "minimize", "maximize"]
    assert str(metrics) == "maximize yield, minimize cost, cost <= 5.0, ph >= 6.0"


def test_only_one_objective_without_name_and_limit_is_plain():
    assert PLAIN.is_plain
    assert not Metrics.of({"value": "maximize"}).is_plain
    assert not Metrics.of(None, {"cost": "<= 5"}).is_plain

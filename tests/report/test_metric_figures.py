"""Several metrics in a report, against the same numbers computed another way."""

import itertools

import numpy as np
import plotly.graph_objects as go
import pytest
from reading import SMALL, Page, page_of

from thomax import Float, Optimizer, Trial
from thomax.report import metric_figures
from thomax.report.content import best_so_far, gather
from thomax.report.figures import convergence, parallel, parallel_views
from thomax.report.metrics import (
    kept_counts,
    metric_snapshot,
    preferred_trials,
    standard_error,
    steps_of,
    volume,
)

NAME = "cost</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def search():
    """Two objectives and a limit; replicates, a known error, a missing value, a failure."""
    found = Optimizer(
        {"x": Float(0, 1)}, SMALL, initial=20, seed=0,
        objectives={"yield": "maximize", NAME: "minimize"}, limits={"impurity": "<= 0.02"},
    )  # fmt: skip
    for trial in found.ask(8):
        x = trial.params["x"]
        values = {"yield": [x - 0.1, x + 0.1], NAME: x**2 + 0.3 * (x < 0.3), "impurity": 0.03 * x}
        found.tell(trial, values, noise_std={NAME: 0.05})
    found.tell({"x": 0.2}, {NAME: 0.3})
    found.tell({"x": 0.3}, error="broke")
    return found


@pytest.fixture(scope="module")
def content(search):
    return gather(search.snapshot())


@pytest.fixture(scope="module")
def page(search, tmp_path_factory):
    return page_of(search, tmp_path_factory.mktemp("page"))


def traces(figure):
    return {trace.get("name"): trace for trace in figure["data"]}


# Numbers


def test_the_volume_is_what_random_points_find():
    rng = np.random.default_rng(0)
    for objectives in (2, 3):
        front = rng.uniform(0, 1, (7, objectives))
        points = rng.uniform(0, 1, (40_000, objectives))
        share = (points[:, None] <= front).all(-1).any(1).mean()
        assert volume(front) == pytest.approx(share, abs=4 * np.sqrt(0.25 / 40_000))


def test_the_front_grows_and_ends_as_that_of_the_optimiser(search, content):
    steps = steps_of(content.snapshot)
    assert steps[-1].size == len(search.front)
    for one, other in itertools.pairwise(steps):
        assert one.volume <= other.volume + 1e-12
    assert [s.number for s in steps] == [
        t.number for t in search.trials if t.values and 0 <= (t.values["impurity"] or 9) <= 0.02
    ]


def test_four_objectives_are_counted_not_measured():
    names = "abcd"
    found = Optimizer({"x": Float(0, 1)}, SMALL, objectives=dict.fromkeys(names, "maximize"))
    for x in (0.1, 0.5, 0.9):
        found.tell({"x": x}, {"a": x, "b": -x, "c": x**2, "d": -(x**2)})
    assert [step.volume for step in steps_of(found.snapshot())] == [None] * 3
    assert [step.size for step in steps_of(found.snapshot())] == [1, 2, 3]


def test_the_part_of_a_metric_is_a_search_for_it_alone(search):
    part = metric_snapshot(search.snapshot(), NAME)
    assert part.metrics.is_plain
    assert part.direction == "minimize"
    assert [t.number for t in part.complete] == [*range(9)]
    assert part.complete[3].value == search.trials[3].values[NAME]
    assert part.complete[3].noise_std == {"value": 0.05}
    np.testing.assert_array_equal(part.data().y, search.snapshot().data(NAME).y)
    limited = metric_snapshot(search.snapshot(), "impurity")
    assert [t.number for t in limited.complete] == [*range(8)]


def test_slices_go_through_the_trial_that_is_recommended(search, content):
    chosen = search.recommend({"yield": 1, NAME: 1})
    assert preferred_trials(search.snapshot())[0].number == chosen.number
    assert content.recommended == chosen
    assert {cut.centre.number for part in content.parts.values() for cut in part.slices} == {
        chosen.number
    }


def test_the_error_of_a_mean_is_that_of_one_measurement_over_the_root_of_their_number():
    values = (0.71, 0.74, 0.69)
    trial = Trial(0, {}, 0.7, "complete", replicates={"value": values})
    expected = np.std(values, ddof=1) / np.sqrt(3)
    assert standard_error(trial) == pytest.approx(expected)
    known = Trial(0, {}, 0.7, "complete", replicates={"value": values}, noise_std={"value": 0.3})
    assert standard_error(known) == pytest.approx(0.3 / np.sqrt(3))
    assert standard_error(Trial(0, {}, 0.7, "complete", noise_std={"value": 0.3})) == 0.3
    assert standard_error(Trial(0, {}, 0.7, "complete")) is None


# Figures


def test_plotly_knows_every_property(content):
    made = [
        metric_figures.front(content),
        metric_figures.progress(content, steps_of(content.snapshot)),
        metric_figures.limit_figure(content, "impurity"),
        parallel(content),
    ]
    for figure in made:  # an unknown property raises
        assert len(go.Figure(figure).data) == len(figure["data"]) > 0


def test_the_front_is_joined_and_trials_outside_a_limit_are_marked(search, content):
    shown = traces(metric_figures.front(content))
    front = {t.number: t for t in search.front}
    assert sorted(shown["front"]["x"]) == pytest.approx(
        sorted(t.values["yield"] for t in front.values()), rel=1e-5
    )
    assert shown["joined"]["x"] == sorted(shown["front"]["x"])
    outside = [t for t in search.trials[:8] if t.values["impurity"] > 0.02]
    assert outside
    assert shown["outside a limit"]["y"] == pytest.approx(
        [t.values[NAME] for t in outside], rel=1e-5
    )
    error = np.std([-0.1, 0.1], ddof=1) / np.sqrt(2)
    assert shown["front"]["error_x"]["array"][0] == pytest.approx(error, rel=1e-5)
    assert shown["front"]["error_y"]["array"][0] == pytest.approx(0.05, rel=1e-5)


def test_more_objectives_are_lines_with_good_values_on_top():
    aims = {"a": "maximize", "b": "minimize", "c": "maximize"}
    found = Optimizer({"x": Float(0, 1)}, SMALL, objectives=aims)
    for x in (0.1, 0.5, 0.9):
        found.tell({"x": x}, {"a": x, "b": x, "c": -x})
    figure = metric_figures.front(gather(found.snapshot()))
    assert [line["y"] for line in figure["data"]] == [[0, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0]]


def test_a_limit_is_a_line_and_what_breaks_it_lies_in_the_shade(content):
    figure = metric_figures.limit_figure(content, "impurity")
    kept, broken = figure["data"]
    assert max(kept["y"]) <= 0.02 < min(broken["y"])
    shade, rule = figure["layout"]["shapes"]
    assert (shade["y0"], rule["y0"]) == (0.02, 0.02)
    assert kept_counts(content.snapshot) == {"impurity": (len(kept["y"]), 8)}


def test_lines_of_the_front_are_red_and_can_be_seen_alone(content):
    figure = parallel(content)
    reds = [line["line"]["color"] == "rgb(225,29,72)" for line in figure["data"][:-1]]
    assert sum(reds) == len(content.snapshot.front)
    assert parallel_views(content) == {}  # few trials need no buttons


def test_convergence_with_limits_counts_what_keeps_them():
    found = Optimizer({"x": Float(0, 1)}, SMALL, limits={"ms": "<= 5"}, seed=0)
    for x in (0.1, 0.9, 0.4, 0.5):
        found.tell({"x": x}, {"value": x, "ms": 9 * x})
    found.tell({"x": 0.3}, {"ms": 1})
    content = gather(found.snapshot())
    assert best_so_far(content.snapshot) == [(0, 0.1), (2, 0.4), (3, 0.5)]
    shown = traces(convergence(content))
    assert (shown["observed"]["x"], shown["outside a limit"]["x"]) == ([0, 2, 3], [1])
    assert content.best.number == 3


# The page


def test_a_page_has_the_front_limits_and_models_of_each_metric(search, page):
    assert [i for i in page.ids if "figure" not in i] == [
        "front", "limits", "convergence", "parallel", "slices", "importance", "failures",
        "trials", "draws",
    ]  # fmt: skip
    assert {*page.figures} == {i for i in page.ids if i.startswith("figure-")}
    assert {f"figure-slice-0{of}" for of in ("", "-of-1", "-of-2")} <= {*page.figures}
    for words in (
        "maximise yield",
        "impurity <= 0.02 5 of 8",
        "Recommended if all objectives count alike",
        f"{len(search.front)} trials on the front",
    ):
        assert words in page.text
    assert "<script>alert" not in page.source
    assert len(page.scripts) == 2


def test_a_page_says_so_where_nothing_keeps_the_limits(tmp_path):
    found = Optimizer({"x": Float(0, 1)}, SMALL, limits={"ms": "<= -5"}, seed=0)
    assert "No trial has a value yet" in page_of(found, tmp_path).text
    for x in (0.1, 0.9, 0.4):
        found.tell({"x": x}, {"value": x, "ms": 9 * x})
    text = page_of(found, tmp_path).text
    assert "No trial keeps all limits yet. The closest is trial 0: value 0.1, ms 0.9." in text
    two = Optimizer({"x": Float(0, 1)}, SMALL, objectives={"a": "maximize", "b": "minimize"})
    two.tell({"x": 0.5}, {"a": 1})
    assert "No trial has a value of every objective yet" in page_of(two, tmp_path).text
    assert isinstance(page_of(two, tmp_path), Page)


def test_a_limit_that_is_known_before_the_objective_breaks_no_page(tmp_path):
    found = Optimizer({"x": Float(0, 1)}, SMALL, limits={"ms": "<= 5"}, seed=0)
    for x in (0.1, 0.2, 0.3, 0.4):
        found.tell({"x": x}, {"value": x if x < 0.25 else None, "ms": 9 * x})
    page = page_of(found, tmp_path)
    assert "The model has a say from 3 values on" in page.text
    assert "Best observed 0.2" in page.text

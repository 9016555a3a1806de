"""Figures show the numbers they are about, and plotly accepts them."""

import numpy as np
import plotly.graph_objects as go
import pytest
from reading import SMALL, tell_all

from thomax import Float, Optimizer, Random
from thomax.report import figures, model_figures
from thomax.report.content import gather
from thomax.report.text import hover
from thomax.report.writing import snapshot_of


def traces(figure):
    return {trace.get("name"): trace for trace in figure["data"]}


def test_plotly_knows_every_property(mixed_content):
    made = [
        figures.convergence(mixed_content),
        figures.parallel(mixed_content),
        model_figures.importance_bars(mixed_content.importance),
        *(model_figures.slice_figure(mixed_content, c, [0.0, 1.0]) for c in mixed_content.slices),
        *(model_figures.pair_figure(mixed_content, c) for c in mixed_content.pairs),
    ]
    for figure in made:  # an unknown property raises
        assert len(go.Figure(figure).data) == len(figure["data"]) > 0


def test_convergence_shows_values_best_belief_and_failures(mixed, mixed_content):
    shown = traces(figures.convergence(mixed_content))
    complete = [t for t in mixed.trials if t.state == "complete"]
    assert shown["observed"]["x"] == [t.number for t in complete]
    np.testing.assert_allclose(shown["observed"]["y"], [t.value for t in complete], rtol=1e-5)
    assert shown["observed"]["hovertext"][3] == hover(complete[3])
    assert shown["best so far"]["y"][-1] == pytest.approx(mixed.best.value, rel=1e-5)
    assert shown["failed"]["x"] == [12]
    mean, std = mixed_content.beliefs[5]
    assert shown["model ± 2 sd"]["y"][5] == pytest.approx(mean, rel=1e-5)
    assert shown["model ± 2 sd"]["error_y"]["array"][5] == pytest.approx(2 * std, rel=1e-5)


def test_every_second_batch_is_shaded(mixed_content):
    shades = figures.convergence(mixed_content)["layout"]["shapes"]
    assert [(s["x0"], s["x1"]) for s in shades] == [(-0.5, 3.5), (7.5, 11.5)]


def test_single_trials_are_not_shaded():
    assert figures.batch_shades([[0], [1], [2]]) == []


def test_so_many_batches_that_they_would_be_stripes_are_not_shaded():
    """Row 22: up to 200 batches were striped."""
    batches = [[2 * i, 2 * i + 1] for i in range(41)]
    assert len(figures.batch_shades(batches[:40])) == 20
    assert figures.batch_shades(batches) == []


@pytest.mark.parametrize(("direction", "height"), [("maximize", 0.03), ("minimize", 0.97)])
def test_failures_are_crosses_at_the_bad_end(direction, height):
    """Row 22: they stood among the best values of a minimisation."""
    optimizer = Optimizer({"x": Float(0, 1)}, Random(), direction=direction, seed=0)
    optimizer.tell({"x": 0.5}, 1.0)
    optimizer.tell({"x": 0.6}, error="no luck")
    figure = figures.convergence(gather(snapshot_of(optimizer)))
    assert traces(figure)["failed"]["y"] == [height]
    assert figure["layout"]["yaxis2"]["range"] == [0, 1]


def test_views_offer_a_logarithm_only_where_there_is_one(mixed_content):
    assert [*figures.convergence_views(mixed_content)] == ["all values", "better half"]
    wide = Optimizer({"x": Float(0, 4)}, SMALL, seed=0, initial=9, direction="minimize")
    tell_all(wide, 5, lambda p: 10 ** p["x"])
    views = figures.convergence_views(gather(snapshot_of(wide)))
    assert views["logarithmic"]["yaxis.type"] == "log"
    low, high = views["better half"]["yaxis.range"]
    values = sorted(t.value for t in wide.trials)
    assert low < values[0] < values[2] < high < values[3]


def test_a_line_crosses_each_parameter_at_its_value_and_inactive_ones_below(mixed_content):
    figure = figures.parallel(mixed_content)
    names = [a["text"] for a in figure["layout"]["annotations"] if a["y"] > 1.05]
    assert names == ["rate", "kind", "momentum", "depth", "early"]
    *lines, _ = figure["data"]
    best, trial = lines[-1], mixed_content.best
    assert best["line"]["color"] == "rgb(225,29,72)"
    assert best["y"][3] == pytest.approx((trial.params["depth"] - 1) / 5, abs=1e-5)
    assert best["y"][0] == pytest.approx(np.log10(trial.params["rate"] / 0.01) / 4, abs=1e-5)
    assert best["y"][2] == pytest.approx(-0.14)
    assert "–" in [a["text"] for a in figure["layout"]["annotations"] if a["x"] == 2]
    assert "–" not in [a["text"] for a in figure["layout"]["annotations"] if a["x"] == 3]


def test_values_as_far_apart_as_floats_reach_have_colours():
    search = Optimizer({"x": Float(0, 1)}, seed=0)
    for x, value in zip(np.linspace(0, 1, 4), [-1.7e308, -1e308, 1e308, 1.7e308], strict=True):
        search.tell({"x": x}, value)
    with np.errstate(over="ignore", invalid="ignore"):
        *lines, _ = figures.parallel(gather(snapshot_of(search)))["data"]
    colours = [line["line"]["color"] for line in lines]
    assert len({*colours}) > 2
    assert colours[-1] == "rgb(225,29,72)"


def test_the_best_quarter_keeps_the_lines_on_top(mixed_content):
    views = figures.parallel_views(mixed_content)
    assert views["best quarter"]["visible"] == [False] * 9 + [True] * 3 + [True]
    assert views["all"]["visible"] == [True] * 13


def test_a_slice_shows_the_band_and_all_values(mixed_content):
    cut = next(c for c in mixed_content.slices if c.name == "rate")
    figure = model_figures.slice_figure(mixed_content, cut, [0.0, 1.0])
    low, high, *samples, mean, observed = figure["data"]
    np.testing.assert_allclose(low["y"], cut.low, rtol=1e-5)
    np.testing.assert_allclose(high["y"], cut.high, rtol=1e-5)
    np.testing.assert_allclose(mean["y"], cut.mean, rtol=1e-5)
    assert high["fill"] == "tonexty"
    assert len(samples) == 3
    assert observed["x"] == [t.params["rate"] for t in mixed_content.snapshot.complete]
    assert figure["layout"]["xaxis"]["type"] == "log"


def test_a_pair_puts_the_first_parameter_on_the_horizontal_axis(mixed_content):
    pair = mixed_content.pairs[0]
    figure = model_figures.pair_figure(mixed_content, pair)
    heat, dots = figure["data"]
    assert (len(heat["z"]), len(heat["z"][0])) == (len(heat["y"]), len(heat["x"]))
    np.testing.assert_allclose(heat["z"], pair.mean, rtol=1e-5)
    assert figure["layout"]["xaxis"]["title"]["text"] == pair.names[0]
    assert heat["reversescale"]  # when minimising, bright is low
    axis = mixed_content.axes[pair.names[0]]
    having = [t for t in mixed_content.snapshot.complete if {*pair.names} <= {*t.params}]
    assert dots["x"] == [axis.coordinate(t.params[pair.names[0]]) for t in having]


def test_the_shared_range_holds_bands_and_most_values(mixed_content):
    low, high = model_figures.value_range(mixed_content)
    assert low < min(c.low.min() for c in mixed_content.slices)
    assert high > max(c.high.max() for c in mixed_content.slices)
    assert low < mixed_content.best.value


def test_importance_is_drawn_in_percent_the_largest_on_top(mixed_content):
    figure = model_figures.importance_bars(mixed_content.importance)
    total = traces(figure)["with interactions"]["x"]
    assert total == sorted(total)
    assert total[-1] == pytest.approx(100 * mixed_content.importance.total.max(), rel=1e-5)
    assert figure["layout"]["yaxis"]["ticktext"][-1] == mixed_content.importance.ranking[0]

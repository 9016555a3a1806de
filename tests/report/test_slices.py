"""Cuts show what the posterior draws say there, computed here once more by hand."""

import numpy as np
import pytest

from thomax import Categorical, Float, Int, Ordinal
from thomax.report.belief import belief_of
from thomax.report.slices import cuts_of, grid_of
from thomax.report.writing import snapshot_of


@pytest.fixture(scope="module")
def belief(mixed):
    return belief_of(snapshot_of(mixed))


def at(mixed, belief, centre, **changes):
    """Evaluate the draws at a trial's params with some of them changed."""
    return belief.values(mixed.space.encode([{**centre.params, **changes}]))[:, 0]


def cut_along(content, *names):
    cuts = [(c.name,) for c in content.slices], [c.names for c in content.pairs]
    everything = dict(zip([*cuts[0], *cuts[1]], [*content.slices, *content.pairs], strict=True))
    return everything.get(names)


def test_a_slice_moves_one_parameter_of_the_recommended_trial(mixed, mixed_content, belief):
    cut = cut_along(mixed_content, "depth")
    assert cut.centre == mixed_content.recommended
    assert cut.values == [1, 2, 3, 4, 5, 6]
    for i, depth in enumerate(cut.values):
        draws = at(mixed, belief, cut.centre, depth=depth)
        assert cut.mean[i] == pytest.approx(draws.mean(), rel=1e-4)
        assert cut.low[i] == pytest.approx(np.quantile(draws, 0.05), rel=1e-4)
        assert cut.high[i] == pytest.approx(np.quantile(draws, 0.95), rel=1e-4)
        np.testing.assert_allclose(cut.samples[:, i], draws[:3], rtol=1e-4)


def test_every_parameter_that_was_ever_active_has_a_slice(mixed_content):
    assert {cut.name for cut in mixed_content.slices} == {
        "rate", "kind", "momentum", "depth", "early",
    }  # fmt: skip


def test_a_slice_of_an_inactive_parameter_goes_through_a_trial_that_has_it(mixed_content):
    assert "momentum" not in mixed_content.recommended.params  # sgd costs 2
    cut = cut_along(mixed_content, "momentum")
    having = [t for t in mixed_content.snapshot.complete if "momentum" in t.params]
    assert cut.centre == min(having, key=lambda t: mixed_content.beliefs[t.number][0])


def test_a_pair_has_a_row_for_each_value_of_the_second(mixed, mixed_content, belief):
    pair = mixed_content.pairs[0]
    first, second = pair.names
    assert pair.mean.shape == (len(pair.values[1]), len(pair.values[0]))
    changes = {first: pair.values[0][0], second: pair.values[1][-1]}
    assert pair.mean[-1, 0] == pytest.approx(
        at(mixed, belief, pair.centre, **changes).mean(), rel=1e-4
    )


def test_a_parameter_and_its_switch_span_no_plane(mixed, mixed_content, belief):
    ranking, trials = ["momentum", "kind", "depth"], mixed_content.snapshot.ranked
    slices, pairs = cuts_of(mixed_content.snapshot, mixed.space, belief, ranking, trials)
    assert [cut.name for cut in slices] == ranking
    assert [cut.names for cut in pairs] == [("momentum", "depth"), ("kind", "depth")]


def test_grids_are_even_on_the_parameters_scale():
    values, places = grid_of(Float(0.01, 100, log=True), 5, 1.0)
    np.testing.assert_allclose(values, [0.01, 0.1, 1, 10, 100])
    np.testing.assert_allclose(places[:, 0], [-1, -0.5, 0, 0.5, 1])
    assert grid_of(Int(1, 1001), 3, 7)[0] == [1, 501, 1001]


@pytest.mark.parametrize("kind", [Categorical, Ordinal])
def test_a_slice_along_many_options_takes_them_from_everywhere_and_goes_through_the_centre(kind):
    values = grid_of(kind([*range(100)]), 41, 95)[0]
    assert values == sorted(values)
    assert len(values) == 31
    assert {0, 95, 99} < {*values}
    assert np.diff(values).max() <= 4
    assert grid_of(kind([*range(5)]), 41, 2)[0] == [*range(5)]

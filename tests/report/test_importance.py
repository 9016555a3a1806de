"""Sobol indices agree with functions whose indices are known."""

import numpy as np
import pytest

from thomax import Bool, Categorical, Float, Int, Space
from thomax.report.importance import effects_of, importance_of, levels_of

FLOATS = Space({name: Float(-1, 1) for name in "abc"})


def of(function, space, draws=1):
    """Return the indices of a function of encoded points, the same for all draws."""
    return importance_of(
        lambda x: np.tile(function(x), (draws, 1)), space, np.random.default_rng(0)
    )


def test_an_additive_function_is_shared_by_the_squares_of_its_weights():
    weights = np.array([3.0, 2.0, 1.0])
    found = of(lambda x: x @ weights, FLOATS)
    shares = weights**2 / (weights**2).sum()
    np.testing.assert_allclose(found.first, shares, atol=0.03)
    np.testing.assert_allclose(found.total, shares, atol=0.03)
    assert found.ranking == ["a", "b", "c"]


def test_a_pure_interaction_explains_nothing_alone():
    found = of(lambda x: x[:, 0] * x[:, 2], FLOATS)
    np.testing.assert_allclose(found.first, [0, 0, 0], atol=0.01)
    np.testing.assert_allclose(found.total, [1, 0, 1], atol=0.05)


def test_the_part_due_to_chance_is_taken_off():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 20, 6))  # no effect at all, in 400 repetitions
    kept = noise.mean(-2).var(-1).mean()  # what a naive estimate reports
    first, total = effects_of(noise)
    assert kept > 0.035
    assert first.mean() < kept / 3  # not zero: negative estimates are cut off
    np.testing.assert_allclose(total.mean(), 5 / 6, rtol=0.02)


def test_categories_and_switches_count_by_their_choices():
    space = Space({"kind": Categorical(["a", "b", "c"]), "on": Bool(), "x": Float(0, 1)})
    found = of(lambda x: 3.0 * x[:, 1] + x[:, 3], space)  # variances 9 (1/3)(2/3) = 2, and 1
    np.testing.assert_allclose(found.first, [2 / 3, 1 / 3, 0], atol=0.05)


def test_a_parameter_that_is_switched_off_explains_nothing():
    space = Space({"on": Bool(), "x": Float(-1, 1, when={"on": True})})
    found = of(lambda x: x[:, 1], space)  # x where on, and 0 elsewhere
    # Var_x f averaged over on: (1/3) / 2; all of the variance.
    np.testing.assert_allclose(found.total[1], 1, atol=0.05)
    np.testing.assert_allclose(found.first[1], 0.5, atol=0.05)
    assert found.first[0] < 0.02


def test_the_spread_comes_from_the_draws():
    def draws(x):
        return np.stack([x[:, 0], x[:, 0] + x[:, 1], x[:, 0] - x[:, 1]])

    found = importance_of(draws, FLOATS, np.random.default_rng(0))
    np.testing.assert_allclose(found.first, [1, 0, 0], atol=0.03)  # the mean is x0 alone
    assert found.low[0] == pytest.approx(1, abs=0.05)
    assert found.high[1] == pytest.approx(1, abs=0.05)
    assert found.high[2] < 0.01


def test_a_constant_has_no_important_parameter():
    found = of(lambda x: np.zeros(len(x)), FLOATS)
    assert (found.total == 0).all()


@pytest.mark.parametrize("parameter", [Float(1, 9, log=True), Int(1, 9**6, log=True), Int(0, 99)])
def test_levels_are_the_middles_of_equal_parts_of_the_scale(parameter):
    middles = [-7 / 8, -5 / 8, -3 / 8, -1 / 8, 1 / 8, 3 / 8, 5 / 8, 7 / 8]
    np.testing.assert_allclose(levels_of(parameter)[:, 0], middles, atol=0.02)


def test_few_levels_are_all_taken():
    np.testing.assert_allclose(levels_of(Int(0, 2))[:, 0], [-1, 0, 1])
    assert len(levels_of(Categorical(list("abcdefghijk")))) == 11


def test_of_many_choices_the_last_ones_count_too():
    space = Space({"a": Float(-1, 1), "c": Categorical([*range(40)])})
    good_last = of(lambda x: x[:, 0] + 5 * x[:, -8:].sum(axis=1), space)
    good_first = of(lambda x: x[:, 0] + 5 * x[:, 1:9].sum(axis=1), space)
    assert good_last.ranking == good_first.ranking == ["c", "a"]
    np.testing.assert_allclose(good_last.first, good_first.first, atol=0.1)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_the_size_of_values_does_not_matter(size):
    weights = np.array([3.0, 2.0, 1.0])
    expected = of(lambda x: x @ weights, FLOATS)
    np.testing.assert_allclose(of(lambda x: size * (x @ weights), FLOATS).total, expected.total)

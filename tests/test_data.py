import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thomax.data import Data, pad, padded_size, standardise

values = arrays(np.int64, st.integers(1, 30), elements=st.integers(-(10**6), 10**6)).map(
    lambda y: y / 1000
)


@given(values)
def test_standardised_targets_keep_the_order(y):
    targets = standardise(y).targets
    order = np.argsort(y, kind="stable")
    assert (np.diff(targets[order]) >= -1e-9).all()


@given(values, st.floats(0.01, 100), st.floats(-100, 100))
def test_scale_and_shift_of_the_values_do_not_matter(y, scale, shift):
    targets = standardise(y).targets
    np.testing.assert_allclose(standardise(scale * y + shift).targets, targets, atol=1e-4)


def test_ordinary_targets_are_standardised_linearly_and_the_way_back_is_kept():
    y = np.random.default_rng(0).normal(5.0, 3.0, 200)
    found = standardise(y)
    np.testing.assert_allclose(found.targets, (y - y.mean()) / y.std(), atol=1e-12)
    np.testing.assert_allclose(found.centre + found.scale * found.targets, y)


@pytest.mark.parametrize("n", [5, 20, 100])
def test_one_wild_value_does_not_flatten_the_rest(n):
    y = np.append(np.random.default_rng(1).normal(size=n), 1e12)
    targets = standardise(y).targets
    assert targets[:-1].std() > 0.15
    assert targets[-1] == targets.max() < 12


def test_failures_count_as_the_worst_value_and_infinities_as_the_extremes():
    targets = standardise(np.array([0.0, 1.0, 2.0, np.nan, np.inf, -np.inf])).targets
    assert targets[3] == targets[0] == targets[5]
    assert targets[4] == targets[2]


@pytest.mark.parametrize(
    "y", [[], [1.0], [2.0, 2.0], [np.nan], [np.nan, np.inf, -np.inf], [1e308, -1e308], [5e-324, 0]]
)
def test_targets_are_always_finite(y):
    found = standardise(np.array(y))
    assert np.isfinite(found.targets).all()
    assert np.isfinite([found.centre, found.scale]).all()
    assert found.scale > 0


def test_sizes_are_few_and_sufficient():
    sizes = {padded_size(n) for n in range(501)}
    assert sizes == {16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512}
    assert all(n <= padded_size(n) <= max(16, 1.5 * n) for n in range(1, 501))
    assert pad(np.ones((2, 3)), 5).sum() == 6
    assert pad(np.ones((2, 3)), 5, axis=-1).shape == (2, 5)


@pytest.mark.parametrize(
    ("x", "y"), [(np.zeros(3), np.zeros(3)), (np.zeros((2, 1)), [1.0]), ([[np.nan]], [0.0])]
)
def test_data_that_do_not_fit_are_refused(x, y):
    with pytest.raises(ValueError, match="Data needs"):
        Data(x, y)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from thomax.model.data import Data
from thomax.model.targets import invertible, standardise, unwarped, warp

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


def test_infinities_count_as_the_extremes():
    targets = standardise(np.array([0.0, 1.0, 2.0, np.inf, -np.inf])).targets
    assert targets[4] == targets[0]
    assert targets[3] == targets[2]


@pytest.mark.parametrize(
    "y",
    [
        [], [1.0], [2.0, 2.0], [np.inf], [np.inf, -np.inf], [1e308, -1e308], [5e-324, 0],
        [-1.797e308], [5e-324], [0.0], [np.inf, 1e308],
        [-7e-14, 0.0, 1.797e308], [2e-13, 1e-300, 5e-324, 1.0, -1.797e308],
    ],
)  # fmt: skip
def test_targets_are_always_finite(y):
    found = standardise(np.array(y))
    assert np.isfinite(found.targets).all()
    assert np.isfinite([found.centre, found.scale]).all()
    assert found.scale > 0


def tail(n=60, seed=0):
    return -(np.random.default_rng(seed).exponential(size=n) ** 3)


def test_warping_is_the_transform_of_yeo_and_johnson():
    standard = standardise(tail())
    warped = warp(standard)
    power, shift, spread = warped.warping
    reference = stats.yeojohnson(standard.targets, power)
    np.testing.assert_allclose(shift + spread * warped.targets, reference, atol=1e-12)
    assert warped.targets.mean() == pytest.approx(0, abs=1e-12)
    assert warped.targets.std() == pytest.approx(1)


def test_the_power_is_the_likeliest_that_bends_bad_values_only():
    z = standardise(-np.random.default_rng(1).gamma(1.5, size=200))
    free = stats.yeojohnson_normmax(z.targets)
    assert 1 < free < 2
    assert warp(z).warping[0] == pytest.approx(free, abs=0.05)
    assert warp(standardise(-tail())).warping is None  # a long tail of good values stays


def test_a_scale_that_is_almost_normal_is_left_alone():
    z = standardise(-np.random.default_rng(1).gamma(9.0, size=200))
    gain = stats.yeojohnson_llf(stats.yeojohnson_normmax(z.targets), z.targets)
    assert 0 < gain - stats.yeojohnson_llf(1.0, z.targets) < 0.1 * 200
    assert warp(z) is z


def test_warping_keeps_the_order_and_the_way_back():
    y = tail()
    warped = Data(np.zeros((len(y), 1)), y).targets(True, warped=True)
    np.testing.assert_array_equal(np.argsort(warped.targets), np.argsort(y))
    good = np.argsort(y)[-40:]  # far from where outliers are pulled in
    np.testing.assert_allclose(warped.values(warped.targets)[good], y[good], atol=1e-6)
    back = unwarped(warped.targets, warped.warping)
    np.testing.assert_allclose(back, standardise(y).targets, atol=1e-9)
    rows = unwarped(np.stack([warped.targets] * 2), np.tile(warped.warping, (2, 1)))
    np.testing.assert_allclose(rows, [back, back])


def test_warping_brings_out_the_differences_among_good_values():
    y = tail()
    best = np.argsort(y)[-20:]
    plain, warped = standardise(y).targets[best], warp(standardise(y)).targets[best]
    assert np.ptp(warped) > 2 * np.ptp(plain)


@pytest.mark.parametrize("y", [[1.0, 2.0, 3.0], [5.0] * 8])
def test_few_or_equal_values_are_not_warped(y):
    assert warp(standardise(np.array(y))).warping is None


@given(values)
def test_invertible_targets_come_back_as_they_were(y):
    found = invertible(y)
    np.testing.assert_allclose(found.values(found.targets), y, rtol=1e-7, atol=1e-7 * np.ptp(y))


def test_invertible_targets_keep_what_a_search_pulls_in():
    y = np.array([*np.random.default_rng(0).normal(size=40), -300.0])
    found = invertible(y)
    assert found.values(found.targets)[-1] == pytest.approx(-300)
    pulled_in = standardise(y)
    assert pulled_in.values(pulled_in.targets)[-1] > -20


@pytest.mark.parametrize("y", [[], [2.0], [2.0, 2.0], [-1.7e308, 0.0, 1.0, 2.0, 3.0, 1.7e308]])
def test_invertible_targets_are_always_finite(y):
    found = invertible(np.array(y))
    assert np.isfinite(found.targets).all()
    assert np.isfinite(found.values(found.targets)).all()

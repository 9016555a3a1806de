import numpy as np
import pytest

from thomax.model.data import Data
from thomax.model.targets import invertible, raw, standardise, warp


def test_failures_are_no_values():
    data = Data(np.arange(3.0)[:, None], [1.0, np.nan, 2.0], pending=[[5.0]])
    assert data.failed.tolist() == [False, True, False]
    successes = data.successes()
    assert successes.y.tolist() == [1.0, 2.0]
    assert successes.x.tolist() == [[0.0], [2.0]]
    assert successes.pending.tolist() == [[5.0]]


@pytest.mark.parametrize(
    ("x", "y"), [(np.zeros(3), np.zeros(3)), (np.zeros((2, 1)), [1.0]), ([[np.nan]], [0.0])]
)
def test_data_that_do_not_fit_are_refused(x, y):
    with pytest.raises(ValueError, match="Data needs"):
        Data(x, y)


FULL = Data(
    [[0.3], [0.1], [0.2], [0.1]],
    [3.0, np.nan, 2.0, 1.0],
    pending=[[5.0]],
    repeats=[1, 2, 3, 4],
    noise_std=[np.nan, 0.1, 0.2, np.nan],
    scatter=[0.0, np.nan, 0.3, 0.4],
)


@pytest.mark.parametrize(
    ("made", "repeats"),
    [
        (FULL.successes(), [1, 3, 4]),
        (FULL.successes().in_canonical_order(), [4, 3, 1]),
        (FULL.successes().best_and_spread(2), [1, 3]),
        (FULL.take(slice(2)), [1, 2]),
    ],
)
def test_what_is_known_of_the_noise_goes_with_its_value(made, repeats):
    assert made.repeats.tolist() == repeats
    rows = [FULL.repeats.tolist().index(k) for k in repeats]
    for name in ("x", "y", "noise_std", "scatter"):
        np.testing.assert_array_equal(getattr(made, name), getattr(FULL, name)[rows])
    assert made.pending.tolist() == [[5.0]]


def test_single_values_of_unknown_noise_are_plain():
    data = Data(FULL.x, FULL.y)
    assert data.is_plain
    assert data.repeats.tolist() == [1, 1, 1, 1]
    assert np.isnan(data.noise_std).all()
    assert data.noise(raw(data.y)) is None
    assert not FULL.is_plain
    assert FULL.plain().is_plain


def test_equal_rows_are_ordered_by_what_is_known_of_their_noise():
    def ordered(stds):
        data = Data(np.zeros((3, 1)), np.ones(3), noise_std=stds)
        return data.in_canonical_order().noise_std

    np.testing.assert_array_equal(ordered([0.2, np.nan, 0.1]), ordered([np.nan, 0.1, 0.2]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeats": [1, 0.5]}, "repeats to be finite numbers >= 1, got 0.5 for value 1"),
        ({"repeats": [np.inf, 1]}, "repeats to be finite numbers >= 1, got inf for value 0"),
        ({"repeats": [np.nan, 1]}, "repeats to be finite numbers >= 1, got nan"),
        ({"repeats": [1]}, "one entry of repeats for each of 2 values"),
        ({"noise_std": [0.1, -1]}, "noise_std to be finite numbers >= 0, or NaN if unknown"),
        ({"noise_std": [0.1, np.inf]}, "noise_std to be finite .*, got inf for value 1"),
        ({"scatter": [-1, 0]}, "scatter to be .*, got -1.0 for value 0"),
    ],
)
def test_noise_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match="Data needs " + message):
        Data(np.zeros((2, 1)), np.zeros(2), **settings)


LONG_TAIL = -np.exp(np.array([0.1, 1.0, 2.0, 0.4, 5.0, 3.0, 0.2, 4.0]))
OUTLIER = np.array([0.1, 1.0, 2.0, 0.4, 500.0, 3.0, 0.2, -4.0])


def transformed(standard, y, value, pulls_in):
    """What the transformation that was chosen for y makes of another value, written anew."""
    if pulls_in:
        spread = 1.4826 * np.median(np.abs(y - np.median(y)))
        z = (value - np.median(y)) / spread
        excess = np.maximum(np.abs(z) - 5, 0)
        z = np.sign(z) * (np.minimum(np.abs(z), 5) + excess / (1 + excess / 5))
        value = np.median(y) + spread * z
    z = (value - standard.centre) / standard.scale
    if standard.warping is None:
        return z
    power, shift, spread = standard.warping
    with np.errstate(invalid="ignore"):
        above = ((1 + z) ** power - 1) / power
        below = -((1 - z) ** (2 - power) - 1) / (2 - power) if power < 2 else -np.log(1 - z)
    return (np.where(z < 0, below, above) - shift) / spread


@pytest.mark.parametrize(
    ("make", "y", "is_warped"),
    [
        (lambda y: warp(standardise(y)), LONG_TAIL, True),
        (standardise, OUTLIER, False),
        (invertible, LONG_TAIL, True),
        (invertible, np.arange(6.0), False),
        (raw, OUTLIER, False),
    ],
)
def test_slopes_are_those_of_finite_differences(make, y, is_warped):
    """Of the transformation that the data have chosen: what is fitted to all values is kept."""
    standard, pulls_in = make(y), make not in (invertible, raw)
    assert (standard.warping is not None) == is_warped
    np.testing.assert_allclose(transformed(standard, y, y, pulls_in), standard.targets, atol=1e-9)
    h = 1e-5 * (1 + np.abs(y))
    up, down = (transformed(standard, y, y + s * h, pulls_in) for s in (1, -1))
    slopes = np.broadcast_to(standard.slopes, y.shape)
    np.testing.assert_allclose(slopes, (up - down) / (2 * h), rtol=1e-4)


def test_known_noise_is_brought_to_the_targets_by_the_slope():
    stds = np.array([*[0.1] * 4, 2.0, 0.1, 0.1, np.nan])
    data = Data(np.eye(8), LONG_TAIL, repeats=[3] * 8, noise_std=stds, scatter=[0.5] * 8)
    standard = data.targets(standardised=True, warped=True)
    assert standard.warping is not None
    noise = data.noise(standard)
    np.testing.assert_allclose(np.sqrt(noise.known), stds * standard.slopes)
    assert noise.scatter[7] == pytest.approx(0.5 * standard.slopes[7] ** 2)
    moved = data.on_targets(standard)
    again = moved.noise(raw(moved.y))
    np.testing.assert_allclose(again.known, noise.known)
    np.testing.assert_allclose(again.scatter, noise.scatter)

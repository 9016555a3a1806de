"""Random Fourier features against the kernels they stand for."""

import jax
import numpy as np
import pytest

from thomax.keys import make_keys
from thomax.model.fourier import conditioned, draw_frequencies, feature_matrix, feature_sum
from thomax.model.kernels import SE, Matern52, float64

SCALES = np.array([0.5, 1.0, 2.0])
KERNELS = [SE(SCALES), Matern52(SCALES)]
X = np.random.default_rng(0).uniform(-1, 1, (6, 3))


def exact(kernel, x):
    with float64():
        return np.asarray(kernel(x, x))


@pytest.mark.parametrize("kernel", KERNELS, ids=["se", "matern52"])
def test_the_mean_over_frequencies_is_the_kernel(kernel):
    """100,000 frequencies: the wave of one has variance at most 1, and four sigma are allowed."""
    omega = draw_frequencies(make_keys(0, 10), kernel, 10_000, 3).reshape(-1, 3)
    phi = feature_matrix(omega, X)
    error = phi @ phi.T - exact(kernel, X)
    assert np.abs(error).max() < 4 / np.sqrt(len(omega))
    other = SE(SCALES) if isinstance(kernel, Matern52) else Matern52(SCALES)
    assert np.abs(phi @ phi.T - exact(other, X)).max() > 0.01


@pytest.mark.parametrize("kernel", KERNELS, ids=["se", "matern52"])
def test_the_error_falls_like_the_root_of_the_number_of_features(kernel):
    def error(pairs):
        omega = draw_frequencies(make_keys(1, 200), kernel, pairs, 3)
        phi = np.array([feature_matrix(o, X) for o in omega])
        return np.sqrt(np.mean((phi @ phi.transpose(0, 2, 1) - exact(kernel, X)) ** 2))

    rates = np.log2([error(16) / error(64), error(64) / error(256)]) / 2
    np.testing.assert_allclose(rates, 0.5, atol=0.08)


@pytest.mark.parametrize("pairs", [1, 7])
def test_the_prior_variance_is_exact_whatever_the_number_of_features(pairs):
    phi = feature_matrix(draw_frequencies(make_keys(2, 1), SE(0.3), pairs, 3)[0], X)
    np.testing.assert_allclose((phi**2).sum(1), 1)


def test_compiled_sums_are_the_features_times_the_weights():
    rng = np.random.default_rng(3)
    omega, w = rng.normal(size=(8, 3)), rng.normal(size=16)
    with float64():
        found = jax.jit(feature_sum)(omega, w, X)
    np.testing.assert_allclose(found, feature_matrix(omega, X) @ w, rtol=1e-12)


def test_frequencies_of_a_key_depend_on_it_alone():
    batch = draw_frequencies(make_keys(4, 3), Matern52(), 5, 2)
    np.testing.assert_array_equal(
        batch[2:], draw_frequencies(make_keys(4, 1, first=2), Matern52(), 5, 2)
    )
    assert not np.isclose(batch[0], batch[1]).any()


def test_conditioned_weights_follow_the_posterior_of_the_features():
    """Mean and covariance of Bayesian linear regression, in M x M form, over 20,000 draws."""
    rng = np.random.default_rng(5)
    draws, noise = 20_000, 0.5
    omega, y = rng.normal(size=(3, 3)), rng.normal(size=6)
    phi = feature_matrix(omega, X)
    covariance = noise**2 * np.linalg.inv(phi.T @ phi + noise**2 * np.eye(6))
    mean = covariance @ phi.T @ y / noise**2
    w = np.array([
        conditioned(rng.normal(size=6), omega, y + noise * rng.normal(size=6), X, noise**2)
        for _ in range(draws)
    ])  # fmt: skip
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((w.mean(0) - mean) / deviation, 0, atol=4 / np.sqrt(draws))
    scale = np.outer(deviation, deviation)
    four_sigma = 4 * np.sqrt((1 + (covariance / scale) ** 2) / draws)
    assert (np.abs(np.cov(w.T) - covariance) / scale < four_sigma).all()

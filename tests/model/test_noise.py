"""Means of measurements and known errors: the same likelihood as that of the measurements."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from thomax.model.data import Data
from thomax.model.gp_prior import (
    ScaledKernel,
    fit_hyperparameters,
    usual_hyperparameters,
)
from thomax.model.kernels import SE, exact_ntk, float64, gram
from thomax.model.networks import MLP
from thomax.model.noise import Noise, pooled
from thomax.model.posterior import evidence_of_noise, log_evidence
from thomax.model.prior import LiftedEvidence, _evidence, fit_prior, lift
from thomax.model.targets import raw

KERNEL = exact_ntk(MLP(1, 64, "erf"))
RNG = np.random.default_rng(3)
COUNTS = np.array([3, 1, 2, 5, 1])
X = RNG.uniform(-1, 1, (5, 2))
ROWS = np.repeat(X, COUNTS, axis=0)
VALUES = np.sin(3 * ROWS.sum(1)) + 0.3 * RNG.normal(size=COUNTS.sum())


def grouped(values=VALUES):
    """Return means, counts and scatter of the measurements at each point."""
    parts = [pooled(part) for part in np.split(values, np.cumsum(COUNTS)[:-1])]
    return (np.array(column, float) for column in zip(*parts, strict=True))


def pooled_noise():
    _, repeats, scatter = grouped()
    return Noise(repeats, np.full(5, np.nan), scatter)


MEANS = next(grouped())
MIXED = Noise(
    np.array([3.0, 1, 2, 1, 4]),
    np.array([np.nan, 0.04, np.nan, 0.3, np.nan]),
    np.array([0.5, np.nan, np.nan, np.nan, 0.2]),
)


def tangent_kernel(x, scale=1.0):
    z = np.asarray(lift(x, scale))
    return gram(KERNEL, z, z)


def test_means_are_as_likely_as_their_measurements():
    """The log evidence of means with their scatter is that of the measurements, row by row."""
    v = 0.2
    of_rows = log_evidence(tangent_kernel(ROWS), VALUES, np.sqrt(v))
    noise = pooled_noise()
    of_means = log_evidence(tangent_kernel(X), MEANS, np.sqrt(noise.variances(v)))
    assert of_means - noise.scatter_loss(v) == pytest.approx(of_rows, abs=1e-9)


@pytest.mark.parametrize(("scale", "ratio"), [(1.0, 1e-2), (4.0, 1.0)])
def test_the_best_amplitude_is_that_of_the_measurements(scale, ratio):
    of_rows = _evidence(tangent_kernel(ROWS, scale), VALUES, scale, ratio)
    of_means = _evidence(tangent_kernel(X, scale), MEANS, scale, ratio, pooled_noise())
    np.testing.assert_allclose(of_means, of_rows, rtol=1e-9)


def test_the_climbed_evidence_is_that_of_the_measurements():
    """Losses and gradients in all hyperparameters, at several of them."""
    points = np.random.default_rng(1).normal([0, -3, 0.3, 0, 0], 0.5, (4, 5))
    of_rows = LiftedEvidence(KERNEL, 0.3, ROWS, VALUES)(points)
    of_means = LiftedEvidence(KERNEL, 0.3, X, MEANS, pooled_noise())(points)
    np.testing.assert_allclose(of_means[0], of_rows[0], rtol=1e-9)
    np.testing.assert_allclose(of_means[1], of_rows[1], rtol=1e-7, atol=1e-9)


def test_a_prior_is_fitted_to_means_as_to_their_measurements():
    network = MLP(1, 64, "erf")
    settings = {"inputs": "sphere", "scale_prior_std": 0.25, "max_noise_std": 1.0}
    of_rows = fit_prior(network, ROWS, VALUES, **settings)
    of_means = fit_prior(network, X, MEANS, **settings, noise=pooled_noise())
    np.testing.assert_allclose(of_means.scale, of_rows.scale, rtol=1e-4)
    assert of_means.noise_std == pytest.approx(of_rows.noise_std, rel=1e-4)
    assert of_means.amplitude == pytest.approx(of_rows.amplitude, rel=1e-4)
    alone = fit_prior(network, X, MEANS, **settings)
    assert abs(alone.noise_std / of_rows.noise_std - 1) > 0.1  # the scatter is needed


def test_gaussian_processes_are_fitted_to_means_as_to_their_measurements():
    """The loss that JAX differentiates; units of y differ, so the fit is only nearly equal."""
    of_rows = ScaledKernel(SE(), hyperprior=True)
    of_means = ScaledKernel(SE(), hyperprior=True, noise=pooled_noise().padded(8))
    p = np.array([0.2, -1.5, -0.3, 0.1])

    def loss(family, x, y, size):
        mask = np.arange(size) < len(y)
        x, y = np.pad(x, ((0, size - len(x)), (0, 0))), np.pad(y, (0, size - len(y)))
        A = np.asarray(family.covariance(p, x, mask))
        likelihood = stats.multivariate_normal.logpdf(y[mask], cov=A[np.ix_(mask, mask)])
        return float(family.further_loss(p, 2)) - likelihood

    with float64():
        found = loss(of_means, X, MEANS, 8)
        assert found == pytest.approx(loss(of_rows, ROWS, VALUES, 16), rel=1e-9)
    y = VALUES / np.sqrt(np.mean(VALUES**2))
    means, repeats, scatter = grouped(y)
    noise = Noise(repeats, np.full(5, np.nan), scatter)
    before = usual_hyperparameters("se", None, 2)
    a = fit_hyperparameters(before, ROWS, y)
    b = fit_hyperparameters(before, X, means, noise=noise)
    total_a, total_b = (f.noise_std * f.amplitude for f in (a, b))
    assert total_b == pytest.approx(total_a, rel=0.05)


def test_noise_explains_means_as_well_as_their_measurements():
    def found(x, y, noise=None):
        distances = np.linalg.norm(x[:, None] - x[None], axis=2)
        return evidence_of_noise(tangent_kernel(x), distances, y, 0.3, noise)

    assert found(X, MEANS, pooled_noise()) == pytest.approx(found(ROWS, VALUES), rel=1e-6)


def test_known_errors_are_noise_whatever_explains_the_rest():
    x = np.concatenate([X, X])
    y = np.concatenate([MEANS, MEANS + 0.3])
    distances = np.linalg.norm(x[:, None] - x[None], axis=2)

    def found(known):
        noise = Noise(np.ones(10), known, np.full(10, np.nan))
        return evidence_of_noise(tangent_kernel(x), distances, y, 0.2, noise)

    assert found(np.full(10, np.nan)) > 100
    assert abs(found(np.full(10, 0.09))) < 3  # nothing is left over to be explained


@pytest.mark.parametrize("noise", [pooled_noise(), MIXED])
def test_the_climbed_evidence_and_its_gradient_are_those_of_jax(noise):
    def expected(p):
        z = lift(jnp.asarray(X), jnp.exp(p[2] + p[3:]))
        K = KERNEL(z, z)
        K = jnp.where(jnp.eye(5, dtype=bool), KERNEL.diagonal(z)[:, None], K)
        v = jnp.exp(p[0] + p[1])
        known = ~np.isnan(noise.known)
        variances = jnp.where(known, np.where(known, noise.known, 0.0), v / noise.repeats)
        A = jnp.exp(p[0]) * K + jnp.diag(variances)
        evidence = jax.scipy.stats.multivariate_normal.logpdf(MEANS, jnp.zeros(5), A)
        for k, s in zip(noise.repeats, noise.scatter, strict=True):
            if not np.isnan(s):
                evidence -= 0.5 * ((k - 1) * jnp.log(2 * jnp.pi * v) + s / v + np.log(k))
        priors = 0.5 * (jnp.exp(-p[0]) + p[0]) + 0.5 * ((p[1] - jnp.log(0.01)) / 3) ** 2
        return priors + 0.5 * p[2] ** 2 + 0.5 * jnp.sum((p[3:] / 0.4) ** 2) - evidence

    points = np.array([[0.3, -3.0, 0.2, 0.1, -0.4], [-1.0, -1.0, 1.0, 0.0, 0.3]])
    values, gradients = LiftedEvidence(KERNEL, 0.4, X, MEANS, noise)(points)
    with float64():
        found = [jax.value_and_grad(expected)(jnp.asarray(p)) for p in points]
    np.testing.assert_allclose(values, [v for v, _ in found], rtol=1e-10)
    np.testing.assert_allclose(gradients, [g for _, g in found], rtol=1e-7, atol=1e-8)


def test_the_best_amplitude_beside_known_noise_is_found():
    """Against a line search over SciPy's densities, for two ratios, whose evidences compare."""
    found, expected = [], []
    K = tangent_kernel(X)
    for ratio in (1e-2, 0.3):

        def loss(t, ratio=ratio):
            v = np.exp(t) * ratio
            variances = np.where(np.isnan(MIXED.known), v / MIXED.repeats, MIXED.known)
            A = np.exp(t) * K + np.diag(variances)
            unit = stats.norm.logpdf(1, scale=np.exp(t / 2))
            scatter = sum(
                0.5 * ((k - 1) * np.log(v) + s / v)
                for k, s in zip(MIXED.repeats, MIXED.scatter, strict=True)
                if not np.isnan(s)
            )
            prior = stats.norm.logpdf(np.log(ratio / 0.01) / 3)
            return scatter - stats.multivariate_normal.logpdf(MEANS, cov=A) - unit - prior

        grid = np.linspace(-4, 4, 4001)
        losses = [loss(t) for t in grid]
        evidence, amplitude = _evidence(K, MEANS, 1.0, ratio, MIXED)
        assert 2 * np.log(amplitude) == pytest.approx(grid[np.argmin(losses)], abs=0.1)
        found.append(evidence)
        expected.append(-min(losses))
    assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], abs=0.02)


def test_where_all_noise_is_known_the_fitted_one_does_not_matter():
    noise = Noise(np.ones(5), np.full(5, 0.1), np.full(5, np.nan))
    loss = LiftedEvidence(KERNEL, 0.3, X, MEANS, noise)
    p = np.array([[0.1, -3.0, 0.2, 0.1, 0.2]])
    (a, da), (b, db) = loss(p), loss(np.add(p, [0, 1.5, 0, 0, 0]))
    prior = 0.5 * ((np.array([-3.0, -1.5]) - np.log(0.01)) / 3) ** 2
    assert b[0] - a[0] == pytest.approx(prior[1] - prior[0])
    np.testing.assert_allclose(np.delete(db, 1), np.delete(da, 1))
    for limit in (0.1, 1.0):  # also at the limit of what may be fitted
        found = fit_prior(MLP(1, 64), X, MEANS, "sphere", max_noise_std=limit, noise=noise)
        assert found.noise_std == pytest.approx(0.1)


def test_errors_are_bounded_so_that_sums_can_be_solved():
    targets = np.array([3.0, -4.0])
    noise = Noise.of(np.ones(2), np.array([0.0, 1e300]), np.full(2, np.nan), targets)
    size = np.sqrt(12.5)
    np.testing.assert_allclose(np.sqrt(noise.known), [1e-3 * size, 1e6 * size])
    constant = Noise.of(np.ones(1), np.zeros(1), np.full(1, np.nan), np.zeros(1))
    np.testing.assert_allclose(constant.known, 1e-6)


def test_the_scatter_of_values_whose_noise_is_known_says_nothing_of_other_noise():
    known = np.array([0.5, np.nan])
    noise = Noise.of(np.array([3.0, 2.0]), known, np.array([9.0, 1.0]), np.ones(2))
    assert noise.sums() == (1.0, 1.0, pytest.approx(np.log(2)))


def test_measurements_are_pooled_whatever_their_size():
    assert pooled([2.0]) == (2.0, 1, 0.0)
    assert pooled([0.71, 0.74, 0.69])[0] == pytest.approx(np.mean([0.71, 0.74, 0.69]))
    mean, count, scatter = pooled([1.5e308, 1.7e308])
    assert mean == pytest.approx(1.6e308)
    assert count == 2
    data = Data(np.zeros((1, 1)), [mean], repeats=[count], scatter=[scatter])
    assert np.isnan(data.noise(raw(data.y)).scatter).all()  # beyond all floats: not known

"""The noise of single values in draws: against Gaussian processes written anew in NumPy."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import toy

from thomax.keys import Stream, make_keys, normals
from thomax.model.data import Data
from thomax.model.fourier import feature_matrix
from thomax.model.kernels import SE, empirical_ntk, exact_ntk, float64, gram
from thomax.model.networks import MLP
from thomax.model.noise import pooled
from thomax.model.padding import pad
from thomax.model.training import train_linear
from thomax.policies.ensemble import DeepEnsemble
from thomax.policies.gp import GPTS, GPUCB
from thomax.policies.neural import NeuralTS, NeuralUCB
from thomax.policies.sto import STOBNTS, STOBNTSLinear

SMALL = MLP(1, 24, "erf")
RAW = {"noise_std": 0.5, "inputs": "cube", "standardise": False}
INFINITE = STOBNTSLinear(MLP(1, math.inf, "erf"), prior_width=32, **RAW)
GAUSSIAN = {"kernel": SE(0.8), "fit": False, "noise_std": 0.5, "standardise": False}
NEW = np.random.default_rng(5).uniform(-1, 1, (7, 2)).astype(np.float32)
KEYS = make_keys(3, 3)

KNOWN = replace(
    toy(5, seed=2).in_canonical_order(),
    repeats=np.array([1.0, 4, 1, 1, 2]),
    noise_std=np.array([np.nan, np.nan, 0.05, 2.0, np.nan]),
)
VARIANCES = np.array([0.25, 0.25 / 4, 0.05**2, 4.0, 0.25 / 2])  # where a single one has 0.5^2


def posterior(K, k, prior, y, variances=VARIANCES):
    inverse = np.linalg.inv(K + np.diag(variances))
    return k.T @ inverse @ y, prior - k.T @ inverse @ k


def tangent_posterior(data=KNOWN, variances=VARIANCES):
    kernel = exact_ntk(SMALL)
    x, new = data.x.astype(float), NEW.astype(float)
    K, k, prior = (gram(kernel, a, b) for a, b in ((x, x), (x, new), (new, new)))
    return posterior(K, k, prior, data.y, variances)


def test_linear_draws_follow_the_posterior_of_values_with_their_own_noise():
    """Over 4,000 draws of (theta0, eps) at one theta0'; tolerances are four standard errors."""
    draws, network = 4_000, MLP(1, 3, "erf")
    rng = np.random.default_rng(1)
    x, y = KNOWN.x, KNOWN.y
    theta0_prime = rng.normal(size=network.size((2,))).astype(np.float32)
    theta0 = rng.normal(size=(draws, len(theta0_prime))).astype(np.float32)
    targets = y + np.sqrt(VARIANCES) * rng.normal(size=(draws, 5))
    theta = train_linear(
        network, np.tile(theta0_prime, (draws, 1)), theta0, pad(x, 6), targets, VARIANCES
    )
    with float64():
        J = np.asarray(jax.jacrev(lambda t: network.apply(t, NEW.astype(float)))(
            jnp.asarray(theta0_prime, float)))  # fmt: skip
    values = theta @ J.T
    K, k = empirical_ntk(network, theta0_prime, x), empirical_ntk(network, theta0_prime, x, NEW)
    mean, covariance = posterior(K, k, J @ J.T, y)
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((values.mean(0) - mean) / deviation, 0, atol=4 / np.sqrt(draws))
    correlation = covariance / np.outer(deviation, deviation)
    error = np.sqrt((1 + correlation**2) / draws)
    found = np.cov(values.T) / np.outer(deviation, deviation)
    assert (np.abs(found - correlation) < 4 * error).all()


def test_draws_on_a_set_follow_the_posterior_of_values_with_their_own_noise():
    """Through the policy, over 20,000 keys; tolerances are four standard errors."""
    draws = INFINITE.on_set(make_keys(0, 20_000), KNOWN, NEW)
    mean, covariance = tangent_posterior()
    deviation = np.sqrt(np.diag(covariance))
    error = 4 / np.sqrt(len(draws))
    np.testing.assert_allclose((draws.mean(0) - mean) / deviation, 0, atol=error)
    correlation = covariance / np.outer(deviation, deviation)
    found = np.cov(draws.T) / np.outer(deviation, deviation)
    assert (np.abs(found - correlation) < error * np.sqrt(1 + correlation**2)).all()
    plain = tangent_posterior(variances=np.full(5, 0.25))[1]
    assert (np.abs(plain - covariance) / np.outer(deviation, deviation) > 2 * error).any()


def test_unperturbed_draws_on_a_set_leave_out_the_noise_of_each_value():
    policy = replace(INFINITE, perturb=False)
    draws = policy.on_set(make_keys(0, 20_000), KNOWN, NEW)
    kernel, x, new = exact_ntk(SMALL), KNOWN.x.astype(float), NEW.astype(float)
    K, k, prior = (gram(kernel, a, b) for a, b in ((x, x), (x, new), (new, new)))
    gains = np.linalg.solve(K + np.diag(VARIANCES), k)
    covariance = prior - k.T @ gains - gains.T @ np.diag(VARIANCES) @ gains
    deviation = np.sqrt(np.diag(covariance))
    found = np.cov(draws.T) / np.outer(deviation, deviation)
    np.testing.assert_allclose(
        found, covariance / np.outer(deviation, deviation), atol=4 * np.sqrt(2 / len(draws))
    )


def test_pathwise_draws_are_prior_draws_plus_the_update_by_values_with_their_own_noise():
    draw = INFINITE(KEYS, KNOWN)
    prior = replace(draw, weights=np.zeros_like(draw.weights))
    eps = np.sqrt(VARIANCES) * normals(KEYS, 5, Stream.EPS)
    kernel, x = exact_ntk(SMALL), KNOWN.x.astype(float)
    A = gram(kernel, x, x) + np.diag(VARIANCES)
    weights = np.linalg.solve(A, (KNOWN.y + eps - prior(KNOWN.x)).T)
    expected = prior(NEW) + weights.T @ gram(kernel, x, NEW.astype(float))
    np.testing.assert_allclose(draw(NEW), expected, atol=1e-4)


@pytest.mark.parametrize("features", [None, 30])
def test_gaussian_process_draws_condition_on_values_with_their_own_noise(features):
    policy = GPTS(**GAUSSIAN, features=features, prior_features=30)
    draw = policy(KEYS, KNOWN)
    prior = policy(KEYS, Data(np.zeros((0, 2)), np.zeros(0)))  # the same keys: the same waves
    eps = np.sqrt(VARIANCES) * normals(KEYS, 5, Stream.EPS)
    residuals = KNOWN.y + eps - prior(KNOWN.x)
    for i in range(len(KEYS)):
        phi, new = (feature_matrix(draw.omega[i], z) for z in (KNOWN.x, NEW))
        K, k = phi @ phi.T, phi @ new.T
        if features is None:
            K, k = (np.exp(-((KNOWN.x[:, None] - z) ** 2).sum(2) / 1.28) for z in (KNOWN.x, NEW))
        expected = prior(NEW)[i] + k.T @ np.linalg.solve(K + np.diag(VARIANCES), residuals[i])
        np.testing.assert_allclose(draw(NEW)[i], expected, atol=1e-4)


def test_the_upper_bound_counts_the_noise_of_each_value_and_pending_points_as_single():
    data = replace(KNOWN, pending=np.array([[0.2, 0.1]]))
    found = GPUCB(**GAUSSIAN, kappa=1.5)(0, data)(NEW)
    x = np.concatenate([data.x, data.pending])

    def k(a, b):
        return np.exp(-((a[:, None] - b) ** 2).sum(2) / 1.28)

    mean, _ = posterior(k(data.x, data.x), k(data.x, NEW), k(NEW, NEW), data.y)
    variances = np.append(VARIANCES, 0.25)
    _, covariance = posterior(k(x, x), k(x, NEW), k(NEW, NEW), np.zeros(6), variances)
    np.testing.assert_allclose(found, mean + 1.5 * np.sqrt(np.diag(covariance)), rtol=1e-5)


def test_algorithm_1_trains_on_residuals_weighted_by_their_noise():
    """The loss that was minimised, computed anew from the draw: any common factor is alike."""
    draw = STOBNTS(SMALL, **RAW, tolerance=1e-5)(KEYS, KNOWN)
    eps = np.sqrt(VARIANCES) * normals(KEYS, 5, Stream.EPS)
    residuals = KNOWN.y + eps - draw(KNOWN.x)
    kept = np.square(draw.theta - draw.theta0, dtype=float).sum(1)
    loss = (residuals**2 / VARIANCES).sum(1) + kept
    s2 = np.exp(np.mean(np.log(VARIANCES)))
    np.testing.assert_allclose(draw.certificate.loss, s2 * loss, rtol=1e-3)
    assert (draw.certificate.decrease < 1e-3).all()


@pytest.mark.parametrize("policy", [INFINITE, STOBNTSLinear(SMALL, **RAW), GPTS(**GAUSSIAN)])
@pytest.mark.parametrize("data", [KNOWN, KNOWN.plain()])
def test_beta_leaves_the_mean_and_multiplies_the_deviation_from_it(policy, data):
    """f = mean + beta (f_1 - mean) for the same key, whatever the amplitude is."""
    one, two, three = (replace(policy, beta=b)(KEYS, data)(NEW) for b in (1.0, 2.0, 3.0))
    np.testing.assert_allclose(three - two, two - one, atol=2e-4)
    if policy is INFINITE:
        variances = VARIANCES if data is KNOWN else np.full(5, 0.25)
        mean, _ = tangent_posterior(variances=variances)
        np.testing.assert_allclose(2 * one - two, np.tile(mean, (3, 1)), atol=2e-4)


def test_known_noise_is_divided_by_the_amplitude_and_not_by_beta():
    """With a fitted amplitude: the posterior of K + diag(v_i) on the scale of the targets."""
    data = replace(toy(12, seed=4), noise_std=np.full(12, 0.3)).in_canonical_order()
    policy = STOBNTSLinear(MLP(1, math.inf, "erf"), inputs="sphere", beta=2.0, warp_targets=False)
    prior = policy.prior(data)
    assert abs(prior.amplitude - 1) > 0.02
    found = policy.marginals(data, NEW)
    kernel = exact_ntk(SMALL)
    x, new = (prior.inputs(z).astype(float) for z in (data.x, NEW))
    K, k, own = (
        prior.amplitude**2 * gram(kernel, a, b) for a, b in ((x, x), (x, new), (new, new))
    )
    standard = data.targets(standardised=True)
    variances = np.full(12, 0.3 / standard.scale) ** 2
    mean, covariance = posterior(K, k, own, standard.targets, variances)
    np.testing.assert_allclose(found.mean, mean, atol=1e-5)
    np.testing.assert_allclose(found.std, np.sqrt(np.diag(covariance)), atol=1e-5)
    assert found.noise_std == pytest.approx(0.3 / standard.scale)  # of a new measurement
    draws = policy.on_set(make_keys(0, 20_000), data, NEW)
    spread = draws.std(0) / (2 * standard.scale * found.std)
    np.testing.assert_allclose(spread, 1, atol=4 / np.sqrt(2 * 20_000))


ROWS = toy(8, seed=6)
TWICE = Data(
    np.concatenate([ROWS.x, ROWS.x[:3], ROWS.x[:1]]),
    np.concatenate([ROWS.y, ROWS.y[:3] + 0.4, ROWS.y[:1] - 0.1]),
)


def pooled_rows(data):
    points, groups = np.unique(data.x, axis=0, return_inverse=True)
    parts = [pooled(data.y[groups.ravel() == g]) for g in range(len(points))]
    y, repeats, scatter = np.array(parts).T
    return Data(points, y, repeats=repeats, scatter=scatter)


@pytest.mark.parametrize(
    "policy",
    [
        STOBNTSLinear(SMALL, standardise=False, max_noise_std=1.0),
        STOBNTSLinear(SMALL, **RAW),
        GPTS(**GAUSSIAN),
    ],
)
def test_pooled_measurements_give_the_posterior_of_single_ones(policy):
    """Mean, deviation and the fitted noise; targets as they are, so that scales agree."""
    apart, together = (policy.marginals(d, NEW) for d in (TWICE, pooled_rows(TWICE)))
    tolerance = 1e-9 if getattr(policy, "noise_std", None) else 1e-4  # of a climb in its stead
    np.testing.assert_allclose(together.mean, apart.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(together.std, apart.std, rtol=tolerance)
    assert together.noise_std == pytest.approx(apart.noise_std, rel=tolerance)


@pytest.mark.parametrize(
    "policy",
    [
        NeuralUCB(SMALL), NeuralTS(SMALL), DeepEnsemble(SMALL),
        STOBNTS(SMALL, descent=(20, 1e-3)), STOBNTSLinear(SMALL, descent=(20, 1e-3)),
    ],
)  # fmt: skip
def test_policies_that_ignore_known_noise_do_so_altogether(policy):
    np.testing.assert_array_equal(policy(KEYS, KNOWN)(NEW), policy(KEYS, KNOWN.plain())(NEW))


@pytest.mark.parametrize("policy", [STOBNTSLinear(SMALL), STOBNTS(SMALL), INFINITE, GPTS()])
@pytest.mark.parametrize("std", [0.0, 1e-200, 1e200])
def test_errors_beyond_all_measure_leave_draws_finite(policy, std):
    data = replace(KNOWN, noise_std=np.array([std, np.nan, std, 0.1, std]))
    assert np.isfinite(policy(KEYS, data)(NEW)).all()


@pytest.mark.parametrize("policy", [STOBNTSLinear(SMALL), GPTS(), GPUCB()])
def test_noise_has_the_units_of_the_values(policy):
    """Scale and shift of values, of their noise and of their scatter change no draw."""
    data = replace(KNOWN, scatter=np.array([0, 0.3, 0, 0, np.nan]))
    other = replace(
        data, y=1000 * data.y - 7, noise_std=1000 * data.noise_std, scatter=1e6 * data.scatter
    )
    first, second = (policy(KEYS, d)(NEW) for d in (data, other))
    np.testing.assert_allclose((second + 7) / 1000, first, rtol=2e-2, atol=2e-2)

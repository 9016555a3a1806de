import jax
import numpy as np
import pytest

from thomax.model import posterior
from thomax.model.kernels import empirical_ntk, float64
from thomax.model.networks import MLP

NOISE = 0.3


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    phi, phi_new, y = rng.normal(size=(6, 9)), rng.normal(size=(4, 9)), rng.normal(size=6)
    return phi, phi_new, y


def test_mean_and_covariance_equal_the_weight_space_posterior(problem):
    """Bayesian linear regression, by its p x p formulas."""
    phi, new, y = problem
    precision = phi.T @ phi / NOISE**2 + np.eye(9)
    weights = np.linalg.solve(precision, phi.T @ y / NOISE**2)
    mean, covariance = posterior.mean_and_covariance(
        phi @ phi.T, phi @ new.T, new @ new.T, y, NOISE
    )
    np.testing.assert_allclose(mean, new @ weights)
    np.testing.assert_allclose(covariance, new @ np.linalg.inv(precision) @ new.T, atol=1e-12)


def test_variance_is_the_p_by_p_form_times_the_noise():
    """The push-through identity; the paper's appendix leaves out the factor s2."""
    network = MLP(1, 4, "erf")
    rng = np.random.default_rng(1)
    with float64():
        theta = jax.numpy.asarray(rng.normal(size=network.size((2,))))
        x, new = (jax.numpy.asarray(rng.normal(size=(n, 2))) for n in (5, 3))
        J, J_new = (
            np.asarray(jax.jacrev(lambda t, z=z: network.apply(t, z))(theta)) for z in (x, new)
        )
        K, k = empirical_ntk(network, theta, x), empirical_ntk(network, theta, x, new)
    prior = np.square(J_new).sum(1)
    paper = np.einsum(
        "ip,pq,iq->i", J_new, np.linalg.inv(J.T @ J + NOISE**2 * np.eye(len(theta))), J_new
    )
    np.testing.assert_allclose(posterior.variance(K, k, prior, NOISE), NOISE**2 * paper)


def test_log_evidence_equals_the_gaussian_density(problem):
    phi, _, y = problem
    A = phi @ phi.T + NOISE**2 * np.eye(6)
    expected = -0.5 * (y @ np.linalg.inv(A) @ y + np.linalg.slogdet(A)[1] + 6 * np.log(2 * np.pi))
    np.testing.assert_allclose(posterior.log_evidence(phi @ phi.T, y, NOISE), expected)


def test_joint_draws_have_the_given_law():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(3, 3))
    covariance, mean = root @ root.T, np.array([1.0, -1.0, 0.0])
    draws = posterior.joint_draws(rng.normal(size=(40_000, 3)), mean, covariance)
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((draws.mean(0) - mean) / scale, 0, atol=4 / 200)
    error = (np.cov(draws.T) - covariance) / np.outer(scale, scale)
    np.testing.assert_allclose(error, 0, atol=4 * np.sqrt(2) / 200)


def test_a_singular_kernel_matrix_gets_just_enough_jitter():
    K = np.ones((5, 5))
    factor = posterior.Factor(K, 0.0)
    np.testing.assert_allclose(factor.lower @ factor.lower.T, K, atol=1e-8)
    with pytest.raises(np.linalg.LinAlgError, match="not a kernel"):
        posterior.Factor(-np.eye(2), 0.0)


def test_noise_is_seen_where_points_are_close_and_nowhere_else():
    """Row 6: a rough function and noise are the same until points come close together."""
    rng = np.random.default_rng(0)
    apart = np.linspace(0, 1, 8)
    pairs = np.concatenate([apart, apart + 1e-3])

    def evidence(x, rough):
        K = np.exp(-0.5 * (x[:, None] - x) ** 2)
        return posterior.evidence_of_noise(K, np.abs(x[:, None] - x), np.sin(3 * x) + rough, 0.3)

    noise = 0.3 * rng.normal(size=16)
    assert evidence(pairs, noise) > 3
    assert evidence(pairs, np.tile(noise[:8], 2)) < -3  # the same again: a function
    assert abs(evidence(apart, noise[:8])) < 1
    assert evidence(np.concatenate([apart, apart]), noise) > 3


@pytest.mark.parametrize("n", [0, 1, 30, 450])
def test_small_and_large_matrices_are_factored_alike(n):
    K = np.eye(n) + 0.5 / max(n, 1)
    lower = posterior.Factor(K, 0.5).lower
    np.testing.assert_allclose(lower, np.linalg.cholesky(K + 0.5 * np.eye(n)), atol=1e-12)

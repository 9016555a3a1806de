import jax
import numpy as np
import pytest

from thomax.kernels import exact_ntk, float64
from thomax.networks import CNN, MLP
from thomax.posterior import log_evidence
from thomax.prior import Prior, default_prior, fit_prior, lift

NETWORK = MLP(2, 64, "erf")


def draw_from_prior(scale, noise_std, amplitude, n=120, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    with float64():
        z = np.asarray(lift(x, scale))
        K = np.asarray(exact_ntk(NETWORK)(z, z))
    root = np.linalg.cholesky(K + 1e-9 * np.eye(n))
    return x, amplitude * (root @ rng.normal(size=n) + noise_std * rng.normal(size=n))


def test_lifted_points_lie_on_a_sphere_and_keep_apart():
    x = np.random.default_rng(0).uniform(-1, 1, (50, 7))
    with float64():
        z = np.asarray(lift(x, 2.0))
        variance = np.asarray(exact_ntk(NETWORK).diagonal(z))
    assert z.shape == (50, 8)
    np.testing.assert_allclose((z**2).sum(1), 8)
    np.testing.assert_allclose(variance, variance[0])  # nowhere more uncertain than elsewhere
    back = 7**0.5 / 2.0 * z[:, :7] / z[:, 7:]
    np.testing.assert_allclose(back, x, atol=1e-12)


def test_the_gradient_of_lifting_is_finite_at_the_centre():
    assert np.isfinite(jax.jacrev(lambda x: lift(x, 1.0))(np.zeros((1, 3), np.float32))).all()


@pytest.mark.parametrize("scale", [0.5, 4.0])
@pytest.mark.parametrize("noise_std", [0.01, 0.3])
def test_the_evidence_finds_the_prior_that_made_the_data(scale, noise_std):
    x, y = draw_from_prior(scale, noise_std, amplitude=2.0)
    found = fit_prior(NETWORK, x, y, sphere=True)
    assert found.scale in (scale / 2, scale, 2 * scale)
    assert found.noise_std / noise_std == pytest.approx(1, rel=2.5)
    assert (found.noise_std > 0.1) == (noise_std > 0.1)
    assert found.amplitude == pytest.approx(2.0, rel=0.6)


def test_the_chosen_prior_has_more_evidence_than_the_default():
    x, y = draw_from_prior(4.0, 0.05, amplitude=0.4, seed=1)

    def evidence(prior):
        with float64():
            z = np.asarray(lift(x, prior.scale))
            K = np.asarray(exact_ntk(NETWORK)(z, z))
        a = prior.amplitude
        return log_evidence(a**2 * K, y, a * prior.noise_std)

    chosen, default = fit_prior(NETWORK, x, y, True), default_prior(NETWORK, True, None)
    assert evidence(chosen) > evidence(default) + 10


def test_few_points_and_unknown_kernels_keep_the_default():
    x, y = np.zeros((3, 2)), np.arange(3.0)
    assert fit_prior(NETWORK, x, y, True) == default_prior(NETWORK, True, None)
    images = np.zeros((9, 4, 4, 1))
    assert fit_prior(CNN(), images, np.arange(9.0), True) == Prior(None, 0.1)
    assert fit_prior(MLP(activation="gelu"), images, np.arange(9.0), True).amplitude == 1.0
    assert default_prior(CNN(), True, 0.2) == Prior(None, 0.2)


def test_a_prior_without_sphere_is_fitted_on_the_cube():
    x, y = draw_from_prior(1.0, 0.1, 1.0)
    found = fit_prior(NETWORK, x, y, sphere=False)
    assert found.scale is None
    np.testing.assert_array_equal(found.inputs(x), x)
    assert found.amplitude > 0

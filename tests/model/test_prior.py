import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

from thomax.keys import make_keys
from thomax.model.data import Data
from thomax.model.kernels import exact_ntk, float64, gram
from thomax.model.networks import CNN, MLP
from thomax.model.posterior import log_evidence
from thomax.model.prior import LiftedEvidence, Prior, _evidence, default_prior, fit_prior, lift
from thomax.policies.sto import STOBNTSLinear
from thomax.space.pool import Pool

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
    found = fit_prior(NETWORK, x, y, inputs="sphere")
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

    chosen, default = fit_prior(NETWORK, x, y, "sphere"), default_prior(NETWORK, "sphere", None)
    assert evidence(chosen) > evidence(default) + 10


def log_prior(amplitude_square, ratio, scale):
    """One observation of unit size, and log-normal factors of e and e^3 about 1 and 0.01."""
    unit = stats.norm.logpdf(1, scale=np.sqrt(amplitude_square))
    return unit + stats.norm.logpdf([np.log(scale), np.log(ratio / 0.01) / 3]).sum()


def test_the_best_amplitude_is_that_of_evidence_times_priors():
    """At four points, where the prior counts: against SciPy's densities and line search."""
    found, expected = [], []
    for scale, ratio in ((1.0, 0.01), (4.0, 0.25)):
        x, y = draw_from_prior(scale, 0.1, amplitude=3.0, n=4)
        with float64():
            z = np.asarray(lift(x, scale))
            K = np.asarray(exact_ntk(NETWORK)(z, z))
        covariance = K + ratio * np.eye(4)

        def loss(log_square, y=y, covariance=covariance, ratio=ratio, scale=scale):
            square = np.exp(log_square)
            likelihood = stats.multivariate_normal.logpdf(y, cov=square * covariance)
            return -likelihood - log_prior(square, ratio, scale)

        best = optimize.minimize_scalar(loss, bounds=(-6, 6), method="bounded")
        evidence, amplitude = _evidence(K, y, scale, ratio)
        assert amplitude**2 == pytest.approx(np.exp(best.x), rel=1e-3)
        found.append(evidence)
        expected.append(-best.fun)
    assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], abs=1e-4)


def test_the_priors_of_the_ascent_are_those_of_the_grid_and_of_the_dimensions():
    def expected(p):
        dimensions = stats.norm.logpdf(p[3:], scale=0.25).sum()
        return -log_prior(np.exp(p[0]), np.exp(p[1]), np.exp(p[2])) - dimensions

    points = np.random.default_rng(0).normal(size=(5, 6))
    loss = LiftedEvidence(exact_ntk(NETWORK), 0.25, np.zeros((0, 3)), np.zeros(0))
    losses = np.array([[loss._hyperprior(p)[0], expected(p)] for p in points])
    np.testing.assert_allclose(*(losses - losses[0]).T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_the_evidence_and_its_gradient_are_those_of_jax(activation):
    """Against the textbook formula, differentiated by JAX through the kernel and the lifting."""
    kernel = exact_ntk(MLP(activation=activation))
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (9, 3)), rng.normal(size=9)

    def expected(p):
        z = lift(jnp.asarray(x), jnp.exp(p[2] + p[3:]))
        off_diagonal = jnp.where(jnp.eye(9, dtype=bool), kernel.diagonal(z)[:, None], kernel(z, z))
        A = jnp.exp(p[0]) * (off_diagonal + jnp.exp(p[1]) * jnp.eye(9))
        evidence = jax.scipy.stats.multivariate_normal.logpdf(y, jnp.zeros(9), A)
        amplitude = -0.5 * (jnp.exp(-p[0]) + p[0])
        ratio = -0.5 * ((p[1] - jnp.log(0.01)) / 3) ** 2
        scales = -0.5 * p[2] ** 2 - 0.5 * jnp.sum((p[3:] / 0.4) ** 2)
        return -(evidence + amplitude + ratio + scales)

    points = np.array([[0.3, -3.0, 0.2, 0.1, -0.4, 0.6], [-1.0, -5.0, 1.0, 0.0, 0.3, -0.2]])
    values, gradients = LiftedEvidence(kernel, 0.4, x, y)(points)
    with float64():
        found = [jax.value_and_grad(expected)(jnp.asarray(p)) for p in points]
    np.testing.assert_allclose(values, [v for v, _ in found], rtol=1e-10)
    np.testing.assert_allclose(gradients, [g for _, g in found], rtol=1e-7, atol=1e-8)


def test_hyperparameters_that_give_no_covariance_have_infinite_loss():
    loss = LiftedEvidence(exact_ntk(NETWORK), 0.25, np.zeros((5, 2)), np.arange(5.0))
    values, gradients = loss(np.array([[0.0, -800.0, 0.0, 0.0, 0.0]]))  # no noise at one point
    assert values[0] == np.inf
    assert np.isfinite(gradients).all()


def test_each_dimension_gets_the_scale_that_made_the_data():
    true = np.array([4.0, 1.0, 0.25, 0.25])
    x, y = draw_from_prior(true, 0.05, amplitude=2.0, d=4)
    found = fit_prior(NETWORK, x, y, inputs="sphere", scale_prior_std=0.5)
    assert found.scale.shape == (4,)
    assert (np.diff(found.scale[:3]) < 0).all()  # the order is found, and about the sizes:
    np.testing.assert_allclose(np.log(found.scale[:2]), np.log(true[:2]), atol=0.7)
    assert found.amplitude == pytest.approx(2.0, rel=0.6)


def test_the_ascent_ends_where_evidence_times_priors_is_largest():
    x, y = draw_from_prior(np.array([2.0, 0.5]), 0.1, amplitude=1.0, n=60)
    found = fit_prior(NETWORK, x, y, inputs="sphere", scale_prior_std=0.5)

    def posterior(scale, noise_std, amplitude, common):
        with float64():
            z = np.asarray(lift(x, scale))
            K = np.asarray(exact_ntk(NETWORK)(z, z))
        log_priors = (
            -0.5 * (amplitude**-2 + 2 * np.log(amplitude))
            - 0.5 * ((2 * np.log(noise_std) - np.log(1e-2)) / 3) ** 2
            - 0.5 * common**2
            - 0.5 * np.sum(((np.log(scale) - common) / 0.5) ** 2)
        )
        return log_evidence(amplitude**2 * K, y, amplitude * noise_std) + log_priors

    # The best common scale of given ones: a normal mean with one more observation, at zero.
    common = 4 * np.log(found.scale).sum() / (4 * 2 + 1)
    best = posterior(found.scale, found.noise_std, found.amplitude, common)
    for factors in ([1.3, 1], [1 / 1.3, 1], [1, 1.3], [1, 1 / 1.3]):
        assert posterior(found.scale * factors, found.noise_std, found.amplitude, common) < best
    for factor in (1.3, 1 / 1.3):
        assert posterior(found.scale, found.noise_std * factor, found.amplitude, common) < best
        assert posterior(found.scale, found.noise_std, found.amplitude * factor, common) < best


def test_dimensions_that_do_not_differ_keep_about_one_scale():
    x, y = draw_from_prior(1.0, 0.1, amplitude=1.0, n=80, d=5)
    scale = fit_prior(NETWORK, x, y, inputs="sphere", scale_prior_std=0.5).scale
    assert scale.max() < 3 * scale.min()


def test_many_dimensions_share_one_scale():
    x = np.random.default_rng(0).normal(size=(20, 101))
    found = fit_prior(NETWORK, x, x[:, 0], inputs="sphere", scale_prior_std=0.5)
    assert np.ndim(found.scale) == 0


@pytest.mark.parametrize("scale_prior_std", [0.0, 0.5])
@pytest.mark.parametrize("limit", [0.1, 0.32, 1.0])
def test_noise_stays_below_its_limit(limit, scale_prior_std):
    rng = np.random.default_rng(0)
    x = np.repeat(rng.uniform(-1, 1, (30, 3)), 2, axis=0)  # evaluated twice, and never alike
    found = fit_prior(
        NETWORK, x, rng.normal(size=60), True, scale_prior_std=scale_prior_std, max_noise_std=limit
    )
    assert 0.3 * limit < found.noise_std <= limit * (1 + 1e-9)


@pytest.mark.slow
def test_large_noise_is_found_where_it_is_allowed():
    x, y = draw_from_prior(1.0, 0.8, amplitude=1.0, n=200)
    found = fit_prior(NETWORK, x, y, inputs="sphere", scale_prior_std=0.5, max_noise_std=1.0)
    assert found.noise_std == pytest.approx(0.8, rel=0.4)


def test_data_like_noise_do_not_make_draws_planes():
    """Planes have their maxima in corners, and a search that believes in them never leaves."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.uniform(-1, 1, (20, 6)), 2, axis=0)
    found = fit_prior(NETWORK, x, rng.normal(size=40), inputs="sphere", scale_prior_std=0.25)
    assert np.exp(np.log(found.scale).mean()) > 0.4  # 0.1 if the ascent has no lower bound


def test_an_ascent_that_fails_keeps_one_scale_for_all(monkeypatch):
    x, y = draw_from_prior(1.0, 0.1, amplitude=1.0, n=20)
    nothing = np.nan, np.zeros(3 + 2)
    monkeypatch.setattr(LiftedEvidence, "_loss", lambda *_: nothing)
    found = fit_prior(NETWORK, x, y, inputs="sphere", scale_prior_std=0.5)
    assert found == fit_prior(NETWORK, x, y, inputs="sphere")


def test_a_scale_for_all_or_for_each_gives_draws_the_same_shape():
    assert Prior(None, 0.1).lifting(3, 4) is None
    np.testing.assert_array_equal(Prior(2.0, 0.1).lifting(3, 2), np.full((3, 2), 2.0))
    np.testing.assert_array_equal(Prior(np.array([1.0, 2.0]), 0.1).lifting(2, 2), [[1, 2], [1, 2]])


def test_few_points_and_unknown_kernels_keep_the_default():
    x, y = np.zeros((3, 2)), np.arange(3.0)
    assert fit_prior(NETWORK, x, y, "sphere") == default_prior(NETWORK, "sphere", None)
    images = np.zeros((9, 4, 4, 1))
    assert fit_prior(CNN(), images, np.arange(9.0), "sphere") == Prior(None, 0.1)
    assert fit_prior(MLP(activation="gelu"), images, np.arange(9.0), "sphere").amplitude == 1.0
    assert default_prior(CNN(), "sphere", 0.2) == Prior(None, 0.2)


def test_a_prior_without_sphere_is_fitted_on_the_cube():
    x, y = draw_from_prior(1.0, 0.1, 1.0)
    found = fit_prior(NETWORK, x, y, inputs="cube")
    assert found.scale is None
    np.testing.assert_array_equal(found.inputs(x), x)
    assert found.amplitude > 0


def test_the_unit_cube_is_seen_by_the_evidence_the_prior_and_the_draws_alike():
    """The same data from 0 to 1, given as they are to a model that leaves points alone."""
    x, y = draw_from_prior(1.0, 0.1, 1.0)
    found = fit_prior(NETWORK, x, y, inputs="unit_cube")
    moved = fit_prior(NETWORK, 0.5 * (x + 1), y, inputs="cube")
    assert (found.amplitude, found.noise_std) == (moved.amplitude, moved.noise_std)
    np.testing.assert_array_equal(found.inputs(x), moved.inputs(0.5 * (x + 1)))
    x = x.astype(np.float32)
    keys, new, data = make_keys(0, 2), 0.9 * x, Data(x, y)
    unit = Data(0.5 * (x + 1), y)
    for network in (MLP(1, 32, "erf"), MLP(1, math.inf, "erf")):
        policy = STOBNTSLinear(network, inputs="unit_cube", prior_width=64)
        plain = STOBNTSLinear(network, inputs="cube", prior_width=64)
        np.testing.assert_allclose(
            policy(keys, data)(new), plain(keys, unit)(0.5 * (new + 1)), rtol=1e-3, atol=1e-2
        )
        kernels = (p.prior_kernel((2,)) for p in (policy, plain))
        seen, moved = (gram(k, z, z) for k, z in zip(kernels, (new, 0.5 * (new + 1)), strict=True))
        np.testing.assert_allclose(seen, moved, rtol=1e-4)


def test_images_are_seen_as_they_are_in_the_unit_cube():
    """A pool has brought their pixels to [0, 1] itself."""
    images = Pool(np.arange(256, dtype=np.uint8).reshape(4, 8, 8)).at([0, 3])
    assert images.min() == 0
    assert images.max() == 1
    prior = default_prior(CNN(), "unit_cube", None)
    np.testing.assert_array_equal(prior.inputs(images), images)

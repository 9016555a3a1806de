"""GP-TS and GP-UCB: their laws against independent computations, and data of every kind."""

import math
from dataclasses import replace

import jax
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern
from toys import EDGES, toy

from thomax.keys import make_key, make_keys
from thomax.model import evaluation, kernels
from thomax.model.data import Data
from thomax.model.evaluation import evaluator
from thomax.model.fourier import draw_frequencies, feature_matrix
from thomax.model.kernels import NTK, SE, Matern52, exact_ntk
from thomax.model.networks import MLP
from thomax.model.posterior import mean_and_covariance
from thomax.model.targets import standardise
from thomax.policies.gp import GPTS, GPUCB
from thomax.policies.sto import STOBNTSLinear

SCALES = np.array([0.7, 1.5])
NEW = np.array([[0.0, 0.0], [0.9, -0.9], [0.3, 0.5]])
RAW = {"fit": False, "noise_std": 0.3, "standardise": False}


def reference(kernel, data, new, noise_std=0.3):
    """Return the posterior's mean and covariance, in plain NumPy."""

    def k(a, b):
        r = np.sqrt((((a[:, None] - b[None]) / kernel.length_scale) ** 2).sum(-1))
        if isinstance(kernel, SE):
            return kernel.variance * np.exp(-(r**2) / 2)
        r = math.sqrt(5) * r
        return kernel.variance * (1 + r + r**2 / 3) * np.exp(-r)

    x = data.x.astype(float)
    inverse = np.linalg.inv(k(x, x) + noise_std**2 * np.eye(len(x)))
    mean = k(new, x) @ inverse @ data.y
    return mean, k(new, new) - k(new, x) @ inverse @ k(x, new)


def mean_and_std(data, new, kernel, **settings):
    """Return what GPUCB believes, from its bounds at kappa 0 and 1."""
    mean, bound = (GPUCB(kernel, kappa=a, **settings)(0, data)(new) for a in (0.0, 1.0))
    return mean, bound - mean


def assert_same_law(values, mean, covariance, variance_of_kernel=0.0):
    """Compare draws (B, N) with a law, within four standard errors.

    The sample covariance of two Gaussians has variance (s s' + c^2) / B; a random kernel adds
    twice its own variance, relative to the prior, at most.
    """
    four_sigma = 4 / np.sqrt(len(values))
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((values.mean(0) - mean) / deviation, 0, atol=four_sigma)
    scale = np.outer(deviation, deviation)
    spread = np.sqrt(1 + (covariance / scale) ** 2 + 2 * variance_of_kernel)
    assert (np.abs(np.cov(values.T) - covariance) / scale < four_sigma * spread).all()


@pytest.mark.parametrize("kernel", [SE(SCALES, 2.0), Matern52(SCALES, 2.0)], ids=["se", "matern"])
def test_mean_and_deviation_are_those_of_numpy_and_scikit_learn(kernel):
    data = toy(7)
    mean, std = mean_and_std(data, NEW, kernel, **RAW)
    expected, covariance = reference(kernel, data, NEW)
    np.testing.assert_allclose(mean, expected, rtol=1e-6)
    np.testing.assert_allclose(std, np.sqrt(np.diag(covariance)), rtol=1e-6)
    theirs = 2.0 * (RBF(SCALES) if isinstance(kernel, SE) else Matern(SCALES, nu=2.5))
    model = GaussianProcessRegressor(theirs, alpha=0.09, optimizer=None).fit(data.x, data.y)
    expected, deviation = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=1e-5)
    np.testing.assert_allclose(std, deviation, rtol=1e-5)


def test_pending_points_shrink_the_deviation_but_leave_the_mean():
    kernel, data = Matern52(SCALES), toy(5, pending=2)
    mean, std = mean_and_std(data, NEW, kernel, **RAW)
    observed = Data(data.x, data.y)
    told = Data(np.concatenate([data.x, data.pending]), np.concatenate([data.y, [7.0, -7.0]]))
    np.testing.assert_allclose(mean, mean_and_std(observed, NEW, kernel, **RAW)[0], rtol=1e-9)
    np.testing.assert_allclose(std**2, np.diag(reference(kernel, told, NEW)[1]), rtol=1e-6)
    assert (std < mean_and_std(observed, NEW, kernel, **RAW)[1]).all()


def test_kappa_may_depend_on_n_and_the_deviation_may_count_the_noise():
    data = toy(5)
    expected, covariance = reference(SE(SCALES), data, NEW)
    found = GPUCB(SE(SCALES), kappa=lambda n: 0.1 * n, predictive=True, **RAW)(0, data)(NEW)
    bound = expected + 0.5 * np.sqrt(np.diag(covariance) + 0.09)
    np.testing.assert_allclose(found, bound, rtol=1e-6)


def test_a_bound_is_the_same_for_every_key():
    bounds = GPUCB(fit=False)(make_keys(0, 3), toy(5))(NEW)
    assert bounds.shape == (3, 3)
    np.testing.assert_array_equal(bounds, np.tile(bounds[0], (3, 1)))
    assert GPUCB.reads_pending


@pytest.mark.parametrize("kernel", [SE(SCALES, 2.0), Matern52(SCALES, 2.0)], ids=["se", "matern"])
def test_pathwise_draws_follow_the_exact_posterior(kernel):
    """12,000 draws. Every key has its own frequencies: over keys the law is exact for any number
    of features, and the kernel of 32 pairs has a variance below 1 / 32."""
    data, count = toy(4), 12_000
    policy = GPTS(kernel, prior_features=64, **RAW)
    values = policy(make_keys(1, count), data)(NEW)
    prior = 2.0 / np.diag(reference(kernel, data, NEW)[1]).min()
    assert_same_law(values, *reference(kernel, data, NEW), prior**2 / 32)
    wrong = Data(data.x, data.y + 0.3)
    with pytest.raises(AssertionError):
        assert_same_law(values, *reference(kernel, wrong, NEW), prior**2 / 32)


def test_feature_draws_follow_the_posterior_of_their_features():
    """Given its frequencies, each of 10,000 draws has the law of Bayesian linear regression.

    Whitened by the mean and covariance of its own frequencies, in M x M form, every draw must be
    standard normal.
    """
    data, count, s2 = toy(3), 10_000, 0.09
    draws = GPTS(SE(SCALES), features=16, **RAW)(make_keys(2, count), data)
    phi, new = (np.array([feature_matrix(o, x) for o in draws.omega]) for x in (data.x, NEW))
    inverse = np.linalg.inv(phi.transpose(0, 2, 1) @ phi + s2 * np.eye(16))
    mean = new @ inverse @ (phi.transpose(0, 2, 1) @ data.y)[..., None]
    root = np.linalg.cholesky(s2 * new @ inverse @ new.transpose(0, 2, 1))
    white = np.linalg.solve(root, draws(NEW)[..., None] - mean)[..., 0]
    assert_same_law(white, np.zeros(3), np.eye(3))


def test_a_feature_draw_is_a_sum_of_its_features():
    draw = GPTS(SE(SCALES), features=10, **RAW)(0, toy(4))
    assert draw.kernel is None
    assert draw.omega.shape == (1, 5, 2)
    assert draw.w.shape == (1, 10)


def test_infinitely_wide_sto_bnts_linear_is_gp_ts_with_the_tangent_kernel():
    """Not only in law: the same key gives the same draw."""
    data = toy(6)
    policy = GPTS("ntk", fit=False, noise_std=0.3, prior_features=64, beta=1.5)
    network = MLP(width=math.inf, activation="erf")
    same = STOBNTSLinear(network, noise_std=0.3, inputs="cube", prior_width=64, beta=1.5)
    found, expected = (p(make_keys(3, 4), data)(NEW) for p in (policy, same))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_tangent_draws_follow_the_posterior_and_so_does_wide_sto_bnts_linear():
    """4,000 draws at width 256, whose kernel differs by about 1 / 256 on average."""
    data, count = toy(4), 4000
    x, network = data.x.astype(float), MLP(1, 256, "erf")
    kernel = exact_ntk(network)
    K, k, prior = (kernels.gram(kernel, a, b) for a, b in ((x, x), (x, NEW), (NEW, NEW)))
    mean, covariance = mean_and_covariance(K, k, prior, data.y, 0.3)
    gp = GPTS(kernel, prior_features=256, **RAW)
    wide = STOBNTSLinear(network, noise_std=0.3, inputs="cube", standardise=False)
    scale = np.sqrt(np.diag(covariance))
    for policy in (gp, wide):
        values = policy(make_keys(4, count), data)(NEW)
        four_sigma = 4 / np.sqrt(count)
        np.testing.assert_allclose(
            (values.mean(0) - mean) / scale, 0, atol=1.1 * four_sigma + 4 / 256
        )
        error = (np.cov(values.T) - covariance) / np.outer(scale, scale)
        np.testing.assert_allclose(error, 0, atol=1.5 * four_sigma + 4 / 256)
    found, std = mean_and_std(data, NEW, kernel, **RAW)
    np.testing.assert_allclose(found, mean, rtol=1e-6)
    np.testing.assert_allclose(std, scale, rtol=1e-6)


@pytest.mark.parametrize("features", [None, 64])
def test_beta_leaves_the_mean_and_scales_the_deviation(features):
    data = toy(6)
    one, two, three = (
        GPTS(SE(SCALES), fit=False, features=features, prior_features=64, beta=b)(1, data)(NEW)
        for b in (1.0, 2.0, lambda n: n / 2)
    )
    np.testing.assert_allclose(three - two, two - one, atol=1e-4)
    assert np.abs(two - one).max() > 0.01
    if features is None:
        mean = mean_and_std(data, NEW, SE(SCALES), fit=False)[0]
        np.testing.assert_allclose(2 * one - two, mean, atol=1e-4)


def test_a_fitted_policy_ignores_an_irrelevant_dimension_and_predicts_the_rest():
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (40, 3))
    new = rng.uniform(-1, 1, (100, 3))
    f = lambda z: np.sin(3 * z[:, 0]) + z[:, 1]  # noqa: E731
    score = GPUCB(kappa=0.0)(0, Data(x, f(x)))
    scales = score.kernel.length_scale[0]
    assert scales[2] > 5 * scales[:2].max()
    np.testing.assert_allclose(score(new), f(new), atol=0.1)
    draws = GPTS()(make_keys(0, 3), Data(x, f(x)))
    np.testing.assert_allclose(draws(new), np.tile(f(new), (3, 1)), atol=0.2)


def test_as_released_the_first_length_scale_serves_all_dimensions():
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, (40, 3))
    data = Data(x, 100 + 50 * np.sin(3 * x[:, 1]))
    keys, ucb = make_keys(0, 2), GPUCB.released()(0, data)
    scales = ucb.kernel.length_scale[0]
    assert scales[1] < scales[0] / 5
    assert ucb.noise[0] > 0
    one = 4 / np.sqrt(2 * 1000)  # relative errors of deviations of 1,000 frequencies
    released, paper = GPTS.released()(keys, data), GPTS.paper()(keys, data)
    assert released.omega.shape == (2, 500, 3)
    np.testing.assert_allclose(released.omega.std((0, 1)) * scales[0], 1, atol=one)
    np.testing.assert_allclose(paper.omega.std((0, 1)) * scales, 1, atol=one)


def test_a_bound_of_random_features_is_that_of_ridge_regression_on_them():
    """Mean phi nu with nu = S^-1 Phi^T y, S = Phi^T Phi + s2 I, deviation s phi^T S^-1 phi."""
    data = toy(8, pending=1)
    policy = GPUCB(SE(SCALES), fit=False, noise_std=0.3, features=20, kappa=1.5, standardise=False)
    keys = make_keys(0, 2)
    found = policy(keys, data)(NEW)
    omega = draw_frequencies(keys, SE(SCALES), 10, 2)
    for row, waves in zip(found, omega, strict=True):
        phi, new = (feature_matrix(waves, np.asarray(x, float)) for x in (data.x, NEW))
        both = np.concatenate([phi, feature_matrix(waves, data.pending)])
        nu = np.linalg.solve(phi.T @ phi + 0.09 * np.eye(20), phi.T @ data.y)
        S = both.T @ both + 0.09 * np.eye(20)
        deviation = np.sqrt(0.09 * np.einsum("ni,ni->n", new, np.linalg.solve(S, new.T).T))
        np.testing.assert_allclose(row, new @ nu + 1.5 * deviation, rtol=1e-4, atol=1e-5)
    assert np.abs(found[0] - found[1]).max() > 0.01


@pytest.mark.parametrize("policy", [GPUCB(fit_every=20), GPTS("se", features=32, fit_every=20)])
def test_hyperparameters_change_only_at_every_twentieth_observation(policy):
    """In the order of trials, whatever failed between; all of them are fitted before the 20th."""
    data = toy(45)
    y = data.y.copy()
    y[3] = np.nan

    def scales(n):
        score = policy(0, Data(data.x[:n], y[:n]))
        return score.omega if isinstance(policy, GPTS) else score.kernel.length_scale

    np.testing.assert_array_equal(scales(21), scales(40))
    assert (scales(40) != scales(41)).any()
    assert (scales(20) != scales(21)).any()  # 19 gave a value, and are all fitted
    every = replace(policy, fit_every=1)
    fitted = every(0, Data(data.x[:21], y[:21]))
    expected = fitted.omega if isinstance(policy, GPTS) else fitted.kernel.length_scale
    np.testing.assert_array_equal(scales(21), expected)


POLICIES = {
    "exact": GPTS(prior_features=64),
    "features": GPTS("se", features=64),
    "ntk": GPTS("ntk", prior_features=64),
    "ucb": GPUCB(),
    "ucb ntk": GPUCB("ntk"),
    "ts paper": GPTS.paper(),
    "ucb paper": GPUCB.paper(),
    "ts released": GPTS.released(),
    "ucb released": GPUCB.released(),
}
EVERY = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


@EVERY
def test_scores_and_gradients_are_finite_whatever_the_data(policy):
    for name, data in EDGES.items():
        if name == "huge" and not policy.standardise:
            continue  # raw targets beyond float32 are the user's
        d = data.x.shape[1]
        x = np.random.default_rng(1).uniform(-1, 1, (4, d)).astype(np.float32)
        score = policy(make_keys(0, 2), data)
        points = np.concatenate([x, np.resize(data.x, (2, d))])
        assert np.isfinite(score(points)).all(), name
        values, gradients = evaluator(score).own_gradients(np.stack([points, points]))
        assert np.isfinite(values).all(), name
        assert np.isfinite(gradients).all(), name


def test_a_variance_that_rounds_below_zero_is_none():
    data = toy(40)
    score = GPUCB(SE(5.0), fit=False, noise_std=1e-7)(0, data)
    values, gradients = evaluator(score).own_gradients(data.x[None])
    assert np.isfinite(values).all()
    assert np.isfinite(gradients).all()


@EVERY
def test_neither_the_order_of_rows_nor_the_size_of_a_batch_matters(policy):
    data = toy(9)
    order = np.random.default_rng(0).permutation(9)
    batch = policy(make_keys(3, 3), data)(NEW)
    shuffled = policy(make_keys(3, 3), Data(data.x[order], data.y[order]))(NEW)
    np.testing.assert_array_equal(batch, shuffled)
    np.testing.assert_allclose(policy(make_key(3, 1), data)(NEW), batch[1], rtol=1e-4, atol=1e-4)
    if isinstance(policy, GPTS):
        assert np.abs(batch[0] - batch[1]).max() > 1e-3


@pytest.mark.parametrize("name", ["exact", "features", "ntk", "ucb"])
def test_scale_and_shift_of_the_values_only_scale_and_shift_the_score(name):
    data = toy(9)
    score, other = (POLICIES[name](1, Data(data.x, y))(NEW) for y in (data.y, 1e4 * data.y - 3e4))
    np.testing.assert_allclose(other, 1e4 * score - 3e4, rtol=1e-4, atol=1.0)


def test_images_are_flattened():
    images = np.random.default_rng(0).uniform(size=(12, 3, 3, 1))
    y = images.mean((1, 2, 3)) * 10
    for policy in (GPTS(prior_features=64), GPTS("ntk", fit=False), GPUCB(fit=False)):
        score = policy(0, Data(images, y, images[:2]))
        flat = policy(0, Data(images.reshape(12, 9), y, images[:2].reshape(2, 9)))
        np.testing.assert_allclose(score(images), flat(images.reshape(12, 9)), atol=1e-5)
        assert np.corrcoef(score(images), y)[0, 1] > 0.8


@pytest.mark.parametrize("policy", [GPTS(prior_features=16, fit=False), GPUCB(fit=False)])
def test_growing_data_compiles_once_a_size(policy):
    before = evaluation._common_points._cache_size(), kernels._gram._cache_size()
    data = toy(24, d=3, seed=int(policy == GPUCB(fit=False)))
    for n in range(25):
        policy(n, Data(data.x[:n], data.y[:n]))(data.x[:4])
    assert evaluation._common_points._cache_size() - before[0] <= 2
    assert kernels._gram._cache_size() - before[1] <= 2


def test_compilation_does_not_matter():
    data = toy(5)
    for policy in (GPTS(prior_features=16, fit=False), GPUCB(fit=False)):
        compiled = policy(1, data)(NEW)
        with jax.disable_jit():
            np.testing.assert_allclose(policy(1, data)(NEW), compiled, rtol=1e-5, atol=1e-5)


def test_the_prior_covariance_serves_the_initial_design():
    covariance = kernels.gram(GPTS(SE(SCALES, 2.0)).prior_kernel((2,)), NEW, NEW)
    nothing = Data(np.zeros((0, 2)), np.zeros(0))
    np.testing.assert_allclose(covariance, reference(SE(SCALES, 2.0), nothing, NEW)[1])
    standard = standardise(np.zeros(0))
    values = GPTS(SE(SCALES, 2.0), prior_features=16)(make_keys(0, 4000), nothing)(NEW)
    assert_same_law(values, np.full(3, standard.centre), covariance, 1 / 8)


def test_impossible_settings_are_refused():
    for policy in (GPTS, GPUCB):
        with pytest.raises(ValueError, match="noise_std > 0"):
            policy(noise_std=0.0)
        with pytest.raises(ValueError, match="matern52"):
            policy("periodic")
        assert isinstance(policy(NTK(1, "erf", 1.0, 0.1)).kernel, NTK)
    with pytest.raises(ValueError, match="beta > 0"):
        GPTS(beta=0.0)
    with pytest.raises(ValueError, match="even"):
        GPTS(features=3)
    with pytest.raises(ValueError, match="prior_features to be even and >= 2"):
        GPTS(prior_features=0)
    with pytest.raises(ValueError, match="features=None"):
        GPTS("ntk", features=100)
    with pytest.raises(ValueError, match="kappa >= 0"):
        GPUCB(kappa=-1.0)

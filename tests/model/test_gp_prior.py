"""The evidence of Gaussian processes, its gradient, and what maximising it finds."""

import math

import numpy as np
import pytest
import scipy.optimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from thomax.model import gp_prior, hyperparameters, kernels
from thomax.model.gp_prior import (
    ScaledKernel,
    default_length_scale,
    fit_hyperparameters,
    usual_hyperparameters,
)
from thomax.model.kernels import SE, Matern52, float64, gram
from thomax.model.padding import pad
from thomax.model.posterior import log_evidence


def toy(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    return x, np.sin(3 * x[:, 0]) + x[:, 1] + 0.1 * rng.normal(size=n)


def loss(name, p, x, y, size=16, hyperprior=False):
    """Return loss and gradient at one p (of three, as in a fit), with rows padded to a size."""
    kernel = gp_prior.named_kernel(name, 1)
    kernel = kernel if name == "ntk" else type(kernel)()
    mask = np.arange(size) < len(x)
    with float64():
        value, gradient = hyperparameters._losses(
            ScaledKernel(kernel, hyperprior),
            np.stack([p] * 3),
            pad(x, len(mask)),
            pad(y, len(mask)),
            mask,
        )
    return float(value[0]), np.asarray(gradient[0])


P = np.log([1.7, 0.05, 0.6, 1.3, 4.0])


@pytest.mark.parametrize("kernel", ["rbf", None, 3.0, RBF()])
def test_only_kernels_and_their_names_are_kernels(kernel):
    with pytest.raises(ValueError, match='A Gaussian process needs kernel to be "se"'):
        gp_prior.named_kernel(kernel, 2)
    assert gp_prior.named_kernel(SE(0.5), 2) == SE(0.5)


@pytest.mark.parametrize("name", ["se", "matern52"])
def test_the_evidence_is_that_of_scikit_learn(name):
    x, y = toy(12)
    shape = RBF(np.exp(P[2:])) if name == "se" else Matern(np.exp(P[2:]), nu=2.5)
    theirs = GaussianProcessRegressor(
        ConstantKernel(1.7) * shape + WhiteKernel(0.05), alpha=0.0, optimizer=None
    ).fit(x, y)
    value, gradient = loss(name, P, x, y)
    expected, slope = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(-expected, rel=1e-9)
    np.testing.assert_allclose(gradient, -slope[[0, 4, 1, 2, 3]], rtol=1e-5)


@pytest.mark.parametrize("name", ["se", "matern52", "ntk"])
def test_the_evidence_is_that_of_the_gaussian_algebra(name):
    x, y = toy(9)
    p = P[:2] if name == "ntk" else P
    kernel = gp_prior.named_kernel(name, 3)
    scaled = x if name == "ntk" else x / np.exp(P[2:])
    unit = kernel if name == "ntk" else type(kernel)()
    expected = log_evidence(1.7 * gram(unit, scaled, scaled), y, math.sqrt(0.05))
    assert loss(name, p, x, y)[0] == pytest.approx(-expected, rel=1e-9)


@pytest.mark.parametrize("hyperprior", [False, True])
@pytest.mark.parametrize("name", ["se", "matern52", "ntk"])
def test_the_gradient_is_that_of_finite_differences(name, hyperprior):
    x, y = toy(10)
    p = P[:2] if name == "ntk" else P
    found = loss(name, p, x, y, hyperprior=hyperprior)[1]
    expected = scipy.optimize.approx_fprime(
        p, lambda q: loss(name, q, x, y, hyperprior=hyperprior)[0], 1e-6
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["matern52", "ntk"])
def test_padding_changes_neither_value_nor_gradient(name):
    x, y = toy(10)
    p = P[:2] if name == "ntk" else P
    (value, gradient), (padded, slope) = loss(name, p, x, y, 10), loss(name, p, x, y)
    assert padded == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(slope, gradient, rtol=1e-8)


def test_the_prior_over_length_scales_grows_with_the_root_of_the_dimension():
    """Its mode in the unit cube is sqrt(d) exp(sqrt 2 - 3), here twice that."""
    assert default_length_scale(1) == pytest.approx(2 * math.exp(math.sqrt(2) - 3))
    assert default_length_scale(100) == pytest.approx(10 * default_length_scale(1))
    mode = np.array([0.0, -5.0, *np.log([default_length_scale(2)] * 2)])
    with float64():
        _, gradient = hyperparameters._losses(
            ScaledKernel(SE(), True), mode[None], np.zeros((1, 2)), np.zeros(1), np.array([False])
        )
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


@pytest.mark.parametrize("kernel", ["se", "matern52"])
def test_length_scales_find_an_irrelevant_dimension(kernel):
    x, y = toy(48)
    found = fit_hyperparameters(usual_hyperparameters(kernel, None, 3), x, y)
    scales = found.kernel.length_scale
    assert scales[2] > 5 * scales[:2].max()
    assert found.noise_std * found.amplitude == pytest.approx(0.1, rel=0.35)


@pytest.mark.filterwarnings("ignore:The optimal value found")
def test_without_priors_the_fit_is_as_good_as_that_of_scikit_learn():
    x, y = toy(48)
    bounds = {"length_scale_bounds": (1e-2, 1e4)}
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF([1.0] * 3, **bounds) + WhiteKernel(
        0.1, (1e-6, 10)
    )
    theirs = GaussianProcessRegressor(kernel, alpha=0.0).fit(x, y)
    found = fit_hyperparameters(usual_hyperparameters("se", None, 3), x, y, hyperprior=False)
    ours = log_evidence(
        found.amplitude**2 * gram(found.kernel, x, x), y, found.noise_std * found.amplitude
    )
    assert ours > theirs.log_marginal_likelihood_value_ - 0.1


def test_a_given_noise_is_kept_whatever_the_scale_of_the_values():
    x, y = toy(48)
    before = usual_hyperparameters("matern52", 5.0, 3)
    found = fit_hyperparameters(before, x, 100 * y, fixed_noise=True)
    assert found.noise_std * found.amplitude == pytest.approx(5.0)
    assert found.amplitude > 10


def test_the_scale_of_the_values_only_scales_amplitude_and_noise():
    x, y = toy(48)
    small, large = (
        fit_hyperparameters(usual_hyperparameters("se", None, 3), x, a * y, hyperprior=False)
        for a in (1.0, 1000.0)
    )
    assert large.amplitude == pytest.approx(1000 * small.amplitude, rel=1e-3)
    assert large.noise_std == pytest.approx(small.noise_std, rel=1e-3)


def test_the_tangent_kernel_gets_amplitude_and_noise():
    x, y = toy(48)
    before = usual_hyperparameters("ntk", None, 3)
    found = fit_hyperparameters(before, x, y)
    assert found.kernel is before.kernel
    K = gram(found.kernel, x, x)
    best = log_evidence(found.amplitude**2 * K, y, found.noise_std * found.amplitude)
    for a, b in ((2, 1), (0.5, 1), (1, 3), (1, 1 / 3)):
        other = log_evidence(
            (a * found.amplitude) ** 2 * K, y, b * found.noise_std * found.amplitude
        )
        assert other < best


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (toy(3)[0], [1.0, 2.0, 3.0]),
        (toy(8)[0], np.zeros(8)),
        (toy(8)[0], np.full(8, np.nan)),
        (toy(8)[0], np.full(8, np.inf)),
        (toy(8)[0], np.full(8, 1e308)),
        (np.zeros((0, 3)), []),
    ],
    ids=["few", "zero", "nan", "infinite", "huge", "none"],
)  # fmt: skip
def test_what_teaches_nothing_leaves_the_usual_hyperparameters(x, y):
    before = usual_hyperparameters("matern52", None, 3)
    assert fit_hyperparameters(before, x, np.array(y)) is before


def test_a_fit_that_fails_leaves_the_usual_hyperparameters(monkeypatch):
    monkeypatch.setattr(
        hyperparameters, "_losses", lambda f, p, *_: (np.full(len(p), np.nan), 0 * p)
    )
    before = usual_hyperparameters("matern52", None, 3)
    assert fit_hyperparameters(before, *toy(8)) is before


def test_the_best_of_the_starts_is_kept(monkeypatch):
    monkeypatch.setattr(gp_prior, "_ITERATIONS", 0)
    before = usual_hyperparameters("se", None, 3)
    x = toy(48)[0]
    noisy = x[:, 0] + 0.3 * np.random.default_rng(1).normal(size=48)
    for y, factor in ((noisy, 4.0), (np.sin(5 * x).sum(1), 0.5)):
        found = fit_hyperparameters(before, x, y, hyperprior=False)
        np.testing.assert_allclose(found.kernel.length_scale, factor * before.kernel.length_scale)


def test_many_points_are_thinned_out(monkeypatch):
    x, y = toy(600)
    seen = []
    original = hyperparameters._losses
    monkeypatch.setattr(gp_prior, "_ITERATIONS", 1)
    monkeypatch.setattr(
        hyperparameters, "_losses", lambda *a: (seen.append(int(a[-1].sum())), original(*a))[1]
    )
    fit_hyperparameters(usual_hyperparameters("se", None, 3), x, y)
    assert set(seen) == {200}


def test_growing_data_compiles_once_a_size():
    x, y = toy(24)
    before = hyperparameters._losses._cache_size(), kernels._gram._cache_size()
    for n in range(4, 25):
        fit_hyperparameters(usual_hyperparameters("matern52", None, 3), x[:n], y[:n])
        gram(Matern52(np.ones(3)), x[:n], x[:n])
    assert hyperparameters._losses._cache_size() - before[0] <= 2  # 16 and 24 rows
    assert kernels._gram._cache_size() - before[1] <= 2

"""Algorithms 1 and 2: the laws of their draws, and that nothing irrelevant changes them."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import EDGES, toy

from thomax.keys import make_key, make_keys
from thomax.model import tangents
from thomax.model.data import Data
from thomax.model.kernels import empirical_ntk, exact_ntk, float64
from thomax.model.networks import CNN, MLP, Custom
from thomax.model.padding import pad, padded_size
from thomax.model.posterior import mean_and_covariance, unperturbed_covariance
from thomax.model.prior import lift
from thomax.model.targets import standardise
from thomax.model.training import train_linear
from thomax.policies.base import FunctionPolicy
from thomax.policies.ensemble import DeepEnsemble
from thomax.policies.gp import GPTS
from thomax.policies.sto import STOBNTS, STOBNTSLinear
from thomax.space.parameters import Float
from thomax.space.space import Space
from thomax.suggest import belief_policy
from thomax.theory import BetaSchedule

SMALL = MLP(1, 32, "erf")
SQUARE = Space({"x": Float(0, 1), "y": Float(0, 1)})
BOTH = [STOBNTSLinear(SMALL, noise_std=0.1), STOBNTS(SMALL, noise_std=0.1)]
INFINITE = STOBNTSLinear(MLP(2, math.inf, "erf"), noise_std=0.1, prior_width=64)


@pytest.mark.parametrize("perturb", [True, False])
def test_linear_draws_follow_the_posterior(perturb):
    """The claim of the method, over 40,000 draws of (theta0, eps) at one theta0'.

    With perturbed targets mean and covariance are the posterior's; without, the covariance is
    smaller by s2 k^T A^-2 k, and the two are told apart. Tolerances are four standard errors.
    """
    draws, noise = 40_000, 0.7
    network = MLP(1, 3, "erf")
    rng = np.random.default_rng(1)
    x, new = (rng.uniform(-1, 1, (n, 2)).astype(np.float32) for n in (3, 4))
    y = np.array([1.0, -0.5, 0.7])
    theta0_prime = rng.normal(size=network.size((2,))).astype(np.float32)
    theta0 = rng.normal(size=(draws, len(theta0_prime))).astype(np.float32)
    eps = noise * rng.normal(size=(draws, 3)) if perturb else np.zeros((draws, 3))
    theta = train_linear(
        network, np.tile(theta0_prime, (draws, 1)), theta0, pad(x, 4), y + eps, noise**2,
    )  # fmt: skip
    with float64():
        J_new = np.asarray(jax.jacrev(lambda t: network.apply(t, new.astype(float)))(
            jnp.asarray(theta0_prime, float)))  # fmt: skip
    values = theta @ J_new.T

    K, k = empirical_ntk(network, theta0_prime, x), empirical_ntk(network, theta0_prime, x, new)
    prior = J_new @ J_new.T
    mean, exact = mean_and_covariance(K, k, prior, y, noise)
    smaller = unperturbed_covariance(K, k, prior, noise)
    expected, other = (exact, smaller) if perturb else (smaller, exact)

    deviation = np.sqrt(np.diag(expected))
    np.testing.assert_allclose((values.mean(0) - mean) / deviation, 0, atol=4 / np.sqrt(draws))
    correlation = expected / np.outer(deviation, deviation)
    error = np.sqrt((1 + correlation**2) / draws)  # of a covariance, in units of the deviations
    found = np.cov(values.T) / np.outer(deviation, deviation)
    assert (np.abs(found - correlation) < 4 * error).all()
    wrong = other / np.outer(deviation, deviation)
    assert (np.abs(found - wrong) > 6 * error).any()


@pytest.mark.slow
def test_the_prior_of_algorithm_1_has_the_tangent_kernel_not_the_nngp_kernel():
    x = np.array([[-0.8, 0.3], [0.2, 0.9], [0.5, -0.5]])
    network, draws = MLP(1, 256), 8000
    prior = STOBNTS(network, noise_std=0.1, inputs="cube")(
        make_keys(0, draws), Data(np.zeros((0, 2)), np.zeros(0))
    )
    assert not prior.theta0_prime[:, network.output_mask((2,))].any()
    found = np.cov(prior(x).T)
    nngp = np.cov(
        np.array([network.apply(t, x.astype(np.float32)) for t in prior.theta0[:1500]]).T
    )
    with float64():
        ntk = np.asarray(exact_ntk(network)(x, x))
    scale = np.sqrt(np.outer(np.diag(ntk), np.diag(ntk)))
    # Finite width adds some kurtosis to the Monte-Carlo error, and a bias of order 1 / width.
    four_sigma = 4 * np.sqrt(2.1 / draws) + 1 / 256
    assert (np.abs(found - ntk) / scale < four_sigma).all()
    assert (np.abs(found - nngp) / scale > 5 * four_sigma).any()


def raw(policy, width, **settings):
    """Return a policy whose law is known: targets as they are, no lifting, given noise."""
    network = MLP(1, width, "erf")
    return policy(network, noise_std=0.5, inputs="cube", standardise=False, **settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "draws"),
    [
        (raw(STOBNTSLinear, math.inf, prior_width=256), 6000),
        (raw(STOBNTSLinear, 256), 6000),
        (raw(STOBNTSLinear, 256, perturb=False, beta=2.0), 6000),
        (raw(STOBNTS, 256, beta=2.0), 1000),
        (raw(STOBNTS, 256, perturb=False), 1000),
    ],
)
def test_draws_of_a_policy_follow_the_exact_posterior(policy, draws):
    """Mean and covariance at three points, by the exact kernel's formulas and the policy's noise.

    The networks are wide enough that their bias is below the four standard errors allowed, and
    that of 4 / width which is added to them.
    """
    data = toy(4)
    new = np.array([[0.0, 0.0], [0.9, -0.9], data.x[0]])
    values = np.concatenate(
        [policy(make_keys(1, 500, first=500 * i), data)(new) for i in range(draws // 500)]
    )
    with float64():
        kernel = exact_ntk(policy.network)
        x = data.x.astype(float)
        K, k, prior = (np.asarray(kernel(a, b)) for a, b in ((x, x), (x, new), (new, new)))
    mean, covariance = mean_and_covariance(K, k, prior, data.y, 0.5)
    if not policy.perturb:
        covariance = unperturbed_covariance(K, k, prior, 0.5)
    covariance *= policy.beta**2
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((values.mean(0) - mean) / scale, 0, atol=4 / np.sqrt(draws))
    error = (np.cov(values.T) - covariance) / np.outer(scale, scale)
    np.testing.assert_allclose(error, 0, atol=4 * np.sqrt(2.1 / draws) + 4 / 256)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"perturb": False, "noise_std": 0.5}])
def test_exact_draws_on_a_finite_set_have_the_same_law_as_pathwise_ones(settings):
    data = toy(4)
    policy = STOBNTS(MLP(1, math.inf, "erf"), beta=2.0, **settings)
    assert settings or abs(policy.prior(data).amplitude - 1) > 0.2  # or it would not matter
    new = np.array([[0.0, 0.0], [0.9, -0.9]])
    exact = policy.on_set(make_keys(2, 8000), data, new)
    pathwise = policy(make_keys(3, 2000), data)(new)
    scale = exact.std(0)
    np.testing.assert_allclose(
        (exact.mean(0) - pathwise.mean(0)) / scale, 0, atol=4 * np.sqrt(1 / 8000 + 1 / 2000)
    )
    np.testing.assert_allclose(pathwise.std(0) / scale, 1, atol=0.08)


def test_exact_draws_on_a_finite_set_are_finite_where_values_are_near_the_largest_float():
    y = np.array([-1.7e308, 1.7e308, 1.7e308, -1.7e308])
    values = INFINITE.on_set(make_keys(0, 50), Data(toy(4).x, y), toy(20, seed=1).x)
    assert np.isfinite(values).all()
    assert np.abs(values).max() == np.finfo(np.float64).max  # some would lie beyond


@pytest.mark.slow
@pytest.mark.parametrize("policy", [STOBNTSLinear(SMALL, noise_std=0.1), INFINITE])
def test_beta_leaves_the_mean_and_scales_the_deviation(policy):
    """f_beta - mean = beta (f_1 - mean) for the same key, and three betas lie on one line."""
    data, x = toy(6), toy(30, seed=5).x
    one, two, three = (
        type(policy)(policy.network, noise_std=0.1, beta=b, prior_width=64)(make_keys(0, 3), data)(
            x
        )
        for b in (1.0, 2.0, 3.0)
    )
    np.testing.assert_allclose(three - two, two - one, atol=2e-3)
    mean = 2 * one - two  # the line at beta = 0
    assert np.abs(two - one).max() > 0.1
    if policy is INFINITE:  # there all keys share the kernel, and so the posterior mean
        np.testing.assert_allclose(mean - posterior_mean(data, x), 0, atol=1e-2)


def posterior_mean(data, x):
    standard = standardise(data.y)
    with float64():
        at, new = (np.asarray(lift(z.astype(float), 1.0)) for z in (data.x, x))
        kernel = exact_ntk(INFINITE.network)
        K, k = np.asarray(kernel(at, at)), np.asarray(kernel(at, new))
    solved = np.linalg.solve(K + 0.1**2 * np.eye(len(K)), standard.targets)
    return standard.centre + standard.scale * (k.T @ solved)


def test_beta_may_be_the_schedule_of_the_theorem():
    x = toy(5, seed=5).x
    schedule = STOBNTSLinear(SMALL, noise_std=0.1, beta=BetaSchedule(math.log(100), delta=0.1))
    fixed = STOBNTSLinear(SMALL, noise_std=0.1, beta=2 * math.log(math.pi**2 * 4**2 * 100 / 0.3))
    np.testing.assert_allclose(schedule(0, toy(3))(x), fixed(0, toy(3))(x), rtol=1e-5)


@pytest.mark.parametrize("policy", [*BOTH, INFINITE])
def test_a_draw_depends_on_its_key_alone(policy):
    data, x = toy(7), toy(20, seed=6).x
    batch = policy(make_keys(3, 4), data)(x)
    assert batch.shape == (4, 20)
    for i in range(4):
        single = policy(make_key(3, i), data)(x)
        assert single.shape == (20,)
        np.testing.assert_allclose(single, batch[i], rtol=1e-3, atol=2e-3)
    assert all(np.abs(batch[i] - batch[j]).max() > 0.05 for i in range(4) for j in range(i))


@pytest.mark.parametrize("policy", [*BOTH, INFINITE])
def test_order_of_rows_does_not_matter(policy):
    data, x = toy(9), toy(20, seed=6).x
    order = np.random.default_rng(0).permutation(9)
    shuffled = Data(data.x[order], data.y[order])
    np.testing.assert_array_equal(policy(1, data)(x), policy(1, shuffled)(x))


@pytest.mark.parametrize("policy", BOTH)
def test_padding_does_not_matter(policy, monkeypatch):
    data, x = toy(9), toy(20, seed=6).x
    padded = policy(1, data)(x)
    monkeypatch.setattr("thomax.policies.prepared.padded_size", lambda n, shape: max(n, 1))
    np.testing.assert_allclose(policy(1, data)(x), padded, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("policy", BOTH)
def test_compilation_does_not_matter(policy):
    data, x = toy(5), toy(6, seed=6).x
    compiled = policy(1, data)(x)
    with jax.disable_jit():
        np.testing.assert_allclose(policy(1, data)(x), compiled, rtol=2e-3, atol=2e-3)


SCRIPT = """
import json, jax, numpy as np
from thomax.model.data import Data
from thomax.model.networks import CNN, MLP
from thomax.policies.sto import STOBNTS, STOBNTSLinear
before = dict(jax.config.values)
rng = np.random.default_rng(0)
data = Data(rng.uniform(-1, 1, (9, 2)), rng.normal(size=9))
x = rng.uniform(-1, 1, (5, 2))
networks = [MLP(1, 32, "erf"), MLP(2, np.inf, "relu")]
policies = [p(n, prior_width=64) for p in (STOBNTS, STOBNTSLinear) for n in networks]
out = [policy(3, data)(x).tolist() for policy in policies]
assert dict(jax.config.values) == before, "the user's JAX configuration was touched"
print(json.dumps([out, str(jax.numpy.ones(1).dtype)]))
"""


def test_the_users_precision_setting_neither_matters_nor_changes():
    found = []
    for setting in ("0", "1"):
        environment = {**os.environ, "JAX_ENABLE_X64": setting}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        found.append(json.loads(run.stdout))
    assert [dtype for _, dtype in found] == ["float32", "float64"]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-4, atol=1e-4)


def test_growing_data_compiles_once_a_size():
    """At most one trace of what is compiled for each of the sizes, over n = 1 ... 60."""
    before = tangents._expand_compiled._cache_size()
    policy = STOBNTSLinear(CNN(width=2, activation="erf"), noise_std=0.1)
    images = np.random.default_rng(0).normal(size=(60, 3, 3, 1))
    for n in range(1, 61):
        policy(n, Data(images[:n], images[:n].sum((1, 2, 3))))
    sizes = len({padded_size(n, (3, 3, 1)) for n in range(1, 61)})
    assert 0 < tangents._expand_compiled._cache_size() - before <= sizes


@pytest.mark.parametrize("policy", [*BOTH, STOBNTS(MLP(2, 32)), STOBNTSLinear(), INFINITE])
@pytest.mark.parametrize("name", EDGES)
def test_draws_are_finite_whatever_the_data(policy, name):
    data = EDGES[name]
    x = np.random.default_rng(1).uniform(-1, 1, (10, data.x.shape[1]))
    with np.errstate(over="ignore"):
        values = policy(make_keys(0, 2), data)(np.concatenate([x, data.x]))
    assert np.isfinite(values).all()


def test_failures_are_no_trouble_for_raw_targets():
    data = Data(toy(4).x, [1.0, np.nan, 3.0, np.inf])
    policy = STOBNTSLinear(SMALL, noise_std=0.1, standardise=False)
    assert np.isfinite(policy(0, data)(data.x)).all()


def test_draws_pass_near_the_data_when_noise_is_small():
    data = toy(8)
    for policy in (
        STOBNTSLinear(MLP(2, 256), noise_std=0.01),
        STOBNTS(MLP(2, 256), noise_std=0.01, steps=12, polish=50),
    ):
        values = policy(make_keys(0, 4), data)(data.x)
        np.testing.assert_allclose(values, np.tile(data.y, (4, 1)), atol=0.1)


def test_every_neural_draw_carries_a_certificate():
    certificate = STOBNTS(SMALL, noise_std=0.1)(make_keys(0, 3), toy(10)).certificate
    assert certificate.loss.shape == certificate.decrease.shape == (3,)
    assert (certificate.decrease < 0.05).all()
    assert (certificate.iterations > 0).all()


def test_the_papers_gradient_descent_is_an_option():
    data, x = toy(6), toy(10, seed=3).x
    wide = MLP(1, 512, "erf")  # narrow networks have more than one minimum
    slow = STOBNTS(wide, noise_std=0.1, descent=(20_000, 5e-3))(0, data)
    fast = STOBNTS(wide, noise_std=0.1, steps=12, polish=40, tolerance=1e-5)(0, data)
    assert slow.certificate.iterations[0] == 20_000
    np.testing.assert_allclose(slow(x), fast(x), atol=0.1)


def custom_init(key):
    return [jax.random.normal(key, (16, 20)), jax.random.normal(key, (20,)) / 4]


def custom_apply(w, x):
    return jnp.tanh(x.reshape(len(x), -1) @ w[0]) @ w[1]


@pytest.mark.parametrize("network", [CNN(1, 32), Custom(custom_init, custom_apply), MLP(1, 64)])
@pytest.mark.parametrize("policy", [STOBNTS, STOBNTSLinear])
def test_images_and_user_networks_go_through_the_same_code(policy, network):
    rng = np.random.default_rng(0)
    images = rng.uniform(size=(10, 4, 4, 1))
    y = images.mean((1, 2, 3)) * 10
    draws = policy(network, noise_std=0.05)(make_keys(0, 2), Data(images, y))
    values = draws(images)
    assert values.shape == (2, 10)
    assert all(np.corrcoef(v, y)[0, 1] > 0.8 for v in values)


def test_a_large_batch_is_made_in_groups_that_change_nothing(monkeypatch):
    data, x = toy(5), toy(4, seed=1).x
    whole = STOBNTSLinear(SMALL, noise_std=0.1)(make_keys(0, 6), data)(x)
    monkeypatch.setattr("thomax.policies.prepared._ROWS_AT_ONCE", 32)
    np.testing.assert_allclose(
        STOBNTSLinear(SMALL, noise_std=0.1)(make_keys(0, 6), data)(x), whole, atol=1e-4
    )


@pytest.mark.parametrize("policy", [STOBNTS, STOBNTSLinear])
def test_impossible_settings_are_refused(policy):
    with pytest.raises(ValueError, match="scale_prior_std >= 0"):
        STOBNTSLinear(scale_prior_std=-0.1)
    for limit in (0.0, 0.001, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"max_noise_std >= 0\.01"):
            STOBNTSLinear(max_noise_std=limit)
    with pytest.raises(ValueError, match="noise_std > 0"):
        policy(noise_std=0.0)
    with pytest.raises(ValueError, match="beta > 0"):
        policy(beta=0.0)
    with pytest.raises(ValueError, match="finite width"):
        policy(CNN(width=math.inf))


def test_draws_of_warped_targets_answer_in_the_units_of_the_objective():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 2)).astype(np.float32)
    data = Data(x, -np.exp(2 * x[:, 0] + x[:, 1]))  # a long tail of bad values
    assert data.targets(True, warped=True).warping is not None
    best = np.argsort(data.y)[-20:]
    for policy in (STOBNTSLinear(SMALL), STOBNTS(SMALL)):
        errors = [
            np.abs(
                replace(policy, warp_targets=warp)(make_keys(0, 16), data)(x).mean(axis=0) - data.y
            )
            for warp in (True, False)
        ]
        assert np.quantile(errors[0], 0.9) < 0.01 * np.ptp(data.y)  # but for what is compressed
        assert errors[0][best].mean() < errors[1][best].mean()  # good values are told apart


def test_dimensions_that_matter_less_get_smaller_scales_in_the_draws():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (50, 3)).astype(np.float32)
    data = Data(x, np.sin(4 * x[:, 0]) + 0.3 * x[:, 1])
    lifting = STOBNTSLinear(SMALL)(make_keys(0, 2), data).lifting
    assert lifting.shape == (2, 3)
    assert lifting[0, 0] > 2 * lifting[0, 2]
    even = STOBNTSLinear(SMALL, scale_prior_std=0.0)(make_keys(0, 2), data).lifting
    assert np.ptp(even) == 0


def test_a_search_follows_what_a_model_takes_for_noise():
    rng = np.random.default_rng(2)
    x = np.repeat(rng.uniform(-1, 1, (10, 2)), 4, axis=0)
    data = Data(x, x[:, 0] + rng.normal(size=40))
    assert STOBNTSLinear(SMALL).prior(data).noise_std <= 0.1 + 1e-9
    believed = belief_policy(STOBNTSLinear(SMALL, beta=0.5), SQUARE)
    assert believed.beta == 0.5
    assert believed.prior(data).noise_std > 0.3
    assert belief_policy(STOBNTSLinear(SMALL), SQUARE, beta=2.0).beta == 2.0
    assert belief_policy(GPTS(), SQUARE, beta=1.0) == GPTS(beta=1.0)  # sets its noise by itself


def test_a_policy_that_is_a_function_is_its_own_model():
    policy = FunctionPolicy(lambda keys, data: None)
    assert belief_policy(policy, SQUARE) == policy


def test_of_too_many_observations_the_best_and_a_spread_of_the_others_are_kept():
    rng = np.random.default_rng(0)
    data = Data(rng.uniform(-1, 1, (60, 2)), rng.normal(size=60))
    policy = STOBNTSLinear(SMALL, noise_std=0.1, max_observations=20)
    order = np.argsort(-data.y)
    others = np.sort(order[10:])
    kept = np.r_[order[:10], others[np.linspace(0, 49, 10).astype(int)]]
    x = rng.uniform(-1, 1, (5, 2))
    expected = policy(0, Data(data.x[kept], data.y[kept]))(x)
    np.testing.assert_array_equal(policy(0, data)(x), expected)
    everything = replace(policy, max_observations=60)(0, data)(x)
    assert np.abs(everything - expected).max() > 0.01


@pytest.mark.parametrize("width", [32, np.inf])
def test_a_schedule_of_beta_counts_the_observations_that_are_left_out(width):
    rng = np.random.default_rng(1)
    data = Data(rng.uniform(-1, 1, (60, 2)), rng.normal(size=60))
    counts = []
    policy = STOBNTSLinear(
        MLP(width=width), noise_std=0.1, max_observations=20, prior_width=32,
        beta=lambda n: counts.append(n) or 1.0,
    )  # fmt: skip
    policy(0, data)
    policy(0, Data(data.x, np.where(np.arange(60) < 50, data.y, np.nan)))
    assert counts == [60, 50]


@pytest.mark.parametrize("scale", [1e10, 1e20, 1e39])
@pytest.mark.parametrize(
    "policy", [STOBNTS.paper(), DeepEnsemble.paper()], ids=["sto", "ensemble"]
)
def test_raw_targets_of_any_size_give_finite_draws_without_warnings(policy, scale):
    """Steps that overflow single precision are refused; training ends where it was before them."""
    data = toy(8)
    draws = policy(make_keys(0, 2), Data(data.x, scale * data.y))
    assert np.isfinite(draws(toy(20, seed=6).x)).all()
    if isinstance(policy, STOBNTS):
        assert ((draws.certificate.decrease >= 0) & (draws.certificate.decrease <= 1)).all()

"""Neural UCB and Neural TS: their variances against the formulas, their noise, their limits."""

import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from toys import EDGES, toy

from thomax.keys import make_keys
from thomax.model.data import Data
from thomax.model.evaluation import evaluate, evaluator
from thomax.model.kernels import exact_ntk, float64
from thomax.model.networks import CNN, MLP, Custom
from thomax.model.padding import padded_size
from thomax.model.posterior import mean_and_covariance
from thomax.policies import neural
from thomax.policies.neural import NeuralTS, NeuralUCB
from thomax.search.maximise import maximise
from thomax.space.parameters import Float
from thomax.space.space import Space

TINY = MLP(1, 8, "erf")
PLAIN = {"centred": False, "inputs": "cube", "standardise": False}


def custom_init(key):
    return [jax.random.normal(key, (16, 6)), jax.random.normal(key, (6,)) / 4]


def custom_apply(w, x):
    return jnp.tanh(x.reshape(len(x), -1) @ w[0]) @ w[1]


def images(n, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, 4, 4, 1))


@partial(jax.jit, static_argnums=0)
def differentiate(network, theta, x):
    gradient = jax.value_and_grad(lambda t, point: network.apply(t, point[None])[0])
    return jax.vmap(gradient, in_axes=(None, 0))(theta, x)


def mean_and_gradients(score, x):
    """Return outputs and gradients of a score's network in float64, point by point."""
    with float64():
        x = np.asarray(x, np.float32).astype(float)
        f, g = differentiate(score.network, score.theta[0].astype(float), x)
        return np.asarray(f), np.asarray(g)


CASES = {
    "vectors": (TINY, toy(5, pending=2), toy(7, seed=1).x),
    "images": (CNN(1, 3), Data(images(4), np.arange(4.0), pending=images(2, 1)), images(5, 2)),
    "no structure": (
        Custom(custom_init, custom_apply), Data(images(4), np.arange(4.0)), images(40, 2),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("variance", ["exact", "diagonal"])
def test_the_variance_is_that_of_the_papers_formula(variance, case):
    """nu lam g^T U^-1 g with U of p x p, or with its diagonal alone, as released."""
    network, data, new = CASES[case]
    lam, nu = 0.1, 2.0
    score = NeuralUCB(network, nu=nu, lam=lam, variance=variance, **PLAIN)(0, data)
    known = len(data) + len(data.pending)
    f, g = mean_and_gradients(score, np.concatenate([data.x, data.pending, new]))
    J, f, g = g[:known], f[known:], g[known:]
    U = lam * np.eye(J.shape[1]) + J.T @ J
    if variance == "diagonal":
        U = np.diag(np.diag(U))
    sigma = np.sqrt(nu * lam * np.einsum("np,np->n", g, np.linalg.solve(U, g.T).T))
    np.testing.assert_allclose(score(new), f + sigma, rtol=2e-5, atol=1e-5)


def test_a_wide_network_is_a_gaussian_process_with_its_tangent_kernel():
    """Mean and standard deviation of the limit; deviations are O(1 / sqrt(width)), 4 sigma."""
    width, data, new = 4096, toy(8), toy(7, seed=3).x
    network = MLP(1, width, "erf")
    policy = NeuralUCB(network, lam=0.01, inputs="cube", standardise=False)
    with float64():
        both = np.concatenate([data.x, new]).astype(float)
        K = np.asarray(jax.jit(exact_ntk(network))(both, both))
    mean, covariance = mean_and_covariance(K[:8, :8], K[:8, 8:], K[8:, 8:], data.y, 0.1)
    sigma = np.sqrt(np.diag(covariance))
    high = replace(policy, nu=4.0)(0, data)(new)
    low = policy(0, data)(new)
    scale = np.abs(mean).max()
    np.testing.assert_allclose(high - low, sigma, atol=4 / math.sqrt(width) * scale)
    np.testing.assert_allclose(2 * low - high, mean, atol=4 / math.sqrt(width) * scale)


def parts(evaluated):
    """Return the mean, sigma (nu = 4 doubles what UCB adds to the mean) and two keys' samples."""
    data, ucb = toy(5), NeuralUCB(TINY, lam=0.1, variance="diagonal")
    once, twice = evaluated(ucb(0, data))[0], evaluated(replace(ucb, nu=4.0)(0, data))[0]
    sigma, mean = twice - once, 2 * once - twice
    samples = evaluated(NeuralTS(TINY, lam=0.1, variance="diagonal")(make_keys(0, 2), data))
    return mean, sigma, samples


def test_the_noise_of_neural_ts_is_standard_normal_and_independent():
    """Of points and of keys; correlations of N numbers stay within four standard errors."""
    x = toy(4000, seed=2).x
    x[::2, 0] = x[1::2, 1] = 0.5  # many points are alike in a coordinate
    mean, sigma, samples = parts(lambda score: evaluate(score, x))
    first, second = (samples - mean) / sigma
    for xi in (first, second):
        assert stats.kstest(xi, "norm").pvalue > 1e-4
    for a, b in ((first, second), (first[1:], first[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(len(x))
    reversed_samples = parts(lambda score: evaluate(score, x[::-1]))[2]
    np.testing.assert_allclose(reversed_samples[:, ::-1], samples, rtol=1e-3, atol=1e-3)


def test_noise_has_no_gradient():
    """The score's gradient is that of the mean, plus xi times that of sigma."""
    x = np.tile(toy(3, seed=2).x, (2, 1, 1))

    def flat(score):
        values, gradients = evaluator(score).own_gradients(x[: len(score.centre)])
        return np.concatenate([values[..., None], gradients], axis=-1)

    mean, sigma, samples = parts(flat)
    xi = (samples[..., :1] - mean[..., :1]) / sigma[..., :1]
    np.testing.assert_allclose(samples, mean + xi * sigma, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("variance", ["exact", "diagonal"])
def test_pending_points_lower_the_variance_and_leave_the_mean(variance):
    policy = NeuralUCB(TINY, lam=0.01, variance=variance)
    data, there = toy(5), np.array([[0.9, 0.9]])
    away = np.array([[-0.9, -0.9]])
    waiting = Data(data.x, data.y, pending=there)
    before, after = policy(0, data), policy(0, waiting)
    np.testing.assert_array_equal(before.theta, after.theta)
    drop = before(there) - after(there)
    assert drop > 0.03
    assert drop > 1.5 * (before(away) - after(away)) >= 0


def test_asking_one_by_one_gives_different_points():
    assert NeuralUCB.reads_pending
    assert not NeuralTS.reads_pending
    space = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
    found, data = np.zeros((0, 2)), toy(6)
    for _ in range(3):
        score = NeuralUCB(TINY, lam=0.1)(0, Data(data.x, data.y, pending=found))
        params = maximise(np.random.default_rng(0), score, space)[0]
        found = np.concatenate([found, [[params["x"], params["y"]]]])
    gaps = np.abs(found[:, None] - found[None]).max(-1)[np.triu_indices(3, 1)]
    assert (gaps > 0.05).all()


def test_keys_of_one_seed_share_a_network():
    data, x = toy(5), toy(12, seed=6).x
    keys = np.concatenate([make_keys(3, 2), make_keys(4, 1)])
    policy = NeuralTS(TINY, lam=0.1, variance="diagonal")
    batch = policy(keys, data)
    np.testing.assert_array_equal(batch.theta[0], batch.theta[1])
    assert (batch.theta[2] != batch.theta[0]).any()
    for key, row in zip(keys, batch(x), strict=True):
        np.testing.assert_allclose(policy(key, data)(x), row, rtol=1e-3, atol=1e-3)
    assert np.abs(batch(x)[0] - batch(x)[1]).max() > 0.1


def test_order_scale_and_shift_of_the_data_do_not_matter():
    policy, data, x = NeuralTS(TINY), toy(9), toy(12, seed=6).x
    found = policy(1, data)(x)
    np.testing.assert_array_equal(policy(1, Data(data.x[::-1], data.y[::-1]))(x), found)
    scaled = policy(1, Data(data.x, 1000 * data.y - 5))(x)
    np.testing.assert_allclose(scaled, 1000 * found - 5, rtol=1e-3, atol=1)


def test_the_evidence_chooses_the_scales_unless_lam_is_given():
    data = toy(12)
    chosen, given = NeuralUCB(TINY)(0, data), NeuralUCB(TINY, lam=0.04)(0, data)
    assert given.amplitude == 1
    assert (given.lifting == 1).all()
    assert chosen.amplitude != 1
    assert np.corrcoef(chosen(data.x), data.y)[0, 1] > 0.9


def standard_mlp(weights, x):
    """Apply two hidden layers whose weights multiply as they are: [W1, b1, W2, b2, W3, b3]."""
    for W, b in zip(weights[0:4:2], weights[1:4:2], strict=True):
        x = jnp.maximum(x @ W + b, 0)
    return (x @ weights[4] + weights[5])[:, 0]


def standard_weights(network, theta, d):
    """Split parameters into weights and biases, and multiply them by their deviations."""
    found, m = [], int(network.width)
    for a, b in ((d, m), (m, m), (m, 1)):
        W, theta = theta[: a * b].reshape(a, b), theta[a * b :]
        found += [W * network.w_std / math.sqrt(a), theta[:b] * network.b_std]
        theta = theta[b:]
    return found


@jax.jit
def released_step(w, x, y, decay):
    def loss(v):
        return jnp.mean((standard_mlp(v, x) - y) ** 2)

    return [a - 1e-2 * (g + decay * a) for a, g in zip(w, jax.grad(loss)(w), strict=True)]


def released_gradients(weights, x):
    each = jax.vmap(jax.grad(lambda w, z: standard_mlp(w, z[None])[0]), in_axes=(None, 0))
    rows = each(weights, np.asarray(x, np.float32))
    return np.concatenate([np.asarray(r, np.float64).reshape(len(x), -1) for r in rows], 1)


def test_the_preset_trains_and_adds_up_gradients_as_released():
    """Written out: after each observation 100 steps on the mean of squares, from where the last
    ones ended, weight decay lam / n; before it, its squared gradients are added to U."""
    data = toy(4, pending=1)
    policy = replace(NeuralUCB.paper(), lam=0.5)  # large enough to be seen
    x, y = (data.x + 1) / 2, data.y.astype(np.float32)
    start = policy(0, Data(data.x[:0], [])).theta[0]
    weights, U = standard_weights(policy.network, start, 2), 0.5
    for W, fan_in in zip(weights[0::2], (2, 256, 256), strict=True):  # as PyTorch's uniform ones
        assert W.std() == pytest.approx(1 / math.sqrt(3 * fan_in), rel=0.1)
    for t in range(4):
        U = U + released_gradients(weights, x[t : t + 1])[0] ** 2
        for _ in range(100):
            weights = released_step(weights, x[: t + 1], y[: t + 1], 0.5 / (t + 1))
    score = policy(0, data)
    for a, b in zip(standard_weights(policy.network, score.theta[0], 2), weights, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)
    U = U + released_gradients(weights, (data.pending + 1) / 2)[0] ** 2
    new = toy(7, seed=1).x
    sigma = np.sqrt((0.5 * released_gradients(weights, (new + 1) / 2) ** 2 / U).sum(1))
    np.testing.assert_allclose(
        score(new), np.asarray(standard_mlp(weights, (new + 1) / 2)) + sigma, rtol=1e-3
    )


def test_a_search_resumed_trains_as_the_unbroken_one():
    data, policy = toy(6), replace(NeuralTS.paper(), network=MLP(1, 8, w_std=0.6, b_std=0.1))
    broken = [policy(0, Data(data.x[:n], data.y[:n])).theta for n in range(1, 7)]
    neural._REMEMBERED.clear()
    np.testing.assert_array_equal(policy(0, data).theta, broken[-1])
    assert (broken[-1] != broken[-2]).any()
    for _ in range(2 * neural._MOST_REMEMBERED):
        policy(_, data)
    assert len(neural._REMEMBERED) == neural._MOST_REMEMBERED


def test_a_descent_from_the_start_is_on_all_data_at_once():
    data, policy = toy(5), replace(NeuralUCB.paper(), lam=0.5, warm_start=False)
    weights = standard_weights(policy.network, policy(0, Data(data.x[:0], [])).theta[0], 2)
    x, y = (data.x + 1) / 2, data.y.astype(np.float32)
    for _ in range(100):
        weights = released_step(weights, x, y, 0.1)
    score, new = policy(0, data), toy(7, seed=1).x
    U = 0.5 + (released_gradients(weights, x) ** 2).sum(0)
    sigma = np.sqrt((0.5 * released_gradients(weights, (new + 1) / 2) ** 2 / U).sum(1))
    np.testing.assert_allclose(
        score(new), np.asarray(standard_mlp(weights, (new + 1) / 2)) + sigma, rtol=1e-3
    )


@pytest.mark.parametrize("policy", [NeuralUCB.paper(), NeuralTS.paper(scaled=True)])
def test_the_preset_with_a_convolution_tells_images_apart(policy):
    """A bar at some height: a start fit for dense layers alone gave every image one number."""

    def bars(n, seed):
        rng = np.random.default_rng(seed)
        found, heights = 0.2 * rng.uniform(size=(n, 12, 12, 1)), rng.integers(1, 10, n)
        for image, height in zip(found, heights, strict=True):
            image[height : height + 2, 2:10] = 1
        return Data(found, heights / 10)

    usual = policy.network
    network = CNN(width=32, w_std=usual.w_std, b_std=usual.b_std)
    new = bars(100, 1)
    score = replace(policy, network=network)(0, bars(30, 0))
    found = np.asarray(network.apply(score.theta[0], new.x)) * score.scale[0]
    assert found.std() > 0.5 * new.y.std()
    assert np.corrcoef(found, new.y)[0, 1] > 0.9


def test_raw_targets_of_large_size_kill_the_preset_and_scaled_ones_do_not():
    """What the paper's baselines suffered from: their scores know nothing of the objective."""
    x = np.random.default_rng(0).uniform(-1, 1, (20, 12))
    data = Data(x, 80 * x[:, :3].sum(1) - 100)

    def fit(policy):
        score = policy(0, data)
        found = np.asarray(score.network.apply(score.theta[0], (data.x + 1) / 2), float)
        return np.corrcoef(found, data.y)[0, 1] if found.std() > 1e-3 else 0.0

    assert fit(NeuralTS.paper()) < 0.4
    assert fit(NeuralTS.paper(scaled=True)) > 0.7


def test_growing_data_compiles_once_a_size():
    policy = NeuralUCB(MLP(1, 5, "erf"), lam=0.1, variance="diagonal")
    pieces = [neural._known_features, neural._outputs]
    before = [piece._cache_size() for piece in pieces]
    data, x = toy(20, pending=3), toy(4).x
    for n in range(1, 21):
        grown = Data(data.x[:n], data.y[:n], pending=data.pending)
        policy(n, grown)(x)
    sizes = len({padded_size(n + 3) for n in range(1, 21)})
    for piece, old in zip(pieces, before, strict=True):
        assert 0 < piece._cache_size() - old <= sizes


POLICIES = [
    NeuralUCB(TINY),
    NeuralTS(TINY, lam=1e-4, variance="diagonal"),
    replace(NeuralUCB.paper(), network=TINY),
    replace(NeuralTS.paper(scaled=True), network=TINY),
]


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("policy", POLICIES)
def test_scores_are_finite_whatever_the_data(policy, name):
    data = EDGES[name]
    x = np.random.default_rng(1).uniform(-1, 1, (10, data.x.shape[1]))
    score = policy(make_keys(0, 2), data)
    values = score(np.concatenate([x, data.x]))
    assert values.shape == (2, 10 + len(data))
    assert np.isfinite(values).all()
    assert np.isfinite(evaluate(score, data.x)).all()


def test_gradients_are_finite_where_the_variance_vanishes():
    """At observed points, up to rounding, which makes it negative here and there."""
    data = toy(12)
    score = NeuralUCB(TINY, lam=1e-18, **PLAIN)(0, data)
    assert np.isfinite(evaluator(score).own_gradients(data.x[None])[1]).all()


@pytest.mark.parametrize("policy", [NeuralUCB, NeuralTS])
def test_impossible_settings_are_refused(policy):
    with pytest.raises(ValueError, match="nu > 0"):
        policy(nu=0.0)
    with pytest.raises(ValueError, match="lam > 0"):
        policy(lam=0.0)
    with pytest.raises(ValueError, match='"exact" or "diagonal", got \'full\''):
        policy(variance="full")
    with pytest.raises(ValueError, match="finite width"):
        policy(MLP(width=math.inf))
    with pytest.raises(ValueError, match="warm_start=True needs a descent"):
        policy(warm_start=True)

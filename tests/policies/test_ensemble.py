"""Deep ensembles fit the data, and disagree too little between them."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import EDGES, toy

from thomax.keys import Stream, make_key, make_keys, normals
from thomax.model import tangents, training
from thomax.model.data import Data
from thomax.model.kernels import empirical_ntk
from thomax.model.networks import CNN, MLP, Custom
from thomax.model.padding import padded_size
from thomax.policies.ensemble import DeepEnsemble
from thomax.policies.sto import STOBNTS

SMALL = DeepEnsemble(MLP(1, 32, "erf"))
SLOW = DeepEnsemble(MLP(1, 32, "erf"), descent=(200, 0.01))


@pytest.mark.slow
def test_members_fit_the_data_and_spread_less_than_posterior_draws_between_them():
    """The claim of the paper's Figure 1 as a number: half the spread at most, at every gap.

    With 40 draws each, a ratio of standard deviations has a relative error of 1 / sqrt(40).
    """
    x = np.array([[-0.9], [-0.7], [0.0], [0.5], [0.9]])
    data = Data(x, np.sin(4 * x[:, 0]))
    network, gaps = MLP(2, 128, "relu"), np.array([[-0.35], [0.25], [0.7]])
    members = DeepEnsemble(network)(make_keys(0, 40), data)
    draws = STOBNTS(network, noise_std=0.03)(make_keys(0, 40), data)
    np.testing.assert_allclose(members(x), np.tile(data.y, (40, 1)), atol=0.01)
    ratio = members(gaps).std(0) / draws(gaps).std(0)
    assert (ratio < 0.5).all()
    assert (members(gaps).std(0) > 1e-3).all()  # they are different networks


def test_members_are_trained_by_the_papers_gradient_descent_if_asked():
    """Half the mean of squares, steps 1 / scale^2 times as long, a pull to the start."""
    data, policy = toy(5), DeepEnsemble(
        MLP(1, 8, "erf"), inputs="cube", standardise=False, descent=(20, 0.1), noise_std=0.5
    )  # fmt: skip
    theta = start = normals(make_keys(0, 1), policy.network.size((2,)), Stream.THETA0)[0]
    rates = 0.1 / policy.network.scales((2,)) ** 2

    def loss(t):
        fit = jnp.mean((policy.network.apply(t, data.x) - data.y.astype(np.float32)) ** 2)
        return 0.5 * (fit + 0.25 / 5 * jnp.sum((t - start) ** 2))

    gradient = jax.jit(jax.grad(loss))
    for _ in range(20):
        theta = theta - rates * np.asarray(gradient(theta))
    np.testing.assert_allclose(policy(make_key(0), data).theta[0], theta, atol=1e-4)


def test_the_papers_members_are_drawn_to_their_start():
    """Algorithm 1 without the tangent term: a ridge regression, where the network is wide."""
    data, new = toy(6), toy(9, seed=2).x
    network = MLP(1, 4096, "erf", w_std=1.5, b_std=0.05)
    member = replace(DeepEnsemble.paper(), network=network, noise_std=1.0)(0, data)
    theta0 = normals(make_keys(0, 1), network.size((2,)), Stream.THETA0)[0]
    x, z = ((p + 1) / 2 for p in (data.in_canonical_order().x, new))
    K, k = empirical_ntk(network, theta0, x), empirical_ntk(network, theta0, x, z)
    before, there = (np.asarray(network.apply(theta0, p), np.float64) for p in (x, z))
    a = np.linalg.solve(K + np.eye(6), data.in_canonical_order().y - before)
    np.testing.assert_allclose(member(new), there + k.T @ a, atol=0.05)


def test_the_papers_preset_learns_from_scaled_targets():
    data = toy(12)
    assert np.corrcoef(DeepEnsemble.paper(scaled=True)(0, data)(data.x), data.y)[0, 1] > 0.7


def test_a_member_depends_on_its_key_alone():
    data, x = toy(7), toy(20, seed=6).x
    batch = SMALL(make_keys(3, 3), data)(x)
    for i in range(3):
        single = SMALL(make_key(3, i), data)(x)
        assert single.shape == (20,)
        np.testing.assert_allclose(single, batch[i], atol=0.02)
    assert all(np.abs(batch[i] - batch[j]).max() > 0.05 for i in range(3) for j in range(i))


def test_order_of_rows_does_not_matter():
    data, x = toy(9), toy(20, seed=6).x
    shuffled = Data(data.x[::-1], data.y[::-1])
    np.testing.assert_array_equal(SMALL(1, data)(x), SMALL(1, shuffled)(x))


def test_scale_and_shift_of_the_values_do_not_matter():
    data, x = toy(9), toy(20, seed=6).x
    other = Data(data.x, 1000 * data.y - 5)
    np.testing.assert_allclose(SMALL(1, other)(x), 1000 * SMALL(1, data)(x) - 5, rtol=1e-3, atol=9)


def test_a_large_ensemble_is_trained_in_groups_that_change_nothing(monkeypatch):
    data, x = toy(5), toy(4, seed=1).x
    whole = SMALL(make_keys(0, 6), data)(x)
    monkeypatch.setattr("thomax.policies.prepared._ROWS_AT_ONCE", 32)
    np.testing.assert_allclose(SMALL(make_keys(0, 6), data)(x), whole, atol=0.02)


def test_growing_data_compiles_once_a_size():
    policy = DeepEnsemble(CNN(width=2, activation="erf"), steps=2, polish=1)
    pieces = [tangents._expand_compiled, training._losses, training._loss_and_gradient]
    before = [piece._cache_size() for piece in pieces]
    images = np.random.default_rng(0).normal(size=(20, 3, 3, 1))
    for n in range(1, 21):
        policy(n, Data(images[:n], images[:n].sum((1, 2, 3))))
    sizes = len({padded_size(n, (3, 3, 1)) for n in range(1, 21)})
    for piece, old in zip(pieces, before, strict=True):
        assert 0 < piece._cache_size() - old <= sizes


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("policy", [SMALL, SLOW, replace(SLOW, standardise=False)])
def test_members_are_finite_whatever_the_data(policy, name):
    data = EDGES[name]
    x = np.random.default_rng(1).uniform(-1, 1, (10, data.x.shape[1]))
    values = policy(make_keys(0, 2), data)(np.concatenate([x, data.x]))
    assert values.shape == (2, 10 + len(data))
    assert np.isfinite(values).all()


def test_a_descent_that_diverges_leaves_its_start():
    data = toy(6)
    wild = replace(SLOW, descent=(200, 1e6))(0, data)
    assert np.isfinite(wild(data.x)).all()
    np.testing.assert_array_equal(wild.theta, SLOW(0, Data(data.x[:0], [])).theta)


def custom_init(key):
    return [jax.random.normal(key, (16, 20)), jax.random.normal(key, (20,)) / 4]


def custom_apply(w, x):
    return jnp.tanh(x.reshape(len(x), -1) @ w[0]) @ w[1]


@pytest.mark.parametrize("network", [CNN(1, 8), Custom(custom_init, custom_apply)])
def test_images_and_user_networks_go_through_the_same_code(network):
    images = np.random.default_rng(0).uniform(size=(10, 4, 4, 1))
    y = images.mean((1, 2, 3)) * 10
    values = DeepEnsemble(network)(make_keys(0, 2), Data(images, y))(images)
    assert all(np.corrcoef(v, y)[0, 1] > 0.9 for v in values)


def test_infinite_width_is_refused():
    with pytest.raises(ValueError, match="finite width"):
        DeepEnsemble(MLP(width=math.inf))

"""Gradient descent as released: against loops over the weights themselves, in NumPy."""

import math

import numpy as np
import pytest

from thomax.model.gradient_steps import descend, descend_linear, step_sizes
from thomax.model.networks import CNN, MLP

D, M, N = 3, 5, 7
NETWORK = MLP(1, M, "relu", w_std=1.5, b_std=0.05)
SIGMA2 = 0.01


def problem(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(N, D))
    return x, 100 * np.sin(3 * x[:, 0]), rng.normal(size=(2, (D + 1) * M + M + 1))


def weights_of(theta):
    """Return W, b, v, c of a network with one hidden layer, in the standard parameterisation."""
    W, b, v, c = np.split(theta, np.cumsum([D * M, M, M]))
    scale = 1.5 / np.sqrt([D, M])
    return W.reshape(D, M) * scale[0], b * 0.05, v * scale[1], c * 0.05


def theta_of(W, b, v, c):
    scale = 1.5 / np.sqrt([D, M])
    return np.concatenate([W.ravel() / scale[0], b / 0.05, v / scale[1], c / 0.05])


def jacobian(W, b, v, c, x):
    """Return outputs and gradients with respect to (W, b, v, c), flat."""
    h = np.maximum(x @ W + b, 0)
    signal = (h > 0) * v
    rows = [(x[:, :, None] * signal[:, None]).reshape(len(x), -1), signal, h, np.ones((len(x), 1))]
    return h @ v + c, np.concatenate(rows, axis=1)


def flat(*weights):
    return np.concatenate([np.ravel(w) for w in weights])


def unflat(w):
    W, b, v, c = np.split(w, np.cumsum([D * M, M, M]))
    return W.reshape(D, M), b, v, c


# The released weights of the penalty: 1 / variance for weights, 1 / w_std^2 for biases.
RELEASED = flat(
    np.full(D * M, D / 2.25), np.full(M, 1 / 2.25), np.full(M, M / 2.25), np.full(1, 1 / 2.25)
)


def penalty():
    """The same in our parameterisation: 1 for weights, (b_std / w_std)^2 for biases; over n."""
    weights = np.full(D * M, 1.0), np.full(M, 1 / 900), np.ones(M), np.full(1, 1 / 900)
    return SIGMA2 / N * flat(*weights)


def test_scales_are_the_deviations_of_the_weights():
    theta = np.arange(1.0, (D + 1) * M + M + 2)
    np.testing.assert_allclose(theta * NETWORK.scales((D,)), flat(*weights_of(theta)), rtol=1e-6)
    network = CNN(1, 4, w_std=1.5, b_std=0.05, kernel=3)
    scales = network.scales((6, 6, 2))
    assert len(scales) == network.size((6, 6, 2))
    np.testing.assert_allclose(scales[: 18 * 4], 1.5 / math.sqrt(18), rtol=1e-6)
    np.testing.assert_allclose(scales[18 * 4 : 19 * 4], 0.05, rtol=1e-6)


def test_steps_are_those_of_the_weights_themselves():
    """Half the mean of squares, and half sigma^2 / n times the weighted distance."""
    x, y, (theta0, _) = problem()
    w = start = flat(*weights_of(theta0))
    for _ in range(300):
        f, J = jacobian(*unflat(w), x)
        w = w - 1e-3 * (J.T @ (f - y) / N + SIGMA2 / N * RELEASED * (w - start))
    padded = np.zeros((N + 2, D), np.float32)
    padded[:N] = x
    targets = np.zeros((1, N + 2), np.float32)
    targets[0, :N] = y
    weights = np.array([1 / N] * N + [0.0] * 2, np.float32)
    theta = theta0[None].astype(np.float32)
    found = descend(
        NETWORK, theta, theta, padded, targets, weights, penalty=penalty(), steps=300, rate=1e-3
    )
    np.testing.assert_allclose(flat(*weights_of(found[0])), w, atol=2e-3)
    assert np.abs(w - start).max() > 0.5


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 1000])
def test_steps_on_the_linear_model_in_closed_form_are_steps_taken_one_by_one(steps):
    """g(x) = < grad f(x; theta0'), theta > in the weights, and a penalty that is seen."""
    x, y, thetas = problem(1)
    theta0, theta0_prime = thetas
    J = jacobian(*weights_of(theta0_prime), x)[1]
    w = start = flat(*weights_of(theta0))
    for _ in range(steps):
        w = w - 1e-2 * (J.T @ (J @ w - y) / N + 30 * SIGMA2 / N * RELEASED * (w - start))
    padded = np.zeros((N + 2, D), np.float32)
    padded[:N] = x
    found = descend_linear(
        NETWORK, theta0_prime[None].astype(np.float32), theta0[None].astype(np.float32), padded,
        y[None], penalty=30 * penalty(), steps=steps, rate=1e-2,
    )  # fmt: skip
    np.testing.assert_allclose(flat(*weights_of(found[0])), w, rtol=1e-3, atol=1e-3)


def test_a_network_that_diverges_keeps_its_start():
    x, y, (theta0, _) = problem()
    theta = theta0[None].astype(np.float32)
    args = (NETWORK, theta, theta, x.astype(np.float32), y[None].astype(np.float32))
    weights = np.full(N, 1 / N, np.float32)
    found = descend(*args, weights, penalty=penalty(), steps=100, rate=1e6)
    np.testing.assert_array_equal(found, theta)
    found = descend_linear(
        NETWORK,
        theta,
        theta,
        x.astype(np.float32),
        y[None],
        penalty=penalty(),
        steps=1000,
        rate=1e6,
    )
    np.testing.assert_array_equal(found, theta)


def test_biases_without_scale_stay_where_they_are():
    rates = step_sizes(MLP(1, M, b_std=0.0), (D,), 1e-3)
    assert (rates[D * M : (D + 1) * M] == 0).all()
    assert np.isfinite(rates).all()

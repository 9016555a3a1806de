import jax
import jax.numpy as jnp
import numpy as np
import pytest

from thomax import CNN, MLP, SE, Custom
from thomax.model.evaluation import evaluate, evaluator
from thomax.model.kernels import empirical_ntk, exact_ntk, float64, gram
from thomax.model.prior import lift
from thomax.model.uncertainty import EmpiricalNTK, PriorKernel, Uncertainty

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-1, 1, (5, 3))
OTHERS = RNG.uniform(-1, 1, (9, 3))


def by_hand(kernel, known, x, noise_std):
    K, k, prior = (gram(kernel, a, b) for a, b in ((known, known), (known, x), (x, x)))
    A = K + noise_std**2 * np.eye(len(known))
    return np.diag(prior - k.T @ np.linalg.inv(A) @ k)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_the_score_is_the_posterior_variance(n):
    kernel = SE(0.7, 2.0)
    score = Uncertainty.given(kernel, POINTS[:n], 0.3)
    found = evaluate(score, OTHERS.astype(np.float32))
    assert found.shape == (1, 9)
    np.testing.assert_allclose(found[0], by_hand(kernel, POINTS[:n], OTHERS, 0.3), rtol=1e-5)


def test_its_gradient_is_that_of_differences():
    kernel = PriorKernel(exact_ntk(MLP(2, 8, "erf")), 1.0)
    score = Uncertainty.given(kernel, POINTS, 0.3)
    gradient = evaluator(score).own_gradients(OTHERS[None].astype(np.float32))[1][0]
    for i, step in enumerate(1e-4 * np.eye(3)):
        up, down = (by_hand(kernel, POINTS, OTHERS + s, 0.3) for s in (step, -step))
        np.testing.assert_allclose(gradient[:, i], (up - down) / 2e-4, rtol=1e-3, atol=1e-4)


def test_a_prior_kernel_lifts_and_multiplies():
    kernel = exact_ntk(MLP(2, 8, "relu"))
    with float64():
        lifted = np.asarray(lift(jnp.asarray(POINTS), 1.5))
    expected = 4 * gram(kernel, lifted, lifted)
    found = PriorKernel(kernel, 1.5, 4.0)
    np.testing.assert_allclose(gram(found, POINTS, POINTS), expected, rtol=1e-7)
    with float64():
        np.testing.assert_allclose(
            found.diagonal(jnp.asarray(POINTS)), np.diag(expected), rtol=1e-7
        )


def init(key):
    return [jax.random.normal(key, (3, 8)), jax.random.normal(key, (8,))]


UNKNOWN = Custom(init, lambda w, x: jnp.tanh(x @ w[0]) @ w[1])  # its structure is


@pytest.mark.parametrize("network", [MLP(2, 16, "gelu"), CNN(1, 4), UNKNOWN])
def test_the_empirical_kernel_is_the_product_of_jacobians(network):
    shape = (6, 6, 1) if isinstance(network, CNN) else (3,)
    x, z = (RNG.normal(size=(n, *shape)).astype(np.float32) for n in (4, 6))
    theta = RNG.normal(size=network.size(shape)).astype(np.float32)
    J, Jz = (np.asarray(jax.jacobian(network.apply)(theta, p), np.float64) for p in (x, z))
    kernel = EmpiricalNTK(network, theta)
    np.testing.assert_allclose(gram(kernel, x, z), J @ Jz.T, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(gram(kernel, x, z), empirical_ntk(network, theta, x, z), rtol=1e-3)
    np.testing.assert_allclose(kernel.diagonal(x), (J * J).sum(1), rtol=1e-3)

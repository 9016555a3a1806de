"""Exact kernels against independent integrals, and the empirical kernel against Jacobians."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from thomax.model.kernels import NTK, SE, Matern52, empirical_ntk, exact_ntk, float64, gram
from thomax.model.networks import CNN, MLP, Custom
from thomax.model.posterior import Factor

W_STD, B_STD = 1.3, 0.4


def gaussian_expectation(function, covariance):
    """E g(u) h(v) for (u, v) ~ N(0, covariance), by quadrature; knows nothing of our formulas."""
    (a, c), (_, b) = covariance
    if function in ("relu", "step"):  # homogeneous: polar coordinates, radius by hand
        phi = (np.arange(400_000) + 0.5) * (2 * np.pi / 400_000)
        u, z = np.cos(phi), np.sin(phi)
        radial = 2.0 if function == "relu" else 1.0  # int r^(2 deg + 1) exp(-r^2 / 2) dr
        f = (lambda t: np.maximum(t, 0)) if function == "relu" else (lambda t: (t > 0) * 1.0)
        v = (c / a) * np.sqrt(a) * u + np.sqrt(max(b - c * c / a, 0)) * z
        return radial * np.mean(f(np.sqrt(a) * u) * f(v))
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    f = erf if function == "erf" else (lambda t: 2 / np.sqrt(np.pi) * np.exp(-(t**2)))
    u = np.sqrt(a) * nodes[:, None]
    v = c / np.sqrt(a) * nodes[:, None] + np.sqrt(max(b - c * c / a, 0)) * nodes[None, :]
    return weights @ (f(u) * f(v)) @ weights


def reference_ntk(x1, x2, depth, activation):
    derivative = {"relu": "step", "erf": "derf"}[activation]
    inner = lambda u, v: W_STD**2 * (u @ v) / len(u) + B_STD**2  # noqa: E731
    s = np.array([[inner(x1, x1), inner(x1, x2)], [inner(x2, x1), inner(x2, x2)]])
    theta = s[0, 1]
    for _ in range(depth):
        pair = lambda i, j, f, s=s: gaussian_expectation(  # noqa: E731
            f, [[s[i, i], s[i, j]], [s[j, i], s[j, j]]]
        )
        slope = pair(0, 1, derivative)
        new = [[pair(i, j, activation) for j in (0, 1)] for i in (0, 1)]
        s = W_STD**2 * np.array(new) + B_STD**2
        theta = s[0, 1] + W_STD**2 * slope * theta
    return theta


@pytest.mark.parametrize("activation", ["relu", "erf"])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_exact_ntk_equals_numerical_integration(activation, depth):
    x = np.random.default_rng(0).normal(size=(4, 3))
    with float64():
        found = np.asarray(NTK(depth, activation, W_STD, B_STD)(x, x))
        diagonal = np.asarray(NTK(depth, activation, W_STD, B_STD).diagonal(x))
    for i in range(4):
        for j in range(i + 1, 4):
            expected = reference_ntk(x[i], x[j], depth, activation)
            np.testing.assert_allclose(found[i, j], expected, rtol=2e-5)
    np.testing.assert_allclose(np.diag(found), diagonal, rtol=1e-6)
    np.testing.assert_allclose(found, found.T, rtol=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_relu_ntk_on_the_unit_sphere_is_depth_plus_one(depth):
    """Arora's convention (c_sigma = 2, no bias, inputs not divided by d) gives Theta(x,x) = L+1.

    Ours divides by d and carries w_std^2 = 2 in the first layer, so x = sqrt(d / 2) e.
    """
    x = np.random.default_rng(1).normal(size=(5, 4))
    x *= np.sqrt(4 / 2) / np.linalg.norm(x, axis=1, keepdims=True)
    with float64():
        np.testing.assert_allclose(
            np.diag(NTK(depth, "relu", np.sqrt(2.0), 0.0)(x, x)), depth + 1, rtol=1e-6
        )


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_empirical_ntk_tends_to_the_exact_one_like_the_root_of_the_width(activation):
    x = np.random.default_rng(2).normal(size=(20, 6)).astype(np.float32)
    with float64():
        exact = np.asarray(exact_ntk(MLP(2, 8, activation))(x.astype(float), x.astype(float)))
    widths, errors = [32, 64, 128, 256, 512], []
    for width in widths:
        network = MLP(2, width, activation)
        rng = np.random.default_rng(3)
        squares = []
        for _ in range(24):
            theta = rng.normal(size=network.size((6,))).astype(np.float32)
            off = np.linalg.norm(empirical_ntk(network, theta, x) - exact)
            squares.append((off / np.linalg.norm(exact)) ** 2)
        errors.append(np.sqrt(np.mean(squares)))
    slope = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35


def tanh_init(key):
    return [jax.random.normal(key, (6, 5)), jax.random.normal(key, (5,))]


def tanh_apply(params, x):
    return jnp.tanh(x.reshape(len(x), -1) @ params[0]) @ params[1]


@pytest.mark.parametrize(
    ("network", "shape"),
    [
        (MLP(1, 9), (4,)),
        (MLP(3, 9, "erf"), (4,)),
        (MLP(2, 9, "gelu", b_std=0.0), (4,)),
        (CNN(1, 5), (7, 6, 2)),
        (CNN(2, 4, "erf"), (9, 9, 1)),
        (Custom(tanh_init, tanh_apply), (6,)),
    ],
)
def test_empirical_ntk_equals_the_product_of_jacobians(network, shape):
    rng = np.random.default_rng(4)
    with float64():
        theta = jnp.asarray(rng.normal(size=network.size(shape)))
        x1, x2 = (jnp.asarray(rng.normal(size=(n, *shape))) for n in (40, 3))
        jacobian = jax.jit(jax.jacrev(network.apply))
        jacobians = [np.asarray(jacobian(theta, x)) for x in (x1, x2)]
        np.testing.assert_allclose(
            empirical_ntk(network, theta, x1),
            jacobians[0] @ jacobians[0].T,
            rtol=1e-10,
            atol=1e-10,
        )
        np.testing.assert_allclose(
            empirical_ntk(network, theta, x1, x2), jacobians[0] @ jacobians[1].T, rtol=1e-10,
            atol=1e-10,
        )  # fmt: skip


@pytest.mark.parametrize("length_scale", [0.7, np.array([0.5, 2.0, 1.0])])
def test_se_and_matern_equal_their_definitions(length_scale):
    rng = np.random.default_rng(5)
    x1, x2 = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    r = np.sqrt((((x1[:, None] - x2[None]) / length_scale) ** 2).sum(-1))
    with float64():
        np.testing.assert_allclose(SE(length_scale, 1.5)(x1, x2), 1.5 * np.exp(-(r**2) / 2))
        s = np.sqrt(5) * r
        np.testing.assert_allclose(
            Matern52(length_scale, 1.5)(x1, x2), 1.5 * (1 + s + s**2 / 3) * np.exp(-s)
        )
        for kernel in (SE(length_scale, 1.5), Matern52(length_scale, 1.5)):
            np.testing.assert_allclose(np.diag(kernel(x1, x1)), kernel.diagonal(x1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", [NTK(2, "relu", 1.4, 0.3), NTK(3, "erf", 1.4, 0.3), SE(), Matern52()]
)
def test_kernels_are_positive_definite_with_finite_gradients_even_at_a_data_point(kernel):
    x = np.random.default_rng(6).normal(size=(12, 3))
    with float64():
        Factor(np.asarray(kernel(x, x)), 1e-8)
        gradient = jax.grad(lambda z: kernel(z[None], jnp.asarray(x)).sum())(jnp.asarray(x[3]))
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("network", [CNN(), MLP(activation="gelu")])
def test_a_network_without_known_limit_is_refused(network):
    with pytest.raises(ValueError, match="finite width"):
        exact_ntk(network)


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_half_of_a_symmetric_kernel_matrix_is_the_other_half(activation):
    kernel, rng = NTK(2, activation, W_STD, B_STD), np.random.default_rng(0)
    x = rng.normal(size=(150, 3))  # of so many, a few rows are computed at a time
    np.testing.assert_allclose(gram(kernel, x, x), gram(kernel, x, x.copy()), rtol=1e-12)
    z = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = z @ z.T
    np.fill_diagonal(cosines, 1.0)
    for half, whole in zip(
        kernel.on_sphere_symmetric(cosines), kernel.on_sphere(cosines), strict=True
    ):
        np.testing.assert_allclose(half, whole, rtol=1e-9)

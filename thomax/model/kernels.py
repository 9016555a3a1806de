"""Kernels: the exact neural tangent kernel, the empirical one, squared exponential and Matern.

A kernel is called with two sets of points and returns the matrix of their covariances. Exact
kernels are JAX functions of float64 arrays: call them inside `float64()`, which leaves the user's
JAX configuration alone.

Notation (section 5.1 of Lee et al. 2019; Arora et al. 2019 without biases):
    Sigma     covariance of a layer's outputs at initialisation (the NNGP kernel)
    Theta     the tangent kernel
    rho       correlation Sigma(x, x') / sqrt(Sigma(x, x) Sigma(x', x'))
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeGuard

import numpy as np
from numpy.typing import DTypeLike

from thomax.model.networks import MLP, Activation, Blocks, Network
from thomax.model.padding import pad, padded_size
from thomax.support.checks import Rule, check, one_of, whole
from thomax.support.compilation import compiled
from thomax.support.lazy_jax import array_module, jax, jnp, pytree
from thomax.support.spelling import spell_checked
from thomax.support.types import Array, ArrayOrFloat

_ENTRIES = 2**14  # of a kernel matrix computed at once
_CHUNK = 32  # gradients held at once by the generic empirical kernel


def float64() -> AbstractContextManager[object]:
    """Compute in double precision within this block, whatever the user's JAX setting."""
    return jax.enable_x64(True)


def _holds(value: object, test: Callable[[ArrayOrFloat], ArrayOrFloat]) -> bool:
    """Test numbers; what else JAX puts into a kernel, as it does to trace it, is let through."""
    if isinstance(value, str):
        return False
    return not isinstance(value, float | np.ndarray) or bool(np.all(test(value)))


_POSITIVE = Rule("> 0", lambda v: _holds(v, lambda z: z > 0))
_NOT_NEGATIVE = Rule(">= 0", lambda v: _holds(v, lambda z: z >= 0))


class Kernel(Protocol):
    """A covariance function of points."""

    def __call__(self, x1: Array, x2: Array) -> Array:
        """Return the covariances (n1, n2).

        Args:
            x1: Points, (n1, ...).
            x2: Points, (n2, ...).
        """

    def diagonal(self, x: Array) -> Array:
        """Return the variances (n,).

        Args:
            x: Points, (n, ...).
        """


@pytree(
    data_fields=["w_std", "b_std"],
    meta_fields=["depth", "activation"],
)
@spell_checked
@dataclass(frozen=True)
class NTK:
    """The exact tangent kernel of an infinitely wide MLP.

    Args:
        depth: Number of hidden layers.
        activation: Function after every hidden layer, "relu" or "erf".
        w_std: Standard deviation of the weights, times the root of the number of inputs.
        b_std: Standard deviation of the biases.

    Examples:
        >>> kernel = NTK(depth=2, activation="relu", w_std=2**0.5, b_std=0.0)
        >>> with float64():  # on the sphere of radius sqrt(d): depth + 1, times w_std^2 = 2
        ...     print(round(float(kernel(jnp.ones((1, 3)), jnp.ones((1, 3)))[0, 0]), 6))
        6.0
    """

    depth: int
    activation: Activation
    w_std: ArrayOrFloat
    b_std: ArrayOrFloat

    def __post_init__(self) -> None:
        check(
            self, depth=whole(1), activation=one_of(*_DUALS), w_std=_POSITIVE, b_std=_NOT_NEGATIVE
        )

    def __call__(self, x1: Array, x2: Array) -> Array:
        """Return the covariances (n1, n2)."""
        x1, x2 = (x.reshape(len(x), -1) for x in (x1, x2))
        variance1, variance2 = (self._first((x * x).sum(1), x.shape[1]) for x in (x1, x2))
        sigma = self._first(x1 @ x2.T, x1.shape[1])
        return self._recursion(sigma, variance1[:, None], variance2[None, :])

    def diagonal(self, x: Array) -> Array:
        """Return the variances (n,)."""
        x = x.reshape(len(x), -1)
        variance = self._first((x * x).sum(1), x.shape[1])
        return self._recursion(variance, variance, variance)

    def on_sphere(self, cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariances of points on the sphere of radius sqrt(d), and their slopes.

        There the kernel is a function of the cosine of two points' angle. The slope of E[phi phi]
        with respect to Sigma is E[phi' phi'].

        Args:
            cosines: The cosines of the angles, of any shape.
        """
        dual = _SPHERE_DUALS[self.activation]
        w2, b2 = float(self.w_std) ** 2, float(self.b_std) ** 2
        variance = w2 + b2
        sigma, slope = w2 * cosines + b2, np.full_like(cosines, w2)
        theta, theta_slope = sigma, slope
        for _ in range(self.depth):
            covariance, derivative, bend = dual(sigma, variance)
            variance = w2 * float(dual(np.array([variance]), variance)[0][0]) + b2
            derivative *= w2
            bend *= w2
            bend *= slope
            bend *= theta
            slope = derivative * slope
            theta_slope = derivative * theta_slope
            theta_slope += slope
            theta_slope += bend
            covariance *= w2
            covariance += b2
            sigma, theta = covariance, derivative * theta
            theta += sigma
        return theta, theta_slope

    def on_sphere_symmetric(self, cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what `on_sphere` does for a symmetric matrix, computing half of it.

        Args:
            cosines: The cosines of the angles between points, (n, n).
        """
        lower, upper = _triangles(len(cosines))
        found = []
        for half in self.on_sphere(cosines.take(lower)):
            full = np.empty(cosines.size)
            full[lower] = half
            full[upper] = half
            found.append(full.reshape(cosines.shape))
        return found[0], found[1]

    def _first(self, inner: Array, d: int) -> Array:
        return self.w_std**2 * inner / d + self.b_std**2

    def _recursion(self, sigma: Array, variance1: Array, variance2: Array) -> Array:
        """Iterate Sigma <- w^2 E[phi phi] + b^2 and Theta <- Sigma + w^2 E[phi' phi'] Theta."""
        dual = _DUALS[self.activation]
        w2, b2 = self.w_std**2, self.b_std**2
        theta = sigma
        for _ in range(self.depth):
            covariance, derivative = dual(sigma, variance1, variance2)
            variance1, variance2 = (w2 * dual(v, v, v)[0] + b2 for v in (variance1, variance2))
            sigma = w2 * covariance + b2
            theta = sigma + w2 * derivative * theta
        return theta


@lru_cache(maxsize=8)
def _triangles(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the flat positions of a matrix's lower triangle, and of the same entries above."""
    rows, columns = np.tril_indices(n)
    return rows * n + columns, columns * n + rows


def _relu_dual(sigma: Array, variance1: Array, variance2: Array) -> tuple[Array, Array]:
    """Arc-cosine kernels of degree 1 and 0 (Cho and Saul 2009): E[phi phi], E[phi' phi']."""
    xp = array_module(sigma, variance1, variance2)
    norm = xp.sqrt(variance1 * variance2)
    rho = sigma / xp.where(norm > 0, norm, 1.0)
    # At rho = 1 the derivatives of arccos and sqrt are infinite: cut there, by a second `where`.
    inside = xp.abs(rho) < 1
    safe = xp.where(inside, rho, 0.0)
    angle = xp.where(inside, xp.arccos(safe), xp.where(rho > 0, 0.0, xp.pi))
    sine = xp.where(inside, xp.sqrt(1 - safe * safe), 0.0)
    covariance = norm * (xp.clip(rho, -1, 1) * (xp.pi - angle) + sine) / (2 * xp.pi)
    return covariance, (xp.pi - angle) / (2 * xp.pi)


def _erf_dual(sigma: Array, variance1: Array, variance2: Array) -> tuple[Array, Array]:
    """Arc-sine kernel (Williams 1997) and the one of the derivatives: E[phi phi], E[phi' phi']."""
    xp = array_module(sigma, variance1, variance2)
    product = (1 + 2 * variance1) * (1 + 2 * variance2)
    covariance = (2 / xp.pi) * xp.arcsin(2 * sigma / xp.sqrt(product))
    return covariance, (4 / xp.pi) / xp.sqrt(product - 4 * sigma**2)


_DUALS: dict[str, Callable[[Array, Array, Array], tuple[Array, Array]]] = {
    "relu": _relu_dual,
    "erf": _erf_dual,
}


def _relu_on_sphere(
    sigma: np.ndarray, variance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `_relu_dual` of equal variances and the slope of E[phi' phi'] by Sigma.

    The slope is infinite where points coincide, and zero is returned.
    """
    covariance, derivative = _relu_dual(sigma, np.array(variance), np.array(variance))
    square = variance**2 - sigma**2
    root = np.sqrt(np.where(square > 0, square, np.inf))
    return np.array(covariance), np.array(derivative), 1 / (2 * np.pi * root)


def _erf_on_sphere(
    sigma: np.ndarray, variance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `_erf_dual` of equal variances and the slope of E[phi' phi'] by Sigma.

    With q = (1 + 2 variance)^2 - 4 Sigma^2 they are (4 / pi) q^(-1/2) and
    (16 / pi) Sigma q^(-3/2).
    """
    top = 1 + 2 * variance
    covariance = np.arcsin(sigma * (2 / top))
    covariance *= 2 / np.pi
    derivative = sigma * sigma
    derivative *= -4
    derivative += top**2
    np.sqrt(derivative, out=derivative)
    np.divide(4 / np.pi, derivative, out=derivative)
    bend = derivative * derivative
    bend *= derivative
    bend *= sigma
    bend *= np.pi**2 / 4
    return covariance, derivative, bend


_SPHERE_DUALS: dict[
    str, Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray, np.ndarray]]
] = {"relu": _relu_on_sphere, "erf": _erf_on_sphere}


def gram(kernel: Kernel, x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """Return the covariances (n1, n2) of points in float64, compiled for few sizes.

    Args:
        kernel: The kernel to evaluate.
        x1: Points, (n1, ...).
        x2: Points, (n2, ...).
    """
    if isinstance(kernel, NTK):
        same, x1 = x1 is x2, x1.astype(np.float64)
        return _by_rows(kernel, x1, x1 if same else x2.astype(np.float64))
    padded = (pad(x.astype(np.float64), padded_size(len(x))) for x in (x1, x2))
    return np.asarray(_gram(kernel, *padded)[: len(x1), : len(x2)])


def variances(kernel: Kernel, x: np.ndarray) -> np.ndarray:
    """Return the prior variances (n,) of points in float64.

    Args:
        kernel: The kernel to evaluate.
        x: Points, (n, ...).
    """
    if isinstance(kernel, NTK):
        return np.asarray(kernel.diagonal(x.astype(np.float64)))
    return np.asarray(_diagonal(kernel, pad(x.astype(np.float64), padded_size(len(x)))))[: len(x)]


@compiled(x64=True)
def _diagonal(kernel: Kernel, x: Array) -> Array:
    return kernel.diagonal(x)


def _by_rows(kernel: NTK, x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """Evaluate a kernel in NumPy, so few rows at a time that temporaries stay in the cache.

    Of the covariances of points with themselves only those below the diagonal are computed.
    """
    found = np.empty((len(x1), len(x2)))
    symmetric = x1 is x2
    step = max(1, _ENTRIES // max(len(x2), 1))
    for start in range(0, len(x1), step):
        rows = slice(start, start + step)
        if symmetric:
            end = start + len(x1[rows])
            found[rows, :end] = kernel(x1[rows], x1[:end])
            found[:start, rows] = found[rows, :start].T
        else:
            found[rows] = kernel(x1[rows], x2)
    return found


@compiled(x64=True)
def _gram(kernel: Kernel, x1: Array, x2: Array) -> Array:
    return kernel(x1, x2)


def has_exact_ntk(network: Network) -> TypeGuard[MLP]:
    """Return whether the limit of this network's tangent kernel is known in closed form.

    Args:
        network: Any network.
    """
    return isinstance(network, MLP) and network.activation in _DUALS


def exact_ntk(network: Network) -> NTK:
    """Return the limit of this network's tangent kernel as its width grows.

    Args:
        network: An MLP with relu or erf.
    """
    if not has_exact_ntk(network):
        raise ValueError(
            "An exact tangent kernel is known for MLP with relu or erf, "
            f"got {network}: use a finite width."
        )
    return NTK(network.depth, network.activation, network.w_std, network.b_std)


@pytree(data_fields=["length_scale", "variance"], meta_fields=[])
@spell_checked
@dataclass(frozen=True)
class SE:
    """The squared exponential kernel, with one length scale or one for each dimension.

    Args:
        length_scale: Distance over which function values change, one number or one for each
            dimension, (d,).
        variance: Variance of the function values.

    Examples:
        >>> with float64():
        ...     print(float(SE(length_scale=0.5)(jnp.zeros((1, 2)), jnp.zeros((1, 2)))[0, 0]))
        1.0
    """

    length_scale: ArrayOrFloat = 1.0
    variance: ArrayOrFloat = 1.0

    def __post_init__(self) -> None:
        check(self, length_scale=_POSITIVE, variance=_POSITIVE)

    def __call__(self, x1: Array, x2: Array) -> Array:
        """Return the covariances (n1, n2)."""
        return self.variance * jnp.exp(-0.5 * _square_distances(x1, x2, self.length_scale))

    def diagonal(self, x: Array) -> Array:
        """Return the variances (n,)."""
        return jnp.full(len(x), self.variance, x.dtype)


@pytree(data_fields=["length_scale", "variance"], meta_fields=[])
@spell_checked
@dataclass(frozen=True)
class Matern52:
    """The Matern-5/2 kernel, with one length scale or one for each dimension.

    Args:
        length_scale: Distance over which function values change, one number or one for each
            dimension, (d,).
        variance: Variance of the function values.

    Examples:
        >>> with float64():
        ...     print(float(Matern52(variance=2.0)(jnp.zeros((1, 2)), jnp.zeros((1, 2)))[0, 0]))
        2.0
    """

    length_scale: ArrayOrFloat = 1.0
    variance: ArrayOrFloat = 1.0

    def __post_init__(self) -> None:
        check(self, length_scale=_POSITIVE, variance=_POSITIVE)

    def __call__(self, x1: Array, x2: Array) -> Array:
        """Return the covariances (n1, n2)."""
        square = 5 * _square_distances(x1, x2, self.length_scale)
        root = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
        return self.variance * (1 + root + square / 3) * jnp.exp(-root)

    def diagonal(self, x: Array) -> Array:
        """Return the variances (n,)."""
        return jnp.full(len(x), self.variance, x.dtype)


def _square_distances(x1: Array, x2: Array, length_scale: ArrayOrFloat) -> Array:
    x1, x2 = (x.reshape(len(x), -1) / length_scale for x in (x1, x2))
    square = jnp.sum(x1 * x1, 1)[:, None] + jnp.sum(x2 * x2, 1)[None, :] - 2 * x1 @ x2.T
    return jnp.maximum(square, 0.0)


def empirical_ntk(
    network: Network, theta: Array, x1: np.ndarray, x2: np.ndarray | None = None
) -> np.ndarray:
    """Return the products J(x1) J(x2)^T of the gradients at theta, in float64, without forming J.

    A layer with inputs A and back-propagated signals D contributes (A A^T) * (D D^T): O(n^2 m)
    operations a layer instead of O(n^2 m^2). A network of unknown structure goes by chunks of
    gradients (VJP) pushed forward (JVP).

    Args:
        network: The network whose gradients are taken.
        theta: Parameters, (p,).
        x1: Points, (n1, ...).
        x2: Points, (n2, ...); None for x1.
    """
    first = _blocks(network, theta, x1)
    if first is None:
        return _generic_ntk(network, theta, x1, x1 if x2 is None else x2)
    second = first if x2 is None else _blocks(network, theta, x2)
    assert second is not None  # the same network has the same structure
    return blocks_product(first, second)


def blocks_product(first: Blocks, second: Blocks, precision: DTypeLike = np.float64) -> np.ndarray:
    """Sum (A1 A2^T) * (D1 D2^T) over the layers.

    Args:
        first: Blocks of n1 points.
        second: Blocks of n2 points.
        precision: Precision of the matrix products.
    """
    total: np.ndarray | float = 0.0
    for (a1, d1), (a2, d2) in zip(first, second, strict=True):
        total = total + _product(a1, a2, precision) * _product(d1, d2, precision)
    return np.asarray(total)


def _product(u: Array, v: Array, precision: DTypeLike) -> np.ndarray:
    """Multiply u v^T; NumPy halves the work when both are one array."""
    left = np.asarray(u, precision)
    return left @ (left if u is v else np.asarray(v, precision)).T


@compiled(static_argnums=(0,))
def _blocks(network: Network, theta: Array, x: Array) -> Blocks | None:
    return network.blocks(theta, x)


def _generic_ntk(network: Network, theta: Array, x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    rows = [
        np.asarray(_kernel_rows(network, theta, x1[i : i + _CHUNK], x2), np.float64)
        for i in range(0, len(x1), _CHUNK)
    ]
    return np.concatenate(rows) if rows else np.zeros((0, len(x2)))


@compiled(static_argnums=(0,))
def _kernel_rows(network: Network, theta: Array, x1: Array, x2: Array) -> Array:
    """Rows of the kernel: pull one unit back from each point of x1, push it forward to x2."""

    def row(point: Array) -> Array:
        gradient = jax.grad(lambda t: network.apply(t, point[None])[0])(theta)
        return jax.jvp(lambda t: network.apply(t, x2), (theta,), (gradient,))[1]

    return jax.vmap(row)(x1)

"""The posterior variance as a score: what uncertainty sampling maximises.

It depends on where was observed, not on what: points that are still being evaluated count as well.

Notation:
    k       the prior covariance of encoded points
    X       the points so far, padded                              (n, ...)
    root    L^-1, where L L^T = k(X, X) + s2 I; zero on padding    (n, n)
"""

from dataclasses import dataclass

import numpy as np

from thomax.model.draws import repeated
from thomax.model.evaluation import Score
from thomax.model.kernels import Kernel, gram
from thomax.model.networks import Network
from thomax.model.padding import pad, padded_size
from thomax.model.posterior import Factor
from thomax.model.prior import UnitCube, seen
from thomax.support.lazy_jax import jax, jnp, pytree
from thomax.support.types import Array, ArrayOrFloat


@pytree(data_fields=["kernel", "scale", "variance"])
@dataclass(frozen=True)
class PriorKernel:
    """The prior covariance of encoded points: a multiple of a kernel, of points that are lifted.

    Args:
        kernel: The kernel, on points as the model sees them.
        scale: What multiplies points before they are lifted to a sphere, or what they are instead.
        variance: What multiplies the kernel.
    """

    kernel: Kernel
    scale: "ArrayOrFloat | UnitCube | None" = None
    variance: ArrayOrFloat = 1.0

    def __call__(self, x1: Array, x2: Array) -> Array:
        """Return the covariances (n1, n2)."""
        return self.variance * self.kernel(self._inputs(x1), self._inputs(x2))

    def diagonal(self, x: Array) -> Array:
        """Return the variances (n,)."""
        return self.variance * self.kernel.diagonal(self._inputs(x))

    def _inputs(self, x: Array) -> Array:
        return seen(x, self.scale)


@pytree(data_fields=["theta"], meta_fields=["network"])
@dataclass(frozen=True)
class EmpiricalNTK:
    """The tangent kernel of a finite network at given parameters, as a function to climb.

    Args:
        network: The network whose gradients are taken.
        theta: Parameters, (p,).
    """

    network: Network
    theta: Array

    def __call__(self, x1: Array, x2: Array) -> Array:
        """Return the covariances (n1, n2)."""
        x1, x2 = (x.astype(self.theta.dtype) for x in (x1, x2))
        first, second = (self.network.blocks(self.theta, x) for x in (x1, x2))
        if first is not None and second is not None:
            pairs = zip(first, second, strict=True)
            return sum((a @ b.T) * (d @ e.T) for (a, d), (b, e) in pairs)  # type: ignore[return-value]

        def row(point: Array) -> Array:
            forward = jax.jvp(
                lambda t: self.network.apply(t, x2), (self.theta,), (self._gradient(point),)
            )
            return forward[1]

        return jax.lax.map(row, x1)  # one gradient in memory at a time

    def diagonal(self, x: Array) -> Array:
        """Return the variances (n,)."""
        x = x.astype(self.theta.dtype)
        blocks = self.network.blocks(self.theta, x)
        if blocks is not None:
            return sum(jnp.sum(a * a, 1) * jnp.sum(d * d, 1) for a, d in blocks)  # type: ignore[return-value]
        return jax.lax.map(lambda point: jnp.sum(self._gradient(point) ** 2), x)

    def _gradient(self, point: Array) -> Array:
        return jax.grad(lambda t: self.network.apply(t, point[None])[0])(self.theta)


@pytree(data_fields=["kernel", "x", "root"])
@dataclass(frozen=True)
class Uncertainty(Score):
    """The posterior variance k(x, x) - |L^-1 k(X, x)|^2, a batch of one function.

    Args:
        kernel: The prior covariance k of encoded points.
        x: The points X so far, padded, (1, n, ...).
        root: L^-1, zero on padding, (1, n, n).
    """

    kernel: Kernel
    x: np.ndarray
    root: np.ndarray

    @classmethod
    def given(cls, kernel: Kernel, points: np.ndarray, noise_std: float) -> "Uncertainty":
        """Return the posterior variance given noisy observations at some points.

        Args:
            kernel: The prior covariance of encoded points.
            points: Encoded points, (n, ...).
            noise_std: The standard deviation of the observation noise.
        """
        n = len(points)
        x = pad(points.astype(np.float64), padded_size(n))
        root = inverse_root(kernel, x, n, noise_std**2)
        return cls(*repeated((kernel, x, root), 1))

    def values(self, x: Array) -> Array:
        """Evaluate the variance, in single precision.

        Before there are points it is the same everywhere on a sphere: its last digits must not
        decide where a search begins.
        """
        variance = posterior_variance(self.kernel, x.astype(self.x.dtype), self.x, self.root)
        return variance.astype(jnp.float32)


def posterior_variance(kernel: Kernel, x: Array, known: Array, root: Array) -> Array:
    """Return the posterior variances at points, by operations of JAX: (N,).

    Args:
        kernel: The prior covariance.
        x: The points, (N, ...).
        known: The points that are conditioned on, padded, (n, ...).
        root: The `inverse_root` of these, (n, n).
    """
    return kernel.diagonal(x) - jnp.sum((kernel(x, known) @ root.T) ** 2, axis=1)


def inverse_root(
    kernel: Kernel, x: np.ndarray, count: int, noise_variance: float | np.ndarray
) -> np.ndarray:
    """Return L^-1 of the covariance of noisy observations, zero on padding, (n, n).

    Args:
        kernel: The prior covariance.
        x: The points, padded, (n, ...).
        count: How many of them are no padding.
        noise_variance: The noise variance s2: one, or one for each point, (count,).
    """
    root = np.zeros((len(x), len(x)))
    if count:
        K = gram(kernel, x[:count], x[:count])
        root[:count, :count] = Factor(K, noise_variance).half_solve(np.eye(count))
    return root

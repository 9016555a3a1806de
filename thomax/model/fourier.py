"""Random Fourier features: draws from Gaussian process priors as sums of waves.

A stationary kernel is the average of cos(omega . (x - x')) over its spectral density (Bochner's
theorem; Rahimi and Recht 2007). A cosine and a sine for each frequency, instead of a cosine with a
random phase, make the prior variance exact whatever the number of frequencies.

Notation:
    omega   frequencies drawn from the spectral density           (m, d)
    phi     features, cosines then sines, rows of norm 1          (n, 2m)
    w       weights of the features, N(0, 1) in the prior         (2m,)
"""

import math
from dataclasses import dataclass

import numpy as np

from thomax.keys import Stream, normals, stream
from thomax.model.draws import DRAW_FIELDS, Draw
from thomax.model.kernels import SE, Matern52
from thomax.model.posterior import Factor
from thomax.support.lazy_jax import jnp, pytree
from thomax.support.types import Array

_MATERN52_DOF = 5  # 2 nu


def draw_frequencies(keys: np.ndarray, kernel: SE | Matern52, pairs: int, d: int) -> np.ndarray:
    """Draw frequencies from a kernel's spectral density, as float32 (B, pairs, d).

    It is Gaussian for SE and a multivariate Student-t for Matern: a Gaussian divided by the root
    of a mean of squares, the same in all dimensions.

    Args:
        keys: One key for each draw, (B, 2).
        kernel: A stationary kernel with its length scales.
        pairs: The number of frequencies for each draw.
        d: The number of dimensions.
    """
    omega = normals(keys, pairs * d, Stream.FREQUENCIES).reshape(len(keys), pairs, d)
    if isinstance(kernel, Matern52):
        squares = [stream(key, Stream.TAILS).chisquare(_MATERN52_DOF, (pairs, 1)) for key in keys]
        omega = omega / np.sqrt(np.stack(squares) / _MATERN52_DOF)
    return np.asarray(omega / np.asarray(kernel.length_scale), np.float32)


def feature_matrix(omega: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the features of points (n, d), in float64 and without compilation: (n, 2m).

    Args:
        omega: The frequencies of the waves, (m, d).
        x: The points, (n, d).
    """
    phase = x.astype(np.float64) @ omega.astype(np.float64).T
    return np.concatenate([np.cos(phase), np.sin(phase)], axis=1) / math.sqrt(len(omega))


def conditioned(
    w: np.ndarray,
    omega: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    noise_variance: float | np.ndarray,
) -> np.ndarray:
    """Turn prior weights into a draw from their posterior, in n x n form (Matheron's rule).

    The targets y come with a draw of the noise; without, the result is the posterior mean if w is
    zero, and otherwise has too small a covariance.

    Args:
        w: A prior draw of the weights of the features, (2m,).
        omega: The frequencies of the waves, (m, d).
        y: The targets, (n,).
        x: The observed points, (n, d).
        noise_variance: The variance of the observation noise: one, or one for each value, (n,).
    """
    phi = feature_matrix(omega, x)
    return w + phi.T @ Factor(phi @ phi.T, noise_variance).solve(y - phi @ w)


def feature_sum(omega: Array, w: Array, x: Array) -> Array:
    """Return phi(x) w, as traced code: the features themselves need not be stored.

    Args:
        omega: The frequencies of the waves, (m, d).
        w: The weights of the features, (2m,).
        x: The points, (N, d).
    """
    phase = x @ omega.T
    cosine, sine = w[: len(omega)], w[len(omega) :]
    waves = jnp.cos(phase) * cosine + jnp.sin(phase) * sine
    return jnp.sum(waves, axis=1) / math.sqrt(len(omega))


@pytree(data_fields=["omega"])
@dataclass(frozen=True)
class FourierKernel:
    """The covariance phi(x) . phi(x') of a process of random features, of unit variance.

    Args:
        omega: The frequencies of the waves, (m, d).
    """

    omega: np.ndarray

    def __call__(self, x1: Array, x2: Array) -> Array:
        """Return the covariances (n1, n2)."""
        first, second = (x @ self.omega.T for x in (x1, x2))
        waves = jnp.cos(first) @ jnp.cos(second).T + jnp.sin(first) @ jnp.sin(second).T
        return waves / len(self.omega)

    def diagonal(self, x: Array) -> Array:
        """Return the variances (n,)."""
        return jnp.ones(len(x), x.dtype)


@pytree(
    data_fields=[*DRAW_FIELDS, "beta", "omega", "w", "kernel", "x", "weights"],
    meta_fields=["single"],
)
@dataclass(frozen=True, repr=False)
class FourierDraw(Draw):
    """A draw by random features, conditioned by the kernel unless the features are the process.

    f(x) = beta ( phi(x) w  +  k(x, X) A^-1 (y + eps - phi(X) w) )
                  `-prior-'    `------------- update -----------'

    Args:
        beta: What multiplies the draw, (B,).
        omega: The frequencies of the waves, (B, m, d).
        w: The weights of the features, (B, 2m).
        kernel: The kernel of the update; None if the features are the process.
        x: The observed points of the update, (B, n, d).
        weights: A^-1 (y + eps - phi(X) w), (B, n).
    """

    beta: np.ndarray
    omega: np.ndarray
    w: np.ndarray
    kernel: SE | Matern52 | None
    x: np.ndarray | None
    weights: np.ndarray | None

    def values(self, x: Array) -> Array:
        """Evaluate one draw on the standardised scale."""
        x = x.reshape(len(x), -1)
        found = feature_sum(self.omega, self.w, x)
        if self.kernel is not None and self.x is not None and self.weights is not None:
            found = found + self.kernel(x.astype(self.x.dtype), self.x) @ self.weights
        return self.beta * found

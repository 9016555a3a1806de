"""Hyperparameters that maximise evidence times hyperprior, with gradients, in float64.

A family of priors says what its hyperparameters are: which covariance they give to observations,
and how likely they are before the data. All else is the same for every family.

Notation:
    p      hyperparameters, mostly logarithms; a row for each start       (starts, k)
    x, y   observed points and values                                     (n, d), (n,)
    A      covariance of the observed values, noise included              (n, n)
    mask   False on rows that only pad n to a fixed size                  (n,)
"""

import math
from typing import Protocol

import numpy as np

from thomax.model.blas import small_matrices
from thomax.model.lbfgs import ValueAndGradient, minimise
from thomax.model.padding import pad
from thomax.support.compilation import compiled
from thomax.support.lazy_jax import jax, jnp
from thomax.support.types import Array

_TOLERANCE = 0.1  # nats for a factor of e in a hyperparameter


class Family(Protocol):
    """Priors over functions that differ in their hyperparameters p; a JAX pytree."""

    def covariance(self, p: Array, x: Array, mask: Array) -> Array:
        """Return A; rows of padding are those of the identity, so that they couple to nothing.

        Args:
            p: The hyperparameters, (k,).
            x: The points, (n, d).
            mask: False on rows of padding, (n,).
        """

    def further_loss(self, p: Array, d: int) -> Array:
        """Return what else hyperparameters cost: minus the log of their density before the data.

        Args:
            p: The hyperparameters, (k,).
            d: The number of dimensions of the points.
        """


def most_likely(
    loss: ValueAndGradient,
    starts: np.ndarray,
    box: tuple[np.ndarray, np.ndarray],
    *,
    iterations: int,
) -> np.ndarray | None:
    """Return the best hyperparameters (k,) that an ascent finds, or None if none are finite.

    Args:
        loss: Returns minus log evidence and log hyperprior of rows p, and the gradients.
        starts: The hyperparameters to start from, a row each, (starts, k).
        box: The least and the greatest hyperparameters, (k,) each.
        iterations: The most iterations of the ascent.
    """
    found = minimise(
        loss, starts, iterations=iterations, tolerance=_TOLERANCE, lower=box[0], upper=box[1]
    )
    finite = np.isfinite(found.value) & np.isfinite(found.x).all(axis=1)
    best = int(np.argmin(np.where(finite, found.value, np.inf)))
    return found.x[best] if finite[best] else None


def compiled_loss(family: Family, x: np.ndarray, y: np.ndarray, size: int) -> ValueAndGradient:
    """Return the loss of a family of priors, for `most_likely`, by derivatives of JAX.

    Args:
        family: The priors that the hyperparameters choose from.
        x: The observed points, (n, d).
        y: The observed values, (n,).
        size: The number of rows that data are padded to, so that few sizes are compiled.
    """
    fixed = pad(x, size), pad(y, size), np.arange(size) < len(y)

    def loss(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with small_matrices(size):
            values, gradients = _losses(family, p, *fixed)
        return np.asarray(values), np.asarray(gradients)

    return loss


def _loss(family: Family, p: Array, x: Array, y: Array, mask: Array) -> tuple[Array, Array]:
    """Return minus log evidence and log hyperprior of one p, and the gradient.

    Minus the log evidence is (y^T A^-1 y + log det A + n log 2 pi) / 2, and its gradient with
    respect to A is (A^-1 - A^-1 y y^T A^-1) / 2: pulling that back through the kernel spares the
    derivative of the factorisation.
    """
    A, pull_back = jax.vjp(lambda q: family.covariance(q, x, mask), p)
    lower = jnp.linalg.cholesky(A)
    inverse = jax.scipy.linalg.cho_solve((lower, True), jnp.eye(len(y)))
    a = inverse @ y
    loss = 0.5 * (y @ a + mask.sum() * math.log(2 * math.pi)) + jnp.log(jnp.diag(lower)).sum()
    gradient = pull_back(0.5 * (inverse - jnp.outer(a, a)))[0]
    more, slope = jax.value_and_grad(family.further_loss)(p, x.shape[1])
    return loss + more, gradient + slope


@compiled(x64=True)
def _losses(family: Family, p: Array, x: Array, y: Array, mask: Array) -> tuple[Array, Array]:
    return jax.vmap(lambda q: _loss(family, q, x, y, mask))(p)

"""Hyperparameters of Gaussian processes by their evidence, with gradients, in float64.

Notation:
    p      log variance, log noise variance, log length scales (none for NTK)   (2,) or (2 + d,)
    A      variance K(x / length scales) + noise variance I                     (n, n)
    mask   False on rows that only pad n to a fixed size                        (n,)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from thomax.compilation import compiled
from thomax.model.blas import small_matrices
from thomax.model.kernels import NTK, SE, Kernel, Matern52, exact_ntk
from thomax.model.lbfgs import minimise
from thomax.model.networks import MLP
from thomax.model.padding import pad, padded_size

GPKernel: TypeAlias = SE | Matern52 | NTK
KernelName: TypeAlias = Literal["se", "matern52", "ntk"]

_USUAL_NOISE_STD = 0.1  # of standardised values
_FEWEST_POINTS = 4
_MOST_POINTS = 256  # the cost grows with the cube: 500 took eight times as long as 200
_CUBE = 2.0  # edge of the cube [-1, 1]^d; the prior below is stated for an edge of 1
_SCALE_SPREAD = math.sqrt(3.0)
_NOISE_LOCATION, _NOISE_SPREAD = -4.0, 1.0
_VARIANCE_SPREAD = 2.0  # a factor of e either way in the standard deviation
_BOUNDS = {"variance": (1e-4, 1e4), "noise": (1e-6, 1e1), "length scale": (1e-2, 1e4)}
_STARTS = ((1.0, 1.0), (4.0, 10.0), (0.5, 1.0))  # factors of length scales and noise variance
_ITERATIONS = 50
_TOLERANCE = 0.1  # nats for a factor of e in a hyperparameter


@dataclass(frozen=True)
class Hyperparameters:
    """A kernel (SE and Matern of unit variance), and what multiplies its draws.

    `noise_std` is the standard deviation of the observation noise in units of the amplitude.
    """

    kernel: GPKernel
    amplitude: float
    noise_std: float


def default_length_scale(d: int) -> float:
    """Return the mode of the prior over length scales."""
    return math.exp(_scale_location(d) - _SCALE_SPREAD**2)


def _scale_location(d: int) -> float:
    """Return the location of the log-normal prior, which grows with the dimension.

    Distances in a cube grow like sqrt(d), and so must length scales if problems are not to look
    harder only for having more dimensions (Hvarfner et al. 2024).
    """
    return math.sqrt(2.0) + 0.5 * math.log(d) + math.log(_CUBE)


def named_kernel(kernel: GPKernel | KernelName, d: int) -> GPKernel:
    """Return the kernel of this name, with the usual length scale in d dimensions."""
    if kernel == "ntk":
        return exact_ntk(MLP(width=math.inf, activation="erf"))
    if kernel in ("se", "matern52"):
        return (SE if kernel == "se" else Matern52)(default_length_scale(d))
    return kernel  # type: ignore[return-value]


def usual_hyperparameters(
    kernel: GPKernel | KernelName, noise_std: float | None, d: int
) -> Hyperparameters:
    """Return what is believed before the data; `noise_std` in units of the targets."""
    kernel, amplitude = named_kernel(kernel, d), 1.0
    if not isinstance(kernel, NTK):
        amplitude = math.sqrt(kernel.variance)
        # One for each dimension, as fitted ones are: other shapes would be compiled anew.
        scales = np.broadcast_to(np.asarray(kernel.length_scale, np.float64), (d,))
        kernel = replace(kernel, length_scale=scales, variance=1.0)
    noise_std = _USUAL_NOISE_STD if noise_std is None else noise_std
    return Hyperparameters(kernel, amplitude, noise_std / amplitude)


def fit_hyperparameters(
    before: Hyperparameters,
    x: np.ndarray,
    y: np.ndarray,
    *,
    fixed_noise: bool = False,
    hyperprior: bool = True,
) -> Hyperparameters:
    """Maximise the evidence, times the priors unless these are switched off, from three starts.

    What was believed before, in units of the root mean square of y, is the first start; it is
    returned as it is when there are too few points or nothing can be learnt from them.
    """
    every = math.ceil(max(len(x), 1) / _MOST_POINTS)
    x, y = x[::every], y[::every]
    with np.errstate(over="ignore"):
        unit = math.sqrt(float(np.mean(np.square(y)))) if len(y) else 0.0
    if len(y) < _FEWEST_POINTS or not 1e-100 < unit < 1e100:
        return before
    starts = _starts(before)
    noise_std = before.noise_std * before.amplitude / unit if fixed_noise else None
    lower, upper = _box(starts.shape[1], noise_std)
    size = padded_size(len(y))
    mask = np.arange(size) < len(y)
    kernel = before.kernel if isinstance(before.kernel, NTK) else type(before.kernel)()
    fixed = (kernel, pad(x, size), pad(y / unit, size), mask)

    def loss(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = _losses(hyperprior, p, *fixed)
        return values, gradients

    with small_matrices(size):
        found = minimise(
            loss, starts, iterations=_ITERATIONS, tolerance=_TOLERANCE, lower=lower, upper=upper
        )
    if not np.isfinite(found.value).any():
        return before
    return _unpacked(before.kernel, found.x[np.nanargmin(found.value)], unit)


def _starts(before: Hyperparameters) -> np.ndarray:
    noise = before.noise_std**2
    if isinstance(before.kernel, NTK):
        return np.log([[1.0, noise * b] for _, b in _STARTS])
    scales = np.asarray(before.kernel.length_scale)
    return np.log([[1.0, noise * b, *(a * scales)] for a, b in _STARTS])


def _box(size: int, noise_std: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of p; those of a fixed noise are its value."""
    names = ["variance", "noise", *["length scale"] * (size - 2)]
    lower, upper = np.log([_BOUNDS[name] for name in names]).T
    if noise_std is not None:
        lower[1] = upper[1] = 2 * math.log(noise_std)
    return lower, upper


def _unpacked(kernel: Any, p: np.ndarray, unit: float) -> Hyperparameters:
    variance, noise, scales = math.exp(p[0]), math.exp(p[1]), np.exp(p[2:])
    if isinstance(kernel, SE | Matern52):
        kernel = replace(kernel, length_scale=scales)
    return Hyperparameters(kernel, unit * math.sqrt(variance), math.sqrt(noise / variance))


@compiled(static_argnums=(0,), x64=True)
def _losses(hyperprior: bool, p: Any, kernel: Kernel, x: Any, y: Any, mask: Any) -> Any:
    """Return minus the log evidence (and log priors), and gradients, for every row of p."""

    def one(q: Any) -> Any:
        loss, gradient = evidence_loss(lambda r: _noisy_gram(r, kernel, x, mask), q, y, mask)
        if not hyperprior:
            return loss, gradient
        more, slope = jax.value_and_grad(_hyperprior_loss)(q, x.shape[1])
        return loss + more, gradient + slope

    return jax.vmap(one)(p)


def evidence_loss(covariance: Callable[[Any], Any], p: Any, y: Any, mask: Any) -> tuple[Any, Any]:
    """Return (y^T A^-1 y + log det A + n log 2 pi) / 2 for A = covariance(p), and its gradient.

    The gradient with respect to A is (A^-1 - A^-1 y y^T A^-1) / 2: pulling it back through the
    kernel spares the derivative of the factorisation.
    """
    A, pull_back = jax.vjp(covariance, p)
    lower = jnp.linalg.cholesky(A)
    inverse = jax.scipy.linalg.cho_solve((lower, True), jnp.eye(len(y)))
    a = inverse @ y
    loss = 0.5 * (y @ a + mask.sum() * math.log(2 * math.pi)) + jnp.log(jnp.diag(lower)).sum()
    return loss, pull_back(0.5 * (inverse - jnp.outer(a, a)))[0]


def _noisy_gram(p: Any, kernel: Kernel, x: Any, mask: Any) -> Any:
    """Return A; rows of padding are those of the identity, so that they couple to nothing."""
    x = x / jnp.exp(p[2:]) if len(p) > 2 else x
    K = jnp.where(mask[:, None] & mask[None, :], jnp.exp(p[0]) * kernel(x, x), 0.0)
    return K + jnp.diag(jnp.where(mask, jnp.exp(p[1]), 1.0))


def _hyperprior_loss(p: Any, d: int) -> Any:
    """Return minus the log densities of variance, noise and length scales, up to a constant.

    Noise and length scales have log-normal densities, whence the terms linear in the logarithms.
    """
    variance, noise, scales = p[0], p[1], p[2:]
    return (
        0.5 * (variance / _VARIANCE_SPREAD) ** 2
        + 0.5 * ((noise - _NOISE_LOCATION) / _NOISE_SPREAD) ** 2
        + noise
        + jnp.sum(0.5 * ((scales - _scale_location(d)) / _SCALE_SPREAD) ** 2 + scales)
    )

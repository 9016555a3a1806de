"""The prior of Gaussian processes: a kernel, and scales chosen by the evidence.

Notation:
    p      log variance, log noise variance, log length scales (none for NTK)   (2,) or (2 + d,)
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from thomax.model.hyperparameters import compiled_loss, most_likely
from thomax.model.kernels import NTK, SE, Kernel, Matern52, exact_ntk
from thomax.model.networks import MLP
from thomax.model.noise import Noise
from thomax.model.padding import padded_size
from thomax.model.targets import USUAL_NOISE_STD
from thomax.support.lazy_jax import jnp, pytree
from thomax.support.types import Array

GPKernel: TypeAlias = SE | Matern52 | NTK
KernelName: TypeAlias = Literal["se", "matern52", "ntk"]

_FEWEST_POINTS = 4
_MOST_POINTS = 256  # the cost grows with the cube: 500 took eight times as long as 200
_CUBE = 2.0  # edge of the cube [-1, 1]^d; the prior below is stated for an edge of 1
_SCALE_SPREAD = math.sqrt(3.0)
_NOISE_LOCATION, _NOISE_SPREAD = -4.0, 1.0
_VARIANCE_SPREAD = 2.0  # a factor of e either way in the standard deviation
_BOUNDS = {"variance": (1e-4, 1e4), "noise": (1e-6, 1e1), "length scale": (1e-2, 1e4)}
_STARTS = ((1.0, 1.0), (4.0, 10.0), (0.5, 1.0))  # factors of length scales and noise variance
_ITERATIONS = 50


@dataclass(frozen=True)
class Hyperparameters:
    """A kernel (SE and Matern of unit variance), and what multiplies its draws.

    Args:
        kernel: The kernel, with length scales if it has any.
        amplitude: The standard deviation of the function, in units of the kernel's.
        noise_std: The standard deviation of the observation noise, in units of the amplitude.
    """

    kernel: GPKernel
    amplitude: float
    noise_std: float


def default_length_scale(d: int) -> float:
    """Return the mode of the prior over length scales.

    Args:
        d: The number of dimensions.
    """
    return math.exp(_scale_location(d) - _SCALE_SPREAD**2)


def _scale_location(d: int) -> float:
    """Return the location of the log-normal prior, which grows with the dimension.

    Distances in a cube grow like sqrt(d), and so must length scales if problems are not to look
    harder only for having more dimensions (Hvarfner et al. 2024).
    """
    return math.sqrt(2.0) + 0.5 * math.log(d) + math.log(_CUBE)


def named_kernel(
    kernel: GPKernel | KernelName, d: int, owner: str = "A Gaussian process"
) -> GPKernel:
    """Return the kernel of this name, with the usual length scale in d dimensions.

    Args:
        kernel: Its name, or a kernel, which is returned as it is.
        d: The number of dimensions.
        owner: The policy's name for error messages.

    Raises:
        ValueError: If it is neither.
    """
    if kernel == "ntk":
        return exact_ntk(MLP(width=math.inf, activation="erf"))
    if kernel in ("se", "matern52"):
        return (SE if kernel == "se" else Matern52)(default_length_scale(d))
    if isinstance(kernel, SE | Matern52 | NTK):
        return kernel
    raise ValueError(
        f'{owner} needs kernel to be "se", "matern52", "ntk", or an SE, Matern52 or NTK, '
        f"got {kernel!r}."
    )


def usual_hyperparameters(
    kernel: GPKernel | KernelName, noise_std: float | None, d: int
) -> Hyperparameters:
    """Return the hyperparameters that are assumed before the data.

    Args:
        kernel: Its name, or a kernel.
        noise_std: The standard deviation of the observation noise, in units of the targets; None
            for the usual one.
        d: The number of dimensions.
    """
    kernel, amplitude = named_kernel(kernel, d), 1.0
    if not isinstance(kernel, NTK):
        amplitude = math.sqrt(kernel.variance)
        # One for each dimension, as fitted ones are: other shapes would be compiled anew.
        scales = np.broadcast_to(np.asarray(kernel.length_scale, np.float64), (d,))
        kernel = replace(kernel, length_scale=scales, variance=1.0)
    noise_std = USUAL_NOISE_STD if noise_std is None else noise_std
    return Hyperparameters(kernel, amplitude, noise_std / amplitude)


@pytree(data_fields=["kernel", "noise"], meta_fields=["hyperprior"])
@dataclass(frozen=True)
class ScaledKernel:
    """Multiples of a kernel of scaled points, with noise: what p of this module means.

    Args:
        kernel: A kernel of unit variance and length scale.
        hyperprior: Whether some hyperparameters are likelier than others before the data.
        noise: What is known of the noise of each value, padded.
    """

    kernel: Kernel
    hyperprior: bool
    noise: Noise | None = None

    def covariance(self, p: Array, x: Array, mask: Array) -> Array:
        """Return A; rows of padding are those of the identity, so that they couple to nothing.

        Args:
            p: The hyperparameters, (2,) or (2 + d,).
            x: The points, (n, d).
            mask: False on rows of padding, (n,).
        """
        x = x / jnp.exp(p[2:]) if len(p) > 2 else x
        K = jnp.where(mask[:, None] & mask[None, :], jnp.exp(p[0]) * self.kernel(x, x), 0.0)
        v = jnp.exp(p[1])
        return K + jnp.diag(
            jnp.where(mask, v if self.noise is None else self.noise.variances(v), 1.0)
        )

    def further_loss(self, p: Array, d: int) -> Array:
        """Return minus what measurements say of the noise beside their means, and the hyperprior.

        Args:
            p: The hyperparameters, (2,) or (2 + d,).
            d: The number of dimensions of the points.
        """
        loss = self.hyperprior_loss(p, d)
        return loss if self.noise is None else loss + self.noise.scatter_loss(jnp.exp(p[1]))

    def hyperprior_loss(self, p: Array, d: int) -> Array:
        """Return minus the log densities of variance, noise and length scales, up to a constant.

        Noise and length scales have log-normal densities, whence the terms linear in the
        logarithms.

        Args:
            p: The hyperparameters, (2,) or (2 + d,).
            d: The number of dimensions of the points.
        """
        if not self.hyperprior:
            return jnp.zeros((), p.dtype)
        variance, noise, scales = p[0], p[1], p[2:]
        return (
            0.5 * (variance / _VARIANCE_SPREAD) ** 2
            + 0.5 * ((noise - _NOISE_LOCATION) / _NOISE_SPREAD) ** 2
            + noise
            + jnp.sum(0.5 * ((scales - _scale_location(d)) / _SCALE_SPREAD) ** 2 + scales)
        )


def fit_hyperparameters(
    before: Hyperparameters,
    x: np.ndarray,
    y: np.ndarray,
    *,
    fixed_noise: bool = False,
    hyperprior: bool = True,
    noise: Noise | None = None,
) -> Hyperparameters:
    """Maximise the evidence, times the priors unless these are switched off, from three starts.

    Args:
        before: Hyperparameters assumed before the data; in units of the root mean square of y
            the first start. Returned as they are when there are too few points or nothing can be
            learnt from them.
        x: The observed points, (n, d).
        y: The observed values, (n,).
        fixed_noise: Whether to keep the noise as it is in `before`.
        hyperprior: Whether some hyperparameters are likelier than others before the data.
        noise: What is known of the noise of each value, in units of y.
    """
    every = math.ceil(max(len(x), 1) / _MOST_POINTS)
    x, y = x[::every], y[::every]
    with np.errstate(over="ignore"):
        unit = math.sqrt(float(np.mean(np.square(y)))) if len(y) else 0.0
    if len(y) < _FEWEST_POINTS or not 1e-100 < unit < 1e100:
        return before
    starts = _starts(before)
    noise_std = before.noise_std * before.amplitude / unit if fixed_noise else None
    kernel = before.kernel if isinstance(before.kernel, NTK) else type(before.kernel)()
    size = padded_size(len(y))
    if noise is not None:
        noise = noise.take(slice(None, None, every)).in_units(unit).padded(size)
    p = most_likely(
        compiled_loss(ScaledKernel(kernel, hyperprior, noise), x, y / unit, size),
        starts, _box(starts.shape[1], noise_std), iterations=_ITERATIONS,
    )  # fmt: skip
    return before if p is None else _unpacked(before.kernel, p, unit)


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


def _unpacked(kernel: GPKernel, p: np.ndarray, unit: float) -> Hyperparameters:
    variance, noise, scales = math.exp(p[0]), math.exp(p[1]), np.exp(p[2:])
    if isinstance(kernel, SE | Matern52):
        kernel = replace(kernel, length_scale=scales)
    return Hyperparameters(kernel, unit * math.sqrt(variance), math.sqrt(noise / variance))

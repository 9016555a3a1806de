"""The prior over functions: inputs on a sphere, and scales chosen by the evidence.

On the cube a network's prior variance grows with |x|^2: draws then have their maxima in corners,
and a search in many dimensions never leaves them. Lifted to a sphere, all points are alike.

Notation:
    scale       of the inputs before they are lifted: larger means faster varying functions
    amplitude   standard deviation of the function in units of the network's
    ratio       noise variance over squared amplitude
"""

import math
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from thomax.data import pad, padded_size
from thomax.kernels import NTK, exact_ntk, float64, has_exact_ntk
from thomax.networks import MLP, Network
from thomax.posterior import Factor

SCALES = (0.5, 1.0, 2.0, 4.0)
RATIOS = (1e-4, 1e-3, 1e-2, 1e-1)
_MOST_POINTS = 256  # the evidence of more points says little more about four numbers


def lift(x: Any, scale: Any) -> Any:
    """Scale points (n, d), append a constant and project to a sphere: (n, d + 1).

    The first-layer kernel <x, x'> / (d + 1) of lifted points is the cosine of their angle.
    """
    d = x.shape[1]
    extended = jnp.concatenate([x * (scale / math.sqrt(d)), jnp.ones_like(x[:, :1])], axis=1)
    norm = jnp.sqrt(jnp.sum(extended**2, axis=1, keepdims=True))
    return math.sqrt(d + 1) * extended / norm


@dataclass(frozen=True)
class Prior:
    """What is believed before the data; without a scale points are not lifted."""

    scale: float | None
    noise_std: float
    amplitude: float = 1.0

    def inputs(self, x: np.ndarray) -> np.ndarray:
        """Return points as the network sees them, float32."""
        if self.scale is None:
            return x
        return np.asarray(lift(x.astype(np.float32), np.float32(self.scale)))


def default_prior(network: Network, sphere: bool, noise_std: float | None) -> Prior:
    """Return the prior before there are enough data to choose one."""
    scale = 1.0 if sphere and isinstance(network, MLP) else None
    return Prior(scale, 0.1 if noise_std is None else noise_std)


def fit_prior(network: Network, x: np.ndarray, targets: np.ndarray, sphere: bool) -> Prior:
    """Choose scale, amplitude and noise by the evidence of the exact tangent kernel.

    For each scale and ratio the best amplitude is known in closed form, so the whole choice costs
    a few Cholesky factorisations. Networks whose exact kernel is unknown keep the default.
    """
    before = default_prior(network, sphere, None)
    if len(x) < 4 or not has_exact_ntk(network):
        return before
    every = math.ceil(len(x) / _MOST_POINTS)
    x, targets = x[::every], targets[::every]
    kernel = exact_ntk(network)
    scales = SCALES if before.scale is not None else (None,)
    kernels = {scale: _gram(kernel, x, scale) for scale in scales}
    best = max(product(scales, RATIOS), key=lambda c: _evidence(kernels[c[0]], targets, *c)[0])
    amplitude = _evidence(kernels[best[0]], targets, *best)[1]
    return Prior(best[0], math.sqrt(best[1]), amplitude)


def _evidence(
    K: np.ndarray, y: np.ndarray, scale: float | None, ratio: float
) -> tuple[float, float]:
    """Return the log evidence at the best amplitude, with weak priors, and that amplitude.

    The priors (log-normal, a factor of three either way for the amplitude) decide while the data
    are few; the amplitude's acts as one more observation of unit size.
    """
    n = len(y)
    factor = Factor(K, ratio)
    square = (float(np.square(factor.half_solve(y)).sum()) + 1.0) / (n + 1)
    log_evidence = -0.5 * ((n + 1) * math.log(square) + factor.log_determinant())
    prior = -0.5 * (math.log(scale or 1.0) / 1.0) ** 2 - 0.5 * (math.log(ratio / 1e-2) / 3.0) ** 2
    return log_evidence + prior, math.sqrt(square)


def _gram(kernel: NTK, x: np.ndarray, scale: float | None) -> np.ndarray:
    padded = pad(x.reshape(len(x), -1).astype(np.float64), padded_size(len(x)))
    with float64():
        K = _padded_gram(scale is not None, kernel, padded, 1.0 if scale is None else scale)
    return np.asarray(K)[: len(x), : len(x)]


@partial(jax.jit, static_argnums=0)
def _padded_gram(lifted: bool, kernel: NTK, x: Any, scale: Any) -> Any:
    x = lift(x, scale) if lifted else x
    return kernel(x, x)

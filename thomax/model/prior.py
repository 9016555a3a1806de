"""The prior over functions: what a network sees of a point, and scales chosen by the evidence.

On the cube a network's prior variance grows with |x|^2: draws then have their maxima in corners,
and a search in many dimensions never leaves them. Lifted to a sphere, all points are alike.

Notation:
    scale       of the inputs before they are lifted: larger means faster varying functions;
                one for all dimensions, or one for each
    amplitude   standard deviation of the function in units of the network's
    ratio       noise variance over squared amplitude
    p           log squared amplitude, log ratio, log of the scale that dimensions have in
                common, and how far each is from it                          (3 + d,)
"""

import math
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from thomax.model.hyperparameters import most_likely
from thomax.model.kernels import NTK, exact_ntk, has_exact_ntk
from thomax.model.networks import MLP, Network
from thomax.model.padding import pad, padded_size
from thomax.model.posterior import Factor
from thomax.model.targets import USUAL_NOISE_STD
from thomax.support.checks import one_of
from thomax.support.compilation import compiled
from thomax.support.types import Array, ArrayOrFloat

Inputs: TypeAlias = Literal["sphere", "cube", "unit_cube"]
INPUTS = one_of("sphere", "cube", "unit_cube")
SCALES = (0.5, 1.0, 2.0, 4.0)
RATIOS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
SMALLEST_MAX_NOISE_STD = math.sqrt(RATIOS[0])
_MOST_POINTS = 256  # the evidence of more points says little more about four numbers
_MOST_POINTS_EACH = 128  # and each of up to thirty evaluations costs the cube
_MOST_DIMENSIONS = 100  # beyond, there are never the data to tell one from another
_ITERATIONS = 20
_COLUMNS = 8  # dimensions are padded to a multiple


def lift(x: Array, scale: ArrayOrFloat) -> Array:
    """Scale points (n, d), append a constant and project to a sphere: (n, d + 1).

    The first-layer kernel <x, x'> / (d + 1) of lifted points is the cosine of their angle.
    Points of another shape are flattened.

    Args:
        x: The points, (n, ...).
        scale: What multiplies the points: one, or one for each dimension, (d,).
    """
    x = x.reshape(len(x), -1)
    d = x.shape[1]
    extended = jnp.concatenate([x * (scale / math.sqrt(d)), jnp.ones_like(x[:, :1])], axis=1)
    norm = jnp.sqrt(jnp.sum(extended**2, axis=1, keepdims=True))
    return math.sqrt(d + 1) * extended / norm


_lifted = compiled(whole=False)(lift)


@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=[])
@dataclass(frozen=True)
class UnitCube:
    """Instead of the scales of a sphere: points of [-1, 1]^d are seen as those of [0, 1]^d.

    Images are seen as they are: a pool brings the pixels of integers to [0, 1] itself.
    """

    def __call__(self, x: Array) -> Array:
        """Return points as a network sees them.

        Args:
            x: The points, (n, ...).
        """
        return 0.5 * (x + 1) if x.ndim == 2 else x


def seen(x: Array, lifting: "ArrayOrFloat | UnitCube | None") -> Array:
    """Return points as a network sees them: lifted to a sphere, in the unit cube, or as they are.

    Args:
        x: The points, (n, ...).
        lifting: The scales of the inputs before they are lifted, or where else they are seen.
    """
    if lifting is None:
        return x
    return lifting(x) if isinstance(lifting, UnitCube) else lift(x, lifting)


@dataclass(frozen=True)
class Prior:
    """The prior over functions; without a scale points are not lifted to the sphere.

    Args:
        scale: What multiplies the inputs before they are lifted: one, or one for each dimension,
            (d,); UnitCube if they are brought to [0, 1]^d, None if they are left as they are.
        noise_std: The standard deviation of the observation noise, in units of the amplitude.
        amplitude: The standard deviation of the function, in units of the network's.
    """

    scale: float | np.ndarray | UnitCube | None
    noise_std: float
    amplitude: float = 1.0

    def inputs(self, x: np.ndarray) -> np.ndarray:
        """Return points as the network sees them, float32.

        Args:
            x: The points, (n, ...).
        """
        if self.scale is None or isinstance(self.scale, UnitCube):
            return np.asarray(seen(x, self.scale))
        return np.asarray(_lifted(x.astype(np.float32), np.asarray(self.scale, np.float32)))

    def lifting(self, count: int, d: int) -> np.ndarray | UnitCube | None:
        """Return the scale of every dimension for each of so many draws, (count, d).

        Where points are not lifted it is what they are instead.

        Args:
            count: The number of draws.
            d: The number of dimensions.
        """
        if self.scale is None or isinstance(self.scale, UnitCube):
            return self.scale
        return np.broadcast_to(np.asarray(self.scale, np.float32), (count, d)).copy()


def default_prior(network: Network, inputs: Inputs, noise_std: float | None) -> Prior:
    """Return the prior before there are enough data to choose one.

    Args:
        network: The network; only an MLP can have its inputs lifted.
        inputs: What the network sees of points.
        noise_std: The standard deviation of the observation noise; None for the usual one.
    """
    scale: float | UnitCube | None = UnitCube() if inputs == "unit_cube" else None
    if inputs == "sphere" and isinstance(network, MLP):
        scale = 1.0
    return Prior(scale, USUAL_NOISE_STD if noise_std is None else noise_std)


@partial(
    jax.tree_util.register_dataclass, data_fields=["kernel", "scale_prior_std"], meta_fields=[]
)
@dataclass(frozen=True)
class LiftedNTK:
    """Tangent kernels of points on a sphere, with noise: what p of this module means.

    Args:
        kernel: The tangent kernel, on lifted points.
        scale_prior_std: The prior standard deviation of the logarithm of a dimension's scale
            around the one that all have in common.
    """

    kernel: NTK
    scale_prior_std: float

    def covariance(self, p: Array, x: Array, mask: Array) -> Array:
        """Return A; rows of padding are those of the identity, so that they couple to nothing.

        Args:
            p: The hyperparameters, (3 + d,).
            x: The points, (n, d).
            mask: False on rows of padding, (n,).
        """
        z = lift(x, jnp.exp(p[2] + p[3:]))
        K = jnp.where(mask[:, None] & mask[None, :], self.kernel(z, z), 0.0)
        noise = jnp.where(mask, jnp.exp(p[0] + p[1]), 1.0)
        return jnp.exp(p[0]) * K + jnp.diag(noise)

    def hyperprior_loss(self, p: Array, d: int) -> Array:
        """Return minus the log priors: those of `_evidence`, and normal ones of the dimensions.

        Args:
            p: The hyperparameters, (3 + d,).
            d: The number of dimensions of the points.
        """
        amplitude = 0.5 * (jnp.exp(-p[0]) + p[0])
        ratio = 0.5 * ((p[1] - math.log(1e-2)) / 3.0) ** 2
        each = 0.5 * jnp.sum((p[3:] / self.scale_prior_std) ** 2)
        return amplitude + ratio + 0.5 * p[2] ** 2 + each


def fit_prior(
    network: Network,
    x: np.ndarray,
    targets: np.ndarray,
    inputs: Inputs,
    *,
    scale_prior_std: float = 0.0,
    max_noise_std: float = 0.32,
) -> Prior:
    """Choose scale, amplitude and noise by the evidence of the exact tangent kernel.

    For each scale and ratio the best amplitude is known in closed form, so the whole choice costs
    a few Cholesky factorisations. The best of them is where an ascent starts that gives every
    dimension a scale of its own. Networks whose exact kernel is unknown keep the default.

    Args:
        network: The network whose tangent kernel is the prior covariance.
        x: The observed points, (n, ...).
        targets: The standardised values, (n,).
        inputs: What the network sees of points.
        scale_prior_std: The prior standard deviation of the logarithm of a dimension's scale
            around the common one; 0 keeps one scale for all.
        max_noise_std: The largest standard deviation of the noise, in units of the amplitude.
    """
    before = default_prior(network, inputs, None)
    if len(x) < 4 or not has_exact_ntk(network):
        return before
    kernel = exact_ntk(network)
    some, values = _thinned(x, targets, _MOST_POINTS)
    scales: tuple[float | UnitCube | None, ...] = SCALES
    if is_seen_otherwise := not isinstance(before.scale, float):
        assert not isinstance(before.scale, np.ndarray)
        scales = (before.scale,)
    kernels = {scale: _gram(kernel, some, scale) for scale in scales}
    ratios = [ratio for ratio in RATIOS if ratio <= max_noise_std**2 * (1 + 1e-9)]
    best = max(product(scales, ratios), key=lambda c: _evidence(kernels[c[0]], values, *c)[0])
    amplitude = _evidence(kernels[best[0]], values, *best)[1]
    found = Prior(best[0], math.sqrt(best[1]), amplitude)
    if scale_prior_std == 0 or is_seen_otherwise or x[0].size > _MOST_DIMENSIONS:
        return found
    some, values = _thinned(x, targets, _MOST_POINTS_EACH)
    return _each_dimension(kernel, some, values, found, scale_prior_std, max_noise_std)


def _thinned(x: np.ndarray, targets: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    some = np.linspace(0, len(x) - 1, min(most, len(x))).astype(int)
    return x[some], targets[some]


def _each_dimension(
    kernel: NTK,
    x: np.ndarray,
    y: np.ndarray,
    start: Prior,
    scale_prior_std: float,
    max_noise_std: float,
) -> Prior:
    """Climb the evidence, times the priors, from one scale for all dimensions to one for each.

    The scale that dimensions have in common cannot be smaller than the smallest that was tried:
    where data look like noise it would be likelier still, with a large amplitude, and draws would
    be nearly linear, with maxima at the corners of the cube.
    """
    x = x.reshape(len(x), -1).astype(np.float64)
    n, d = x.shape
    # Few sizes: the gradient of the evidence takes long to compile. Columns of zeros change
    # nothing, once the scale makes up for the root of their number in `lift`.
    size, wide = max(32, 1 << (n - 1).bit_length()), _COLUMNS * math.ceil(d / _COLUMNS)
    assert isinstance(start.scale, float)  # one of SCALES
    common = [2 * math.log(start.amplitude), 2 * math.log(start.noise_std), math.log(start.scale)]
    start_p = np.array([[*common, *[0.0] * wide]])
    p = most_likely(
        LiftedNTK(kernel, scale_prior_std), pad(x, wide, axis=1) * math.sqrt(wide / d), y, start_p,
        _box(wide, max_noise_std), size=size, iterations=_ITERATIONS,
    )  # fmt: skip
    if p is None:
        return start
    return Prior(np.exp(p[2] + p[3 : 3 + d]), math.exp(p[1] / 2), math.exp(p[0] / 2))


def _box(d: int, max_noise_std: float) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of p."""
    lower = [-6.0, math.log(1e-5), math.log(SCALES[0]), *[-5.0] * d]
    upper = [8.0, 2 * math.log(max_noise_std), 3.0, *[5.0] * d]
    return np.array(lower), np.array(upper)


def _evidence(
    K: np.ndarray, y: np.ndarray, scale: float | UnitCube | None, ratio: float
) -> tuple[float, float]:
    """Return the log evidence at the best amplitude, with weak priors, and that amplitude.

    The priors decide while the data are few: log-normal ones of the scale (a factor of e either
    way) and of the ratio (e^3), and for the amplitude one more observation of unit size.
    """
    n = len(y)
    factor = Factor(K, ratio)
    square = (float(np.square(factor.half_solve(y)).sum()) + 1.0) / (n + 1)
    log_evidence = -0.5 * ((n + 1) * math.log(square) + factor.log_determinant())
    log_scale = math.log(scale) if isinstance(scale, float) else 0.0
    prior = -0.5 * log_scale**2 - 0.5 * (math.log(ratio / 1e-2) / 3.0) ** 2
    return log_evidence + prior, math.sqrt(square)


def _gram(kernel: NTK, x: np.ndarray, scale: float | UnitCube | None) -> np.ndarray:
    padded = pad(x.astype(np.float64), padded_size(len(x)))
    return np.asarray(_padded_gram(kernel, padded, scale)[: len(x), : len(x)])


@compiled(x64=True)
def _padded_gram(kernel: NTK, x: Array, scale: "ArrayOrFloat | UnitCube | None") -> Array:
    x = seen(x, scale)
    return kernel(x, x)

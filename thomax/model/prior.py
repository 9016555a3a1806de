"""The prior over functions: what a network sees of a point, and scales chosen by the evidence.

On the cube a network's prior variance grows with |x|^2: draws then have their maxima in corners,
and a search in many dimensions never leaves them. Lifted to a sphere, all points are alike.

Notation:
    scale       of the inputs before they are lifted: larger means faster varying functions;
                one for all dimensions, or one for each
    amplitude   standard deviation of the function in units of the network's
    ratio       noise variance of a single measurement over squared amplitude
    p           log squared amplitude, log ratio, log of the scale that dimensions have in
                common, and how far each is from it                          (3 + d,)
"""

import math
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

import numpy as np

from thomax.model.hyperparameters import most_likely
from thomax.model.kernels import NTK, exact_ntk, gram, has_exact_ntk
from thomax.model.networks import MLP, Network
from thomax.model.noise import Noise
from thomax.model.posterior import Factor, evidence_and_gradient
from thomax.model.targets import USUAL_NOISE_STD
from thomax.support.checks import one_of
from thomax.support.lazy_jax import array_module, pytree
from thomax.support.types import Array, ArrayOrFloat

Inputs: TypeAlias = Literal["sphere", "cube", "unit_cube"]
INPUTS = one_of("sphere", "cube", "unit_cube")
SCALES = (0.5, 1.0, 2.0, 4.0)
_USUAL_RATIO = 1e-2
RATIOS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
SMALLEST_MAX_NOISE_STD = math.sqrt(RATIOS[0])
_MOST_POINTS = 256  # the evidence of more points says little more about four numbers
_MOST_POINTS_EACH = 128  # and each of up to thirty evaluations costs the cube
_MOST_DIMENSIONS = 100  # beyond, there are never the data to tell one from another
_ITERATIONS = 20
_LEAST_LOG_VARIANCE, _MOST_LOG_VARIANCE = -6.0, 8.0  # of the function, on the targets' scale


def lift(x: Array, scale: ArrayOrFloat) -> Array:
    """Scale points (n, d), append a constant and project to a sphere: (n, d + 1).

    The first-layer kernel <x, x'> / (d + 1) of lifted points is the cosine of their angle.
    Points of another shape are flattened.

    Args:
        x: The points, (n, ...).
        scale: What multiplies the points: one, or one for each dimension, (d,).
    """
    xp = array_module(x, scale)
    x = x.reshape(len(x), -1)
    d = x.shape[1]
    extended = xp.concatenate([x * (scale / math.sqrt(d)), xp.ones_like(x[:, :1])], axis=1)
    norm = xp.sqrt((extended**2).sum(axis=1, keepdims=True))
    return math.sqrt(d + 1) * extended / norm


@pytree(data_fields=[])
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
        return np.asarray(lift(x.astype(np.float32), np.asarray(self.scale, np.float32)))

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


@dataclass(frozen=True)
class LiftedEvidence:
    """Minus the log evidence of p, and its gradient, for a tangent kernel of lifted points.

    Args:
        kernel: The tangent kernel, on lifted points.
        scale_prior_std: The prior standard deviation of the logarithm of a dimension's scale
            around the one that all have in common.
        x: The observed points, (n, d).
        y: The observed values, (n,).
        noise: What is known of the noise of each value, in units of y.
    """

    kernel: NTK
    scale_prior_std: float
    x: np.ndarray
    y: np.ndarray
    noise: Noise | None = None

    def __call__(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return minus log evidence and log priors, (starts,), and the gradients.

        Args:
            p: The hyperparameters, a row for each start, (starts, 3 + d).
        """
        rows = [self._loss(row) for row in p]
        return np.array([loss for loss, _ in rows]), np.array([slope for _, slope in rows])

    def _loss(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        n, d = self.x.shape
        variance, noise, scales = math.exp(p[0]), math.exp(p[0] + p[1]), np.exp(p[2] + p[3:])
        extended = np.concatenate([self.x * (scales / math.sqrt(d)), np.ones((n, 1))], axis=1)
        norms = np.sqrt(np.square(extended).sum(axis=1, keepdims=True))
        z = extended / norms  # lifted points, of length 1
        cosines = np.minimum(z @ z.T, 1.0)
        diagonal = np.diag_indices(n)
        cosines[diagonal] = 1.0
        K, slopes = self.kernel.on_sphere_symmetric(cosines)
        A = variance * K
        noises = noise if self.noise is None else self.noise.variances(noise)
        A[diagonal] += noises
        loss, by_A = evidence_and_gradient(A, self.y)
        by_z = 2 * variance * ((by_A * slopes) @ z)
        # The length of z is fixed: only the part across z counts.
        by_extended = (by_z - (by_z * z).sum(axis=1, keepdims=True) * z) / norms
        by_scales = (by_extended[:, :d] * self.x).sum(axis=0) * (scales / math.sqrt(d))
        by_noise = noise * float(np.trace(by_A))
        by_variance = float((by_A * A).sum())
        if self.noise is not None:  # what is known does not grow with the variance
            each = np.diag(by_A) * noises
            by_noise = float(each[self.noise.is_common].sum())
            by_variance += by_noise - float(each.sum())
            loss += float(self.noise.scatter_loss(noise))
            scatter = self.noise.scatter_slope(noise)
            by_noise, by_variance = by_noise + scatter, by_variance + scatter
        more, slope = self._hyperprior(p)
        return loss + more, np.array([by_variance, by_noise, by_scales.sum(), *by_scales]) + slope

    def _hyperprior(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the log priors: those of `_evidence`, and normal ones of the dimensions."""
        ratio = (p[1] - math.log(_USUAL_RATIO)) / 3.0
        each = p[3:] / self.scale_prior_std
        loss = 0.5 * (math.exp(-p[0]) + p[0] + ratio**2 + p[2] ** 2 + float(each @ each))
        slope = [0.5 * (1 - math.exp(-p[0])), ratio / 3.0, p[2], *(each / self.scale_prior_std)]
        return loss, np.array(slope)


def fit_prior(
    network: Network,
    x: np.ndarray,
    targets: np.ndarray,
    inputs: Inputs,
    *,
    scale_prior_std: float = 0.0,
    max_noise_std: float = 0.32,
    noise: Noise | None = None,
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
        noise: What is known of the noise of each value, in units of the targets.
    """
    before = default_prior(network, inputs, None)
    if len(x) < 4 or not has_exact_ntk(network):
        return before
    kernel = exact_ntk(network)
    ratios = [ratio for ratio in RATIOS if ratio <= max_noise_std**2 * (1 + 1e-9)]
    most = _MOST_POINTS if noise is None or noise.is_common.all() else _MOST_POINTS_EACH
    some, values, noises = _thinned(x, targets, noise, most)
    if noise is not None and not noise.is_common.any():
        ratios = [min(ratios[-1], _USUAL_RATIO)]  # of nothing: it must not matter
    scales: tuple[float | UnitCube | None, ...] = SCALES
    if is_seen_otherwise := not isinstance(before.scale, float):
        assert not isinstance(before.scale, np.ndarray)
        scales = (before.scale,)
    kernels = {scale: _gram(kernel, some, scale) for scale in scales}
    found = {c: _evidence(kernels[c[0]], values, *c, noises) for c in product(scales, ratios)}
    best = max(found, key=lambda c: found[c][0])
    start = Prior(best[0], math.sqrt(best[1]), found[best][1])
    if scale_prior_std == 0 or is_seen_otherwise or x[0].size > _MOST_DIMENSIONS:
        return start
    rows = _thinned(x, targets, noise, _MOST_POINTS_EACH)
    return _each_dimension(kernel, *rows, start, scale_prior_std, max_noise_std)


def _thinned(
    x: np.ndarray, targets: np.ndarray, noise: Noise | None, most: int
) -> tuple[np.ndarray, np.ndarray, Noise | None]:
    some = np.linspace(0, len(x) - 1, min(most, len(x))).astype(int)
    return x[some], targets[some], None if noise is None else noise.take(some)


def _each_dimension(
    kernel: NTK,
    x: np.ndarray,
    y: np.ndarray,
    noise: Noise | None,
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
    d = x.shape[1]
    assert isinstance(start.scale, float)  # one of SCALES
    common = [2 * math.log(start.amplitude), 2 * math.log(start.noise_std), math.log(start.scale)]
    p = most_likely(
        LiftedEvidence(kernel, scale_prior_std, x, y, noise), np.array([[*common, *[0.0] * d]]),
        _box(d, max_noise_std), iterations=_ITERATIONS,
    )  # fmt: skip
    if p is None:
        return start
    return Prior(np.exp(p[2] + p[3 : 3 + d]), math.exp(p[1] / 2), math.exp(p[0] / 2))


def _box(d: int, max_noise_std: float) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of p."""
    lower = [_LEAST_LOG_VARIANCE, math.log(1e-5), math.log(SCALES[0]), *[-5.0] * d]
    upper = [_MOST_LOG_VARIANCE, 2 * math.log(max_noise_std), 3.0, *[5.0] * d]
    return np.array(lower), np.array(upper)


def _evidence(
    K: np.ndarray,
    y: np.ndarray,
    scale: float | UnitCube | None,
    ratio: float,
    noise: Noise | None = None,
) -> tuple[float, float]:
    """Return the log evidence at the best amplitude, with weak priors, and that amplitude.

    The priors decide while the data are few: log-normal ones of the scale (a factor of e either
    way) and of the ratio (e^3), and for the amplitude one more observation of unit size.
    """
    log_scale = math.log(scale) if isinstance(scale, float) else 0.0
    prior = -0.5 * log_scale**2 - 0.5 * (math.log(ratio / _USUAL_RATIO) / 3.0) ** 2
    if noise is None:
        log_evidence, square = _best_amplitude(K, y, ratio)
    elif noise.is_common.all():
        log_evidence, square = _best_amplitude_of_means(K, y, ratio, noise)
    else:
        log_evidence, square = _best_amplitude_beside_known_noise(K, y, ratio, noise)
    return log_evidence + prior, math.sqrt(square)


def _best_amplitude(K: np.ndarray, y: np.ndarray, ratio: float) -> tuple[float, float]:
    n = len(y)
    factor = Factor(K, ratio)
    square = (float(np.square(factor.half_solve(y)).sum()) + 1.0) / (n + 1)
    return -0.5 * ((n + 1) * math.log(square) + factor.log_determinant()), square


def _best_amplitude_of_means(
    K: np.ndarray, y: np.ndarray, ratio: float, noise: Noise
) -> tuple[float, float]:
    """Count measurements, not means: each adds its deviation to the squares (see `noise`)."""
    degrees, squares, logs = (float(total) for total in noise.sums())
    n = len(y) + degrees
    factor = Factor(K, np.asarray(noise.variances(ratio)))
    fit = float(np.square(factor.half_solve(y)).sum()) + squares / ratio
    square = (fit + 1.0) / (n + 1)
    log_determinant = factor.log_determinant() + degrees * math.log(ratio) + logs
    return -0.5 * ((n + 1) * math.log(square) + log_determinant), square


def _best_amplitude_beside_known_noise(
    K: np.ndarray, y: np.ndarray, ratio: float, noise: Noise
) -> tuple[float, float]:
    """Climb the evidence: what is known does not grow with the amplitude, t is its log square."""

    def loss(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pairs = [one(float(row[0])) for row in rows]
        return np.array([value for value, _ in pairs]), np.array([[slope] for _, slope in pairs])

    def one(t: float) -> tuple[float, float]:
        square = math.exp(t)
        v = square * ratio
        growing = square * K + np.diag(np.where(noise.is_common, noise.variances(v), 0.0))
        A = growing + np.diag(np.where(noise.is_common, 0.0, noise.known))
        value, by_A = evidence_and_gradient(A, y)
        slope = float((by_A * growing).sum()) + noise.scatter_slope(v)
        value += float(noise.scatter_loss(v))
        return value + 0.5 * (t + 1 / square), slope + 0.5 * (1 - 1 / square)

    start = np.array([math.log(max(float(np.mean(np.square(y))), 1e-100))])
    box = start + _LEAST_LOG_VARIANCE, start + _MOST_LOG_VARIANCE
    t = most_likely(loss, start[None], box, iterations=_ITERATIONS)
    found = float((start if t is None else t)[0])
    return -one(found)[0], math.exp(found)


def _gram(kernel: NTK, x: np.ndarray, scale: float | UnitCube | None) -> np.ndarray:
    z = np.asarray(seen(x.astype(np.float64), scale))
    return gram(kernel, z, z)

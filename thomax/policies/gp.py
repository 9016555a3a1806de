"""GP-TS and GP-UCB: Thompson sampling and upper confidence bounds of Gaussian processes.

Notation:
    K, k    covariances of the observed points, and of these with others   (n, n), (n, N)
    A       K + s2 I, with the noise variance s2                           (n, n)
    omega   frequencies of random Fourier features, w their weights        (B, m, d), (B, 2m)
    eps     a draw of the observation noise N(0, s2)                       (B, n)

Kernels have unit variance (or the tangent kernel's): the amplitude multiplies the score, divides
the targets, and is the unit of the noise. GP-TS with the exact tangent kernel is STO-BNTS at
infinite width (section 4 of Dai et al. 2022).
"""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np

from thomax.keys import Key, Stream, as_keys, normals
from thomax.model import gp_prior
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.draws import DRAW_FIELDS, Draw, PathwiseDraw, repeated
from thomax.model.fourier import (
    FourierDraw,
    FourierKernel,
    conditioned,
    draw_frequencies,
    feature_matrix,
)
from thomax.model.gp_prior import GPKernel, KernelName
from thomax.model.kernels import NTK, SE, Matern52
from thomax.model.networks import MLP
from thomax.model.noise import Noise
from thomax.model.posterior import SMALLEST_VARIANCE
from thomax.model.prior import Prior
from thomax.model.uncertainty import PriorKernel, inverse_root, posterior_variance
from thomax.policies.base import Policy
from thomax.policies.prepared import Marginals, PreparedData, Schedule, at, pathwise_draws
from thomax.support.checks import FLAG, POSITIVE, Rule, at_least, check, is_whole, whole
from thomax.support.lazy_jax import jax, jnp, pytree
from thomax.support.spelling import spell_checked
from thomax.support.types import Array

PAPER_KERNEL = SE(2.0)  # a length scale of 1 on [0, 1]^d, where a fit of the released code starts
_EVEN = Rule(
    "to be even and >= 2 (cosines and sines come in pairs)",
    lambda v: is_whole(v, 2) and v % 2 == 0,
)


@spell_checked
@dataclass(frozen=True)
class GPTS(Policy):
    """Draw from a Gaussian process posterior: Thompson sampling, a batch by independent draws.

    A draw is a prior draw of random features plus the exact update by the data.

    Args:
        kernel: "se", "matern52", "ntk" (the tangent kernel of a wide network), or a kernel, which
            `fit` takes as its start.
        fit: Choose variance, noise (unless `noise_std` is given) and length scales of every
            dimension by the evidence; the tangent kernel has no length scales.
        noise_std: Standard deviation of the noise on the scale of the standardised targets.
        features: Make the whole process that of so many random features, as in the paper; None
            uses them for the prior draw only.
        beta: What multiplies the posterior's standard deviation: a number, or a function of the
            number of observations.
        standardise: Bring the targets to mean zero and unit variance.
        hyperprior: Multiply the evidence by weak priors of what `fit` chooses.
        prior_features: Random features of the prior draw; for the tangent kernel the width of
            the network that it is drawn from.
        first_length_scale_only: Use the length scale of the first dimension for all of them, as
            the paper's released code does.
        fit_every: Fit the first observations, as many as are a multiple of this number (all of
            them, while they are fewer), in the order of trials.

    Examples:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> draws = GPTS()(np.array([[0, 1], [0, 2]]), data)
        >>> draws(np.linspace(-1, 1, 50)[:, None]).shape
        (2, 50)
    """

    kernel: GPKernel | KernelName = "matern52"
    fit: bool = True
    noise_std: float | None = None
    features: int | None = None
    beta: Schedule = 1.0
    standardise: bool = True
    hyperprior: bool = True
    prior_features: int = 1024
    first_length_scale_only: bool = False
    fit_every: int = 1

    def __post_init__(self) -> None:
        _check(self)
        check(
            self, beta=POSITIVE.or_function(), prior_features=_EVEN, first_length_scale_only=FLAG
        )

    @classmethod
    def paper(cls) -> Self:
        """Return the baseline of the paper: SE kernel, 1,000 features, raw targets, no priors.

        Length scales start at 1 on the unit cube, and are fitted every 20 observations, both as
        in the released code. Pairs of cosine and sine have the norm 1 that features of a cosine
        with a random phase are scaled to there.
        """
        return cls(PAPER_KERNEL, features=1000, standardise=False, hyperprior=False, fit_every=20)

    @classmethod
    def released(cls) -> Self:
        """Return the settings of the released code: one length scale serves all dimensions."""
        return replace(cls.paper(), first_length_scale_only=True)

    def __call__(self, key: Key, data: Data) -> FourierDraw | PathwiseDraw:
        """Return one posterior draw for each key."""
        keys, single = as_keys(key)
        with small_matrices(len(data)):
            known = _prepared(self, data, self.beta)
            kernel = known.prior.kernel
            if isinstance(kernel, NTK):
                return self._tangent_draws(keys, known, kernel).as_single(single)
            return self._fourier_draws(keys, known, kernel).as_single(single)

    def marginals(self, data: Data, points: np.ndarray) -> Marginals:
        """Return the posterior's mean and deviation by the kernel, not by its random features.

        Args:
            data: What has been observed.
            points: Encoded points (N, ...).

        Returns:
            Them on the scale of the targets.
        """
        with small_matrices(len(data)):
            known = _prepared(self, data)
            return known.marginals(known.prior.kernel, _flat(np.asarray(points, np.float32)))

    def prior_kernel(self, shape: tuple[int, ...]) -> PriorKernel:
        """Return the prior covariance of encoded points before any data.

        Args:
            shape: The shape of one point.
        """
        return _prior_kernel(self, shape)

    def _fourier_draws(
        self, keys: np.ndarray, known: "_Prepared", kernel: SE | Matern52
    ) -> FourierDraw:
        x, d = known.observed.astype(np.float64), known.dimension
        if self.first_length_scale_only:
            first = np.asarray(kernel.length_scale)[0]
            kernel = replace(kernel, length_scale=np.full(d, first))
        count = self.features or self.prior_features
        omega = draw_frequencies(keys, kernel, count // 2, d)
        w = normals(keys, count, Stream.THETA0)
        targets = known.perturbed_targets(keys)
        if self.features is not None and known.n:
            each = zip(w, omega, targets, strict=True)
            w = np.array([conditioned(*draw, x, known.variances) for draw in each], np.float32)
        draws = FourierDraw(
            **known.units(len(keys)), beta=known.gains(len(keys), np.float64), omega=omega, w=w,
            kernel=None, x=None, weights=None,
        )  # fmt: skip
        if self.features is not None:
            return draws
        prior = np.array([feature_matrix(o, x) @ v for o, v in zip(omega, w, strict=True)])
        kernels, points = repeated((kernel, known.x.astype(np.float64)), len(keys))
        weights = known.solve(kernel, targets - prior)
        return replace(draws, kernel=kernels, x=points, weights=weights)

    def _tangent_draws(self, keys: np.ndarray, known: "_Prepared", kernel: NTK) -> PathwiseDraw:
        network = MLP(
            kernel.depth,
            self.prior_features,
            kernel.activation,
            float(kernel.w_std),
            float(kernel.b_std),
        )
        targets = known.perturbed_targets(keys)
        return pathwise_draws(keys, known, kernel, network, targets, precision=np.float64)


@spell_checked
@dataclass(frozen=True)
class GPUCB(Policy):
    """Score by the posterior's mean plus some standard deviations, whatever the key.

    Pending points lower the standard deviation around them and leave the mean (GP-BUCB,
    Desautels et al. 2014).

    Args:
        kernel: "se", "matern52", "ntk" (the tangent kernel of a wide network), or a kernel, which
            `fit` takes as its start.
        fit: Choose variance, noise (unless `noise_std` is given) and length scales of every
            dimension by the evidence; the tangent kernel has no length scales.
        noise_std: Standard deviation of the noise on the scale of the standardised targets.
        kappa: How many standard deviations: a number, or a function of the number of observations.
        standardise: Bring the targets to mean zero and unit variance.
        hyperprior: Multiply the evidence by weak priors of what `fit` chooses.
        predictive: Include the noise in the standard deviation.
        features: Make the process that of so many random features, drawn anew for every key, as
            the paper does; None leaves the kernel exact.
        fit_every: Fit the first observations, as many as are a multiple of this number (all of
            them, while they are fewer), in the order of trials.

    Examples:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> GPUCB(kappa=1.0)(0, data)(np.linspace(-1, 1, 50)[:, None]).shape
        (50,)
    """

    reads_pending: ClassVar[bool] = True
    is_model: ClassVar[bool] = False  # a bound flatters where little is known

    kernel: GPKernel | KernelName = "matern52"
    fit: bool = True
    noise_std: float | None = None
    kappa: Schedule = 2.0
    standardise: bool = True
    hyperprior: bool = True
    predictive: bool = False
    features: int | None = None
    fit_every: int = 1

    def __post_init__(self) -> None:
        _check(self)
        check(self, kappa=at_least(0).or_function(), predictive=FLAG)

    @classmethod
    def paper(cls) -> Self:
        """Return the baseline of the paper: SE kernel, 1,000 features, raw targets, no priors.

        The bound is one standard deviation above the mean, because beta is 1 in all experiments.
        Length scales start at 1 on the unit cube, and are fitted every 20 observations, both as
        in the released code.
        """
        return cls(
            PAPER_KERNEL, kappa=1.0, standardise=False, hyperprior=False, features=1000,
            fit_every=20,
        )  # fmt: skip

    @classmethod
    def released(cls) -> Self:
        """Return the settings of the released code: an exact process, bounds of noisy values."""
        return replace(cls.paper(), features=None, predictive=True)

    def __call__(self, key: Key, data: Data) -> "UpperBound":
        """Return the bound, once for each key."""
        keys, single = as_keys(key)
        count = len(keys)
        with small_matrices(len(data) + len(data.pending)):
            known = _prepared(self, data)
            parts = [_solved(known, kernel) for kernel in self._kernels(keys, known)]
        kernels, weights, root = repeated(parts[0], count)
        if len(parts) > 1:
            kernels, weights, root = jax.tree.map(lambda *leaves: np.stack(leaves), *parts)
        bound = UpperBound(
            **known.units(count), beta=known.gains(count, np.float64), kernel=kernels,
            x=repeated(known.x.astype(np.float64), count), weights=weights, root=root,
            kappa=np.full(count, at(self.kappa, known.n)),
            noise=np.full(count, known.s2 if self.predictive else 0.0),
        )  # fmt: skip
        return bound.as_single(single)

    def prior_kernel(self, shape: tuple[int, ...]) -> PriorKernel:
        """Return the prior covariance of encoded points before any data.

        Args:
            shape: The shape of one point.
        """
        return _prior_kernel(self, shape)

    def _kernels(self, keys: np.ndarray, known: "_Prepared") -> "list[GPKernel | FourierKernel]":
        """Return the kernel of all keys, or that of each key's random features."""
        kernel = known.prior.kernel
        if self.features is None or isinstance(kernel, NTK):
            return [kernel]
        omega = draw_frequencies(keys, kernel, self.features // 2, known.dimension)
        return [FourierKernel(each.astype(np.float64)) for each in omega]


@pytree(data_fields=[*DRAW_FIELDS, "beta", "kernel", "x", "weights", "root", "kappa",
                 "noise"],
    meta_fields=["single"],
)  # fmt: skip
@dataclass(frozen=True, repr=False)
class UpperBound(Draw):
    """An upper confidence bound: k(x)^T A^-1 y + kappa sqrt(k(x, x) - |L^-1 k(x)|^2 + noise).

    Args:
        beta: What multiplies the bound, (B,).
        kernel: The kernel k, exact or of random features.
        x: Observed and pending points, padded.
        weights: A^-1 y of the observed points, 0 for the others.
        root: L^-1, the inverse of the Cholesky factor of A of observed and pending points.
        kappa: How many standard deviations, (B,).
        noise: The noise variance, or 0, (B,).
    """

    beta: np.ndarray
    kernel: GPKernel | FourierKernel
    x: np.ndarray
    weights: np.ndarray
    root: np.ndarray
    kappa: np.ndarray
    noise: np.ndarray

    def values(self, x: Array) -> Array:
        """Evaluate the bound on the standardised scale."""
        x = x.reshape(len(x), -1).astype(self.x.dtype)
        variance = posterior_variance(self.kernel, x, self.x, self.root)
        std = jnp.sqrt(jnp.maximum(variance, SMALLEST_VARIANCE) + self.noise)
        return self.beta * (self.kernel(x, self.x) @ self.weights + self.kappa * std)


@dataclass(frozen=True)
class _KernelPrior(Prior):
    """A prior with a kernel on points as they are: no lifting."""

    kernel: GPKernel = field(kw_only=True)


_Prepared: TypeAlias = PreparedData[_KernelPrior]


def _prepared(policy: GPTS | GPUCB, data: Data, beta: Schedule = 1.0) -> _Prepared:
    """Flatten and prepare data; a policy that reads pending points gets them too."""

    def prior(x: np.ndarray, targets: np.ndarray, noise: Noise | None) -> _KernelPrior:
        found = gp_prior.usual_hyperparameters(policy.kernel, policy.noise_std, x.shape[1])
        if policy.fit:
            if policy.fit_every > 1:
                x, targets, noise = _first_observations(policy, data)
            found = gp_prior.fit_hyperparameters(
                found, x.astype(np.float64), targets, fixed_noise=policy.noise_std is not None,
                hyperprior=policy.hyperprior, noise=noise,
            )  # fmt: skip
        return _KernelPrior(None, found.noise_std, found.amplitude, kernel=found.kernel)

    data = replace(data, x=_flat(data.x), pending=_flat(data.pending))
    return PreparedData.of(
        data,
        prior,
        standardise=policy.standardise,
        with_pending=policy.reads_pending,
        beta=beta,
        owner=type(policy).__name__,
    )


def _first_observations(
    policy: GPTS | GPUCB, data: Data
) -> tuple[np.ndarray, np.ndarray, Noise | None]:
    """Return the points, targets and their noise of a multiple of `fit_every` observations."""
    data = data.successes()
    count = len(data) // policy.fit_every * policy.fit_every or len(data)
    first = data.take(slice(count)).in_canonical_order()
    standard = first.targets(policy.standardise)
    return first.x, standard.targets, first.noise(standard)


def _solved(
    known: _Prepared, kernel: GPKernel | FourierKernel
) -> tuple[GPKernel | FourierKernel, np.ndarray, np.ndarray]:
    """Return the kernel, A^-1 y, and L^-1 of observed and pending points, zero on padding."""
    x = known.x.astype(np.float64)
    variances = known.variances
    if known.noise is not None:  # pending points are single measurements
        variances = np.concatenate([np.asarray(variances), np.full(known.pending, known.s2)])
    root = inverse_root(kernel, x, known.n + known.pending, variances)
    return kernel, known.solve(kernel, known.targets[None])[0], root


def _flat(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), math.prod(x.shape[1:])).astype(np.float64)


def _prior_kernel(policy: GPTS | GPUCB, shape: tuple[int, ...]) -> PriorKernel:
    before = gp_prior.usual_hyperparameters(policy.kernel, policy.noise_std, math.prod(shape))
    return PriorKernel(before.kernel, variance=before.amplitude**2)


def _check(policy: GPTS | GPUCB) -> None:
    name = type(policy).__name__
    flags = dict.fromkeys(("fit", "standardise", "hyperprior"), FLAG)
    check(
        policy, noise_std=POSITIVE.or_none(), features=_EVEN.or_none(), fit_every=whole(1), **flags
    )
    kernel = gp_prior.named_kernel(policy.kernel, 1, owner=name)
    if policy.features is not None and isinstance(kernel, NTK):
        raise ValueError(
            f"{name} with the tangent kernel needs features=None, got {policy.features}."
        )

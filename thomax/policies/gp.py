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
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from thomax.checks import FLAG, POSITIVE, at_least, check, whole
from thomax.keys import Key, as_keys, normals
from thomax.model import gp_prior as evidence
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.draws import DRAW_FIELDS, Draw, PathwiseDraw
from thomax.model.fourier import FourierDraw, conditioned, draw_frequencies, feature_matrix
from thomax.model.gp_prior import GPKernel, KernelName
from thomax.model.kernels import NTK, SE, Matern52, gram
from thomax.model.networks import MLP
from thomax.model.padding import pad, padded_size
from thomax.model.posterior import Factor
from thomax.model.tangents import push
from thomax.model.targets import Standardised
from thomax.spelling import spell_checked

Schedule: TypeAlias = float | Callable[[int], float]

_THETA0, _THETA0_PRIME, _EPS = 1, 2, 3  # the streams of a key; features have two of their own
_SMALLEST_VARIANCE = 1e-12  # where the derivative of the root is cut


@spell_checked
@dataclass(frozen=True)
class GPTS:
    """Draw from a Gaussian process posterior: Thompson sampling, a batch by independent draws.

    A draw is a prior draw of `prior_features` random features (of a network that wide for the
    tangent kernel), plus the exact update by the data. Setting `features` makes the whole process
    that of so many random features, as in the paper.

    `kernel` is a name or a kernel. With `fit`, variance, noise (unless `noise_std` is given) and
    length scales of every dimension maximise the evidence, times weak priors unless `hyperprior`
    is off; a given kernel is then only the start. The tangent kernel has no length scales.
    `noise_std` is on the scale of the standardised targets, `standardise=False` leaves targets
    raw. `beta` multiplies the posterior's standard deviation: a number, or a function of n.

    Example:
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

    def __post_init__(self) -> None:
        _check(self)
        check(
            self, beta=POSITIVE.or_function(), features=whole(2).or_none(),
            prior_features=whole(2), first_length_scale_only=FLAG,
        )  # fmt: skip
        for name in ("features", "prior_features"):
            count = getattr(self, name)
            if count is not None and count % 2:
                raise ValueError(
                    f"GPTS needs {name} to be even, got {count}: cosines and sines come in pairs."
                )
        if self.features is not None and isinstance(evidence.named_kernel(self.kernel, 1), NTK):
            raise ValueError(
                f"GPTS with the tangent kernel needs features=None, got {self.features}."
            )

    @classmethod
    def paper(cls) -> Self:
        """Return the baseline of the paper as its released code has it.

        SE kernel, 1,000 features, raw targets, no priors, and the length scale of the first
        dimension used for all of them. There, features were cosines with random phases, scaled to
        norm 1 (pairs of cosine and sine have it), and the evidence was maximised every 20
        observations, not at every call.
        """
        return cls(
            "se", features=1000, standardise=False, hyperprior=False, first_length_scale_only=True
        )

    def __call__(self, key: Key, data: Data) -> FourierDraw | PathwiseDraw:
        """Return one posterior draw for each key."""
        keys, single = as_keys(key)
        with small_matrices(len(data)):
            model = _Model.of(self, data, self.beta)
            draws = self._tangent_draws if isinstance(model.kernel, NTK) else self._fourier_draws
            return draws(keys, model, model.kernel).as_single(single)

    def covariance(self, points: np.ndarray) -> np.ndarray:
        """Return the prior covariances of points before any data, (N, N)."""
        return _covariance(self, points)

    def _fourier_draws(self, keys: np.ndarray, model: "_Model", kernel: Any) -> FourierDraw:
        d = model.x.shape[1]
        if self.first_length_scale_only:
            kernel = replace(kernel, length_scale=np.full(d, kernel.length_scale[0]))
            model = replace(model, kernel=kernel)
        count = self.features or self.prior_features
        omega = draw_frequencies(keys, kernel, count // 2, d)
        w = normals(keys, count, _THETA0)
        targets = model.perturbed_targets(keys)
        update: dict[str, Any] = {"kernel": None, "x": None, "weights": None}
        if self.features is None:
            prior = [feature_matrix(o, model.x) @ v for o, v in zip(omega, w, strict=True)]
            update = model.update(targets - np.array(prior))
        elif model.n:
            each = zip(w, omega, targets, strict=True)
            w = np.array([conditioned(*draw, model.x, model.s2) for draw in each], np.float32)
        return FourierDraw(**model.units(len(keys)), omega=omega, w=w, **update)

    def _tangent_draws(self, keys: np.ndarray, model: "_Model", kernel: Any) -> PathwiseDraw:
        network = MLP(
            kernel.depth, self.prior_features, kernel.activation, kernel.w_std, kernel.b_std
        )
        p = network.size(model.x.shape[1:])
        theta0, theta0_prime = normals(keys, p, _THETA0), normals(keys, p, _THETA0_PRIME)
        x = pad(model.x.astype(np.float32), padded_size(model.n))
        prior = np.asarray(push(network, theta0_prime, theta0, x), np.float64)[:, : model.n]
        return PathwiseDraw(
            **model.units(len(keys)), network=network, theta=theta0, theta0_prime=theta0_prime,
            **model.update(model.perturbed_targets(keys) - prior),
        )  # fmt: skip


@spell_checked
@dataclass(frozen=True)
class GPUCB:
    """Score by the posterior's mean plus `kappa` standard deviations.

    Pending points are hallucinated: they shrink the deviation but leave the mean (GP-BUCB,
    Desautels et al. 2014), so a batch is asked for one by one. `kappa` is a number or a function
    of the number of observations; `predictive` counts the noise in the deviation. Keys do not
    matter. The other settings are those of GPTS.

    Example:
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

    def __post_init__(self) -> None:
        _check(self)
        check(self, kappa=at_least(0).or_function(), predictive=FLAG)

    @classmethod
    def paper(cls) -> Self:
        """Return the baseline of the paper as its released code has it.

        SE kernel, raw targets, no priors, the mean plus one standard deviation of a noisy
        observation. There, the evidence was maximised every 20 observations.
        """
        return cls("se", kappa=1.0, standardise=False, hyperprior=False, predictive=True)

    def __call__(self, key: Key, data: Data) -> "UpperBound":
        """Return the bound, once for each key."""
        keys, single = as_keys(key)
        pending = _flat(data.pending)
        with small_matrices(len(data) + len(pending)):
            model = _Model.of(self, data)
            shared = {
                **model.bound(np.concatenate([model.x, pending])),
                "kappa": np.array(_at(self.kappa, model.n)),
                "noise": np.array(model.s2 if self.predictive else 0.0),
            }
        bound = UpperBound(**model.units(len(keys)), **_repeated(shared, len(keys)))
        return bound.as_single(single)

    def covariance(self, points: np.ndarray) -> np.ndarray:
        """Return the prior covariances of points before any data, (N, N)."""
        return _covariance(self, points)


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[*DRAW_FIELDS, "beta", "kernel", "x", "weights", "root", "kappa",
                 "noise"],
    meta_fields=["single"],
)  # fmt: skip
@dataclass(frozen=True, repr=False)
class UpperBound(Draw):
    """An upper confidence bound: k(x)^T A^-1 y + kappa sqrt(k(x, x) - |L^-1 k(x)|^2 + noise).

    `x` are observed and pending points, `weights` A^-1 y of the observed and 0 of the pending,
    `root` L^-1, the inverse of the Cholesky factor of both.
    """

    beta: np.ndarray
    kernel: GPKernel
    x: np.ndarray
    weights: np.ndarray
    root: np.ndarray
    kappa: np.ndarray
    noise: np.ndarray

    def values(self, x: Any) -> Any:
        """Evaluate the bound on the standardised scale."""
        x = x.reshape(len(x), -1).astype(self.x.dtype)
        k = self.kernel(x, self.x)
        variance = self.kernel.diagonal(x) - jnp.sum((k @ self.root.T) ** 2, axis=1)
        std = jnp.sqrt(jnp.maximum(variance, _SMALLEST_VARIANCE) + self.noise)
        return self.beta * (k @ self.weights + self.kappa * std)


@dataclass(frozen=True)
class _Model:
    """What all scores of a call share: points, targets, and the kernel fitted to them."""

    x: np.ndarray
    standard: Standardised
    kernel: GPKernel
    amplitude: float
    noise_std: float
    beta: float

    @classmethod
    def of(cls, policy: GPTS | GPUCB, data: Data, beta: Schedule = 1.0) -> "_Model":
        data = data.successes().in_canonical_order()
        x, standard = _flat(data.x), data.targets(policy.standardise)
        found = evidence.usual_hyperparameters(policy.kernel, policy.noise_std, x.shape[1])
        if policy.fit:
            found = evidence.fit_hyperparameters(
                found, x, standard.targets, fixed_noise=policy.noise_std is not None,
                hyperprior=policy.hyperprior,
            )  # fmt: skip
        return cls(x, standard, found.kernel, found.amplitude, found.noise_std, _at(beta, len(x)))

    @property
    def n(self) -> int:
        return len(self.x)

    @property
    def s2(self) -> float:
        return self.noise_std**2

    @property
    def targets(self) -> np.ndarray:
        """The targets in units of the kernel, (n,)."""
        # beta divides the targets and multiplies the score: so it leaves the mean as it is.
        return self.standard.targets / (self.beta * self.amplitude)

    def perturbed_targets(self, keys: np.ndarray) -> np.ndarray:
        """Return the targets of every draw, (B, n), with a draw of the noise."""
        return self.targets + self.noise_std * normals(keys, self.n, _EPS)

    def factor(self, x: np.ndarray) -> Factor:
        """Factorise A of some points."""
        return Factor(gram(self.kernel, x, x), self.s2)

    def update(self, residuals: np.ndarray) -> dict[str, Any]:
        """Return the kernel, the points and A^-1 times the residuals (B, n), padded."""
        weights = self.factor(self.x).solve(residuals.T).T if self.n else residuals
        size = padded_size(self.n)
        shared = {"kernel": self.kernel, "x": pad(self.x, size)}
        return {**_repeated(shared, len(residuals)), "weights": pad(weights, size, axis=1)}

    def bound(self, x: np.ndarray) -> dict[str, Any]:
        """Return the mean's weights and the inverse root of A of observed and pending points."""
        size = padded_size(len(x))
        weights, root = np.zeros(size), np.zeros((size, size))
        if self.n:
            weights[: self.n] = self.factor(self.x).solve(self.targets)
        if len(x):
            root[: len(x), : len(x)] = self.factor(x).half_solve(np.eye(len(x)))
        return {"kernel": self.kernel, "x": pad(x, size), "weights": weights, "root": root}

    def units(self, count: int) -> dict[str, Any]:
        """Return the fields of a score that lead back to the objective's units."""
        return {
            "centre": np.full(count, self.standard.centre),
            "scale": np.full(count, self.standard.scale),
            "lifting": None,
            "beta": np.full(count, self.beta * self.amplitude),
            "single": False,
        }


def _repeated(shared: dict[str, Any], count: int) -> dict[str, Any]:
    """Give every score of a batch its copy of what they share."""
    return jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], count, 0), shared)


def _flat(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), math.prod(x.shape[1:])).astype(np.float64)


def _at(schedule: Schedule, n: int) -> float:
    return float(schedule(n) if callable(schedule) else schedule)


def _covariance(policy: GPTS | GPUCB, points: np.ndarray) -> np.ndarray:
    x = _flat(np.asarray(points))
    before = evidence.usual_hyperparameters(policy.kernel, policy.noise_std, x.shape[1])
    return before.amplitude**2 * gram(before.kernel, x, x)


def _check(policy: GPTS | GPUCB) -> None:
    name = type(policy).__name__
    check(policy, noise_std=POSITIVE.or_none(), fit=FLAG, standardise=FLAG, hyperprior=FLAG)
    if not isinstance(evidence.named_kernel(policy.kernel, 1), SE | Matern52 | NTK):
        raise ValueError(
            f'{name} needs kernel to be "se", "matern52", "ntk", or an SE, Matern52 or NTK, '
            f"got {policy.kernel!r}."
        )

"""Where evaluations fail: the probability of success at a point, from successes and failures.

A failure has one of two causes. Either its point lies where nothing works, or the evaluation had
bad luck: a node died, a licence was missing. A success shows that its point is feasible; one
failure among successes is most likely bad luck, and many failures side by side are a region.

Notation:
    g      a function from the prior of a wide network; x is feasible where g(x) > 0
    r      share of the evaluations of feasible points that fail by bad luck
    s      whether an evaluation succeeded                                        (n,)
    L      Cholesky factor of the prior covariance of g at the observed points    (n, n)
    tau    width of the border, in prior standard deviations of g

    P(success at x | g, r) = (1 - r) Phi(g(x) / tau)

The posterior of g and r at the observed points is sampled by elliptical slice sampling (Murray,
Adams and MacKay 2010) in turns with exact draws of r from its grid. Given g there, g(x) is normal;
averaging Phi(g(x) / tau) over it and over the samples gives the probability of success.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_ndtr, logit, logsumexp

from thomax.keys import Stream, stream
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.draws import Score, batch_size, repeated
from thomax.model.kernels import NTK, exact_ntk, gram
from thomax.model.networks import MLP
from thomax.model.padding import pad, padded_size
from thomax.model.prior import Prior, lift
from thomax.support.lazy_jax import jax, jnp, pytree
from thomax.support.types import Array

_NETWORK = MLP(activation="erf")
_SCALE = 0.5  # of the inputs, as in thomax.model.prior: regions are large and simple
_MEAN = 0.5  # of g under the prior: most points are feasible
_TAU = 0.1
_RATES = np.array([0.01, 0.02, 0.04, *np.arange(0.08, 0.81, 0.08)])  # of bad luck
# The prior of the rate is Beta(1, 5): most evaluations of feasible points succeed.
_RATE_PRIOR = 4 * np.log1p(-_RATES) + np.log(np.gradient(_RATES))
_COUNT = 16  # chains side by side
_BURN_IN, _SAMPLES, _THINNING = 30, 4, 5  # steps, samples of each chain, steps between them
_SHRINKS = 40  # of an elliptical slice: its bracket is then a point
_MOST_POINTS = 128  # steps, and evaluations, cost the square
_JITTER = 1e-4  # variance that keeps L finite where points repeat
_REQUIRED = 0.75  # probability of success below which a point is penalised
_RECENT = 12  # evaluations whose failures make the search more careful
_TOLERATED = 0.25  # share of them that may have left the feasible region
_CAUTION = 6.0  # log odds of the required probability for each further share of 1
_PENALTY = 5.0  # standard deviations of the objective for each nat below what is required


@pytree(
    data_fields=["kernel", "scale", "x", "weights", "root"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Feasibility:
    """The probability of success at any point, bad luck aside, once for each draw of a batch.

    Args:
        kernel: The prior covariance of g, on lifted inputs.
        scale: What multiplies the inputs before they are lifted to a sphere.
        x: The observed points as the kernel sees them, padded.
        weights: K^-1 g of every sample, (n, S).
        root: L^-1, in units of the kernel, zero on padding.
    """

    kernel: NTK
    scale: np.ndarray
    x: np.ndarray
    weights: np.ndarray
    root: np.ndarray

    def values(self, x: Array) -> Array:
        """Return the log probability of success, bad luck aside.

        Args:
            x: The points, (N, ...).
        """
        z = lift(x.astype(self.x.dtype), self.scale)
        k, prior = self.kernel(z, self.x), self.kernel.diagonal(z)
        variance = jnp.maximum(prior - jnp.sum((k @ self.root.T) ** 2, axis=1), 0.0)
        std = jnp.sqrt(variance + _TAU**2 * prior)
        mean = _MEAN * jnp.sqrt(prior)[:, None] + k @ self.weights
        each = jax.scipy.special.log_ndtr(mean / std[:, None])
        return jax.scipy.special.logsumexp(each, axis=1) - math.log(self.weights.shape[1])


@pytree(
    data_fields=["objective", "feasibility", "required"],
    meta_fields=[],
)
@dataclass(frozen=True)
class FeasibleScore:
    """Draws of the objective, less a penalty where evaluations are likely to fail.

    The penalty is zero where the probability is as large as required, and grows fast below.

    Args:
        objective: B draws of the objective.
        feasibility: The probability of success, once for each draw.
        required: The probability from which on there is no penalty, (B,).
    """

    objective: Score
    feasibility: Feasibility
    required: np.ndarray

    def values(self, x: Array) -> Array:
        """Evaluate one draw on the standardised scale."""
        f = self.objective.values(x)
        margin = self.feasibility.values(x) - jnp.log(self.required)
        return f + _PENALTY * jnp.minimum(margin, 0.0).astype(jnp.result_type(f, jnp.float32))


def avoid_failures(score: Score, key: np.ndarray, data: Data) -> FeasibleScore:
    """Keep draws of the objective where evaluations are likely to succeed.

    Args:
        score: B draws of the objective.
        key: The key of the Markov chains, (2,).
        data: The evaluations in the order of their trials, at least one of them a success.
    """
    count = batch_size(score)
    feasibility, required = fit_feasibility(key, data.x, ~data.failed)
    return FeasibleScore(score, repeated(feasibility, count), np.full(count, required))


def fit_feasibility(
    key: np.ndarray, x: np.ndarray, succeeded: np.ndarray
) -> tuple[Feasibility, float]:
    """Learn where evaluations succeed, and how probable that should be where to go next.

    Args:
        key: The key of the Markov chains, (2,).
        x: The evaluated points in the order of their trials, (n, ...).
        succeeded: Whether each evaluation succeeded, (n,).
    """
    kept = _thinned(succeeded)
    x, succeeded = x.reshape(len(x), -1)[kept], succeeded[kept]
    n, size = len(x), padded_size(len(x))
    z = Prior(_SCALE, 0.0).inputs(pad(x, size)).astype(np.float64)
    kernel = exact_ntk(_NETWORK)
    K = gram(kernel, z[:n], z[:n])
    std = math.sqrt(float(K[0, 0]))  # the same at all points of the sphere
    L = np.linalg.cholesky(K / std**2 + _JITTER * np.eye(n))
    with small_matrices(n):
        g = sample_latent(stream(key, Stream.FAILURES), L, succeeded)
    root = np.linalg.inv(L) / std
    found = Feasibility(
        kernel,
        np.array(_SCALE),
        z,
        pad(root.T @ (root @ (std * (g - _MEAN).T)), size),
        pad(pad(root, size), size, axis=1),
    )
    return found, _required_probability(g, succeeded)


def _thinned(succeeded: np.ndarray) -> np.ndarray:
    """Return positions of the latest points, and of an even selection of those before."""
    n, half = len(succeeded), _MOST_POINTS // 2
    if n <= _MOST_POINTS:
        return np.arange(n)
    return np.r_[np.linspace(0, n - half - 1, half).astype(int), n - half : n]


def _required_probability(g: np.ndarray, succeeded: np.ndarray) -> float:
    """Ask for more certainty the more of the latest evaluations have left the feasible region.

    Maxima of draws lie where the probability is overestimated, in many dimensions by much.
    Failures by bad luck do not count: caution would not help against them.
    """
    left = ~succeeded & ((g > 0).mean(axis=0) < 0.5)
    excess = max(0.0, float(left[-_RECENT:].sum()) / _RECENT - _TOLERATED)
    return float(expit(logit(_REQUIRED) + _CAUTION * excess))


def sample_latent(rng: np.random.Generator, L: np.ndarray, succeeded: np.ndarray) -> np.ndarray:
    """Sample g at the observed points from its posterior, (S, n).

    Args:
        rng: The source of randomness.
        L: The Cholesky factor of the prior covariance, (n, n).
        succeeded: Whether each evaluation succeeded, (n,).
    """
    samples, g = [], np.tile(_start(L, succeeded), (_COUNT, 1))
    for step in range(_BURN_IN + _SAMPLES * _THINNING):
        log_weights = _log_likelihood(g[:, None], _RATES, succeeded) + _RATE_PRIOR
        rate = _RATES[_pick(rng, log_weights)]
        nu = rng.standard_normal(g.shape) @ L.T
        g = _elliptical_slice(rng, g - _MEAN, nu, rate, succeeded)
        if step >= _BURN_IN and (step + 1) % _THINNING == 0:
            samples.append(g)
    return np.concatenate(samples)


def _start(L: np.ndarray, succeeded: np.ndarray) -> np.ndarray:
    """Return a smooth function that is about 1 at successes and -1 at failures."""
    signs = np.where(succeeded, 1.0, -1.0)
    K = L @ L.T
    return _MEAN + K @ np.linalg.solve(K + np.eye(len(L)), signs - _MEAN)


def _elliptical_slice(
    rng: np.random.Generator,
    f: np.ndarray,
    nu: np.ndarray,
    rate: np.ndarray,
    succeeded: np.ndarray,
) -> np.ndarray:
    """Draw g on the ellipse mean + f cos + nu sin above a random level, shrinking a bracket."""
    g = _MEAN + f
    level = _log_likelihood(g, rate, succeeded) - rng.exponential(size=len(f))
    angle = rng.uniform(0, 2 * np.pi, len(f))
    low, high = angle - 2 * np.pi, angle
    found, outside = g, np.ones(len(f), bool)
    for _ in range(_SHRINKS):
        found = _MEAN + f * np.cos(angle)[:, None] + nu * np.sin(angle)[:, None]
        outside = _log_likelihood(found, rate, succeeded) < level
        if not outside.any():
            break
        low = np.where(outside & (angle < 0), angle, low)
        high = np.where(outside & (angle >= 0), angle, high)
        angle = np.where(outside, rng.uniform(low, high), angle)
    return np.where(outside[:, None], g, found)


def _log_likelihood(g: np.ndarray, rate: np.ndarray, succeeded: np.ndarray) -> np.ndarray:
    """Return log P(s | g, r), summed over the points of the last axis."""
    feasible = log_ndtr(g / _TAU)
    lucky = np.log1p(-rate)
    failures = np.log1p(-np.exp(feasible[..., ~succeeded] + lucky[..., None])).sum(axis=-1)
    return feasible[..., succeeded].sum(axis=-1) + succeeded.sum() * lucky + failures


def _pick(rng: np.random.Generator, log_weights: np.ndarray) -> np.ndarray:
    """Draw one position of every row with probability proportional to its weight."""
    weights = np.exp(log_weights - logsumexp(log_weights, axis=1, keepdims=True))
    beyond = weights.cumsum(axis=1) < rng.uniform(size=(len(weights), 1))
    return np.minimum(beyond.sum(axis=1), weights.shape[1] - 1)

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
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_ndtr, logit, logsumexp, softmax

from thomax.keys import Stream, stream
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.evaluation import Evaluator, Score, evaluator
from thomax.model.kernels import NTK, exact_ntk
from thomax.model.networks import MLP
from thomax.model.prior import lift

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
_ROWS = 1024  # points evaluated at once
_PENALTY = 5.0  # standard deviations of the objective for each nat below what is required


@dataclass(frozen=True)
class Feasibility:
    """The probability of success at any point, bad luck aside.

    Args:
        kernel: The prior covariance of g, on lifted inputs.
        scale: What multiplies the inputs before they are lifted to a sphere.
        x: The observed points on the sphere of radius 1, (n, d + 1).
        weights: K^-1 g of every sample, (n, S).
        root: L^-1, in units of the kernel, (n, n).
    """

    kernel: NTK
    scale: float
    x: np.ndarray
    weights: np.ndarray
    root: np.ndarray

    def log_probability(self, x: np.ndarray) -> tuple[np.ndarray, Callable[[], np.ndarray]]:
        """Return the log probability of success, bad luck aside, and a function for its gradient.

        Args:
            x: The points, (N, d).
        """
        z, length = _on_sphere(x, self.scale)
        k, slopes = self.kernel.on_sphere(np.clip(z @ self.x.T, -1.0, 1.0))
        prior = float(self.kernel.on_sphere(np.ones(1))[0][0])  # the same at all points
        half = k @ self.root.T
        variance = np.maximum(prior - np.square(half).sum(axis=1), 0.0)
        std = np.sqrt(variance + _TAU**2 * prior)[:, None]
        ratio = (_MEAN * math.sqrt(prior) + k @ self.weights) / std
        each = log_ndtr(ratio)
        value = logsumexp(each, axis=1) - math.log(self.weights.shape[1])

        def gradient() -> np.ndarray:
            # d log Phi(r) / dr is the density over the distribution function.
            hazard = np.exp(-0.5 * ratio**2 - each) / math.sqrt(2 * math.pi)
            by_ratio = softmax(each, axis=1) * hazard
            by_variance = -0.5 * (by_ratio * ratio).sum(axis=1) / std[:, 0] ** 2
            by_variance = np.where(variance > 0, by_variance, 0.0)[:, None]
            by_k = (by_ratio / std) @ self.weights.T - 2 * by_variance * (half @ self.root)
            by_z = (by_k * slopes) @ self.x
            across = by_z - (by_z * z).sum(axis=1, keepdims=True) * z
            return np.asarray(across[:, :-1] * (self.scale / math.sqrt(x.shape[1])) / length)

        return value, gradient


def _on_sphere(x: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Lift points to the sphere of radius 1; return the divisors too."""
    z = np.asarray(lift(x.astype(np.float64), scale)) / math.sqrt(x.shape[1] + 1)
    return z, 1 / z[:, -1:]  # the last coordinate was 1


@dataclass(frozen=True)
class FeasibleScore(Evaluator):
    """Draws of the objective, less a penalty where evaluations are likely to fail.

    The penalty is zero where the probability is as large as required, and grows fast below.

    Args:
        objective: What evaluates the draws of the objective.
        feasibility: The probability of success.
        required: The probability from which on there is no penalty.
    """

    objective: Evaluator
    feasibility: Feasibility
    required: float

    @property
    def count(self) -> int:
        """How many draws there are, B."""
        return self.objective.count

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of all draws at the same points."""
        rows = x.reshape(len(x), math.prod(x.shape[1:]))
        return self.objective.values(x) + self._penalty(rows)

    def own_values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of each draw at its own points."""
        rows = x.reshape(x.shape[0] * x.shape[1], math.prod(x.shape[2:]))
        return self.objective.own_values(x) + self._penalty(rows).reshape(x.shape[:2])

    def own_gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values and gradients of each draw at its own points."""
        values, gradients = self.objective.own_gradients(x)
        found, gradient = self.feasibility.log_probability(x.reshape(-1, x.shape[-1]))
        margin = found - math.log(self.required)
        slopes = np.where(margin < 0, _PENALTY, 0.0)[:, None] * gradient()
        penalty = _PENALTY * np.minimum(margin, 0.0)
        return values + penalty.reshape(values.shape), gradients + slopes.reshape(gradients.shape)

    def part(self, which: slice) -> "FeasibleScore":
        """Return some of the draws."""
        return replace(self, objective=self.objective.part(which))

    def _penalty(self, rows: np.ndarray) -> np.ndarray:
        parts = [
            self.feasibility.log_probability(rows[i : i + _ROWS])[0]
            for i in range(0, len(rows), _ROWS)
        ]
        margin = np.concatenate([*parts, np.empty(0)]) - math.log(self.required)
        return np.asarray(_PENALTY * np.minimum(margin, 0.0))


def avoid_failures(score: Score | Evaluator, key: np.ndarray, data: Data) -> FeasibleScore:
    """Keep draws of the objective where evaluations are likely to succeed.

    Args:
        score: B draws of the objective.
        key: The key of the Markov chains, (2,).
        data: The evaluations in the order of their trials, at least one of them a success.
    """
    return FeasibleScore(evaluator(score), *fit_feasibility(key, data.x, ~data.failed))


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
    n = len(x)
    z = _on_sphere(x, _SCALE)[0]
    kernel = exact_ntk(_NETWORK)
    cosines = np.clip(z @ z.T, -1.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    K = kernel.on_sphere(cosines)[0]
    std = math.sqrt(float(K[0, 0]))  # the same at all points of the sphere
    L = np.linalg.cholesky(K / std**2 + _JITTER * np.eye(n))
    with small_matrices(n):
        g = sample_latent(stream(key, Stream.FAILURES), L, succeeded)
    root = np.linalg.inv(L) / std
    found = Feasibility(kernel, _SCALE, z, root.T @ (root @ (std * (g - _MEAN).T)), root)
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

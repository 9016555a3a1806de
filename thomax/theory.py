"""The paper's theory in numbers: confidence widths, information gain, regret bounds.

Notation (T, B, C, ... as in the paper's appendices; words where a caller sees them):
    t, T      evaluations so far, and in all (`horizon`), counted singly as in the proofs, not in
              batches as in the algorithms; those of the initial stage are not counted
    log |X|   `log_size`: the domain's size enters through its logarithm alone, and on a
              continuous domain |X| itself overflows
    delta     the probability with which a statement may fail
    K         kernel matrix of the candidates                                        (N, N)
    s2        noise_std squared, the paper's sigma^2
    gamma     the maximal information gain from T observations
    C         bound on the information that the pending points of a batch can hold
    B'        `value_bound`, on |f|
    K_0       `kernel_bound`, on the kernel; the proofs need K_0 = 1: C_1 below assumes a prior
              variance of at most 1, and sigma <= K_0 a bound of at least 1. Scale f to get there.
    error     (L + 1) epsilon, the distance of the empirical NTK from the exact one
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_P = 1 / (4 * math.e * math.sqrt(math.pi))  # Lemma 3: a draw exceeds f with this probability
_EXPLORATION = 1 + 10 / _P  # Lemma 6


def continuous_log_size(horizon: int, dimension: int) -> float:
    """Return log |X| of the grid that stands for a cube (Appendix E): |X| = T^(d/2).

    Its spacing is 1/sqrt(T); `discretisation_regret` is what staying on it costs.

    Args:
        horizon: T, how many evaluations in all.
        dimension: How many dimensions the cube has.
    """
    return dimension / 2 * math.log(horizon)


def discretisation_regret(horizon: int, dimension: int, lipschitz: float) -> float:
    """Return what staying on the grid of a cube adds to the regret (Appendix E): l d sqrt(T).

    No point of the cube is further than d/sqrt(T) from the grid, and T evaluations are made.

    Args:
        horizon: T, how many evaluations in all.
        dimension: How many dimensions the cube has.
        lipschitz: The Lipschitz constant of the function on the unit cube.
    """
    return lipschitz * dimension * math.sqrt(horizon)


def beta(t: int, log_size: float, delta: float, finite_width: bool = False) -> float:
    """Return beta_t of Theorem 1, or of Theorem 2 for a network of finite width.

    It is 2 log(pi^2 t^2 |X| / (3 delta)), where finite width halves delta.

    Args:
        t: The number of the evaluation, from 1.
        log_size: The logarithm of the number of points of the domain.
        delta: The probability with which the statement may fail.
        finite_width: Use Theorem 2, for a network of finite width, instead of Theorem 1.
    """
    delta = delta / 2 if finite_width else delta
    return 2 * (math.log(math.pi**2 / 3) + 2 * math.log(t) + log_size - math.log(delta))


@dataclass(frozen=True)
class BetaSchedule:
    """The theorems' beta as a function of the number of observations: a policy's `beta`.

    Its index t is that of the proofs: it counts single selections after the initial stage. All
    points of a batch, which see the same observations, get the beta of the first of them: the
    union bound of Lemma 1 is over posteriors, and these share one. The algorithms as printed
    count batches instead; `batch` does that.

    Args:
        log_size: The logarithm of the number of points of the domain.
        delta: The probability with which the statement may fail.
        finite_width: Use Theorem 2, for a network of finite width, instead of Theorem 1.
        initial: How many observations the initial stage makes; they are not counted.
        batch: How many observations make t one larger: 1 as in the proofs, or the size of a batch
            as in the algorithms.

    Examples:
        >>> schedule = BetaSchedule(log_size=math.log(1000), delta=0.1, initial=20)
        >>> schedule(20) == beta(1, math.log(1000), 0.1)
        True
        >>> schedule(28) == beta(9, math.log(1000), 0.1)
        True
    """

    log_size: float
    delta: float
    finite_width: bool = False
    initial: int = 0
    batch: int = 1

    def __call__(self, observations: int) -> float:
        """Return beta for the evaluation after this many observations."""
        t = 1 + max(0, observations - self.initial) // self.batch
        return beta(t, self.log_size, self.delta, self.finite_width)


def confidence_width(t: int, log_size: float, delta: float, finite_width: bool = False) -> float:
    """Return c_t = beta_t (1 + sqrt(2 log(|X| t^2))) of Appendices C and D.

    With high probability a draw is nowhere further than c_t posterior deviations from f.

    Args:
        t: The number of the evaluation, from 1.
        log_size: The logarithm of the number of points of the domain.
        delta: The probability with which the statement may fail.
        finite_width: Use Theorem 2, for a network of finite width, instead of Theorem 1.
    """
    spread = math.sqrt(2 * (log_size + 2 * math.log(t)))
    return beta(t, log_size, delta, finite_width) * (1 + spread)


def information_gain(K: NDArray[np.floating], noise_std: float) -> float:
    """Return what noisy observations at K's points tell about f: 1/2 log det(I + K/s2).

    Args:
        K: Kernel matrix of the candidates, (N, N).
        noise_std: Standard deviation of the observation noise.
    """
    L = np.linalg.cholesky(np.eye(len(K)) + K / noise_std**2)
    return float(np.log(np.diag(L)).sum())


def greedy_information_gain(
    K: NDArray[np.floating], noise_std: float, horizon: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Observe `horizon` times where the variance is largest; return gains and points.

    Entry t - 1 of the gains is the information in the first t observations, at least
    (1 - 1/e) gamma_t. These are also the points of uncertainty sampling (Appendix B). A point
    may come up again: gamma_T ranges over T observations, and noise makes a second one worth
    something.

    Args:
        K: Kernel matrix of the candidates, (N, N).
        noise_std: Standard deviation of the observation noise.
        horizon: T, how many evaluations in all.
    """
    s2 = noise_std**2
    V = np.zeros((horizon, len(K)))  # K - V^T V is the posterior covariance
    variance = np.diag(K).astype(np.float64)
    gains, chosen = np.zeros(horizon), np.zeros(horizon, dtype=np.intp)
    for t in range(horizon):
        i = chosen[t] = np.argmax(variance)
        gains[t] = 0.5 * np.log1p(variance[i] / s2)
        V[t] = (K[i] - V[:t, i] @ V[:t]) / np.sqrt(variance[i] + s2)
        variance = np.maximum(variance - V[t] ** 2, 0)
    return np.cumsum(gains), chosen


def information_gain_exponent(dimension: int) -> float:
    """Return the power of T that gamma_T grows with, up to logarithms: (d - 1)/d.

    This is for the tangent kernel of a ReLU network on the unit sphere of d dimensions (Kassraie
    and Krause 2022, quoted after Theorem 1). Then T_init grows as (B - 1)^d for C = 1.

    Args:
        dimension: d, how many coordinates a point of the sphere has.
    """
    return (dimension - 1) / dimension


def regret_exponent(dimension: int) -> float:
    """Return the power of T that the bound of Theorem 1 grows with: (2d - 1)/(2d).

    It does not depend on the batch, so that B workers need a B-th of the time for the same regret
    of T evaluations, once the initial stage is over.

    Args:
        dimension: d, how many coordinates a point of the sphere has.
    """
    return (1 + information_gain_exponent(dimension)) / 2


def pending_information(variances: NDArray[np.floating], noise_std: float, batch: int) -> float:
    """Bound C, the information that the pending points of a batch can hold (Theorem 1).

    Each of B - 1 points tells at most 1/2 log(1 + v/s2), where v is the largest posterior
    variance, and together they tell at most the sum.

    Args:
        variances: Posterior variances at the points of the domain given what is observed, (N,).
        noise_std: Standard deviation of the observation noise.
        batch: How many points a batch has.
    """
    return float((batch - 1) / 2 * np.log1p(np.max(variances) / noise_std**2))


def initial_length(gains: NDArray[np.floating], batch: int, C: float) -> int:
    """Return the length of uncertainty sampling that justifies C (after Theorem 1).

    It is the smallest T_init with (B - 1) gamma_{T_init} / T_init <= C. Greedy gains, which are
    those of uncertainty sampling itself, do as well as gamma: they grow ever more slowly, so that
    no point is left that tells more than their mean, and B - 1 points tell at most B - 1 times it.

    Args:
        gains: gamma_1, gamma_2, ..., or the greedy gains.
        batch: How many points a batch has.
        C: Bound on the information that the pending points of a batch can hold.
    """
    if batch == 1:
        return 0
    ratios = (batch - 1) * np.asarray(gains) / np.arange(1, len(gains) + 1)
    if not np.any(ratios <= C):
        least = np.min(ratios, initial=np.inf)
        raise ValueError(
            f"(batch - 1) gamma_t / t must reach C={C} within the {len(gains)} gains, got"
            f" {least:.3g} at best. Pass more gains, a smaller batch or a larger C."
        )
    return int(np.argmax(ratios <= C)) + 1


def regret_bound(
    horizon: int,
    gamma: float,
    log_size: float,
    delta: float,
    noise_std: float,
    value_bound: float,
    kernel_bound: float = 1.0,
    C: float = 0.0,
    initial: int = 0,
) -> float:
    """Bound the cumulative regret at infinite width (Theorem 1, explicit in Lemma 8).

    With probability 1 - delta,
        R_T <= c_T e^C (1 + 10/p) sqrt(C_1 T gamma_T) + B' pi^2/3
               + [4 B' + c_T e^C (1 + 10/p) K_0] sqrt(2 T log(2/delta)) + 2 B' T_init.

    Args:
        horizon: T, how many evaluations in all.
        gamma: The maximal information gain from T observations.
        log_size: The logarithm of the number of points of the domain.
        delta: The probability with which the statement may fail.
        noise_std: Standard deviation of the observation noise.
        value_bound: B', a bound on |f|.
        kernel_bound: K_0, a bound on the kernel.
        C: Bound on the information that the pending points of a batch can hold.
        initial: T_init, the length of the initial stage.
    """
    factor = confidence_width(horizon, log_size, delta) * math.exp(C) * _EXPLORATION
    steps = 4 * value_bound + factor * kernel_bound
    return (
        factor * _sum_of_deviations(horizon, gamma, noise_std)
        + value_bound * math.pi**2 / 3
        + steps * math.sqrt(2 * horizon * math.log(2 / delta))
        + 2 * value_bound * initial
    )


def regret_bound_finite_width(
    horizon: int,
    gamma: float,
    log_size: float,
    delta: float,
    noise_std: float,
    value_bound: float,
    error: float,
    kernel_bound: float = 1.0,
    C: float = 0.0,
    initial: int = 0,
) -> float:
    """Bound the cumulative regret of STO-BNTS-Linear (Theorem 2, explicit in Lemma 18).

    As Theorem 1, with eps' = `finite_width_slack` in every step, and log(4/delta):
        R_T <= c_T e^C (1 + 10/p) sqrt(C_1 T gamma_T) + T eps' + B' pi^2/3
               + [4 B' + c_T e^C (1 + 10/p) K_0 + eps'] sqrt(2 T log(4/delta)) + 2 B' T_init.

    Args:
        horizon: T, how many evaluations in all.
        gamma: The maximal information gain from T observations.
        log_size: The logarithm of the number of points of the domain.
        delta: The probability with which the statement may fail.
        noise_std: Standard deviation of the observation noise.
        value_bound: B', a bound on |f|.
        error: Distance of the empirical NTK from the exact one.
        kernel_bound: K_0, a bound on the kernel.
        C: Bound on the information that the pending points of a batch can hold.
        initial: T_init, the length of the initial stage.
    """
    slack = finite_width_slack(
        horizon, log_size, delta, noise_std, value_bound, error, kernel_bound
    )
    c = confidence_width(horizon, log_size, delta, finite_width=True)
    factor = c * math.exp(C) * _EXPLORATION
    steps = 4 * value_bound + factor * kernel_bound + slack
    return (
        factor * _sum_of_deviations(horizon, gamma, noise_std)
        + horizon * slack
        + value_bound * math.pi**2 / 3
        + steps * math.sqrt(2 * horizon * math.log(4 / delta))
        + 2 * value_bound * initial
    )


def _sum_of_deviations(horizon: int, gamma: float, noise_std: float) -> float:
    """Bound sum_t sigma_{t-1}(x_t) by sqrt(C_1 T gamma_T)."""
    C_1 = 2 / math.log1p(noise_std**-2)
    return math.sqrt(C_1 * horizon * gamma)


def std_gap(t: int, noise_std: float, error: float, kernel_bound: float = 1.0) -> float:
    """Bound how far the empirical NTK moves the posterior deviation (Lemma 9).

    Like the paper, this assumes error <= 1 and s2 <= 1.

    Args:
        t: The number of the evaluation, from 1.
        noise_std: Standard deviation of the observation noise.
        error: Distance of the empirical NTK from the exact one.
        kernel_bound: K_0, a bound on the kernel.
    """
    K_0 = max(1.0, kernel_bound)
    return math.sqrt(error * (1 + 4 * K_0**2 * t**2 / noise_std**4))


def mean_gap(
    horizon: int,
    delta: float,
    noise_std: float,
    value_bound: float,
    error: float,
    kernel_bound: float = 1.0,
) -> float:
    """Bound how far the empirical NTK moves the posterior mean (Lemma 10, at t = T).

    Args:
        horizon: T, how many evaluations in all.
        delta: The probability with which the statement may fail.
        noise_std: Standard deviation of the observation noise.
        value_bound: B', a bound on |f|.
        error: Distance of the empirical NTK from the exact one.
        kernel_bound: K_0, a bound on the kernel.
    """
    K_0 = max(1.0, kernel_bound)
    largest_value = value_bound + noise_std * math.sqrt(2 * math.log(4 * horizon / delta))
    return 2 * K_0 * horizon**2 * error / noise_std**4 * largest_value


def finite_width_slack(
    horizon: int,
    log_size: float,
    delta: float,
    noise_std: float,
    value_bound: float,
    error: float,
    kernel_bound: float = 1.0,
) -> float:
    """Return eps'_{m,T} (Lemma 16): the regret that finite width adds to one evaluation.

    Args:
        horizon: T, how many evaluations in all.
        log_size: The logarithm of the number of points of the domain.
        delta: The probability with which the statement may fail.
        noise_std: Standard deviation of the observation noise.
        value_bound: B', a bound on |f|.
        error: Distance of the empirical NTK from the exact one.
        kernel_bound: K_0, a bound on the kernel.
    """
    in_std = std_gap(horizon, noise_std, error, kernel_bound)
    in_mean = mean_gap(horizon, delta, noise_std, value_bound, error, kernel_bound)
    slack = in_mean + beta(horizon, log_size, delta, finite_width=True) * in_std  # Lemma 12
    return 3 * confidence_width(horizon, log_size, delta, finite_width=True) * in_std + 4 * slack


def kernel_error(
    depth: int,
    width: float,
    log_size: float,
    delta: float,
    constant: float = 1.0,
    draws: int = 1,
) -> float:
    """Return (L + 1) epsilon, the error of a finite network's NTK (Proposition 1).

    Proposition 1 asks for m = C_ntk L^6 epsilon^-4 log(4 L |X|^2 / delta). Solved for epsilon,
    C_ntk gets the power 1/4; the paper's text keeps its first power. C_ntk is an unknown
    constant: read results as rates, not as numbers to trust. Algorithm 2 draws a new network for
    each evaluation, and all of them must be close: delta is shared between the `draws`, which the
    paper leaves out.

    Args:
        depth: L, the number of hidden layers.
        width: m, the width of the hidden layers.
        log_size: The logarithm of the number of points of the domain.
        delta: The probability with which the statement may fail.
        constant: C_ntk, which is unknown.
        draws: How many independent networks must all be this close.
    """
    log_term = math.log(4 * depth * draws / delta) + 2 * log_size
    epsilon = math.sqrt(math.sqrt(constant * depth**6 * log_term / width))
    return (depth + 1) * epsilon


def required_width(
    depth: int,
    error: float,
    log_size: float,
    delta: float,
    constant: float = 1.0,
    draws: int = 1,
) -> int:
    """Return the smallest width whose `kernel_error` is at most `error` (Proposition 1).

    Args:
        depth: L, the number of hidden layers.
        error: Distance of the empirical NTK from the exact one.
        log_size: The logarithm of the number of points of the domain.
        delta: The probability with which the statement may fail.
        constant: C_ntk, which is unknown.
        draws: How many independent networks must all be this close.
    """
    return math.ceil(kernel_error(depth, 1, log_size, delta, constant, draws) ** 4 / error**4)


def log_width_for_sublinear_regret(horizon: int) -> float:
    """Return log m for m = T^24, where Theorem 2's T^3 m^(-1/8) stops growing with T.

    Args:
        horizon: T, how many evaluations in all.
    """
    return 24 * math.log(horizon)

import itertools
import math

import numpy as np
import pytest

from thomax import theory
from thomax.theory import (
    beta,
    confidence_width,
    continuous_log_size,
    finite_width_slack,
    greedy_information_gain,
    information_gain,
    initial_length,
    kernel_error,
    mean_gap,
    regret_bound,
    regret_bound_finite_width,
    required_width,
    std_gap,
)

SETTING = {"delta": 0.1, "noise_std": 0.5, "value_bound": 2.0}


def kernel(x, lengthscale=0.3):
    return np.exp(-((x[:, None] - x) ** 2) / (2 * lengthscale**2))


def posterior(K, chosen, noise_std, y=None):
    """Condition on noisy observations the textbook way."""
    A = K[np.ix_(chosen, chosen)] + noise_std**2 * np.eye(len(chosen))
    weights = np.linalg.solve(A, K[chosen]).T
    mean = weights @ (np.zeros(len(chosen)) if y is None else y)
    return mean, K - weights @ K[chosen]


# Confidence


@pytest.mark.parametrize(("t", "size", "delta"), [(1, 10, 0.1), (7, 1000, 0.5), (300, 2, 1e-3)])
def test_beta_and_width_are_those_of_the_paper(t, size, delta):
    first = 2 * np.log(np.pi**2 * t**2 * size / (3 * delta))
    second = 2 * np.log(2 * np.pi**2 * t**2 * size / (3 * delta))
    spread = 1 + np.sqrt(2 * np.log(size * t**2))
    assert beta(t, math.log(size), delta) == pytest.approx(first)
    assert beta(t, math.log(size), delta, finite_width=True) == pytest.approx(second)
    assert confidence_width(t, math.log(size), delta) == pytest.approx(first * spread)
    assert confidence_width(t, math.log(size), delta, True) == pytest.approx(second * spread)


def test_beta_grows_with_time_size_and_confidence():
    base = beta(5, math.log(100), 0.1)
    assert base < beta(6, math.log(100), 0.1)
    assert base < beta(5, math.log(101), 0.1)
    assert base < beta(5, math.log(100), 0.09)
    assert base < beta(5, math.log(100), 0.1, finite_width=True)


def test_a_cube_counts_as_its_grid():
    assert continuous_log_size(100, 3) == pytest.approx(math.log(10**3))
    assert math.isfinite(beta(10**6, continuous_log_size(10**6, 10**4), 0.1))  # |X| = 1e30000


def test_beta_covers_the_function_as_often_as_promised():
    """Lemma 1, for the prior: f leaves the band with probability delta/2 at most."""
    rng = np.random.default_rng(0)
    K, delta = kernel(np.linspace(0, 1, 10)), 0.1
    f = rng.multivariate_normal(np.zeros(10), K, size=2000)
    band = beta(1, math.log(10), delta)
    assert (np.abs(f).max(1) > band).mean() <= delta / 2


# Information


@pytest.mark.parametrize("noise_std", [0.1, 1.0])
def test_information_adds_up_along_any_order(noise_std):
    rng = np.random.default_rng(1)
    K = kernel(rng.uniform(size=6))
    for _ in range(5):
        order = list(rng.permutation(6))
        terms = []
        for t, i in enumerate(order):
            variance = posterior(K, order[:t], noise_std)[1][i, i]
            terms.append(0.5 * np.log(1 + variance / noise_std**2))
        assert information_gain(K, noise_std) == pytest.approx(sum(terms))


def test_information_survives_kernels_whose_determinant_does_not():
    many = np.ones((500, 500))  # one point, observed 500 times: log det from one eigenvalue
    assert information_gain(many, 1e-3) == pytest.approx(0.5 * np.log1p(500 / 1e-6))
    assert information_gain(1e3 * np.eye(500), 1e-3) == pytest.approx(250 * np.log1p(1e9))


def gain_of(K, chosen, noise_std):
    return information_gain(K[np.ix_(chosen, chosen)], noise_std)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise_std", [0.1, 1.0])
def test_greedy_gains_are_those_of_its_points(seed, noise_std):
    K = kernel(np.random.default_rng(seed).uniform(size=8))
    gains, chosen = greedy_information_gain(K, noise_std, 12)
    for t in range(1, 13):
        assert gains[t - 1] == pytest.approx(gain_of(K, chosen[:t], noise_std))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise_std", [0.1, 1.0])
def test_greedy_picks_are_the_best_next_ones_and_near_the_optimum(seed, noise_std):
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.5, 1, size=7)
    K = kernel(rng.uniform(size=7)) * np.outer(scale, scale)
    gains, chosen = greedy_information_gain(K, noise_std, 3)
    for t in range(3):
        best = max(gain_of(K, [*chosen[:t], i], noise_std) for i in range(7))
        assert gains[t] == pytest.approx(best)
    for t in (1, 2, 3):
        with_repeats = itertools.combinations_with_replacement(range(7), t)
        optimum = max(gain_of(K, list(points), noise_std) for points in with_repeats)
        assert (1 - 1 / math.e) * optimum <= gains[t - 1] <= optimum * (1 + 1e-9)


def test_a_noisy_point_may_be_observed_twice():
    gains, chosen = greedy_information_gain(np.diag([1.0, 0.1]), 1.0, 3)
    assert list(chosen) == [0, 0, 0]
    np.testing.assert_allclose(gains, 0.5 * np.log1p([1, 2, 3]))


def test_gains_grow_ever_slower_even_without_anything_left_to_learn():
    gains, _ = greedy_information_gain(kernel(np.linspace(0, 1, 30), 5.0), 1e-4, 60)
    steps = np.diff(gains, prepend=0)
    assert np.all(steps >= 0)
    assert np.all(np.diff(steps) <= 1e-9)
    assert greedy_information_gain(np.zeros((3, 3)), 0.1, 2)[0].tolist() == [0, 0]


def test_rounding_never_makes_a_gain_negative():
    for seed in range(40):  # variances end at zero, plus or minus rounding
        features = np.random.default_rng(seed).standard_normal((3, 2))
        gains, _ = greedy_information_gain(features @ features.T, 1e-8, 8)
        assert np.all(np.diff(gains) >= 0)


# The uncertainty-sampling start


@pytest.mark.parametrize(("batch", "C"), [(2, 0.5), (5, 1.0), (10, 1.0), (10, 0.3)])
def test_the_start_is_as_short_as_the_condition_allows(batch, C):
    gains, _ = greedy_information_gain(kernel(np.linspace(0, 1, 50)), 0.5, 400)
    length = initial_length(gains, batch, C)
    assert (batch - 1) * gains[length - 1] / length <= C
    assert all((batch - 1) * gains[t - 1] / t > C for t in range(1, length))
    assert length > 1


@pytest.mark.parametrize(("batch", "C"), [(3, 0.5), (6, 1.0)])
def test_the_start_leaves_a_batch_little_to_learn(batch, C):
    """The reason for it (after Theorem 1): the pending points hold at most C."""
    K, noise_std = kernel(np.linspace(0, 1, 12)), 0.5
    gains, chosen = greedy_information_gain(K, noise_std, 400)
    length = initial_length(gains, batch, C)
    _, left = posterior(K, chosen[:length], noise_std)
    pending, _ = greedy_information_gain(left, noise_std, batch - 1)
    assert pending[-1] <= C


def test_one_at_a_time_needs_no_start():
    assert initial_length(np.array([]), 1, 0.1) == 0


@pytest.mark.parametrize("gains", [[1.0, 1.5], []])
def test_too_short_a_horizon_is_told(gains):
    with pytest.raises(ValueError, match=r"C=0\.1 within the \d gains, got .* Pass more gains"):
        initial_length(np.array(gains), 3, 0.1)


# Regret


def test_the_bound_is_lemma_8():
    T, gamma, size, d, s, B, K_0, C = 50, 6.0, 20, 0.1, 0.5, 2.0, 1.5, 0.7
    p = 1 / (4 * np.e * np.sqrt(np.pi))
    beta_T = 2 * np.log(np.pi**2 * T**2 * size / (3 * d))
    c_T = beta_T * (1 + np.sqrt(2 * np.log(size * T**2)))
    C_1 = 2 / np.log(1 + s**-2)
    by_hand = (
        c_T * np.exp(C) * (1 + 10 / p) * np.sqrt(C_1 * T * gamma)
        + B * np.pi**2 / 3
        + (4 * B + c_T * np.exp(C) * (1 + 10 / p) * K_0) * np.sqrt(2 * T * np.log(2 / d))
    )
    bound = regret_bound(T, gamma, math.log(size), d, s, B, kernel_bound=K_0, C=C)
    assert bound == pytest.approx(by_hand)


@pytest.mark.parametrize("K_0", [0.8, 1.5])
def test_the_finite_width_bound_is_lemma_18(K_0):
    T, gamma, size, d, s, B, C, e = 50, 6.0, 20, 0.1, 0.5, 2.0, 0.7, 1e-6
    p, K_hat = 1 / (4 * np.e * np.sqrt(np.pi)), max(1, K_0)
    beta_T = 2 * np.log(2 * np.pi**2 * T**2 * size / (3 * d))
    c_T = beta_T * (1 + np.sqrt(2 * np.log(size * T**2)))
    C_1 = 2 / np.log(1 + s**-2)
    root = np.sqrt(e * (1 + 4 * K_hat**2 * T**2 / s**4))
    mean = 2 * K_hat * T**2 * e / s**4 * (B + s * np.sqrt(2 * np.log(4 * T / d)))
    slack = 3 * c_T * root + 4 * (mean + beta_T * root)
    by_hand = (
        c_T * np.exp(C) * (1 + 10 / p) * np.sqrt(C_1 * T * gamma)
        + T * slack
        + B * np.pi**2 / 3
        + (4 * B + c_T * np.exp(C) * (1 + 10 / p) * K_0 + slack) * np.sqrt(2 * T * np.log(4 / d))
    )
    log_size = math.log(size)
    assert std_gap(T, s, e, K_0) == pytest.approx(root)
    assert mean_gap(T, d, s, B, e, K_0) == pytest.approx(mean)
    assert finite_width_slack(T, log_size, d, s, B, e, K_0) == pytest.approx(slack)
    bound = regret_bound_finite_width(T, gamma, log_size, d, s, B, e, K_0, C)
    assert bound == pytest.approx(by_hand)


def test_width_closes_the_gap_between_the_theorems():
    """What stays is Theorem 2's stricter delta: half of it in beta, and log(4/delta)."""
    T, gamma, log_size = 40, 5.0, math.log(100)
    bounds = []
    for log10_width in (10, 40, 80, 120):
        error = kernel_error(2, 10.0**log10_width, log_size, 0.1)
        bounds.append(regret_bound_finite_width(T, gamma, log_size, error=error, **SETTING))
    assert bounds == sorted(bounds, reverse=True)
    limit = regret_bound_finite_width(T, gamma, log_size, error=0.0, **SETTING)
    assert bounds[-1] == pytest.approx(limit, rel=1e-3)
    halved = regret_bound(T, gamma, log_size, **SETTING | {"delta": 0.05})
    assert limit == pytest.approx(halved)
    assert limit > regret_bound(T, gamma, log_size, **SETTING)


def thompson_regret(rng, K, noise_std, horizon, delta):
    """Run the paper's infinite-width algorithm, one point at a time, on a finite domain."""
    n = len(K)
    jitter = 1e-9 * np.eye(n)
    f = np.linalg.cholesky(K + jitter) @ rng.standard_normal(n)
    chosen, y = [], np.zeros(0)
    for t in range(1, horizon + 1):
        mean, covariance = posterior(K, chosen, noise_std, y)
        L = np.linalg.cholesky(covariance + jitter)
        draw = mean + beta(t, math.log(n), delta) * (L @ rng.standard_normal(n))
        chosen.append(int(np.argmax(draw)))
        y = np.append(y, f[chosen[-1]] + noise_std * rng.standard_normal())
    return (f.max() - f[chosen]).sum(), np.abs(f).max()


def test_the_bound_holds_for_thompson_sampling():
    rng = np.random.default_rng(3)
    K, noise_std, horizon, delta = kernel(np.linspace(0, 1, 10)), 0.3, 15, 0.1
    gamma = greedy_information_gain(K, noise_std, horizon)[0][-1] / (1 - 1 / math.e)
    held = []
    for _ in range(60):
        regret, largest = thompson_regret(rng, K, noise_std, horizon, delta)
        bound = regret_bound(horizon, gamma, math.log(10), delta, noise_std, largest)
        held.append(0 <= regret <= bound)
    assert np.mean(held) >= 0.95


def test_the_sum_of_deviations_is_bounded_by_the_information():
    """The step inside Lemma 8 that is tight enough to fail: sum sigma <= sqrt(C_1 T gamma)."""
    rng = np.random.default_rng(4)
    K, noise_std, T = kernel(np.linspace(0, 1, 10)), 0.3, 25
    for _ in range(20):
        chosen = list(rng.integers(10, size=T))
        deviations = [
            np.sqrt(posterior(K, chosen[:t], noise_std)[1][i, i]) for t, i in enumerate(chosen)
        ]
        gain = gain_of(K, chosen, noise_std)
        bound = theory._sum_of_deviations(T, gain, noise_std)
        assert bound / 3 < sum(deviations) <= bound


# Finite width


def test_the_gaps_hold_for_perturbed_kernels():
    """Lemmas 9 and 10, with features that are moved as a finite network moves them."""
    rng = np.random.default_rng(5)
    noise_std, delta, T = 0.5, 0.1, 6
    for scale in (1e-3, 1e-2, 1e-1):
        features = rng.standard_normal((9, 20))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        moved = features + scale * rng.standard_normal(features.shape) / np.sqrt(20)
        K, K_moved = features @ features.T, moved @ moved.T
        error = np.abs(K - K_moved).max()
        chosen, y = list(rng.integers(9, size=T)), rng.uniform(-1, 1, size=T)
        mean, covariance = posterior(K, chosen, noise_std, y)
        mean_moved, covariance_moved = posterior(K_moved, chosen, noise_std, y)
        std, std_moved = np.sqrt(np.diag(covariance)), np.sqrt(np.diag(covariance_moved))
        assert np.abs(std - std_moved).max() <= std_gap(T, noise_std, error)
        assert np.abs(mean - mean_moved).max() <= mean_gap(T, delta, noise_std, 1.0, error)


def test_the_kernel_error_solves_proposition_1():
    depth, epsilon, size, delta, constant = 3, 0.05, 40, 0.1, 7.0
    width = constant * depth**6 / epsilon**4 * np.log(4 * depth * size**2 / delta)
    error = kernel_error(depth, width, math.log(size), delta, constant)
    assert error == pytest.approx((depth + 1) * epsilon)


@pytest.mark.parametrize("error", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("constant", [1.0, 0.01])
def test_the_required_width_is_the_smallest_that_suffices(error, constant):
    log_size = continuous_log_size(150, 12)
    width = required_width(2, error, log_size, 0.1, constant)
    assert isinstance(width, int)
    assert kernel_error(2, width, log_size, 0.1, constant) <= error * (1 + 1e-9)
    assert kernel_error(2, width - 1, log_size, 0.1, constant) >= error * (1 - 1e-9)


def test_a_width_of_t_to_the_24_stops_the_finite_width_regret():
    for T in (10, 1000, 10**9):
        log_width = theory.log_width_for_sublinear_regret(T)
        assert 3 * math.log(T) - log_width / 8 == pytest.approx(0)

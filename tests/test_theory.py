import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from thomax import MLP, NTK, Float, Int, Optimizer, Pool, theorem_settings, theory
from thomax.initial_design import UncertaintySampling, stage_length
from thomax.model.kernels import gram
from thomax.theory import (
    BetaSchedule,
    beta,
    confidence_width,
    continuous_log_size,
    discretisation_regret,
    finite_width_slack,
    greedy_information_gain,
    information_gain,
    information_gain_exponent,
    initial_length,
    kernel_error,
    mean_gap,
    pending_information,
    regret_bound,
    regret_bound_finite_width,
    regret_exponent,
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


def test_the_schedule_counts_selections_after_the_initial_stage():
    """|X| = 1000, delta = 0.1: beta_t = 2 log(10,000 pi^2 t^2 / 3), t = 1 after 63 points."""
    schedule = BetaSchedule(math.log(1000), 0.1, initial=63)
    first = 2 * (math.log(math.pi**2 / 3) + math.log(10_000))
    assert first == pytest.approx(20.802, abs=1e-3)
    for observations, t in [(0, 1), (62, 1), (63, 1), (64, 2), (67, 5), (162, 100)]:
        assert schedule(observations) == pytest.approx(first + 4 * math.log(t))
    halved = BetaSchedule(math.log(1000), 0.1, finite_width=True, initial=63)
    assert halved(64) == pytest.approx(first + 4 * math.log(2) + 2 * math.log(2))


def test_the_schedule_may_count_batches_as_the_algorithms_do():
    schedule = BetaSchedule(math.log(1000), 0.1, initial=63, batch=4)
    indices = [round(math.exp((schedule(n) - schedule(0)) / 4)) for n in range(60, 76)]
    assert indices == [1] * 7 + [2] * 4 + [3] * 4 + [4]


@pytest.mark.parametrize(("T", "d", "lipschitz"), [(100, 1, 2.0), (49, 3, 0.5)])
def test_the_grid_of_a_cube_costs_at_most_what_is_added(T, d, lipschitz):
    """T^(d/2) points at a distance of 1/sqrt(T), and the worst function: a cone."""
    axis = (np.arange(math.isqrt(T)) + 0.5) / math.isqrt(T)
    grid = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    assert math.log(len(grid)) == pytest.approx(continuous_log_size(T, d))
    peaks = np.random.default_rng(0).uniform(size=(200, d))
    best = [(-lipschitz * np.linalg.norm(grid - peak, axis=1)).max() for peak in peaks]
    added = discretisation_regret(T, d, lipschitz)
    assert added == pytest.approx(lipschitz * d * math.sqrt(T))
    assert T * max(-np.array(best)) <= added


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


@pytest.mark.parametrize("noise_std", [0.2, 1.0])
@pytest.mark.parametrize("batch", [1, 2, 4])
def test_pending_points_hold_at_most_what_is_said(batch, noise_std):
    """C by the largest variance, against all sets of B - 1 points."""
    rng = np.random.default_rng(6)
    K, chosen = kernel(rng.uniform(size=6)), [0, 3, 3]
    _, left = posterior(K, chosen, noise_std)
    sets = itertools.combinations_with_replacement(range(6), batch - 1)
    largest = max(gain_of(left, list(points), noise_std) for points in sets)
    bound = pending_information(np.diag(left), noise_std, batch)
    assert largest <= bound * (1 + 1e-9)
    assert batch > 2 or largest == pytest.approx(bound)


@pytest.mark.parametrize(("batch", "C"), [(3, 0.5), (6, 1.0)])
def test_after_the_start_pending_points_hardly_shrink_the_deviation(batch, C):
    """Lemma 5, for the pending points that tell most and for random ones: at most e^C."""
    rng = np.random.default_rng(7)
    K, noise_std = kernel(np.linspace(0, 1, 12)), 0.5
    gains, chosen = greedy_information_gain(K, noise_std, 400)
    first = list(chosen[: initial_length(gains, batch, C)])
    _, before = posterior(K, first, noise_std)
    assert pending_information(np.diag(before), noise_std, batch) <= C
    worst = list(greedy_information_gain(before, noise_std, batch - 1)[1])
    for pending in [worst, *rng.integers(12, size=(20, batch - 1)).tolist()]:
        _, after = posterior(K, first + pending, noise_std)
        ratio = np.sqrt(np.diag(before) / np.diag(after))
        assert 1 <= ratio.max() <= math.exp(C)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("batch", [2, 4, 9])
def test_the_start_grows_as_a_power_of_the_batch(batch, d):
    """T_init = (B - 1)^d for C = 1 if gamma_T = T^((d - 1)/d)."""
    gains = np.arange(1.0, 1000) ** information_gain_exponent(d)
    assert initial_length(gains, batch, 1.0) in ((batch - 1) ** d, (batch - 1) ** d + 1)


@pytest.mark.parametrize("d", [2, 3])
def test_information_on_the_sphere_grows_no_faster_than_the_rate(d):
    """Of a ReLU tangent kernel, up to the logarithm that the rate leaves out."""
    x = np.random.default_rng(d).normal(size=(900, d))
    x *= math.sqrt(d) / np.linalg.norm(x, axis=1, keepdims=True)
    K = gram(NTK(2, "relu", math.sqrt(2), 0.0), x, x)
    gains, _ = greedy_information_gain(K / K.max(), 0.3, 300)
    slope = np.log(gains[299] / gains[74]) / np.log(4)
    logarithm = np.log(np.log(300) / np.log(75)) / np.log(4)
    assert 0.2 < slope <= information_gain_exponent(d) + logarithm


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
    with_stage = regret_bound(T, gamma, math.log(size), d, s, B, K_0, C, initial=63)
    assert with_stage == pytest.approx(by_hand + 2 * B * 63)


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
    with_stage = regret_bound_finite_width(T, gamma, log_size, d, s, B, e, K_0, C, initial=63)
    assert with_stage == pytest.approx(by_hand + 2 * B * 63)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_bound_grows_as_the_rate_says(d):
    """Up to c_T, for gamma_T = T^((d - 1)/d): T^((2d - 1)/(2d)), below 1 for every d."""
    logs = []
    for T in (10**20, 10**24):
        gamma = float(T) ** information_gain_exponent(d)
        bound = regret_bound(T, gamma, math.log(100), **SETTING)
        logs.append(math.log(bound / confidence_width(T, math.log(100), 0.1)))
    slope = (logs[1] - logs[0]) / math.log(10**4)
    assert slope == pytest.approx((2 * d - 1) / (2 * d), abs=1e-3)
    assert regret_exponent(d) == pytest.approx((2 * d - 1) / (2 * d))


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


def posteriors_along_a_run(rng, K, noise_std, horizon, delta):
    """Yield t, f, the posterior's mean and deviations, and draws, for a run as above."""
    n = len(K)
    jitter = 1e-9 * np.eye(n)
    f = np.linalg.cholesky(K + jitter) @ rng.standard_normal(n)
    chosen, y = [], np.zeros(0)
    for t in range(1, horizon + 1):
        mean, covariance = posterior(K, chosen, noise_std, y)
        L = np.linalg.cholesky(covariance + jitter)
        draws = mean + beta(t, math.log(n), delta) * rng.standard_normal((400, n)) @ L.T
        yield t, f, mean, np.sqrt(np.diag(covariance + jitter)), draws
        chosen.append(int(np.argmax(draws[0])))
        y = np.append(y, f[chosen[-1]] + noise_std * rng.standard_normal())


def test_the_events_of_the_proof_are_as_likely_as_it_says():
    """Lemmas 1 to 4 along runs, each of 400 draws at every step; p = 0.0519 is far from tight.

    The least likely that a draw exceeds f is P(Z > 1) = 0.159 where E^f holds: 400 draws show
    less than p with a probability below 1e-20. Lemma 2 allows 1/t^2, with four standard errors.
    """
    rng = np.random.default_rng(8)
    K, delta, covered = kernel(np.linspace(0, 1, 10)), 0.5, []
    for _ in range(40):
        inside = True
        for t, f, mean, std, draws in posteriors_along_a_run(rng, K, 0.3, 8, delta):
            b, c = beta(t, math.log(10), delta), confidence_width(t, math.log(10), delta)
            holds = bool(np.all(np.abs(mean - f) <= b * std))  # E^f(t)
            inside &= holds
            width = b * math.sqrt(2 * math.log(10 * t**2)) * std
            missed = (np.abs(draws - mean) > width).any(axis=1).mean()  # not E^ft(t)
            assert missed <= 1 / t**2 + 4 * math.sqrt(1 / t**2 * (1 - 1 / t**2) / 400)
            if holds:
                assert np.all((draws > f).mean(axis=0) >= theory._P)
                unsaturated = f.max() - f <= c * std
                assert unsaturated[draws.argmax(axis=1)].mean() >= theory._P - 1 / t**2
        covered.append(inside)
    assert np.mean(covered) >= 1 - delta / 2


def test_p_is_below_the_probability_it_stands_for():
    assert pytest.approx(math.exp(-1) / (4 * math.sqrt(math.pi))) == theory._P
    assert norm.sf(1) >= theory._P


def test_lemma_6_holds_from_the_fifth_selection_on():
    """It divides by p - 1/t^2, which is negative before."""
    for t in range(1, 5):
        assert 1 / t**2 > theory._P
    for t in range(5, 1000):
        assert 0 < 2 / (theory._P - 1 / t**2) <= 10 / theory._P


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


def test_many_networks_that_must_all_be_close_share_delta():
    error = kernel_error(2, 1e6, math.log(50), 0.1, draws=200)
    assert error == pytest.approx(kernel_error(2, 1e6, math.log(50), 0.1 / 200))
    width = required_width(2, 0.1, math.log(50), 0.1, draws=200)
    assert width == required_width(2, 0.1, math.log(50), 0.1 / 200)
    assert width > required_width(2, 0.1, math.log(50), 0.1)


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


# The whole algorithm

POOL = Pool(np.random.default_rng(9).uniform(size=(40, 2)))


def test_the_settings_of_the_theorem_are_those_of_its_formulas():
    settings = theorem_settings(POOL, 100, batch=3, noise_std=0.5, delta=0.2, C=0.8)
    policy, initial = settings["policy"], settings["initial"]
    prior = policy.prior_kernel(POOL.shape), 0.5
    assert initial.length == stage_length(UncertaintySampling(batch=3, C=0.8), POOL, *prior) > 1
    assert policy.beta(initial.length) == pytest.approx(2 * math.log(math.pi**2 * 40 / 0.6))
    assert policy.beta(initial.length + 8) == beta(9, math.log(40), 0.2)
    assert policy.network.width == math.inf
    assert (policy.noise_std, policy.standardise, policy.perturb) == (0.5, False, True)
    assert settings["allow_repeats"]
    assert settings["search"].trust is None  # the theorems maximise over the whole domain


def test_a_finite_network_gets_the_beta_of_theorem_2():
    settings = theorem_settings(POOL, 100, noise_std=0.5, network=MLP(width=64))
    assert settings["initial"].length == 0
    assert settings["policy"].beta(3) == beta(4, math.log(40), 0.1, finite_width=True)


@pytest.mark.parametrize(
    ("space", "log_size"),
    [
        ({"x": Float(0, 1), "y": Float(0, 1)}, math.log(400)),
        ({"x": Float(0, 1), "n": Int(1, 7)}, math.log(20 * 7)),
        ({"n": Int(1, 7), "m": Int(1, 3)}, math.log(21)),
    ],
)
def test_a_grid_stands_for_continuous_parameters(space, log_size):
    settings = theorem_settings(space, 400)
    assert settings["policy"].beta.log_size == pytest.approx(log_size)


def test_an_optimiser_runs_the_theorem():
    """Its stage is greedy, with repeats; its draws have beta_t posterior deviations."""
    settings = theorem_settings(POOL, 100, batch=3, noise_std=2.0, C=0.35)
    optimizer = Optimizer(POOL, seed=0, **settings)
    length, policy = settings["initial"].length, settings["policy"]
    x = POOL.at(np.arange(40))
    K = gram(policy.prior_kernel(POOL.shape), x, x)
    for trial in optimizer.ask(length):
        optimizer.tell(trial, 0.0)
    chosen = POOL.index([t.params for t in optimizer.trials])
    assert len({*chosen}) < length
    for t in range(1, length):
        variance = np.diag(posterior(K, chosen[:t], 2.0)[1])
        assert variance[chosen[t]] == pytest.approx(variance.max(), rel=1e-5)
    data = optimizer.snapshot().data()
    draws = policy.on_set(np.array([[0, i] for i in range(500)]), data, x)
    std = np.sqrt(np.diag(posterior(K, chosen, 2.0)[1]))
    ratio = draws.std(axis=0) / (beta(1, math.log(40), 0.1) * std)
    np.testing.assert_allclose(ratio, 1, atol=5 / math.sqrt(2 * 500))
    assert len(optimizer.ask(3)) == 3


@pytest.mark.parametrize("wrong", [{"horizon": 0}, {"batch": 0}, {"delta": 1.5}, {"C": 0}])
def test_settings_of_the_theorem_are_checked(wrong):
    with pytest.raises(ValueError, match=f"theorem_settings needs {next(iter(wrong))}"):
        theorem_settings(POOL, **{"horizon": 10} | wrong)

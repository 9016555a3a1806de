"""The simulation draws from the posterior, and the page shows what was measured."""

import json
import math

import numpy as np
import pytest

import thomax as tx
from benchmarks import regret
from thomax import theory
from thomax.keys import make_keys

RESULTS = json.loads(regret.RESULTS.read_text("utf-8"))
RNG = np.random.default_rng(0)


def test_draws_follow_the_posterior_of_the_policy():
    """Against the formulas, and against exact draws of a network of infinite width."""
    x, noise_std, beta = RNG.uniform(-1, 1, (12, 2)), 0.3, 2.0
    policy = tx.STOBNTSLinear(regret.NETWORK, noise_std=noise_std, standardise=False, beta=beta)
    K = regret.gram(policy.prior_kernel((2,)), x, x)
    Phi = np.linalg.cholesky(K + 1e-10 * np.eye(12))
    chosen, y = [0, 3, 3, 7], RNG.normal(size=4)
    rows = Phi[chosen]
    P, b = np.eye(12) + rows.T @ rows / noise_std**2, rows.T @ y / noise_std**2
    found = regret.draws(P, b, Phi, beta, RNG, 20_000)
    A = K[np.ix_(chosen, chosen)] + noise_std**2 * np.eye(4)
    mean = K[:, chosen] @ np.linalg.solve(A, y)
    covariance = beta**2 * (K - K[:, chosen] @ np.linalg.solve(A, K[chosen]))
    std = np.sqrt(np.diag(covariance))
    exact = policy.on_set(make_keys(0, 20_000), tx.Data(x[chosen], y), x).T
    for draws in (found, exact):
        assert np.abs((draws.mean(axis=1) - mean) / std).max() < 5 / math.sqrt(20_000)
        error = (np.cov(draws) - covariance) / np.outer(std, std)
        assert np.abs(error).max() < 5 * math.sqrt(2 / 20_000)


def test_greedy_gains_are_those_of_the_library():
    Phi = RNG.normal(size=(15, 6))
    gains, chosen = regret.greedy(Phi, 0.25, 40)
    expected, points = theory.greedy_information_gain(Phi @ Phi.T, 0.5, 40)
    np.testing.assert_allclose(gains, expected)
    np.testing.assert_array_equal(chosen, points)


@pytest.mark.parametrize("power", [0.5, 0.9, 1.0])
def test_the_slope_is_the_power_of_the_growth(power):
    assert regret.slope(3 * np.arange(1.0, 1001) ** power) == pytest.approx(power)
    assert regret.slope(np.zeros(10)) == 0


def test_a_run_begins_with_the_stage_and_loses_nothing_it_should_not():
    made = regret.Setting(np.eye(3), 0.1, np.array([0, 1, 2]), lambda n: 1.0, np.zeros(1))
    first, lost, largest = regret.regrets(made, made.beta, 2, 7, seed=4)
    f = np.random.default_rng(4).standard_normal(3)
    np.testing.assert_allclose(first, f.max() - f)
    assert largest == np.abs(f).max()
    assert len(lost) == 7
    assert all(any(math.isclose(v, w) for w in f.max() - f) for v in lost)


def test_the_page_shows_what_was_recorded():
    assert regret.PAGE.read_text("utf-8") == regret.page_with(RESULTS)


def test_the_rows_are_those_of_the_runs():
    """Slopes and intervals computed anew; every regret lies below the bound."""
    assert RESULTS["seeds"] == regret.SEEDS
    assert RESULTS["horizon"] == regret.HORIZON
    for row in RESULTS["rows"]:
        slopes = [
            r["slope"]
            for r in RESULTS["runs"]
            if (r["beta"], r["batch"]) == (row["beta"], row["batch"])
        ]
        half = 2.0930 * np.std(slopes, ddof=1) / math.sqrt(20)  # t quantile of 19 degrees
        assert len(slopes) == 20
        assert row["interval"][1] == pytest.approx(np.mean(slopes) + half, abs=1e-3)
        assert row["sublinear"] == (row["interval"][1] < 1)
        assert row["largest_share_of_bound"] < 1

"""Failures tell where evaluations fail, and nothing else."""

import math

import numpy as np
import optuna
import pytest
from scipy.stats import norm

from thomax import Categorical, Data, Float, Optimizer, Random, make_key
from thomax.integrations.optuna import ThomaxSampler
from thomax.model import failures as module
from thomax.model.evaluation import evaluate
from thomax.model.failures import FeasibleScore, fit_feasibility, sample_latent
from thomax.policies.sto import STOBNTSLinear
from thomax.suggest import _score


def probability(x, succeeded, at):
    found, _ = fit_feasibility(make_key(0), np.asarray(x, np.float32), np.asarray(succeeded))
    return np.exp(found.log_probability(np.asarray(at, np.float32))[0])


# The model of failures


def reference(L, succeeded, size=400_000):
    """P(g > 0 | s) at the observed points, by weighting draws from the prior."""
    rng = np.random.default_rng(0)
    g = module._MEAN + rng.standard_normal((size, len(L))) @ L.T
    rates = rng.choice(
        module._RATES, size, p=np.exp(module._RATE_PRIOR) / np.exp(module._RATE_PRIOR).sum()
    )
    success = (1 - rates[:, None]) * norm.cdf(g / module._TAU)
    weights = np.where(succeeded, success, 1 - success).prod(axis=1)
    return weights @ (g > 0) / weights.sum()


@pytest.mark.parametrize("pattern", ["+-+", "---", "++-", "-+-"])
def test_samples_follow_the_posterior(pattern):
    """The chains agree with importance sampling from the prior, which shares no code with them."""
    x = np.array([0.0, 0.4, 1.0])
    L = np.linalg.cholesky(np.exp(-0.5 * (x[:, None] - x) ** 2) + 1e-4 * np.eye(3))
    succeeded = np.array([mark == "+" for mark in pattern])
    samples = [sample_latent(np.random.default_rng(i), L, succeeded) for i in range(60)]
    found = (np.concatenate(samples) > 0).mean(axis=0)
    four_sigma = 4 * 0.5 / math.sqrt(60 * module._COUNT)  # chains are independent, samples not
    np.testing.assert_allclose(found, reference(L, succeeded), atol=four_sigma)


def test_one_failure_among_successes_is_bad_luck_and_a_region_is_not():
    """Row 1: an isolated failure leaves its neighbourhood feasible; a region of them does not."""
    x = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    alone = np.arange(30) != 7
    assert probability(x, alone, x[[7]] + 0.05)[0] > module._REQUIRED
    left = x[:, 0] < 0
    inside, outside = [[-0.5, 0.0], [-0.8, 0.7]], [[0.5, 0.0], [0.8, -0.7]]
    assert (probability(x, left, inside) > 0.9).all()
    assert (probability(x, left, outside) < 0.1).all()


def test_one_success_among_failures_is_no_luck():
    x = np.random.default_rng(1).uniform(-1, 1, (20, 2))
    found = probability(x, np.arange(20) == 3, x)
    assert found.argmax() == 3
    far = np.linalg.norm(x - x[3], axis=1) > 1
    assert (found[far] < 0.5 * found[3]).all()


def test_failures_outside_the_region_make_the_search_more_careful_and_bad_luck_does_not():
    x = np.random.default_rng(0).uniform(-1, 1, (40, 2)).astype(np.float32)
    region = x[:, 0] < 0
    order = np.argsort(~region)  # the latest twelve have all failed
    careful = fit_feasibility(make_key(0), x[order], region[order])[1]
    assert careful > 0.9
    luck = np.arange(40) % 8 != 0
    assert fit_feasibility(make_key(0), x, luck)[1] == pytest.approx(module._REQUIRED)


def test_many_observations_are_thinned_to_the_latest_and_some_before():
    kept = module._thinned(np.ones(1000, bool))
    assert len(kept) == len({*kept.tolist()}) == module._MOST_POINTS
    assert {*range(936, 1000)} <= {*kept.tolist()}
    assert module._thinned(np.ones(5, bool)).tolist() == [0, 1, 2, 3, 4]


# What the search sees of it


def scored(y, x, n=3):
    data = Data(x, y)
    policy = STOBNTSLinear()
    keys = np.stack([make_key(0, i) for i in range(n)])
    return _score(policy, keys, data), policy(keys, data)


def test_draws_are_as_they_were_where_evaluations_succeed_and_less_elsewhere():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (30, 2))
    y = np.where(x[:, 0] < 0, x[:, 0] + x[:, 1], np.nan)
    score, plain = scored(y, x)
    assert isinstance(score, FeasibleScore)
    points = rng.uniform(-1, 1, (500, 2)).astype(np.float32)
    values, without = evaluate(score, points), evaluate(plain, points)
    margin = score.feasibility.log_probability(points)[0] - np.log(score.required)
    assert 0.3 < (margin >= 0).mean() < 0.7
    penalty = module._PENALTY * np.minimum(margin, 0)
    np.testing.assert_allclose(values, without + penalty, atol=1e-4)
    best = points[values.argmax(axis=1)]
    assert (best[:, 0] < 0.15).all()
    assert (points[without.argmax(axis=1)][:, 0] > 0.5).all()  # the objective rises that way


def test_a_policy_that_learns_nothing_learns_nothing_from_failures():
    data = Data([[0.1], [0.2]], [1.0, np.nan])
    keys = make_key(0)[None]
    x = np.linspace(-1, 1, 9, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(
        evaluate(_score(Random(), keys, data), x), evaluate(Random()(keys, data), x)
    )


# Whole searches

SQUARE = {"a": Float(0, 1), "b": Float(0, 1)}


def regret(fails, seed, tell_failure, trials=22):
    search = Optimizer(SQUARE, seed=seed)
    for i in range(trials):
        trial = search.ask()
        if fails[i]:
            tell_failure(search, trial)
        else:
            a, b = trial.params.values()
            search.tell(trial, -((a - 0.3) ** 2) - (b - 0.6) ** 2)
    return -search.best.value


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.15, 0.5])
def test_random_failures_cost_little(rate):
    """Row 1: at most ten times the regret of the same run with those trials dropped.

    Regrets of single runs differ by factors of a hundred: over 14 seeds the geometric mean of the
    ratios has a standard error of a factor of 1.7.
    """
    ratios = []
    for seed in range(14):
        fails = np.random.default_rng([seed, 1]).uniform(size=22) < rate
        told = regret(fails, seed, lambda o, t: o.tell(t, error="node died"))
        ratios.append(told / regret(fails, seed, lambda o, t: o.drop(t)))
    assert np.exp(np.mean(np.log(ratios))) < 10


def test_after_the_first_success_the_search_stays_where_it_was():
    """One success in 20 failures: what lies around it is the only region that may be feasible."""
    for seed in range(3):
        search = Optimizer({"a": Float(0, 1), "b": Float(0, 1), "c": Float(0, 1)}, seed=seed)
        points = np.random.default_rng(seed).uniform(0.3, 1, (20, 3)).round(6)
        for point in points.tolist():
            search.tell(dict(zip("abc", point, strict=True)), error="too hot")
        search.tell({"a": 0.1, "b": 0.1, "c": 0.1}, 1.0)
        proposed = np.array([[*t.params.values()] for t in search.ask(4)])
        assert (proposed.mean(axis=1) < 0.45).all()


@pytest.mark.slow
def test_an_option_that_always_fails_is_left():
    search = Optimizer({"kind": Categorical(["a", "b", "c"]), "x": Float(0, 1)}, seed=0)
    for _ in range(8):
        for trial in search.ask(4):
            kind, x = trial.params.values()
            search.tell(trial, math.nan if kind == "b" else x * (kind == "c"))
    assert sum(t.params["kind"] == "b" for t in search.trials[8:20]) <= 2
    assert search.best.value > 0.95


def test_a_search_where_everything_fails_looks_elsewhere():
    search = Optimizer(SQUARE, seed=0, initial=4)
    for trial in search.ask(4):
        search.tell(trial, math.nan)
    before = np.array([[*t.params.values()] for t in search.trials])
    for trial in search.ask(3):
        after = np.array([*trial.params.values()])
        assert np.linalg.norm(before - after, axis=1).min() > 0.1


def test_the_failures_of_a_study_cost_little():
    """Row 1, Optuna: one failed and one pruned trial without a report do not mislead."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=ThomaxSampler(seed=0))

    def objective(trial):
        a, b = trial.suggest_float("a", 0, 1), trial.suggest_float("b", 0, 1)
        if trial.number == 12:
            return math.nan
        if trial.number == 14:
            raise optuna.TrialPruned
        return (a - 0.3) ** 2 + (b - 0.6) ** 2

    study.optimize(objective, 25)
    latest = np.array([[*t.params.values()] for t in study.trials[-5:]])
    assert np.median(np.abs(latest - [0.3, 0.6])) < 0.05


def test_the_gradient_of_the_probability_is_that_of_its_differences():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (20, 3))
    found, _ = fit_feasibility(make_key(0), x, x[:, 0] < 0.3)
    at = rng.uniform(-1, 1, (6, 3))
    _, gradient = found.log_probability(at)
    step = 1e-6
    for k in range(3):
        ends = [found.log_probability(at + s * np.eye(3)[k])[0] for s in (step, -step)]
        np.testing.assert_allclose(
            gradient()[:, k], (ends[0] - ends[1]) / (2 * step), rtol=1e-4, atol=1e-6
        )


def test_the_probability_is_the_average_over_samples_of_a_normal_function():
    """Against the textbook conditional of a Gaussian process, sample by sample."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (12, 2))
    found, _ = fit_feasibility(make_key(0), x, x[:, 0] < 0)
    at = rng.uniform(-1, 1, (5, 2))
    z, new = (np.c_[0.5 * p / np.sqrt(2), np.ones(len(p))] for p in (x, at))
    z, new = (np.sqrt(3) * p / np.linalg.norm(p, axis=1, keepdims=True) for p in (z, new))
    kernel = found.kernel
    unit = kernel(z[:1], z[:1])[0, 0]
    K = kernel(z, z) / unit + 1e-4 * np.eye(12)
    k = kernel(z, new) / unit
    g = K @ found.weights * np.sqrt(unit) + 0.5  # the samples at the observed points
    mean = 0.5 + k.T @ np.linalg.solve(K, g - 0.5)
    variance = 1 - (k * np.linalg.solve(K, k)).sum(0)
    expected = norm.cdf(mean / np.sqrt(variance + 0.1**2)[:, None]).mean(1)
    np.testing.assert_allclose(np.exp(found.log_probability(at)[0]), expected, rtol=1e-6)

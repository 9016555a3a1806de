"""The models that development tasks tune: quick, fixed, and not flat."""

import numpy as np
import pytest

from benchmarks.tasks.registry import TUNING, task
from thomax import Pool

pytest.importorskip("sklearn")
rng = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["svm", "trees", "mlp", "neighbours", "extra_trees"])
def test_a_model_is_one_function_of_its_settings(name):
    problem, again = task(name, 0), task(name, 1)
    params = problem.space.decode(problem.space.sample(np.random.default_rng(1), 8))
    values = [problem.objective(p, rng) for p in params]
    assert values == [again.judge(p) for p in params]
    assert len({*values}) > 3
    assert problem.space == again.space
    assert problem.data.endswith("of scikit-learn")


def test_kernels_have_the_settings_they_use():
    space = task("svm", 0).space
    usual = {"C": 1.0, "gamma": 0.1}
    assert space.validate({"kernel": "rbf", **usual})
    assert space.validate({"kernel": "poly", **usual, "degree": 3, "coef0": 0.0})
    with pytest.raises(ValueError, match="'degree' is active only when 'kernel' is 'poly'"):
        space.validate({"kernel": "sigmoid", **usual, "degree": 3, "coef0": 0.0})


def test_the_images_are_scored_by_the_log_odds_of_the_seeds_class():
    from scipy.special import expit
    from sklearn.datasets import load_digits

    problems = [task("digits", seed) for seed in range(10)]
    pool = problems[0].space
    assert isinstance(pool, Pool)
    assert (pool.size, pool.shape) == (1797, (64,))
    odds = np.array([[p.judge({"index": i}) for i in range(pool.size)] for p in problems])
    np.testing.assert_allclose(expit(odds).sum(axis=0), 1)  # probabilities of all classes
    assert [p.optimum for p in problems] == odds.max(axis=1).tolist()
    target = load_digits().target[np.random.default_rng(0).permutation(1797)]
    assert np.mean(odds.argmax(axis=0) == target) > 0.95
    assert task("digits", 13).optimum == problems[3].optimum


def test_all_of_them_are_tasks():
    assert [task(name, 2).name for name in TUNING] == [*TUNING]

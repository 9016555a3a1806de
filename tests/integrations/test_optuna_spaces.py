"""Spaces that change, depend on themselves, or are pools."""

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial
from sampling import quick, ran, study_of

from thomax import Categorical, Float, Int, Pool
from thomax.integrations._optuna_space import (
    SpaceView,
    inferred_conditions,
)
from thomax.integrations._optuna_trials import history_of, pending_params

# Spaces that change


def test_a_changed_range_keeps_the_history_and_bounds_the_proposals():
    study = study_of(quick(n_startup_trials=0))
    study.optimize(lambda t: (t.suggest_float("x", 0, 10) - 2) ** 2, n_trials=10)
    study.optimize(lambda t: (t.suggest_float("x", 1.5, 3) - 2) ** 2, n_trials=4)
    last = study.trials[-1]
    space = study.sampler.infer_relative_search_space(study, last)
    assert space == {"x": FloatDistribution(1.5, 3)}
    view = SpaceView.of(space)
    data = history_of(study, study.trials, view, last.number).data
    assert len(data) == 13
    assert np.abs(data.x).max() > 1  # of the wide range
    assert np.abs(data.x).max() < 3
    assert all(1.5 <= t.params["x"] <= 3 for t in study.trials[10:])
    assert abs(last.params["x"] - 2) < 0.3  # known from the first ten


def test_values_out_of_range_keep_their_order_and_those_inside_their_place():
    view = SpaceView.of({"x": FloatDistribution(0, 1), "k": IntDistribution(1, 8, log=True)})
    points = [{"x": x, "k": k} for x, k in [(-1e300, 1), (-3, 8), (0, 2), (0.25, 9), (2, 64)]]
    x = view.rows(points)
    assert np.all(np.diff(x[:, 1]) > 0)
    assert np.abs(x).max() <= 3
    assert x[2:4, 1].tolist() == [-1, -0.5]
    inside = [{"x": 0.25, "k": 2}, {"x": 1.0, "k": 5}]
    np.testing.assert_array_equal(view.rows(inside), view.space.encode(inside))


def test_choices_that_are_gone_and_parameters_that_are_absent_are_inactive():
    view = SpaceView.of({"c": CategoricalDistribution(["p", "q"]), "x": FloatDistribution(0, 1)})
    points = [view.point(p) for p in ({"c": "q", "x": 1.0}, {"c": "old"}, {"x": "text"})]
    assert view.rows(points).tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]


def test_single_values_and_what_thomax_cannot_search_are_left_to_optuna():
    study = study_of(quick())
    distributions = {
        "one": FloatDistribution(1, 1),
        "huge": IntDistribution(0, 2**60),
        "x": FloatDistribution(0, 1),
        "nan": CategoricalDistribution([float("nan"), None, "text", True]),
    }
    for _ in range(10):
        trial = study.ask(distributions)
        study.tell(trial, trial.params["x"])
    space = study.sampler.infer_relative_search_space(study, trial)
    assert [*space] == ["nan", "x"]


def conditional(trial):
    x = trial.suggest_float("x", -5, 5)
    if trial.suggest_categorical("c", ["p", "q"]) == "p":
        return x**2 + trial.suggest_int("k", 0, 10)
    return (x - 1) ** 2 + 1 + trial.suggest_float("z", 1e-4, 1, log=True)


def test_conditions_are_learnt_from_the_trials():
    study = ran(conditional, 10)
    whole = SpaceView.of(study.sampler.infer_relative_search_space(study, None), study.trials)
    when = {name: p.when for name, p in whole.space.parameters.items() if p.when}
    assert when == {"k": {"c": (0,)}, "z": {"c": (1,)}}
    proposal = pending_params(study.trials[-1])
    assert {*proposal} in ({"x", "c", "k"}, {"x", "c", "z"})


@pytest.mark.slow
def test_a_conditional_space_is_optimised():
    values = [ran(conditional, 25, seed=s, policy=None).best_value for s in range(5)]
    assert np.median(values) < 0.2  # the worse branch alone gives 1


def test_a_wrong_guess_about_conditions_corrects_itself():
    """A parameter that was added later depends on nothing, though by chance it seems to."""
    parameters = {"c": Categorical(["p", "q"]), "new": Float(0, 1)}
    points = [{"c": "p"}, {"c": "q", "new": 0.5}]
    assert inferred_conditions(parameters, points) == {"new": {"c": ["q"]}}
    assert inferred_conditions(parameters, [*points, {"c": "p", "new": 0.5}]) == {}


def test_a_condition_may_depend_on_a_conditional_number_and_leaves_unseen_values_open():
    parameters = {"c": Categorical(["p", "q"]), "layers": Int(1, 4), "units": Float(0, 1)}
    points = [
        {"c": "q"},
        {"c": "p", "layers": 1},
        {"c": "p", "layers": 2},
        {"c": "p", "layers": 3, "units": 0.5},
    ]
    found = inferred_conditions(parameters, points)
    assert found == {"layers": {"c": ["p"]}, "units": {"layers": [3, 4]}}


def test_parameters_that_come_and_go_together_do_not_depend_on_each_other():
    parameters = {name: Categorical(["p", "q"]) for name in "ab"}
    assert inferred_conditions(parameters, [{"a": "p", "b": "q"}, {}]) == {}


# Pools


def pool_problem():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 5))
    return Pool(features, names=[f"m{i}" for i in range(300)]), features @ [3, -2, 1, 0, 0]


def test_a_pool_is_searched_by_its_features():
    pool, values = pool_problem()
    study = study_of(quick(pool=pool), direction="maximize")
    study.optimize(lambda t: values[t.suggest_int("index", 0, 299)], n_trials=30)
    rows = [t.params["index"] for t in study.trials]
    assert len({*rows}) == 30
    assert study.best_value >= np.sort(values)[-3]  # the best three of 300 in 30: 0.27 by chance
    assert np.mean(values[rows[14:]]) > np.mean(values) + values.std()


def test_beside_a_pool_other_parameters_are_random_and_its_parameter_may_be_renamed(messages):
    pool, values = pool_problem()
    study = study_of(quick(pool=pool, pool_parameter="row", n_startup_trials=2))
    study.optimize(
        lambda t: values[t.suggest_int("row", 0, 299)] + t.suggest_float("x", 0, 1), n_trials=4
    )
    assert [*study.sampler.infer_relative_search_space(study, None)] == ["row"]
    assert len(messages) == 2
    assert all("`x`" in m and "only about `row`" in m for m in messages)


def test_another_pool_or_range_is_refused():
    pool, _ = pool_problem()
    study = study_of(quick(pool=pool))
    with pytest.raises(ValueError, match="suggest_int\\('index', 0, 299\\)"):
        study.ask({"index": IntDistribution(0, 2)})
    other = {"index": IntDistribution(0, 49)}
    study = study_of(quick(pool=pool))
    study.add_trial(create_trial(value=1.0, params={"index": 3}, distributions=other))
    with pytest.raises(ValueError, match="use the same pool"):
        study.ask({"index": IntDistribution(0, 299)})

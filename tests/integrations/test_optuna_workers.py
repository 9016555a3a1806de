"""What trials tell, what workers see of each other, and batches."""

import json
import math
import threading

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import TrialState, create_trial
from sampling import POLICY, X, counting, finished, quick, ran, study_of

import thomax.integrations.optuna as sampler_module
from thomax import Policy, Pool, Search
from thomax.integrations._optuna_space import (
    PoolView,
    SpaceView,
)
from thomax.integrations._optuna_trials import (
    constraints_of,
    history_of,
    observed_values,
    pending_params,
    publish,
)

# What trials tell


def test_failed_pruned_and_infeasible_trials_tell_what_they_know():
    assert observed_values(finished(), 1) == [1]
    assert np.isnan(observed_values(finished(TrialState.FAIL, None), 1)).all()
    reports = {1: 5.0, 3: 2.0}
    pruned = finished(TrialState.PRUNED, None, intermediate_values=reports)
    assert observed_values(pruned, 1) == [2]
    assert np.isnan(observed_values(finished(TrialState.PRUNED, None), 1)).all()
    infeasible = finished(system_attrs={"constraints": [-1.0, 0.1]})
    assert observed_values(infeasible, 1) == [1]
    assert constraints_of(infeasible) == {"0": -1.0, "1": 0.1}
    assert observed_values(finished(value=math.inf), 1) == [math.inf]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_direction_turns_values_once(direction):
    sign = 1 if direction == "minimize" else -1
    study = ran(lambda t: sign * (t.suggest_float("x", -1, 1) - 0.4) ** 2, 14, direction)
    assert abs(study.best_params["x"] - 0.4) < 0.05


def test_a_region_that_fails_is_avoided():
    def objective(trial):
        x = trial.suggest_float("x", -1, 1)
        return 1 / 0 if x > 0 else x

    study = ran(objective, 24, "maximize")
    failures = [t.state == TrialState.FAIL for t in study.trials]
    assert sum(failures) > 0
    assert sum(failures[8:]) <= 6  # half of all points fail
    assert study.best_value > -0.3


@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="before Optuna 5")
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_an_infeasible_region_is_avoided_though_its_values_are_better():
    def objective(trial):
        x = trial.suggest_float("x", -1, 1)
        trial.set_constraint("x", x)
        return x

    study = ran(objective, 24, "maximize")
    infeasible = [t.params["x"] > 0 for t in study.trials]
    assert sum(infeasible[8:]) <= 6
    assert max(t.params["x"] for t in study.trials if t.params["x"] <= 0) > -0.3


def test_infinite_values_do_no_harm():
    values = iter([math.inf, -math.inf, 1.0, 2.0, math.inf, 0.5, 3.0, 1.0])
    study = ran(lambda t: 0 * t.suggest_float("x", -1, 1) + next(values), 8, n_startup_trials=1)
    assert not any("thomax:fallback" in t.system_attrs for t in study.trials)


def test_trials_without_parameters_tell_nothing():
    study = study_of(quick(n_startup_trials=0))
    study.add_trial(create_trial(value=1.0))
    study.add_trial(finished())
    data = history_of(study, study.trials, SpaceView.of({"x": X}), 9).data
    assert len(data) == 1


# Workers


def test_a_proposal_is_seen_before_its_parameters_are_asked_for():
    study = study_of(quick(n_startup_trials=1))
    study.add_trial(finished())
    first = study.ask()
    proposal = first.relative_params
    seen = history_of(study, study.trials, SpaceView.of({"x": X}), 99)
    np.testing.assert_allclose(seen.data.pending, [[proposal["x"]]], rtol=1e-6)
    assert seen.taken == [{"x": 0.5}, proposal]


def test_enqueued_points_are_pending_too():
    study = study_of(quick())
    study.add_trial(finished())
    study.enqueue_trial({"x": -0.75})
    history = history_of(study, study.trials, SpaceView.of({"x": X}), 99)
    assert history.data.pending.tolist() == [[-0.75]]


@pytest.mark.parametrize("length", [10, 2045, 2046, 5000, 4090])
def test_long_proposals_are_published_in_chunks_every_storage_takes(length):
    study = study_of(quick())
    id_ = study._storage.create_new_trial(study._study_id)
    publish(study, study._storage.get_trial(id_), {"y": "z" * 9000})
    params = {"x": "z" * (length - len(json.dumps({"x": ""})))}
    publish(study, study._storage.get_trial(id_), params)  # replaces the longer one
    trial = study._storage.get_trial(id_)
    assert all(len(chunk) <= 2045 for chunk in trial.system_attrs.values())
    assert pending_params(trial) == params


@pytest.mark.parametrize(
    "chunks", [['{"x": 0.'], ["z" * 2045], ["[1]"], ['{"x": "text"}'], [7], ['{"x": NaN}']]
)
def test_half_written_proposals_are_tolerated(chunks):
    study = study_of(quick(n_startup_trials=0))
    study.add_trial(finished())
    id_ = study._storage.create_new_trial(study._study_id)
    for i, chunk in enumerate(chunks):
        study._storage.set_trial_system_attr(id_, f"thomax:relative_params:{i}", chunk)
    assert -1 <= study.ask({"x": X}).params["x"] <= 1


def test_numbers_that_have_no_place_are_ignored():
    space = {"k": IntDistribution(0, 9)}
    view = SpaceView.of(space)
    assert view.point({"k": math.inf}) == {}
    pool = PoolView("index", Pool(np.eye(3)))
    points = [pool.point({"index": i}) for i in (2, 3, -1, 0.5, None)]
    assert points == [{"index": 2}, {}, {}, {}, {}]
    assert pool.point({}) == {}


GRID = {"a": IntDistribution(0, 4), "b": CategoricalDistribution(["p", "q"])}


def test_a_finite_space_is_proposed_without_repetition_and_then_again():
    study = study_of(quick(n_startup_trials=3))
    trials = [study.ask(GRID) for _ in range(2)]
    for trial in trials:
        study.tell(trial, trial.params["a"])
    for _ in range(3):
        study.ask(GRID)  # never told
    while len(study.trials) < 10:
        trial = study.ask(GRID)
        study.tell(trial, trial.params["a"])
    points = [tuple(t.params.values()) for t in study.trials]
    assert len({*points}) == 10
    assert 0 <= study.ask(GRID).params["a"] <= 4  # exhausted: repeats


def test_two_workers_that_find_the_same_point_do_not_both_take_it():
    """While this one fits its model, others take all points but one."""
    study = study_of(None)
    distribution = IntDistribution(0, 9)

    def intruded(key, data):
        if len(study.trials) == 2:
            for value in [0, 1, 2, 3, 4, 5, 6, 8, 9]:
                id_ = study._storage.create_new_trial(study._study_id)
                publish(study, study._storage.get_trial(id_), {"k": value})
        return POLICY(key, data)

    study.sampler = quick(policy=intruded, n_startup_trials=0)
    study.add_trial(create_trial(value=1.0, params={"k": 3}, distributions={"k": distribution}))
    assert study.ask({"k": distribution}).params == {"k": 7}


def test_a_worker_in_step_with_another_that_wants_the_same_gets_a_point_of_its_own(monkeypatch):
    """Whenever this one publishes, so does the other: the best point it knows to be free."""
    distribution = IntDistribution(0, 99)
    study = study_of(quick(n_startup_trials=0))
    study.add_trial(create_trial(value=1.0, params={"k": 0}, distributions={"k": distribution}))
    other = study._storage.get_trial(study._storage.create_new_trial(study._study_id))

    def ranked(policy, space, data, n, *, exclude, **_):
        return [{"k": k} for k in range(100) if {"k": k} not in exclude][:n]

    def in_step(study, trial, params):
        taken = {pending_params(t)["k"] for t in study.trials if pending_params(t)}
        publish(study, other, {"k": min({*range(100)} - taken)})
        publish(study, trial, params)

    monkeypatch.setattr(sampler_module, "suggest", ranked)
    monkeypatch.setattr(sampler_module, "publish", in_step)
    mine = study.ask({"k": distribution}).params
    assert mine != pending_params(study._storage.get_trial(other._trial_id))


def test_threads_share_a_sampler():
    study = study_of(quick())
    study.optimize(lambda t: sum(v == 1 for v in [t.suggest_int("a", 0, 99)]), 1)
    study.optimize(lambda t: float(t.suggest_int("a", 0, 99)), n_trials=15, n_jobs=3)
    values = [t.params["a"] for t in study.trials]
    assert len({*values}) == 16
    assert threading.active_count() < 10


# Batches


def asked(study, count):
    return [study.ask({"x": X}).params["x"] for _ in range(count)]


def test_a_batch_is_one_fit():
    policy, calls = counting()
    study = study_of(quick(policy=policy, batch=4, n_startup_trials=1))
    study.add_trial(finished())
    points = asked(study, 6)
    assert calls == [4, 4]
    assert len({*points}) == 6
    study.add_trial(finished(value=2.0))
    asked(study, 1)
    assert calls == [4, 4, 4]  # new data, new batch


def test_a_batch_proposes_what_one_by_one_would():
    """Thompson draws do not depend on pending points, only on the trial's number."""
    points, thorough = [], Search(restarts=40, restarts_per_draw=10)
    for batch in (1, 4):
        study = study_of(quick(batch=batch, n_startup_trials=1, search=thorough))
        study.add_trial(finished())
        points.append(asked(study, 4))
    np.testing.assert_allclose(points[0], points[1], atol=1e-3)


def test_a_policy_that_reads_pending_points_gets_them_one_by_one():
    seen = []

    class Reader(Policy):
        reads_pending = True

        def __call__(self, key, data):
            seen.append((len(key), len(data.pending)))
            return POLICY(key, data)

    study = study_of(quick(policy=Reader(), batch=4, n_startup_trials=1))
    study.add_trial(finished())
    asked(study, 3)
    assert seen == [(1, 0), (1, 1), (1, 2)]


def test_points_of_a_batch_that_others_have_taken_are_skipped():
    study = study_of(quick(batch=15, n_startup_trials=1))
    space = {"k": IntDistribution(0, 19)}
    study.add_trial(create_trial(value=1.0, params={"k": 0}, distributions=space))
    study.ask(space)
    _, ahead = study.sampler._ahead
    for point in ahead[:13]:
        id_ = study._storage.create_new_trial(study._study_id)
        publish(study, study._storage.get_trial(id_), point)
    assert study.ask(space).params == ahead[13]

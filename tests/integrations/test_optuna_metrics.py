"""Studies of several objectives, and constraints."""

import math

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.testing.pytest_samplers import MultiObjectiveSamplerTestCase
from optuna.trial import FrozenTrial, TrialState, create_trial
from sampling import POLICY, SEARCH, X, params_of, quick, study_of

from thomax import Float, Optimizer, Pool
from thomax.integrations._optuna_space import SpaceView
from thomax.integrations._optuna_trials import constraints_of, history_of, observed_values
from thomax.integrations.optuna import ThomaxSampler

AIMS = ["minimize", "maximize"]
NAMED = {"cost": "minimize", "yield": "maximize"}
KEEPS_CONSTRAINTS = hasattr(FrozenTrial, "constraints")  # from Optuna 5 on
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:.*constraints_func.*")


class TestMultiObjectiveContract(MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: ThomaxSampler(n_startup_trials=0, seed=0)


def both(params):
    """Return a cost that is least at -0.5 and a yield that is largest at 0.5."""
    return (params["x"] + 0.5) ** 2, -((params["x"] - 0.5) ** 2)


def excess(params):
    return params["x"] - 0.1


def two(trial):
    return both({"x": trial.suggest_float("x", -1, 1)})


def no_fallback(study):
    return not any("thomax:fallback" in t.system_attrs for t in study.trials)


def test_given_the_first_point_a_study_of_two_objectives_is_the_optimiser():
    study = study_of(quick(seed=5), directions=AIMS)
    for _ in range(12):
        trial = study.ask({"x": X})
        study.tell(trial, both(trial.params))
    optimizer = Optimizer({"x": Float(-1, 1)}, POLICY, objectives=NAMED, seed=5, search=SEARCH)
    optimizer.enqueue(study.trials[0].params)
    for _ in range(12):
        trial = optimizer.ask()
        optimizer.tell(trial, dict(zip(NAMED, both(trial.params), strict=True)))
    assert params_of(study) == [t.params for t in optimizer.trials]
    assert {t.number for t in study.best_trials} == {t.number for t in optimizer.front}


@pytest.mark.parametrize("count", [1, 2])
def test_given_the_first_point_a_study_with_a_constraint_is_the_optimiser_with_a_limit(count):
    directions, names = AIMS[:count], [*NAMED][:count]
    sampler = quick(seed=5, constraints_func=lambda t: [excess(t.params)])
    study = study_of(sampler, directions=directions)
    for _ in range(12):
        trial = study.ask({"x": X})
        study.tell(trial, both(trial.params)[:count])
    aims = {name: NAMED[name] for name in names}
    optimizer = Optimizer(
        {"x": Float(-1, 1)}, POLICY, objectives=aims, limits={"excess": "<= 0"}, seed=5,
        search=SEARCH,
    )  # fmt: skip
    optimizer.enqueue(study.trials[0].params)
    for _ in range(12):
        trial = optimizer.ask()
        values = {"excess": excess(trial.params)}
        values |= dict(zip(names, both(trial.params), strict=False))
        optimizer.tell(trial, values)
    assert params_of(study) == [t.params for t in optimizer.trials]
    assert no_fallback(study)


def test_the_front_of_two_objectives_is_found_from_end_to_end():
    study = study_of(quick(), directions=AIMS)
    study.optimize(two, n_trials=30)
    found = np.sort([t.params["x"] for t in study.best_trials])
    inside = (found >= -0.5) & (found <= 0.5)  # the front, exactly
    assert inside.mean() > 0.8
    assert np.diff([-0.5, *found[inside], 0.5]).max() < 0.3  # random gaps of 15 points: 0.37
    assert sum(-0.6 < t.params["x"] < 0.6 for t in study.trials[10:]) >= 15
    assert no_fallback(study)


def test_constraints_of_the_function_are_kept_with_the_trial():
    sampler = quick(constraints_func=lambda trial: (excess(trial.params), -1.0))
    study = study_of(sampler, directions=AIMS)
    study.optimize(two, n_trials=4)
    for trial in study.trials:
        assert [*constraints_of(trial).values()] == [excess(trial.params), -1.0]
        assert [*trial.system_attrs["constraints"]] == [excess(trial.params), -1.0]
    assert all(excess(t.params) <= 0 for t in study.best_trials)


def test_of_constraints_the_margin_teaches_and_not_only_whether_they_hold():
    """Nothing feasible has been seen: only the slope says where it is."""
    sampler = quick(n_startup_trials=4, constraints_func=lambda t: [t.params["x"] + 0.8])
    study = study_of(sampler, direction="maximize")
    for x in (0.0, 0.3, 0.6, 0.9):
        study.enqueue_trial({"x": x})
    study.optimize(lambda t: t.suggest_float("x", -1, 1), n_trials=14)
    found = np.array([t.params["x"] for t in study.trials[4:]])
    assert found[found <= -0.8].max() > -0.85
    assert np.abs(found[2:] + 0.8).max() < 0.25
    assert no_fallback(study)


def metric_trial(x, values, constraints=(), state=TrialState.COMPLETE, **options):
    options["system_attrs"] = {"constraints": [*constraints]} if constraints else {}
    return create_trial(
        params={"x": x}, distributions={"x": X}, values=values, state=state, **options
    )


def test_what_is_known_of_a_trial_is_learnt_and_the_rest_is_missing():
    study = study_of(quick(), directions=AIMS)
    study.add_trial(metric_trial(0.1, [1.0, 2.0], [0.5, -1.0]))
    study.add_trial(metric_trial(0.2, [3.0, 4.0]))
    study.add_trial(metric_trial(0.3, None, [0.25], TrialState.PRUNED))
    study.add_trial(metric_trial(0.4, None, [0.25], TrialState.FAIL))
    study.add_trial(metric_trial(0.5, None, state=TrialState.PRUNED))
    data = history_of(study, study.trials, SpaceView.of({"x": X}), number=9).data
    none = math.nan
    expected = [
        [-1.0, 2.0, -0.5, 1.0],
        [-3.0, 4.0, none, none],
        [none, none, -0.25, none],
        4 * [none],
        4 * [none],
    ]
    np.testing.assert_array_equal(data.y, expected)
    assert [len(each) for each in data.metrics] == [4, 4, 4, 3]  # failures tell every model
    assert data.front.tolist() == []  # the first breaks a constraint, the second has none


def test_infinite_values_and_constraints_are_as_extreme_as_the_others():
    study = study_of(quick(n_startup_trials=1), directions=AIMS)
    study.add_trial(metric_trial(0.1, [1.0, math.inf], [-math.inf]))
    study.add_trial(metric_trial(0.2, [math.inf, 4.0], [math.inf]))
    study.add_trial(metric_trial(0.3, [5.0, 2.0], [0.5]))
    data = history_of(study, study.trials, SpaceView.of({"x": X}), number=9).data
    assert data.y.tolist() == [[-1.0, 4.0, 0.5], [-5.0, 4.0, -0.5], [-5.0, 2.0, -0.5]]
    study.ask({"x": X})
    assert no_fallback(study)


@pytest.mark.parametrize("values", [[math.inf, 1.0], [-math.inf, -math.inf]])
def test_a_study_of_infinite_values_only_goes_on(values):
    study = study_of(quick(n_startup_trials=1), directions=AIMS)
    study.add_trial(metric_trial(0.1, values, [math.inf]))
    study.ask({"x": X})
    assert no_fallback(study)


def test_enqueued_and_fixed_values_hold_with_several_objectives():
    def objective(trial):
        x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)
        return (x - y) ** 2, (x + y) ** 2

    study = study_of(quick(n_startup_trials=6), directions=["minimize", "minimize"])
    study.optimize(objective, n_trials=8)
    study.enqueue_trial({"y": 0.25})
    study.optimize(objective, n_trials=1)
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.sampler = optuna.samplers.PartialFixedSampler({"x": -0.5}, study.sampler)
    study.optimize(objective, n_trials=2)
    assert study.trials[8].params["y"] == 0.25
    assert [t.params["x"] for t in study.trials[9:]] == [-0.5, -0.5]
    assert no_fallback(study)


def test_a_batch_of_trials_looks_for_different_trade_offs():
    study = study_of(quick(batch=4), directions=AIMS)
    study.optimize(two, n_trials=12)
    asked = [study.ask({"x": FloatDistribution(-1, 1)}).params["x"] for _ in range(4)]
    assert len(set(asked)) == 4
    assert np.ptp(asked) > 0.1


@pytest.mark.slow
def test_trials_that_fail_are_avoided_by_a_study_of_two_objectives():
    def objective(trial):
        x = trial.suggest_float("x", -1, 1)
        return (math.nan, 1.0) if x > 0 else (x, x**2)

    study = study_of(quick(), directions=["maximize", "maximize"])
    study.optimize(objective, n_trials=24)
    failures = [t.state == TrialState.FAIL for t in study.trials]
    assert sum(failures) > 0
    assert sum(failures[8:]) <= 6


def test_a_pool_is_searched_for_several_objectives():
    features = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    sampler = quick(pool=Pool(features), n_startup_trials=6, constraints_func=lambda t: [-1.0])
    study = study_of(sampler, directions=["minimize", "minimize"])

    def objective(trial):
        x, y = features[trial.suggest_int("index", 0, 59)]
        return (x - 0.5) ** 2 + y**2, (x + 0.5) ** 2 + y**2

    study.optimize(objective, n_trials=16)
    assert len({t.params["index"] for t in study.trials}) == 16
    late = np.mean([abs(features[t.params["index"], 1]) for t in study.trials[8:]])
    assert late < 0.35  # on average 0.5 at random
    assert no_fallback(study)


def test_workers_that_share_a_study_know_the_constraints_of_each_other(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    workers = [
        optuna.create_study(
            storage=storage, study_name="s", directions=AIMS, load_if_exists=True,
            sampler=quick(seed=seed, constraints_func=lambda t: (excess(t.params), math.inf)),
        )
        for seed in (0, 1)
    ]  # fmt: skip
    for _ in range(4):
        for worker in workers:
            worker.optimize(two, n_trials=1)
    view = SpaceView.of({"x": X})
    one, other = (history_of(w, w.get_trials(), view, number=99).data for w in workers)
    assert one.y.tolist() == other.y.tolist()
    assert one.y[:, 2].tolist() == [-excess(t.params) for t in workers[0].trials]
    assert one.y[:, 3].tolist() == 8 * [-1.0]
    assert no_fallback(workers[0])


def test_values_are_those_of_as_many_objectives():
    assert observed_values(metric_trial(0.1, [1.0, 2.0]), 2) == [1.0, 2.0]
    assert np.isnan(observed_values(metric_trial(0.1, None, state=TrialState.FAIL), 3)).all()

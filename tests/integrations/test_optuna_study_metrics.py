"""Studies of several metrics: objectives, limits and what was measured go to Optuna and back."""

import math

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial
from sampling import X, quick

from thomax import Float, Optimizer
from thomax.integrations._optuna_space import SpaceView
from thomax.integrations._optuna_trials import constraints_of, history_of
from thomax.integrations.optuna_studies import from_study, to_study

OPTUNA_5 = hasattr(FrozenTrial, "constraints")
AIMS = {"yield": "maximize", "cost": "minimize"}
LIMITS = {"impurity": "<= 0.02", "cost": "<= 5", "purity": ">= 0.9"}


@pytest.fixture(params=[None, "sqlite"])
def storage(request, tmp_path):
    return request.param and f"sqlite:///{tmp_path}/study.db"


def run(limits=LIMITS, path=None):
    """Return an optimiser with trials of which more or less is known."""
    search = Optimizer(
        {"x": Float(-1, 1)}, objectives=AIMS, limits=limits, seed=1, initial=50, journal=path
    )
    trials = search.ask(9)
    impurity = {"impurity": 0.03, "purity": 0.95} if limits else {}
    search.tell(trials[0], {"yield": 0.5, "cost": 3.1, **impurity}, note="stirrer slow")
    repeated = {"yield": [0.7, 0.74, 0.69], "cost": 6.25, **impurity}
    search.tell(trials[1], repeated, noise_std={"yield": 0.02})
    search.tell(trials[2], {"yield": 0.5})
    search.tell(trials[3], {"cost": 1.0} | ({"impurity": 0.001} if limits else {}))
    search.tell(trials[4], error="out of memory")
    search.drop(trials[5])
    search.tell(trials[6], {"yield": 9.0, "cost": 0.0, **impurity})
    search.retract(6)
    search.tell(trials[7], {"impurity": 0.01, "purity": 0.93} if limits else {"cost": 2.0})
    return search


def rows(search):
    return [
        (t.number, t.params, t.state, t.values, t.replicates, t.noise_std, t.error, t.note)
        for t in search.trials
    ]


@pytest.mark.parametrize("limits", [None, LIMITS])
def test_metrics_go_to_optuna_and_back_unchanged(storage, limits):
    search = run(limits)
    study = to_study(search, storage=storage, study_name="s")
    back = from_study(study)
    assert back.metrics == search.metrics
    assert [*back.metrics.objectives] == [*AIMS]
    expected = rows(search)
    taken_back = (*expected[6][:2], "retracted", {}, {}, {}, None, None)
    assert rows(back) == [*expected[:6], taken_back, *expected[7:]]
    assert [t.number for t in back.front] == [t.number for t in search.front]


def test_the_study_looks_as_optuna_would_have_made_it():
    study = to_study(run())
    assert [d.name for d in study.directions] == ["MAXIMIZE", "MINIMIZE"]
    assert study.metric_names == ["yield", "cost"]
    states = [t.state.name for t in study.trials]
    unfinished = ["PRUNED", "PRUNED", "FAIL", "FAIL", "FAIL", "PRUNED", "RUNNING"]
    assert states == ["COMPLETE", "COMPLETE", *unfinished]
    assert study.trials[1].values == [pytest.approx(0.71), 6.25]
    if OPTUNA_5:
        found = constraints_of(study.trials[1])
        expected = {"impurity": 0.01, "cost": 1.25, "purity": -0.05}
        assert found == pytest.approx(expected)
        assert constraints_of(study.trials[3]) == pytest.approx({"impurity": -0.019, "cost": -4})
    assert study.best_trials == []  # the first is not pure, the second costs too much as well


def test_a_feasible_front_is_optunas_too():
    search = Optimizer({"x": Float(0, 1)}, objectives=AIMS, limits={"impurity": "<= 0.02"}, seed=0)
    for x in (0.2, 0.4, 0.6, 0.8):
        search.tell({"x": x}, {"yield": x, "cost": x * x, "impurity": x / 32})
    study = to_study(search)
    assert {t.number for t in study.best_trials} == {t.number for t in search.front} == {0, 1, 2}


def test_a_journal_of_metrics_is_exported_and_continued(tmp_path):
    with run(path=tmp_path / "night.jsonl") as search:
        study = to_study(tmp_path / "night.jsonl")
        again = from_study(study, journal=tmp_path / "copy.jsonl")
        again.close()
        assert [t.values for t in again.trials[:6]] == [t.values for t in search.trials[:6]]
    assert Optimizer.open(tmp_path / "copy.jsonl").metrics == search.metrics


def test_exporting_again_adds_what_is_new_and_finishes_what_was_pending(storage):
    search = run()
    study = to_study(search, storage=storage, study_name="s")
    search.tell(8, {"yield": 0.4, "cost": 2.0, "impurity": 0.01, "purity": 0.99})
    search.tell(search.ask(), {"yield": 0.1})
    again = to_study(search, storage=storage, study_name="s") if storage else study
    if not storage:
        to_study(search, study)
    assert len(again.trials) == 10
    assert [t.number for t in again.best_trials] == [8]
    assert rows(from_study(again))[7:] == rows(search)[7:]
    assert len(to_study(search, again).trials) == 10


def test_a_search_of_other_metrics_is_not_mixed_in():
    study = to_study(run())
    with pytest.raises(ValueError, match="needs a study to minimize and maximize, got"):
        to_study(Optimizer({"x": Float(-1, 1)}, objectives=dict(reversed(AIMS.items()))), study)
    with pytest.raises(ValueError, match=r"same metrics \(maximize yield, minimize cost\)"):
        to_study(Optimizer({"x": Float(-1, 1)}, objectives=AIMS), study)
    with pytest.raises(ValueError, match="needs a study to maximize, got"):
        to_study(Optimizer({"x": Float(-1, 1)}), study)


def test_objectives_in_another_order_are_others():
    """Optuna's values have no names: those of one would be taken for those of the other."""
    one, other = ({name: "maximize" for name in names} for names in ("ab", "ba"))
    study = to_study(Optimizer({"x": Float(-1, 1)}, objectives=one))
    with pytest.raises(ValueError, match="has others \\(maximize a, maximize b\\)"):
        to_study(Optimizer({"x": Float(-1, 1)}, objectives=other), study)


# Studies that Optuna made


def test_objectives_without_names_are_counted():
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.add_trial(create_trial(params={"x": 0.5}, distributions={"x": X}, values=[1.0, 2.0]))
    search = from_study(study, seed=0)
    assert search.metrics.objectives == {"objective 0": "minimize", "objective 1": "maximize"}
    assert search.trials[0].values == {"objective 0": 1.0, "objective 1": 2.0}


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_names_of_metrics_are_those_of_the_study():
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.set_metric_names(["cost", "yield"])
    study.add_trial(create_trial(params={"x": 0.5}, distributions={"x": X}, values=[1.0, 2.0]))
    assert from_study(study, seed=0).front[0].values == {"cost": 1.0, "yield": 2.0}


def test_constraints_become_limits_that_are_learnt_and_go_back_without_doubles():
    sampler = quick(constraints_func=lambda t: [t.params["x"], -1.0])
    study = optuna.create_study(sampler=sampler, directions=["minimize", "minimize"])

    def objective(trial):
        x = trial.suggest_float("x", -1, 1)
        if x > 0.5:
            raise optuna.TrialPruned
        return x, x**2

    study.optimize(objective, n_trials=8)
    search = from_study(study, seed=0)
    assert [*search.metrics.limits] == ["constraint 0", "constraint 1"]
    for ours, theirs in zip(search.trials, study.trials, strict=True):
        assert ours.values["constraint 0"] == theirs.params["x"]
        assert (ours.values["objective 0"] is None) == (theirs.state == TrialState.PRUNED)
    assert {t.number for t in search.front} == {t.number for t in study.best_trials}
    values = {"objective 0": 0.1, "objective 1": 0.2, "constraint 0": -0.5, "constraint 1": 1.0}
    search.tell({"x": 0.25}, values)
    assert len(to_study(search, study).trials) == 9
    assert constraints_of(study.trials[8]) == {"0": -0.5, "1": 1.0}
    view = SpaceView.of({"x": X})
    data = history_of(study, study.trials, view, number=99).data
    assert data.y.shape == (9, 4)
    assert not math.isnan(data.y[:, 2:].sum())


@pytest.mark.skipif(not OPTUNA_5, reason="before, constraints had no names")
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_constraint_may_be_called_like_an_objective():
    study = optuna.create_study(directions=["minimize", "minimize"])
    study.set_metric_names(["cost", "time"])
    study.add_trial(
        create_trial(
            params={"x": 0.5}, distributions={"x": X}, values=[1.0, 2.0],
            constraints={"cost": -4.0, "size": 0.5},
        )
    )  # fmt: skip
    search = from_study(study, seed=0)
    assert search.trials[0].values == {
        "cost": 1.0, "time": 2.0, "constraint cost": -4.0, "size": 0.5,
    }  # fmt: skip
    assert len(to_study(search, study).trials) == 1


def test_a_trial_that_optuna_finished_in_an_exported_study_comes_back_in_units_of_the_limit():
    search = Optimizer({"x": Float(-1, 1)}, limits={"purity": ">= 0.9"}, seed=0)
    search.tell({"x": 0.5}, {"value": 1.0, "purity": 0.95})
    study = to_study(search)
    study.sampler = quick(constraints_func=lambda trial: [0.25])
    study.optimize(lambda trial: trial.suggest_float("x", -1, 1), n_trials=1)
    if OPTUNA_5:
        study.add_trial(
            create_trial(
                params={"x": 0.5}, distributions={"x": X}, value=1.0, constraints={"purity": 0.5}
            )
        )
    found = from_study(study, seed=0).trials
    assert [t.values["purity"] for t in found] == pytest.approx([0.95, 0.65, 0.4][: len(found)])
    assert [t.value for t in found[:2]] == [1.0, study.trials[1].value]


def test_a_trial_that_misses_an_objective_teaches_the_sampler_the_others():
    study = to_study(run(limits=None))
    data = history_of(study, study.trials, SpaceView.of({"x": X}), number=99).data
    assert data.y[2].tolist()[0] == 0.5
    assert math.isnan(data.y[2, 1])
    assert data.y[3].tolist()[1] == -1.0
    assert math.isnan(data.y[3, 0])

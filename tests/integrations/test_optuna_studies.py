import math

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from thomax import (
    Bool,
    Categorical,
    Float,
    Int,
    Optimizer,
    Ordinal,
    Pool,
    Space,
)
from thomax.integrations._optuna_space import SpaceView
from thomax.integrations._optuna_trials import history_of
from thomax.integrations.optuna_studies import from_study, to_study

SPACE = {
    "lr": Float(1e-5, 1, log=True),
    "drop": Float(0, 0.9, step=0.3),
    "layers": Int(1, 9, step=2),
    "units": Int(8, 512, log=True),
    "size": Ordinal(["small", "large"]),
    "bias": Bool(),
    "kind": Categorical(["adam", "sgd", None]),
    "momentum": Float(0, 1, when={"kind": "sgd"}),
}


@pytest.fixture(params=[None, "sqlite"])
def storage(request, tmp_path):
    return request.param and f"sqlite:///{tmp_path}/study.db"


def run(path=None, direction="minimize"):
    """Return an optimiser with trials in every state."""
    optimizer = Optimizer(SPACE, seed=1, initial=50, journal=path, direction=direction)
    trials = optimizer.ask(8)
    for trial in trials[:4]:
        optimizer.tell(trial, 0.1 * trial.number)
    optimizer.tell(trials[4], error="out of memory")
    optimizer.tell(trials[5], math.nan)
    optimizer.drop(trials[6])
    return optimizer


def rows(optimizer):
    return [(t.number, t.params, t.value, t.state, t.error) for t in optimizer.trials]


def test_labelled_choices_go_to_optuna_as_their_labels():
    """Row 20: a study holds no objects, so what comes back has labels for them."""
    layers = {"small": (64,), "large": [64, {"units": 64}]}
    optimizer = Optimizer({"layers": Categorical(layers), "x": Float(0, 1)}, seed=0)
    for trial in optimizer.ask(4):
        optimizer.tell(trial, trial.params["x"])
    study = to_study(optimizer)
    labels = [*optimizer.to_dataframe()["layers"]]
    assert [t.params["layers"] for t in study.trials] == labels
    back = from_study(study)
    assert [t.params["layers"] for t in back.trials] == labels
    assert back.space == optimizer.space


def test_a_run_goes_to_optuna_and_back_unchanged(storage):
    optimizer = run()
    study = to_study(optimizer, storage=storage, study_name="s")
    back = from_study(study)
    assert rows(back) == rows(optimizer)
    assert back.space == Space(SPACE)
    assert back.direction == "minimize"


def test_the_study_looks_as_optuna_would_have_made_it():
    study = to_study(run())
    states = [t.state.name for t in study.trials]
    assert states == ["COMPLETE"] * 4 + ["FAIL"] * 3 + ["RUNNING"]
    assert study.best_trial.number == 0
    assert study.direction.name == "MINIMIZE"
    kinds = {trial.params["kind"] for trial in study.trials}
    assert kinds == {"adam", "sgd", None}
    for trial in study.trials:
        assert ("momentum" in trial.params) == (trial.params["kind"] == "sgd")
    expected = {
        "lr": FloatDistribution(1e-5, 1, log=True),
        "drop": FloatDistribution(0, 0.9, step=0.3),
        "layers": IntDistribution(1, 9, step=2),
        "units": IntDistribution(8, 512, log=True),
        "size": CategoricalDistribution(["small", "large"]),
        "bias": CategoricalDistribution([False, True]),
        "kind": CategoricalDistribution(["adam", "sgd", None]),
    }
    found = study.trials[0].distributions
    assert {name: found[name] for name in expected} == expected


def test_a_journal_in_use_is_exported_under_its_name(tmp_path):
    with run(tmp_path / "night.jsonl") as optimizer:
        study = to_study(tmp_path / "night.jsonl")
        assert study.study_name == "night"
        assert rows(from_study(study)) == rows(optimizer)


def test_exporting_again_adds_what_is_new_and_finishes_what_was_pending(storage):
    optimizer = run()
    study = to_study(optimizer, storage=storage, study_name="s")
    optimizer.tell(7, -3.0)
    new = optimizer.ask(3)
    optimizer.tell(new[1], 5.0)
    again = to_study(optimizer, storage=storage, study_name="s") if storage else study
    if not storage:
        to_study(optimizer, study)
    assert len(again.trials) == 11
    assert again.best_trial.number == 7
    assert rows(from_study(again)) == rows(optimizer)
    optimizer.drop(new[0])
    optimizer.tell(new[2], error="late")
    to_study(optimizer, again)
    assert rows(from_study(to_study(optimizer, again))) == rows(optimizer)


def test_another_search_is_not_mixed_into_a_study():
    study = to_study(run())
    with pytest.raises(ValueError, match="study of the same space"):
        to_study(Optimizer({"x": Float(0, 1)}, direction="minimize"), study)
    with pytest.raises(ValueError, match="needs a study to maximize, got"):
        to_study(run(direction="maximize"), study)


@pytest.mark.parametrize("told", [0, 2])
def test_another_search_of_the_same_space_is_not_mixed_in_either(told):
    """Its values would belong to the points of the first, or be left out without a word."""
    searches = [Optimizer({"x": Float(0, 1)}, seed=seed) for seed in (0, 7)]
    for search, count in zip(searches, (told, 2), strict=True):
        for trial in search.ask(2)[:count]:
            search.tell(trial, float(trial.number))
    study = to_study(searches[0])
    before = study.trials
    with pytest.raises(ValueError, match=r"same search, but trial 0 .* give another study_name"):
        to_study(searches[1], study)
    assert study.trials == before
    again = Optimizer({"x": Float(0, 1)}, seed=0)
    again.tell(again.ask(), 5.0)  # the same point with another value
    if told:
        with pytest.raises(ValueError, match=r"with value 0\.0, got .* with value 5\.0"):
            to_study(again, study)


def test_optunas_own_trials_are_known_when_they_come_back():
    study = optuna.create_study(direction="maximize")

    def objective(trial):
        x, n = trial.suggest_float("x", -1, 1, step=0.1), trial.suggest_int("n", 1, 9)
        if n > 7:
            raise optuna.TrialPruned
        return -(x**2) - n

    study.optimize(objective, n_trials=8)
    search = from_study(study, seed=0)
    search.tell({"x": 0.3, "n": 2}, 1.0)
    search.ask()
    assert len(to_study(search, study).trials) == len(search.trials) == 10
    search.tell(9, 2.0)
    assert len(to_study(search, study).trials) == 10
    study.enqueue_trial({"x": 0.5, "n": 3})
    study.optimize(objective, n_trials=1)
    further = from_study(study, seed=1)
    assert len(to_study(further, study).trials) == len(further.trials) == 11
    assert study.trials[9].value == 2.0


def test_a_constraint_that_optuna_does_not_hold_has_to_be_given_again():
    space = Space({"x": Float(0, 1)}, constraint=lambda p: p["x"] > 0.5)
    search = Optimizer(space, seed=0)
    search.tell(search.ask(), 1.0)
    study = to_study(search)
    with pytest.raises(ValueError, match=r"pass space=Space\(\.\.\., constraint=\.\.\.\)"):
        from_study(study)
    assert all(t.params["x"] > 0.5 for t in from_study(study, space=space, seed=1).ask(6))


def test_choices_that_optuna_confuses_are_refused():
    with pytest.raises(ValueError, match=r"True is 1 .* for 'c'"):
        to_study(Optimizer({"c": Categorical([True, 1, "text"])}))


def test_a_pool_becomes_an_index_and_comes_back_with_its_candidates(tmp_path):
    pool = Pool(np.eye(6), names=list("abcdef"))
    with Optimizer(pool, seed=0, journal=tmp_path / "pool.jsonl") as optimizer:
        for trial in optimizer.ask(3):
            optimizer.tell(trial, trial.params["index"])
        optimizer.ask()
        study = to_study(tmp_path / "pool.jsonl")
        assert study.trials[0].distributions == {"index": IntDistribution(0, 5)}
        assert study.trials[0].user_attrs["name"] == optimizer.trials[0].params["name"]
        with pytest.raises(ValueError, match=r"pass space=Pool\(\.\.\.\)"):
            from_study(study)
        assert rows(from_study(study, space=pool)) == rows(optimizer)


# Studies that Optuna made


def objective(trial):
    x = trial.suggest_float("x", -5, 5)
    trial.suggest_float("one", 2, 2)
    if trial.suggest_categorical("c", ["p", "q"]) == "p":
        return x**2 + trial.suggest_int("k", 0, 10)
    return (x - 1) ** 2 + trial.suggest_float("z", 1e-4, 1, log=True)


def optunas(trials=12):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=trials)
    return study


def test_a_study_with_conditional_parameters_is_continued():
    study = optunas()
    optimizer = from_study(study, seed=0)
    assert [t.params for t in optimizer.trials] == [t.params for t in study.trials]
    assert [t.value for t in optimizer.trials] == [t.value for t in study.trials]
    assert optimizer.best.value == study.best_value
    assert optimizer.space.parameters["k"] == Int(0, 10, when={"c": "p"})
    assert optimizer.space.parameters["z"] == Float(1e-4, 1, log=True, when={"c": "q"})
    assert optimizer.ask().number == 12


def test_the_import_is_written_to_a_new_journal_only(tmp_path):
    path = tmp_path / "run.jsonl"
    study = optunas(4)
    with from_study(study, journal=path, seed=0) as optimizer:
        expected = rows(optimizer)
    with Optimizer(optimizer.space, direction="minimize", journal=path) as reopened:
        assert rows(reopened) == expected
    with pytest.raises(ValueError, match="needs a new journal, got one of 4 trials"):
        from_study(study, journal=path, seed=0)


def added(study, name, distribution, param, **options):
    options = {"value": 1.0} | options
    study.add_trial(
        create_trial(params={name: param}, distributions={name: distribution}, **options)
    )


def test_ranges_are_joined_so_that_every_value_fits():
    study = optuna.create_study()
    added(study, "x", FloatDistribution(0, 1, step=0.25), 0.5)
    added(study, "x", FloatDistribution(0, 2, step=0.25), 1.75)
    assert from_study(study).space == Space({"x": Float(0, 2, step=0.25)})
    added(study, "x", FloatDistribution(-1.1, 2, step=0.1), -0.9)
    assert from_study(study).space == Space({"x": Float(-1.1, 2)})
    study = optuna.create_study()
    added(study, "k", IntDistribution(1, 4, log=True), 2)
    added(study, "k", IntDistribution(2, 9, log=True), 8)
    assert from_study(study).space == Space({"k": Int(1, 9, log=True)})
    study = optuna.create_study()
    added(study, "k", IntDistribution(0, 4, step=2), 2)
    added(study, "k", IntDistribution(1, 9, step=4), 5)
    assert from_study(study).space == Space({"k": Int(0, 9)})


def test_every_state_of_optuna_has_a_meaning():
    study = optuna.create_study(direction="maximize")
    x = FloatDistribution(0, 1)
    added(study, "x", x, 0.1, state=TrialState.PRUNED, value=None, intermediate_values={2: 7.0})
    added(study, "x", x, 0.2, state=TrialState.PRUNED, value=None)
    added(study, "x", x, 0.3, value=9.0, system_attrs={"constraints": [1.0]})
    added(study, "x", x, 0.4, state=TrialState.FAIL, value=None)
    study.enqueue_trial({"x": 0.9})
    added(study, "x", x, 0.5, value=math.inf)
    added(study, "x", x, 0.6, state=TrialState.RUNNING, value=None)
    optimizer = from_study(study)
    assert [(t.params["x"], t.value, t.error) for t in optimizer.trials] == [
        (0.1, 7.0, None),
        (0.2, None, "Optuna's trial was PRUNED"),
        (0.3, 9.0, None),
        (0.4, None, "Optuna's trial was FAIL"),
        (0.5, None, "no metric has a value"),
        (0.6, None, None),
    ]
    assert optimizer.trials[2].values == {"value": 9.0, "constraint 0": 1.0}
    assert [t.params["x"] for t in optimizer.pending] == [0.6]
    assert optimizer.ask().params == {"x": 0.9}


def test_what_was_enqueued_and_never_asked_for_is_no_part_of_a_finished_trial():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.enqueue_trial({"x": 0.0, "old_name": 3})
    study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=3)
    optimizer = from_study(study)
    assert len(optimizer.trials) == 3
    assert (optimizer.best.params, optimizer.best.value) == ({"x": 0.0}, 0.0)


def test_a_trial_that_failed_before_it_had_asked_for_everything_is_completed():
    study = optunas(6)
    whole = {**study.trials[0].params, "x": 0.25}
    study.enqueue_trial(whole)

    def fails_early(trial):
        trial.suggest_float("x", -5, 5)
        raise ArithmeticError

    study.optimize(fails_early, n_trials=1, catch=ArithmeticError)
    failed = from_study(study).trials[-1]
    assert (failed.params, failed.state) == (whole, "failed")


def test_trials_that_do_not_fit_are_named():
    study = optunas(6)
    added(study, "x", FloatDistribution(-5, 5), 1.0)  # c is missing
    with pytest.warns(
        UserWarning, match=r"Trials \[6\] do not fit .* Parameter 'c' is missing"
    ) as caught:
        optimizer = from_study(study)
    assert caught[0].filename == __file__
    assert len(optimizer.trials) == 6


def test_what_cannot_be_imported_is_refused():
    study = optuna.create_study(directions=5 * ["minimize"])
    added(study, "x", FloatDistribution(0, 1), 0.5, value=None, values=5 * [1.0])
    with pytest.raises(ValueError, match="from_study needs one to 4 objectives, got 5"):
        from_study(study)
    with pytest.raises(ValueError, match="needs trials with parameters"):
        from_study(optuna.create_study())
    study = optuna.create_study()
    study._storage.create_new_trial(
        study._study_id, template_trial=_trial(FloatDistribution(0, 1))
    )
    study._storage.create_new_trial(study._study_id, template_trial=_trial(IntDistribution(0, 1)))
    with pytest.raises(ValueError, match="of one kind each, but 'x' was"):
        from_study(study)


def _trial(distribution):
    return create_trial(value=0.0, params={"x": 1}, distributions={"x": distribution})


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_choices_that_are_tuples_come_back_with_labels(storage):
    """Row 20: Optuna's users choose among shapes of networks so."""

    def objective(trial):
        layers = trial.suggest_categorical("layers", [(64,), (64, 64), None])
        if layers is None:
            return 0.0
        return len(layers) + trial.suggest_float("rate", 0, 1)

    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(storage=storage, direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=20)
    search = from_study(study, seed=0)
    assert [t.params for t in search.trials] == [t.params for t in study.trials]
    assert [t.value for t in search.trials] == [t.value for t in study.trials]
    layers = search.space.parameters["layers"]
    assert [*layers.choices.values()] == [*study.trials[0].distributions["layers"].choices]
    assert "None" not in search.space.parameters["rate"].when["layers"]
    assert search.ask().params["layers"] in [*layers.choices.values()]


def test_retracted_trials_and_notes_go_to_optuna_and_back(storage):
    ours = Optimizer({"x": Float(0, 1)}, seed=0)
    ours.tell({"x": 0.25}, 1.0, note="stirrer slow")
    ours.tell({"x": 0.5}, 9.0)
    ours.retract(1)
    study = to_study(ours, storage=storage, study_name="copy")
    assert [t.state for t in study.trials] == [TrialState.COMPLETE, TrialState.FAIL]
    assert study.best_value == 1.0
    if storage:
        assert len(to_study(ours, storage=storage, study_name="copy").trials) == 2
    back = from_study(study, seed=0)
    assert [(t.state, t.value, t.note) for t in back.trials] == [
        ("complete", 1.0, "stirrer slow"),
        ("retracted", None, None),
    ]


def test_nothing_is_learnt_from_a_retracted_trial_of_a_study():
    ours = Optimizer({"x": Float(0, 1)}, seed=0)
    ours.tell({"x": 0.25}, 1.0)
    ours.tell({"x": 0.5}, 9.0)
    ours.retract(1)
    study = to_study(ours)
    view = SpaceView.of({"x": FloatDistribution(0, 1)})
    history = history_of(study, study.trials, view, number=2)
    assert history.data.y.tolist() == [1.0]
    assert len(history.taken) == 1


def test_a_trial_corrected_since_it_was_copied_needs_another_study():
    ours = Optimizer({"x": Float(0, 1)}, seed=0)
    ours.tell({"x": 0.25}, 1.0)
    ours.tell({"x": 0.5}, error="broken")
    storage = optuna.storages.InMemoryStorage()
    to_study(ours, storage=storage, study_name="copy")
    for change in (lambda: ours.correct(0, 2.0), lambda: ours.retract(1)):
        change()
        with pytest.raises(ValueError, match="give another study_name, also if it was corrected"):
            to_study(ours, storage=storage, study_name="copy")
        ours.correct(0, 1.0)

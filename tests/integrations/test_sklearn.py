import copy
import math
import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from thomax import (
    MLP,
    Bool,
    Categorical,
    Float,
    Int,
    Optimizer,
    Pool,
    Random,
    Space,
    STOBNTSLinear,
)
from thomax.integrations.sklearn import ThomaxSearchCV

POLICY = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
X, Y = np.arange(20.0).reshape(-1, 1), np.arange(20) % 2
IRIS = load_iris(return_X_y=True)
# scikit-learn mentions NaN scores each time it sees them.
nan_scores = pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
failed_fits = pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")


def hill(x):
    return 1 - (x - 0.3) ** 2


class Hill(BaseEstimator):
    """Scores by a formula: NaN from `blind` on, no fit from `cliff` on."""

    def __init__(self, x=0.0, cliff=math.inf, blind=math.inf):
        self.x, self.cliff, self.blind = x, cliff, blind

    def fit(self, X, y=None):
        if self.x >= self.cliff:
            raise ArithmeticError("too far")
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y=None):
        return math.nan if self.x >= self.blind else hill(self.x)


class FoldReader(Hill):
    """Scores by the rows that it is tested on."""

    def score(self, X, y=None):
        return float(X.sum())


def hill_search(estimator=None, space=None, **options):
    settings = {"n_trials": 8, "batch": 2, "initial": 4, "policy": POLICY, "cv": 2}
    settings |= {"random_state": 0} | options
    space = {"x": Float(-1, 1)} if space is None else space
    return ThomaxSearchCV(Hill() if estimator is None else estimator, space, **settings)


def two_scores(estimator, X, y):
    return {"up": estimator.x, "down": -estimator.x}


# The search


def test_it_proposes_what_the_plain_optimiser_proposes():
    by_hand = Optimizer({"x": Float(-1, 1)}, POLICY, seed=0, initial=4)
    for _ in range(4):
        for trial in by_hand.ask(2):
            by_hand.tell(trial, hill(trial.params["x"]))
    search = hill_search().fit(X, Y)
    assert search.optimizer_.trials == by_hand.trials
    assert search.best_params_ == by_hand.best.params
    assert search.best_score_ == by_hand.best.value


def test_cv_results_list_all_trials_in_their_order():
    search = hill_search(n_trials=7, return_train_score=True).fit(X, Y)
    trials = search.optimizer_.trials
    assert search.cv_results_["params"] == [t.params for t in trials]
    assert [*search.cv_results_["mean_test_score"]] == [t.value for t in trials]
    assert [*search.cv_results_["param_x"]] == [t.params["x"] for t in trials]
    assert search.cv_results_["mean_train_score"].shape == (7,)
    assert search.best_index_ == search.cv_results_["rank_test_score"].argmin()


def test_a_real_model_is_tuned_over_a_mixed_conditional_space():
    space = {
        "logisticregression__C": Float(1e-3, 1e3, log=True),
        "logisticregression__solver": Categorical(["liblinear", "lbfgs"]),
        "logisticregression__dual": Bool(when={"logisticregression__solver": "liblinear"}),
        "logisticregression__max_iter": Int(3000, 4000),
        "standardscaler__with_mean": Bool(),
    }
    model = make_pipeline(StandardScaler(), LogisticRegression())
    two_kinds = IRIS[0][:100, :2], IRIS[1][:100]
    search = ThomaxSearchCV(model, space, n_trials=8, cv=3, random_state=1).fit(*two_kinds)
    assert search.best_score_ > 0.9
    assert search.score(*two_kinds) > 0.9
    dual = search.cv_results_["param_logisticregression__dual"]
    is_active = [
        t.params["logisticregression__solver"] == "liblinear" for t in search.optimizer_.trials
    ]
    assert [*~np.ma.getmaskarray(dual)] == is_active
    assert 0 < sum(is_active) < 8


def test_a_search_may_choose_among_estimators():
    """Row 20: the objects stand in cv_results_, their labels in the optimiser's table."""
    models = {"wide": Ridge(1e6), "narrow": LogisticRegression(max_iter=1000)}
    space = {
        "model": Categorical(models),
        "model__alpha": Float(1e3, 1e6, log=True, when={"model": "wide"}),
        "scale": Categorical({"yes": StandardScaler(), "no": "passthrough"}),
    }
    pipeline = Pipeline([("scale", "passthrough"), ("model", Ridge())])
    search = ThomaxSearchCV(pipeline, space, policy=Random(), n_trials=8, random_state=0)
    search.fit(*IRIS)
    assert isinstance(search.best_params_["model"], LogisticRegression)
    assert isinstance(search.best_estimator_["model"], LogisticRegression)
    labels = search.optimizer_.to_dataframe()["model"]
    kinds = [type(params["model"]) for params in search.cv_results_["params"]]
    assert kinds == [type(models[label]) for label in labels]
    assert {*labels} == {*models}
    assert not any(hasattr(model, "coef_") for model in models.values())


def test_parallel_fits_find_the_same():
    space = {"C": Float(0.01, 10, log=True)}
    model = LogisticRegression(max_iter=2000)
    options = {"n_trials": 6, "batch": 3, "policy": POLICY, "cv": 2, "random_state": 3}
    here = ThomaxSearchCV(model, space, **options).fit(*IRIS)
    there = ThomaxSearchCV(model, space, n_jobs=2, **options).fit(*IRIS)
    assert here.optimizer_.trials == there.optimizer_.trials


def test_a_finite_space_ends_the_search():
    search = hill_search(space={"x": Categorical([0.0, 0.5, 1.0])}, n_trials=10).fit(X, Y)
    assert sorted(search.cv_results_["param_x"]) == [0.0, 0.5, 1.0]


def test_a_constraint_holds_for_all_candidates():
    space = Space({"x": Float(-1, 1)}, constraint=lambda p: p["x"] < 0)
    assert max(hill_search(space=space).fit(X, Y).cv_results_["param_x"]) < 0


def test_all_batches_see_the_same_folds():
    search = hill_search(FoldReader(), cv=ShuffleSplit(3, random_state=None)).fit(X, Y)
    for fold in range(3):
        assert len(set(search.cv_results_[f"split{fold}_test_score"])) == 1
    groups = np.arange(20) // 5
    assert hill_search(FoldReader(), cv=GroupKFold(2)).fit(X, Y, groups=groups).n_splits_ == 2


@pytest.mark.parametrize(
    "make", [lambda: 7, lambda: np.random.RandomState(7), lambda: np.int64(7)]
)
def test_a_random_state_repeats_the_search(make):
    first, second = (hill_search(random_state=make()).fit(X, Y) for _ in range(2))
    assert first.cv_results_["params"] == second.cv_results_["params"]


def test_without_a_random_state_searches_differ():
    first, second = (hill_search(random_state=None).fit(X, Y) for _ in range(2))
    assert first.cv_results_["params"] != second.cv_results_["params"]


# Failures


@nan_scores
@failed_fits
@pytest.mark.parametrize("batch", [1, 2, 3, 8])
@pytest.mark.parametrize("scoring", [None, two_scores])
def test_failed_fits_count_as_failed_and_stand_in_cv_results(batch, scoring):
    """Also where all fits of a batch fail, for which scikit-learn itself raises."""
    refit = True if scoring is None else "up"
    search = hill_search(Hill(cliff=0.0), batch=batch, scoring=scoring, refit=refit).fit(X, Y)
    params = [t.params for t in search.optimizer_.trials]
    assert len(params) == 8
    assert search.cv_results_["params"] == params
    far = [p["x"] >= 0 for p in params]
    assert 0 < sum(far) < 8
    column = "mean_test_score" if scoring is None else "mean_test_up"
    assert [*np.isnan(search.cv_results_[column])] == far
    assert [t.state == "failed" for t in search.optimizer_.trials] == far
    assert {len(values) for values in search.cv_results_.values()} == {8}
    assert [*search.cv_results_["param_x"]] == [p["x"] for p in params]
    assert search.best_params_["x"] < 0
    assert search.cv_results_["rank_test_score" if scoring is None else "rank_test_up"].max() > 1


@nan_scores
def test_the_search_says_which_batches_failed_and_why():
    with pytest.warns(FitFailedWarning) as caught:
        search = hill_search(Hill(cliff=0.1), batch=1, random_state=far_start()).fit(X, Y)
    assert caught[0].filename == __file__
    assert "All fits of candidates 0 to 0 failed" in str(caught[0].message)
    assert "ArithmeticError: too far" in str(caught[0].message)
    assert "ArithmeticError: too far" in search.optimizer_.trials[0].error


def far_start():
    """Return a seed whose first point lies beyond 0.1."""
    starts = [Optimizer({"x": Float(-1, 1)}, seed=seed).ask().params["x"] for seed in range(20)]
    return next(seed for seed, x in enumerate(starts) if x > 0.1)


@nan_scores
@failed_fits
def test_a_failure_in_the_last_batch_stands_in_cv_results_too():
    search = hill_search(Hill(cliff=0.0), batch=1, n_trials=far_end(), random_state=0).fit(X, Y)
    assert search.optimizer_.trials[-1].state == "failed"
    assert search.cv_results_["params"][-1] == search.optimizer_.trials[-1].params
    assert np.isnan(search.cv_results_["mean_test_score"][-1])
    assert np.isnan(search.cv_results_["mean_fit_time"][-1])


def far_end():
    """Return how many trials it takes until one beyond 0 follows one that is not."""
    far = [t.params["x"] >= 0 for t in Optimizer({"x": Float(-1, 1)}, seed=0, initial=4).ask(4)]
    return next(i + 1 for i in range(1, 4) if far[i] and not all(far[:i]))


@failed_fits
def test_a_finite_error_score_is_told_as_a_value():
    search = hill_search(Hill(cliff=0.0), batch=1, error_score=-9.0).fit(X, Y)
    values = [t.value for t in search.optimizer_.trials]
    assert values == [*search.cv_results_["mean_test_score"]]
    assert -9.0 in values


@failed_fits
def test_if_everything_fails_the_reason_is_raised():
    with pytest.raises(ValueError, match=r"(?s)All the 4 fits failed.*ArithmeticError: too far"):
        hill_search(Hill(cliff=-2)).fit(X, Y)


def test_error_score_raise_raises_the_estimators_own_error():
    with pytest.raises(ArithmeticError, match="too far"):
        hill_search(Hill(cliff=-2), error_score="raise").fit(X, Y)


@nan_scores
def test_nan_scores_count_as_failed():
    search = hill_search(Hill(blind=0.0)).fit(X, Y)
    far = [t.params["x"] >= 0 for t in search.optimizer_.trials]
    assert [t.state == "failed" for t in search.optimizer_.trials] == far
    assert any(far)


def test_an_error_of_another_kind_is_not_swallowed():
    with pytest.raises(ValueError, match="Invalid parameter 'y'"):
        hill_search(space={"y": Float(0, 1)}).fit(X, Y)


# Several scores


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"refit": "up"}, "up"),
        ({"refit": "down"}, "down"),
        ({"refit": "down", "metric": "up"}, "up"),
        ({"refit": False, "metric": "down"}, "down"),
        ({"refit": lambda results: 0, "metric": "up"}, "up"),
    ],
)
def test_the_named_score_is_maximised(options, wanted):
    search = hill_search(scoring=two_scores, **options).fit(X, Y)
    scores = search.cv_results_[f"mean_test_{wanted}"]
    assert [t.value for t in search.optimizer_.trials] == [*scores]


def test_a_list_of_scorers_needs_a_name_before_anything_is_fitted():
    scoring = ["accuracy", "f1"]
    with pytest.raises(ValueError, match=r"metric= to be one of the scores \['accuracy', 'f1'\]"):
        hill_search(Hill(cliff=-2), scoring=scoring, refit=False).fit(X, Y)
    search = hill_search(scoring=scoring, refit=False, metric="f1").fit(X, Y)
    assert [t.value for t in search.optimizer_.trials] == [*search.cv_results_["mean_test_f1"]]


def test_a_single_score_needs_no_name():
    assert hill_search(scoring="accuracy", refit="accuracy").fit(X, Y).best_score_ == 0.5
    assert hill_search(metric="score").fit(X, Y).best_score_ > 0.9
    named = hill_search(scoring="accuracy", metric="accuracy").fit(X, Y)
    assert named.best_score_ == 0.5
    for scoring in ("accuracy", None):
        refused = hill_search(scoring=scoring, metric="loss")
        with pytest.raises(ValueError, match=r"one of the scores \['score'\], got metric='loss'"):
            refused.fit(None, None)  # before anything is fitted


# The estimator contract

CLASSIFIER = ThomaxSearchCV(
    LogisticRegression(),
    {"C": Float(0.01, 10, log=True)},
    n_trials=2,
    initial=2,
    cv=2,
    random_state=0,
)
REGRESSOR = clone(CLASSIFIER).set_params(
    estimator=Ridge(), space={"alpha": Float(0.01, 10, log=True)}
)


def expected_failures(search):
    if isinstance(search.estimator, Ridge):
        return {"check_supervised_y_2d": "a search does not pass on that Ridge has many outputs"}
    return {}


@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings, as they do with GridSearchCV
@parametrize_with_checks([CLASSIFIER, REGRESSOR], expected_failed_checks=expected_failures)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)  # raises what it finds wrong


def test_clones_and_parameters_are_what_was_given():
    space, rng = {"x": Float(-1, 1)}, np.random.RandomState(0)
    search = hill_search(space=space, random_state=rng)
    assert search.space is space
    assert search.random_state is rng
    assert clone(search).get_params().keys() == search.get_params().keys()
    assert clone(search).space == space
    assert "estimator__cliff" in search.get_params()
    assert search.set_params(batch=3, estimator__x=0.5).estimator.x == 0.5
    assert not hasattr(clone(search.fit(X, Y)), "optimizer_")


@nan_scores
@failed_fits
def test_a_fitted_search_survives_pickle_and_copy():
    search = hill_search(Hill(cliff=0.5), random_state=None).fit(X, Y)
    twins = [pickle.loads(pickle.dumps(search)), copy.deepcopy(search)]
    trials, proposed = search.optimizer_.trials, search.optimizer_.ask(2)
    for twin in twins:
        assert twin.best_params_ == search.best_params_
        assert twin.optimizer_.trials == trials
        assert twin.optimizer_.ask(2) == proposed


def test_a_search_can_be_fitted_again():
    search = hill_search().fit(X, Y)
    before = search.cv_results_["params"]
    assert search.fit(X, Y).cv_results_["params"] == before


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_trials": 0}, ValueError, "n_trials to be a whole number >= 1, got 0"),
        ({"n_trials": True}, ValueError, "n_trials to be a whole number >= 1, got True"),
        ({"batch": 1.5}, ValueError, "batch to be a whole number >= 1, got 1.5"),
        ({"space": [1, 2]}, TypeError, "A space is a Space, a Pool or a dictionary"),
        ({"space": Pool(np.eye(3))}, TypeError, "a dictionary of parameters or a Space"),
        ({"policy": STOBNTSLinear}, TypeError, "pass an instance"),
        ({"random_state": "x"}, ValueError, "cannot be used to seed"),
    ],
)
def test_wrong_arguments_are_named_when_fitted(options, error, message):
    search = hill_search().set_params(**options)
    with pytest.raises(error, match=message):
        search.fit(X, Y)


def test_an_empty_space_is_named():
    nowhere = Space({"x": Categorical([1.0, 2.0])}, constraint=lambda p: False)
    with pytest.raises(ValueError, match="constraint"):
        hill_search(space=nowhere, initial=0).fit(X, Y)


def test_a_misspelt_argument_is_explained_and_clones_still_know_theirs():
    """Row 20: scikit-learn reads the arguments of a search from its signature."""
    with pytest.raises(TypeError, match=r"ThomaxSearchCV has no .* 'n_trails': .* 'n_trials'\?"):
        ThomaxSearchCV(Ridge(), {"alpha": Float(0, 1)}, n_trails=3)
    search = ThomaxSearchCV(Ridge(), {"alpha": Float(0, 1)}, n_trials=3)
    assert clone(search).n_trials == 3
    assert {"estimator", "space", "n_trials", "cv"} <= search.get_params(deep=False).keys()


# Several objectives


def rising_and_falling(estimator, X, y):
    if estimator.x > 0.9:
        return {"up": math.nan, "down": -(estimator.x**2), "level": 0.0}
    return {"up": estimator.x, "down": -(estimator.x**2), "level": 0.0}


@nan_scores
def test_several_scores_are_traded_off_as_the_plain_optimiser_does():
    aims = {"up": "maximize", "down": "maximize"}
    by_hand = Optimizer({"x": Float(-1, 1)}, POLICY, seed=0, initial=4, objectives=aims)
    for _ in range(4):
        for trial in by_hand.ask(2):
            x = trial.params["x"]
            by_hand.tell(trial, {"up": math.nan if x > 0.9 else x, "down": -(x**2)})
    options = {"scoring": rising_and_falling, "objectives": ["up", "down"]}
    search = hill_search(refit="down", **options).fit(X, Y)
    assert search.optimizer_.trials == by_hand.trials
    assert search.optimizer_.front == by_hand.front
    assert search.best_index_ == search.cv_results_["rank_test_down"].argmin()
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]


def test_cv_results_have_columns_of_every_score_beside_the_trials():
    search = hill_search(
        scoring=two_scores, objectives=["down", "up"], refit=lambda results: 3
    ).fit(X, Y)
    for name in ("up", "down"):
        assert {f"{kind}_test_{name}" for kind in ("mean", "std", "rank", "split1")} <= {
            *search.cv_results_
        }
        told = [t.values[name] for t in search.optimizer_.trials]
        assert [*search.cv_results_[f"mean_test_{name}"]] == told
    assert search.best_index_ == 3
    assert isinstance(clone(search).objectives, list)


@failed_fits
@nan_scores
@pytest.mark.parametrize("error_score", [-5.0, math.nan])
def test_a_batch_that_cannot_be_fitted_has_no_score_of_any_objective(error_score):
    names = ["r2", "neg_max_error"]
    search = hill_search(
        Hill(cliff=-0.9), scoring=names, objectives=names, refit=False, n_trials=2,
        error_score=error_score,
    )  # fmt: skip
    search.space = {"x": Categorical([0.0, 0.5])}
    with pytest.raises(ValueError, match="All the 4 fits failed"):
        search.fit(X, Y)
    space = {"x": Categorical([-1.0, 0.5])}
    found = search.set_params(space=space, batch=1).fit(X, Y).optimizer_.trials
    bad = next(t for t in found if t.params["x"] == 0.5)
    if math.isnan(error_score):
        assert (bad.state, bad.values) == ("failed", {})
    else:
        assert bad.values == {"r2": -5.0, "neg_max_error": -5.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": ["up", "f1"]}, r"among the scores \['up', 'down', 'level'\], got 'f1'"),
        ({"objectives": "up"}, "a list of scores, and no metric=, got objectives='up'"),
        ({"objectives": ["up"], "metric": "up"}, "for one score use metric"),
        ({"objectives": []}, "needs one to 4 objectives, got 0"),
    ],
)
def test_objectives_that_are_no_scores_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        hill_search(scoring=rising_and_falling, refit="up", **options).fit(X, Y)


# Limits


def test_a_limited_score_steers_the_search_as_it_does_the_plain_optimiser():
    by_hand = Optimizer({"x": Float(-1, 1)}, POLICY, seed=0, initial=4, limits={"down": ">= -0.2"})
    for _ in range(4):
        for trial in by_hand.ask(2):
            x = trial.params["x"]
            by_hand.tell(trial, {"value": x, "down": -x})
    search = hill_search(scoring=two_scores, refit="up", limits={"down": ">= -0.2"}).fit(X, Y)
    assert search.optimizer_.trials == by_hand.trials
    assert search.best_index_ == by_hand.best.number
    assert search.best_params_["x"] == search.best_score_ <= 0.2
    assert max(search.cv_results_["mean_test_up"]) > 0.2  # the best score does not keep it


def test_the_seconds_of_fits_and_predictions_may_be_limited():
    search = hill_search(limits={"score_time": "<= 1e9", "fit_time": ">= 0"}).fit(X, Y)
    for name in ("score_time", "fit_time"):
        told = [t.values[name] for t in search.optimizer_.trials]
        assert told == [*search.cv_results_[f"mean_{name}"]]
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_candidates_that_miss_all_limits_leave_the_closest_one_with_a_warning():
    search = hill_search(scoring=two_scores, refit="up", limits={"down": ">= 5"})
    with pytest.warns(UserWarning, match="No candidate keeps all limits") as caught:
        search.fit(X, Y)
    assert [w.filename for w in caught] == [__file__]
    assert search.best_params_["x"] == min(p["x"] for p in search.cv_results_["params"])


def test_a_function_chooses_among_all_candidates_whatever_the_limits():
    options = {"metric": "up", "refit": lambda _: 3, "limits": {"down": ">= 5"}}
    search = hill_search(scoring=two_scores, **options)
    assert search.fit(X, Y).best_index_ == 3


def test_objectives_and_limits_go_together():
    search = hill_search(
        scoring=two_scores, objectives=["up", "down"], refit="up", limits={"up": "<= 0.5"}
    ).fit(X, Y)
    assert search.optimizer_.front
    assert all(t.values["up"] <= 0.5 for t in search.optimizer_.front)
    assert search.best_score_ == max(u for u in search.cv_results_["mean_test_up"] if u <= 0.5)
    assert clone(search).limits == {"up": "<= 0.5"}


@failed_fits
@nan_scores
@pytest.mark.parametrize("error_score", [-5.0, math.nan])
def test_a_candidate_that_cannot_be_fitted_has_no_seconds(error_score):
    search = hill_search(
        Hill(cliff=0.4), {"x": Categorical([-1.0, 0.5, 0.0])}, n_trials=3, batch=1,
        limits={"score_time": "<= 1e9"}, error_score=error_score,
    ).fit(X, Y)  # fmt: skip
    bad = next(t for t in search.optimizer_.trials if t.params["x"] == 0.5)
    expected = {} if math.isnan(error_score) else {"value": -5.0, "score_time": None}
    assert bad.values == expected
    assert search.best_params_ == {"x": 0.0}


@failed_fits
@nan_scores
def test_what_a_failed_fit_took_is_not_told():
    """Its seconds are those of an error: a model would learn that failing is fast."""
    search = hill_search(
        Hill(cliff=0.4), {"x": Categorical([-1.0, 0.5])}, n_trials=2, limits={"fit_time": "<= 1e9"}
    ).fit(X, Y)
    bad = next(t for t in search.optimizer_.trials if t.params["x"] == 0.5)
    assert (bad.state, bad.values) == ("failed", {})


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"f1": ">= 0.5"}, r"name scores, fit_time or score_time, got 'f1' with the scores"),
        ({"down": "0.5"}, 'A limit needs "<=" or ">=" and a number'),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(limits, message):
    with pytest.raises(ValueError, match=message):
        hill_search(scoring=two_scores, refit="up", limits=limits).fit(X, Y)


def test_names_of_limits_are_checked_before_anything_is_fitted():
    scoring = {"a": "accuracy", "b": "recall"}
    search = hill_search(
        scoring=scoring, refit="a", limits={"c": ">= 0"}, estimator=Hill(cliff=-2)
    )
    with pytest.raises(ValueError, match="got 'c'"):
        search.fit(X, Y)

import copy
import json
import logging
import math
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState, create_trial

from thomax import MLP, Categorical, Float, Int, Optimizer, Pool, Search, STOBNTSLinear
from thomax.integrations._optuna_space import (
    PoolView,
    SpaceView,
    inferred_conditions,
    parameter_of,
)
from thomax.integrations._optuna_trials import history_of, observed_value, pending_params, publish
from thomax.integrations.optuna import ThomaxSampler

POLICY = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
SEARCH = Search(candidates=200, restarts=3, restarts_per_draw=2)


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture
def messages():
    """Collect what the sampler says through Optuna's logging."""
    handler, found = logging.Handler(), []
    handler.emit = lambda record: found.append(record.getMessage())
    logger = logging.getLogger("optuna.thomax")
    logger.addHandler(handler)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield found
    logger.removeHandler(handler)


def quick(**options):
    return ThomaxSampler(**{"policy": POLICY, "search": SEARCH, "seed": 0} | options)


def study_of(sampler, **options):
    return optuna.create_study(sampler=sampler, **options)


def ran(objective, n=12, direction="minimize", storage=None, **options):
    study = study_of(quick(**options), direction=direction, storage=storage)
    study.optimize(objective, n_trials=n, catch=(ZeroDivisionError,))
    return study


def bowl(trial):
    return (trial.suggest_float("x", -1, 1) - 0.3) ** 2 + (trial.suggest_int("k", 0, 9) - 4) ** 2


def params_of(study):
    return [t.params for t in study.trials]


# Optuna's own contract


class TestBasicContract(BasicSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: quick(n_startup_trials=0)


class TestRelativeContract(RelativeSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: ThomaxSampler(n_startup_trials=0, seed=0)


class TestOneObjectiveContract(SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: ThomaxSampler(n_startup_trials=0)


# Seeds


@pytest.mark.parametrize("objective", [bowl, lambda trial: 0 * bowl(trial)])
def test_the_same_seed_gives_the_same_trials(objective):
    assert params_of(ran(objective)) == params_of(ran(objective))


def test_another_seed_gives_other_trials():
    first, second = params_of(ran(bowl, seed=0)), params_of(ran(bowl, seed=1))
    assert all(a != b for a, b in zip(first, second, strict=True))


def test_reseeding_changes_the_seed_and_what_follows():
    first, second = quick(), quick()
    second.reseed_rng()
    assert first.seed != second.seed
    first, second = study_of(first), study_of(second)
    assert first.ask(DISTRIBUTIONS).params != second.ask(DISTRIBUTIONS).params


SCRIPT = """
import optuna, thomax
from thomax.integrations.optuna import ThomaxSampler
optuna.logging.set_verbosity(optuna.logging.ERROR)
def objective(trial):
    kind = trial.suggest_categorical("kind", ["p", "q", "r"])
    if kind == "p":
        return trial.suggest_float("x", 0, 1)
    return trial.suggest_float("y", 1e-3, 1, log=True) + trial.suggest_int("z", 0, 5)
policy = thomax.STOBNTSLinear(thomax.MLP(1, 32, "erf"), noise_std=0.1)
study = optuna.create_study(sampler=ThomaxSampler(policy=policy, seed=3))
study.optimize(objective, n_trials=12)
print([t.params for t in study.trials])
"""


def test_another_process_makes_the_same_trials_whatever_its_hash_seed():
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("kind") == 12


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copied_sampler_goes_on_like_its_original(copied):
    study = ran(bowl, 8, batch=2)
    sampler = study.sampler
    twin = copied(sampler)
    trials = study.get_trials(deepcopy=False)
    space = sampler.infer_relative_search_space(study, trials[0])
    draws = []
    for one in (sampler, twin):
        other = study_of(one)
        other.add_trials(trials)
        trial = optuna.trial.Trial(other, other._storage.create_new_trial(other._study_id))
        draws.append(one.sample_relative(other, trial._cached_frozen_trial, space))
    assert draws[0] == draws[1]
    assert twin.seed == sampler.seed


def test_the_state_is_in_the_storage():
    """A new sampler on the same study proposes what the old one would have proposed."""
    unbroken = ran(bowl, 12)
    broken = ran(bowl, 7)
    broken.sampler = quick()
    broken.optimize(bowl, n_trials=5)
    assert params_of(broken) == params_of(unbroken)


# The same as the plain optimiser

DISTRIBUTIONS = {"x": FloatDistribution(-1, 1), "y": FloatDistribution(1e-3, 1, log=True)}
SMOOTH = ({"x": Float(-1, 1), "y": Float(1e-3, 1, log=True)}, DISTRIBUTIONS)
MIXED = (
    {"a": Categorical(["p", "q", "r"]), "b": Int(0, 9), "c": Float(0, 1, step=0.1)},
    {
        "a": CategoricalDistribution(["p", "q", "r"]),
        "b": IntDistribution(0, 9),
        "c": FloatDistribution(0, 1, step=0.1),
    },
)


def smooth(params):
    return -((params["x"] - 0.3) ** 2) - (math.log10(params["y"]) + 1.7) ** 2


def mixed(params):
    bonus = {"p": 0.0, "q": 1.0, "r": 0.5}[params["a"]]
    return bonus - 0.1 * (params["b"] - 6) ** 2 - (params["c"] - 0.7) ** 2


PROBLEMS = [(SMOOTH, smooth), (MIXED, mixed)]


def optimised(space, objective, seed, trials, enqueued=()):
    optimizer = Optimizer(space, POLICY, seed=seed, search=SEARCH)
    for params in enqueued:
        optimizer.enqueue(params)
    for _ in range(trials):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.params))
    return optimizer


def sampled(distributions, objective, seed, trials):
    study = study_of(quick(seed=seed), direction="maximize")
    for _ in range(trials):
        trial = study.ask(distributions)
        study.tell(trial, objective(trial.params))
    return study


@pytest.mark.parametrize(("spaces", "objective"), PROBLEMS)
def test_given_the_first_point_the_sampler_is_the_optimiser(spaces, objective):
    """Only the first trial differs: there Optuna has not yet said which parameters there are."""
    study = sampled(spaces[1], objective, 5, 14)
    optimizer = optimised(spaces[0], objective, 5, 14, [study.trials[0].params])
    assert params_of(study) == [t.params for t in optimizer.trials]


@pytest.mark.parametrize(("spaces", "objective"), PROBLEMS)
def test_the_regret_is_that_of_the_optimiser(spaces, objective):
    seeds = range(6)
    ours = np.array([sampled(spaces[1], objective, s, 14).best_value for s in seeds])
    plain = np.array([optimised(spaces[0], objective, s, 14).best.value for s in seeds])
    rng = np.random.default_rng(0)
    space = Optimizer(spaces[0]).space
    values = [objective(p) for p in space.decode(space.sample(rng, 14 * 200))]
    at_random = np.reshape(values, (200, 14)).max(axis=1)
    error = math.sqrt((ours.var() + plain.var()) / len(seeds))
    assert abs(ours.mean() - plain.mean()) <= 4 * error + 1e-12
    assert ours.mean() > at_random.mean() + 4 * at_random.std() / math.sqrt(len(at_random))


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


def test_a_conditional_space_is_optimised():
    values = [ran(conditional, 25, seed=s, policy=None).best_value for s in range(3)]
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


# What trials tell


def finished(state=TrialState.COMPLETE, value=1.0, **options):
    return create_trial(
        state=state, value=value, params={"x": 0.5}, distributions={"x": X}, **options
    )


X = FloatDistribution(-1, 1)


def test_failed_pruned_and_infeasible_trials_tell_what_they_know():
    assert observed_value(finished()) == 1
    assert math.isnan(observed_value(finished(TrialState.FAIL, None)))
    reports = {1: 5.0, 3: 2.0}
    pruned = finished(TrialState.PRUNED, None, intermediate_values=reports)
    assert observed_value(pruned) == 2
    assert math.isnan(observed_value(finished(TrialState.PRUNED, None)))
    assert math.isnan(observed_value(finished(system_attrs={"constraints": [-1.0, 0.1]})))
    assert observed_value(finished(system_attrs={"constraints": [-1.0, 0.0]})) == 1
    assert observed_value(finished(value=math.inf)) == math.inf


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
    running = [study.ask(GRID) for _ in range(3)]  # never told
    while len(study.trials) < 10:
        trial = study.ask(GRID)
        study.tell(trial, trial.params["a"])
    points = [tuple(t.params.values()) for t in study.trials]
    assert len({*points}) == 10
    assert all(t.number in (2, 3, 4) for t in running)
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


def test_threads_share_a_sampler():
    study = study_of(quick())
    study.optimize(lambda t: sum(v == 1 for v in [t.suggest_int("a", 0, 99)]), 1)
    study.optimize(lambda t: float(t.suggest_int("a", 0, 99)), n_trials=15, n_jobs=3)
    values = [t.params["a"] for t in study.trials]
    assert len({*values}) == 16
    assert threading.active_count() < 10


# Batches


def counting():
    calls = []

    def policy(key, data):
        calls.append(len(key))
        return POLICY(key, data)

    return policy, calls


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
    points = []
    for batch in (1, 4):
        study = study_of(quick(batch=batch, n_startup_trials=1))
        study.add_trial(finished())
        points.append(asked(study, 4))
    np.testing.assert_allclose(points[0], points[1], atol=1e-3)


def test_a_policy_that_reads_pending_points_gets_them_one_by_one():
    seen = []

    class Reader:
        sequential = True

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


# Failing models, wrong arguments


def test_a_failing_model_falls_back_and_leaves_a_note():
    def broken(key, data):
        raise FloatingPointError("no luck")

    study = study_of(quick(policy=broken, n_startup_trials=1))
    study.add_trial(finished())
    with pytest.warns(UserWarning, match=r"model failed \(FloatingPointError: no luck\)"):
        study.ask({"x": X})
    trial = study.trials[-1]
    assert trial.system_attrs["thomax:fallback"] == "FloatingPointError: no luck"
    assert -1 <= trial.params["x"] <= 1


def test_the_start_is_quasi_random_and_of_the_wanted_length():
    policy, calls = counting()
    study = study_of(quick(policy=policy, n_startup_trials=8))
    for _ in range(10):
        trial = study.ask({"x": X})
        study.tell(trial, trial.params["x"])
    assert len(calls) == 2
    start = np.sort([t.params["x"] for t in study.trials[1:8]])
    assert np.diff(start).max() < 0.75  # evenly spread over [-1, 1]
    policy, calls = counting()
    study = study_of(quick(policy=policy))  # one parameter: a design of five
    for _ in range(6):
        study.tell(study.ask({"x": X}), 1.0)
    assert len(calls) == 1


def test_the_first_trial_draws_its_parameters_independently():
    trial = study_of(quick()).ask({"x": X, "y": X})
    assert trial.params["x"] != trial.params["y"]


def test_a_late_parameter_is_announced_once_the_model_works(messages):
    for warn in (True, False):
        study = study_of(quick(n_startup_trials=2, warn_independent_sampling=warn))
        for i in range(4):
            study.tell(study.ask({"x": X} | ({"late": X} if i == 3 else {})), 1.0)
    assert len(messages) == 1
    assert "the parameter `late` at random" in messages[0]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"policy": STOBNTSLinear}, TypeError, "pass an instance"),
        ({"policy": 3}, TypeError, "needs a policy"),
        ({"pool": [[1.0]]}, TypeError, r"use Pool\(\.\.\.\)"),
        ({"search": 100}, TypeError, "needs search to be a Search"),
        ({"n_startup_trials": -1}, ValueError, "n_startup_trials to be a whole number >= 0"),
        ({"batch": 0}, ValueError, "batch to be a whole number >= 1, got 0"),
        ({"seed": 0.5}, ValueError, "seed to be a whole number, got 0.5"),
    ],
)
def test_wrong_arguments_are_refused_at_once(options, kind, message):
    with pytest.raises(kind, match=message):
        ThomaxSampler(**options)


def test_every_distribution_has_a_parameter_of_as_many_values():
    assert parameter_of(IntDistribution(3, 9, step=2)).scale.count == 4
    assert parameter_of(FloatDistribution(0, 1, step=0.1)).scale.count == 11
    assert parameter_of(CategoricalDistribution("abc")).scale.count == 3
    assert parameter_of(FloatDistribution(1e-3, 1, log=True)) == Float(1e-3, 1, log=True)


def test_without_optuna_the_command_to_install_it_is_named():
    script = (
        "import sys; sys.modules['optuna'] = None\n"
        "import thomax\n"
        "for name in ('optuna', 'optuna_studies'):\n"
        "    try:\n"
        "        __import__(f'thomax.integrations.{name}')\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout.splitlines() == [
        "thomax.integrations.optuna needs Optuna: pip install 'thomax[optuna]'",
        "thomax.integrations.optuna_studies needs Optuna: pip install 'thomax[optuna]'",
    ]

"""Optuna's contract of samplers, seeds, and agreement with the plain optimiser."""

import copy
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
)
from sampling import POLICY, SEARCH, X, bowl, counting, finished, params_of, quick, ran, study_of

from thomax import Categorical, Float, Int, Optimizer, STOBNTSLinear
from thomax.integrations._optuna_space import (
    parameter_of,
)
from thomax.integrations.optuna import ThomaxSampler

# Optuna's own contract


class TestBasicContract(BasicSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: quick(n_startup_trials=0)


class TestRelativeContract(RelativeSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: ThomaxSampler(n_startup_trials=0, seed=0)


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


@pytest.mark.slow
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


# Failing models, wrong arguments


def test_a_failing_model_falls_back_and_leaves_a_note():
    def broken(key, data):
        raise FloatingPointError("no luck")

    study = study_of(quick(policy=broken, n_startup_trials=1))
    study.add_trial(finished())
    with pytest.warns(
        UserWarning, match=r"model failed \(FloatingPointError: no luck\)"
    ) as caught:
        study.ask({"x": X})
    assert caught[0].filename == __file__
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
    sampler = quick(n_startup_trials=33)
    study = study_of(sampler)
    for _ in range(33):
        study.tell(study.ask({"x": X}), 1.0)
        sampler.reseed_rng()  # as before each trial of a thread
    last = [t.params["x"] for t in study.trials[17:]]
    assert len({int(8 * (x + 1)) for x in last}) > 13  # of 16 equal parts; random ones hit ten
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
        ({"constraints_func": [0.5]}, TypeError, r"to be a function of a trial, got \[0.5\]"),
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


def test_a_misspelt_argument_is_explained():
    """Row 20: of the sampler."""
    with pytest.raises(TypeError, match=r"ThomaxSampler has no .* 'sede': did you mean 'seed'\?"):
        ThomaxSampler(sede=0)


def ridge(trial):
    """Be best where x equals y: what is best for one depends on the other."""
    x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)
    return (x - y) ** 2


def on_ridge(**options):
    study = study_of(quick(n_startup_trials=6, **options))
    points = [(x, y) for x in (-0.8, -0.3, 0.3, 0.8) for y in (-0.8, -0.3, 0.3, 0.8)]
    for x, y in points:
        study.enqueue_trial({"x": x, "y": y})
    study.optimize(ridge, n_trials=len(points))
    return study


def test_the_model_chooses_the_others_for_the_parameters_that_were_enqueued():
    study = on_ridge()
    for y in (-0.6, 0.0, 0.7):
        study.enqueue_trial({"y": y})
    study.optimize(ridge, n_trials=3)
    found = [t.params for t in study.trials[-3:]]
    assert [p["y"] for p in found] == [-0.6, 0.0, 0.7]
    assert all(abs(p["x"] - p["y"]) < 0.35 for p in found), found


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_model_chooses_the_others_for_what_a_partial_fixed_sampler_fixes():
    for y in (-0.7, 0.6):
        study = on_ridge()
        inner = optuna.samplers.PartialFixedSampler({"y": y}, study.sampler)
        study.sampler = optuna.samplers.PartialFixedSampler({"z": 1}, inner)
        study.optimize(ridge, n_trials=3)
        found = [t.params for t in study.trials[-3:]]
        assert [p["y"] for p in found] == [y] * 3
        assert all(abs(p["x"] - y) < 0.35 for p in found), found
        assert not any("thomax:fallback" in t.system_attrs for t in study.trials)


def test_fixed_values_that_the_space_has_no_place_for_do_not_disturb_the_model():
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["plain", "deep"])
        depth = trial.suggest_int("depth", 1, 5) if kind == "deep" else 0
        return depth + trial.suggest_float("x", -1, 1) ** 2

    study = study_of(quick(n_startup_trials=4))
    study.optimize(objective, n_trials=8)
    study.enqueue_trial({"kind": "plain", "depth": 3})
    study.enqueue_trial({"x": 9.0})
    study.optimize(objective, n_trials=1)
    with pytest.warns(UserWarning, match="out of range"):  # Optuna's own
        study.optimize(objective, n_trials=1)
    assert study.trials[8].params.keys() == {"kind", "x"}
    assert not any("thomax:fallback" in t.system_attrs for t in study.trials)


def test_an_enqueued_point_of_a_finite_space_may_have_been_evaluated_before():
    def objective(trial):
        return trial.suggest_int("k", 0, 3)

    study = study_of(quick(n_startup_trials=1))
    study.optimize(objective, n_trials=3)
    study.enqueue_trial({"k": study.trials[0].params["k"]})
    study.optimize(objective, n_trials=1)
    assert study.trials[3].params == study.trials[0].params
    assert not any("thomax:fallback" in t.system_attrs for t in study.trials)

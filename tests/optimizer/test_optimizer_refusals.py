import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from searches import optimizer, told

from thomax import (
    MLP,
    Float,
    Int,
    Optimizer,
    Search,
    Space,
    STOBNTSLinear,
    Trial,
)


@pytest.mark.parametrize(
    "value",
    [
        "1.5", b"1", True, np.bool_(True), 1j, np.complex64(1), ["1.5"], [], np.ones((1, 1)),
        np.array("1.5"), {"loss": 1}, 10**400, np.datetime64("2020-01-01"),
    ],
    ids=lambda value: f"{type(value).__name__} {value!r}"[:20],
)  # fmt: skip
def test_a_value_that_is_no_number_is_refused_and_nothing_is_lost(path, value):
    with told(2, journal=path) as search:
        trial = search.ask()
        with pytest.raises(ValueError, match=r"tell needs a number as value, got .*: pass a"):
            search.tell(trial, value)
        assert search.pending == [trial]
        assert search.tell(trial, 1.0).value == 1.0
        expected = search.trials
    assert optimizer(journal=path).trials == expected


@pytest.mark.parametrize(
    "value",
    [1, 1.0, np.float32(1), np.int8(1), np.array(1.0), jnp.array(1.0), Decimal(1), Fraction(1)],
    ids=repr,
)
def test_numbers_of_all_kinds_are_values(path, value):
    with optimizer(journal=path) as search:
        done = search.tell(search.ask(), value)
    assert type(done.value) is float
    assert optimizer(journal=path).best.value == 1.0


@pytest.mark.parametrize(
    "trial", [1, 7, -1, None, "0", True, Trial(3, {}), np.array([0, 1]), 0.5, [0]], ids=repr
)
def test_a_trial_that_is_not_pending_is_refused(trial):
    search = optimizer()
    search.ask(2)
    search.tell(1, 2.0)
    with pytest.raises(ValueError, match=r"is not pending \(pending: \[0\]\). Tell each trial"):
        search.tell(trial, 1.0)
    with pytest.raises(ValueError, match="is not pending"):
        search.drop(trial)
    assert [t.value for t in search.trials] == [None, 2.0]


def test_a_trial_of_another_optimizer_is_noticed():
    """A notebook's cell that was run again has made another optimizer."""
    mine, other = optimizer().ask(), optimizer(seed=1)
    asked = other.ask()
    with pytest.warns(UserWarning, match=r"Trial 0 was asked for with .* the optimizer that they"):
        told = other.tell(mine, 1.0)
    assert told.params == asked.params != mine.params


def test_a_masked_value_is_none():
    search = optimizer()
    trial = search.tell(search.ask(), np.ma.array([1.0], mask=[True]).mean())
    assert (trial.state, trial.error) == ("failed", "no value")


def test_telling_one_of_many_pending_trials_looks_at_that_one(monkeypatch):
    search = optimizer(initial=30)
    trials, looked = search.ask(30), []
    monkeypatch.setattr(type(search._history), "listed", lambda *_: looked.append(1) or [])
    for trial in trials:
        search.tell(trial, 1.0)
    assert looked == []


def test_a_long_list_of_pending_trials_is_shortened():
    search = optimizer(initial=30)
    search.ask(30)
    with pytest.raises(ValueError, match=r"8, 9, '...'\]\)"):
        search.tell(99, 1.0)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"x": 2, "y": 0}, "Parameter 'x' needs a number from -1.0 to 1.0, got 2"),
        ({"x": 0}, "Parameter 'y' is missing"),
        ({"x": 0, "y": 0, "z": 0}, "Unknown parameter 'z'"),
        ({"x": math.nan, "y": 0}, "Parameter 'x' needs"),
    ],
)
def test_params_outside_the_space_are_refused(path, params, problem):
    with optimizer(journal=path) as search:
        for change in (lambda: search.tell(params, 1.0), lambda: search.enqueue(params)):
            with pytest.raises(ValueError, match=problem):
                change()
        assert search.trials == []
        assert search.ask().params != params
    assert len(optimizer(journal=path).trials) == 1


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True])
def test_asking_for_no_trials_is_refused(n):
    with pytest.raises(ValueError, match=f"ask needs a whole number n >= 1, got {n!r}"):
        optimizer().ask(n)


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"direction": "up"}, ValueError, 'direction "maximize" or "minimize", got \'up\''),
        ({"initial": -1}, ValueError, "initial to be a whole number"),
        ({"initial": "random"}, ValueError, "initial to be a whole number"),
        ({"seed": 1.5}, ValueError, "seed to be a whole number, got 1.5"),
        ({"seed": "a"}, ValueError, "seed to be a whole number, got 'a'"),
        ({"allow_repeats": "no"}, ValueError, "allow_repeats to be True or False, got 'no'"),
        ({"policy": STOBNTSLinear}, TypeError, "pass an instance"),
        ({"policy": "ts"}, TypeError, "Optimizer needs a policy such as STOBNTSLinear"),
        ({"space": [1, 2]}, TypeError, "A space is a Space, a Pool or a dictionary"),
        ({"space": {}}, ValueError, "at least one parameter"),
        ({"space": {"x": (0, 1)}}, TypeError, "needs a parameter for 'x'"),
    ],
)
def test_bad_settings_are_refused_before_a_journal_is_made(path, options, error, problem):
    with pytest.raises(error, match=problem):
        optimizer(**{"journal": path} | options)
    assert not path.exists()


def test_wrong_bounds_are_refused():
    with pytest.raises(ValueError, match="Float needs low < high, got low=1, high=0"):
        optimizer({"x": Float(1, 0)})


@pytest.mark.parametrize("initial", [3, 0, "uncertainty"])
@pytest.mark.parametrize("parameter", [Float(0, 1), Int(0, 10**6)])
def test_a_constraint_that_nothing_satisfies_is_reported(initial, parameter):
    search = optimizer(Space({"x": parameter}, constraint=lambda p: False), initial=initial)
    with pytest.raises(ValueError, match="The constraint refused"):
        search.ask()
    assert search.trials == []


@pytest.mark.parametrize("search", [{"candidates": 500}, 100, Search])
def test_a_search_of_another_kind_is_refused_before_anything_is_evaluated(search):
    with pytest.raises(TypeError, match="Optimizer needs search to be a Search, got"):
        Optimizer({"x": Float(-1, 1)}, search=search)


@pytest.mark.parametrize("value", [2.0, 0, np.float64(1)])
def test_a_value_and_an_error_are_one_too_many(value):
    search = Optimizer({"x": Float(-1, 1)}, seed=0)
    trial = search.ask()
    with pytest.raises(ValueError, match="tell needs a value or an error, got both"):
        search.tell(trial, value, error="too late")
    assert search.pending == [trial]
    assert search.tell(trial, math.nan, error="too late").error == "too late"


@pytest.mark.parametrize("beta", [0.0, -1.0, math.nan, math.inf])
def test_a_beta_that_becomes_unusable_is_not_taken_for_an_exhausted_space(beta):
    policy = STOBNTSLinear(MLP(width=32), beta=lambda n: 1.0 if n < 5 else beta)
    search = Optimizer({"x": Int(0, 50)}, policy, seed=0, initial=4)
    with pytest.raises(ValueError, match=r"STOBNTSLinear needs beta > 0, got .* for 5 observ"):
        search.run(lambda p: float(p["x"]), 12, progress=False)
    assert len(search.trials) == 5


@pytest.mark.parametrize("space", [{"x": Int(0, 50)}, {"x": Float(0, 50)}])
def test_a_score_that_is_nowhere_a_number_is_not_taken_for_an_exhausted_space(space):
    def unfinished(keys, data):
        draws = STOBNTSLinear(MLP(width=32))(keys, data)
        return replace(draws, theta=np.full_like(draws.theta, np.nan))

    search = Optimizer(space, unfinished, seed=0, initial=0)
    with pytest.raises(ValueError, match="score needs to be a number somewhere"):
        search.ask(2)

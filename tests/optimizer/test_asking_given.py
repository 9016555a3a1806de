"""`ask(given=...)` fixes coordinates in the search, not in the model."""

import numpy as np
import pandas as pd
import pytest
from searches import GRID, POLICY, SEARCH, SQUARE, hill, optimizer, params_of, told

from thomax import (
    Categorical,
    Float,
    Int,
    Optimizer,
    Pool,
    Random,
    Space,
    UncertaintySampling,
)
from thomax.storage.journal import Journal

MIXED = {
    "kind": Categorical(["a", "b", "c"]),
    "x": Float(-1, 1),
    "n": Int(0, 20),
    "rate": Float(0, 1, when={"kind": ["a", "b"]}),
}


def value(params):
    return -((params.get("x", 0) - 0.3) ** 2) - 0.01 * params.get("n", 0) + params.get("rate", 0)


@pytest.mark.parametrize(
    ("space", "given"),
    [
        (SQUARE, {"y": 0.25}),
        (MIXED, {"kind": "b"}),
        (MIXED, {"rate": 0.5, "n": 7}),
        (Space(MIXED, constraint=lambda p: p["x"] < 0.5), {"x": 0.25}),
        ({"a": Categorical(range(40)), "b": Int(0, 99), "c": Int(0, 9)}, {"b": 3}),
    ],
    ids=["continuous", "mixed", "conditional", "constrained", "finite"],
)
@pytest.mark.parametrize("initial", [3, UncertaintySampling(3)], ids=["sobol", "uncertainty"])
def test_every_proposal_has_what_is_given(space, given, initial):
    search = optimizer(space, initial=initial)
    for _ in range(3):
        trials = search.ask(2, given=given)
        assert len(trials) == 2
        assert [t.given for t in trials] == [given] * 2
        for trial in trials:
            assert search.space.validate(trial.params) == trial.params
            assert {name: trial.params[name] for name in given} == given
            search.tell(trial, value(trial.params))
    assert search.ask().given == {}


def test_the_model_learns_from_all_trials_and_not_only_from_those_that_fit():
    def search(elsewhere):
        found = optimizer(initial=0)
        for x, y in ((-0.8, 0.5), (0.1, 0.5), (0.9, 0.5)):
            found.tell({"x": x, "y": y}, hill({"x": x, "y": y}))
        for x in np.linspace(-1, 1, 9) if elsewhere else []:
            found.tell({"x": x, "y": 0.4}, hill({"x": x, "y": 0.4}))
        return found.ask(8, given={"y": 0.5})

    on_slice, on_all = ([t.params["x"] for t in search(way)] for way in (False, True))
    assert on_slice != on_all
    assert np.std(on_all) < np.std(on_slice)  # values nearby tell where the best is
    assert abs(np.median(on_all) - 0.3) < 0.2


def test_a_finite_slice_is_proposed_once_and_then_no_more():
    search = optimizer(GRID, initial=2)
    found = search.ask(15, given={"a": "q"})
    assert sorted(t.params["b"] for t in found) == [*range(10)]
    assert search.ask(1, given={"a": "q"}) == []
    with pytest.raises(ValueError, match=r"Where given=\{'a': 'q'\} holds, the space is exhaus"):
        search.ask(given={"a": "q"})
    assert len(search.ask(2)) == 2


def test_a_single_point_may_be_repeated_only_where_that_is_allowed():
    once = optimizer(GRID, initial=1)
    assert params_of(once.ask(3, given={"a": "p", "b": 4})) == [{"a": "p", "b": 4}]
    again = told(2, value, space=GRID, allow_repeats=True, initial=1)
    assert params_of(again.ask(3, given={"a": "p", "b": 4})) == [{"a": "p", "b": 4}] * 3


@pytest.mark.parametrize("policy", [Random(), POLICY], ids=["random", "model"])
def test_a_pool_is_filtered_by_its_columns(policy):
    table = pd.DataFrame({"metal": ["Pd", "Ni"] * 10, "load": np.linspace(0, 1, 20)})
    search = Optimizer(Pool(table), policy, seed=0, initial=2, search=SEARCH)
    for trial in search.ask(3, given={"metal": "Ni"}):
        search.tell(trial, trial.params["load"])
    found = search.ask(9, given={"metal": "Ni"})
    assert {t.params["metal"] for t in found} == {"Ni"}
    assert len({t.params["index"] for t in found}) == len(found) == 7  # the last of ten


def test_enqueued_points_that_do_not_fit_stay_in_the_queue(path):
    with optimizer(GRID, Random(), journal=path) as search:
        for point in ({"a": "p", "b": 1}, {"a": "q", "b": 2}, {"a": "p", "b": 3}):
            search.enqueue(point)
        assert search.ask(given={"a": "q"}).params == {"a": "q", "b": 2}
        assert search.ask(given={"a": "q"}).params["b"] != 2
    with optimizer(GRID, Random(), journal=path) as search:
        assert params_of(search.ask(2)) == [{"a": "p", "b": 1}, {"a": "p", "b": 3}]


def test_a_resumed_search_proposes_what_the_unbroken_one_does(tmp_path):
    def steps(search, rounds):
        for given in rounds:
            trial = search.ask(given=given)
            search.tell(trial, value(trial.params))

    rounds = [{"kind": "b"}, None, {"x": 0.5}, {"rate": 0.1}, None, {"kind": "c"}, {"n": 3}]
    unbroken = optimizer(MIXED, initial=2)
    steps(unbroken, rounds)
    for i in range(len(rounds)):
        with optimizer(MIXED, initial=2, journal=tmp_path / "run.jsonl") as search:
            steps(search, rounds[i : i + 1])
    with optimizer(MIXED, initial=2, journal=tmp_path / "run.jsonl") as search:
        assert search.trials == unbroken.trials
        assert [t.given for t in search.trials] == [given or {} for given in rounds]


def test_the_record_has_what_is_given_and_nothing_where_nothing_is(path):
    with optimizer(GRID, Random(), journal=path) as search:
        search.ask(given={"a": "q"})
        search.ask()
    first, second = Journal.read(path).records
    assert first["given"] == {"a": "q"}
    assert [*second] == ["ask", "params"]


def test_a_given_object_is_kept_by_its_label(path):
    space = {"net": Categorical({"small": [8], "large": [64, 64]}), "x": Float(0, 1)}
    with optimizer(space, Random(), journal=path) as search:
        trial = search.ask(given={"net": [64, 64]})
    assert trial.params["net"] == trial.given["net"] == [64, 64]
    assert Journal.read(path).records[0]["given"] == {"net": "large"}


def test_a_mistake_changes_nothing(path):
    with optimizer(journal=path) as search:
        for given in ({"z": 1}, {"x": 7}, 3):
            with pytest.raises((ValueError, TypeError), match="given"):
                search.ask(2, given=given)
        assert search.trials == []
    assert Journal.read(path).records == []


def test_a_constraint_that_leaves_no_point_is_named_with_what_is_given():
    space = Space(GRID, constraint=lambda p: p["a"] != "r")
    search = told(5, value, space=space, initial=2)
    with pytest.raises(ValueError, match=r"Where given=\{'a': 'r'\} holds: The constraint"):
        search.ask(2, given={"a": "r"})
    assert len(search.trials) == 5


def test_a_narrower_space_than_the_journals_is_told_of_given(path):
    optimizer(journal=path).close()
    narrower = Space(SQUARE, constraint=lambda p: p["x"] > 0)
    with pytest.raises(ValueError, match=r"points of a part of it only, ask\(given="):
        optimizer(narrower, journal=path)

"""Records add up to trials, and an optimiser is its records: copies go on alike."""

import copy
import pickle

import pytest

from thomax import Correction, Float, Optimizer
from thomax.storage.journal import Journal
from thomax.storage.replay import History


def test_records_change_trials_and_the_queue():
    history = History([
        {"enqueue": {"x": 1}}, {"enqueue": {"x": 2}},
        {"ask": 0, "params": {"x": 1}}, {"tell": 0, "value": 2.0},
        {"ask": 1, "params": {"x": 5}}, {"tell": 1, "value": None, "error": "no luck"},
        {"add": 2, "params": {"x": 3}, "value": 4.0}, {"ask": 3, "params": {"x": 6}}, {"drop": 3},
        {"ask": 4, "params": {"x": 7}},
    ])  # fmt: skip
    states = [trial.state for trial in history.trials.values()]
    assert states == ["complete", "failed", "complete", "dropped", "pending"]
    assert [t.value for t in history.trials.values()] == [2.0, None, 4.0, None, None]
    assert history.trials[1].error == "no luck"
    assert history.queue == [{"x": 2}]  # only what was asked first left it


def test_several_records_of_one_line_are_applied_in_their_order():
    """Row 5: a line of the journal is there as a whole or not at all."""
    several = [{"tell": 0, "value": 1.0}, {"add": 1, "params": {"x": 5}, "value": None}]
    history = History([{"ask": 0, "params": {"x": 1}}, {"all": several}])
    assert [t.state for t in history.trials.values()] == ["complete", "failed"]


def test_a_trial_may_be_told_with_the_point_that_was_run():
    """Row 4: with another one than was asked for."""
    run = {"tell": 0, "params": {"x": 2}, "value": 1.0}
    trial = History([{"ask": 0, "params": {"x": 1}}, run]).trials[0]
    assert (trial.params, trial.value) == ({"x": 2}, 1.0)


def test_corrections_and_retractions_change_a_trial_from_their_record_on():
    told = [{"ask": 0, "params": {"x": 1}}, {"tell": 0, "value": 1.0, "note": "slow"}]
    later = [
        {"correct": 0, "value": None, "error": "leak", "why": "found later"},
        {"retract": 0},
        {"all": [{"correct": 0, "value": 3.0}, {"add": 1, "params": {"x": 2}, "value": 4.0}]},
    ]
    states = [History(told + later[:n]).trials[0] for n in range(4)]
    assert [t.state for t in states] == ["complete", "failed", "retracted", "complete"]
    assert [t.value for t in states] == [1.0, None, None, 3.0]
    assert {t.note for t in states} == {"slow"}
    assert states[-1].corrections == (
        Correction(3, "complete", 1.0, None, "found later"),
        Correction(4, "failed", None, "leak"),
        Correction(5, "retracted"),
    )


def test_a_correction_whose_tell_was_lost_in_a_repair_still_counts():
    asked = {"ask": 0, "params": {"x": 1}}
    assert History([asked, {"correct": 0, "value": 2.0}]).trials[0].value == 2.0
    assert History([asked, {"retract": 0}]).trials[0].state == "retracted"
    for record in ({"correct": 0, "value": 2.0}, {"retract": 0}):
        with pytest.warns(UserWarning, match="The params of trial 0 are lost"):
            assert not History([record]).trials


@pytest.mark.parametrize(
    "record",
    [{"all": 1}, {"all": {}}, {"all": [1]}, {"all": [], "ask": 0}, {"all": [{"all": []}]}],
    ids=repr,
)
def test_several_records_that_no_optimiser_writes_are_refused(record):
    with pytest.raises(ValueError, match="record of several needs a list of records"):
        History([record])


def test_what_belongs_to_no_trial_is_left_out_and_nonsense_refused():
    with pytest.warns(UserWarning, match="The params of trial 3 are lost"):
        assert not History([{"tell": 3, "value": 1.0}]).trials
    with pytest.raises(ValueError, match="unknown record"):
        History([{"dance": 1}])


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"ask": "0", "params": {}}, "a trial's number for 'ask', got '0'"),
        ({"ask": True, "params": {}}, "a trial's number for 'ask', got True"),
        ({"ask": -1, "params": {}}, "a trial's number for 'ask', got -1"),
        ({"ask": [0], "params": {}}, r"a trial's number for 'ask', got \[0\]"),
        ({"ask": 0, "params": "x"}, "values by name for 'params', got 'x'"),
        ({"enqueue": None}, "values by name for 'enqueue', got None"),
        ({"tell": 0}, "a finite number or null, got 'nothing'"),
        ({"tell": 0, "value": "1"}, "a finite number or null, got '1'"),
        ({"tell": 0, "value": True}, "a finite number or null, got True"),
        ({"add": 0, "params": {}, "value": 10**400}, "a finite number or null, got 1000"),
        ({"tell": 0, "value": None, "error": []}, r"an error of text, got \[\]"),
        ({"tell": 0, "value": 1.0, "note": 3}, "a text for 'note', got 3"),
        ({"correct": "0", "value": 1.0}, "a trial's number for 'correct', got '0'"),
        ({"correct": 0}, "a finite number or null, got 'nothing'"),
        ({"correct": 0, "value": "1"}, "a finite number or null, got '1'"),
        ({"correct": 0, "value": 1.0, "why": []}, r"a text for 'why', got \[\]"),
        ({"retract": -1}, "a trial's number for 'retract', got -1"),
        ({"retract": 0, "why": 3}, "a text for 'why', got 3"),
    ],
    ids=repr,
)
def test_a_record_that_no_optimiser_writes_is_refused(record, problem):
    with pytest.raises(ValueError, match=f"A record needs {problem}"):
        History([record])


@pytest.mark.parametrize("params", [{"x": 7}, {"y": 0}, {"x": 0, "y": 0}, {}])
@pytest.mark.parametrize("kind", ["ask", "enqueue"])
def test_a_journal_with_points_of_another_space_is_refused(tmp_path, kind, params):
    path = tmp_path / "run.jsonl"
    Optimizer({"x": Float(-1, 1)}, seed=0, journal=path).close()
    record = {"ask": 0, "params": params} if kind == "ask" else {"enqueue": params}
    with Journal.open(path, Journal.read(path).header) as journal:
        journal.append(record)
    with pytest.raises(ValueError, match=r"does not fit the ones before it \(a point: .*'[xy]'"):
        Optimizer({"x": Float(-1, 1)}, seed=0, journal=path)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_a_copy_goes_on_by_itself(copied):
    optimizer = Optimizer({"x": Float(-1, 1)}, seed=0, initial=2)
    for trial in optimizer.ask(4):
        optimizer.tell(trial, trial.params["x"])
    twin = copied(optimizer)
    assert twin.ask(2) == optimizer.ask(2)
    optimizer.tell(4, 1.0)
    assert len(twin.pending) == 2


def test_an_optimiser_with_a_journal_is_not_copied(tmp_path):
    with (
        Optimizer({"x": Float(-1, 1)}, journal=tmp_path / "run.jsonl") as optimizer,
        pytest.raises(TypeError, match=r"cannot be copied or pickled.*run\.jsonl"),
    ):
        copy.deepcopy(optimizer)

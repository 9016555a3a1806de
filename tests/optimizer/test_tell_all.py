"""`tell_all` records several outcomes in one line of the journal, or none."""

import pytest

from thomax import Float, Int, Optimizer, Random
from thomax.storage.journal import Journal
from thomax.storage.trial import Trial


def opened(path, **options):
    return Optimizer({"x": Float(-1, 1)}, Random(), seed=0, journal=path, **options)


def test_all_outcomes_are_one_record_and_come_back(tmp_path):
    """Row 5: one write for all of them."""
    path = tmp_path / "run.jsonl"
    with opened(path) as optimizer:
        _, second = optimizer.ask(2)
        told = optimizer.tell_all(
            [(second, 2.0, None), ({"x": 0.5}, 3.0, None), (0, None, "lost"), ({"x": 0}, 1, None)]
        )
        assert [t.number for t in told] == [1, 2, 0, 3]
        assert [t.value for t in optimizer.trials] == [None, 2.0, 3.0, 1.0]
        assert optimizer.trials[0].error == "lost"
        trials, following = optimizer.trials, optimizer.ask()
    assert len(Journal.read(path).records) == 4
    with opened(path) as again:
        assert again.trials == [*trials, following]


def test_one_wrong_outcome_and_nothing_is_recorded(tmp_path):
    """Row 5: all or none."""
    with opened(tmp_path / "run.jsonl") as optimizer:
        first, _ = optimizer.ask(2)
        before = optimizer.trials
        for wrong in [(7, 1.0, None), ({"x": 3}, 1.0, None), (0, 1.0, None), (1, "much", None)]:
            with pytest.raises(ValueError, match=r"not pending|needs"):
                optimizer.tell_all([(first, 1.0, None), wrong])
        assert optimizer.trials == before
        assert optimizer.tell_all([]) == []
    assert len(Journal.read(tmp_path / "run.jsonl").records) == 2


def test_a_trial_counts_for_the_point_that_was_run(tmp_path):
    """Row 4: for the model, and for what is proposed later."""
    space = {"n": Int(0, 2)}
    path = tmp_path / "run.jsonl"
    with Optimizer(space, Random(), seed=0, journal=path) as optimizer:
        optimizer.enqueue({"n": 0})
        trial = optimizer.ask()
        optimizer.ask()
        optimizer.snapshot().data()  # remembers the points asked for
        run = Trial(trial.number, {"n": 3 - optimizer.trials[1].params["n"]})
        (told,) = optimizer.tell_all([(run, 5.0, None)], as_run=True)
        assert told.params == run.params
        assert optimizer.space.decode(optimizer.snapshot().data().x) == [run.params]
        assert optimizer.ask().params == {"n": 0}  # which was never run
    with Optimizer(space, Random(), journal=path) as again:
        assert again.trials[0].params == run.params


def test_without_being_told_so_a_changed_trial_counts_for_the_point_asked_for(tmp_path):
    with opened(tmp_path / "run.jsonl") as optimizer:
        trial = optimizer.ask()
        with pytest.warns(UserWarning, match="counts for the former"):
            (told,) = optimizer.tell_all([(Trial(0, {"x": 0.125}), 1.0, None)])
        assert told.params == trial.params


def test_outcomes_may_be_made_while_they_are_told(tmp_path):
    """A generator that asks gets numbers of its own, and holds nobody up."""
    search = opened(tmp_path / "run.jsonl")

    def outcomes():
        for _ in range(3):
            trial = search.ask()
            yield trial, float(trial.number), None
            yield {"x": 0.5}, -1.0, None

    told = search.tell_all(outcomes())
    assert [t.number for t in told] == [0, 3, 1, 4, 2, 5]
    assert search.pending == []

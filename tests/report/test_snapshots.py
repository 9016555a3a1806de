"""A report is about a snapshot: of an optimiser, or of a journal that may still grow."""

import numpy as np
import pytest
from reading import SMALL, tell_all

from thomax import Float, Optimizer, Pool
from thomax.report.writing import snapshot_of
from thomax.storage.snapshot import batches_of


def test_the_journal_alone_tells_all_but_the_policy(mixed):
    live, stored = snapshot_of(mixed), snapshot_of(mixed._journal.path)
    assert stored.trials == live.trials == mixed.trials
    assert stored.space == live.space == mixed.space
    assert (stored.direction, stored.seed, stored.name) == ("minimize", 3, "mixed.jsonl")
    assert (
        stored.batches
        == live.batches
        == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14]]
    )
    assert stored.policy is None
    assert live.policy is mixed.policy


def test_the_model_learns_what_the_optimiser_knows(mixed):
    ours, theirs = snapshot_of(mixed).data(), mixed._history.data()
    np.testing.assert_array_equal(ours.x, theirs.x)
    np.testing.assert_array_equal(ours.y, theirs.y)
    np.testing.assert_array_equal(ours.pending, theirs.pending)


def test_the_best_comes_first_in_either_direction(mixed):
    assert snapshot_of(mixed).ranked[0] == mixed.best
    values = [t.value for t in snapshot_of(mixed).ranked]
    assert values == sorted(values)


def test_a_journal_being_written_is_read_up_to_its_last_whole_line(tmp_path):
    path = tmp_path / "run.jsonl"
    with Optimizer({"x": Float(0, 1)}, SMALL, seed=0, journal=path) as optimizer:
        tell_all(optimizer, 3, lambda p: p["x"])
        with path.open("ab") as file:
            file.write(b'{"crc": "0000')
        before = path.read_bytes()
        assert snapshot_of(path).trials == optimizer.trials
        assert path.read_bytes() == before


def test_the_journal_of_a_pool_does_not_hold_the_candidates(tmp_path):
    path = tmp_path / "run.jsonl"
    with Optimizer(Pool(np.eye(3)), SMALL, seed=0, journal=path) as optimizer:
        tell_all(optimizer, 2, lambda p: p["index"])
        assert snapshot_of(optimizer).space is optimizer.space
    assert snapshot_of(path).space is None
    assert len(snapshot_of(path).complete) == 2


def test_a_batch_ends_where_a_value_arrives():
    assert batches_of([]) == []
    asynchronous = [{"ask": 0}, {"ask": 1}, {"tell": 1}, {"ask": 2}, {"tell": 0}, {"tell": 2}]
    assert batches_of(asynchronous) == [[0, 1], [2]]
    others = [
        {"ask": 0},
        {"enqueue": {}},
        {"ask": 1},
        {"drop": 0},
        {"ask": 2},
        {"add": 3},
        {"ask": 4},
    ]
    assert batches_of(others) == [[0, 1, 2], [4]]


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="needs an Optimizer or the path of a journal, got list"):
        snapshot_of([1, 2])

"""A snapshot is what others look at: it stays as it is, and shares nothing with the optimiser."""

import numpy as np
import pytest

from thomax import Categorical, Float, Optimizer, Pool, Random
from thomax.storage.snapshot import Snapshot


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


def test_the_snapshots_of_an_optimiser_and_of_its_journal_agree(path):
    with Optimizer({"x": Float(0, 1)}, Random(), seed=3, journal=path) as optimizer:
        first, second, third = optimizer.ask(3)
        optimizer.tell(first, 1.0)
        optimizer.tell(second, 2.0)
        live, stored = optimizer.snapshot(), Snapshot.read(path)
    for snapshot in (live, stored):
        assert snapshot.trials == optimizer.trials
        assert (snapshot.direction, snapshot.seed, snapshot.name) == ("maximize", 3, "run.jsonl")
        assert snapshot.best == optimizer.best
        assert [t.number for t in snapshot.ranked] == [1, 0]
        assert snapshot.pending == [third]
        assert snapshot.batches == [[0, 1, 2]]
        assert snapshot.space == optimizer.space
        assert snapshot.description == optimizer.space.describe()
    np.testing.assert_array_equal(live.data().x, stored.data().x)
    assert (live.policy, stored.policy) == (optimizer.policy, None)


def test_a_snapshot_stays_as_it_is():
    optimizer = Optimizer({"x": Float(0, 1)}, Random(), seed=0)
    trial = optimizer.ask()
    before = optimizer.snapshot()
    before.trials[0].params["x"] = 7.0
    optimizer.tell(trial, 1.0)
    assert before.best is None
    assert optimizer.trials[0].params == trial.params


def test_a_snapshot_holds_labels_not_objects():
    optimizer = Optimizer({"f": Categorical({"sine": np.sin, "cosine": np.cos})}, seed=0)
    assert optimizer.tell({"f": np.sin}, 1.0).params == {"f": np.sin}
    assert optimizer.snapshot().trials[0].params == {"f": "sine"}


def test_the_journal_of_a_pool_has_no_space(path):
    with Optimizer(Pool(np.eye(3)), Random(), seed=0, journal=path) as optimizer:
        optimizer.tell({"index": 1}, 1.0)
        assert optimizer.snapshot().space is optimizer.space
    stored = Snapshot.read(path)
    assert stored.space is None
    assert stored.parameters == ["index"]
    with pytest.raises(ValueError, match="give the optimiser, not its path"):
        stored.data()

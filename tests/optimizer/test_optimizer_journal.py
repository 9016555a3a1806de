import math
import secrets
import shutil

import numpy as np
import pytest
from searches import SQUARE, hill, optimizer, params_of, told

from thomax import (
    Float,
    Pool,
    Space,
    Trial,
    repair,
)
from thomax.history import History

STEPS = [
    lambda s: s.ask(),
    lambda s: s.ask(),
    lambda s: s.tell(1, hill(s.trials[1].params)),
    lambda s: s.enqueue({"x": 0.25, "y": 0.75}),
    lambda s: s.ask(),
    lambda s: s.tell({"x": -0.5, "y": 0.5}, 0.125),
    lambda s: s.ask(),
    lambda s: s.tell(2, math.nan),
    lambda s: s.ask(),
    lambda s: s.tell(5, hill(s.trials[5].params)),
    lambda s: s.drop(0),
    lambda s: s.ask(),
    lambda s: s.tell(4, error="broken"),
    lambda s: s.ask(),
    lambda s: s.ask(),
]


def test_a_resumed_search_continues_as_the_unbroken_one_at_every_cut(path, tmp_path):
    with optimizer(journal=path) as search:
        for i, step in enumerate(STEPS):
            shutil.copy(path, tmp_path / f"cut{i}.jsonl")
            step(search)
        expected = search.trials
    assert len(expected) == 9
    assert {t.state for t in expected} == {"pending", "complete", "failed", "dropped"}
    for i in range(len(STEPS)):
        with optimizer(journal=tmp_path / f"cut{i}.jsonl") as resumed:
            for step in STEPS[i:]:
                step(resumed)
            assert resumed.trials == expected, f"cut before step {i}"
            assert repr(resumed) == repr(search)


def test_a_batch_cut_short_is_completed_by_the_rest(path, tmp_path):
    told(5, journal=path).close()
    shutil.copy(path, tmp_path / "copy.jsonl")
    with optimizer(journal=path) as search:
        batch = search.ask(4)
    with optimizer(journal=tmp_path / "copy.jsonl") as other:
        other.ask(2)
    with optimizer(journal=tmp_path / "copy.jsonl") as resumed:
        resumed.ask(2)
        assert len(resumed.pending) == 4
        rows, expected = (resumed.space.encode(params_of(t)) for t in (resumed.pending, batch))
    np.testing.assert_allclose(rows, expected, atol=1e-3)


def test_enqueued_points_come_first_and_once_also_after_a_restart(path):
    points = [{"x": 0.5, "y": 0.5}, {"x": -0.5, "y": 0.25}, {"x": 0.0, "y": 0.0}]
    with optimizer(journal=path) as search:
        for point in points:
            search.enqueue(point)
        assert search.ask().params == points[0]
    with optimizer(journal=path) as search:
        assert params_of(search.ask(3))[:2] == points[1:]
    with optimizer(journal=path) as search:
        assert params_of(search.pending)[:3] == points
        later = params_of(search.ask(3))
        assert not [point for point in points if point in later]


def test_the_seed_is_that_of_the_journal(path):
    with optimizer(journal=path, seed=None) as search:
        expected = search.ask(2)
        seed = search.seed
    with optimizer(journal=path, seed=None) as search:
        assert search.seed == seed
        assert search.pending == expected
    with pytest.raises(ValueError, match=f"its seed is {seed}, got {seed + 1}"):
        optimizer(journal=path, seed=seed + 1)


def test_a_journal_that_another_process_creates_meanwhile_gives_its_seed(path, monkeypatch):
    def another_is_faster(bits):
        monkeypatch.undo()
        optimizer(journal=path, seed=7).close()
        return 8

    monkeypatch.setattr(secrets, "randbits", another_is_faster)
    with optimizer(journal=path, seed=None) as search:
        assert search.seed == 7


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"space": {"x": Float(-1, 1), "y": Float(-1, 2)}}, "space.parameters.y.high"),
        ({"space": {"x": Float(-1, 1)}}, "space.parameters"),
        ({"space": Space(SQUARE, constraint=bool)}, "space.constraint"),
        ({"space": Pool(np.eye(3))}, "space"),
        ({"direction": "minimize"}, "direction"),
    ],
)
def test_a_journal_of_another_search_is_refused_and_left_as_it_is(path, change, named):
    told(2, journal=path).close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"belongs to another search: its {named}"):
        optimizer(**{"journal": path} | change)
    assert path.read_bytes() == before
    assert len(optimizer(journal=path).trials) == 2


def test_two_optimisers_on_one_journal_are_refused(path):
    with optimizer(journal=path) as search:
        with pytest.raises(RuntimeError, match="must have one user at a time"):
            optimizer(journal=path)
        search.ask()
    with optimizer(journal=path) as search:  # closed by the context manager
        assert len(search.pending) == 1


def test_what_cannot_be_written_has_not_happened(path):
    search = told(2, journal=path)
    trial = search.ask()
    search.close()
    for change in (lambda: search.tell(trial, 1.0), search.ask, lambda: search.drop(trial)):
        with pytest.raises(ValueError, match="must be open to append"):
            change()
    assert search.pending == [trial]
    assert optimizer(journal=path).trials == search.trials


def test_ctrl_c_after_writing_and_before_taking_note_gives_no_number_twice(path, monkeypatch):
    def interrupted(history, record):
        monkeypatch.undo()
        raise KeyboardInterrupt

    search = told(2, journal=path)
    point = {"x": 0.5, "y": 0.5}
    for change in (search.ask, lambda: search.enqueue(point), lambda: search.tell(point, 1.0)):
        monkeypatch.setattr(History, "apply", interrupted)
        with pytest.raises(KeyboardInterrupt):
            change()
    assert [t.number for t in search.trials] == [0, 1, 2, 3]
    assert search.ask() == Trial(4, point)
    search.close()
    assert optimizer(journal=path).trials == search.trials


def test_a_repaired_journal_keeps_every_trial_that_was_not_hit(path):
    with told(6, journal=path) as search:
        expected = search.trials
    lines = path.read_bytes().splitlines(keepends=True)
    for lost, state in ((5, None), (6, "pending")):  # trial 2 was asked in line 5, told in line 6
        damaged = lines[lost].replace(b"record", b"RECORD")
        path.write_bytes(b"".join([*lines[:lost], damaged, *lines[lost + 1 :]]))
        with pytest.raises(ValueError, match=r"damaged at line .* Run thomax.repair"):
            optimizer(journal=path)
        repair(path)
        if state is None:
            with pytest.warns(UserWarning, match="params of trial 2 are lost: left it out"):
                search = optimizer(journal=path)
        else:
            search = optimizer(journal=path)
        others = [t for t in expected if t.number != 2]
        assert [t for t in search.trials if t.number != 2] == others
        assert [t.state for t in search.trials if t.number == 2] == ([state] if state else [])
        assert search.ask().number == 6
        search.close()
        path.write_bytes(b"".join(lines))


def test_a_journal_of_other_records_is_refused(path):
    from thomax.journal import Journal

    with optimizer(journal=path) as search:
        header = {"space": search.space.describe(), "direction": "maximize", "seed": 0}
    with Journal.open(path, header) as journal:
        journal.append({"event": "ask"})
    with pytest.raises(ValueError, match="a record that does not fit the ones before") as caught:
        optimizer(journal=path)
    Journal.open(path, header).close()  # the refusal has released the file
    assert caught.tb is not None  # though its traceback is still held

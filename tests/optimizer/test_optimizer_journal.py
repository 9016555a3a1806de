import contextlib
import itertools
import math
import os
import secrets
import shutil
import sys
import threading

import numpy as np
import pytest
from searches import POLICY, SQUARE, hill, optimizer, params_of, told

from thomax import (
    Float,
    Optimizer,
    Pool,
    Random,
    Search,
    Space,
    Trial,
    repair,
)
from thomax.storage.journal import Journal
from thomax.storage.replay import History

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


@pytest.mark.slow
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


def test_a_notebook_cell_that_opens_a_journal_may_be_run_again(path):
    """Row 19: the newer optimizer goes on; the older one may look, and changes nothing."""
    old = told(2, journal=path)
    asked = old.ask()
    new = optimizer(journal=path)
    assert new.pending == [asked]
    for change in (lambda: old.tell(asked, 1.0), old.ask, lambda: old.drop(asked)):
        with pytest.raises(RuntimeError, match="opened again by a newer Optimizer of this proc"):
            change()
    assert old.pending == [asked]
    old.close()
    new.tell(asked, 1.0)
    with pytest.raises(ValueError, match="belongs to another search"):
        optimizer(journal=path, direction="minimize")
    new.tell(new.ask(), 2.0)
    new.close()
    assert optimizer(journal=path).trials == new.trials


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
        assert History(search._journal.records).listed() == search.trials
    assert [t.number for t in search.trials] == [0, 1, 2, 3]
    assert search.ask() == Trial(4, point)
    search.close()
    assert optimizer(journal=path).trials == search.trials


@pytest.mark.parametrize("has_journal", [True, False], ids=["journal", "memory"])
def test_ctrl_c_while_the_history_is_rebuilt_gives_no_number_twice(
    tmp_path, monkeypatch, has_journal
):
    """Row 11: a first Ctrl-C after the writing, a second at any bytecode of what follows."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # a thousand writings take long
    before = sys.gettrace()
    codes = {f.__code__ for f in (History.__init__, History.apply, History._apply)}
    codes |= {Optimizer._append.__code__, Optimizer._history.fget.__code__}

    def twice(k):
        left = iter(range(k))

        def trace(frame, event, argument):
            frame.f_trace_opcodes = frame.f_code in codes
            if event == "opcode" and next(left, None) is None:
                sys.settrace(before)
                raise KeyboardInterrupt
            return trace

        def interrupted(history, record):
            patch.undo()
            sys.settrace(trace)
            caller = sys._getframe(1)
            caller.f_trace, caller.f_trace_opcodes = trace, True
            raise KeyboardInterrupt

        return interrupted

    for k in itertools.count(1):
        path = tmp_path / f"{k}.jsonl" if has_journal else None
        search = optimizer(policy=Random(), initial=99, journal=path)
        search.enqueue({"x": 0.5, "y": 0.5})
        search.enqueue({"x": 0.5, "y": 0.25})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(History, "apply", twice(k))
            for _ in range(3):
                with contextlib.suppress(KeyboardInterrupt):
                    search.ask()
        came_to_it = sys.gettrace() is before
        sys.settrace(before)
        asked = [record["ask"] for record in search._records if "ask" in record]
        assert asked == [*range(len(asked))]
        assert params_of(search.trials)[:2] == [{"x": 0.5, "y": 0.5}, {"x": 0.5, "y": 0.25}]
        if has_journal:
            search.close()
            assert History(Journal.read(path).records).listed() == search.trials
        if not came_to_it:
            break
    assert k > 100


@pytest.mark.parametrize("has_journal", [True, False], ids=["journal", "memory"])
def test_a_child_forked_while_a_thread_asks_does_not_wait_for_it(path, has_journal, in_child):
    """Row 17: the thread that asks does not exist in the child."""
    asking, go_on = threading.Event(), threading.Event()

    def stuck(keys, data):
        asking.set()
        go_on.wait()
        raise ValueError("that was all")

    search = optimizer(policy=stuck, initial=0, journal=path if has_journal else None)
    search.enqueue({"x": 0.5, "y": 0.5})
    trial = search.ask()

    def tell():
        if has_journal:
            with pytest.raises(ValueError, match="must be open to append"):
                search.tell(trial, 1.0)
        else:
            assert search.tell(trial, 1.0).value == 1.0

    def ask():
        with pytest.raises(ValueError, match="that was all"):
            search.ask()

    thread = threading.Thread(target=ask)
    thread.start()
    asking.wait()
    status = in_child(tell)
    go_on.set()
    thread.join()
    assert status == 0
    assert search.tell(trial, 1.0).value == 1.0


# Opening without repeating the space


def test_a_journal_is_opened_without_its_space(path):
    """Row 20: space, direction and seed are in the header."""
    with told(3, journal=path, direction="minimize", seed=5) as search:
        expected = search.ask(2)
    with Optimizer.open(path, POLICY, initial=4, search=Search(200, restarts=3)) as found:
        assert repr(found) == repr(search)
        assert found.pending == expected
        assert found.tell(expected[0], 1.0).value == 1.0
    with pytest.raises(ValueError, match="its direction is 'minimize', got 'maximize'"):
        Optimizer.open(path, direction="maximize")
    with pytest.raises(TypeError, match="tries"):
        Optimizer.open(path, tries=3)


@pytest.mark.parametrize(
    ("space", "what"),
    [
        (Pool(np.eye(3)), r"does not hold the candidates of a pool: pass .* space=Pool\(...\)"),
        (Space(SQUARE, constraint=bool), r"does not hold a constraint: pass .* constraint=...\)"),
    ],
)
def test_what_a_header_does_not_hold_is_passed(path, space, what):
    """Row 20: a pool's candidates and a constraint's code are not in the file."""
    with optimizer(space, journal=path, policy=Random()) as search:
        trial = search.ask()
    with pytest.raises(ValueError, match=what):
        Optimizer.open(path)
    with Optimizer.open(path, space=space) as found:
        assert found.pending == [trial]


def test_only_the_journal_of_an_optimizer_is_opened(path, tmp_path):
    """Row 20: a wrong path begins no new search."""
    for wrong, kind in ((path, "no file"), (tmp_path, "a folder")):
        with pytest.raises(FileNotFoundError, match=f"where there is {kind}. Check the path, or"):
            Optimizer.open(wrong)
    assert not path.exists()
    path.write_text("something else\n")
    with pytest.raises(ValueError, match="must be a thomax journal, got"):
        Optimizer.open(path)
    path.unlink()
    Journal.open(path, {"seed": 0}).close()
    with pytest.raises(ValueError, match="needs to be the journal of an Optimizer, got"):
        Optimizer.open(path)


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
    with optimizer(journal=path) as search:
        header = {"space": search.space.describe(), "direction": "maximize", "seed": 0}
    with Journal.open(path, header) as journal:
        journal.append({"event": "ask"})
    with pytest.raises(ValueError, match="a record that does not fit the ones before") as caught:
        optimizer(journal=path)
    Journal.open(path, header).close()  # the refusal has released the file
    assert caught.tb is not None  # though its traceback is still held


def test_a_replaced_optimizer_does_not_evaluate_what_it_could_not_record(path):
    """Row 19: unfinished trials need no `ask`, which would have refused."""
    older = optimizer(journal=path)
    older.ask(2)
    evaluated = []
    newer = optimizer(journal=path)
    with pytest.raises(RuntimeError, match="opened again by a newer Optimizer"):
        older.run(evaluated.append, 2, progress=False)
    newer.close()
    with pytest.raises(ValueError, match="must be open to append"):
        newer.run(evaluated.append, 2, progress=False)
    assert evaluated == []

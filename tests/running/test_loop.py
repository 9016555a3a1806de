import errno
import functools
import math
import multiprocessing
import os
import re
import threading
import time
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from crashing import end_at_large_x, end_the_process, offset_or_end, set_offset

from stress.interruptions import LOOP, interrupted_at
from thomax import (
    MLP,
    Categorical,
    Float,
    Int,
    Optimizer,
    Random,
    Result,
    Search,
    STOBNTSLinear,
    StopReason,
    minimize,
)
from thomax.running import loop
from thomax.running.giving_up import GivenUpError
from thomax.running.workers import own_trial

POLICY = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
SQUARE = {"x": Float(-1, 1), "y": Float(-1, 1)}


def optimizer(space=None, **options):
    settings = {"seed": 0, "initial": 4, "search": Search(candidates=200, restarts=3)} | options
    return Optimizer(SQUARE if space is None else space, POLICY, **settings)


def run(search, objective, trials=None, **options):
    return search.run(objective, trials, progress=False, **options)


def hill(params):
    return 1 - (params["x"] - 0.3) ** 2 - (params["y"] + 0.5) ** 2


def hill_with_a_cliff(params):
    if params["x"] > 0.5:
        raise ArithmeticError("too far")
    return hill(params)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as workers:
        yield workers


def test_a_running_trial_that_is_dropped_meanwhile_does_not_end_the_run(threads):
    search = optimizer()
    seen = []

    def drop_others(search, trial):
        seen.append(trial.number)
        for other in search.pending:
            search.drop(other)

    reason = run(search, hill, 8, batch=2, executor=threads, callbacks=[drop_others])
    states = [t.state for t in search.trials]
    assert reason == StopReason.TRIALS
    assert states.count("complete") == len(seen) >= 4
    assert states.count("dropped") == 8 - len(seen)


@pytest.fixture
def threads():
    with ThreadPoolExecutor(4) as workers:
        yield workers


def assert_valid(search, trials):
    """Check that all trials ended, and with the value of their own params."""
    assert [t.number for t in search.trials] == list(range(trials))
    for trial in search.trials:
        assert trial.state == ("complete" if trial.params["x"] <= 0.5 else "failed")
        if trial.state == "complete":
            assert trial.value == hill(trial.params)
        else:
            assert trial.error == "ArithmeticError: too far"


class OddFuture:
    """A future that is not Python's, done after it was looked at a few times."""

    def __init__(self, value, patience):
        self.value, self.patience = value, patience

    def done(self):
        self.patience -= 1
        return self.patience < 0

    def exception(self):
        return None

    def result(self):
        return self.value

    def cancel(self):
        return False


class OddExecutor:
    def __init__(self):
        self.count = 0

    def submit(self, function, *args):
        self.count += 1
        return OddFuture(function(*args), patience=self.count % 3)


# Where evaluations run


@pytest.mark.slow
@pytest.mark.parametrize("synchronous", [False, True])
@pytest.mark.parametrize("kind", ["processes", "threads", "own threads", "one by one"])
def test_a_run_is_valid_wherever_it_is_evaluated(kind, synchronous, request, path):
    executor = request.getfixturevalue(kind) if kind in ("processes", "threads") else None
    batch = 1 if kind == "one by one" else 4
    with optimizer(journal=path) as search:
        options = {"batch": batch, "executor": executor, "synchronous": synchronous}
        assert run(search, hill_with_a_cliff, 10, **options) is StopReason.TRIALS
        assert run(search, hill_with_a_cliff, trials=3, **options) == "trials"
        assert_valid(search, 13)
        expected = search.trials
    assert optimizer(journal=path).trials == expected


def test_synchronous_batches_propose_what_ask_and_tell_propose():
    for executor in (None, OddExecutor()):
        search, by_hand = optimizer(), optimizer()
        run(search, hill, 12, batch=4, synchronous=True, executor=executor)
        for _ in range(3):
            for trial in by_hand.ask(4):
                by_hand.tell(trial, hill(trial.params))
        assert search.trials == by_hand.trials


def test_without_a_batch_trials_run_one_by_one_in_this_thread():
    search, by_hand, places = optimizer(), optimizer(), set()

    def objective(params):
        places.add(threading.current_thread())
        return hill(params)

    run(search, objective, 7)
    for _ in range(7):
        trial = by_hand.ask()
        by_hand.tell(trial, hill(trial.params))
    assert search.trials == by_hand.trials
    assert places == {threading.main_thread()}


class Crowd:
    """An objective that notes how many evaluations run at the same time, and their order."""

    def __init__(self, slow=()):
        self.lock, self.now, self.most, self.started, self.slow = threading.Lock(), 0, 0, 0, slow
        self.log = []

    def __call__(self, params):
        with self.lock:
            number, self.started = self.started, self.started + 1
            self.now += 1
            self.most = max(self.most, self.now)
            self.log.append(("start", number))
        time.sleep(0.5 if number in self.slow else 0.02)
        with self.lock:
            self.now -= 1
            self.log.append(("end", number))
        return hill(params)


def test_a_new_trial_starts_as_soon_as_one_ends():
    crowd = Crowd(slow=[0])
    with ThreadPoolExecutor(8) as workers:  # more than are needed
        run(optimizer(initial=9), crowd, 8, batch=3, executor=workers)
    assert crowd.most == 3
    assert crowd.log[-1] == ("end", 0)  # everything else ran beside the slow one


def test_a_synchronous_run_waits_for_the_whole_batch():
    crowd = Crowd(slow=[0])
    run(optimizer(initial=9), crowd, 9, batch=3, synchronous=True)
    assert crowd.most == 3
    assert crowd.log.index(("end", 0)) < crowd.log.index(("start", 3))


@pytest.mark.parametrize("synchronous", [False, True])
def test_executors_with_futures_of_their_own_are_polled(synchronous):
    search = optimizer()
    run(search, hill, 9, batch=4, executor=OddExecutor(), synchronous=synchronous)
    assert [t.value for t in search.trials] == [hill(t.params) for t in search.trials]


@pytest.mark.parametrize("batch", [1, 2])
def test_the_loop_hands_over_a_trial_of_its_own_to_who_needs_its_number(batch):
    search = Optimizer({"x": Float(0, 1)}, Random(), seed=0)

    def number_of(trial):
        trial.params.clear()
        return float(trial.number)

    settings = {"total": None, "synchronous": False, "timeout": None, "unfinished": "evaluate"}
    settings |= {"executor": None, "give_up": 0, "progress": False, "callbacks": []}
    loop.run(search, number_of, 4, argument=own_trial, batch=batch, show=print, **settings)
    assert [(t.number, t.value) for t in search.trials] == [(n, float(n)) for n in range(4)]
    assert all(t.params for t in search.trials)


def test_the_objective_may_do_what_it_likes_with_its_params():
    search = optimizer()
    for batch in (1, 2):
        run(search, lambda p: p.pop("x") + p.pop("y"), 3, batch=batch)
    assert [t.value for t in search.trials] == [sum(t.params.values()) for t in search.trials]


# What goes wrong in an objective


@pytest.mark.parametrize("batch", [1, 2])
def test_what_is_no_number_fails_its_trial_only(batch):
    results = iter([1.0, None, "high", math.nan, [[1, 2]], 2.0])
    search = optimizer(initial=6)
    assert run(search, lambda p: next(results), 6, batch=batch) is StopReason.TRIALS
    assert sorted(t.state for t in search.trials) == ["complete"] * 2 + ["failed"] * 4
    errors = " | ".join(sorted(t.error for t in search.trials if t.error))
    assert "no value" in errors
    assert "the value was nan" in errors
    assert "needs a number as value, got 'high'" in errors
    assert search.best.value == 2.0


class UnspeakableError(Exception):
    """An error that fails while it is shown."""

    def __str__(self):
        raise RuntimeError("no text")


class Deleted:
    """A value that is no longer there, like the arrays of some libraries."""

    def item(self):
        raise RuntimeError("deleted")

    def __repr__(self):
        raise RuntimeError("deleted")


@pytest.mark.parametrize("batch", [1, 2])
def test_values_and_errors_that_fail_when_looked_at_fail_their_trial_only(batch):
    def objective(params):
        if params["x"] < 0:
            raise UnspeakableError
        return Deleted()

    search = optimizer(initial=6)
    run(search, objective, 6, batch=batch, give_up=0)
    errors = {t.error[:48] for t in search.trials}
    assert errors == {
        "UnspeakableError: it cannot say why",
        "ValueError: tell needs a number as value, got <D",
    }


def test_an_objective_that_always_fails_says_so():
    search = optimizer()
    run(search, lambda p: p["z"], 3, give_up=0)
    with pytest.raises(ValueError, match=r"all 3 that ended have failed.*KeyError: 'z'"):
        _ = search.best


@pytest.mark.parametrize("batch", [1, 2])
def test_a_run_whose_first_trials_all_fail_is_given_up(batch, path):
    """Row 18: a typo in the objective must not burn all trials."""
    search = optimizer(journal=path, initial=30)
    with pytest.raises(GivenUpError, match="first 3 trials of this run have all failed") as given:
        run(search, lambda p: p["z"], 20, batch=batch)
    assert isinstance(given.value.__cause__, KeyError)
    assert "KeyError: 'z'" in str(given.value)
    assert "test_loop.py, line" in str(given.value)
    assert "They are pending: mend the objective and run again" in str(given.value)
    assert {t.state for t in search.trials} == {"pending"}
    assert len(search.trials) <= 2 + batch
    with pytest.raises(GivenUpError, match=r"first 2 .*: trials 0, 1 with the value was nan\."):
        run(search, lambda p: math.nan, 20, give_up=2)
    run(search, lambda p: p["z"], 5, batch=batch, give_up=0)
    assert [t.state for t in search.trials] == ["failed"] * 5
    search.close()
    assert optimizer(journal=path, initial=30).trials == search.trials


FOUR = {"kind": Categorical(["a", "b", "c", "d"])}


def broken(params):
    raise NameError("name 'nmae' is not defined")


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_points_of_a_mistake_get_values_once_it_is_mended(batch, path):
    """Row 18: a finite space never proposes a failed point again."""
    with optimizer(FOUR, journal=path) as search, pytest.raises(GivenUpError, match="NameError"):
        run(search, broken, total=4, batch=batch)
    with optimizer(FOUR, journal=path) as search:
        assert run(search, lambda p: ord(p["kind"]), total=4, batch=batch) is StopReason.TRIALS
        assert sorted(t.value for t in search.trials) == [97, 98, 99, 100]


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_points_of_a_mistake_made_later_get_values_too(batch, path):
    """Row 18: once the search has worked failures are recorded, and their points enqueued."""
    with optimizer(FOUR, journal=path) as search:
        run(search, lambda p: ord(p["kind"]), 1)
        with pytest.raises(GivenUpError, match="recorded as failed, and their points are enq"):
            run(search, broken, 3, batch=batch)
        assert [t.state for t in search.trials] == ["complete"] + ["failed"] * 3
    with optimizer(FOUR, journal=path) as search:
        run(search, lambda p: ord(p["kind"]), 9, batch=batch)
        assert {t.value for t in search.trials} == {None, 97, 98, 99, 100}


def test_points_that_failed_twice_are_not_enqueued_again():
    """Row 18: a run that begins where evaluations fail gets on when it is repeated."""
    search = optimizer(FOUR)
    run(search, lambda p: 1.0, 1)
    for _ in range(2):
        with pytest.raises(GivenUpError):
            run(search, broken, 3)
    assert run(search, broken, 3) is StopReason.EXHAUSTED


def test_held_back_failures_are_recorded_before_the_first_value_and_at_the_end(path):
    """Row 18: in the order in which they came, callbacks included."""
    results, seen = iter([math.nan, None, 1.0, math.nan]), []

    def note(search, trial):
        seen.append((trial.number, trial.state, [t.state for t in search.trials]))

    search = optimizer(initial=12, journal=path)
    run(search, lambda p: next(results), 4, callbacks=[note])
    assert seen == [
        (0, "failed", ["failed", "pending", "pending"]),
        (1, "failed", ["failed", "failed", "pending"]),
        (2, "complete", ["failed", "failed", "complete"]),
        (3, "failed", ["failed", "failed", "complete", "failed"]),
    ]
    search = optimizer(initial=12)
    run(search, lambda p: math.nan, 2)  # fewer than would be given up
    assert [t.state for t in search.trials] == ["failed"] * 2


def test_a_run_broken_off_before_its_first_value_leaves_its_failures_pending():
    """Row 18: whoever sees the first failure may press Ctrl-C at once."""
    search = optimizer(initial=12)

    def objective(params):
        if len(search.trials) == 2:
            raise KeyboardInterrupt
        raise NameError

    with pytest.raises(KeyboardInterrupt):
        run(search, objective, 5)
    assert [t.state for t in search.trials] == ["pending"] * 2


def test_failures_after_a_success_do_not_end_a_run():
    """Row 18: only what never worked is given up."""
    results = iter([math.nan, math.nan, 1.0, *[math.nan] * 7])
    search = optimizer(initial=12)
    assert run(search, lambda p: next(results), 10) is StopReason.TRIALS


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("progress", [False, True])
def test_the_first_failure_is_shown_at_once_and_only_that(batch, progress, capsys):
    """Row 18: the bar alone only says "nothing complete yet"."""
    seen = []

    def note(search, trial):
        seen.append(capsys.readouterr().err)

    def objective(params):
        raise ValueError("no\x1b[2J such\ncolumn")

    search = optimizer(initial=12)
    search.run(objective, 4, batch=batch, give_up=0, progress=progress, callbacks=[note])
    shown = r"thomax: trial 0 failed: ValueError: no\x1b[2J such column ("
    assert shown in seen[0]
    assert "test_loop.py, line" in seen[0]
    assert "failed:" not in "".join(seen[1:])


def test_an_objective_that_raises_the_end_of_an_iterator_has_failed():
    search = optimizer(initial=4)
    run(search, lambda p: next(iter([])), 2)
    assert [t.error for t in search.trials] == ["StopIteration: raised by the objective"] * 2


# Interruptions


def interrupting(at, error=KeyboardInterrupt):
    """Return an objective whose evaluation number `at` is interrupted."""
    calls = iter(range(1000))

    def objective(params):
        if next(calls) == at:
            raise error
        return hill(params)

    return objective


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("batch", [1, 3])
def test_an_interrupted_objective_loses_nothing(path, batch, error):
    search = optimizer(journal=path, initial=12)
    with pytest.raises(error):
        run(search, interrupting(4, error), 12, batch=batch, synchronous=True)
    told = [t for t in search.trials if t.state == "complete"]
    assert len(told) == (4 if batch == 1 else 5)  # of a batch, also what came in beside
    assert 1 <= len(search.pending) <= batch
    assert "failed" not in {t.state for t in search.trials}
    left = search.trials
    search.close()
    with optimizer(journal=path, initial=12) as resumed:
        assert resumed.trials == left
        order = []
        run(resumed, hill, len(resumed.pending) + 1, callbacks=[lambda _, t: order.append(t)])
        assert [t.number for t in order[:-1]] == [t.number for t in left if t.state == "pending"]
        assert order[-1].number == len(left)
        assert resumed.pending == []


@pytest.mark.parametrize("batch", [1, 3])
def test_an_interrupted_callback_loses_nothing(path, batch):
    def stop(search, trial):
        if trial.number >= 3:
            raise KeyboardInterrupt

    search = optimizer(journal=path, initial=12)
    with pytest.raises(KeyboardInterrupt):
        run(search, hill, 12, batch=batch, synchronous=True, callbacks=[stop])
    states = [t.state for t in search.trials]
    assert states == ["complete"] * (4 if batch == 1 else 6)
    search.close()
    assert [t.state for t in optimizer(journal=path, initial=12).trials] == states


@pytest.mark.parametrize("batch", [1, 2])
def test_an_interrupt_while_a_value_is_written_loses_nothing(path, batch, monkeypatch):
    """The disk may take long, and the evaluation took longer."""
    search, fsync = optimizer(journal=path, initial=12), os.fsync

    def interrupted(fd):
        if b'"tell": 3' in path.read_bytes():
            monkeypatch.setattr(os, "fsync", fsync)
            raise KeyboardInterrupt
        fsync(fd)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(search, hill, 12, batch=batch, synchronous=True)
    assert [t.state for t in search.trials] == ["complete"] * 4
    search.close()
    assert optimizer(journal=path, initial=12).trials == search.trials


def test_what_still_runs_in_our_threads_at_an_interrupt_is_waited_for_and_recorded(path, capsys):
    """Row 10: Python waits for threads anyway; their values were thrown away."""
    search = optimizer(journal=path, initial=12)
    with pytest.raises(KeyboardInterrupt):
        run(search, interrupting_first_of_three(threading.Event(), 0.2), 12, batch=3)
    assert sorted(t.state for t in search.trials) == ["complete"] * 2 + ["pending"]
    assert "waiting for 2 evaluations" in capsys.readouterr().err
    search.close()
    assert len(optimizer(journal=path, initial=12).pending) == 1


def interrupting_first_of_three(release, seconds):
    calls, all_run = iter(range(3)), threading.Barrier(3)

    def objective(params):
        number = next(calls)
        all_run.wait()
        if number == 0:
            raise KeyboardInterrupt
        release.wait(seconds)
        return params["x"]

    return objective


@pytest.mark.parametrize("is_open", [True, False])
def test_a_second_interrupt_leaves_at_once_and_late_values_are_still_kept(
    path, capsys, is_open, monkeypatch
):
    """Row 10: recorded when they come, or printed in full where the journal is closed."""
    release, search = threading.Event(), optimizer(journal=path, initial=12)

    def impatient(futures, *args, **kwargs):
        if not kwargs:  # the wait after the first interrupt
            raise KeyboardInterrupt
        return wait(futures, *args, **kwargs)

    wait = loop.wait
    monkeypatch.setattr(loop, "wait", impatient)
    with pytest.raises(KeyboardInterrupt):
        run(search, interrupting_first_of_three(release, 30), 12, batch=3)
    assert [t.state for t in search.trials] == ["pending"] * 3
    if not is_open:
        search.close()
    release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join()
    shown = capsys.readouterr().err
    lines = [
        f"trial {t.number}, params {t.params}, value {t.params['x']!r}\n" for t in search.trials
    ]
    assert sum(line in shown for line in lines) == (0 if is_open else 2)
    assert [t.state for t in search.trials].count("complete") == (2 if is_open else 0)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_an_interrupt_at_any_instruction_of_the_loop_loses_no_value(batch, twice, capsys):
    """Row 10: also a second interrupt, while what the first one left is being recorded."""
    lost, instruction, is_inside = {}, 0, True
    while is_inside:
        returned, search = [], Optimizer({"x": Float(0, 1)}, Random(), seed=0)
        for x in (0.25, 0.5, 0.75):
            search.enqueue({"x": x})

        def objective(params, returned=returned):
            returned.append(params["x"])
            return returned[-1]

        def stop(search, trial):
            if twice and trial.number == 1:
                raise KeyboardInterrupt

        def call(search=search, objective=objective):
            search.run(objective, 3, batch=batch, progress=False, callbacks=[stop])

        is_inside = interrupted_at(instruction, call, LOOP)
        recorded = [t.value for t in search.trials]
        if set(returned) - {*recorded}:
            lost[instruction] = set(returned) - {*recorded}
        instruction += 1
    assert instruction > 500
    assert lost == {}


def test_an_interrupt_cancels_what_has_not_begun():
    started = []

    def objective(params):
        started.append(params)
        time.sleep(0.1)
        return 1.0

    def stop(search, trial):
        raise KeyboardInterrupt

    search = optimizer(initial=12)
    with ThreadPoolExecutor(1) as workers, pytest.raises(KeyboardInterrupt):
        run(search, objective, 12, batch=6, executor=workers, callbacks=[stop])
    assert len(started) < 6
    assert [t.state for t in search.trials].count("complete") == len(started)


def test_unfinished_trials_can_be_dropped():
    search = optimizer(initial=12)
    search.ask(3)
    run(search, hill, 2, unfinished="drop")
    assert [t.state for t in search.trials] == ["dropped"] * 3 + ["complete"] * 2


def test_unfinished_trials_count_as_trials_of_the_run():
    search = optimizer(initial=12)
    asked = search.ask(3)
    run(search, hill, 2)
    assert search.pending == asked[2:]
    run(search, hill, 3, batch=4)
    assert [t.state for t in search.trials] == ["complete"] * 5


SPAWN = multiprocessing.get_context("spawn")


@pytest.mark.parametrize("synchronous", [False, True])
def test_a_worker_that_dies_fails_its_trial_and_no_other(path, synchronous, capsys):
    """Row 12: the pool is replaced, and the run goes on."""
    search = optimizer(journal=path, initial=12)
    for x in (0.9, 0.1, 0.2, 0.8):
        search.enqueue({"x": x, "y": 0})
    with ProcessPoolExecutor(2, mp_context=SPAWN) as workers:
        options = {"batch": 3, "executor": workers, "synchronous": synchronous}
        assert run(search, end_at_large_x, 6, **options) is StopReason.TRIALS
    assert len(search.trials) == 6
    for trial in search.trials:
        assert trial.state == ("failed" if trial.params["x"] > 0.5 else "complete")
    errors = {t.error for t in search.trials if t.state == "failed"}
    assert len(errors) == 1
    assert errors.pop().startswith("BrokenExecutor: the worker died (a crash, or no memory left)")
    assert "again, one at a time" in capsys.readouterr().err
    search.close()
    assert optimizer(journal=path, initial=12).trials == search.trials


def test_a_new_pool_has_the_settings_of_the_old_one():
    """Row 12: also a pool that an earlier run has left broken."""
    search = optimizer({"n": Int(0, 3)})
    with ProcessPoolExecutor(
        1, mp_context=SPAWN, initializer=set_offset, initargs=(7,)
    ) as workers:
        with pytest.raises(BrokenProcessPool):
            workers.submit(end_the_process, {}).result()
        run(search, offset_or_end, 4, executor=workers)
    states = {t.params["n"]: (t.state, t.value) for t in search.trials}
    assert states == {n: ("failed", None) if n == 2 else ("complete", 7.0) for n in range(4)}


def test_a_pool_that_has_begun_still_starts_all_its_workers():
    """Row 12: what keeps a breaking pool from waiting for ever must not make others narrow."""
    with ProcessPoolExecutor(2, mp_context=SPAWN) as workers:
        workers.submit(os.getpid).result()
        search = optimizer()
        for x in (-0.4, -0.3, -0.2, -0.1):
            search.enqueue({"x": x, "y": 0})
        run(search, end_at_large_x, 4, batch=3, executor=workers)
        assert len(workers._processes) == 2


def test_workers_that_always_die_are_given_up():
    """Row 12: with the death as the cause."""
    search = optimizer(initial=12)
    with (
        ProcessPoolExecutor(1, mp_context=SPAWN) as workers,
        pytest.raises(GivenUpError, match="the worker died") as given,
    ):
        run(search, end_the_process, 9, batch=2, executor=workers)
    assert isinstance(given.value.__cause__.__cause__, BrokenProcessPool)
    assert [t.state for t in search.trials] == ["pending"] * 4


class Fragile:
    """An executor of an unknown kind that breaks at some points, for good or not."""

    def __init__(self, heals):
        self.heals, self.is_broken = heals, False

    def submit(self, function, params):
        if self.is_broken:
            raise BrokenExecutor("no more")
        future = Future()
        if params["n"] in (1, 2):
            self.is_broken = not self.heals
            future.set_exception(BrokenExecutor("died"))
        else:
            future.set_result(function(params))
        return future


def test_an_executor_that_heals_itself_is_not_replaced():
    """Row 12: whatever its kind."""
    search = optimizer({"n": Int(0, 5)}, initial=6)
    run(search, lambda p: p["n"], 6, batch=3, executor=Fragile(heals=True), give_up=0)
    states = {t.params["n"]: t.state for t in search.trials}
    assert states == {n: "failed" if n in (1, 2) else "complete" for n in range(6)}


def test_an_executor_that_cannot_be_replaced_ends_the_run_after_its_trial_has_failed():
    """Row 12: the next run goes on behind it, instead of dying at the same point for ever."""
    search = optimizer({"n": Int(0, 5)}, initial=6)
    for n in range(6):
        search.enqueue({"n": n})
    for count in (1, 2):
        with pytest.raises(BrokenExecutor, match="no more") as broken:
            run(search, lambda p: p["n"], 6, executor=Fragile(heals=False))
        assert "Fragile cannot be replaced" in broken.value.__notes__[0]
        assert [t.state for t in search.trials].count("failed") == count
    run(search, lambda p: p["n"], 4, executor=Fragile(heals=False))
    assert [t.state for t in search.trials] == [
        "failed" if n in (1, 2) else "complete" for n in range(6)
    ]


# A disk that is full


@pytest.mark.parametrize("batch", [1, 2])
def test_a_value_that_cannot_be_written_is_shown_in_full(path, batch, monkeypatch, capsys):
    """Row 10: the disk fills during a run, and the evaluation may have taken hours."""
    search, write, returned = optimizer(journal=path, initial=12), os.write, {}

    def full(fd, data):
        if b'"tell": 3' in data or b'"tell": 4' in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    def objective(params):
        returned[params["x"]] = math.pi * params["x"]
        return np.float64(returned[params["x"]])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="could not be written") as raised:
        run(search, objective, 12, batch=batch, synchronous=True)
    shown = capsys.readouterr().err
    unrecorded = set(returned.values()) - {t.value for t in search.trials}
    assert unrecorded
    for trial in search.pending:
        value = returned.get(trial.params["x"])
        line = f"trial {trial.number}, params {trial.params}, value {value!r}"
        assert shown.count(line) == (value is not None)
        assert any(line in note for note in raised.value.__notes__) == (value is not None)


def test_an_objective_that_cannot_be_sent_is_refused_before_anything_is_asked():
    search = optimizer()
    with ProcessPoolExecutor(1) as workers:
        for objective in (lambda params: 0.0, functools.partial(hill, lock=threading.Lock())):
            with pytest.raises(TypeError, match="can be sent to other processes, got"):
                run(search, objective, 4, batch=2, executor=workers)
    assert search.trials == []


# When it ends


@pytest.mark.parametrize("batch", [1, 2])
def test_a_timeout_ends_the_run_after_what_was_started(batch):
    def slow(params):
        time.sleep(0.05)
        return hill(params)

    search = optimizer(initial=1000)
    begin = time.monotonic()
    assert run(search, slow, timeout=0.3, batch=batch) is StopReason.TIMEOUT
    assert 0.3 <= time.monotonic() - begin < 5
    assert {t.state for t in search.trials} == {"complete"}
    assert run(search, slow, 5, timeout=0) is StopReason.TIMEOUT
    count = len(search.trials)
    assert run(search, slow, 1, timeout=60) is StopReason.TRIALS
    assert run(search, slow, 0) is StopReason.TRIALS
    assert len(search.trials) == count + 1


def test_a_total_counts_the_finished_trials_of_earlier_runs_too(path, capsys):
    """Row 20: the same call again does what is left, also after an interruption."""
    with optimizer(journal=path, initial=12) as search:
        search.drop(search.ask())
        with pytest.raises(KeyboardInterrupt):
            run(search, interrupting(3), total=6)
    with optimizer(journal=path, initial=12) as search:
        assert search.run(hill, total=6) is StopReason.TRIALS
        assert "6/6" in capsys.readouterr().err
        assert [t.state for t in search.trials] == ["dropped"] + ["complete"] * 6
        assert run(search, hill, total=4) is StopReason.TRIALS
        assert run(search, hill, total=0, timeout=60) is StopReason.TRIALS
        assert len(search.trials) == 7


def test_trials_that_end_with_the_time_count_as_done():
    search = optimizer()
    assert run(search, lambda p: time.sleep(0.1) or 1.0, 1, timeout=0.05) is StopReason.TRIALS


@pytest.mark.parametrize("batch", [1, 4, 8])
@pytest.mark.parametrize("synchronous", [False, True])
def test_an_exhausted_space_ends_the_run(batch, synchronous):
    space = {"n": Int(0, 5)}
    search = optimizer(space)
    options = {"batch": batch, "synchronous": synchronous}
    assert run(search, lambda p: p["n"], 20, **options) is StopReason.EXHAUSTED
    assert sorted(t.value for t in search.trials) == [0, 1, 2, 3, 4, 5]
    assert run(search, lambda p: p["n"], 20, **options) is StopReason.EXHAUSTED
    again = optimizer(space, allow_repeats=True)
    assert run(again, lambda p: p["n"], 20, **options) is StopReason.TRIALS
    exact = optimizer(space)
    assert run(exact, lambda p: p["n"], 6, **options) is StopReason.TRIALS


# What a person sees


@pytest.mark.parametrize("batch", [1, 3])
def test_callbacks_see_every_trial_once_it_is_told(batch):
    seen = []

    def note(search, trial):
        assert search.trials[trial.number] == trial
        seen.append((trial.number, trial.value))

    search = optimizer()
    run(search, hill, 6, batch=batch, callbacks=[note, note])
    assert sorted(seen) == sorted([(t.number, t.value) for t in search.trials] * 2)


def test_the_progress_bar_shows_the_best_on_stderr_and_can_be_switched_off(capsys):
    search = optimizer()
    search.run(lambda p: 0.125, 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "3/3" in err
    assert "best 0.125" in err
    search.run(lambda p: 0.125, 1, progress=False)
    assert capsys.readouterr() == ("", "")
    optimizer().run(lambda p: math.nan, 1)
    assert "nothing complete yet" in capsys.readouterr().err


# Bad input


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"trials": None}, ValueError, "run needs trials=, total= or timeout=, got none"),
        ({"total": 5}, ValueError, r"either trials= .* or total= .*, got both \(3 and 5\)"),
        ({"trials": None, "total": -1}, ValueError, "total to be a whole number >= 0, got -1"),
        ({"give_up": -1}, ValueError, "give_up to be a whole number >= 0, got -1"),
        ({"trials": -1}, ValueError, "trials to be a whole number >= 0, got -1"),
        ({"trials": 2.5}, ValueError, "trials to be a whole number >= 0, got 2.5"),
        ({"trials": "3"}, ValueError, "trials to be a whole number >= 0, got '3'"),
        ({"batch": 0}, ValueError, "batch to be a whole number >= 1, got 0"),
        ({"batch": 1.5}, ValueError, "batch to be a whole number >= 1, got 1.5"),
        ({"batch": True}, ValueError, "batch to be a whole number >= 1, got True"),
        ({"timeout": -1}, ValueError, "timeout to be seconds >= 0, got -1"),
        ({"timeout": math.nan}, ValueError, "timeout to be seconds >= 0, got nan"),
        ({"timeout": True}, ValueError, "timeout to be seconds >= 0, got True"),
        ({"synchronous": "no"}, ValueError, "synchronous to be True or False, got 'no'"),
        ({"timeout": "1h"}, ValueError, "timeout to be seconds >= 0, got '1h'"),
        ({"unfinished": "keep"}, ValueError, 'unfinished="evaluate" or "drop", got \'keep\''),
        ({"objective": 3}, TypeError, "a function of the params as objective, got 3"),
        ({"executor": 4}, TypeError, "an executor with a `submit` method, got 4"),
        ({"callbacks": print}, TypeError, "a list of functions of"),
        ({"callbacks": [3]}, TypeError, "a list of functions of"),
    ],
)
def test_bad_settings_are_refused_before_anything_happens(options, error, problem):
    search = optimizer()
    pending = search.ask(1)
    with pytest.raises(error, match=problem):
        run(search, **{"objective": hill, "trials": 3} | options)
    assert search.trials == pending


def test_numpy_numbers_are_numbers():
    search = optimizer()
    run(search, hill, np.int64(2), batch=np.int64(1), timeout=np.float64(60))
    assert len(search.trials) == 2


@pytest.mark.parametrize("options", [{}, {"trials": 3, "batch": 0}, {"total": -1}])
def test_a_mistake_in_the_arguments_leaves_no_journal(options, tmp_path):
    """The corrected call would be refused by a journal with another seed or direction."""
    path = tmp_path / "run.jsonl"
    with pytest.raises(ValueError, match="run needs"):
        minimize(lambda p: p["x"], {"x": Float(0, 1)}, journal=path, **options)
    assert not path.exists()


# What else an objective knows


def noisy_hill(params):
    return Result([hill(params), hill(params) + 0.1], noise_std=0.05, note="warm")


@pytest.mark.parametrize("batch", [1, 3])
def test_an_objective_may_return_its_noise_and_a_note(batch):
    search = optimizer()
    run(search, noisy_hill, 6, batch=batch)
    told = optimizer()
    while len(told.trials) < 6:
        for trial in told.ask(batch):
            values = [hill(trial.params), hill(trial.params) + 0.1]
            told.tell(trial, values, noise_std=0.05, note="warm")
    assert search.trials[:batch] == told.trials[:batch]
    assert batch > 1 or search.trials == told.trials
    assert {t.note for t in search.trials} == {"warm"}
    assert {t.noise_std["value"] for t in search.trials} == {0.05}


def test_a_result_comes_from_other_processes_too():
    search = optimizer()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        run(search, noisy_hill, 2, executor=executor)
    assert [t.noise_std for t in search.trials] == [{"value": 0.05}] * 2


def test_several_metrics_have_their_noise_by_name():
    search = optimizer(objectives={"a": "maximize", "b": "minimize"})
    run(search, lambda p: Result({"a": p["x"], "b": p["y"]}, {"b": 0.1}), 2)
    assert [t.noise_std for t in search.trials] == [{"b": 0.1}] * 2


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (Result(math.nan), "the value was nan"),
        (Result(0.25, noise_std=-1), r"noise_std to be a finite number >= 0, got -1.*value=0.25"),
        (Result(0.25, note=3), r"needs a text as note, got 3.*value=0.25"),
        (Result("high"), "needs a number as value, got 'high'"),
        (Result(Result(1.0, noise_std=1.0), noise_std=2.0), "needs one noise_std, got 2.0"),
    ],
)
def test_a_wrong_result_fails_the_trial_and_shows_what_came(returned, reason):
    search = optimizer()
    run(search, lambda _: returned, 1, give_up=0)
    trial = search.trials[0]
    assert trial.state == "failed"
    assert re.search(reason, trial.error)


def test_tell_and_correct_take_a_result_as_well():
    search = optimizer()
    trial = search.tell(search.ask(), Result(0.5, noise_std=0.1))
    assert (trial.value, trial.noise_std) == (0.5, {"value": 0.1})
    trial = search.correct(trial, Result([0.4, 0.6], noise_std=0.2))
    assert (trial.replicates, trial.noise_std) == ({"value": (0.4, 0.6)}, {"value": 0.2})
    with pytest.raises(ValueError, match=r"tell needs one noise_std, got 0\.3 and that of"):
        search.tell(search.ask(), Result(0.5, noise_std=0.1), noise_std=0.3)

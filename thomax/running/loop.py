"""The loop around ask and tell: batches, executors, progress, interruptions."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    ALL_COMPLETED,
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import closing, suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from multiprocessing.reduction import ForkingPickler
from typing import Literal, Protocol, TypeVar

from tqdm import tqdm

from thomax.running.giving_up import Ended, FirstFailures, failure_of
from thomax.running.workers import AnyExecutor, AnyFuture, Here, Hired, Running, Threads, Workers
from thomax.space.values import copied
from thomax.storage.metrics import Metrics
from thomax.storage.outcomes import Result, Value, checked_outcome
from thomax.storage.trial import Trial
from thomax.support.checks import FLAG, SECONDS, check_executor, require, whole
from thomax.support.types import Params

Finish = Callable[[Trial, Value, Exception | None], None]
T = TypeVar("T")
Unfinished = Literal["evaluate", "drop"]


class StopReason(StrEnum):
    """Why a run ended."""

    TRIALS = "trials"
    TIMEOUT = "timeout"
    EXHAUSTED = "exhausted"


class Asker(Protocol):
    """What the loop needs of an optimiser."""

    @property
    def trials(self) -> list[Trial]:
        """All trials."""

    @property
    def pending(self) -> list[Trial]:
        """The unfinished trials."""

    @property
    def metrics(self) -> Metrics:
        """What the objective measures."""

    @property
    def best(self) -> Trial:
        """The best trial, of one objective."""

    @property
    def front(self) -> list[Trial]:
        """The best trade-offs of several objectives."""

    def ask(self, n: int) -> list[Trial]:
        """Propose trials.

        Args:
            n: How many.
        """

    def tell(
        self, trial: Trial, value: Value = ..., *, error: str | BaseException | None = None
    ) -> Trial:
        """Record a result.

        Args:
            trial: A pending trial.
            value: What the objective returned.
            error: Why there is no value.
        """

    def enqueue(self, params: Params) -> None:
        """Make the next `ask` propose this point.

        Args:
            params: The point.
        """

    def drop(self, trial: Trial) -> None:
        """Give up a trial.

        Args:
            trial: A pending trial.
        """


AnyAsker = TypeVar("AnyAsker", bound=Asker)
Callback = Callable[[AnyAsker, Trial], None]


def run(
    optimizer: AnyAsker,
    objective: Callable[[T], Value],
    trials: int | None,
    *,
    argument: Callable[[Trial], T],
    total: int | None,
    batch: int,
    executor: AnyExecutor | None,
    synchronous: bool,
    timeout: float | None,
    unfinished: Unfinished,
    give_up: int,
    progress: bool,
    callbacks: Sequence[Callback[AnyAsker]],
    show: Callable[[str], None],
) -> StopReason:
    """Evaluate an objective until the trials or the time are used up, or the space is.

    Args:
        optimizer: What proposes trials and records them.
        objective: The function to evaluate.
        trials: How many trials to finish in this call.
        argument: What the objective is called with, made from a trial: `own_params`, `own_trial`.
        total: How many finished trials there shall be in all, instead of `trials`.
        batch: How many evaluations run at the same time.
        executor: Where they run; by default here, or in threads if batch > 1.
        synchronous: Whether a new batch starts only when the whole last one has ended.
        timeout: After so many seconds nothing new is started.
        unfinished: What is done with the trials that an earlier run left unfinished.
        give_up: Raise an error if the first so many trials of this run all fail; 0 for never.
        progress: Whether to show a progress bar.
        callbacks: Functions of (optimizer, trial), called when a trial is recorded.
        show: Gets what a person should know at once.
    """
    check_run(
        objective, trials, total=total, batch=batch, executor=executor, synchronous=synchronous,
        timeout=timeout, unfinished=unfinished, give_up=give_up, callbacks=callbacks,
    )  # fmt: skip
    deadline = None if timeout is None else time.monotonic() + timeout
    if unfinished == "drop":
        for trial in optimizer.pending:
            optimizer.drop(trial)
    finished = sum(t.state in ("complete", "failed") for t in optimizer.trials)
    if total is not None:
        trials = max(0, total - finished)
    before = 0 if total is None else finished
    length = None if trials is None else before + trials
    bar = tqdm(total=length, initial=before, disable=not progress, unit="trial")
    has_worked = any(t.state == "complete" for t in optimizer.trials)
    failures = FirstFailures(give_up, show, has_worked=has_worked, metrics=optimizer.metrics)

    def record(outcomes: list[Ended]) -> None:
        for outcome in outcomes:
            told = _tell(optimizer, *outcome)
            if told is None:
                continue
            bar.update()
            bar.set_postfix_str(_best_so_far(optimizer))
            for callback in callbacks:
                callback(optimizer, replace(told, params=copied(told.params)))

    def finish(trial: Trial, value: Value, error: Exception | None) -> None:
        if _is_open(optimizer, trial):
            record(failures.recordable(Ended(trial, value, error)))
            failures.require_fewer(partial(_enqueue_once, optimizer))

    with bar, closing(_workers(objective, argument, executor, batch)) as workers:
        supply = _Supply(optimizer, trials, deadline)
        _evaluate(supply, workers, finish, batch, synchronous, show, failures)
        record(failures.release())
    return supply.reason


def show_on_stderr(text: str) -> None:
    """Print a line beside the progress bar.

    Args:
        text: The line.
    """
    with suppress(Exception):  # whoever has closed stderr does not want to know
        tqdm.write(text, file=sys.stderr)


class _Supply:
    """Hands out trials, unfinished ones first, until one of the limits is reached."""

    def __init__(self, optimizer: Asker, trials: int | None, deadline: float | None) -> None:
        self.optimizer, self._left, self._deadline = optimizer, trials, deadline
        self._waiting = optimizer.pending
        self.reason = StopReason.TRIALS

    def take(self, n: int) -> list[Trial]:
        n = n if self._left is None else min(n, self._left)
        if n == 0:
            return []
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self.reason = StopReason.TIMEOUT
            return []
        taken, self._waiting = self._waiting[:n], self._waiting[n:]
        if len(taken) < n:
            taken = taken + self.optimizer.ask(n - len(taken))
        if not taken:
            self.reason = StopReason.EXHAUSTED
        if self._left is not None:
            self._left -= len(taken)
        return taken


def _evaluate(
    supply: _Supply,
    workers: Workers,
    finish: Finish,
    batch: int,
    synchronous: bool,
    show: Callable[[str], None],
    failures: FirstFailures,
) -> None:
    """Keep `batch` evaluations running; whatever ends that, keep what they return."""
    running: Running = {}
    suspects: list[Trial] = []  # one of them killed a worker: each runs alone
    settle = partial(_settle, supply.optimizer, running, show, failures)
    try:
        try:
            while True:
                alone = suspects[: not running]
                for trial in alone if suspects else supply.take(batch - len(running)):
                    workers.start(trial, running)
                del suspects[: len(alone)]
                if not running:
                    return
                ended = _ended(running, whole=synchronous)
                if workers.dead(ended):  # all that ran beside it end with it
                    ended = _ended(running, whole=True)
                dead = workers.dead(ended)
                for future in ended:
                    if future not in dead:
                        finish(running[future], *_outcome(future))
                        del running[future]
                suspects += _bury(dead, running, finish, show)
        finally:
            settle(is_last=False, is_waiting=workers.is_left_waiting)
    finally:
        settle(is_last=True)  # for Ctrl-C in the midst of the first


def _bury(
    dead: list[AnyFuture], running: Running, finish: Finish, show: Callable[[str], None]
) -> list[Trial]:
    """Fail the trial whose worker died; if it may be one of several, return them instead."""
    trials = [running.pop(future) for future in dead]
    if len(trials) == 1:
        why = dead[0].exception()
        error = BrokenExecutor(f"the worker died (a crash, or no memory left): {why}")
        error.__cause__ = why
        finish(trials[0], None, error)
        return []
    if trials:
        numbers = ", ".join(str(trial.number) for trial in trials)
        show(
            f"thomax: a worker died while trials {numbers} ran or waited: they are evaluated "
            "again, one at a time, to find out which of them it was"
        )
    return trials


def _ended(running: Running, whole: bool) -> list[AnyFuture]:
    """Wait for one future, or for all; those of another kind than Python's are polled."""
    own = [future for future in running if isinstance(future, Future)]
    if len(own) == len(running):
        wait(own, return_when=ALL_COMPLETED if whole else FIRST_COMPLETED)
    else:
        enough = all if whole else any
        while not enough(future.done() for future in running):
            time.sleep(0.01)
    done = [future for future in running if future.done()]
    return sorted(done, key=lambda future: running[future].number)


def _outcome(future: AnyFuture) -> tuple[Value, Exception | None]:
    """Return the objective's value or exception; raise what is not the objective's fault.

    A worker that was interrupted says nothing about the point: its trial stays pending.
    """
    error = future.exception()
    if error is None:
        return future.result(), None
    if not isinstance(error, Exception):
        raise error
    return None, error


def _settle(
    optimizer: Asker,
    running: Running,
    show: Callable[[str], None],
    failures: FirstFailures,
    *,
    is_last: bool,
    is_waiting: bool = False,
) -> None:
    """Record what has ended, without callbacks: they may be what interrupted. Cancel the rest.

    A thread cannot be stopped: what still runs is waited for, or recorded whenever it ends.
    """
    for future in [*running]:
        if future.cancel():
            del running[future]
    left = sum(not future.done() for future in running)
    if is_waiting and left:
        show(
            f"thomax: stopping; waiting for {left} evaluation{'s' if left > 1 else ''} to end and "
            "to be recorded (interrupt again to leave at once)"
        )
        wait(future for future in running if isinstance(future, Future))
    for future, trial in [*running.items()]:
        if future.done():
            _keep(optimizer, trial, show, failures, is_last, future)
        elif hasattr(future, "add_done_callback"):
            future.add_done_callback(partial(_keep_late, optimizer, trial, show, failures))
        del running[future]


def _keep_late(
    optimizer: Asker,
    trial: Trial,
    show: Callable[[str], None],
    failures: FirstFailures,
    future: Future[Value],
) -> None:
    """Record a value that came after the end of the run; an error may come from the end itself."""
    if not future.cancelled() and future.exception() is None:
        _keep(optimizer, trial, show, failures, True, future)


def _keep(
    optimizer: Asker,
    trial: Trial,
    show: Callable[[str], None],
    failures: FirstFailures,
    is_last: bool,
    future: AnyFuture,
) -> None:
    """Record what came of an evaluation, or show it in full: it may have taken hours."""
    raised = sys.exception()
    error = _error_of(future)
    if not isinstance(error, Exception | None) or isinstance(error, BrokenExecutor):
        return
    if not _is_open(optimizer, trial):
        return
    value = None if error else future.result()
    if failures.is_holding and failure_of(value, error, optimizer.metrics) is not None:
        return
    try:
        _tell(optimizer, trial, value, error)
    except BaseException as refused:
        is_interrupt = not isinstance(refused, Exception)
        if error is None and (is_last or not is_interrupt):
            text = (
                f"thomax: evaluated, but not recorded ({type(refused).__name__}: {refused}): "
                f"trial {trial.number}, params {trial.params}, value {_in_full(value)}"
            )
            show(text)
            if raised is not None:
                raised.add_note(text)
        if is_interrupt:
            raise


def _error_of(future: AnyFuture) -> BaseException | None:
    try:
        return future.exception()
    except Exception as error:  # somebody else has cancelled it
        return BrokenExecutor(str(error))


def _in_full(value: Value) -> str:
    with suppress(Exception):
        if isinstance(value, Mapping | Sequence | Result):
            return repr(value)
        number, _ = checked_outcome(value, None)
        return repr(value if number is None else number)
    return "that cannot be shown"


def _workers(
    objective: Callable[[T], Value],
    argument: Callable[[Trial], T],
    executor: AnyExecutor | None,
    batch: int,
) -> Workers:
    """Use the user's executor; without one, threads of our own for a batch."""
    if executor is not None:
        return Hired(objective, argument, executor)
    return Here(objective, argument) if batch == 1 else Threads(objective, argument, batch)


def _tell(optimizer: Asker, trial: Trial, value: Value, error: Exception | None) -> Trial | None:
    """Record what came of a trial, also if Ctrl-C comes in between: it may have taken hours.

    A trial that somebody told or dropped meanwhile needs nothing more.
    """
    try:
        return _told(optimizer, trial, value, error)
    except ValueError:
        if _is_open(optimizer, trial):
            raise
        return None
    except KeyboardInterrupt:
        if _is_open(optimizer, trial):
            _told(optimizer, trial, value, error)
        raise


def _enqueue_once(optimizer: Asker, trial: Trial) -> None:
    """Propose the point of a failed trial again, unless it has failed before."""
    failed = {t.number: repr(t.params) for t in optimizer.trials if t.state == "failed"}
    if [*failed.values()].count(failed.get(trial.number, "")) == 1:
        optimizer.enqueue(trial.params)


def _is_open(optimizer: Asker, trial: Trial) -> bool:
    return any(t.number == trial.number for t in optimizer.pending)


def _told(optimizer: Asker, trial: Trial, value: Value, error: Exception | None) -> Trial:
    """Record the value; what is no number fails the trial, not the run."""
    if error is not None:
        return optimizer.tell(trial, error=error)
    try:
        return optimizer.tell(trial, value)
    except ValueError as refused:
        return optimizer.tell(trial, error=refused)


def _best_so_far(optimizer: Asker) -> str:
    if optimizer.metrics.only is None:
        return f"{len(optimizer.front)} on the front"
    try:
        return f"best {optimizer.best.value:.6g}"
    except ValueError:
        return "nothing feasible yet" if optimizer.metrics.limits else "nothing complete yet"


def check_run(
    objective: object,
    trials: object = None,
    *,
    total: object = None,
    batch: object = 1,
    executor: object = None,
    synchronous: object = False,
    timeout: object = None,
    unfinished: object = "evaluate",
    give_up: object = 3,
    callbacks: Iterable[object] = (),
    **_: object,
) -> None:
    """Refuse arguments that `run` cannot work with, before anything is done.

    Args:
        objective: Must be a function.
        trials: Must be a whole number or None.
        total: Must be a whole number or None, and one of both must be None.
        batch: Must be a whole number >= 1.
        executor: Must have a method `submit`, or be None.
        synchronous: Must be True or False.
        timeout: Must be seconds or None.
        unfinished: Must be "evaluate" or "drop".
        give_up: Must be a whole number >= 0.
        callbacks: Must be functions.
    """
    _check_work(objective, executor, callbacks)
    require("run", "synchronous", synchronous, FLAG)
    _check_limits(trials, total, batch, timeout, unfinished, give_up)


def _check_work(objective: object, executor: object, callbacks: Iterable[object]) -> None:
    if not callable(objective):
        raise TypeError(f"run needs a function of the params as objective, got {objective!r}.")
    check_executor("run", executor)
    if isinstance(executor, ProcessPoolExecutor):
        _check_can_be_sent(objective)
    if callable(callbacks) or not all(callable(callback) for callback in callbacks):
        raise TypeError(
            f"run needs a list of functions of (optimizer, trial) as callbacks, got {callbacks!r}."
        )


def _check_can_be_sent(objective: object) -> None:
    """Refuse before anything is asked for: otherwise every trial fails for no fault of its own."""
    try:
        ForkingPickler.dumps(objective)
    except Exception as error:
        raise TypeError(
            f"run needs an objective that can be sent to other processes, got {objective!r} "
            f"({error}): use a function of a module, not a lambda or a function within another, "
            "or leave the executor out and set batch=."
        ) from error


def _check_limits(
    trials: object,
    total: object,
    batch: object,
    timeout: object,
    unfinished: object,
    give_up: object,
) -> None:
    if trials is None and total is None and timeout is None:
        raise ValueError(
            "run needs trials=, total= or timeout=, got none of them: say when to stop."
        )
    if trials is not None and total is not None:
        raise ValueError(
            f"run needs either trials= (so many more) or total= (so many in all), got both "
            f"({trials!r} and {total!r}): leave one out."
        )
    for name, count in (("trials", trials), ("total", total), ("give_up", give_up)):
        if count is not None:
            require("run", name, count, whole(0))
    require("run", "batch", batch, whole(1))
    if timeout is not None:
        require("run", "timeout", timeout, SECONDS)
    if unfinished not in ("evaluate", "drop"):
        raise ValueError(f'run needs unfinished="evaluate" or "drop", got {unfinished!r}.')

"""The loop around ask and tell: batches, executors, progress, interruptions."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    ALL_COMPLETED,
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol

from tqdm import tqdm

from thomax.journal import Trial
from thomax.parameters import copied, is_whole

Objective = Callable[[dict[str, Any]], float]
Callback = Callable[[Any, Trial], None]


class StopReason(StrEnum):
    """Why a run ended."""

    TRIALS = "trials"
    TIMEOUT = "timeout"
    EXHAUSTED = "exhausted"


class Asker(Protocol):
    """What the loop needs of an optimiser."""

    @property
    def pending(self) -> list[Trial]:
        """The unfinished trials."""

    @property
    def best(self) -> Trial:
        """The best trial."""

    def ask(self, n: int) -> list[Trial]:
        """Propose trials."""

    def tell(self, trial: Trial, value: Any = None, *, error: Any = None) -> Trial:
        """Record a value."""

    def drop(self, trial: Trial) -> None:
        """Give up a trial."""


def run(
    optimizer: Asker,
    objective: Objective,
    trials: int | None,
    *,
    batch: int,
    executor: Any,
    synchronous: bool,
    timeout: float | None,
    unfinished: str,
    progress: bool,
    callbacks: Sequence[Callback],
) -> StopReason:
    """Evaluate an objective until the trials or the time are used up, or the space is."""
    _check_work(objective, executor, callbacks)
    _check_limits(trials, batch, timeout, unfinished)
    deadline = None if timeout is None else time.monotonic() + timeout
    if unfinished == "drop":
        for trial in optimizer.pending:
            optimizer.drop(trial)
    bar = tqdm(total=trials, disable=not progress, unit="trial")

    def finish(trial: Trial, value: Any, error: Exception | None) -> None:
        told = _tell(optimizer, trial, value, error)
        if told is None:
            return
        bar.update()
        bar.set_postfix_str(_best_so_far(optimizer))
        for callback in callbacks:
            callback(optimizer, replace(told, params=copied(told.params)))

    with bar, _workers(executor, batch) as workers:
        supply = _Supply(optimizer, trials, deadline)
        if workers is None:
            _run_here(supply, objective, finish)
        else:
            _run_there(supply, objective, finish, workers, batch, synchronous)
    return supply.reason


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


def _run_here(supply: _Supply, objective: Objective, finish: Callable[..., None]) -> None:
    while trials := supply.take(1):
        for trial in trials:
            try:
                value, error = objective(copied(trial.params)), None
            except Exception as raised:
                value, error = None, raised
            finish(trial, value, error)


def _run_there(
    supply: _Supply,
    objective: Objective,
    finish: Callable[..., None],
    workers: Any,
    batch: int,
    synchronous: bool,
) -> None:
    """Keep `batch` evaluations running; on an interruption keep what has come in."""
    running: dict[Any, Trial] = {}
    try:
        while True:
            for trial in supply.take(batch - len(running)):
                running[workers.submit(objective, copied(trial.params))] = trial
            if not running:
                return
            for future in _ended(running, whole=synchronous):
                value, error = _outcome(future)
                finish(running.pop(future), value, error)
    finally:
        _give_up(supply.optimizer, running)


def _ended(running: dict[Any, Trial], whole: bool) -> list[Any]:
    """Wait for one future, or for all; those of another kind than Python's are polled."""
    if all(isinstance(future, Future) for future in running):
        wait(running, return_when=ALL_COMPLETED if whole else FIRST_COMPLETED)
    else:
        enough = all if whole else any
        while not enough(future.done() for future in running):
            time.sleep(0.01)
    done = [future for future in running if future.done()]
    return sorted(done, key=lambda future: running[future].number)


def _outcome(future: Any) -> tuple[Any, Exception | None]:
    """Return the objective's value or exception; raise what is not the objective's fault.

    A worker that was interrupted or killed says nothing about the point: its trial stays pending.
    """
    error = future.exception()
    if error is None:
        return future.result(), None
    if isinstance(error, BrokenExecutor) or not isinstance(error, Exception):
        raise error
    return None, error


def _give_up(optimizer: Asker, running: dict[Any, Trial]) -> None:
    """Tell what has ended, without callbacks: they may be what interrupted. Cancel the rest."""
    for future, trial in running.items():
        if future.cancel() or not future.done():
            continue
        try:
            value, error = _outcome(future)
        except BaseException:
            continue
        _tell(optimizer, trial, value, error)


@contextmanager
def _workers(executor: Any, batch: int) -> Iterator[Any]:
    """Use the user's executor; without one, threads of our own for a batch."""
    if executor is not None:
        yield executor
    elif batch == 1:
        yield None
    else:
        own: Executor = ThreadPoolExecutor(batch)
        try:
            yield own
        finally:
            own.shutdown(wait=False, cancel_futures=True)


def _tell(optimizer: Asker, trial: Trial, value: Any, error: Exception | None) -> Trial | None:
    """Record what the objective returned, also if Ctrl-C comes in between: it may be of hours.

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


def _is_open(optimizer: Asker, trial: Trial) -> bool:
    return any(t.number == trial.number for t in optimizer.pending)


def _told(optimizer: Asker, trial: Trial, value: Any, error: Exception | None) -> Trial:
    """Record the value; what is no number fails the trial, not the run."""
    if error is not None:
        return optimizer.tell(trial, error=error)
    try:
        return optimizer.tell(trial, value)
    except ValueError as refused:
        return optimizer.tell(trial, error=refused)


def _best_so_far(optimizer: Asker) -> str:
    try:
        return f"best {optimizer.best.value:.6g}"
    except ValueError:
        return "nothing complete yet"


def _check_work(objective: Any, executor: Any, callbacks: Any) -> None:
    if not callable(objective):
        raise TypeError(f"run needs a function of the params as objective, got {objective!r}.")
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(
            f"run needs an executor with a `submit` method, got {executor!r}: "
            "pass a concurrent.futures executor, or leave it out and set batch=."
        )
    if isinstance(executor, ProcessPoolExecutor):
        _check_can_be_sent(objective)
    if callable(callbacks) or not all(callable(callback) for callback in callbacks):
        raise TypeError(
            f"run needs a list of functions of (optimizer, trial) as callbacks, got {callbacks!r}."
        )


def _check_can_be_sent(objective: Any) -> None:
    """Refuse before anything is asked for: otherwise every trial fails for no fault of its own."""
    try:
        ForkingPickler.dumps(objective)
    except Exception as error:
        raise TypeError(
            f"run needs an objective that can be sent to other processes, got {objective!r} "
            f"({error}): use a function of a module, not a lambda or a function within another, "
            "or leave the executor out and set batch=."
        ) from error


def _check_limits(trials: Any, batch: Any, timeout: Any, unfinished: Any) -> None:
    if trials is None and timeout is None:
        raise ValueError("run needs trials= or timeout=, got neither: say when to stop.")
    if trials is not None and not is_whole(trials, 0):
        raise ValueError(f"run needs trials to be a whole number >= 0, got {trials!r}.")
    if not is_whole(batch, 1):
        raise ValueError(f"run needs batch to be a whole number >= 1, got {batch!r}.")
    if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
        raise ValueError(f"run needs timeout to be seconds >= 0, got {timeout!r}.")
    if unfinished not in ("evaluate", "drop"):
        raise ValueError(f'run needs unfinished="evaluate" or "drop", got {unfinished!r}.')

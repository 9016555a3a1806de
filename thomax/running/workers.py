"""Where evaluations run: in this thread, in threads of our own, or in a user's executor.

What an evaluation returned must survive Ctrl-C at any instruction. So the handle of an evaluation
(a future) stands in `Running` before its value can be lost, and stays there until the value is
recorded; where a value or a future goes from a call into a container, C code takes it there,
which Python does not interrupt.
"""

import inspect
from collections.abc import Callable, Iterable
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from thomax.space.values import copied
from thomax.storage.outcomes import Value
from thomax.storage.trial import Trial
from thomax.support.types import Params

Objective = Callable[[Params], Value]
T = TypeVar("T")


class AnyFuture(Protocol):
    """What the loop needs of a future, Python's own or that of another library."""

    def done(self) -> bool:
        """Return whether the evaluation has ended."""

    def exception(self) -> BaseException | None:
        """Return what the evaluation raised, if it did."""

    def result(self) -> Value:
        """Return what the evaluation returned."""

    def cancel(self) -> bool:
        """Return whether the evaluation will not be begun any more."""


class AnyExecutor(Protocol):
    """What `run` needs of an executor, such as those of concurrent.futures and Dask."""

    def submit(self, function: Callable[[T], Value], argument: T, /) -> AnyFuture:
        """Begin an evaluation, and return its future.

        Args:
            function: The objective.
            argument: What it is called with.
        """


Running = dict[AnyFuture, Trial]  # futures, and the trials that they evaluate


def own_params(trial: Trial) -> Params:
    """Return the params for an objective, which may change them as it likes.

    Args:
        trial: The trial to evaluate.
    """
    params: Params = copied(trial.params)
    return params


def own_trial(trial: Trial) -> Trial:
    """Return the trial for an objective that needs its number too.

    Args:
        trial: The trial to evaluate.
    """
    return replace(trial, params=own_params(trial))


class Workers(Protocol):
    """What the loop needs of a place where evaluations run."""

    is_left_waiting: bool  # Python waits for these evaluations in any case, at the latest at exit

    def start(self, trial: Trial, running: Running) -> None:
        """Begin an evaluation.

        Args:
            trial: The trial to evaluate.
            running: Where the future of the evaluation is put.
        """

    def dead(self, futures: Iterable[AnyFuture]) -> list[AnyFuture]:
        """Return the futures that ended because a worker died.

        Args:
            futures: Futures of evaluations.
        """

    def close(self) -> None:
        """Release what was made for the run."""


class Here(Generic[T]):
    """Evaluate in the thread that called `run`: an evaluation has ended when it has begun.

    Args:
        objective: The function to evaluate.
        argument: What it is called with, made from a trial.
    """

    is_left_waiting = False

    def __init__(self, objective: Callable[[T], Value], argument: Callable[[Trial], T]) -> None:
        self._objective, self._argument = objective, argument

    def start(self, trial: Trial, running: Running) -> None:
        """Evaluate the trial.

        Args:
            trial: The trial to evaluate.
            running: Where the future of the evaluation is put.
        """
        call = _Call()
        running[call] = trial
        call.run(self._objective, self._argument(trial))

    def dead(self, futures: Iterable[AnyFuture]) -> list[AnyFuture]:
        """Return none: whoever died here would have taken the run along.

        Args:
            futures: Futures of evaluations.
        """
        return []

    def close(self) -> None:
        """Do nothing."""


class _Call:
    """A call of the objective in this thread, looked at like a future."""

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._error: Exception | None = None

    def run(self, objective: Callable[[T], Value], argument: T) -> None:
        try:
            self._values.extend(map(objective, [argument]))
            if not self._values:  # `extend` took it for the end of the values
                self._error = StopIteration("raised by the objective")
        except Exception as error:
            self._error = error

    def done(self) -> bool:
        return bool(self._values) or self._error is not None

    def exception(self) -> Exception | None:
        return self._error

    def result(self) -> Value:
        return self._values[0]

    def cancel(self) -> bool:
        return False


class Threads(Generic[T]):
    """Evaluate in threads of our own.

    Args:
        objective: The function to evaluate.
        argument: What it is called with, made from a trial.
        count: The number of threads.
    """

    is_left_waiting = True

    def __init__(
        self, objective: Callable[[T], Value], argument: Callable[[Trial], T], count: int
    ) -> None:
        self._objective, self._argument = objective, argument
        self._pool = ThreadPoolExecutor(count)

    def start(self, trial: Trial, running: Running) -> None:
        """Hand the trial to a thread; its future is ours, and known before the thread begins.

        Args:
            trial: The trial to evaluate.
            running: Where the future of the evaluation is put.
        """
        future: Future[Value] = Future()
        running[future] = trial
        self._pool.submit(_fulfil, future, self._objective, self._argument(trial))

    def dead(self, futures: Iterable[AnyFuture]) -> list[AnyFuture]:
        """Return none: a thread does not die alone.

        Args:
            futures: Futures of evaluations.
        """
        return []

    def close(self) -> None:
        """Let the threads end when they have nothing to do."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _fulfil(future: Future[Value], objective: Callable[[T], Value], argument: T) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        value = objective(argument)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(value)


class Hired(Generic[T]):
    """Evaluate in a user's executor, and in new ones like it when its workers have died.

    Args:
        objective: The function to evaluate.
        argument: What it is called with, made from a trial.
        executor: The user's executor.
    """

    is_left_waiting = False

    def __init__(
        self,
        objective: Callable[[T], Value],
        argument: Callable[[Trial], T],
        executor: AnyExecutor,
    ) -> None:
        self._objective, self._argument = objective, argument
        self._executor = _starting_at_once(executor)
        self._replacements: list[Executor] = []

    def start(self, trial: Trial, running: Running) -> None:
        """Submit the trial.

        Args:
            trial: The trial to evaluate.
            running: Where the future of the evaluation is put.
        """
        try:
            self._submit(trial, running)
        except Exception as error:
            # Python's processes end with all kinds of errors while they break.
            if not (
                isinstance(error, BrokenExecutor) or getattr(self._executor, "_broken", False)
            ):
                raise
            replacement = executor_like(self._executor, error)
            self._executor = _starting_at_once(replacement)
            self._replacements.append(replacement)
            self._submit(trial, running)

    def _submit(self, trial: Trial, running: Running) -> None:
        submitted = map(self._executor.submit, [self._objective], [self._argument(trial)])
        running.update(zip(submitted, [trial], strict=True))

    def dead(self, futures: Iterable[AnyFuture]) -> list[AnyFuture]:
        """Return the futures that ended because the executor broke, whoever broke it.

        Args:
            futures: Futures of evaluations.
        """
        done = [future for future in futures if future.done()]
        return [future for future in done if isinstance(future.exception(), BrokenExecutor)]

    def close(self) -> None:
        """Release the replacements; the user's executor is the user's."""
        for executor in self._replacements:
            executor.shutdown(wait=False, cancel_futures=True)


def _starting_at_once(executor: AnyExecutor) -> AnyExecutor:
    """Let a pool of processes start all of them before the first evaluation, and return it.

    Started one by one, a process that dies while another one starts can leave the pool waiting
    for ever: its thread ends by an error (seen with Python 3.11). A pool that has begun, or that
    exchanges its processes, needs to go on starting them.
    """
    if (
        isinstance(executor, ProcessPoolExecutor)
        and getattr(executor, "_executor_manager_thread", executor) is None
        and getattr(executor, "_max_tasks_per_child", None) is None
    ):
        executor._safe_to_dynamically_spawn_children = False  # type: ignore[attr-defined]
    return executor


_SETTINGS = (
    "max_workers",
    "mp_context",
    "initializer",
    "initargs",
    "max_tasks_per_child",
    "thread_name_prefix",
)


def executor_like(executor: object, error: Exception) -> Executor:
    """Return a new executor of the same kind and settings, or raise the error.

    Args:
        executor: The executor to replace.
        error: What it has raised.

    Examples:
        >>> executor_like(ThreadPoolExecutor(3), BrokenExecutor())._max_workers
        3
    """
    kept = {name: getattr(executor, f"_{name}") for name in _SETTINGS if _has(executor, name)}
    own = type(executor)
    for kind in (own, ProcessPoolExecutor):
        accepted = inspect.signature(kind).parameters
        known = {name: value for name, value in kept.items() if name in accepted}
        needed = {"max_workers", "initializer"} & accepted.keys()
        if isinstance(executor, kind) and needed and needed <= known.keys():
            try:
                return kind(**known)  # type: ignore[return-value]
            except TypeError:  # it needs something else too
                continue
    error.add_note(
        f"{own.__name__} cannot be replaced by a new one with the same settings: call `run` again "
        "with a new executor. If its workers die again, batch=1 finds out which trial it is, "
        "and records that it failed."
    )
    raise error


def _has(executor: object, setting: str) -> bool:
    return hasattr(executor, f"_{setting}")

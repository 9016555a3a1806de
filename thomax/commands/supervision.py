"""The loop around a program: resumed, interrupted, given up."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from thomax.commands.evaluation import Evaluation
from thomax.commands.signals import stopped_like_by_ctrl_c, undisturbed
from thomax.commands.values import Failure
from thomax.journal import Trial
from thomax.loop import run
from thomax.optimizer import Optimizer


def supervise(
    optimizer: Optimizer, evaluation: Evaluation, settings: dict[str, Any], progress: bool
) -> str:
    """Evaluate trials, and return why that ended; whatever happens, no program outlives it."""
    total = settings.get("trials")
    finished = sum(t.state in ("complete", "failed") for t in optimizer.trials)
    left = None if total is None else max(0, total - finished)
    jobs = settings["jobs"]
    # Threads also for one job: a signal interrupts the main thread, which starts no program.
    threads = ThreadPoolExecutor(jobs)
    try:
        with stopped_like_by_ctrl_c():
            return run(
                _Numbered(optimizer),
                lambda job: evaluation(**job),
                left,
                batch=jobs,
                executor=threads,
                synchronous=False,
                timeout=settings.get("time_limit"),
                unfinished="evaluate",
                progress=progress,
                callbacks=[_Patience(settings["give_up"])],
            )
    except KeyboardInterrupt:
        return "interrupted"
    except _GivenUpError:
        return "failures"
    finally:
        with undisturbed():
            evaluation.processes.stop()
            threads.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Numbered:
    """Hand the loop trials whose params hold the trial's number too: logs are named by it."""

    optimizer: Optimizer

    @property
    def pending(self) -> list[Trial]:
        return [_job(trial) for trial in self.optimizer.pending]

    @property
    def best(self) -> Trial:
        return self.optimizer.best

    def ask(self, n: int) -> list[Trial]:
        return [_job(trial) for trial in self.optimizer.ask(n)]

    def tell(self, trial: Trial, value: Any = None, *, error: Any = None) -> Trial:
        reason = str(error) if isinstance(error, Failure) else error
        return self.optimizer.tell(trial.number, value, error=reason)

    def drop(self, trial: Trial) -> None:
        self.optimizer.drop(trial.number)


def _job(trial: Trial) -> Trial:
    return replace(trial, params={"number": trial.number, "params": trial.params})


class _GivenUpError(Exception):
    """The first trials of a run have all failed."""


class _Patience:
    """Stop a run that fails from the start: a mistyped command should not cost 100 trials."""

    def __init__(self, limit: int) -> None:
        self._limit, self._failures = limit, 0

    def __call__(self, _: Any, trial: Trial) -> None:
        if trial.state != "failed":
            self._limit = 0  # it can work
        self._failures += 1
        if self._failures == self._limit:
            raise _GivenUpError

"""The loop around a program: resumed, interrupted, given up."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from thomax.cli.evaluation import Evaluation
from thomax.cli.signals import stopped_like_by_ctrl_c, undisturbed
from thomax.giving_up import GivenUpError
from thomax.loop import run, show_on_stderr
from thomax.optimizer import Optimizer
from thomax.storage.outcomes import Failure
from thomax.storage.trial import Trial


def supervise(
    optimizer: Optimizer, evaluation: Evaluation, settings: dict[str, Any], progress: bool
) -> tuple[str, str]:
    """Evaluate trials; return why that ended, and if it was given up the last failure.

    Whatever happens, no program outlives it.
    """
    jobs = settings["jobs"]
    stopped = threading.Event()

    def evaluate(job: Any) -> float:
        value = evaluation(**job)
        if stopped.is_set():  # what an ended program prints is no value
            raise Failure("the run was stopped before the program ended by itself")
        return value

    # Threads also for one job: a signal interrupts the main thread, which starts no program.
    threads = ThreadPoolExecutor(jobs)
    try:
        with stopped_like_by_ctrl_c():
            reason = run(
                _Numbered(optimizer),
                evaluate,
                None,
                total=settings.get("trials"),
                batch=jobs,
                executor=threads,
                synchronous=False,
                timeout=settings.get("time_limit"),
                unfinished="evaluate",
                give_up=settings["give_up"],
                progress=progress,
                callbacks=[],
                show=show_on_stderr,
            )
        return reason, ""
    except KeyboardInterrupt:
        return "interrupted", ""
    except GivenUpError as error:
        return "failures", error.last
    finally:
        with undisturbed():
            stopped.set()
            evaluation.processes.stop()
            threads.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Numbered:
    """Hand the loop trials whose params hold the trial's number too: logs are named by it."""

    optimizer: Optimizer

    @property
    def trials(self) -> list[Trial]:
        return self.optimizer.trials

    @property
    def pending(self) -> list[Trial]:
        return [_job(trial) for trial in self.optimizer.pending]

    @property
    def best(self) -> Trial:
        return self.optimizer.best

    def ask(self, n: int) -> list[Trial]:
        return [_job(trial) for trial in self.optimizer.ask(n)]

    def tell(self, trial: Trial, value: Any = None, *, error: Any = None) -> Trial:
        return self.optimizer.tell(trial.number, value, error=error)

    def enqueue(self, params: dict[str, Any]) -> None:
        self.optimizer.enqueue(params["params"])

    def drop(self, trial: Trial) -> None:
        self.optimizer.drop(trial.number)


def _job(trial: Trial) -> Trial:
    return replace(trial, params={"number": trial.number, "params": trial.params})

"""The loop around a program: resumed, interrupted, given up."""

import threading
from concurrent.futures import ThreadPoolExecutor

from thomax.cli.evaluation import Evaluation
from thomax.cli.settings import Settings
from thomax.cli.signals import stopped_like_by_ctrl_c, undisturbed
from thomax.optimizer import Optimizer
from thomax.running.giving_up import GivenUpError
from thomax.running.loop import run, show_on_stderr
from thomax.running.workers import own_trial
from thomax.storage.outcomes import Failure, Value
from thomax.storage.trial import Trial


def supervise(
    optimizer: Optimizer, evaluation: Evaluation, settings: Settings, progress: bool
) -> tuple[str, str]:
    """Evaluate trials; return why that ended, and if it was given up the last failure.

    Whatever happens, no program outlives it.

    Args:
        optimizer: The search.
        evaluation: How a trial is evaluated.
        settings: Those of the run.
        progress: Whether to show a progress bar.
    """
    jobs = settings["jobs"]
    stopped = threading.Event()

    def evaluate(trial: Trial) -> Value:
        value = evaluation(trial)
        if stopped.is_set():  # what an ended program prints is no value
            raise Failure("the run was stopped before the program ended by itself")
        return value

    # Threads also for one job: a signal interrupts the main thread, which starts no program.
    threads = ThreadPoolExecutor(jobs)
    try:
        with stopped_like_by_ctrl_c():
            reason = run(
                optimizer,
                evaluate,
                None,
                argument=own_trial,  # logs are named by the trial's number
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

"""Optuna's samplers with several objectives and constraints, by a study that is asked and told.

Starting points are enqueued, so that NSGA-II counts them among its first population; they take the
place of the ten random trials that TPE and the Gaussian process begin with.
"""

import warnings
from typing import Any

from benchmarks.metrics.problem import Array, MetricTask, Params


def nsga2(task: MetricTask, seed: int, starts: int) -> "Study":
    """Return the genetic algorithm NSGA-II with its population of 50."""
    return Study(task, "NSGAIISampler", seed)


def tpe(task: MetricTask, seed: int, starts: int) -> "Study":
    """Return the tree-structured Parzen estimator."""
    return Study(task, "TPESampler", seed, n_startup_trials=starts)


def gp(task: MetricTask, seed: int, starts: int) -> "Study":
    """Return the Gaussian process with logEI or logEHVI, times the probability of feasibility."""
    import torch

    torch.set_num_threads(1)
    return Study(task, "GPSampler", seed, n_startup_trials=starts)


class Study:
    """Ask and tell an Optuna study that minimises."""

    def __init__(self, task: MetricTask, sampler: str, seed: int, **settings: int) -> None:
        import optuna

        from thomax.integrations.optuna_studies import distributions

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._distributions = distributions(task.space.describe())
        self._limits = [*task.limits]
        self._pending: list[tuple[Params, Any]] = []
        self._study = optuna.create_study(
            directions=["minimize"] * len(task.objectives),
            sampler=getattr(optuna.samplers, sampler)(seed=seed, **settings),
        )

    def ask(self, n: int) -> list[Params]:
        """Ask for n trials without telling in between."""
        with warnings.catch_warnings(action="ignore"):  # of parameters drawn at random
            trials = [self._study.ask(self._distributions) for _ in range(n)]
        found = [(dict(trial.params), trial) for trial in trials]
        self._pending += found
        return [params for params, _ in found]

    def tell(self, params: Params, losses: Array, excess: Array) -> None:
        """Tell the trial of these params, or enqueue, ask and tell one."""
        if not any(asked == params for asked, _ in self._pending):
            self._study.enqueue_trial(params)
            self.ask(1)
        place = next(i for i, (asked, _) in enumerate(self._pending) if asked == params)
        trial = self._pending.pop(place)[1]
        for name, over in zip(self._limits, excess.tolist(), strict=True):
            trial.set_constraint(name, over)
        self._study.tell(trial, losses.tolist())

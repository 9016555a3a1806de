"""Rivals with several objectives or limits, at their own defaults, and random search.

    optuna-nsga2, optuna-tpe, optuna-gp   Optuna's samplers; limits by `Trial.set_constraint`
    botorch-qlognehvi                     qLogNoisyExpectedHypervolumeImprovement (several
                                          objectives), limits as its constraints
    botorch-qlognei                       qLogNoisyExpectedImprovement with constraints (one)
    scbo                                  Eriksson and Poloczek (2021) on BoTorch's parts (one)

They are told losses, which are to be minimised, and by how much each limit is exceeded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import numpy as np

from benchmarks.metrics.problem import Array, MetricTask, Params
from benchmarks.rivals.packages import require_packages
from thomax.space.space import Space


class Rival(Protocol):
    """What proposes points to minimise losses where limits hold."""

    def ask(self, n: int) -> list[Params]:
        """Return n points."""

    def tell(self, params: Params, losses: Array, excess: Array) -> None:
        """Learn what a point gave that `ask` returned, or any other."""


@dataclass(frozen=True)
class Entry:
    """Where a rival is made, what it needs, and what it is for."""

    module: str
    maker: str
    packages: tuple[str, ...]
    modes: tuple[str, ...] = ("objectives", "limits")


RIVALS = {
    "optuna-nsga2": Entry("optuna", "nsga2", ("optuna",)),
    "optuna-tpe": Entry("optuna", "tpe", ("optuna",)),
    "optuna-gp": Entry("optuna", "gp", ("optuna", "torch")),
    "botorch-qlognehvi": Entry("botorch", "qlognehvi", ("botorch",), ("objectives",)),
    "botorch-qlognei": Entry("botorch", "qlognei", ("botorch",), ("limits",)),
    "scbo": Entry("scbo", "Scbo", ("botorch",), ("limits",)),
}


def make_rival(name: str, task: MetricTask, seed: int, starts: int) -> Rival:
    """Make the rival of this name, or random search.

    Args:
        name: Of the rival, or "random".
        task: Whose space, objectives and limits it is told.
        seed: Of its random numbers.
        starts: How many points it will be told before it is asked.
    """
    if name == "random":
        return Random(task.space, seed)
    require_packages(name, RIVALS[name].packages)
    module = import_module(f"benchmarks.metrics.rivals.{RIVALS[name].module}")
    maker: Callable[[MetricTask, int, int], Rival] = getattr(module, RIVALS[name].maker)
    return maker(task, seed, starts)


class Random:
    """Points drawn uniformly."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._rng = space, np.random.default_rng(seed)

    def ask(self, n: int) -> list[Params]:
        """Draw n points."""
        return self._space.decode(self._space.sample(self._rng, n))

    def tell(self, params: Params, losses: Array, excess: Array) -> None:
        """Learn nothing."""

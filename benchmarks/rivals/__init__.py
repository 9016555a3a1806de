"""Rival optimisers at their own defaults, through their public interfaces but for one place.

    optuna-tpe, optuna-gp, optuna-cmaes   Optuna's samplers
    botorch-turbo                         TuRBO-1 (Eriksson et al., 2019) on BoTorch's parts
    botorch-qlognei                       BoTorch's SingleTaskGP and qLogNoisyExpectedImprovement
    botorch-ts                            BoTorch's SingleTaskGP and pathwise Thompson draws
    smac                                  SMAC's HyperparameterOptimizationFacade

`improvement` computes BoTorch's qLogNEI of single points faster: it reads a private field and
takes the place of a method; a test compares it with BoTorch's own values.
HEBO is left out: it does not install beside NumPy 2.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Protocol

from threadpoolctl import ThreadpoolController

from benchmarks.rivals.packages import require_packages
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.trial import Trial

Params = dict[str, Any]


class Rival(Protocol):
    """What proposes points to maximise a value; a value of None says that there is none."""

    def ask(self, n: int) -> list[Params]:
        """Return n points, fewer where there are no more."""

    def tell(self, params: Params, value: float | None) -> None:
        """Learn the value of a point that `ask` returned, or of any other."""


@dataclass(frozen=True)
class Entry:
    """Where a rival is made, what it needs, and whether it can choose among candidates."""

    module: str
    maker: str
    packages: tuple[str, ...]
    pools: bool = False


RIVALS = {
    "optuna-tpe": Entry("optuna", "tpe", ("optuna",)),
    "optuna-gp": Entry("optuna", "gp", ("optuna", "torch")),
    "optuna-cmaes": Entry("optuna", "cmaes", ("optuna", "cmaes")),
    "botorch-turbo": Entry("turbo", "Turbo", ("botorch",)),
    "botorch-qlognei": Entry("botorch", "qlognei", ("botorch",), pools=True),
    "botorch-ts": Entry("botorch", "thompson", ("botorch",), pools=True),
    "smac": Entry("smac", "Smac", ("smac",)),
}


def takes_part(name: str, space: Space | Pool) -> bool:
    """Return whether a rival can search a space.

    A candidate's index is no parameter that Optuna, SMAC or a trust region could make sense of,
    and none of the rivals knows our constraints.
    """
    return RIVALS[name].pools if isinstance(space, Pool) else space.constraint is None


def make_rival(name: str, space: Space | Pool, seed: int) -> Rival:
    """Make the rival of this name."""
    if not takes_part(name, space):
        what = "a pool" if isinstance(space, Pool) else "a space with a constraint"
        raise ValueError(f"The method {name} cannot search {what}: leave it out.")
    require_packages(name, RIVALS[name].packages)
    with warnings.catch_warnings(action="ignore"):  # what others warn of is not ours to mend
        for package in RIVALS[name].packages:  # here, so that no ask is timed with an import
            import_module(package)
        module = import_module(f"benchmarks.rivals.{RIVALS[name].module}")
        maker: Callable[[Space | Pool, int], Rival] = getattr(module, RIVALS[name].maker)
        return maker(space, seed)


class Session:
    """A rival behind the part of an optimiser that a run needs; nothing is kept on disk."""

    def __init__(self, rival: Rival, space: Space | Pool) -> None:
        self._rival, self._space = rival, space
        self._threads = ThreadpoolController()  # sees what is loaded: a rival's libraries too
        self._asked: dict[int, Params] = {}  # in the rival's own words, until they are told
        self.trials: list[Trial] = []

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked for and not told."""
        return [self.trials[number] for number in self._asked]

    def ask(self, n: int) -> list[Trial]:
        """Ask the rival for n points of the space."""
        begin = len(self.trials)
        with self._threads.limit(limits=1):  # as we do ourselves, see thomax.model.blas
            points = self._rival.ask(n)
        for own in points:
            self._asked[len(self.trials)] = own
            self.trials.append(Trial(len(self.trials), self._space.validate(own)))
        return self.trials[begin:]

    def tell(self, trial: Trial | Params, value: float | None) -> Trial:
        """Tell the rival a trial's value, or that of a point never asked for."""
        value = None if value is None or not math.isfinite(value) else float(value)
        if not isinstance(trial, Trial):
            trial = Trial(len(self.trials), self._space.validate(trial))
            self.trials.append(trial)
        self._rival.tell(self._asked.pop(trial.number, trial.params), value)
        self.trials[trial.number] = replace(
            trial, value=value, state="failed" if value is None else "complete"
        )
        return self.trials[trial.number]

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        """Leave: there is nothing to close."""

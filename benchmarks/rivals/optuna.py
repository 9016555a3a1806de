"""Optuna's samplers at their defaults, by a study that is asked and told.

TPE and the Gaussian process begin with ten random trials. Starting points take the place of those,
as they do for every other method; where there are fewer, the model begins after them.

Conditions are followed as Optuna's users write them: a parameter is suggested if it is active.
"""

import warnings
from typing import Any

from thomax.space.pool import Pool
from thomax.space.space import Space

Params = dict[str, Any]


def tpe(space: Space | Pool, seed: int) -> "Study":
    """Return the tree-structured Parzen estimator."""
    return Study("TPESampler", space, seed)


def gp(space: Space | Pool, seed: int) -> "Study":
    """Return the Gaussian process."""
    import torch

    torch.set_num_threads(1)
    return Study("GPSampler", space, seed)


def cmaes(space: Space | Pool, seed: int) -> "Study":
    """Return CMA-ES; Optuna draws parameters without an order at random beside it."""
    return Study("CmaEsSampler", space, seed)


_DESIGN = 10  # random trials that some samplers begin with


class Study:
    """Ask and tell an Optuna study that maximises."""

    def __init__(self, sampler: str, space: Space | Pool, seed: int) -> None:
        import optuna

        from thomax.integrations.optuna_studies import distributions

        assert isinstance(space, Space)
        self._optuna = optuna
        self._distributions = distributions(space.describe())
        self._order = _parents_first(space)
        self._parameters = space.parameters
        self._pending: list[tuple[Params, Any]] = []
        self._sampler, self._seed = getattr(optuna.samplers, sampler), seed
        self._has_design, self._asked = sampler != "CmaEsSampler", False
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(direction="maximize", sampler=self._sampler(seed=seed))

    def ask(self, n: int) -> list[Params]:
        """Ask for n trials without telling in between."""
        starts = 0 if self._asked else len(self.study.trials)
        if 0 < starts < _DESIGN and self._has_design:
            self.study.sampler = self._sampler(seed=self._seed, n_startup_trials=starts)
        self._asked = True
        with warnings.catch_warnings(action="ignore"):  # of parameters drawn at random
            asked = [self.study.ask() for _ in range(n)]
            found = [(self._suggested(trial), trial) for trial in asked]
        self._pending += found
        return [params for params, _ in found]

    def tell(self, params: Params, value: float | None) -> None:
        """Tell the trial of these params, or add one."""
        state = self._optuna.trial.TrialState
        for i, (asked, trial) in enumerate(self._pending):
            if asked == params:
                del self._pending[i]
                self.study.tell(trial, value, state.FAIL if value is None else None)
                return
        self.study.add_trial(
            self._optuna.trial.create_trial(
                state=state.FAIL if value is None else state.COMPLETE,
                value=value,
                params=params,
                distributions={name: self._distributions[name] for name in params},
            )
        )

    def _suggested(self, trial: Any) -> Params:
        params: Params = {}
        for name in self._order:
            conditions = self._parameters[name].conditions.items()
            if all(parent in params and params[parent] in v for parent, v in conditions):
                params[name] = _suggest(trial, name, self._distributions[name])
        return params


def _suggest(trial: Any, name: str, distribution: Any) -> Any:
    d = distribution
    if hasattr(d, "choices"):
        return trial.suggest_categorical(name, d.choices)
    suggest = trial.suggest_int if isinstance(d.low, int) else trial.suggest_float
    return suggest(name, d.low, d.high, step=d.step, log=d.log)


def _parents_first(space: Space) -> list[str]:
    """Return the parameters' names, each after those that its condition names."""
    import graphlib

    parents = {name: [*p.conditions] for name, p in space.parameters.items()}
    return [*graphlib.TopologicalSorter(parents).static_order()]

"""SMAC's HyperparameterOptimizationFacade, asked and told; it minimises.

Starting points that are told take the place of its own initial design: ten points for each
parameter, at most a quarter of the trials, here of 100. Listed and stepped parameters
are levels 0, 1, ... in its space.
"""

import logging
import shutil
import tempfile
import weakref
from typing import Any

from thomax.space.parameters import Categorical, Float, Int, Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space

Params = dict[str, Any]

_MANY = 10**6  # trials that SMAC may count on: how many there will be decides the caller
_PER_PARAMETER, _LONGEST = 10, 25  # points of its own design


class Smac:
    """Ask and tell SMAC, whose files are gone with it."""

    def __init__(self, space: Space | Pool, seed: int) -> None:
        assert isinstance(space, Space)
        self._space = space
        self._configurations = _configuration_space(space, seed)
        self._pending: list[tuple[Params, Any]] = []
        self._costs: list[float] = []
        self._seed = seed
        self._facade: Any = None  # until it is known whether starting points are told

    def _started(self, design: int) -> Any:
        """Return SMAC, made at the first call with a design of its own of so many points."""
        if self._facade is None:
            self._facade = self._make(design)
        return self._facade

    def _make(self, design: int) -> Any:
        from smac import HyperparameterOptimizationFacade as Facade
        from smac import Scenario

        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        logging.getLogger("smac").setLevel(logging.ERROR)
        scenario = Scenario(
            self._configurations, deterministic=True, n_trials=_MANY, seed=self._seed,
            output_directory=folder,
        )  # fmt: skip
        return Facade(
            scenario,
            lambda config, seed: 0.0,  # never called: values are told
            initial_design=Facade.get_initial_design(scenario, n_configs=design),
            logging_level=False,
        )

    def ask(self, n: int) -> list[Params]:
        """Ask for n configurations without telling in between."""
        own = min(_LONGEST, _PER_PARAMETER * len(self._space.parameters))
        infos = [self._started(own).ask() for _ in range(n)]
        found = [(self._params(info.config), info) for info in infos]
        self._pending += found
        return [params for params, _ in found]

    def tell(self, params: Params, value: float | None) -> None:
        """Tell the cost of a configuration: minus the value."""
        from smac.runhistory.dataclasses import TrialValue
        from smac.runhistory.enumerations import StatusType

        status = StatusType.CRASHED if value is None else StatusType.SUCCESS
        # A crash has no cost in SMAC's model but the worst so far: infinity breaks its encoder.
        cost = max(self._costs, default=0.0) if value is None else -value
        self._costs.append(cost)
        self._started(0).tell(self._info(params), TrialValue(cost, status=status), save=False)

    def _info(self, params: Params) -> Any:
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo

        for i, (asked, info) in enumerate(self._pending):
            if asked == params:
                del self._pending[i]
                return info
        values = {name: _own(self._space.parameters[name], v) for name, v in params.items()}
        return TrialInfo(Configuration(self._configurations, values=values), seed=0)

    def _params(self, configuration: Any) -> Params:
        found = dict(configuration)
        return {
            name: p.value_of(int(found[name])) if _is_level(p) else found[name]
            for name, p in self._space.parameters.items()
            if name in found
        }


def _is_level(p: Parameter) -> bool:
    plain = (isinstance(p, Float) and p.step is None) or (isinstance(p, Int) and p.step == 1)
    return not plain or p.scale.count == 1  # a range needs two ends


def _own(p: Parameter, value: Any) -> Any:
    return int(p.code_of(value)) if _is_level(p) else value


def _configuration_space(space: Space, seed: int) -> Any:
    from ConfigSpace import AndConjunction, ConfigurationSpace, InCondition

    made = {name: _hyperparameter(name, p) for name, p in space.parameters.items()}
    configurations = ConfigurationSpace(seed=seed)
    configurations.add(*made.values())
    for name, p in space.parameters.items():
        conditions = [
            InCondition(made[name], made[parent], [_own(space.parameters[parent], v) for v in vs])
            for parent, vs in p.conditions.items()
        ]
        if conditions:
            both = AndConjunction(*conditions) if len(conditions) > 1 else conditions[0]
            configurations.add(both)
    return configurations


def _hyperparameter(name: str, p: Parameter) -> Any:
    import ConfigSpace

    if isinstance(p, Float) and not _is_level(p):
        return ConfigSpace.Float(name, (p.low, p.high), log=p.log)
    if isinstance(p, Int) and not _is_level(p):
        return ConfigSpace.Integer(name, (p.low, p.high), log=p.log)
    levels = [*range(int(p.scale.count))]
    if isinstance(p, Categorical):
        return ConfigSpace.Categorical(name, levels)
    return ConfigSpace.OrdinalHyperparameter(name, levels)

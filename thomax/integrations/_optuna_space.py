"""Optuna's distributions as thomax spaces.

A *point* holds values as Optuna keeps them internally: numbers as they are, of a choice its index.
So every distribution, whatever its choices are, becomes a thomax parameter over numbers. A *view*
is what the sampler needs to know of a space: which points trials are, where they lie, and what
Optuna calls them.
"""

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from thomax.space.encoding import Places
from thomax.space.given import Region, region_of
from thomax.space.parameters import Categorical, Float, Int, Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.space.values import Scalar
from thomax.support.types import Params, ParamsLike

Distributions = dict[str, BaseDistribution]
Point = dict[str, Any]  # numbers, also of choices

_MOST_LEVELS = 16  # of a parameter that others may depend on


def parameter_of(distribution: BaseDistribution) -> Parameter | None:
    """Return the parameter over a distribution's internal values, or None if there is none.

    Args:
        distribution: A distribution of Optuna.
    """
    d = distribution
    try:
        if isinstance(d, CategoricalDistribution):
            return Categorical(range(len(d.choices)))
        if isinstance(d, FloatDistribution):
            return Float(d.low, d.high, log=d.log, step=d.step)
        if isinstance(d, IntDistribution):
            return Int(d.low, d.high, log=d.log, step=d.step)
    except ValueError:  # wider or finer than float64 resolves
        pass
    return None


def latest_distributions(trials: Iterable[FrozenTrial]) -> Distributions:
    """Return for every parameter that some trial used its newest distribution, sorted by name.

    Left out are distributions of a single value, which Optuna sets itself, and the few that
    thomax cannot search.

    Args:
        trials: The trials of a study.
    """
    latest: Distributions = {}
    for trial in sorted(trials, key=lambda t: t.number):
        latest.update(trial.distributions)
    return {
        name: latest[name]
        for name in sorted(latest)  # processes must agree on the order
        if not latest[name].single() and parameter_of(latest[name]) is not None
    }


@dataclass(frozen=True)
class SpaceView:
    """The present distributions as a space, in whose coordinates all of history is data.

    Args:
        distributions: Optuna's distributions by the names of parameters.
        space: The thomax space of their internal values.
    """

    distributions: Distributions
    space: Space

    @classmethod
    def of(
        cls, distributions: Mapping[str, BaseDistribution], trials: Iterable[FrozenTrial] = ()
    ) -> "SpaceView":
        """Return the view of distributions.

        Args:
            distributions: Optuna's distributions by the names of parameters.
            trials: Trials that show which parameters depend on which.
        """
        ordered = {name: distributions[name] for name in sorted(distributions)}
        found = {name: parameter_of(d) for name, d in ordered.items()}
        parameters = {name: p for name, p in found.items() if p is not None}
        free = cls(ordered, Space(parameters))
        whole = [t.params for t in trials if t.state == TrialState.COMPLETE]
        conditions = inferred_conditions(parameters, [free.point(params) for params in whole])
        for name, when in conditions.items():
            parameters[name] = replace(parameters[name], when=when)
        return cls(ordered, Space(parameters))

    def point(self, params: ParamsLike) -> Point:
        """Return what of the params has a place in the space: absent parameters are inactive.

        Args:
            params: Params as Optuna's users see them.
        """
        found = {}
        for name, distribution in self.distributions.items():
            if name in params:
                # A choice that no longer exists, or a number where choices are now.
                with contextlib.suppress(ValueError, TypeError):
                    found[name] = distribution.to_internal_repr(params[name])
        return {name: value for name, value in found.items() if math.isfinite(value)}

    def inside(self, point: Point) -> Point | None:
        """Return the point in canonical form if it could be proposed now.

        Args:
            point: Internal values by the names of parameters.
        """
        try:
            return self.space.validate(point)
        except ValueError:
            return None

    def rows(self, points: Sequence[Point]) -> Places:
        """Return the places of points: 0 where inactive, outside the cube where out of range.

        Args:
            points: Points, which may lack parameters or lie out of range.
        """
        x = np.zeros((len(points), self.space.dimension))
        for block in self.space.blocks:
            here = [i for i, point in enumerate(points) if block.name in point]
            values = np.array([points[i][block.name] for i in here], np.float64)
            if here:
                x[here, block.columns] = _placed(self.space.parameters[block.name], values)
        return x

    def params(self, point: Point) -> Params:
        """Return the point's values as Optuna's users see them.

        Args:
            point: Internal values by the names of parameters.
        """
        return {name: self.distributions[name].to_external_repr(v) for name, v in point.items()}


def inferred_conditions(
    parameters: Mapping[str, Parameter], points: Sequence[Point]
) -> dict[str, dict[str, list[Scalar]]]:
    """Guess from complete trials when a parameter is used, in the form of a thomax condition.

    A parameter absent from some trials depends on another if each value of the other goes either
    always or never with it. Values not seen yet may go with it. Of several explanations the one
    of fewest values is taken; what contradicts a guess ends it.

    Args:
        parameters: All parameters.
        points: The points of complete trials.
    """
    uses = {name: sum(name in point for point in points) for name in parameters}
    levels = {
        name: [p.value_of(level) for level in range(int(p.scale.count))]
        for name, p in parameters.items()
        if isinstance(p, Categorical | Int) and p.scale.count <= _MOST_LEVELS
    }
    conditions = {}
    for name in (n for n in parameters if 0 < uses[n] < len(points)):
        # A parent is used more often than its child: conditions make no circle.
        parents = [n for n in levels if uses[n] > uses[name]]
        for parent in sorted(parents, key=lambda n: (len(levels[n]), n)):
            present = [point[parent] for point in points if parent in point and name in point]
            absent = {point[parent] for point in points if parent in point and name not in point}
            allowed = [level for level in levels[parent] if level not in absent]
            if len(present) == uses[name] and absent.isdisjoint(present) and allowed:
                conditions[name] = {parent: allowed}
                break
    return conditions


@dataclass(frozen=True)
class PoolView:
    """A pool of candidates as one integer parameter whose value is the candidate's row.

    Args:
        name: What the objective calls the parameter.
        space: The pool.
    """

    name: str
    space: Pool

    @property
    def distributions(self) -> Distributions:
        """What the objective has to ask for."""
        return {self.name: IntDistribution(0, self.space.size - 1)}

    def require_same_pool(self, trials: Iterable[FrozenTrial]) -> None:
        """Refuse a study whose trials chose from another pool.

        Args:
            trials: The trials of a study.
        """
        for trial in trials:
            used = trial.distributions.get(self.name)
            if used is not None:
                self.require_same_distribution(used)

    def require_same_distribution(self, used: BaseDistribution) -> None:
        """Refuse a parameter that does not count this pool's candidates.

        Args:
            used: The distribution that a trial used.
        """
        high = self.space.size - 1
        if used != IntDistribution(0, high):
            raise ValueError(
                f"The pool needs {self.name!r} to be suggest_int({self.name!r}, 0, {high}), "
                f"one value for each candidate; got {used}: use the same pool and range."
            )

    def point(self, params: ParamsLike) -> Point:
        """Return the candidate that params name, or nothing.

        Args:
            params: Params as Optuna's users see them.
        """
        index = params.get(self.name)
        is_row = isinstance(index, int) and 0 <= index < self.space.size
        return {"index": int(index)} if is_row and index is not None else {}

    def inside(self, point: Point) -> Point | None:
        """Return the point: what has a place in a pool can be proposed.

        Args:
            point: The index of a candidate, in a dict.
        """
        return point

    def rows(self, points: Sequence[Point]) -> np.ndarray:
        """Return the features of candidates.

        Args:
            points: The indices of candidates, each in a dict.
        """
        return self.space.at([point["index"] for point in points])

    def params(self, point: Point) -> Params:
        """Return the row as Optuna's users see it.

        Args:
            point: The index of a candidate, in a dict.
        """
        return {self.name: point["index"]}


View = SpaceView | PoolView


def region_where(view: View, params: ParamsLike) -> Region:
    """Return the region of a view's space where params have these values.

    What the space has no place for is left out, and so is a parameter that is active only for
    some values of one that is not decided: Optuna's users fix its value, not that it is used.

    Args:
        view: The space of a study.
        params: What is decided, as Optuna's users see it.
    """
    point = view.point(params)
    if isinstance(view, PoolView):
        return region_of(view.space, point)
    given: Point = {}
    for name, parents in view.space.conditions.items():  # each follows its parents
        if name in point and all(parent in given for parent in parents):
            with contextlib.suppress(ValueError):  # out of range, or inactive
                region_of(view.space, given | {name: point[name]})
                given[name] = point[name]
    return region_of(view.space, given)


def _placed(parameter: Parameter, values: NDArray[np.float64]) -> Places:
    """Place values of a parameter that may lie out of its range or between its levels."""
    if isinstance(parameter, Categorical):
        return parameter.scale.place(values.astype(np.int64))
    codes = values
    if isinstance(parameter, Int | Float) and parameter.step is not None:
        codes = (values - parameter.low) / parameter.step
        level = np.rint(codes)
        codes = np.where(np.abs(codes - level) < 1e-6, level, codes)
    with np.errstate(over="ignore"):  # far out may be infinitely far
        return _drawn_in(parameter.scale.place(codes))


def _drawn_in(u: Places) -> Places:
    """Leave the cube as it is and pull what lies outside to within 3, keeping the order.

    So values of an earlier, wider range still teach, and cannot dwarf the present one.
    """
    size = np.minimum(np.abs(u), 1e9)
    excess = np.maximum(size - 1, 0)
    return np.sign(u) * (np.minimum(size, 1) + excess / (1 + excess / 2))

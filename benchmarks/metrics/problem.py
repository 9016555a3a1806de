"""What this comparison optimises: evaluations that return several named numbers.

Notation:
    losses   the objectives, each with the sign that makes smaller better       (m,)
    excess   by how much limits are exceeded, in shares of their bounds         (c,)

A limit reads "<= 3" or ">= 3". Its excess is divided by the bound where that is not zero, which
helps those rivals that add up the violations of all limits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thomax.space.space import Space

Params = dict[str, Any]
Values = dict[str, float]
Array = NDArray[np.float64]
Direction = Literal["minimize", "maximize"]


@dataclass(frozen=True, eq=False)
class MetricTask:
    """A black box with several numbers for each point, none of them noisy.

    Args:
        name: Of the task.
        space: Where it is defined.
        evaluate: Returns all metrics of a point by name.
        objectives: Names of metrics, and their directions.
        limits: Names of metrics, and what must hold.
        reference: The point that bounds hypervolumes, in the order of the objectives; none for a
            single objective.
        volume: The hypervolume of the true front, where it is known.
        best: The best feasible value that is known of a single objective.
        source: Where the problem is from.
    """

    name: str
    space: Space
    evaluate: Callable[[Params], Values]
    objectives: Mapping[str, Direction]
    limits: Mapping[str, str] = field(default_factory=dict)
    reference: tuple[float, ...] = ()
    volume: float | None = None
    best: float | None = None
    source: str = ""

    @property
    def has_front(self) -> bool:
        """Whether there are several objectives."""
        return len(self.objectives) > 1

    def losses(self, values: Mapping[str, float]) -> Array:
        """Return the objectives, to be minimised.

        Example:
            >>> from benchmarks.metrics.registry import metric_task
            >>> metric_task("gramacy").losses({"value": 0.7, "wave": 0.1, "circle": -1.0})
            array([0.7])
        """
        return np.array([_SIGNS[d] * values[name] for name, d in self.objectives.items()])

    def reference_losses(self) -> Array:
        """Return the reference point, to be minimised."""
        return self.losses(dict(zip(self.objectives, self.reference, strict=True)))

    def excess(self, values: Mapping[str, float]) -> Array:
        """Return by how much each limit is exceeded; it holds where this is zero or less."""
        return np.array([_excess(values[name], limit) for name, limit in self.limits.items()])

    def is_feasible(self, values: Mapping[str, float]) -> bool:
        """Return whether all limits hold."""
        return all(e <= 0 for e in self.excess(values))


_SIGNS = {"minimize": 1.0, "maximize": -1.0}


def _excess(value: float, limit: str) -> float:
    sign, bound = limit.split()
    over = value - float(bound)
    scale = abs(float(bound)) or 1.0
    return (over if sign == "<=" else -over) / scale


def named(names: Sequence[str], numbers: Array) -> Values:
    """Return numbers by name.

    Example:
        >>> named(["f1", "f2"], np.array([1.0, 2.0]))
        {'f1': 1.0, 'f2': 2.0}
    """
    return {name: float(number) for name, number in zip(names, numbers, strict=True)}

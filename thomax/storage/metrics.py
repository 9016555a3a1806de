"""What is measured in an evaluation: objectives, and limits that a good one keeps.

Notation:
    margin      how far a value lies inside its limit, in its units: feasible where it is >= 0
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thomax.storage.trial import Direction
from thomax.support.spelling import nearest
from thomax.support.types import Json

UNNAMED = "value"  # what the objective is called where nobody named it
MOST_OBJECTIVES = 4
_DIRECTIONS: dict[str, Direction] = {"maximize": "maximize", "minimize": "minimize"}
_LIMIT = re.compile(r"\s*(<=?|>=?)\s*(\S+)\s*")
# Columns of tables, and fields of records, that are no metrics.
_RESERVED = {"number", "state", "error", "note", "noise_std"}


@dataclass(frozen=True)
class Limit:
    """A bound that a metric keeps in a feasible evaluation.

    Args:
        is_upper: Whether the metric must be at most the bound, and not at least.
        bound: The bound, which is allowed itself.

    Examples:
        >>> Limit.parse("impurity", "<= 0.02").margin(0.034) < 0
        True
    """

    is_upper: bool
    bound: float

    @classmethod
    def parse(cls, name: str, text: object) -> "Limit":
        """Return the limit that a text states, or raise.

        Args:
            name: The metric.
            text: A comparison such as "<= 0.02"; "<" is taken as "<=", and ">" as ">=".
        """
        found = _LIMIT.fullmatch(text) if isinstance(text, str) else None
        try:
            bound = float(found[2]) if found else math.nan
        except ValueError:
            bound = math.nan
        if found is None or not math.isfinite(bound):
            raise ValueError(
                f'A limit needs "<=" or ">=" and a number, got {text!r} for {name!r}: '
                'write it like "<= 0.02".'
            )
        return cls(found[1].startswith("<"), bound)

    def margin(self, value: float) -> float:
        """Return how far a value lies inside the limit; it is feasible if that is >= 0.

        Args:
            value: A value of the metric.
        """
        return self.bound - value if self.is_upper else value - self.bound

    def __str__(self) -> str:
        return f"{'<=' if self.is_upper else '>='} {self.bound!r}"


@dataclass(frozen=True)
class Metrics:
    """The objectives and limits of a search.

    Args:
        objectives: Whether each is to be maximised or minimised, by its name.
        limits: The limits of metrics, objectives among them or not, by their names.
        is_named: Whether the objectives were named; if not there is one, called "value".

    Examples:
        >>> print(Metrics.of({"yield": "maximize"}, {"impurity": "<= 0.02"}))
        maximize yield, impurity <= 0.02
        >>> Metrics().is_plain
        True
    """

    objectives: Mapping[str, Direction] = field(default_factory=lambda: {UNNAMED: "maximize"})
    limits: Mapping[str, Limit] = field(default_factory=dict)
    is_named: bool = False

    @classmethod
    def of(
        cls,
        objectives: Mapping[str, Direction] | None = None,
        limits: Mapping[str, str] | None = None,
        direction: Direction = "maximize",
        who: str = "Optimizer",
    ) -> "Metrics":
        """Return the metrics that a user has named, or raise.

        Args:
            objectives: "maximize" or "minimize" by the objective's name; None for one without.
            limits: Comparisons such as "<= 0.02", by the metric's name.
            direction: That of the objective without a name.
            who: The public class or function that was given them.
        """
        if direction not in _DIRECTIONS:
            raise ValueError(f'{who} needs direction "maximize" or "minimize", got {direction!r}.')
        if objectives is not None and direction != "maximize":
            raise ValueError(
                f"{who} needs objectives or a direction, got both ({dict(objectives)} and "
                f"{direction!r}): the objectives have a direction each."
            )
        wanted = {UNNAMED: direction} if objectives is None else _checked(who, objectives)
        for name in _names(who, "limits", {} if limits is None else limits):
            _require_usable(who, name)
        found = {name: Limit.parse(name, text) for name, text in (limits or {}).items()}
        return cls(wanted, found, objectives is not None)

    @classmethod
    def of_header(cls, header: Mapping[str, Json]) -> "Metrics":
        """Return the metrics that the header of a journal names.

        Args:
            header: The first record of a journal.
        """
        given: dict[str, Any] = {
            name: header[name] for name in ("objectives", "limits", "direction") if name in header
        }
        return cls.of(**given)

    @property
    def is_plain(self) -> bool:
        """Whether there is one objective without a name, and no limit: a value is a number."""
        return not self.is_named and not self.limits

    @property
    def is_one(self) -> bool:
        """Whether there is one objective, named or not, and no limit."""
        return len(self.objectives) == 1 and not self.limits

    @property
    def names(self) -> list[str]:
        """The names of all metrics: the objectives, then what is only limited."""
        return [*dict.fromkeys([*self.objectives, *self.limits])]

    @property
    def direction(self) -> Direction:
        """The direction of the first objective."""
        return next(iter(self.objectives.values()))

    @property
    def only(self) -> str | None:
        """The name of the objective, if there is one and no more."""
        return next(iter(self.objectives)) if len(self.objectives) == 1 else None

    def better(self, name: str) -> Direction:
        """Return which values of a metric are better: of one that is only limited, which keep it.

        Args:
            name: The metric.
        """
        if name in self.objectives:
            return self.objectives[name]
        return "minimize" if self.limits[name].is_upper else "maximize"

    def options(self) -> dict[str, Any]:
        """Return the arguments of Optimizer, and the fields of a header, that state these."""
        limits = {name: str(limit) for name, limit in self.limits.items()}
        found: dict[str, Any] = {"limits": limits} if limits else {}
        if self.is_named:
            return {"objectives": dict(self.objectives), **found}
        return {"direction": self.direction, **found}

    def __str__(self) -> str:
        if not self.is_named:
            aims: list[str] = [self.direction]
        else:
            aims = [f"{direction} {name}" for name, direction in self.objectives.items()]
        return ", ".join([*aims, *(f"{name} {limit}" for name, limit in self.limits.items())])


PLAIN = Metrics()


def _checked(who: str, objectives: Mapping[str, Direction]) -> dict[str, Direction]:
    names = _names(who, "objectives", objectives)
    if not 1 <= len(names) <= MOST_OBJECTIVES:
        raise ValueError(
            f"{who} needs one to {MOST_OBJECTIVES} objectives, got {len(names)}: state the others "
            'as limits, such as limits={"cost": "<= 5"}.'
        )
    for name, direction in objectives.items():
        _require_usable(who, name)
        if not isinstance(direction, str) or direction not in _DIRECTIONS:
            raise ValueError(
                f'{who} needs "maximize" or "minimize" for the objective {name!r}, '
                f"got {direction!r}."
            )
    return dict(objectives)


def _names(who: str, what: str, given: object) -> list[str]:
    example = '{"yield": "maximize"}' if what == "objectives" else '{"impurity": "<= 0.02"}'
    if not isinstance(given, Mapping) or not all(isinstance(n, str) and n for n in given):
        raise TypeError(f"{who} needs {what} by their names, got {given!r}: pass {example}.")
    return [*given]


def _require_usable(who: str, name: str) -> None:
    if name in _RESERVED:
        raise ValueError(
            f"{who} needs another name than {name!r} for a metric: tables and journals have "
            "something else under it."
        )


def require_metrics(who: str, names: Mapping[str, object], metrics: Metrics) -> None:
    """Refuse names that no metric of the search has.

    Args:
        who: The public method that was given them.
        names: What was given, by the names.
        metrics: The metrics that there are.
    """
    for name in names:
        if name not in metrics.names:
            raise ValueError(
                f"{who} needs values of {' and '.join(map(repr, metrics.names))}, got one of "
                f"{name!r}: {nearest(name, metrics.names)}"
            )

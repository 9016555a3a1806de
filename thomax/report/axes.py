"""Axes of figures: where a parameter's value stands, and what is written beside it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

from thomax.space.parameters import Listed, Numeric, Parameter

_TICKS = 5
_MOST_TICKS = 12  # of listed values, side by side


@dataclass(frozen=True)
class Axis:
    """A range of numbers, linear or logarithmic, or a list of values at 0, 1, 2, ...

    Args:
        name: The parameter.
        low: The smallest number on the axis.
        high: The largest number on the axis.
        log: Whether the axis is logarithmic.
        options: The values of a parameter that is chosen from a list.

    Examples:
        >>> Axis("lr", 1e-4, 1.0, log=True).unit(1e-2)
        0.5
        >>> Axis("kind", 0, 1, options=("adam", "sgd")).coordinate("sgd")
        1.0
    """

    name: str
    low: float
    high: float
    log: bool = False
    options: Sequence[object] | None = None

    def coordinate(self, value: object) -> float:
        """Return the number at which a value is plotted.

        Args:
            value: A value of the parameter.
        """
        if self.options is None:
            assert isinstance(value, SupportsFloat)
            return float(value)
        # By their text: True is not 1, though Python finds them equal.
        return float([repr(option) for option in self.options].index(repr(value)))

    def unit(self, value: object) -> float:
        """Return where a value stands between the ends of the axis, 0 and 1.

        Args:
            value: A value of the parameter.
        """
        return self._unit(self.coordinate(value))

    def ticks(self) -> list[tuple[float, str]]:
        """Return units and texts of a few values."""
        if self.options is not None:
            every = math.ceil(len(self.options) / _MOST_TICKS)
            return [(self._unit(i), str(v)) for i, v in enumerate(self.options) if i % every == 0]
        numbers = _powers(self.low, self.high) if self.log else _round_numbers(self.low, self.high)
        return [(self._unit(number), f"{number:.4g}") for number in numbers]

    def _unit(self, number: float) -> float:
        if self.low == self.high:
            return 0.5
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)


def axis_of(name: str, parameter: Parameter) -> Axis:
    """Return the axis of a parameter of a space.

    Args:
        name: The parameter's name.
        parameter: The parameter.
    """
    match parameter:
        case Numeric():
            return Axis(name, parameter.low, parameter.high, parameter.log)
        case Listed():
            return Axis(name, 0, len(parameter.options) - 1, options=parameter.options)
    raise TypeError(f"A parameter needs numbers or listed values for an axis, got {parameter}.")


def axis_of_values(name: str, values: Iterable[object]) -> Axis:
    """Return the axis of a table's column, of which only some values are known.

    Args:
        name: The column's name.
        values: The values that are known.
    """
    known = [*{repr(v): v for v in values}.values()]
    numbers = [v for v in known if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == len(known):
        return Axis(name, min(numbers), max(numbers))
    options = sorted(known, key=str)
    return Axis(name, 0, len(options) - 1, options=options)


def _round_numbers(low: float, high: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten."""
    if low == high:
        return [low]
    rough = (high - low) / _TICKS
    if rough == 0:  # the smallest numbers there are
        return [low, high]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Return powers of ten, or the ends where there are fewer than two."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last <= first:
        return [low, high]
    return [10.0**k for k in range(first, last + 1, math.ceil((last - first) / _TICKS))]

"""Parameters: what one named value of a search may be, and where it lies in the cube.

Three steps lead from a value to the cube; the middle one makes points comparable:

    value   what the user reads and writes               0.01, "adam", True
    code    the value's level 0, 1, ... as an integer; an unstepped Float is its own code
    place   the code's columns in the cube [-1, 1]^d

A parameter maps values ↔ codes one by one, its scale maps codes ↔ places as arrays. A place
read and placed again is the same bit for bit, so a replayed journal is the same data.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from thomax.space.choices import PLAIN, Labelled, Options, checked_options
from thomax.space.encoding import Codes, Grid, Interval, LogGrid, OneHot, Scale
from thomax.space.values import Scalar, are_equal, copied, identity, python_scalar, shortened
from thomax.support.spelling import spell_checked
from thomax.support.types import Json
from thomax.support.user_warnings import warn

LARGEST_FLOAT = float(np.finfo(np.float64).max)
LARGEST_INT = 2**53  # beyond it float64 skips integers
LARGEST_LOG_INT = 2**40  # beyond it neighbours share one float64 on the logarithmic scale
NOTABLE_REST = 1e-6  # of a step between the last grid point and high: less is rounding


@dataclass(frozen=True, repr=False)
class Parameter(ABC):
    """What a Space names: one of Float, Int, Categorical, Ordinal, Bool.

    Args:
        when: Other parameters' names, each with a value or a list of values. The parameter is
            active only where all of them are active and have such a value.
    """

    when: Mapping[str, Scalar | Collection[Scalar]] | None = field(
        default=None, kw_only=True, hash=False
    )
    is_ordered: ClassVar[bool] = True  # whether neighbouring values are alike

    def __post_init__(self) -> None:
        if self.when is not None:
            self._store(when=_checked_when(self.when) or None)

    @property
    def conditions(self) -> dict[str, tuple[Scalar, ...]]:
        """The names of `when`, each with all its values."""
        return {name: _condition_values(given) for name, given in (self.when or {}).items()}

    @cached_property
    def scale(self) -> Scale:
        """Where the codes lie in the cube."""
        return self._scale()

    @abstractmethod
    def _scale(self) -> Scale: ...

    @abstractmethod
    def code_of(self, value: object) -> float:
        """Return the code of a value.

        Args:
            value: What the user gave.

        Raises:
            ValueError: If it is none of the parameter's values: "needs ..., got ...".
        """

    def codes_of(self, values: Sequence[object]) -> Codes:
        """Return the codes of many values, each distinct one looked at once.

        Args:
            values: What the user gave, each as for `code_of`.

        Raises:
            ValueError: If one of them is none of the parameter's values.
            TypeError: If one of them is no plain value: look at them one by one.
        """
        known: dict[tuple[type, object], float] = {}
        keys = [(type(value), value) for value in values]  # True is another value than 1
        for kind, value in dict.fromkeys(keys):
            if kind not in PLAIN:
                raise TypeError(f"needs plain values, got {value!r}")
            known[kind, value] = self.code_of(value)
        codes = [known[key] for key in keys]
        is_listed = math.isfinite(self.scale.count)
        return np.array(codes, np.int64) if is_listed else np.array(codes, np.float64)

    @abstractmethod
    def value_of(self, code: float) -> Scalar:
        """Return the value of a code; `value_of(code_of(value))` is a value's canonical form.

        Args:
            code: A code of the parameter's scale.
        """

    def condition_code_of(self, value: Scalar) -> float:
        """Return the code of a value that a condition names.

        Args:
            value: A value, or the label of an object.
        """
        return self.code_of(value)

    def describe(self) -> dict[str, Json]:
        """Return the parameter as a JSON-able dictionary."""
        description: dict[str, Json] = {"type": type(self).__name__}
        if self.when is not None:
            description["when"] = {name: [*values] for name, values in self.conditions.items()}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name != "when":
                is_listed = isinstance(value, tuple | Labelled)
                description[f.name] = list(value) if is_listed else value
            if isinstance(value, Labelled):  # the labels alone do not bring the objects back
                description["labelled"] = True
        return description

    def __repr__(self) -> str:
        parts = []
        for f in sorted(fields(self), key=lambda f: bool(f.kw_only)):
            value = getattr(self, f.name)
            shown = shortened(value) if isinstance(value, tuple) else repr(value)
            if f.default is MISSING:
                parts.append(shown)
            elif value != f.default:
                parts.append(f"{f.name}={shown}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _store(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, repr=False)
class Numeric(Parameter):
    """A number between two bounds: what Float and Int have in common.

    Args:
        low: The smallest value.
        high: The largest value.
        log: Whether equal ratios, not equal differences, are equally far apart.
        when: See Parameter.
    """

    low: float
    high: float
    log: bool = False

    def _check_log(self, step: float | None) -> None:
        kind = type(self).__name__
        if self.log and self.low <= 0:
            raise ValueError(f"{kind} with log=True needs low > 0, got low={self.low}.")
        if self.log and step is not None:
            raise ValueError(f"{kind} takes log=True or a step, got both (step={step}).")


@spell_checked
@dataclass(frozen=True, repr=False)
class Float(Numeric):
    """A real number between two bounds, both included.

    Args:
        low: The smallest value.
        high: The largest value.
        log: Whether to search evenly over the logarithm.
        step: Allow only low, low + step, ...; `high` is lowered to the last of them, with a
            warning.
        when: Make the parameter active only where others have certain values.

    Examples:
        >>> Float(1e-5, 1, log=True)
        Float(1e-05, 1.0, log=True)
        >>> Float(0, 0.9, step=0.3)
        Float(0.0, 0.9, step=0.3)
    """

    step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = _finite("low", self.low), _finite("high", self.high)
        if not low < high:
            raise ValueError(f"Float needs low < high, got low={self.low}, high={self.high}.")
        if not math.isfinite(high - low):
            raise ValueError(f"Float needs high - low below 1.8e308, got low={low}, high={high}.")
        self._check_log(self.step)
        if self.log and high / 1e308 >= low:
            raise ValueError(
                f"Float with log=True needs high / low below 1e308, got low={low}, high={high}."
            )
        self._store(low=low, high=high, log=bool(self.log))
        if self.step is not None:
            self._fit_to_step(_finite("step", self.step))

    def _fit_to_step(self, step: float) -> None:
        width = _decimal(self.high) - _decimal(self.low)
        if step <= 0 or _decimal(step) > width:
            raise ValueError(f"Float needs 0 < step <= high - low = {width}, got step={step}.")
        if step < 4 * math.ulp(max(abs(self.low), abs(self.high))):
            raise ValueError(
                f"Float needs a step that float64 resolves between {self.low} and {self.high}, "
                f"got step={step}: leave it out."
            )
        self._store(step=step)
        last = self.value_of(int(width // _decimal(step)))
        if self.high - last > NOTABLE_REST * step:
            _warn_of_lower_end(self, last)
        self._store(high=last)

    def _scale(self) -> Interval | Grid:
        if self.step is None:
            return Interval(self.low, self.high, self.log)
        return Grid(int(self.code_of(self.high)) + 1)

    # Decimal arithmetic gives the grid points people write: 0.3, not 0.30000000000000004.

    def code_of(self, value: object) -> float:
        """Return the number itself, or its level on the grid.

        Args:
            value: A number.
        """
        number = _number(value)
        if not self.low <= number <= self.high:
            raise ValueError(f"needs a number from {self.low} to {self.high}, got {value!r}")
        if self.step is None:
            return float(number) + 0.0  # turns -0.0 into 0.0
        level = round((_decimal(float(number)) - _decimal(self.low)) / _decimal(self.step))
        on_grid = self.value_of(level)
        if abs(on_grid - number) > 1e-9 * self.step:
            raise ValueError(
                f"needs {self.low} plus a multiple of {self.step}, got {value!r} "
                f"(the nearest is {on_grid})"
            )
        return level

    def codes_of(self, values: Sequence[object]) -> Codes:
        """Return the numbers themselves, or their levels on the grid.

        Args:
            values: Numbers.
        """
        if self.step is None and all(type(value) is float for value in values):
            numbers = np.array(values, np.float64)
            if ((self.low <= numbers) & (numbers <= self.high)).all():
                return numbers + 0.0
        return super().codes_of(values)

    def value_of(self, code: float) -> float:
        """Return the code itself, or the grid point of this level.

        Args:
            code: A number, or a level.
        """
        if self.step is None:
            return float(code)
        return float(_decimal(self.low) + int(code) * _decimal(self.step))


@spell_checked
@dataclass(frozen=True, repr=False)
class Int(Numeric):
    """A whole number between two bounds, both included.

    Args:
        low: The smallest value.
        high: The largest value.
        log: Whether to search evenly over the logarithm.
        step: Allow only low, low + step, ...; `high` is lowered to the last of them, with a
            warning.
        when: Make the parameter active only where others have certain values.

    Examples:
        >>> Int(16, 512, log=True)
        Int(16, 512, log=True)
        >>> Int(0, 8, step=4)
        Int(0, 8, step=4)
    """

    low: int
    high: int
    step: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high, step = (_whole(n, getattr(self, n)) for n in ("low", "high", "step"))
        if low > high:
            raise ValueError(f"Int needs low <= high, got low={low}, high={high}.")
        if step < 1 or step > max(high - low, 1):
            raise ValueError(f"Int needs 1 <= step <= high - low = {high - low}, got step={step}.")
        self._check_log(None if step == 1 else step)
        if self.log and high > LARGEST_LOG_INT:
            raise ValueError(
                f"Int with log=True needs high <= 2**40, got high={high}: use Float with log=True."
            )
        self._store(low=low, high=high, log=bool(self.log), step=step)
        if rest := (high - low) % step:
            _warn_of_lower_end(self, high - rest)
            self._store(high=high - rest)

    def _scale(self) -> Grid | LogGrid:
        count = self.code_of(self.high) + 1
        return LogGrid(self.low, count) if self.log and count > 1 else Grid(count)

    def code_of(self, value: object) -> int:
        """Return how many steps the number lies above low.

        Args:
            value: A whole number.
        """
        number = _number(value)
        if not self.low <= number <= self.high or number != int(number):
            raise ValueError(f"needs a whole number from {self.low} to {self.high}, got {value!r}")
        level, rest = divmod(int(number) - self.low, self.step)
        if rest:
            raise ValueError(f"needs {self.low} plus a multiple of {self.step}, got {value!r}")
        return level

    def value_of(self, code: float) -> int:
        """Return the number so many steps above low.

        Args:
            code: A level.
        """
        return self.low + self.step * int(code)


class Listed(Parameter):
    """A parameter whose values are listed one by one, or are objects by label.

    A label is the canonical form of its object: codes, journals and conditions know labels only.
    """

    _listed: Options  # as given, and checked

    def _store_options(self, **given: object) -> None:
        """Check the options that stand in a field, such as `choices`, and store them there."""
        ((name, options),) = given.items()
        checked = checked_options(type(self).__name__, name.removesuffix("s"), options)
        self._store(**{name: checked}, _listed=checked)

    @cached_property
    def options(self) -> tuple[Scalar, ...]:
        """The values, or the labels, in their order."""
        return tuple(self._listed)

    @cached_property
    def _levels(self) -> dict[tuple[bool, object], int]:
        return {identity(option): level for level, option in enumerate(self.options)}

    @property
    def is_labelled(self) -> bool:
        """Whether the values are objects by label."""
        return isinstance(self._listed, Labelled)

    def code_of(self, value: object) -> int:
        """Return the level of a value; of an object or its label where there are labels.

        Args:
            value: A value, an object or a label.
        """
        label = self.label_of(value)
        return self.condition_code_of(value if label is None else label)

    def condition_code_of(self, value: object) -> int:
        """Return the level of a plain value or of a label.

        Args:
            value: A value or a label.
        """
        scalar = python_scalar(value)
        if not isinstance(scalar, Scalar) or identity(scalar) not in self._levels:
            word = "one of the labels" if self.is_labelled else "one of"
            raise ValueError(f"needs {word} {shortened(self.options)}, got {value!r}")
        return self._levels[identity(scalar)]

    def value_of(self, code: float) -> Scalar:
        """Return the value, or the label, at a level.

        Args:
            code: A level.
        """
        return self.options[int(code)]

    def label_of(self, value: object) -> str | None:
        """Return the label of an object, or None where it has none; a label is its own.

        Args:
            value: An object or a label.
        """
        labelled = self._listed
        if not isinstance(labelled, Labelled):
            return None
        if isinstance(value, str) and value in labelled:
            return str(value)
        return next((label for label, v in labelled.items() if are_equal(v, value)), None)

    def object_of(self, value: object) -> object:
        """Return the object that a label stands for, its containers copied; any other value.

        Args:
            value: A value of the parameter, in canonical form.
        """
        labelled = self._listed
        return copied(labelled[str(value)]) if isinstance(labelled, Labelled) else value


@spell_checked
@dataclass(frozen=True, repr=False)
class Categorical(Listed):
    """One of several choices without an order.

    Args:
        choices: Text, numbers, True, False or None; or a dict from labels to objects of any
            kind. Then trials hold the objects, and the journal the labels.
        when: Make the parameter active only where others have certain values.

    Examples:
        >>> Categorical(["adam", "sgd"])
        Categorical(['adam', 'sgd'])
        >>> Categorical({"small": (64,), "large": (64, 64)})
        Categorical({'small': (64,), 'large': (64, 64)})
    """

    choices: Sequence[Scalar] | Mapping[str, object]
    is_ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store_options(choices=self.choices)

    def _scale(self) -> OneHot:
        return OneHot(len(self.choices))


@spell_checked
@dataclass(frozen=True, repr=False)
class Ordinal(Listed):
    """One of several values whose order matters, equally spaced in the cube.

    Args:
        values: In their order: text, numbers, True, False or None; or a dict from labels to
            objects of any kind, as for Categorical.
        when: Make the parameter active only where others have certain values.

    Examples:
        >>> Ordinal(["small", "medium", "large"])
        Ordinal(['small', 'medium', 'large'])
    """

    values: Sequence[Scalar] | Mapping[str, object]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store_options(values=self.values)

    def _scale(self) -> Grid:
        return Grid(len(self.values))


@spell_checked
@dataclass(frozen=True, repr=False)
class Bool(Listed):
    """True or False.

    Args:
        when: Make the parameter active only where others have certain values.

    Examples:
        >>> Bool(when={"optimiser": "sgd"})
        Bool(when={'optimiser': ('sgd',)})
    """

    is_ordered: ClassVar[bool] = False
    _listed = (False, True)

    def _scale(self) -> Grid:
        return Grid(2)


# The one list of types: descriptions, space files and messages read it.
PARAMETER_TYPES: dict[str, type[Parameter]] = {
    kind.__name__: kind for kind in (Float, Int, Categorical, Ordinal, Bool)
}


def parameter_from_description(description: Mapping[str, Any]) -> Parameter:
    """Rebuild the parameter that `describe` described; labels stand for their objects.

    Args:
        description: A dictionary with the type and its arguments.
    """
    kind = description["type"]
    if kind not in PARAMETER_TYPES:
        raise ValueError(f"A parameter is one of {[*PARAMETER_TYPES]}, got {kind!r}.")
    others = ("name", "type", "labelled")
    arguments = {name: value for name, value in description.items() if name not in others}
    if description.get("labelled"):
        for name in arguments.keys() & {"choices", "values"}:
            arguments[name] = {label: label for label in arguments[name]}
    return PARAMETER_TYPES[kind](**arguments)


def _number(value: object) -> float:
    """Return a number as it is, and anything else as nan, which no bounds contain."""
    number = python_scalar(value)
    return number if isinstance(number, int | float) and type(number) is not bool else math.nan


def _finite(name: str, value: object) -> float:
    if abs(number := _number(value)) <= LARGEST_FLOAT:
        return float(number) + 0.0  # turns -0.0 into 0.0
    raise ValueError(f"Float needs a finite number for {name}, got {value!r}.")


def _whole(name: str, value: object) -> int:
    if abs(number := _number(value)) <= LARGEST_INT and number == int(number):
        return int(number)
    raise ValueError(f"Int needs a whole number within ±2**53 for {name}, got {value!r}.")


def _decimal(value: float) -> Decimal:
    return Decimal(repr(value))


def _warn_of_lower_end(parameter: Float | Int, last: float) -> None:
    p, kind = parameter, type(parameter).__name__
    warn(
        f"{kind}({p.low}, {p.high}, step={p.step}) ends at {last}: {p.high} is not {p.low} plus a "
        f"multiple of {p.step}. Write high={last}, or choose another step."
    )


def _checked_when(when: object) -> dict[str, tuple[Scalar, ...]]:
    if not isinstance(when, Mapping):
        raise ValueError(f"when needs a mapping like {{'optimiser': 'sgd'}}, got {when!r}.")
    checked = {name: _condition_values(given) for name, given in when.items()}
    for name, values in checked.items():
        if not values:
            raise ValueError(f"when needs at least one value of {name!r}, got none.")
    return checked


def _condition_values(given: Scalar | Collection[Scalar]) -> tuple[Scalar, ...]:
    """Return one or several values of a condition as a tuple."""
    if isinstance(given, set | frozenset):  # no order of its own: another in each process
        given = sorted(given, key=repr)
    if isinstance(given, list | tuple | range | np.ndarray):
        return tuple(map(python_scalar, given))
    return (python_scalar(given),)

"""Parameters: what one named value of a search may be, and where it lies in the cube.

Three steps lead from a value to the cube; the middle one makes points comparable:

    value   what the user reads and writes               0.01, "adam", True
    code    the value's level 0, 1, ... as an integer; an unstepped Float is its own code
    place   the code's columns in the cube [-1, 1]^d

A parameter maps values ↔ codes one by one, its scale maps codes ↔ places as arrays. A place
read and placed again is the same bit for bit, so a replayed journal is the same data.
"""

import math
import numbers
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from thomax.space.encoding import Array as Array  # for spaces
from thomax.space.encoding import Codes as Codes
from thomax.space.encoding import Grid, Interval, LogGrid, OneHot, Scale
from thomax.spelling import spell_checked
from thomax.user_warnings import warn

Scalar = str | int | float | bool | None

LARGEST_FLOAT = float(np.finfo(np.float64).max)
LARGEST_INT = 2**53  # beyond it float64 skips integers
LARGEST_LOG_INT = 2**40  # beyond it neighbours share one float64 on the logarithmic scale
NOTABLE_REST = 1e-6  # of a step between the last grid point and high: less is rounding


@dataclass(frozen=True, repr=False)
class Parameter(ABC):
    """What a Space names: one of Float, Int, Categorical, Ordinal, Bool.

    `when` maps other parameters' names to a value or a list of values: the parameter is
    active only where each of them is active and has (one of) these values.
    """

    when: Mapping[str, Any] | None = field(default=None, kw_only=True, hash=False)

    def __post_init__(self) -> None:
        if self.when is not None:
            self._store(when=_checked_when(self.when) or None)

    @cached_property
    def scale(self) -> Scale:
        """Where the codes lie in the cube."""
        return self._scale()

    @abstractmethod
    def _scale(self) -> Scale: ...

    @abstractmethod
    def code_of(self, value: Any) -> float:
        """Return the code of a value, or raise ValueError("needs ..., got ...")."""

    @abstractmethod
    def value_of(self, code: Any) -> Scalar:
        """Return the value of a code; `value_of(code_of(value))` is a value's canonical form."""

    def condition_code_of(self, value: Any) -> float:
        """Return the code of a value that a condition names; a condition names no objects."""
        return self.code_of(value)

    def describe(self) -> dict[str, Any]:
        """Return the parameter as a JSON-able dictionary."""
        description: dict[str, Any] = {"type": type(self).__name__}
        if self.when is not None:
            description["when"] = {name: list(values) for name, values in self.when.items()}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name != "when":
                is_listed = isinstance(value, tuple | _Labelled)
                description[f.name] = list(value) if is_listed else value
            if isinstance(value, _Labelled):  # the labels alone do not bring the objects back
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

    def _store(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@spell_checked
@dataclass(frozen=True, repr=False)
class Float(Parameter):
    """A real number between two bounds.

    With `log` it is spread evenly over its logarithm. With `step` it lives on the grid low,
    low + step, ... and `high` is lowered to the last grid point, with a warning.

    Example:
        >>> Float(1e-5, 1, log=True)
        Float(1e-05, 1.0, log=True)
        >>> Float(0, 0.9, step=0.3)
        Float(0.0, 0.9, step=0.3)
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = _finite("low", self.low), _finite("high", self.high)
        if not low < high:
            raise ValueError(f"Float needs low < high, got low={self.low}, high={self.high}.")
        if not math.isfinite(high - low):
            raise ValueError(f"Float needs high - low below 1.8e308, got low={low}, high={high}.")
        if self.log and low <= 0:
            raise ValueError(f"Float with log=True needs low > 0, got low={self.low}.")
        if self.log and self.step is not None:
            raise ValueError(f"Float takes log=True or a step, got both (step={self.step}).")
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

    def code_of(self, value: Any) -> float:
        """Return the number itself, or its level on the grid."""
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

    def value_of(self, code: Any) -> float:
        """Return the code itself, or the grid point of this level."""
        if self.step is None:
            return float(code)
        return float(_decimal(self.low) + code * _decimal(self.step))


@spell_checked
@dataclass(frozen=True, repr=False)
class Int(Parameter):
    """A whole number between two bounds, both included.

    With `step` it takes the values low, low + step, ... and `high` is lowered to the last of
    them, with a warning. With `log` it is spread evenly over its logarithm: random values are
    drawn log-uniformly from [low - 1/2, high + 1/2] and rounded.

    Example:
        >>> Int(16, 512, log=True)
        Int(16, 512, log=True)
        >>> Int(0, 8, step=4)
        Int(0, 8, step=4)
    """

    low: int
    high: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high, step = (_whole(n, getattr(self, n)) for n in ("low", "high", "step"))
        if low > high:
            raise ValueError(f"Int needs low <= high, got low={low}, high={high}.")
        if step < 1 or step > max(high - low, 1):
            raise ValueError(f"Int needs 1 <= step <= high - low = {high - low}, got step={step}.")
        if self.log and low < 1:
            raise ValueError(f"Int with log=True needs low > 0, got low={low}.")
        if self.log and step != 1:
            raise ValueError(f"Int takes log=True or a step, got both (step={step}).")
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

    def code_of(self, value: Any) -> int:
        """Return how many steps the number lies above low."""
        number = _number(value)
        if not self.low <= number <= self.high or number != int(number):
            raise ValueError(f"needs a whole number from {self.low} to {self.high}, got {value!r}")
        level, rest = divmod(int(number) - self.low, self.step)
        if rest:
            raise ValueError(f"needs {self.low} plus a multiple of {self.step}, got {value!r}")
        return level

    def value_of(self, code: int) -> int:
        """Return the number so many steps above low."""
        return self.low + self.step * code


class _Labelled(dict[str, Any]):
    """Objects by label: what a listed parameter chooses among when it was given a dict."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Labelled) or [*self] != [*other]:
            return False
        return all(_alike(self[label], other[label]) for label in self)

    def __hash__(self) -> int:  # type: ignore[override]  # nobody changes it
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = [f"{label!r}: {reprlib.repr(value)}" for label, value in [*self.items()][:8]]
        more = [f"... {len(self)} in all"] if len(self) > 8 else []
        return f"{{{', '.join([*shown, *more])}}}"


class _Listed(Parameter):
    """A parameter whose values are listed one by one, or are objects by label.

    A label is the canonical form of its object: codes, journals and conditions know labels only.
    """

    @property
    @abstractmethod
    def _listed(self) -> Any: ...

    @cached_property
    def _options(self) -> tuple[Scalar, ...]:
        return tuple(self._listed)

    @cached_property
    def _levels(self) -> dict[Any, int]:
        return {identity(option): level for level, option in enumerate(self._options)}

    @property
    def is_labelled(self) -> bool:
        """Whether the values are objects by label."""
        return isinstance(self._listed, _Labelled)

    def code_of(self, value: Any) -> int:
        """Return the level of a value; of an object or its label where there are labels."""
        label = self.label_of(value)
        return self.condition_code_of(value if label is None else label)

    def condition_code_of(self, value: Any) -> int:
        """Return the level of a plain value or of a label."""
        scalar = python_scalar(value)
        if not isinstance(scalar, Scalar) or identity(scalar) not in self._levels:
            word = "one of the labels" if self.is_labelled else "one of"
            raise ValueError(f"needs {word} {shortened(self._options)}, got {value!r}")
        return self._levels[identity(scalar)]

    def value_of(self, code: int) -> Scalar:
        """Return the value, or the label, at a level."""
        return self._options[code]

    def label_of(self, value: Any) -> str | None:
        """Return the label of an object, also where the label itself is given, or None."""
        if not self.is_labelled:
            return None
        if isinstance(value, str) and value in self._listed:
            return str(value)
        return next((label for label, v in self._listed.items() if _alike(v, value)), None)

    def object_of(self, value: Any) -> Any:
        """Return the object that a label stands for, its containers copied; any other value."""
        return copied(self._listed[value]) if self.is_labelled else value


@spell_checked
@dataclass(frozen=True, repr=False)
class Categorical(_Listed):
    """One of several choices without an order.

    Args:
        choices: Text, numbers, True, False or None; or a dict from labels to objects of any
            kind. Then trials hold the objects, and the journal the labels.
        when: See Parameter.

    Example:
        >>> Categorical(["adam", "sgd"])
        Categorical(['adam', 'sgd'])
        >>> Categorical({"small": (64,), "large": (64, 64)})
        Categorical({'small': (64,), 'large': (64, 64)})
    """

    choices: Sequence[Scalar] | Mapping[str, Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store(choices=_checked_options("Categorical", "choice", self.choices))

    @property
    def _listed(self) -> Any:
        return self.choices

    def _scale(self) -> OneHot:
        return OneHot(len(self.choices))


@spell_checked
@dataclass(frozen=True, repr=False)
class Ordinal(_Listed):
    """One of several values whose order matters, equally spaced in the cube.

    Args:
        values: In their order: text, numbers, True, False or None; or a dict from labels to
            objects of any kind, as for Categorical.
        when: See Parameter.

    Example:
        >>> Ordinal(["small", "medium", "large"])
        Ordinal(['small', 'medium', 'large'])
    """

    values: Sequence[Scalar] | Mapping[str, Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store(values=_checked_options("Ordinal", "value", self.values))

    @property
    def _listed(self) -> Any:
        return self.values

    def _scale(self) -> Grid:
        return Grid(len(self.values))


@spell_checked
@dataclass(frozen=True, repr=False)
class Bool(_Listed):
    """True or False.

    Example:
        >>> Bool(when={"optimiser": "sgd"})
        Bool(when={'optimiser': ('sgd',)})
    """

    @property
    def _listed(self) -> Any:
        return (False, True)

    def _scale(self) -> Grid:
        return Grid(2)


PARAMETER_TYPES: dict[str, type[Parameter]] = {
    kind.__name__: kind for kind in (Float, Int, Categorical, Ordinal, Bool)
}


def is_whole(value: Any, least: float = -math.inf) -> bool:
    """Say whether a setting is a whole number, and no less than another; True and 1.0 are none."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and value >= least


def python_scalar(value: Any) -> Any:
    """Unwrap a scalar of NumPy or JAX; leave anything else alone."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def copied(value: Any) -> Any:
    """Copy dicts, lists, tuples, sets and arrays all the way down; leave anything else alone."""
    if type(value) is dict:
        return {key: copied(inner) for key, inner in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(copied(inner) for inner in value)
    return value.copy() if type(value) is np.ndarray else value


def shortened(values: Sequence[Any], most: int = 8) -> str:
    """Show a list, and of a long one its beginning and its length."""
    if len(values) <= most:
        return repr(list(values))
    shown = ", ".join(repr(value) for value in values[:most])
    return f"[{shown}, ... {len(values)} in all]"


def _number(value: Any) -> float:
    """Return a number as it is, and anything else as nan, which no bounds contain."""
    number = python_scalar(value)
    return number if isinstance(number, int | float) and type(number) is not bool else math.nan


def _finite(name: str, value: Any) -> float:
    if abs(number := _number(value)) <= LARGEST_FLOAT:
        return float(number) + 0.0  # turns -0.0 into 0.0
    raise ValueError(f"Float needs a finite number for {name}, got {value!r}.")


def _whole(name: str, value: Any) -> int:
    if abs(number := _number(value)) <= LARGEST_INT and number == int(number):
        return int(number)
    raise ValueError(f"Int needs a whole number within ±2**53 for {name}, got {value!r}.")


def _decimal(value: float) -> Decimal:
    return Decimal(repr(value))


def identity(value: Scalar) -> tuple[bool, Scalar]:
    """Return what makes two options the same: True is not 1, but 1 is 1.0."""
    return isinstance(value, bool), value


def _warn_of_lower_end(parameter: Float | Int, last: float) -> None:
    p, kind = parameter, type(parameter).__name__
    warn(
        f"{kind}({p.low}, {p.high}, step={p.step}) ends at {last}: {p.high} is not {p.low} plus a "
        f"multiple of {p.step}. Write high={last}, or choose another step."
    )


def _alike(a: Any, b: Any) -> bool:
    """Return whether two objects are the same or equal; those that cannot be compared are not."""
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) is dict:
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    try:
        if isinstance(a, np.ndarray):  # a copy is alike also where it holds nan
            is_copy = a.dtype == b.dtype != object and a.tobytes() == b.tobytes()
            return np.array_equal(a, b) or (is_copy and a.shape == b.shape)
        return bool(a == b)
    except Exception:
        return False


def _checked_options(kind: str, word: str, given: Any) -> tuple[Scalar, ...] | _Labelled:
    unordered = isinstance(given, str | bytes | set | frozenset)
    if unordered or not isinstance(given, Iterable):
        raise ValueError(f"{kind} needs a list of {word}s, got {given!r}.")
    options: tuple[Scalar, ...] | _Labelled
    if isinstance(given, Mapping):
        options = _checked_labels(kind, given)
    else:
        options = _checked_scalars(kind, word, given)
    if not options:
        raise ValueError(f"{kind} needs at least one {word}, got none.")
    return options


def _checked_scalars(kind: str, word: str, given: Iterable[Any]) -> tuple[Scalar, ...]:
    options: dict[Any, Scalar] = {}
    for option in map(python_scalar, given):
        if type(option) not in (str, int, float, bool, type(None)):
            raise ValueError(
                f"{kind} needs str, int, float, bool or None, got {option!r}: give other objects "
                f'labels, as in {kind}({{"a label": {reprlib.repr(option)}, ...}}).'
            )
        if isinstance(option, float) and not math.isfinite(option):
            raise ValueError(f"{kind} needs finite numbers, got {option!r}: use a string for it.")
        if identity(option) in options:
            raise ValueError(f"{kind} needs distinct {word}s, got {option!r} twice.")
        options[identity(option)] = option
    return tuple(options.values())


def _checked_labels(kind: str, given: Mapping[Any, Any]) -> _Labelled:
    labelled = _Labelled()
    for label, value in given.items():
        if not isinstance(label, str):
            raise ValueError(
                f"{kind} needs labels that are strings, got {label!r}: write {str(label)!r}."
            )
        if label in labelled:
            raise ValueError(f"{kind} needs distinct labels, got {label!r} twice.")
        twin = next((other for other, known in labelled.items() if _alike(known, value)), None)
        if twin is not None:
            raise ValueError(
                f"{kind} needs distinct objects, got equal ones for {twin!r} and {label!r}."
            )
        labelled[str(label)] = copied(value)
    for label, value in labelled.items():
        # What is told may be an object or a label: it must be clear which.
        if isinstance(value, str) and value != label and value in labelled:
            raise ValueError(
                f"{kind} needs labels that name one object, got {value!r}, which is the label of "
                f"one and the object of {label!r}: rename a label."
            )
    return labelled


def _checked_when(when: Any) -> dict[str, tuple[Scalar, ...]]:
    if not isinstance(when, Mapping):
        raise ValueError(f"when needs a mapping like {{'optimiser': 'sgd'}}, got {when!r}.")
    many = (list, tuple, set, frozenset, range, np.ndarray)
    checked = {}
    for name, given in when.items():
        if isinstance(given, set | frozenset):  # no order of its own: another in each process
            given = sorted(given, key=repr)
        values = tuple(given) if isinstance(given, many) else (given,)
        if not values:
            raise ValueError(f"when needs at least one value of {name!r}, got none.")
        checked[name] = tuple(python_scalar(value) for value in values)
    return checked

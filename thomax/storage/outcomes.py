"""What came of an evaluation: finite values, or the reason why there is none.

A value may be several measurements of the same thing, which a model sees as their mean; the list
is what a record holds. Of several metrics some may be missing: only if all are, it is a failure.
"""

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from thomax.storage.metrics import PLAIN, UNNAMED, Metrics, require_metrics
from thomax.storage.records import Record
from thomax.storage.trial import Trial
from thomax.support.spelling import spell_checked
from thomax.support.types import Json

Measured: TypeAlias = float | Sequence[float | None] | None
NoiseStd: TypeAlias = float | Mapping[str, float] | None

MISSING: Any = object()  # no value was passed: None is one, and means a failure


@spell_checked
@dataclass(frozen=True)
class Result:
    """What an objective returns if it knows more than the value.

    Args:
        value: The value, as `Optimizer.tell` takes it: a number, a list of measurements, or a
            dict of these by the names of metrics.
        noise_std: The standard deviation of one measurement, where it is known; by name if the
            value is.
        note: A remark to keep with it; nothing is learnt from it.

    Examples:
        >>> from thomax import Float, Optimizer
        >>> optimizer = Optimizer({"x": Float(-1, 1)}, seed=0)
        >>> optimizer.run(lambda p: Result(-p["x"] ** 2, noise_std=0.01), 8, progress=False)
        <StopReason.TRIALS: 'trials'>
        >>> optimizer.best.noise_std
        {'value': 0.01}
    """

    value: "Measured | Mapping[str, Measured]"
    noise_std: NoiseStd = None
    note: str | None = None


Value: TypeAlias = Measured | Mapping[str, Measured] | Result


class Failure(Exception):  # noqa: N818 - it is the evaluation that failed, not us
    """Why an evaluation has no value, in words that need no type of error before them."""


def checked_outcome(
    value: Any, error: str | BaseException | None, who: str = "tell"
) -> tuple[float | None, str | None]:
    """Return a finite value, or None and the reason why there is none.

    Args:
        value: What the objective returned.
        error: Why the evaluation failed, as text or as the exception; None if it did not.
        who: The public method that was given them.

    Examples:
        >>> checked_outcome(2, None), checked_outcome(float("nan"), None)
        ((2.0, None), (None, 'the value was nan'))
    """
    if error is not None:
        if isinstance(value, int | float) and math.isfinite(value):
            raise ValueError(
                f"{who} needs a value or an error, got both ({value} and {error!r}): "
                "leave one out."
            )
        is_text = isinstance(error, str | Failure)
        text = str(error) if is_text else f"{type(error).__name__}: {_text(error)}"
        return None, text[:1000]
    if value is MISSING:
        raise TypeError(
            f"{who} needs a value or an error, got neither: pass the value, or error=... "
            "for a failed evaluation."
        )
    if type(value) is float:
        return (value, None) if math.isfinite(value) else (None, f"the value was {value}")
    if value is None:
        return None, "no value"
    import numpy as np  # here: a command that tells a number does without

    if value is np.ma.masked:
        return None, "no value"
    try:
        plain = value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value
        if isinstance(plain, str | bytes | bool | complex) or np.ndim(plain) != 0:
            raise TypeError
        number = float(plain)
    except Exception:  # also what only the value's own type knows: an array that was deleted
        raise ValueError(
            f"{who} needs a number as value, got {reprlib.repr(value)}: pass a float, "
            "or error=... for a failed evaluation."
        ) from None
    return (number, None) if math.isfinite(number) else (None, f"the value was {number}")


def told(
    value: Any,
    error: str | BaseException | None = None,
    noise_std: Any = None,
    *,
    metrics: Metrics = PLAIN,
    who: str = "tell",
) -> Record:
    """Return what a record holds of an outcome: values, or the reason why there are none.

    Args:
        value: A number, a list of measurements, one of these for each of some metrics, or a
            `Result` with these.
        error: Why the evaluation failed, as text or as the exception; None if it did not.
        noise_std: The known standard deviation of one measurement, for metrics by name.
        metrics: What the search measures.
        who: The public method that was given them.

    Examples:
        >>> told([0.71, 0.74], noise_std=0.02)
        {'value': [0.71, 0.74], 'error': None, 'noise_std': 0.02}
        >>> told({"yield": 0.8}, metrics=Metrics.of({"yield": "maximize", "cost": "minimize"}))
        {'values': {'yield': 0.8, 'cost': None}, 'error': None}
    """
    if isinstance(value, Result):
        return _of_result(value, error, noise_std, metrics, who)
    if metrics.is_plain:
        number, failure = _measured(value, error, who)
        known = {} if number is None else _errors(who, {UNNAMED: noise_std}, metrics)
        std: Record = {"noise_std": known[UNNAMED]} if known else {}
        return {"value": number, "error": failure, **std}
    if error is not None:
        return {"value": None, "error": _of_metrics_and_error(value, error, metrics, who)}
    if (failure := _nothing(value, who)) is not None:
        return {"value": None, "error": failure}
    found = {name: _measured(each, None, who)[0] for name, each in _named(value, metrics, who)}
    if all(each is None for each in found.values()):
        return {"value": None, "error": "no metric has a value"}
    values: Record = {name: found.get(name) for name in metrics.names}
    known = _errors(who, _by_name(who, noise_std, metrics), metrics)
    stds: Record = {name: std for name, std in known.items() if values[name] is not None}
    outcome: Record = {"values": values, "error": None}
    return outcome | {"noise_std": stds} if stds else outcome


def _of_result(
    result: Result, error: str | BaseException | None, noise_std: Any, metrics: Metrics, who: str
) -> Record:
    if noise_std is not None and result.noise_std is not None:
        raise ValueError(
            f"{who} needs one noise_std, got {noise_std!r} and that of {result!r}: leave one out."
        )
    std = result.noise_std if noise_std is None else noise_std
    try:
        found = told(result.value, error, std, metrics=metrics, who=who)
        return found | remark(who, "note", result.note)
    except ValueError as refused:  # a value may have taken hours
        raise ValueError(f"{refused} The result was {result!r}.") from None


def _nothing(value: Any, who: str) -> str | None:
    """Return why there is no value at all, where None or NaN stands for all metrics."""
    if (
        value is MISSING
        or value is None
        or (isinstance(value, float) and not math.isfinite(value))
    ):
        return checked_outcome(value, None, who)[1]
    return None


def corrected(
    before: Trial,
    value: Any,
    error: str | BaseException | None,
    noise_std: Any,
    *,
    metrics: Metrics,
) -> Record:
    """Return what a record holds of a corrected outcome: metrics that are not named stay.

    Args:
        before: The trial as it is.
        value: What is right, as `told` takes it.
        error: Why the evaluation counts as failed.
        noise_std: The known standard deviation of one measurement, for metrics by name.
        metrics: What the search measures.
    """
    if isinstance(value, Result):
        value, noise_std = value.value, value.noise_std if noise_std is None else noise_std
    if not isinstance(value, Mapping) or metrics.is_plain or error is not None:
        return told(value, error, noise_std, metrics=metrics, who="correct")
    stds = _by_name("correct", noise_std, metrics)
    kept = {name: v for name, v in before.values.items() if name not in value}
    repeated = {name: [*each] for name, each in before.replicates.items() if name in kept}
    known = {name: std for name, std in before.noise_std.items() if name in kept}
    return told(
        {**kept, **repeated, **value}, None, {**known, **stds}, metrics=metrics, who="correct"
    )


def _named(value: Any, metrics: Metrics, who: str) -> Sequence[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        example = ", ".join(f'"{name}": ...' for name in metrics.names)
        raise ValueError(
            f"{who} needs a dict of the metrics that were measured, got {reprlib.repr(value)}: "
            f"pass {{{example}}}, or error=... for a failed evaluation."
        )
    require_metrics(who, value, metrics)
    return [*value.items()]


def _of_metrics_and_error(
    value: Any, error: str | BaseException, metrics: Metrics, who: str
) -> str | None:
    """Return why there are no values, if there are none."""
    if isinstance(value, Mapping):
        for _, each in _named(value, metrics, who):
            checked_outcome(each, error, who)
        value = None
    return checked_outcome(value, error, who)[1]


def _measured(
    value: Any, error: str | BaseException | None, who: str
) -> tuple[float | list[Json] | None, str | None]:
    """Return a number or the list of repeated measurements, or the reason why there is none."""
    several = _several(value)
    if several is None or error is not None:
        return checked_outcome(value, error, who)
    found = [checked_outcome(each, None, who) for each in several]
    numbers = [number for number, _ in found]
    if not any(number is not None for number in numbers):
        return None, found[0][1]
    return cast(list[Json], numbers), None


def _several(value: Any) -> list[Any] | None:
    """Return repeated measurements as a list; None for what is no list of numbers."""
    if isinstance(value, list | tuple):
        return [*value] or None
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:  # arrays, columns of tables
        return [*value.tolist()] or None
    return None


def _by_name(who: str, noise_std: Any, metrics: Metrics) -> Mapping[str, Any]:
    if noise_std is None:
        return {}
    if not isinstance(noise_std, Mapping):
        example = f"{{{metrics.names[0]!r}: {noise_std!r}}}"
        raise ValueError(
            f"{who} needs noise_std by the names of metrics, got {noise_std!r}: pass {example}."
        )
    require_metrics(who, noise_std, metrics)
    return noise_std


def _errors(who: str, given: Mapping[str, Any], metrics: Metrics) -> dict[str, float]:
    """Return known standard deviations as floats, or raise."""
    found = {}
    for name, std in given.items():
        if std is None:
            continue
        try:
            number = checked_outcome(std, None, who)[0]
        except ValueError:
            number = None
        if number is None or number < 0:
            of = "" if metrics.is_plain else f" of {name!r}"
            raise ValueError(
                f"{who} needs noise_std{of} to be a finite number >= 0, got {std!r}: it is the "
                "standard deviation of one measurement, in its units."
            )
        found[name] = number
    return found


def mean_of(measured: object) -> float | None:
    """Return the value that a record holds: of repeated measurements their mean.

    Args:
        measured: A number, None, or a list of these.

    Examples:
        >>> mean_of([1.0, None, 2.0])
        1.5
    """
    if isinstance(measured, list):
        known = [v for v in measured if isinstance(v, int | float)]
        try:
            return math.fsum(known) / len(known) if known else None
        except OverflowError:  # near the largest float
            return math.fsum(v / len(known) for v in known)
    assert isinstance(measured, int | float | None)
    return measured


def remark(who: str, name: str, text: object) -> dict[str, Json]:
    """Return what a record holds of a remark: nothing where nothing was said.

    Args:
        who: The public method that was given it.
        name: The argument, and the field of the record.
        text: The remark.

    Examples:
        >>> remark("tell", "note", "stirrer slow"), remark("tell", "note", None)
        ({'note': 'stirrer slow'}, {})
    """
    if not isinstance(text, str | None):
        raise ValueError(
            f"{who} needs a text as {name}, got {reprlib.repr(text)}: write str(...)."
        )
    return {name: text} if text else {}


def _text(error: Any) -> str:
    try:
        return str(error)
    except Exception:
        return "it cannot say why"

"""What came of an evaluation: a finite value, or the reason why there is none."""

import math
import reprlib
from typing import Any

from thomax.support.types import Json

MISSING: Any = object()  # no value was passed: None is one, and means a failure


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

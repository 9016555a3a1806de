"""Numbers that come as text: from a flag, a table, or a program's output.

Python's `float` and `int` read more than people mean by a number: 2024_05_17 is 20240517 to them,
and any script's digits are digits.
"""

import argparse
import math
import re

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,1000}")  # Python refuses to read whole numbers without end


def number_in(text: str) -> float | None:
    """Return the number that a text is, or None; nan and inf are numbers here.

    Args:
        text: What was written.

    Examples:
        >>> number_in(" -1e-3 "), number_in("2024_05_17")
        (-0.001, None)
    """
    text = text.strip()
    is_number = _DECIMAL.fullmatch(text) or _SPECIAL.fullmatch(text)
    return float(text) if is_number else None


def whole_in(text: str) -> int | None:
    """Return the whole number that a text is, 3 also for 3.0, or None.

    Args:
        text: What was written.

    Examples:
        >>> whole_in("3"), whole_in("3.0"), whole_in("3.5")
        (3, 3, None)
    """
    if _WHOLE.fullmatch(text.strip()):
        return int(text)
    number = number_in(text)
    return int(number) if number is not None and number.is_integer() else None


def repeated(text: str) -> list[str]:
    """Return the parts of a text such as 0.71,0.74,0.69; none if it is no list.

    0,5 is none: it may be a number with a decimal comma.

    Args:
        text: What was written.

    Examples:
        >>> repeated("0.71,0.74"), repeated("0,5"), repeated("0.5")
        (['0.71', '0.74'], [], [])
    """
    parts = text.split(",")
    return parts if len(parts) > 1 and not _DECIMAL_COMMA.fullmatch(text.strip()) else []


def value_in(text: object, where: str, failures: str) -> float:
    """Return a value as a number; nan stands for a failed evaluation.

    Args:
        text: What was given as value.
        where: How an error names its place.
        failures: What to do to tell that an evaluation failed.
    """
    try:
        number = number_in(text) if isinstance(text, str) else text
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise TypeError
        return float(number)
    except (TypeError, OverflowError):
        raise ValueError(
            f"{where} needs a number as value, got {str(text)[:80]!r}: to tell that an "
            f"evaluation failed, {failures}."
        ) from None


def whole_flag(text: str) -> int:
    """Read a flag's whole number; argparse names the flag when this raises.

    Args:
        text: What was typed.
    """
    if not _WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"needs a whole number, got {text!r}")
    return int(text)


def take_negative_numbers(parser: argparse.ArgumentParser) -> None:
    """Let a parser take -1e-05 and -inf for values, which it takes for flags until Python 3.14.

    Args:
        parser: The parser of a command with values.
    """
    parser._negative_number_matcher = re.compile(r"-(\.?\d|inf|nan)")


def seconds_flag(text: str) -> float:
    """Read a flag's seconds; inf is for ever.

    Args:
        text: What was typed.
    """
    number = number_in(text)
    if number is None or math.isnan(number) or number < 0:
        raise argparse.ArgumentTypeError(f"needs seconds >= 0, got {text!r}")
    return number

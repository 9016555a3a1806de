"""Text for people: numbers of a readable length, and names that no browser takes for markup."""

import html
import json
from collections.abc import Mapping

from thomax.storage.trial import Trial
from thomax.support.types import ParamsLike

_MOST_LINES = 14


def number(value: float) -> str:
    """Write a number with six digits.

    Args:
        value: The number.

    Examples:
        >>> number(0.1 + 0.2)
        '0.3'
    """
    return f"{value:.6g}"


def shown(value: object, longest: int = 120) -> str:
    """Write a parameter's value, shortened.

    Args:
        value: The value.
        longest: The number of characters to cut the text at.
    """
    text = number(value) if isinstance(value, float) else str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def label(text: object, longest: int = 28) -> str:
    """Escape and shorten a text for a figure: plotly reads some tags and entities.

    Args:
        text: What is written.
        longest: The number of characters to cut it at.

    Examples:
        >>> label("<b>rate</b>")
        '&lt;b&gt;rate&lt;/b&gt;'
    """
    return html.escape(shown(text, longest), quote=False)  # plotly does not know &quot;


def hover(trial: Trial, *lines: str) -> str:
    """Return what a figure says about a trial that the pointer is on.

    Args:
        trial: The trial.
        *lines: Lines to add after the value.
    """
    params = [f"{label(name)} = {label(v, 40)}" for name, v in trial.params.items()]
    if len(params) > _MOST_LINES:
        params[_MOST_LINES:] = [f"… {len(params) - _MOST_LINES} more"]
    value = [] if trial.value is None else [f"value {number(trial.value)}"]
    if trial.values:
        value = [
            f"{label(name)} {'missing' if v is None else number(v)}"
            for name, v in trial.values.items()
        ]
    return "<br>".join([f"<b>trial {trial.number}</b>", *value, *lines, *params])


def brief(trial: Trial) -> str:
    """Return what a figure says about a trial where many figures show it.

    Args:
        trial: The trial.
    """
    return f"trial {trial.number}: {number(trial.value or 0.0)}"


def readable_json(params: ParamsLike) -> str:
    """Write params as JSON to copy.

    Args:
        params: The params.
    """
    return json.dumps(params, indent=2, ensure_ascii=False)


def script_json(content: Mapping[str, object]) -> str:
    """Write JSON that can stand inside a script element, whatever text it holds.

    Args:
        content: What JSON can hold.
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character in "<>&":  # none of them occurs in JSON outside of strings
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

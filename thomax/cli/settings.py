"""The settings of a search: each may stand in the space file, and a flag overrules it."""

import math
from collections.abc import Callable
from typing import TypedDict

from thomax.checks import is_whole
from thomax.storage.trial import Direction

Settings = TypedDict(
    "Settings",
    {
        "direction": Direction,
        "trials": int,
        "jobs": int,
        "seed": int,
        "initial": int,
        "timeout": float,
        "time_limit": float,
        "give_up": int,
        "journal": str,
        "value": str,
        "as": str,  # a keyword of Python, hence this form
    },
    total=False,
)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_seconds(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and value > 0


RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "direction": ('"maximize" or "minimize"', lambda v: v in ("maximize", "minimize")),
    "trials": ("a whole number >= 1", lambda v: is_whole(v, 1)),
    "jobs": ("a whole number >= 1", lambda v: is_whole(v, 1)),
    "seed": ("a whole number", is_whole),
    "initial": ("a whole number >= 0", lambda v: is_whole(v, 0)),
    "timeout": ("seconds > 0", _is_seconds),
    "time_limit": ("seconds > 0", _is_seconds),
    "give_up": ("a whole number >= 0", lambda v: is_whole(v, 0)),
    "journal": ("the path of a file", _is_text),
    "value": ("FILE, :KEY or FILE:KEY", _is_text),
    "as": ('"flags" or "env"', lambda v: v in ("flags", "env")),
}
DEFAULTS: Settings = {
    "direction": "maximize", "jobs": 1, "give_up": 3, "as": "flags",
}  # fmt: skip


def check_setting(where: str, name: str, value: object) -> None:
    """Raise ValueError unless a setting has a value that it can take.

    Args:
        where: How the error names the place of the setting.
        name: The setting.
        value: Its value.
    """
    needs, holds = RULES[name]
    if not holds(value):
        raise ValueError(f"{where} needs {needs}, got {value!r}.")

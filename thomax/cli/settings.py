"""The settings of a search: each may stand in the space file, and a flag overrules it."""

import math
from collections.abc import Callable
from typing import Any

from thomax.space.parameters import is_whole


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_seconds(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0


RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
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
DEFAULTS: dict[str, Any] = {
    "direction": "maximize", "jobs": 1, "give_up": 3, "as": "flags",
}  # fmt: skip


def check_setting(where: str, name: str, value: Any) -> None:
    """Raise ValueError unless a setting has a value that it can take."""
    needs, holds = RULES[name]
    if not holds(value):
        raise ValueError(f"{where} needs {needs}, got {value!r}.")

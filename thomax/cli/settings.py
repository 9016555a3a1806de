"""The settings of a search: each may stand in the space file, and a flag overrules it."""

from typing import TypedDict

from thomax.storage.trial import Direction
from thomax.support.checks import POSITIVE, Rule, one_of, whole

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


def _text(what: str) -> Rule:
    return Rule(f"to be {what}", lambda v: isinstance(v, str) and v != "")


_SECONDS = Rule("to be seconds > 0", POSITIVE.holds)
RULES = {
    "direction": one_of("maximize", "minimize"),
    "trials": whole(1),
    "jobs": whole(1),
    "seed": whole(),
    "initial": whole(0),
    "timeout": _SECONDS,
    "time_limit": _SECONDS,
    "give_up": whole(0),
    "journal": _text("the path of a file"),
    "value": _text("FILE, :KEY or FILE:KEY"),
    "as": one_of("flags", "env"),
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
    rule = RULES[name]
    if not rule.holds(value):
        raise ValueError(f"{where} needs {rule.words.removeprefix('to be ')}, got {value!r}.")

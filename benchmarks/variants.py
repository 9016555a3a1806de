"""Settings of our default in a method's name, such as `auto+beta=0.2<30+initial=5`.

+NAME=VALUE   a setting of the policy (`beta`, `scale_prior_std`, ...) or of the search
              (`local_fraction`, ...), or `initial`: how many first points, where a method has
              its own
VALUE         a number, true, false, none, or a schedule
schedule      values by how many evaluations there are: `0.2<30` is 0.2 before the 30th, then
              what it is by default; `0.1<10,0.2<3d,0.6` is 0.1, then 0.2 before three times
              as many as there are parameters, then 0.6
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from thomax.policies.base import Policy
from thomax.policies.sto import STOBNTSLinear
from thomax.search.settings import Search
from thomax.space.pool import Pool
from thomax.space.space import Space

Number = float | Callable[[int], float]

_POLICY = {field.name for field in fields(STOBNTSLinear)}
_SEARCH = {field.name for field in fields(Search)}
_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}
_STEP = re.compile(r"(?P<value>[0-9.e-]+)<(?P<bound>\d+)(?P<each>d?)")


@dataclass(frozen=True)
class Schedule:
    """A number by how many evaluations there are.

    Args:
        steps: Values, each with the count of evaluations before which it holds.
        last: The number, or the function of the count, that holds afterwards.

    Example:
        >>> Schedule(((0.2, 30),), 0.5)(29), Schedule(((0.2, 30),), 0.5)(30)
        (0.2, 0.5)
    """

    steps: tuple[tuple[float, int], ...]
    last: Number

    def __call__(self, n: int) -> float:
        """Return the number for n evaluations."""
        for value, bound in self.steps:
            if n < bound:
                return value
        return self.last(n) if callable(self.last) else self.last


@dataclass(frozen=True)
class Variant:
    """Settings by name, as they are written in a method's name.

    Example:
        >>> parse_settings("+beta=0.25+initial=5").initial
        5
    """

    settings: tuple[tuple[str, str], ...] = ()

    @property
    def initial(self) -> int | None:
        """How many first points the method takes, None for its usual number."""
        text = dict(self.settings).get("initial")
        return None if text is None else int(text)

    def policy(self, usual: Policy, space: Space | Pool) -> Policy:
        """Return the policy with these settings."""
        return _changed(usual, self.settings, _POLICY, space)

    def search(self, usual: Search, space: Space | Pool | None) -> Search:
        """Return the search with these settings."""
        changed: Search = _changed(usual, self.settings, _SEARCH, space)
        return changed


def parse_settings(text: str) -> Variant:
    """Read the settings of a method's name, and say which one is wrong."""
    parts = [part.partition("=") for part in text.split("+")[1:]]
    for name, _, value in parts:
        if name not in _POLICY | _SEARCH | {"initial"}:
            known = ", ".join(sorted(_POLICY | _SEARCH))
            raise ValueError(f"A setting is initial or one of {known}; got {name!r}.")
        if name == "initial" and not value.isdecimal():
            raise ValueError(f"initial needs a whole number >= 0, got {value!r}.")
        _number(value, 0.0, 1)
    return Variant(tuple((name, value) for name, _, value in parts))


def _changed(
    usual: Any, settings: tuple[tuple[str, str], ...], own: set[str], space: Space | Pool | None
) -> Any:
    d = len(space.parameters) if isinstance(space, Space) else 10  # a pool as our design has it
    changes = {
        name: _number(text, getattr(usual, name), d) for name, text in settings if name in own
    }
    return replace(usual, **changes) if changes else usual


def _number(text: str, usual: Any, d: int) -> Any:
    """Return what a value means: a number, a truth, None, or a schedule that ends as usual."""
    if text in _WORDS:
        return _WORDS[text]
    *first, last = text.split(",")
    parts = [*first, last] if "<" in last else first
    steps = [step for part in parts if (step := _STEP.fullmatch(part)) is not None]
    try:
        if len(steps) < len(parts):
            raise ValueError
        end = usual if "<" in last else int(last) if last.isdecimal() else float(last)
        found = tuple(
            (float(step["value"]), int(step["bound"]) * (d if step["each"] else 1))
            for step in steps
        )
    except ValueError:
        raise ValueError(
            "A setting needs a number, true, false, none or a schedule such as 0.2<30 or "
            f"0.1<10,0.2<3d,0.5; got {text!r}."
        ) from None
    return Schedule(found, end) if found else end

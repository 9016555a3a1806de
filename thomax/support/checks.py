"""Checks of settings when they are made: a wrong one is named there, and not deep in a search."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, SupportsInt, cast

import numpy as np


@dataclass(frozen=True)
class Rule:
    """What must hold for a setting.

    Args:
        words: The rule in words that follow the setting's name.
        holds: Return whether a value follows the rule.
    """

    words: str
    holds: Callable[[Any], bool]  # of whatever a user has passed

    def or_none(self) -> "Rule":
        """Return the rule that also allows None."""
        return Rule(f"{self.words} or None", lambda v: v is None or self.holds(v))

    def or_function(self) -> "Rule":
        """Return the rule that also allows a function of the number of observations."""
        return Rule(f"{self.words} or a function of n", lambda v: callable(v) or self.holds(v))


def check(owner: object, **rules: Rule) -> None:
    """Raise unless the named fields follow their rules.

    Args:
        owner: The object whose fields are checked.
        **rules: A rule for each field, by its name.

    Examples:
        >>> from types import SimpleNamespace
        >>> check(SimpleNamespace(steps=-1), steps=whole(0))
        Traceback (most recent call last):
        ValueError: SimpleNamespace needs steps to be a whole number >= 0, got -1.
    """
    for name, rule in rules.items():
        require(type(owner).__name__, name, getattr(owner, name), rule)


def require(owner: str, name: str, value: object, rule: Rule) -> None:
    """Raise unless an argument follows its rule.

    Args:
        owner: The class or function that was given the argument.
        name: The argument.
        value: What was given.
        rule: What must hold for it.

    Examples:
        >>> require("run", "trials", 2.5, whole(0))
        Traceback (most recent call last):
        ValueError: run needs trials to be a whole number >= 0, got 2.5.
    """
    if not rule.holds(value):
        raise ValueError(f"{owner} needs {name} {rule.words}, got {value!r}.")


def checked_whole(owner: str, name: str, value: object, least: float = -math.inf) -> int:
    """Return a whole number of any type as Python's own, or raise.

    Args:
        owner: The class or function that was given the argument.
        name: The argument.
        value: What was given.
        least: The smallest number allowed.
    """
    require(owner, name, value, whole(least))
    return int(cast(SupportsInt, value))


def check_executor(owner: str, executor: object) -> None:
    """Raise unless an argument can run functions elsewhere, or is None.

    Args:
        owner: The class or function that was given the executor.
        executor: Must have a method `submit`, or be None.
    """
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(
            f"{owner} needs an executor with a `submit` method, got {executor!r}: "
            "pass a concurrent.futures executor, or leave it out."
        )


def is_whole(value: object, least: float = -math.inf) -> bool:
    """Return whether a setting is a whole number, and not too small; True and 1.0 are none.

    Args:
        value: The setting.
        least: The smallest number allowed.
    """
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def whole(least: float = -math.inf) -> Rule:
    """Require a whole number that is not smaller than another; True and 1.0 are none.

    Args:
        least: The smallest allowed number.
    """
    bound = "" if least == -math.inf else f" >= {least}"
    return Rule(f"to be a whole number{bound}", lambda v: is_whole(v, least))


def at_least(least: float) -> Rule:
    """Require a finite number that is not smaller than another.

    Args:
        least: The smallest allowed number.
    """
    return Rule(f">= {least:g}", lambda v: _is_finite(v) and v >= least)


def one_of(*names: str) -> Rule:
    """Require one of a few names.

    Args:
        *names: The allowed names.
    """
    return Rule("to be " + " or ".join(f'"{n}"' for n in names), lambda v: v in names)


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_descent(value: object) -> bool:
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    return whole(0).holds(value[0]) and POSITIVE.holds(value[1])


def _is_network(value: object) -> bool:
    methods = ("size", "output_mask", "apply", "blocks")
    return not isinstance(value, type) and all(callable(getattr(value, m, None)) for m in methods)


def _is_duration(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) >= 0


POSITIVE = Rule("> 0", lambda v: _is_finite(v) and v > 0)
FLAG = Rule("to be True or False", lambda v: isinstance(v, bool | np.bool_))
SECONDS = Rule("to be seconds >= 0", _is_duration)  # infinity is for ever
FUNCTION = Rule("to be a function", callable)
SHARE = Rule("from 0 to 1", lambda v: _is_finite(v) and 0 <= v <= 1)
NETWORK = Rule("to be a network such as MLP()", _is_network)
DESCENT = Rule("to be a pair (steps, learning rate)", _is_descent).or_none()

"""Find which name was meant by a misspelt one."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

_MOST_LISTED = 20  # a space may have thousands of parameters


def nearest(word: object, known: Iterable[str]) -> str:
    """Return a hint: the known name that may have been meant, or the known names.

    Args:
        word: What was written.
        known: The names that there are.

    Examples:
        >>> nearest("trails", ["trials", "batch"])
        "did you mean 'trials'?"
    """
    names = [*known]
    close = difflib.get_close_matches(str(word), names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    more = f", ... {len(names)} in all" if len(names) > _MOST_LISTED else ""
    return f"known are {', '.join(names[:_MOST_LISTED])}{more}."


def require_known(function: str, words: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError where a name is no argument of a function.

    Args:
        function: The function's name.
        words: The names that it was called with.
        known: The names of its arguments.
    """
    names = [*known]
    for word in words:
        if word not in names:
            raise TypeError(f"{function} has no argument {word!r}: {nearest(word, names)}")


def spell_checked(item: T) -> T:
    """Decorate a function, or a class for its constructor, to name the keyword that was meant.

    Args:
        item: The function or class.

    Examples:
        >>> @spell_checked
        ... def run(trials=1):
        ...     return trials
        >>> run(trails=2)
        Traceback (most recent call last):
        TypeError: run has no argument 'trails': did you mean 'trials'?
    """
    if isinstance(item, type):
        item.__init__ = _checked(item.__init__)  # type: ignore[misc]
        return item
    checked: Any = _checked(item)
    return checked


def _checked(function: Callable[P, R]) -> Callable[P, R]:
    accepted = [n for n in inspect.signature(function).parameters if n != "self"]

    @functools.wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        if not options.keys() <= {*accepted}:
            is_constructor = function.__name__ == "__init__"
            name = type(args[0]).__name__ if is_constructor else function.__name__
            require_known(name, options, accepted)
        return function(*args, **options)

    return checked

"""Find which name was meant by a misspelt one."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

_MOST_LISTED = 20  # a space may have thousands of parameters


def nearest(word: Any, known: Iterable[str]) -> str:
    """Return a hint: the known name that may have been meant, or the known names.

    Example:
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
    """Refuse names that are no arguments of a function."""
    names = [*known]
    for word in words:
        if word not in names:
            raise TypeError(f"{function} has no argument {word!r}: {nearest(word, names)}")


def spell_checked(item: T) -> T:
    """Decorate a function, or a class for its constructor, to say which keyword was meant.

    Example:
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
    return _checked(item)


def _checked(function: Any) -> Any:
    accepted = [n for n in inspect.signature(function).parameters if n != "self"]

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        if not options.keys() <= {*accepted}:
            is_constructor = function.__name__ == "__init__"
            name = type(args[0]).__name__ if is_constructor else function.__name__
            require_known(name, options, accepted)
        return function(*args, **options)

    return checked

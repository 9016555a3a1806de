"""How a user is told of a mistake: by a sentence of thomax's own, not by an accident."""

import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import thomax

_HOME = str(Path(thomax.__file__).parent)
_LONGEST = 700


def is_sentence(error: BaseException) -> bool:
    """Tell whether thomax raised the error on purpose, with one sentence a person can read.

    An accident, such as a `float()` of a list, ends in a line that raises nothing.
    """
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    on_purpose = frame.filename.startswith(_HOME) and line.startswith("raise ")
    text = str(error)
    readable = 20 < len(text) < _LONGEST and "Traceback" not in text
    return isinstance(error, ValueError | TypeError) and on_purpose and readable


def shown(error: BaseException) -> str:
    """Return an error in a line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def raised(call: Callable[[], Any]) -> Exception | None:
    """Return what a call raises, if it does."""
    try:
        call()
    except Exception as error:
        return error
    return None

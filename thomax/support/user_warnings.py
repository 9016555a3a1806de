"""Warnings that name the user's line as their origin, however deep in here they arise."""

import sys
import warnings

_BETWEEN = ("thomax", "contextlib", "functools")  # packages whose frames are never the user's


def warn(
    message: str, category: type[Warning] = UserWarning, *, through: tuple[str, ...] = ()
) -> None:
    """Warn with the line outside of this package that led here.

    Python shows a warning once for each line: if it were always one of ours, the second mistake
    of a script would go unnoticed.

    Args:
        message: What the user should know.
        category: The kind of warning.
        through: Other packages that call us on the user's behalf.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and _package(frame.f_globals) in (*_BETWEEN, *through):
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _package(namespace: dict[str, object]) -> str:
    # Not by the file: that of a dataclass's own methods is "<string>".
    return str(namespace.get("__name__", "")).partition(".")[0]

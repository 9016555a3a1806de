"""Values and tables as text."""

import json
from collections.abc import Mapping, Sequence
from typing import TextIO

from thomax.support.types import Params, ParamsLike

LAST_COLUMNS = ("error", "note")  # of a table of trials
_WIDEST = 40  # characters of a cell


def as_text(value: object) -> str:
    """Return a value as a program reads it: true and false in small letters.

    Args:
        value: The value of a parameter.
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def json_object(text: str) -> Params | None:
    """Return the JSON object that a text is, or None.

    Args:
        text: What was written.

    Examples:
        >>> json_object('{"x": 1}'), json_object("[1]")
        ({'x': 1}, None)
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def harmless(text: str) -> str:
    """Return a text whose characters are all shown: no colours, no moves of the cursor.

    Ends of lines stay, whatever system they are of.

    Args:
        text: Any text.

    Examples:
        >>> print(harmless("it \\x1b[31mbroke\\r\\nbadly"))
        it \\x1b[31mbroke
        badly
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ").split("\n")
    return "\n".join(map(_escaped, lines))


def say(text: str, file: TextIO | None = None) -> None:
    """Print what may hold others' words: a program's output, the names of files.

    Args:
        text: What to print.
        file: Where to print it; by default to the standard output.
    """
    print(harmless(text), file=file, flush=True)


def _escaped(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def cell(value: object) -> str:
    """Return a value for a table: short, and nothing in it that moves the terminal's cursor.

    Args:
        value: The value of a parameter.
    """
    text = f"{value:.6g}" if isinstance(value, float) else as_text(value)
    text = _escaped(text)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def shown(params: ParamsLike) -> str:
    """Return params for a sentence.

    Args:
        params: The params.

    Examples:
        >>> shown({"x": 0.5, "fast": True})
        'x = 0.5, fast = true'
    """
    return ", ".join(f"{name} = {as_text(value)[:80]}" for name, value in params.items())


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return rows as aligned text, a column for each key in the order of appearance.

    Args:
        rows: The cells of each row by the names of their columns.

    Examples:
        >>> print(table([{"trial": "9", "x": "0.5"}, {"trial": "10"}]))
        trial  x
        9      0.5
        10
    """
    # Remarks come last, also where an earlier row has more parameters than the first.
    found = dict.fromkeys(n for row in rows for n in row)
    names = [n for n in found if n not in LAST_COLUMNS] + [n for n in LAST_COLUMNS if n in found]
    lines = [dict(zip(names, map(cell, names), strict=True)), *rows]
    widths = {n: max(len(line.get(n, "")) for line in lines) for n in names}
    return "\n".join(
        "  ".join(line.get(n, "").ljust(widths[n]) for n in names).rstrip() for line in lines
    )

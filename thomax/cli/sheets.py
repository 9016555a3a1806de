"""Tables as spreadsheets save them: CSV with commas, semicolons or tabs, in UTF-8 or UTF-16.

Where a spreadsheet separates cells by semicolons or tabs it may write 0,5 for 0.5.
"""

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from thomax.cli.numbers import number_in

_DELIMITERS = (",", ";", "\t")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+")  # 1.234 may be a thousand, or about one
_MAY_BE_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # spreadsheets run it, unless it is quoted
_SEPARATOR_LINE = re.compile(r"sep=.\r?\n", re.IGNORECASE)  # some spreadsheets begin with it


@dataclass(frozen=True)
class Sheet:
    """A table: the names of its columns, and its rows by their line in the file.

    Only rows with something in them are there.

    Args:
        path: The file.
        columns: The names of the columns.
        rows: The line in the file and the cells of each row.
        delimiter: What separates cells.
    """

    path: Path
    columns: list[str]
    rows: list[tuple[int, dict[str, str]]]
    delimiter: str

    def where(self, line: int) -> str:
        """Return how an error names a line.

        Args:
            line: The number of the line.
        """
        return f"{self.path}, line {line}"

    def number(self, text: str) -> float | None:
        """Return the number in a cell, or None where there is none.

        Args:
            text: The cell.
        """
        text = text.strip()
        if self._has_decimal_commas:
            if _THOUSANDS.fullmatch(text):
                raise ValueError(
                    f"{self.path} needs numbers of one meaning, got {text} beside numbers with a "
                    f"decimal comma: write {text.replace('.', ',', 1)} or {text.replace('.', '')}."
                )
            if _DECIMAL_COMMA.fullmatch(text):
                text = text.replace(",", ".")
        return number_in(text)

    @cached_property
    def _has_decimal_commas(self) -> bool:
        return self.delimiter != "," and any(
            _DECIMAL_COMMA.fullmatch(cell.strip()) for _, row in self.rows for cell in row.values()
        )


def read_sheet(path: Path, known: Collection[str] = ()) -> Sheet:
    """Read a table.

    Args:
        path: The file.
        known: Columns that it may have, which tell what separates its cells.
    """
    text = decoded(path)
    skipped = _SEPARATOR_LINE.match(text)
    text = text[skipped.end() :] if skipped else text

    def fit(delimiter: str) -> tuple[int, int]:
        header = next(_lines(text, delimiter, path, 0), (0, []))[1]
        names = [_unquoted(name.strip()) for name in header]
        return sum(name in known for name in names), len(names)

    delimiter = max(_DELIMITERS, key=fit)
    lines = _lines(text, delimiter, path, 1 if skipped else 0)
    columns = [_unquoted(name.strip()) for name in next(lines, (0, []))[1]]
    named = [name for name in columns if name]
    if not named:
        raise ValueError(f"{path} needs a first line with the names of columns, got none.")
    if twice := [name for name in named if named.count(name) > 1]:
        raise ValueError(f"{path} needs distinct columns, got {twice[0]!r} twice.")
    rows = [
        (n, _row(f"{path}, line {n}", columns, cells))
        for n, cells in lines
        if any(map(str.strip, cells))
    ]
    return Sheet(path, named, rows, delimiter)


def write_sheet(path: Path, rows: Sequence[Sequence[object]], decimal_comma: bool) -> None:
    """Write a new table; one that exists may hold what somebody has filled in.

    Args:
        path: The file, which must not exist.
        rows: The cells of each row; the first row holds the names of the columns.
        decimal_comma: Whether to write 0,5 for 0.5, and semicolons between cells.
    """
    target = io.StringIO()
    writer = csv.writer(target, delimiter=";" if decimal_comma else ",", lineterminator="\r\n")
    for row in rows:
        writer.writerow([_cell(value, decimal_comma) for value in row])
    text = target.getvalue()
    # Spreadsheets take other texts than plain English for UTF-8 only if a mark says so.
    with path.open("x", encoding="utf-8" if text.isascii() else "utf-8-sig", newline="") as file:
        file.write(text)


def decoded(path: Path) -> str:
    """Return the text of a file in UTF-8 or UTF-16.

    Args:
        path: The file.
    """
    content = path.read_bytes()
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path}, line {line} needs to be text in UTF-8, got other bytes: "
            'save the table as "CSV UTF-8".'
        ) from None


def _lines(text: str, delimiter: str, path: Path, before: int) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for cells in reader:
            yield reader.line_num + before, cells
    except csv.Error as error:
        where = f"{path}, line {reader.line_num + before}"
        raise ValueError(f"{where} needs to be a line of a table, got: {error}.") from None


def _row(where: str, columns: list[str], cells: list[str]) -> dict[str, str]:
    beyond = [c for c in cells[len(columns) :] if c.strip()]
    nameless = [c for name, c in zip(columns, cells, strict=False) if not name and c.strip()]
    if beyond or nameless:
        found = (beyond + nameless)[0]
        raise ValueError(
            f"{where} has more cells than there are columns: {found[:80]!r} has no name above it."
        )
    filled = [*map(_unquoted, cells), *[""] * len(columns)]
    return {name: cell for name, cell in zip(columns, filled, strict=False) if name}


def _unquoted(cell: str) -> str:
    """Undo what `_cell` does to texts that look like formulas."""
    return cell[1:] if cell.startswith("'") and _MAY_BE_FORMULA.match(cell[1:]) else cell


def _cell(value: object, decimal_comma: bool) -> object:
    if isinstance(value, str):
        return f"'{value}" if _MAY_BE_FORMULA.match(value) else value
    if isinstance(value, bool):
        return str(value).lower()
    is_decimal = isinstance(value, float) and decimal_comma
    return repr(value).replace(".", ",") if is_decimal else value

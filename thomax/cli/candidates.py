"""Candidates of a pool in a table, such as a spreadsheet saves it as CSV.

A column of numbers, or of true and false, is a feature; any other has a feature for each distinct
text. The journal holds a checksum of all that, so that another table is noticed.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from thomax.cli.sheets import Sheet, read_sheet
from thomax.space.pool import Pool
from thomax.support.spelling import nearest

if TYPE_CHECKING:
    import pandas as pd

_KEYS = ("file", "name")


class TablePool(Pool):
    """A pool that remembers which column of its table has the candidates' names, if one has.

    Args:
        table: The features of the candidates, a pandas DataFrame.
        names: The names of the candidates, if they have any.
        name_column: The column of the table that the names come from.
    """

    def __init__(
        self, table: "pd.DataFrame", names: list[str] | None, name_column: str | None
    ) -> None:
        super().__init__(table, names=names)
        self.name_column = name_column


def read_pool(where: str, folder: Path, table: object) -> TablePool:
    """Read the pool that a table of a space file describes; its path is relative to the folder.

    Args:
        where: How errors name the table.
        folder: That of the space file.
        table: `file`, the path, and perhaps `name`, the column with the candidates' names.
    """
    if not isinstance(table, dict) or not isinstance(table.get("file"), str):
        raise ValueError(f'{where} needs a file, such as file = "candidates.csv", got {table!r}.')
    for key in table:
        if key not in _KEYS:
            raise ValueError(f"{where} has an unknown key {key!r}: {nearest(key, _KEYS)}")
    path = folder / table["file"]
    try:
        sheet = read_sheet(path)
    except OSError as error:
        raise ValueError(f"{where}: {path} needs to be a readable file ({error}).") from None
    names = _names(where, sheet, table.get("name"))
    columns = {n: _column(sheet, n) for n in sheet.columns if n != table.get("name")}
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("A pool in a file needs pandas: pip install thomax[table]") from error
    try:
        return TablePool(pd.DataFrame(columns), names, table.get("name"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _names(where: str, sheet: Sheet, column: object) -> list[str] | None:
    if column is None:
        return None
    if column not in sheet.columns:
        raise ValueError(
            f"{where} needs a column of {sheet.path} as name, got {column!r}: "
            f"{nearest(str(column), sheet.columns)}"
        )
    return [row[column] for _, row in sheet.rows]


def _column(sheet: Sheet, name: str) -> list[bool] | list[int] | list[float] | list[str]:
    """Return a column's values; whole numbers are whole, also if they are written as 2.0."""
    cells = [row[name].strip() for _, row in sheet.rows]
    if "" in cells:
        line = sheet.rows[cells.index("")][0]
        raise ValueError(
            f"{sheet.where(line)} needs something in the column {name!r}, got an empty cell: "
            "fill it in, or leave the candidate out."
        )
    if {cell.lower() for cell in cells} <= {"true", "false"}:
        return [cell.lower() == "true" for cell in cells]
    numbers = [sheet.number(cell) for cell in cells]
    found = [number for number in numbers if number is not None]
    if len(found) < len(cells):
        return cells
    is_whole = all(number.is_integer() and abs(number) < 2**53 for number in found)
    return [int(number) for number in found] if is_whole else found

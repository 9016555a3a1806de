"""Points as tables name them: texts become values, and rows are compared with trials."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import TypeVar

from thomax.cli.candidates import TablePool
from thomax.cli.numbers import number_in
from thomax.cli.texts import as_text, shown
from thomax.space.parameters import Listed, Numeric, Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.support.spelling import nearest
from thomax.support.types import Params, ParamsLike

T = TypeVar("T")

_SHOWN = 1e-5  # relative difference between a number and the six digits that tables show of it
Reader = Callable[[str], float | None]  # of the number in a cell
RESERVED = ("number", "value", "error")  # columns of a table that are no parameters


class Points:
    """Read points of a space, or candidates of a pool, from rows of texts.

    Args:
        space: The space, or the pool.

    Examples:
        >>> from thomax import Int
        >>> points = Points(Space({"n": Int(1, 5)}))
        >>> points.value("n", "2", float)
        2.0
        >>> points.differences({"n": 2}, {"n": 3.0})
        {'n': 3.0}
    """

    def __init__(self, space: Space | Pool) -> None:
        self.space = space
        self.names = [*(space.parameters if isinstance(space, Space) else space.params([0])[0])]
        column = space.name_column if isinstance(space, TablePool) else None
        self.name_column = None if column in (*self.names, *RESERVED) else column

    def canonical(self, where: str, row: Mapping[str, T]) -> dict[str, T]:
        """Return the row with `name` for what the candidates' own table calls their names.

        Args:
            where: How errors name the place of the row.
            row: Values, or texts, by the names of columns.
        """
        if self.name_column is None or self.name_column not in row:
            return dict(row)
        if "name" in row:
            raise ValueError(
                f"{where} needs one name of the candidate, got both 'name' and "
                f"{self.name_column!r}, which mean the same: remove one of them."
            )
        return {"name" if key == self.name_column else key: cell for key, cell in row.items()}

    def value(self, name: str, text: str, number: Reader) -> object:
        """Return the value that a cell stands for; what is none is left for checks to refuse.

        Args:
            name: The column.
            text: The cell.
            number: Reads the number in a cell.
        """
        if isinstance(self.space, Pool):
            return _alike(self.space.params([0])[0].get(name), text, number)
        return _typed(self.space.parameters.get(name), text, number)

    def given(self, where: str, words: Iterable[str]) -> Params:
        """Return the values in words such as NAME=VALUE.

        Args:
            where: How errors name the place of the words.
            words: What was typed.
        """
        found: Params = {}
        for word in words:
            name, is_pair, text = word.partition("=")
            if not is_pair:
                raise ValueError(f"{where} needs NAME=VALUE, got {word!r}.")
            if name in found:
                raise ValueError(f"{where} needs each name once, got {name!r} twice.")
            found[name] = text
        found = self.canonical(where, found)
        return {name: self.value(name, text, number_in) for name, text in found.items()}

    def may_be_empty(self, name: str) -> bool:
        """Return whether an empty cell is a choice; that of a conditional parameter is none.

        Args:
            name: The column.
        """
        parameters = self.space.parameters if isinstance(self.space, Space) else {}
        parameter = parameters.get(name)
        return isinstance(parameter, Listed) and "" in parameter.options and not parameter.when

    def differences(self, params: ParamsLike, row: ParamsLike) -> Params:
        """Return what a row says otherwise than the params; columns of its own do not count.

        Args:
            params: A point.
            row: Values by the names of columns.
        """
        return {
            name: value
            for name, value in row.items()
            if name in self.names and not (name in params and _same(params[name], value))
        }

    def complete(
        self, row: ParamsLike, columns: Collection[str] = (), rest: ParamsLike | None = None
    ) -> Params:
        """Return the whole point that a row is about.

        Args:
            row: Values by the names of columns.
            columns: The columns that the table has, also where the row's cell is empty.
            rest: The point that was proposed, if one was. It gives values to parameters without a
                column; of a candidate, only the cells that differ from it count: who writes
                another name leaves the index and the features of the row as they were.
        """
        if isinstance(self.space, Pool):
            return self._candidate(self.differences(rest, row) if rest else row)
        others = {name: value for name, value in (rest or {}).items() if name not in columns}
        return self.space.validate(others | {**row})

    def _candidate(self, row: ParamsLike) -> Params:
        if unknown := [name for name in row if name not in self.names]:
            raise ValueError(
                f"Unknown column {unknown[0]!r} of a candidate: {nearest(unknown[0], self.names)}"
            )
        assert isinstance(self.space, Pool)
        if "index" in row:
            candidate = self.space.validate({"index": row["index"]})
            if different := self.differences(candidate, row):
                own = {name: candidate[name] for name in different}
                raise ValueError(
                    f"the candidate with index {candidate['index']} has {shown(own)}, but the row "
                    f"has {shown(different)}: correct the index, or {', '.join(different)}."
                )
            return candidate
        found = [c for c in self._candidates if not self.differences(c, row)] if row else []
        if len(found) != 1:
            raise ValueError(
                f"One candidate needs to be like {dict(row)}, got {len(found)}: give its index."
            )
        return found[0]

    @cached_property
    def _candidates(self) -> list[Params]:
        assert isinstance(self.space, Pool)
        return self.space.params(range(self.space.size))


def _same(one: object, other: object) -> bool:
    """Compare values of which one may have been rounded for a table."""
    kinds = {type(one), type(other)}
    if isinstance(one, int | float) and isinstance(other, int | float) and bool not in kinds:
        return one == other if kinds == {int} else math.isclose(one, other, rel_tol=_SHOWN)
    return bool(one == other) and (bool in kinds) == (kinds == {bool})


def _typed(parameter: Parameter | None, text: str, number: Reader) -> object:
    if isinstance(parameter, Numeric):
        found = number(text)
        return text if found is None else found  # `validate` turns 2.0 into the 2 of an Int
    options = parameter.options if isinstance(parameter, Listed) else ()
    exact = [option for option in options if as_text(option) == text]
    similar = [option for option in options if _may_be_written(option, text, number)]
    return [*exact, *similar, text][0]


def _alike(example: object, text: str, number: Reader) -> object:
    """Return the value of a text in a column that has this value elsewhere."""
    if isinstance(example, bool) and text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    if isinstance(example, str | bool) or (found := number(text)) is None:
        return text
    return int(found) if isinstance(example, int) and found.is_integer() else found


def _may_be_written(option: object, text: str, number: Reader) -> bool:
    """Return whether a table may show an option so: TRUE, or 16.0 in a column that has gaps."""
    if isinstance(option, bool):
        return as_text(option) == text.strip().lower()
    if isinstance(option, str):
        return option == text.strip()
    return isinstance(option, int | float) and option == number(text)

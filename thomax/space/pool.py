"""Pools: finite lists of candidates with known features (vectors, images, tables)."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thomax.space.features import Features, Part, array_features
from thomax.space.numbering import Indices, checked_indices
from thomax.space.tables import row_labels, table_columns, table_features
from thomax.space.values import Scalar, identity, python_scalar
from thomax.support.checks import check_executor
from thomax.support.spelling import nearest, spell_checked
from thomax.support.types import Json, Params, ParamsLike

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd


@spell_checked
class Pool:
    """A finite list of candidates whose features are known.

    Features are scaled column by column. Two pools are equal if their descriptions, which hold a
    checksum, are.

    Args:
        candidates: An array (N, d), images (N, h, w) or (N, h, w, channels), or a pandas
            DataFrame: numeric columns become one feature each, bool columns -1 or 1, and others
            one feature per distinct value. A memory-mapped array stays on disk.
        names: What the candidates are called, in their order; the rows of a DataFrame keep their
            index as labels.
        executor: A `concurrent.futures` executor whose workers score the candidates in parts;
            the points are the same.

    Examples:
        >>> pool = Pool([[0.0, 5.0], [1.0, 5.0]], names=["aspirin", "caffeine"])
        >>> pool.at([1])
        array([[1., 0.]], dtype=float32)
        >>> pool.params([1])
        [{'index': 1, 'name': 'caffeine'}]
    """

    is_finite: ClassVar[bool] = True
    blocks: ClassVar[tuple[()]] = ()

    def __init__(
        self,
        candidates: "ArrayLike | pd.DataFrame",
        *,
        names: Sequence[str] | None = None,
        executor: "Executor | None" = None,
    ) -> None:
        check_executor("Pool", executor)
        self.executor = executor
        digest = hashlib.blake2b(digest_size=8)
        self._shown: dict[str, Sequence[Scalar] | np.ndarray] = {}  # beside the index
        if _is_table(candidates):
            columns = table_columns(candidates)
            self._source = table_features(columns, digest)
            self._shown = {**row_labels(candidates), **columns}
        else:
            self._source = array_features(candidates, digest)
        self.shape = self._source.shape[1:]
        self.size: int = self._source.shape[0]
        self.checksum = digest.hexdigest()
        if names is not None:
            self._shown["name"] = _checked_names(names, self.size, self._shown)

    @property
    def dimension(self) -> int:
        """The number of features of one candidate."""
        return int(np.prod(self.shape))

    def at(self, indices: Indices) -> Features:
        """Return the features of candidates.

        Args:
            indices: Their indices.
        """
        return self._source.read(checked_indices(indices, self.size))

    def chunks(self, rows: int) -> Iterator[tuple[NDArray[np.int64], Features]]:
        """Yield indices and features of all candidates.

        Args:
            rows: How many at a time.
        """
        return Part(self._source, 0).chunks(rows)

    def parts(self, rows: int) -> "Iterator[Part]":
        """Split the candidates into parts, to be scored elsewhere.

        Args:
            rows: How many candidates a part has at most.
        """
        for start in range(0, self.size, rows):
            yield Part(self._source.part(start, start + rows), start)

    def sample(self, rng: np.random.Generator, n: int) -> Features:
        """Return the features of independent random candidates.

        Args:
            rng: The source of random numbers.
            n: How many.
        """
        return self.at(rng.integers(self.size, size=n))

    def params(self, indices: Indices) -> list[Params]:
        """Return each candidate's index, and its label, table columns and name where known.

        Args:
            indices: Their indices.
        """
        return [
            {"index": i} | {key: python_scalar(values[i]) for key, values in self._shown.items()}
            for i in checked_indices(indices, self.size).tolist()
        ]

    def validate(self, params: ParamsLike) -> Params:
        """Return the params of the candidate with this index, or with this name or label.

        Args:
            params: The index, the name or the label; all that are given must fit.

        Raises:
            ValueError: If there is no such candidate.
        """
        if not isinstance(params, Mapping):
            raise TypeError(f"params needs a mapping such as {{'index': 0}}, got {params!r}.")
        unknown = [key for key in params if key != "index" and key not in self._shown]
        if unknown:
            raise ValueError(
                f"Unknown parameter {unknown[0]!r} of a candidate: "
                f"{nearest(unknown[0], ['index', *self._shown])}"
            )
        index = params["index"] if "index" in params else self._index_called(params)
        index = python_scalar(index)
        whole = isinstance(index, int | float) and not isinstance(index, bool)
        if not whole or not 0 <= index < self.size or index != int(index):
            raise ValueError(
                f"A candidate needs a whole 'index' from 0 to {self.size - 1}, got {index!r}."
            )
        found = self.params([int(index)])[0]
        for key in self._callings:
            if _calling(params.get(key, found[key])) != _calling(found[key]):
                raise ValueError(
                    f"Candidate {found['index']} is called {found[key]!r}, got the {key} "
                    f"{params[key]!r}: give the {key}s in the candidates' order."
                )
        return found

    @property
    def _callings(self) -> list[str]:
        """The keys of params that say which candidate it is, as its index does.

        Only names and labels are lists: a column that is called so is an array of features.
        """
        return [key for key in ("name", "label") if isinstance(self._shown.get(key), list)]

    def _index_called(self, params: ParamsLike) -> int | None:
        """Return the index of the one candidate with the name or label that params give."""
        for key in self._callings:
            if key in params:
                called = [_calling(value) for value in self._shown[key]]
                wanted = _calling(params[key])
                if called.count(wanted) != 1:
                    raise ValueError(
                        f"A candidate needs the {key} of one row, got {params[key]!r}, which "
                        f"{called.count(wanted)} rows have: give its 'index'."
                    )
                return called.index(wanted)
        return None

    def index(self, params: Sequence[ParamsLike]) -> list[int]:
        """Return the indices of candidates.

        Args:
            params: Their indices, names or labels.
        """
        return [self.validate(row)["index"] for row in params]

    def encode(self, params: Sequence[ParamsLike]) -> Features:
        """Return the features of candidates.

        Args:
            params: Their indices, names or labels.
        """
        return self.at(self.index(params))

    def having(self, given: ParamsLike) -> "tuple[Selection, Params]":
        """Return the candidates that have given values, and these as candidates hold them.

        Args:
            given: An index, a name, a label or values of columns.

        Raises:
            ValueError: If there are none.
        """
        chosen, own = np.ones(self.size, dtype=bool), {}
        for key, value in given.items():
            if key != "index" and key not in self._shown:
                raise ValueError(
                    f"given needs what a candidate has, got {key!r}: "
                    f"{nearest(key, ['index', *self._shown])}"
                )
            fits = self._where(key, value)
            if not fits.any():
                raise ValueError(
                    f"given needs a value that some candidate has, got {key}={value!r}: "
                    f"{self._known_values(key, value)}"
                )
            own[key] = self.params([int(fits.argmax())])[0][key]
            chosen &= fits
        if not chosen.any():
            raise ValueError(
                f"given needs values that one candidate has, got {own}: none has all."
            )
        return Selection(self, np.flatnonzero(chosen)), own

    def _where(self, key: str, value: object) -> NDArray[np.bool_]:
        """Return for each candidate whether it has this value."""
        value = python_scalar(value)
        if key == "index":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return np.arange(self.size) == (value if is_number else -1)
        if key in self._callings:
            wanted = _calling(value)
            return np.array([_calling(own) == wanted for own in self._shown[key]])
        same = (identity(python_scalar(own)) == identity(value) for own in self._shown[key])
        return np.fromiter(same, dtype=bool, count=self.size)

    def _known_values(self, key: str, value: object) -> str:
        if key == "index":
            return f"the index needs to be from 0 to {self.size - 1}."
        return nearest(value, dict.fromkeys(map(_calling, self._shown[key])))

    def with_objects(self, params: ParamsLike) -> Params:
        """Return a copy of params: a pool has no labelled choices.

        Args:
            params: A candidate.
        """
        return dict(params)

    with_labels = with_objects

    def satisfies(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Return True for each row: a pool has no constraint.

        Args:
            x: Rows of features.
        """
        return np.ones(len(np.asarray(x)), dtype=bool)

    def describe(self) -> dict[str, Json]:
        """Return what identifies the pool as a JSON-able dictionary."""
        description: dict[str, Json] = {
            "kind": "pool",
            "size": self.size,
            "shape": list(self.shape),
            "checksum": self.checksum,
        }
        return description | ({"names_checksum": self._names_checksum} if self._callings else {})

    @cached_property
    def _names_checksum(self) -> str:
        """The checksum of what the candidates are called."""
        digest = hashlib.blake2b(digest_size=8)
        for key in self._callings:
            called = [_calling(value) for value in self._shown[key]]
            digest.update(json.dumps([key, called]).encode())  # JSON: where each ends is plain
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, object]:
        """Leave out the executor, which belongs to one process."""
        return {**vars(self), "executor": None}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pool) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return f"Pool({self.size} candidates of shape {self.shape})"


class Selection(Pool):
    """Some candidates of a pool: positions count these, while params have the pool's indices.

    Args:
        pool: The pool.
        rows: The indices of the candidates, ascending.
    """

    def __init__(self, pool: Pool, rows: NDArray[np.int64]) -> None:
        vars(self).update(vars(pool))
        self._pool, self._rows, self.size = pool, rows, len(rows)

    def at(self, indices: Indices) -> Features:
        """Return the features of candidates."""
        return self._pool.at(self._rows[checked_indices(indices, self.size)])

    def chunks(self, rows: int) -> Iterator[tuple[NDArray[np.int64], Features]]:
        """Yield positions and features of all of them."""
        for start in range(0, self.size, rows):
            positions = np.arange(start, min(start + rows, self.size), dtype=np.int64)
            yield positions, self.at(positions)

    def parts(self, rows: int) -> Iterator[Part]:
        """Split the candidates into parts, to be scored elsewhere."""
        for start in range(0, self.size, rows):
            array = self._source.array[self._rows[start : start + rows]]
            yield Part(replace(self._source, array=array), start)

    def params(self, indices: Indices) -> list[Params]:
        """Return what the pool tells of candidates."""
        return self._pool.params(self._rows[checked_indices(indices, self.size)])

    def validate(self, params: ParamsLike) -> Params:
        """Return the params of a candidate of the pool."""
        return self._pool.validate(params)

    def holds(self, params: ParamsLike) -> bool:
        """Return whether a candidate of the pool is one of these.

        Args:
            params: The candidate, in canonical form.
        """
        position = int(np.searchsorted(self._rows, params["index"]))
        return position < self.size and bool(self._rows[position] == params["index"])

    def index(self, params: Sequence[ParamsLike]) -> list[int]:
        """Return the positions of candidates, which must be among these."""
        positions: list[int] = np.searchsorted(self._rows, self._pool.index(params)).tolist()
        return positions

    def encode(self, params: Sequence[ParamsLike]) -> Features:
        """Return the features of candidates of the pool."""
        return self._pool.encode(params)


def _is_table(candidates: object) -> TypeGuard["pd.DataFrame"]:
    return hasattr(candidates, "columns") and hasattr(candidates, "iloc")


def _calling(value: object) -> str:
    """Return what a name or label is compared by: a table may have made a text of a number."""
    return str(python_scalar(value))


def _checked_names(names: Sequence[str], size: int, columns: Collection[str]) -> list[str]:
    if isinstance(names, str) or len(names) != size:
        got = repr(names) if isinstance(names, str) else len(names)
        raise ValueError(f"names needs one name for each of {size} candidates, got {got}.")
    if "name" in columns:
        raise ValueError("names needs a table without a column 'name': rename the column.")
    return [str(name) for name in names]

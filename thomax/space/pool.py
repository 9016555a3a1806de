"""Pools: finite lists of candidates with known features (vectors, images, tables).

Features reach the networks as float32 of a size that suits them. A column is the last axis:
one feature of a vector, one channel of an image.

    an image of integers                 smallest value of the pool → 0, largest → 1
    a column of one value                0
    a column of only -1, 0 and 1         as it is (flags and one-hot codes stay codes)
    any other column                     (x - mean) / (2 std), so that most |x| <= 1
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thomax.space.numbering import Indices, checked_indices
from thomax.space.parameters import identity, python_scalar
from thomax.spelling import nearest, spell_checked

Features = NDArray[np.float32]

ELEMENTS_AT_ONCE = 2**18  # numbers converted to float64 at a time: 2 MB
MOST_ONE_HOT_VALUES = 1000


@spell_checked
class Pool:
    """Choose among candidates whose features are known.

    Candidates are an array (N, d), images (N, h, w) or (N, h, w, channels), or a pandas
    DataFrame: its numeric columns become one feature each, its bool columns -1 or 1, and its
    other columns one feature per distinct value. Features are scaled as the module describes.
    A table whose rows have labels (an index other than 0, 1, 2, ...) keeps them: they stand as
    `label` in the params. A memory-mapped array stays on disk and is scaled while it is read.
    `names` labels the candidates. A `concurrent.futures` executor scores them in parts, side by
    side; the result is the same. Two pools are equal if their descriptions, which hold a
    checksum, are.

    Example:
        >>> pool = Pool([[0.0, 5.0], [1.0, 5.0]], names=["aspirin", "caffeine"])
        >>> pool.at([1])
        array([[1., 0.]], dtype=float32)
        >>> pool.params([1])
        [{'index': 1, 'name': 'caffeine'}]
    """

    is_finite: ClassVar[bool] = True
    blocks: ClassVar[tuple[()]] = ()

    def __init__(
        self, candidates: Any, *, names: Sequence[str] | None = None, executor: Any = None
    ) -> None:
        self.executor = _checked_executor(executor)
        digest = hashlib.blake2b(digest_size=8)
        self._shown: dict[str, Any] = {}
        if hasattr(candidates, "columns") and hasattr(candidates, "iloc"):
            self._shown = _table_columns(candidates)
            features = [_column_features(n, v, digest) for n, v in self._shown.items()]
            self._source = _Scaled(np.hstack(features), np.zeros(1), np.ones(1))
            self._shown = _row_labels(candidates) | self._shown
        else:
            self._source = _array_source(_checked_array(candidates), digest)
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
        """Return the features of the candidates with these indices."""
        return self._source.read(checked_indices(indices, self.size))

    def chunks(self, rows: int) -> Iterator[tuple[NDArray[np.int64], Features]]:
        """Walk over all candidates: indices and features, at most `rows` at a time."""
        return Part(self._source, 0).chunks(rows)

    def parts(self, rows: int) -> "Iterator[Part]":
        """Split the candidates into parts of at most `rows`, to be scored elsewhere."""
        for start in range(0, self.size, rows):
            yield Part(self._source.part(start, start + rows), start)

    def sample(self, rng: np.random.Generator, n: int) -> Features:
        """Return the features of independent random candidates."""
        return self.at(rng.integers(self.size, size=n))

    def params(self, indices: Indices) -> list[dict[str, Any]]:
        """Return each candidate's index, and its label, table columns and name where known."""
        return [
            {"index": i} | {key: python_scalar(values[i]) for key, values in self._shown.items()}
            for i in checked_indices(indices, self.size).tolist()
        ]

    def validate(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params of the candidate with this index, or with this name or label.

        Where the index is given, the name and the label are compared.
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

    def _index_called(self, params: Mapping[str, Any]) -> int | None:
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

    def index(self, params: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the indices that params name."""
        return [self.validate(row)["index"] for row in params]

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Features:
        """Return the features of the candidates that params name."""
        return self.at(self.index(params))

    def with_objects(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of params: a pool has no labelled choices."""
        return dict(params)

    with_labels = with_objects

    def satisfies(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Say for each row that it is allowed: a pool has no constraint."""
        return np.ones(len(np.asarray(x)), dtype=bool)

    def describe(self) -> dict[str, Any]:
        """Return what identifies the pool as a JSON-able dictionary."""
        description = {
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

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the executor, which belongs to one process."""
        return {**vars(self), "executor": None}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pool) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return f"Pool({self.size} candidates of shape {self.shape})"


@dataclass(frozen=True)
class Part:
    """Candidates of a pool from the index `start` on: what travels to a worker."""

    source: "_Scaled"
    start: int

    @property
    def stop(self) -> int:
        """The index after the last."""
        return self.start + self.source.shape[0]

    def chunks(self, rows: int) -> Iterator[tuple[NDArray[np.int64], Features]]:
        """Walk over the candidates: indices in the pool and features, at most `rows` at a time."""
        for start in range(self.start, self.stop, rows):
            indices = np.arange(start, min(start + rows, self.stop), dtype=np.int64)
            first = start - self.start
            yield indices, self.source.read(slice(first, first + rows))


@dataclass(frozen=True)
class _Place:
    """Where in a file a mapped array lies."""

    path: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, array: NDArray[Any]) -> "_Place | None":
        """Find the place; None if the content is not, or may not be, that of a file."""
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c":
            return None
        # The attributes of a view of a map are those of the whole map: its address tells.
        offset = root.offset + array.ctypes.data - root.ctypes.data
        return cls(str(root.filename), offset, array.dtype, array.shape, array.strides)

    def open(self) -> NDArray[Any]:
        whole = np.memmap(self.path, np.uint8, mode="r")
        return np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)


@dataclass(frozen=True)
class _Scaled:
    """An array that is read as float32 of (x - offset) / scale, per column.

    Pickled, a mapped array is the place in its file, not its content.
    """

    array: NDArray[Any]
    offset: NDArray[np.float64]
    scale: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, ...]:
        channel = (1,) if self.array.ndim == 3 else ()
        return self.array.shape + channel

    def read(self, rows: slice | NDArray[Any]) -> Features:
        part = np.asarray(self.array[rows]).reshape(-1, *self.shape[1:])
        if part.dtype == np.float32 and not self.offset.any() and (self.scale == 1).all():
            return part
        return ((part - self.offset) / self.scale).astype(np.float32)

    def part(self, start: int, stop: int) -> "_Scaled":
        return replace(self, array=self.array[start:stop])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "array": _Place.of(self.array) or self.array}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state["array"]
        vars(self).update(state, array=kept.open() if isinstance(kept, _Place) else kept)

    def in_memory(self) -> "_Scaled":
        features = np.empty(self.shape, dtype=np.float32)
        for rows in _row_slices(self.array):
            features[rows] = self.read(rows)
        features.flags.writeable = False
        return _Scaled(features, np.zeros(1), np.ones(1))


def _array_source(array: NDArray[Any], digest: Any) -> _Scaled:
    scaled = _scaled(array, digest, label=lambda column: f"column {column}")
    if isinstance(array, np.memmap):
        return scaled
    if _is_integer_image(array):  # four times smaller than float32
        return _Scaled(array.copy(), scaled.offset, scaled.scale)
    return scaled.in_memory()


def _scaled(array: NDArray[Any], digest: Any, label: Any) -> _Scaled:
    """Read the array once: refuse what is not finite, take the checksum, find the scaling."""
    columns = array.shape[-1] if array.ndim != 3 else 1
    count, mean, m2 = 0, np.zeros(columns), np.zeros(columns)
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    coded = np.ones(columns, dtype=bool)
    digest.update(f"{array.dtype.str} {array.shape}".encode())
    for rows in _row_slices(array):
        raw = np.ascontiguousarray(array[rows])
        _require_finite(raw, rows.start, label)
        digest.update(raw)
        x = raw.reshape(-1, columns).astype(np.float64)
        low, high = np.minimum(low, x.min(0)), np.maximum(high, x.max(0))
        coded &= ((x == 0) | (abs(x) == 1)).all(0)
        count, mean, m2 = _merged_moments(count, mean, m2, x)
    if _is_integer_image(array):
        low, high = low.min(), high.max()
        offset, scale = np.full(columns, low), np.full(columns, max(high - low, 1))
        return _Scaled(array, offset, scale)
    if not np.isfinite(m2).all():
        raise ValueError("Pool needs features whose squares are finite: divide the large ones.")
    constant = low == high
    offset = np.where(constant, low, np.where(coded, 0, mean))
    scale = np.where(constant | coded, 1, 2 * np.sqrt(m2 / count))
    return _Scaled(array, offset, np.where(scale > 0, scale, high - low))  # squares may underflow


def _merged_moments(
    count: int, mean: NDArray[np.float64], m2: NDArray[np.float64], x: NDArray[np.float64]
) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    """Add rows to a count, a mean and a sum of squared deviations (Chan et al., 1979)."""
    with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses infinite sums
        center = x.mean(0)
        delta, total = center - mean, count + len(x)
        m2 = m2 + ((x - center) ** 2).sum(0) + delta**2 * (count * len(x) / total)
        return total, mean + delta * (len(x) / total), m2


def _row_slices(array: NDArray[Any]) -> Iterator[slice]:
    rows = max(1, ELEMENTS_AT_ONCE // int(np.prod(array.shape[1:])))
    for start in range(0, len(array), rows):
        yield slice(start, min(start + rows, len(array)))


def _require_finite(raw: NDArray[Any], first_row: int, label: Any) -> None:
    bad = np.argwhere(~np.isfinite(raw))
    if len(bad):
        row, *place = bad[0].tolist()
        column = label(place[0] if len(place) == 1 else tuple(place))
        raise ValueError(
            f"Pool needs finite features; row {first_row + row} has {raw[tuple(bad[0])]} "
            f"in {column}: drop or impute it."
        )


def _is_integer_image(array: NDArray[Any]) -> bool:
    return array.ndim > 2 and array.dtype.kind in "iu"


def _checked_array(candidates: Any) -> NDArray[Any]:
    array = candidates if isinstance(candidates, np.memmap) else np.asarray(candidates)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"Pool needs numbers, got an array of {array.dtype}: encode the rest as numbers, "
            "or pass a pandas DataFrame."
        )
    if array.ndim not in (2, 3, 4):
        raise ValueError(
            "Pool needs an array of shape (N, d), (N, h, w) or (N, h, w, channels), "
            f"got {array.shape}: reshape it."
        )
    if array.size == 0:
        raise ValueError(f"Pool needs at least one candidate and one feature, got {array.shape}.")
    return array


def _table_columns(table: Any) -> dict[str, Any]:
    """Return the columns of a DataFrame as arrays of float, int, bool or objects."""
    names = [str(name) for name in table.columns]
    if not names or not len(table):
        raise ValueError(f"Pool needs at least one row and one column, got {table.shape}.")
    if len({*names}) < len(names) or "index" in names:
        raise ValueError(
            f"Pool needs distinct columns, none called 'index', got {names}: rename them."
        )
    columns = {}
    typed = table.infer_objects()  # numbers may come as objects, from a row that was a text
    for name, (_, column) in zip(names, typed.items(), strict=True):
        missing = np.flatnonzero(column.isna().to_numpy())
        if len(missing):
            raise ValueError(
                f"Pool needs finite features; row {missing[0]} has nothing in column {name!r}: "
                "drop or impute it."
            )
        kinds = {"b": bool, "i": np.int64, "u": np.uint64, "f": np.float64, "O": object}
        if column.dtype.kind not in kinds:
            raise ValueError(
                f"Pool needs numbers, bools or strings, got {column.dtype} in column {name!r}: "
                "convert it."
            )
        columns[name] = column.to_numpy(dtype=kinds[column.dtype.kind], copy=True)
    return columns


def _row_labels(table: Any) -> dict[str, list[Any]]:
    """Return the labels of a DataFrame's rows, unless they only count them."""
    labels = [python_scalar(label) for label in table.index.tolist()]
    if labels == [*range(len(labels))]:
        return {}
    if "label" in map(str, table.columns):
        raise ValueError(
            "Pool keeps the labels of the rows as 'label', got a column of that name: rename the "
            "column, or drop the labels with reset_index(drop=True)."
        )
    return {"label": [label if _is_plain(label) else str(label) for label in labels]}


def _is_plain(label: Any) -> bool:
    """Return whether a journal holds it as it is; a date, a tuple or a gap becomes its text."""
    is_number = isinstance(label, int | float) and abs(label) < np.inf
    return isinstance(label, str) or is_number


def _calling(value: Any) -> str:
    """Return what a name or label is compared by: a table may have made a text of a number."""
    return str(python_scalar(value))


def _column_features(name: str, values: NDArray[Any], digest: Any) -> Features:
    digest.update(name.encode())
    if values.dtype == bool:
        features = np.where(values, 1.0, -1.0)[:, None]
    elif values.dtype == object:
        features = _one_hot(name, [python_scalar(value) for value in values], digest)
    else:
        features = values[:, None]
    return _scaled(features, digest, label=lambda _: f"column {name!r}").in_memory().array


def _one_hot(name: str, values: list[Any], digest: Any) -> Features:
    for value in values:
        if not isinstance(value, str | int | float) or value in (np.inf, -np.inf):
            raise ValueError(
                f"Pool needs finite numbers, bools or strings, got {value!r} in column {name!r}: "
                "convert it."
            )
    keys = [identity(value) for value in values]
    levels = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    if len(levels) > MOST_ONE_HOT_VALUES:
        raise ValueError(
            f"Pool needs at most {MOST_ONE_HOT_VALUES} distinct values per column of strings, "
            f"got {len(levels)} in column {name!r}: drop it, or encode it as numbers."
        )
    digest.update(repr([value for _, value in levels]).encode())
    features = np.zeros((len(values), len(levels)), dtype=np.float32)
    features[np.arange(len(values)), [levels[key] for key in keys]] = 1
    return features


def _checked_names(names: Sequence[str], size: int, columns: Mapping[str, Any]) -> list[str]:
    if isinstance(names, str) or len(names) != size:
        got = repr(names) if isinstance(names, str) else len(names)
        raise ValueError(f"names needs one name for each of {size} candidates, got {got}.")
    if "name" in columns:
        raise ValueError("names needs a table without a column 'name': rename the column.")
    return [str(name) for name in names]


def _checked_executor(executor: Any) -> Any:
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(
            f"Pool needs an executor with a `submit` method, got {executor!r}: "
            "pass a concurrent.futures executor, or leave it out."
        )
    return executor

"""Features of a pool's candidates: arrays that are scaled while they are read.

Features reach the networks as float32 of a size that suits them. A column is the last axis:
one feature of a vector, one channel of an image.

    an image of integers                 smallest value of the pool → 0, largest → 1
    a column of one value                0
    a column of only -1, 0 and 1         as it is (flags and one-hot codes stay codes)
    any other column                     (x - mean) / (2 std), so that most |x| <= 1
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Features: TypeAlias = NDArray[np.float32]
ColumnText: TypeAlias = Callable[[int | tuple[int, ...]], str]  # how a message names a column

ELEMENTS_AT_ONCE = 2**18  # numbers converted to float64 at a time: 2 MB


@dataclass(frozen=True)
class Part:
    """Some of a pool's candidates, one after the other: what travels to a worker.

    Args:
        source: Their features.
        start: The index of the first.
    """

    source: "ScaledArray"
    start: int

    @property
    def stop(self) -> int:
        """The index after the last."""
        return self.start + self.source.shape[0]

    def chunks(self, rows: int) -> Iterator[tuple[NDArray[np.int64], Features]]:
        """Yield indices in the pool and features.

        Args:
            rows: How many at a time.
        """
        for start in range(self.start, self.stop, rows):
            indices = np.arange(start, min(start + rows, self.stop), dtype=np.int64)
            first = start - self.start
            yield indices, self.source.read(slice(first, first + rows))


@dataclass(frozen=True)
class _Place:
    """Where in a file a mapped array lies."""

    path: str
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, array: np.ndarray) -> "_Place | None":
        """Find the place; None if the content is not, or may not be, that of a file."""
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c":
            return None
        # The attributes of a view of a map are those of the whole map: its address tells.
        offset = root.offset + array.ctypes.data - root.ctypes.data
        return cls(str(root.filename), offset, array.dtype, array.shape, array.strides)

    def open(self) -> np.ndarray:
        whole = np.memmap(self.path, np.uint8, mode="r")
        return np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)


@dataclass(frozen=True)
class ScaledArray:
    """An array that is read as float32 of (x - offset) / scale, per column.

    Pickled, a mapped array is the place in its file, not its content.

    Args:
        array: The numbers as they were given, one candidate in each row.
        offset: What is subtracted from each column.
        scale: What each column is divided by.
    """

    array: np.ndarray
    offset: NDArray[np.float64]
    scale: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all features, the candidates first."""
        channel = (1,) if self.array.ndim == 3 else ()
        return self.array.shape + channel

    def read(self, rows: slice | np.ndarray) -> Features:
        """Return the features of some candidates.

        Args:
            rows: Which rows.
        """
        part = np.asarray(self.array[rows]).reshape(-1, *self.shape[1:])
        if part.dtype == np.float32 and not self.offset.any() and (self.scale == 1).all():
            return part
        return ((part - self.offset) / self.scale).astype(np.float32)

    def part(self, start: int, stop: int) -> "ScaledArray":
        """Return some of the candidates.

        Args:
            start: The first row.
            stop: The row after the last.
        """
        return replace(self, array=self.array[start:stop])

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "array": _Place.of(self.array) or self.array}

    def __setstate__(self, state: dict[str, object]) -> None:
        kept = state["array"]
        vars(self).update(state, array=kept.open() if isinstance(kept, _Place) else kept)

    def in_memory(self) -> "ScaledArray":
        """Return the same features, scaled once and kept."""
        features = np.empty(self.shape, dtype=np.float32)
        for rows in _row_slices(self.array):
            features[rows] = self.read(rows)
        features.flags.writeable = False
        return ScaledArray(features, np.zeros(1), np.ones(1))


def array_features(candidates: ArrayLike, digest: hashlib.blake2b) -> ScaledArray:
    """Return the features of candidates in an array; a memory-mapped one stays on disk.

    Args:
        candidates: An array of numbers, one candidate in each row.
        digest: A checksum that the array is added to.
    """
    array = _checked_array(candidates)
    scaled = scaled_array(array, digest, column_text=lambda column: f"column {column}")
    if isinstance(array, np.memmap):
        return scaled
    if _is_integer_image(array):  # four times smaller than float32
        return ScaledArray(array.copy(), scaled.offset, scaled.scale)
    return scaled.in_memory()


def scaled_array(
    array: np.ndarray, digest: hashlib.blake2b, column_text: ColumnText
) -> ScaledArray:
    """Read the array once: refuse what is not finite, take the checksum, find the scaling.

    Args:
        array: Numbers, one candidate in each row.
        digest: A checksum that the array is added to.
        column_text: What messages call a column.
    """
    columns = array.shape[-1] if array.ndim != 3 else 1
    count, mean, m2 = 0, np.zeros(columns), np.zeros(columns)
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    coded = np.ones(columns, dtype=bool)
    digest.update(f"{array.dtype.str} {array.shape}".encode())
    for rows in _row_slices(array):
        raw = np.ascontiguousarray(array[rows])
        _require_finite(raw, rows.start, column_text)
        digest.update(raw.data)
        x = raw.reshape(-1, columns).astype(np.float64)
        low, high = np.minimum(low, x.min(0)), np.maximum(high, x.max(0))
        coded &= ((x == 0) | (abs(x) == 1)).all(0)
        count, mean, m2 = _merged_moments(count, mean, m2, x)
    if _is_integer_image(array):
        low, high = low.min(), high.max()
        offset, scale = np.full(columns, low), np.full(columns, max(high - low, 1))
        return ScaledArray(array, offset, scale)
    if not np.isfinite(m2).all():
        raise ValueError("Pool needs features whose squares are finite: divide the large ones.")
    constant = low == high
    offset = np.where(constant, low, np.where(coded, 0, mean))
    scale = np.where(constant | coded, 1, 2 * np.sqrt(m2 / count))
    return ScaledArray(
        array, offset, np.where(scale > 0, scale, high - low)
    )  # squares may underflow


def _merged_moments(
    count: int, mean: NDArray[np.float64], m2: NDArray[np.float64], x: NDArray[np.float64]
) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    """Add rows to a count, a mean and a sum of squared deviations (Chan et al., 1979)."""
    with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses infinite sums
        center = x.mean(0)
        delta, total = center - mean, count + len(x)
        m2 = m2 + ((x - center) ** 2).sum(0) + delta**2 * (count * len(x) / total)
        return total, mean + delta * (len(x) / total), m2


def _row_slices(array: np.ndarray) -> Iterator[slice]:
    rows = max(1, ELEMENTS_AT_ONCE // int(np.prod(array.shape[1:])))
    for start in range(0, len(array), rows):
        yield slice(start, min(start + rows, len(array)))


def _require_finite(raw: np.ndarray, first_row: int, column_text: ColumnText) -> None:
    bad = np.argwhere(~np.isfinite(raw))
    if len(bad):
        row, *place = bad[0].tolist()
        column = column_text(place[0] if len(place) == 1 else tuple(place))
        raise ValueError(
            f"Pool needs finite features; row {first_row + row} has {raw[tuple(bad[0])]} "
            f"in {column}: drop or impute it."
        )


def _is_integer_image(array: np.ndarray) -> bool:
    return array.ndim > 2 and array.dtype.kind in "iu"


def _checked_array(candidates: ArrayLike) -> np.ndarray:
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

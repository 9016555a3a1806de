"""Tables as features: the columns and the row labels of a pandas DataFrame."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from thomax.space.features import Features, ScaledArray, scaled_array
from thomax.space.values import Scalar, identity, python_scalar

if TYPE_CHECKING:
    import pandas as pd

MOST_ONE_HOT_VALUES = 1000


def table_columns(table: "pd.DataFrame") -> dict[str, np.ndarray]:
    """Return the columns of a table as arrays of float, int, bool or objects.

    Args:
        table: Rows of candidates.
    """
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


def row_labels(table: "pd.DataFrame") -> dict[str, list[Scalar]]:
    """Return the labels of a table's rows under the name "label", unless they only count them.

    Args:
        table: Rows of candidates.
    """
    labels = [python_scalar(label) for label in table.index.tolist()]
    if labels == [*range(len(labels))]:
        return {}
    if "label" in map(str, table.columns):
        raise ValueError(
            "Pool keeps the labels of the rows as 'label', got a column of that name: rename the "
            "column, or drop the labels with reset_index(drop=True)."
        )
    return {"label": [label if _is_plain(label) else str(label) for label in labels]}


def _is_plain(label: object) -> bool:
    """Return whether a journal holds it as it is; a date, a tuple or a gap becomes its text."""
    is_number = isinstance(label, int | float) and abs(label) < np.inf
    return isinstance(label, str) or is_number


def table_features(columns: Mapping[str, np.ndarray], digest: hashlib.blake2b) -> ScaledArray:
    """Return the features of a table: a number or flag as one, a text as one for each value.

    Args:
        columns: The table's columns by name.
        digest: A checksum that the columns are added to.
    """
    parts = [_column_features(name, values, digest) for name, values in columns.items()]
    return ScaledArray(np.hstack(parts), np.zeros(1), np.ones(1))


def _column_features(name: str, values: np.ndarray, digest: hashlib.blake2b) -> Features:
    digest.update(name.encode())
    if values.dtype == bool:
        features = np.where(values, 1.0, -1.0)[:, None]
    elif values.dtype == object:
        features = _one_hot(name, [python_scalar(value) for value in values], digest)
    else:
        features = values[:, None]
    return (
        scaled_array(features, digest, column_text=lambda _: f"column {name!r}").in_memory().array
    )


def _one_hot(name: str, values: list[object], digest: hashlib.blake2b) -> Features:
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

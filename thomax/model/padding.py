"""Padding to few sizes, so that growing data reuse compiled code."""

import numpy as np

_FEWEST_ROWS, _FEWEST_IMAGES = 64, 16  # that data are padded to


def padded_size(n: int, shape: tuple[int, ...] = ()) -> int:
    """Round n up to one of few sizes: 64, 96, 128, 192, ...

    Up to 64 rows cost less than to compile for a size between; if they are images, of a `shape`
    with several axes, they do not, and sizes begin with 16, 24, 32.

    Args:
        n: The number of rows to make room for.
        shape: The shape of one row.
    """
    size = _FEWEST_ROWS if len(shape) < 2 else _FEWEST_IMAGES
    while size < n:
        if size + size // 2 >= n:
            return size + size // 2
        size *= 2
    return size


def pad(rows: np.ndarray, size: int, axis: int = 0) -> np.ndarray:
    """Append zeros along an axis until it has `size` entries.

    Args:
        rows: The array to pad.
        size: How many entries the axis shall have.
        axis: The axis along which zeros are appended.
    """
    missing = size - rows.shape[axis]
    widths = [(0, missing if i == axis % rows.ndim else 0) for i in range(rows.ndim)]
    return np.pad(rows, widths)

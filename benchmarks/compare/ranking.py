"""Ranks with shared ties, signed-rank tests, and Holm's correction for many of them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

LEVEL = 1e-9  # a smaller difference of scores is none: rounding makes such


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank the rows in each column, the largest value first; equal ones share their mean rank.

    Example:
        >>> ranks(np.array([[3.0], [1.0], [3.0]])).tolist()
        [[1.5], [3.0], [1.5]]
    """
    from scipy import stats  # here, because importing it takes long

    return stats.rankdata(-values, axis=0)


def signed_rank_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test on pairs; equal pairs drop out.

    Example:
        >>> signed_rank_p([2, 3, 4, 5, 6], [1, 1, 1, 1, 1])
        0.0625
    """
    from scipy import stats

    differences = np.asarray(first, float) - np.asarray(second, float)
    differences = differences[abs(differences) > LEVEL]
    return float(stats.wilcoxon(differences).pvalue) if len(differences) else 1.0


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Correct p-values for their number (Holm, 1979): the i-th smallest of m by m - i + 1.

    Example:
        >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
        {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    corrected, largest = {}, 0.0
    for i, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, p_values[name] * (len(p_values) - i)))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}

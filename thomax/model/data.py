"""Observations.

Notation:
    x        observed points, encoded to a centred cube (or features, or images)   (n, ...)
    y        observed values, larger is better; NaN marks a failed evaluation      (n,)
    pending  points that are being evaluated                                       (k, ...)
"""

import math
from dataclasses import dataclass, field

import numpy as np

from thomax.model.targets import Standardised, raw, standardise, warp


@dataclass(frozen=True)
class Data:
    """What is known of the black box: observed points, their values, and pending points.

    Args:
        x: Observed points, encoded as the model sees them, (n, ...).
        y: Observed values, larger is better; NaN marks a failed evaluation, (n,).
        pending: Points that are being evaluated, (k, ...).

    Examples:
        >>> data = Data(np.array([[0.0], [0.5]]), np.array([1.0, np.nan]))
        >>> len(data)
        2
    """

    x: np.ndarray
    y: np.ndarray
    pending: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        x = np.asarray(self.x, np.float32)
        y = np.asarray(self.y, np.float64)
        if x.ndim < 2 or y.shape != (len(x),):
            raise ValueError(
                f"Data needs x of shape (n, d) and y of shape (n,), got {x.shape} and {y.shape}."
            )
        if not np.isfinite(x).all():
            raise ValueError(
                "Data needs finite points, got NaN or infinity in x: drop those rows."
            )
        pending = np.asarray(self.pending, np.float32).reshape(-1, *x.shape[1:])
        for name, value in (("x", x), ("y", y), ("pending", pending)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def failed(self) -> np.ndarray:
        """Which evaluations have failed, (n,)."""
        return np.isnan(self.y)

    def successes(self) -> "Data":
        """Return the evaluations that gave a value: failures say nothing about the objective."""
        kept = ~self.failed
        return self if kept.all() else Data(self.x[kept], self.y[kept], self.pending)

    def best(self, count: int) -> np.ndarray:
        """Return the positions of the evaluations with the best values.

        Args:
            count: How many at most.
        """
        found = np.argsort(-self.y, kind="stable")[:count]
        return found[np.isfinite(self.y[found])]

    def best_and_spread(self, most: int) -> "Data":
        """Return at most so many evaluations: the best, and as many spread over all the others.

        A search needs to know well where values are good, and elsewhere that they are not.

        Args:
            most: How many to keep at most.
        """
        if len(self) <= most:
            return self
        best = np.argsort(-self.y, kind="stable")[: most // 2]
        others = np.setdiff1d(np.arange(len(self)), best)
        spread = others[np.linspace(0, len(others) - 1, most - len(best)).astype(int)]
        kept = np.sort(np.concatenate([best, spread]))
        return Data(self.x[kept], self.y[kept], self.pending)

    def in_canonical_order(self) -> "Data":
        """Return the same data with rows sorted: their order must not matter to a model.

        Noise is drawn for a point, not for its place in the history, and rounding must not choose
        another minimum of a training that is not convex.
        """
        columns = self.x.reshape(len(self), math.prod(self.x.shape[1:])).T
        order = np.lexsort((self.y, *columns[::-1]))
        return Data(self.x[order], self.y[order], self.pending)

    def targets(self, standardised: bool, warped: bool = False) -> "Standardised":
        """Return the values as targets for training: raw, standardised, or warped as well.

        Args:
            standardised: Whether to bring them to mean zero and unit variance.
            warped: Whether to warp a scale that is mostly a long tail of bad values.
        """
        found = standardise(self.y) if standardised else raw(self.y)
        return warp(found) if warped else found

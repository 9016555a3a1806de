"""The noise of single values: means of several measurements, and errors that are known.

k measurements y_1, ..., y_k of one point are as likely as their mean, whose noise variance is
v / k, times a factor in which the function does not occur:

    prod_j N(y_j; f, v)  =  N(mean; f, v / k)  k^(-1/2) (2 pi v)^(-(k - 1) / 2) exp(-S / (2 v))

So the posterior needs the mean and k, and only the evidence of the noise needs S.

Notation:
    v      noise variance of one measurement, where it is not known
    k      how many measurements a value is the mean of                       (n,)
    S      sum of their squared deviations from the mean                      (n,)
    known  variance of a value's noise where it is known, otherwise NaN       (n,)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thomax.support.lazy_jax import array_module, pytree
from thomax.support.types import Array, ArrayOrFloat

_LEAST, _MOST = 1e-3, 1e6  # known noise in units of the targets' root mean square


@pytree(data_fields=["repeats", "known", "scatter"])
@dataclass(frozen=True)
class Noise:
    """What is known of the noise of each value, on the scale of the targets.

    Args:
        repeats: How many measurements each value is the mean of, k, (n,).
        known: The variance of each value's noise; NaN where it is v / k, (n,).
        scatter: The sum of squared deviations of its measurements, S; NaN where it is not known
            or not needed, (n,).
    """

    repeats: Array
    known: Array
    scatter: Array

    @classmethod
    def of(
        cls, repeats: np.ndarray, std: np.ndarray, scatter: np.ndarray, targets: np.ndarray
    ) -> "Noise":
        """Collect what is known, and bound errors so that sums with them can be solved.

        A known error below a thousandth of the targets' size counts as that thousandth: networks
        are evaluated in single precision. One that is a million times as large says nothing.

        Args:
            repeats: How many measurements each value is the mean of, (n,).
            std: The known standard deviation of each value's noise, or NaN, (n,).
            scatter: The sums of squared deviations, or NaN, (n,).
            targets: The targets, (n,).
        """
        largest = float(np.abs(targets).max(initial=0.0)) or 1.0
        size = largest * float(np.sqrt(np.mean(np.square(targets / largest)))) or 1.0
        known = np.square(np.clip(std, _LEAST * size, _MOST * size))
        needed = np.isfinite(scatter) & np.isnan(known)
        return cls(repeats, known, np.where(needed, scatter, np.nan))

    @property
    def is_common(self) -> Array:
        """Which values have the noise v / k, not one that is known, (n,)."""
        return array_module(self.known).isnan(self.known)

    def variances(self, v: ArrayOrFloat) -> Array:
        """Return the variance of each value's noise, (n,).

        Args:
            v: The noise variance of one measurement, where it is not known.
        """
        xp = array_module(self.known, v)
        return xp.where(self.is_common, v / self.repeats, self.known)

    def sums(self) -> tuple[Array, Array, Array]:
        """Return the sums of k - 1, S and log k over the values whose S counts."""
        xp = array_module(self.scatter)
        counts = ~xp.isnan(self.scatter)
        logs = xp.where(counts, xp.log(self.repeats), 0.0)
        degrees = xp.where(counts, self.repeats - 1, 0.0)
        return degrees.sum(), xp.where(counts, self.scatter, 0.0).sum(), logs.sum()

    def scatter_loss(self, v: ArrayOrFloat) -> Array:
        """Return minus the logarithm of the factor in which the function does not occur.

        Args:
            v: The noise variance of one measurement.
        """
        degrees, squares, logs = self.sums()
        xp = array_module(self.scatter, v)
        return 0.5 * (degrees * xp.log(2 * np.pi * v) + squares / v + logs)

    def scatter_slope(self, v: float) -> float:
        """Return the derivative of `scatter_loss` with respect to log v.

        Args:
            v: The noise variance of one measurement.
        """
        degrees, squares, _ = self.sums()
        return 0.5 * float(degrees - squares / v)

    def in_units(self, unit: float) -> "Noise":
        """Return the noise of values that are divided by a number.

        Args:
            unit: The number.
        """
        return Noise(self.repeats, self.known / unit**2, self.scatter / unit**2)

    def take(self, rows: np.ndarray | slice) -> "Noise":
        """Return the noise of some of the values.

        Args:
            rows: Which, as an index of arrays.
        """
        return Noise(self.repeats[rows], self.known[rows], self.scatter[rows])

    def padded(self, size: int) -> "Noise":
        """Append single values of which nothing is known.

        Args:
            size: How many values there shall be.
        """
        more = np.full(size - len(self.repeats), np.nan)
        both = (np.concatenate([array, more]) for array in (self.known, self.scatter))
        return Noise(np.concatenate([self.repeats, np.ones(len(more))]), *both)


def pooled(measurements: Sequence[float]) -> tuple[float, int, float]:
    """Return mean, number, and sum of squared deviations of the measurements of one point.

    Args:
        measurements: The measured values, at least one.

    Examples:
        >>> pooled([1.0, 2.0, 6.0])
        (3.0, 3, 14.0)
    """
    y = np.asarray(measurements, np.float64)
    mean = float((y / len(y)).sum())  # divided first: values may be near the largest float
    with np.errstate(over="ignore"):
        return mean, len(y), float(np.square(y - mean).sum())

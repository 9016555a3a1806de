"""Observations.

Notation:
    x        observed points, encoded to a centred cube (or features, or images)   (n, ...)
    y        observed values, larger is better; NaN marks a failed evaluation      (n,)
    pending  points that are being evaluated                                       (k, ...)
    repeats, noise_std, scatter   what is known of the noise of each value         (n,)
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from thomax.model.noise import Noise
from thomax.model.targets import Standardised, raw, standardise, warp


@dataclass(frozen=True)
class Data:
    """What is known of the black box: observed points, their values, and pending points.

    Args:
        x: Observed points, encoded as the model sees them, (n, ...).
        y: Observed values, larger is better; NaN marks a failed evaluation, (n,).
        pending: Points that are being evaluated, (k, ...).
        repeats: How many measurements each value is the mean of, (n,); none for one each.
        noise_std: The standard deviation of each value's noise (of a mean: of the mean's), in
            units of y; NaN where it is not known: there it is the noise that is fitted, over the
            root of the repeats, (n,); none if nothing is known.
        scatter: The sum of squared deviations of each value's measurements from their mean, from
            which the fit of the noise learns; NaN where it is not known, (n,); none for NaN.

    Examples:
        >>> data = Data(np.array([[0.0], [0.5]]), np.array([1.0, np.nan]))
        >>> len(data)
        2
    """

    x: np.ndarray
    y: np.ndarray
    pending: np.ndarray = field(default_factory=lambda: np.empty(0))
    repeats: np.ndarray = field(default_factory=lambda: np.empty(0))
    noise_std: np.ndarray = field(default_factory=lambda: np.empty(0))
    scatter: np.ndarray = field(default_factory=lambda: np.empty(0))

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
        for name, default in _OF_NOISE.items():
            object.__setattr__(self, name, _one_each(name, getattr(self, name), len(y), default))

    def __len__(self) -> int:
        return len(self.x)

    @property
    def failed(self) -> np.ndarray:
        """Which evaluations have failed, (n,)."""
        return np.isnan(self.y)

    def successes(self) -> "Data":
        """Return the evaluations that gave a value: failures say nothing about the objective."""
        kept = ~self.failed
        return self if kept.all() else self.take(kept)

    def take(self, rows: np.ndarray | slice) -> "Data":
        """Return some of the evaluations, and all pending points.

        Args:
            rows: Which, as an index of arrays.
        """
        of_noise = {name: getattr(self, name)[rows] for name in _OF_NOISE}
        return replace(self, x=self.x[rows], y=self.y[rows], **of_noise)

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
        return self.take(np.sort(np.concatenate([best, spread])))

    def in_canonical_order(self) -> "Data":
        """Return the same data with rows sorted: their order must not matter to a model.

        Noise is drawn for a point, not for its place in the history, and rounding must not choose
        another minimum of a training that is not convex.
        """
        columns = self.x.reshape(len(self), math.prod(self.x.shape[1:])).T
        of_noise = [getattr(self, name) for name in _OF_NOISE]
        return self.take(np.lexsort((*of_noise, self.y, *columns[::-1])))

    @property
    def is_plain(self) -> bool:
        """Whether nothing is known of the noise: all values are single measurements."""
        return bool((self.repeats == 1).all() and np.isnan(self.noise_std).all())

    def plain(self) -> "Data":
        """Return the same data without what is known of the noise, for models that ignore it."""
        return Data(self.x, self.y, self.pending)

    def noise(self, standard: Standardised) -> Noise | None:
        """Return the noise of each value on the scale of the targets, None for plain data.

        Small differences in y are differences in targets times the slope of the transformation,
        so deviations are multiplied by the slope at the value.

        Args:
            standard: The targets of these data.
        """
        if self.is_plain:
            return None
        return Noise.of(self.repeats, *self._on_targets(standard), standard.targets)

    def on_targets(self, standard: Standardised) -> "Data":
        """Return the data with targets in the place of values, and their noise on that scale.

        Args:
            standard: The targets of these data.
        """
        if self.is_plain:
            return replace(self, y=standard.targets)
        noise_std, scatter = self._on_targets(standard)
        return replace(self, y=standard.targets, noise_std=noise_std, scatter=scatter)

    def _on_targets(self, standard: Standardised) -> tuple[np.ndarray, np.ndarray]:
        """Return noise_std and scatter, multiplied by the slope and by its square."""
        with np.errstate(over="ignore", invalid="ignore"):
            std, root = self.noise_std * standard.slopes, np.sqrt(self.scatter) * standard.slopes
            largest = np.sqrt(np.finfo(float).max)
            # 0 times an infinite slope is no noise; infinite scatter tells nothing.
            std = np.where(self.noise_std == 0, 0.0, np.minimum(std, largest))
            return std, np.where(root < largest, np.square(root), np.nan)

    def targets(self, standardised: bool, warped: bool = False) -> "Standardised":
        """Return the values as targets for training: raw, standardised, or warped as well.

        Args:
            standardised: Whether to bring them to mean zero and unit variance.
            warped: Whether to warp a scale that is mostly a long tail of bad values.
        """
        found = standardise(self.y) if standardised else raw(self.y)
        return warp(found) if warped else found


_OF_NOISE = {"repeats": 1.0, "noise_std": np.nan, "scatter": np.nan}  # and what none stands for


def _one_each(name: str, value: np.ndarray, n: int, default: float) -> np.ndarray:
    """Return what is known of the noise as one number for each value, or raise."""
    found = np.asarray(value, np.float64)
    if not found.size:
        return np.full(n, default)
    if found.shape != (n,):
        raise ValueError(
            f"Data needs one entry of {name} for each of {n} values, got the shape {found.shape}."
        )
    is_count = name == "repeats"
    fits = found >= 1 if is_count else (found >= 0) | np.isnan(found)
    if name != "scatter":  # sums of squares may overflow
        fits &= ~np.isinf(found)
    if not fits.all():
        i = int(np.argmin(fits))
        needed = "finite numbers >= 1" if is_count else "finite numbers >= 0, or NaN if unknown"
        raise ValueError(f"Data needs {name} to be {needed}, got {found[i]} for value {i}.")
    return found

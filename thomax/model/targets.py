"""Targets: what happens to observed values before a model sees them, and the way back.

Notation:
    y        observed values, larger is better     (n,)
    targets  standardised values, maybe warped     (n,)
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

USUAL_NOISE_STD = 0.1  # that is assumed of standardised targets before the data

_OUTLIER = 5.0  # robust standard deviations beyond which a target is compressed
_FAR, _BEYOND = 3.0, 1.9  # robust standard deviations that are kept, and the most that is left
_FEWEST_TO_WARP = 5
_POWERS = 21  # that are tried
_WORTH_WARPING = 0.1  # nats an observation
_LARGEST = np.finfo(np.float64).max
_FARTHEST = 1e50  # whose fourth power is finite


@dataclass(frozen=True)
class Standardised:
    """Targets of mean zero and unit variance, and the way back.

    Args:
        targets: What a model is trained on, (n,).
        centre: The value of y that the target zero stands for.
        scale: The difference in y that one unit of unwarped targets stands for.
        warping: Power, shift and standard deviation of a Yeo-Johnson transform; None for none.
    """

    targets: np.ndarray
    centre: float
    scale: float
    warping: tuple[float, float, float] | None = None

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Return what targets, or a model's outputs on their scale, are in the units of y.

        Args:
            targets: Standardised and maybe warped values, (n,) or (B, n).
        """
        return restored(targets, self.centre, self.scale, self.warping)


def raw(y: np.ndarray) -> Standardised:
    """Leave targets as they are, except infinities, which count as the extremes.

    Args:
        y: The observed values, (n,).
    """
    y = np.asarray(y, np.float64)
    finite = y[np.isfinite(y)]
    low, high = (finite.min(), finite.max()) if finite.size else (-1.0, 1.0)
    return Standardised(np.clip(y, low, high), 0.0, 1.0)


def standardise(y: np.ndarray) -> Standardised:
    """Bring targets to mean zero and unit variance, robustly.

    Infinite values count as the largest finite ones. One wild value must not flatten the rest:
    what lies more than five robust standard deviations from the median is pulled in to less than
    ten, which keeps the order of the values. All steps commute with y -> a y + c, a > 0.

    Args:
        y: The observed values, (n,).
    """
    y = raw(y).targets
    if not y.size:
        return Standardised(y, 0.0, 1.0)
    # Dividing first keeps differences and squares of values near the largest float finite.
    unit = max(float(np.abs(y).max()), np.finfo(float).tiny)
    z = y / unit
    median = float(np.median(z))
    spread = _robust_spread(z - median)
    if spread == 0.0:
        return Standardised(np.zeros_like(y), median * unit, 1.0)
    with np.errstate(over="ignore"):  # the rest may be 300 orders of magnitude smaller
        z = _compress((z - median) / spread)
    mean, std = float(z.mean()), max(float(z.std()), 1e-12)
    scale = std * spread * unit
    return Standardised((z - mean) / std, (median + mean * spread) * unit, max(scale, 5e-324))


def invertible(y: np.ndarray) -> Standardised:
    """Bring targets to mean zero and unit variance, warped if they need it, and back exactly.

    Nothing is pulled in that the way back would not push out again: for predictions in the
    units of y, which are to be right for bad values too. A long tail is warped from where
    the robust scale puts it.

    Args:
        y: The observed values, (n,).
    """
    y = raw(y).targets
    unit = max(float(np.abs(y).max(initial=0.0)), np.finfo(float).tiny)
    median = float(np.median(y / unit)) if y.size else 0.0
    spread = _robust_spread(y / unit - median) if y.size else 0.0
    if spread == 0.0:
        return Standardised(np.zeros_like(y), median * unit, 1.0)
    with np.errstate(over="ignore"):
        z = np.clip((y / unit - median) / spread, -_FARTHEST, _FARTHEST)
    robust = Standardised(z, median * unit, max(spread * unit, 5e-324))
    warped = warp(robust)
    if warped.warping is not None:
        return warped
    mean, std = float(z.mean()), max(float(z.std()), 1e-12)
    return Standardised(
        (z - mean) / std, (median + mean * spread) * unit, max(std * spread * unit, 5e-324)
    )


def _robust_spread(deviations: np.ndarray) -> float:
    """Standard deviation by the median deviation; by the mean one if most values are equal."""
    spread = float(np.median(np.abs(deviations))) * 1.4826  # exact for a normal distribution
    return spread or float(np.abs(deviations).mean())


def _compress(z: np.ndarray) -> np.ndarray:
    """Leave |z| up to the outlier bound as it is; beyond, approach twice the bound."""
    excess = np.clip(np.abs(z) - _OUTLIER, 0.0, 1e300)  # infinity too is twice the bound
    return np.sign(z) * (np.minimum(np.abs(z), _OUTLIER) + excess / (1 + excess / _OUTLIER))


def warp(standard: Standardised) -> Standardised:
    """Warp a scale that is mostly a long tail of bad values (Yeo and Johnson 2000).

    Such a tail takes up most of the scale of standardised targets, and hides the differences
    among the good ones. The power, from 1 (no warping) to 2, is the one under which a normal
    distribution is most likely; unless it is much more likely, targets stay as they are, because
    warping turns sums of effects into something else.

    Args:
        standard: The standardised targets, and the way back.
    """
    z = standard.targets
    if len(z) < _FEWEST_TO_WARP or np.ptp(z) == 0:
        return standard
    powers = np.linspace(1.0, 2.0, _POWERS)
    likelihoods = [_normality(z, power) for power in powers]
    best = int(np.argmax(likelihoods))
    if likelihoods[best] - likelihoods[0] < _WORTH_WARPING * len(z):
        return standard
    warped = _yeo_johnson(z, powers[best])
    shift, spread = float(warped.mean()), float(warped.std())
    warping = (float(powers[best]), shift, spread)
    return replace(standard, targets=(warped - shift) / spread, warping=warping)


def restored(
    targets: np.ndarray,
    centre: np.ndarray | float,
    scale: np.ndarray | float,
    warping: ArrayLike | None,
) -> np.ndarray:
    """Bring targets, or a model's outputs on their scale, back to the units of y.

    What lies beyond the largest float counts as the largest.

    Args:
        targets: Standardised and maybe warped values, (n,) or (B, n).
        centre: The value of y that the target zero stands for: one, or (B, 1).
        scale: The difference in y that one unit of unwarped targets stands for: one, or (B, 1).
        warping: Power, shift and standard deviation for `unwarped`; None if there is no warping.
    """
    z = targets if warping is None else unwarped(targets, warping)
    with np.errstate(over="ignore"):
        return np.clip(centre + scale * z, -_LARGEST, _LARGEST)


def unwarped(targets: np.ndarray, warping: ArrayLike) -> np.ndarray:
    """Undo `warp`; rows of targets may have a warping each.

    Args:
        targets: The warped targets, (n,), or (B, n) with a warping for each row.
        warping: Power, shift and standard deviation, (3,) or (B, 3).

    Examples:
        >>> z = standardise(np.array([-1000.0, 0.0, 1.0, 2.0, 2.5, 3.0]))
        >>> warped = warp(z)
        >>> bool(np.allclose(unwarped(warped.targets, warped.warping), z.targets))
        True
    """
    power, shift, spread = np.moveaxis(np.asarray(warping, np.float64), -1, 0)[..., None]
    warped = shift + spread * targets
    return np.sign(warped) * _inverse(np.abs(warped), np.where(warped < 0, 2 - power, power))


def on_scale(y: np.ndarray, centre: float, scale: float, warping: ArrayLike | None) -> np.ndarray:
    """Return where values lie on the scale of targets: the way there that `restored` undoes.

    Args:
        y: Values in their units.
        centre: The value of y that the target zero stands for.
        scale: The difference in y that one unit of unwarped targets stands for.
        warping: Power, shift and standard deviation of the warping; None if there is none.
    """
    z = (np.asarray(y, np.float64) - centre) / scale
    if warping is None:
        return z
    power, shift, spread = np.asarray(warping, np.float64)
    return np.asarray((_yeo_johnson(z, float(power)) - shift) / spread)


def around(y: np.ndarray, bound: float) -> np.ndarray:
    """Return values on a scale where a bound is zero, and nothing far away hides what is near it.

    What lies more than three robust standard deviations from the median is pulled in to less than
    five: `standardise` then leaves the scale straight, and the bound stays between the values that
    keep it and those that do not.

    Args:
        y: Observed values, NaN for failed evaluations, (n,).
        bound: The bound.
    """
    known = y[~np.isnan(y)]
    median = float(np.median(known))
    spread = _robust_spread(known - median) or abs(median - bound) or 1.0
    return _near((y - median) / spread) - _near(np.array((bound - median) / spread))


def _near(z: np.ndarray) -> np.ndarray:
    excess = np.maximum(np.abs(z) - _FAR, 0.0)
    return np.sign(z) * (np.minimum(np.abs(z), _FAR) + excess / (1 + excess / _BEYOND))


def _yeo_johnson(z: np.ndarray, power: float) -> np.ndarray:
    """Return ((1 + |z|)^q - 1) / q with the sign of z; q is the power, or 2 - power for z < 0."""
    q = np.where(z < 0, 2 - power, power)
    logs = np.log1p(np.abs(z))
    return np.sign(z) * np.where(q > 0, np.expm1(q * logs) / np.where(q > 0, q, 1.0), logs)


def _inverse(warped: np.ndarray, q: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        logs = np.where(q > 0, np.log1p(q * warped) / np.where(q > 0, q, 1.0), warped)
        return np.expm1(logs)


def _normality(z: np.ndarray, power: float) -> float:
    """Return the log likelihood of a normal distribution of the warped values, at its best."""
    warped = _yeo_johnson(z, power)
    jacobian = (power - 1) * np.sum(np.sign(z) * np.log1p(np.abs(z)))
    return float(jacobian - 0.5 * len(z) * np.log(np.maximum(np.var(warped), 1e-300)))

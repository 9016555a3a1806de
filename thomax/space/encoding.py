"""Scales: where the codes of a parameter lie in the cube [-1, 1]^d.

Every scale works on arrays of n codes, and `place(nearest(u))` is a fixed point bit for bit:
placing and reading it again changes nothing.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.float64]  # in the cube
# The levels of a grid, or the values of an interval.
Codes = NDArray[np.int64] | NDArray[np.float64]


class Scale(Protocol):
    """Where the codes of a parameter lie in the cube."""

    @property
    def width(self) -> int:
        """How many columns it takes."""

    @property
    def count(self) -> float:
        """How many codes it has."""

    def place(self, codes: Codes) -> Places:
        """Return where codes (n,) lie: (n, width).

        Args:
            codes: Levels of a grid, or values of an interval.
        """

    def nearest(self, u: Places) -> Codes:
        """Return the codes (n,) closest to points of the cube (n, width).

        Args:
            u: Points, which need not be places of a code.
        """

    def spread(self, t: Places) -> Codes:
        """Return codes (n,) of points of [0, 1)^width, evenly spread where those are.

        Args:
            t: Points (n, width), such as those of a Sobol sequence.
        """

    def draw(self, rng: np.random.Generator, n: int) -> Codes:
        """Return random codes (n,).

        Args:
            rng: The source of random numbers.
            n: How many.
        """


@dataclass(frozen=True)
class Interval:
    """A continuous interval, linear or logarithmic: low at -1, high at +1.

    Args:
        low: The smallest value.
        high: The largest value.
        log: Whether equal ratios are equally far apart.

    Examples:
        >>> Interval(0.01, 100, log=True).place(np.array([0.1, 1])).tolist()
        [[-0.5], [0.0]]
    """

    low: float
    high: float
    log: bool
    width = 1
    count = math.inf

    def place(self, codes: Codes) -> Places:
        """Return where the values lie."""
        above = codes - self.low
        if self.log:  # log1p of the relative distance keeps all digits of a narrow interval
            t = np.log1p(above / self.low) / self._log_ratio
        else:
            t = above / (self.high - self.low)
        return _rounded(2 * t - 1)[:, None]

    def nearest(self, u: Places) -> Codes:
        """Return the values at these places."""
        t = (_rounded(np.clip(u[:, 0], -1, 1)) + 1) / 2
        if self.log:
            above = self.low * np.expm1(t * self._log_ratio)
        else:
            above = t * (self.high - self.low)
        return np.where(t == 1, self.high, np.clip(self.low + above, self.low, self.high))

    def spread(self, t: Places) -> Codes:
        """Return the values at these shares of the scale."""
        return self.nearest(2 * t - 1)

    def draw(self, rng: np.random.Generator, n: int) -> Codes:
        """Draw n values, uniform in the cube."""
        return self.nearest(rng.uniform(-1, 1, (n, 1)))

    @property
    def _log_ratio(self) -> float:
        return math.log1p((self.high - self.low) / self.low)


@dataclass(frozen=True)
class Grid:
    """Equally spaced levels: the first at -1, the last at +1, a single one at 0.

    Args:
        count: How many levels.

    Examples:
        >>> Grid(5).place(np.arange(5)).T.tolist()
        [[-1.0, -0.5, 0.0, 0.5, 1.0]]
    """

    count: int
    width = 1

    def place(self, codes: Codes) -> Places:
        """Return where the levels lie."""
        u: Places = (2 * codes - self._span) / max(self._span, 1) + 0.0
        return u[:, None]

    def nearest(self, u: Places) -> Codes:
        """Return the levels nearest to these places."""
        v = np.clip(u[:, 0], -1, 1)
        if self._span < 2**50:
            return np.rint((v + 1) * (self._span / 2)).astype(np.int64)
        guess = (np.rint(v * self._span).astype(np.int64) + self._span) // 2
        return _closest(self, v, guess)

    def spread(self, t: Places) -> Codes:
        """Return the levels in whose equal parts of [0, 1) these shares lie."""
        return _spread(self, t)

    def draw(self, rng: np.random.Generator, n: int) -> Codes:
        """Draw n levels, all equally likely."""
        return rng.integers(self.count, size=n)

    @property
    def _span(self) -> int:
        span = self.count - 1
        # Only even numerators are exact above 2^53; high then sits one ulp below +1.
        return span + span % 2 if span > 2**53 else span


@dataclass(frozen=True)
class LogGrid:
    """At least two integers, linear in their logarithm: low at -1, the last at +1.

    Args:
        low: The smallest integer.
        count: How many integers.

    Examples:
        >>> LogGrid(low=1, count=16).nearest(np.array([[-1], [-0.5], [0], [1]])).tolist()
        [0, 1, 3, 15]
    """

    low: int
    count: int
    width = 1

    def place(self, codes: Codes) -> Places:
        """Return where the levels lie."""
        return _rounded(2 * np.log1p(codes / self.low) / self._log_ratio - 1)[:, None]

    def nearest(self, u: Places) -> Codes:
        """Return the levels nearest to these places."""
        v = np.clip(u[:, 0], -1, 1)
        guess = np.rint(self.low * np.expm1((v + 1) / 2 * self._log_ratio)).astype(np.int64)
        return _closest(self, v, guess)

    def spread(self, t: Places) -> Codes:
        """Return the levels nearest to these shares of the cube's edge."""
        return _spread(self, t)

    def draw(self, rng: np.random.Generator, n: int) -> Codes:
        """Draw n levels, log-uniform numbers rounded."""
        # Half a unit beyond both ends: otherwise low and high come up half as often as
        # their share of the logarithmic scale.
        logs = rng.uniform(math.log(self.low - 0.5), math.log(self.low + self.count - 0.5), n)
        return np.clip(np.rint(np.exp(logs)).astype(np.int64) - self.low, 0, self.count - 1)

    @property
    def _log_ratio(self) -> float:
        return math.log1p((self.count - 1) / self.low)


@dataclass(frozen=True)
class OneHot:
    """One column per choice, 1 where chosen and 0 elsewhere; a single choice is always 0.

    So an active categorical adds 1 to the squared norm however many choices it has, like a
    number at its end; two choices are sqrt(2) apart and each is 1 away from inactive.

    Args:
        count: How many choices.

    Examples:
        >>> OneHot(3).place(np.array([2, 0])).tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    count: int

    @property
    def width(self) -> int:
        """Count the columns."""
        return self.count

    def place(self, codes: Codes) -> Places:
        """Return a row per choice."""
        x = np.zeros((len(codes), self.count))
        if self.count > 1:
            x[np.arange(len(codes)), codes] = 1
        return x

    def nearest(self, u: Places) -> Codes:
        """Return the choices with the largest columns."""
        return np.asarray(u.argmax(axis=1))

    def spread(self, t: Places) -> Codes:
        """Return the choices with the largest columns: all are as likely in a cube."""
        return self.nearest(t)

    def draw(self, rng: np.random.Generator, n: int) -> Codes:
        """Draw n choices, all equally likely."""
        return rng.integers(self.count, size=n)


def _rounded(u: Places) -> Places:
    """Round to a grid of 2^-48, wider than the rounding errors of log1p, expm1 and division.

    So place(nearest(u)) reproduces itself exactly instead of drifting by an ulp.
    """
    rounded: Places = np.rint(u * 2.0**48) / 2.0**48 + 0.0  # turns -0.0 into 0.0
    return rounded


def _spread(scale: Grid | LogGrid, t: Places) -> Codes:
    """Return the levels nearest to shares t of an edge that goes on for half a step at its ends.

    Without that the first and the last level would get half of what they get in the middle.
    """
    if scale.count == 1:
        return np.zeros(len(t), np.int64)
    ends = np.array([0, 1, scale.count - 2, scale.count - 1])
    first, second, last_but_one, last = scale.place(ends)[:, 0]
    low, high = first - (second - first) / 2, last + (last - last_but_one) / 2
    return scale.nearest(low + (high - low) * t)


def _closest(scale: Grid | LogGrid, u: Places, guess: Codes) -> Codes:
    """Correct a guess that rounding may have put one level off."""
    candidates = np.clip(guess + np.array([[-1], [0], [1]]), 0, scale.count - 1)
    distance = np.abs([scale.place(row)[:, 0] - u for row in candidates])
    best: Codes = np.take_along_axis(candidates, distance.argmin(0)[None], 0)[0]
    return best

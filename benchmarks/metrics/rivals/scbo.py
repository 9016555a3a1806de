"""SCBO: constrained Thompson sampling in a trust region (Eriksson and Poloczek, 2021).

Its parts are BoTorch's, as are intervals of length scales and noise; what follows is the paper's.

Notation:
    region     the points since the last restart; the starting points begin the first one
    violation  the sum of what limits are exceeded by; zero where a point is feasible
    q          points of a batch

Limits pass through bilog(y) = sign(y) log(1 + |y|), objectives through the normal quantiles of
their ranks. The region's centre is its best point: the feasible one of the least loss, or else the
one of the least violation. A batch succeeds if its best point is better than that.
"""

import math
from typing import Any

import numpy as np

from benchmarks.metrics.problem import Array, MetricTask, Params
from benchmarks.metrics.rivals.botorch import proposed
from benchmarks.rivals.botorch import Cube, fitted, seeded, tensor
from benchmarks.rivals.turbo import NOTICEABLE, TrustRegion, scattered, tutorial_parts


class Scbo:
    """Ask and tell SCBO; a restart takes as many random points as there were starts."""

    def __init__(self, task: MetricTask, seed: int, starts: int) -> None:
        import torch

        torch.set_num_threads(1)
        self._points, self._dimension = Cube(task.space), task.space.dimension
        self._seed, self._asks, self._starts = seed, 0, starts
        self._seen: list[Params] = []  # of all regions
        self._first = 0  # place of the region's first point
        self._losses: list[float] = []
        self._excess: list[Array] = []
        self._known = 0  # how many points the trust region has counted
        self._region: TrustRegion | None = None  # None while its first points come in

    def ask(self, n: int) -> list[Params]:
        """Propose n points: draws in the trust region, or random ones after a restart."""
        self._take_in_batch()
        self._asks += 1
        if self._region is None:
            rng = np.random.default_rng([self._seed, self._asks])
            return self._points.random(rng, n, [])
        with seeded(self._seed, self._asks):
            return proposed(lambda: self._draw(n).numpy(), self._points, n, self._seen)

    def tell(self, params: Params, losses: Array, excess: Array) -> None:
        """Keep what a point gave."""
        self._seen.append(params)
        self._losses.append(float(losses[0]))
        self._excess.append(excess)

    def _take_in_batch(self) -> None:
        """Count the batch as success or failure, and begin or end a region."""
        count = len(self._seen)
        if self._region is None:
            if count - self._first >= self._starts:
                self._region = TrustRegion(self._dimension, 0.0)
        elif self._known < count:
            before, new = range(self._first, self._known), range(self._known, count)
            succeeded = self._is_better(self._best_of(new), self._best_of(before))
            self._region = self._region.counted(succeeded, len(new))
            if self._region.is_spent:
                self._region, self._first = None, count
        self._known = count

    def _violation(self, place: int) -> float:
        return float(np.maximum(self._excess[place], 0).sum())

    def _best_of(self, places: range) -> int:
        return min(
            places, key=lambda i: (v := self._violation(i), self._losses[i] if not v else 0)
        )

    def _is_better(self, new: int, old: int) -> bool:
        """Return whether a point is noticeably better than another."""
        violations = self._violation(new), self._violation(old)
        if violations[0] == violations[1] == 0:
            least = NOTICEABLE * abs(self._losses[old])
            return self._losses[new] < self._losses[old] - least
        return violations[0] < violations[1]

    def _draw(self, n: int) -> Any:
        """Return the best of many candidates for each of n draws of all metrics together."""
        import torch
        from botorch.generation.sampling import ConstrainedMaxPosteriorSampling
        from botorch.models import ModelListGP
        from gpytorch.settings import max_cholesky_size

        assert self._region is not None
        x = tensor(self._points.encode(self._seen[self._first :]))
        excess = bilog(np.array(self._excess[self._first :]))
        model = self._model(x, -normal_scores(np.array(self._losses[self._first :])))
        limits = ModelListGP(*(self._model(x, column) for column in excess.T))
        best = self._best_of(range(self._first, len(self._seen))) - self._first
        candidates = scattered(x[best], self._region.length)
        with torch.no_grad(), max_cholesky_size(float("inf")):
            draw = ConstrainedMaxPosteriorSampling(model, limits, replacement=False)
            return draw(candidates, num_samples=n)

    def _model(self, x: Any, y: Array) -> Any:
        return fitted(x, y, **tutorial_parts(self._dimension))


def bilog(y: Array) -> Array:
    """Return numbers compressed on both sides of zero, which stays where it is.

    Example:
        >>> bilog(np.array([0.0, math.e - 1, 1 - math.e]))
        array([ 0.,  1., -1.])
    """
    return np.sign(y) * np.log1p(np.abs(y))


def normal_scores(y: Array) -> Array:
    """Return the normal quantiles of ranks; equal numbers share theirs.

    Example:
        >>> normal_scores(np.array([5.0, 1.0, 70.0])).round(2)
        array([ 0.  , -0.67,  0.67])
    """
    from scipy import stats  # here, because importing it takes long

    assert math.isfinite(y.sum())
    return stats.norm.ppf(stats.rankdata(y) / (len(y) + 1))

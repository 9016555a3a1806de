"""TuRBO-1: Thompson sampling in a trust region (Eriksson et al., 2019), on BoTorch's parts.

Length scales and noise keep to the intervals of BoTorch's tutorial; the authors' differ.

Notation:
    region   the points since the last restart; the starting points begin the first one
    length   the side of the trust region, in the unit cube
    q        points of a batch
    w        length scales of the model, with a geometric mean of 1        (d,)

A batch succeeds if its best value beats the region's by more than 0.1 % of it.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.rivals.botorch import Cube, Params, filled, fitted, seeded, tensor
from thomax.space.pool import Pool
from thomax.space.space import Space

FIRST, LARGEST, SMALLEST = 0.8, 1.6, 0.5**7  # lengths
SUCCESSES = 3  # in a row, that double the length
NOTICEABLE = 1e-3  # share of the best value
FEWEST_CANDIDATES, MOST_CANDIDATES, CANDIDATES_PER_DIMENSION = 2000, 5000, 200
MOVED = 20  # coordinates of a candidate that differ from the centre's, on average at most
LENGTH_SCALES, NOISE = (0.005, 4.0), (1e-8, 1e-3)  # the intervals of BoTorch's tutorial


@dataclass(frozen=True)
class TrustRegion:
    """The length of a trust region, and the successes and failures in a row.

    Example:
        >>> region = TrustRegion(dimension=2, best=0.0)
        >>> for best in (1.0, 2.0, 3.0):
        ...     region = region.after(best, q=4)
        >>> region.length
        1.6
    """

    dimension: int
    best: float
    length: float = FIRST
    successes: int = 0
    failures: int = 0

    def after(self, value: float, q: int) -> "TrustRegion":
        """Return the region after a batch of this best value."""
        succeeded = value > self.best + NOTICEABLE * abs(self.best)
        return replace(self.counted(succeeded, q), best=max(self.best, value))

    def counted(self, succeeded: bool, q: int) -> "TrustRegion":
        """Return the region after a batch that succeeded or failed."""
        successes = self.successes + 1 if succeeded else 0
        failures = 0 if succeeded else self.failures + 1
        length = self.length
        if successes == SUCCESSES:
            length, successes = min(2 * length, LARGEST), 0
        elif failures == math.ceil(max(4 / q, self.dimension / q)):
            length, failures = length / 2, 0
        return replace(self, length=length, successes=successes, failures=failures)

    @property
    def is_spent(self) -> bool:
        """Whether the region is so small that the search starts anew."""
        return self.length < SMALLEST


class Turbo:
    """Ask and tell TuRBO-1; a restart takes as many random points as there were starts.

    Where nothing was told before the first ask it begins, as BoTorch's tutorial does, with two
    points for each dimension.
    """

    def __init__(self, space: Space | Pool, seed: int) -> None:
        import torch

        assert isinstance(space, Space)
        torch.set_num_threads(1)
        self._points, self._dimension = Cube(space), space.dimension
        self._seed, self._asks, self._starts = seed, 0, 0
        self._told: list[tuple[Params, float | None]] = []  # of the region
        self._seen: list[Params] = []  # of all regions
        self._batch: list[float | None] = []  # values since the last ask
        self._region: TrustRegion | None = None  # None while the first points come in

    def ask(self, n: int) -> list[Params]:
        """Propose n points: draws in the trust region, or random ones after a restart."""
        self._take_in_batch()
        self._asks += 1
        if self._region is None:
            rng = np.random.default_rng([self._seed, self._asks])
            return self._points.random(rng, n, [])
        with seeded(self._seed, self._asks):
            return self._points.decode(self._draw(n).numpy(), self._seen)

    def tell(self, params: Params, value: float | None) -> None:
        """Keep a value."""
        self._told.append((params, value))
        self._seen.append(params)
        self._batch.append(value)

    def _take_in_batch(self) -> None:
        if self._asks == 0:
            self._starts = max(len(self._told), 2) if self._told else 2 * self._dimension
        values = [-math.inf if v is None else v for v in self._batch]
        self._batch = []
        if self._region is not None and values:
            self._region = self._region.after(max(values), len(values))
            if self._region.is_spent:
                self._region, self._told = None, []
        elif len(self._told) >= self._starts:
            best = max(-math.inf if v is None else v for _, v in self._told)
            if best > -math.inf:
                self._region = TrustRegion(self._dimension, best)

    def _draw(self, n: int) -> Any:
        """Return the best of many candidates for each of n draws from the posterior."""
        import torch
        from botorch.generation import MaxPosteriorSampling
        from gpytorch.settings import max_cholesky_size

        assert self._region is not None
        x = tensor(self._points.encode([params for params, _ in self._told]))
        y = filled([value for _, value in self._told])
        model = fitted(x, y, **tutorial_parts(self._dimension))
        scales = model.covar_module.base_kernel.lengthscale.detach()[0]
        w = scales / scales.log().mean().exp()
        candidates = scattered(x[int(np.argmax(y))], w * self._region.length)
        with torch.no_grad(), max_cholesky_size(float("inf")):
            return MaxPosteriorSampling(model, replacement=False)(candidates, num_samples=n)


def scattered(centre: Any, widths: Any) -> Any:
    """Scatter candidates over a trust region, moving some coordinates of the centre.

    Args:
        centre: Of the region, (d,).
        widths: Sides of the region, one number or (d,); it ends with the unit cube.
    """
    import torch

    d = len(centre)
    low, high = (centre - widths / 2).clamp(0, 1), (centre + widths / 2).clamp(0, 1)
    count = min(MOST_CANDIDATES, max(FEWEST_CANDIDATES, CANDIDATES_PER_DIMENSION * d))
    seed = int(torch.randint(2**31, (1,)))
    sobol = torch.quasirandom.SobolEngine(d, scramble=True, seed=seed).draw(count).double()
    moved = torch.rand(count, d) <= min(1.0, MOVED / d)
    still = ~moved.any(dim=1)
    moved[still, torch.randint(d, (int(still.sum()),))] = True
    return torch.where(moved, low + (high - low) * sobol, centre)


def tutorial_parts(d: int) -> dict[str, Any]:
    """Return the kernel and the likelihood of the tutorial's model."""
    from gpytorch.constraints import Interval
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood

    matern = MaternKernel(nu=2.5, ard_num_dims=d, lengthscale_constraint=Interval(*LENGTH_SCALES))
    return {
        "covar_module": ScaleKernel(matern),
        "likelihood": GaussianLikelihood(noise_constraint=Interval(*NOISE)),
    }

"""Functions of one variable drawn from a Gaussian process: the paper's synthetic experiment.

The paper says: squared exponential kernel, length scale 0.1, 1,000 equally spaced points of
[0, 1]. It does not say how noisy the observations are, nor how many random points come first: here
the noise has the standard deviation `NOISE_STD`, beside 1 of the function, and there are 5 points,
as in the paper's experiments with few iterations.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem
from thomax.space.parameters import Float
from thomax.space.space import Space

POINTS = 1000
LENGTH_SCALE = 0.1
NOISE_STD = 0.01


def synthetic(seed: int) -> Problem:
    """Return the problem of the function that this seed draws.

    Example:
        >>> problem = synthetic(0)
        >>> max(problem.judge({"x": x}) for x in grid().tolist()) == problem.optimum
        True
    """
    space = Space({"x": Float(0, 1, step=1 / (POINTS - 1))})
    f = draw(seed)

    def judge(params: Params) -> float:
        return float(f[space.index([params])[0]])

    def objective(params: Params, rng: np.random.Generator) -> float:
        return judge(params) + NOISE_STD * float(rng.standard_normal())

    optimum = float(f.max())
    return Problem("synthetic", space, objective, judge, optimum, initial=5, activation="erf")


def draw(seed: int) -> NDArray[np.float64]:
    """Draw the values of a function on the grid."""
    return _root() @ np.random.default_rng(seed).standard_normal(POINTS)


@cache
def _root() -> NDArray[np.float64]:
    """Return the symmetric root of the kernel matrix.

    Cholesky would fail, as almost all eigenvalues are zero up to rounding. Any other root would
    depend on the signs of the eigenvectors, which differ between machines.
    """
    x = grid()
    K = np.exp(-0.5 * ((x[:, None] - x) / LENGTH_SCALE) ** 2)
    variances, axes = np.linalg.eigh(K)
    return (axes * np.sqrt(np.maximum(variances, 0))) @ axes.T


def grid() -> NDArray[np.float64]:
    """Return the points of the domain."""
    return np.linspace(0, 1, POINTS)

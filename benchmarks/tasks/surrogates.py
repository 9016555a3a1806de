"""Functions learned from tables, cheap to evaluate: extremely random trees, or a smooth kernel.

Trees follow plateaus and cliffs, as measured tuning has; the kernel fits chemistry, which is
smooth and of which there are few measurements.

Notation:
    x   encoded points of a table   (n, d)
    y   their values                (n,)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.tasks.datasets import cached
from benchmarks.tasks.problem import Params
from thomax.space.space import Space

Array = NDArray[np.float64]

ROWS = 1200  # configurations of a table of tuning
_TREES, _LEAF = 60, 2
_SCALES = (0.3, 0.5, 0.8, 1.2, 2.0, 3.0)  # of the kernel, in units of the root of d
_NOISES = (1e-3, 1e-2, 1e-1)  # variances, of standardised values


def tabulated(name: str, space: Space, evaluate: Callable[[Params], float]) -> tuple[Array, Array]:
    """Return random configurations and their values, evaluated once and kept."""

    def make() -> dict[str, Array]:
        x = space.sample(np.random.default_rng(0), ROWS)
        with threadpool_limits(1):  # small matrices: threads would wait for each other
            y = np.array([evaluate(params) for params in space.decode(x)])
        return {"x": x, "y": y}

    arrays = cached(f"{name}-{ROWS}", make)
    return arrays["x"], arrays["y"]


@dataclass(frozen=True, eq=False)
class Trees:
    """The mean of extremely random trees, all of them walked down at the same time."""

    roots: NDArray[np.int64]
    feature: NDArray[np.int64]  # negative in a leaf
    threshold: Array
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Array

    @classmethod
    def fit(cls, x: Array, y: Array) -> "Trees":
        """Learn a table."""
        from sklearn.ensemble import ExtraTreesRegressor

        model = ExtraTreesRegressor(_TREES, min_samples_leaf=_LEAF, random_state=0).fit(x, y)
        trees = [one.tree_ for one in model.estimators_]
        starts = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]
        moved = list(zip(trees, starts, strict=True))
        return cls(
            starts,
            np.concatenate([t.feature for t in trees]),
            np.concatenate([t.threshold for t in trees]),
            np.concatenate([t.children_left + start for t, start in moved]),
            np.concatenate([t.children_right + start for t, start in moved]),
            np.concatenate([t.value[:, 0, 0] for t in trees]),
        )

    def __call__(self, x: Array) -> float:
        """Return the value of a point."""
        node = self.roots
        while True:
            feature = self.feature[node]
            inner = feature >= 0
            if not inner.any():
                return float(self.value[node].mean())
            below = np.where(x[feature] <= self.threshold[node], self.left[node], self.right[node])
            node = np.where(inner, below, node)


@dataclass(frozen=True, eq=False)
class Kernel:
    """The mean of a Gaussian process with a Matérn kernel, chosen by leaving out each point."""

    x: Array
    weights: Array
    scale: float
    mean: float

    @classmethod
    def fit(cls, x: Array, y: Array) -> "Kernel":
        """Learn a table: take the length and the noise that predict left-out values best."""
        mean, std = float(y.mean()), float(y.std()) or 1.0
        z, best = (y - mean) / std, (np.inf, np.zeros(len(y)), 1.0)
        for scale in np.sqrt(x.shape[1]) * np.array(_SCALES):
            covariance = _matern(x, x, scale)
            for noise in _NOISES:
                inverse = np.linalg.inv(covariance + noise * np.eye(len(y)))
                weights = inverse @ z
                error = float(np.mean((weights / np.diag(inverse)) ** 2))
                best = min(best, (error, weights, float(scale)), key=lambda found: found[0])
        return cls(x, std * best[1], best[2], mean)

    def __call__(self, x: Array) -> float:
        """Return the value of a point."""
        return self.mean + float(_matern(x[None], self.x, self.scale)[0] @ self.weights)


def _matern(a: Array, b: Array, scale: float) -> Array:
    r = np.sqrt(5 * np.maximum(np.sum((a[:, None] - b) ** 2, axis=2), 0)) / scale
    return np.asarray((1 + r + r**2 / 3) * np.exp(-r))

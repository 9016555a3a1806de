"""Pools: rows of data of which the best is to be found.

patients_pool   442 patients, ten measurements: whose diabetes advances most
tumours_pool    569 tumours, thirty measurements: which a forest is surest to be benign
molecules_pool  2,000 random molecules as counts of 16 parts, the seed draws what they are worth
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem, exact
from benchmarks.tasks.tuning import parts, require_sklearn
from thomax.space.pool import Pool

Array = NDArray[np.float64]


def pool(name: str, x: Array, y: Array, data: str = "") -> Problem:
    """Return the pool of rows with known values; its columns are scaled to a deviation of 1.

    Example:
        >>> pool("two", np.array([[0.0], [2.0]]), np.array([3.0, 4.0])).best
        {'index': 1}
    """
    spread = x.std(axis=0)
    scaled = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)

    def judge(params: Params) -> float:
        return float(y[params["index"]])

    return exact(
        name, Pool(scaled), judge, float(y.max()), best={"index": int(y.argmax())}, data=data
    )


def patients(seed: int) -> Problem:
    """Return the patients; the seed has no influence."""
    require_sklearn("patients_pool")
    _, _, x, y = parts("diabetes", 0, 442)
    return pool("patients_pool", x, y, "diabetes of scikit-learn")


def tumours(seed: int) -> Problem:
    """Return the tumours, as trees see them that learned from the others; the seed chooses."""
    require_sklearn("tumours_pool")
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.model_selection import cross_val_predict

    _, _, x, y = parts("breast_cancer", 0, 569)
    model = ExtraTreesClassifier(100, min_samples_leaf=3, random_state=seed)
    p = cross_val_predict(model, x, y, method="predict_proba")[:, 1]
    odds = np.log(np.clip(p, 1e-3, 1 - 1e-3) / np.clip(1 - p, 1e-3, 1 - 1e-3))
    return pool(
        "tumours_pool", x, odds - 0.1 * np.abs(x).mean(axis=1), "breast cancer of scikit-learn"
    )


def molecules(seed: int) -> Problem:
    """Return molecules whose worth has parts of single counts, pairs and size."""
    rng = np.random.default_rng([16, seed])
    counts = rng.poisson(rng.gamma(1.5, 0.8, 16), (2000, 16)).astype(float)
    counts = np.unique(counts, axis=0)
    single, pairs = rng.standard_normal(16), np.triu(0.3 * rng.standard_normal((16, 16)), 1)
    some = np.minimum(counts, 3)
    size = counts.sum(axis=1)
    y = np.sqrt(counts) @ single + np.einsum("ni,ij,nj->n", some, pairs, some)
    return pool("molecules_pool", counts, y - 0.02 * (size - np.median(size)) ** 2)


POOLS = {"patients_pool": patients, "tumours_pool": tumours, "molecules_pool": molecules}

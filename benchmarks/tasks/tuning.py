"""Tuning scikit-learn's models on its bundled data, each evaluation quick.

    svm          digits          accuracy of a support vector machine, with conditions
    trees        diabetes        R² of gradient boosting
    mlp          breast cancer   minus the log loss of a small network
    digits       digits          a pool: the image that a linear model is surest to be of one class
    neighbours   diabetes        R² of nearest neighbours, with a weight for every input
    extra_trees  wine            minus the log loss of extremely random trees

Splits and random numbers of the models are fixed: a task is one function, but for `digits`, whose
class the seed chooses.
"""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem, needs
from thomax.space.parameters import Categorical, Float, Int
from thomax.space.pool import Pool
from thomax.space.space import Space

Array = NDArray[Any]
Parts = tuple[Array, Array, Array, Array]

CLASSES = 10


def svm(seed: int) -> Problem:
    """Tune a support vector machine for digits; the seed has no influence."""
    require_sklearn("svm")
    from sklearn.svm import SVC

    x, y, x_test, y_test = parts("digits", 100, 1797)

    def judge(params: Params) -> float:
        return float(SVC(**params).fit(x, y).score(x_test, y_test))

    space = Space({
        "kernel": Categorical(["rbf", "poly", "sigmoid"]),
        "C": Float(1e-4, 1e4, log=True),
        "gamma": Float(1e-6, 1e2, log=True),
        "degree": Int(2, 6, when={"kernel": "poly"}),
        "coef0": Float(-2, 2, when={"kernel": ["poly", "sigmoid"]}),
    })  # fmt: skip
    return _problem("svm", space, judge, "digits of scikit-learn")


def trees(seed: int) -> Problem:
    """Tune gradient boosting for diabetes; the seed has no influence."""
    require_sklearn("trees")
    from sklearn.ensemble import GradientBoostingRegressor

    x, y, x_test, y_test = parts("diabetes", 300, 442)

    def judge(params: Params) -> float:
        model = GradientBoostingRegressor(**params, random_state=0)
        return float(model.fit(x, y).score(x_test, y_test))

    space = Space({
        "loss": Categorical(["squared_error", "huber"]),
        "learning_rate": Float(1e-2, 1, log=True),
        "n_estimators": Int(5, 50, log=True),
        "max_depth": Int(1, 6),
        "min_samples_leaf": Int(1, 50, log=True),
        "max_features": Int(1, 10),
        "subsample": Float(0.2, 1),
    })  # fmt: skip
    return _problem("trees", space, judge, "diabetes of scikit-learn")


def mlp(seed: int) -> Problem:
    """Tune a small network for breast cancer; the seed has no influence."""
    require_sklearn("mlp")
    from sklearn.metrics import log_loss
    from sklearn.neural_network import MLPClassifier

    x, y, x_test, y_test = parts("breast_cancer", 200, 569)

    def judge(params: Params) -> float:
        hidden = (params["units"],) * params["layers"]
        rest = {name: v for name, v in params.items() if name not in ("units", "layers")}
        with warnings.catch_warnings(action="ignore"):  # few iterations are meant
            model = MLPClassifier(hidden, max_iter=12, random_state=0, **rest).fit(x, y)
        return -float(log_loss(y_test, model.predict_proba(x_test)))

    space = Space({
        "activation": Categorical(["relu", "tanh", "logistic"]),
        "layers": Int(1, 3),
        "units": Int(2, 32, log=True),
        "learning_rate_init": Float(1e-4, 1e-1, log=True),
        "alpha": Float(1e-6, 1e1, log=True),
        "batch_size": Int(8, 128, log=True),
        "beta_1": Float(0.5, 0.99),
    })  # fmt: skip
    return _problem("mlp", space, judge, "breast cancer of scikit-learn")


def neighbours(seed: int) -> Problem:
    """Tune nearest neighbours for diabetes; the seed has no influence."""
    require_sklearn("neighbours")
    from sklearn.neighbors import KNeighborsRegressor

    x, y, x_test, y_test = parts("diabetes", 250, 442)
    names = [f"w{i + 1}" for i in range(x.shape[1])]

    def judge(params: Params) -> float:
        w = np.array([params[name] for name in names])
        model = KNeighborsRegressor(params["k"], weights=params["weights"], p=params["p"])
        return float(model.fit(x * w, y).score(x_test * w, y_test))

    space = Space({
        **{name: Float(0, 3) for name in names},
        "k": Int(1, 40, log=True),
        "p": Float(1, 4),
        "weights": Categorical(["uniform", "distance"]),
    })  # fmt: skip
    return _problem("neighbours", space, judge, "diabetes of scikit-learn")


def extra_trees(seed: int) -> Problem:
    """Tune extremely random trees for wine; the seed has no influence."""
    require_sklearn("extra_trees")
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.metrics import log_loss

    x, y, x_test, y_test = parts("wine", 60, 178)

    def judge(params: Params) -> float:
        model = ExtraTreesClassifier(**params, random_state=0).fit(x, y)
        return -float(log_loss(y_test, model.predict_proba(x_test)))

    space = Space({
        "n_estimators": Int(3, 30),
        "max_depth": Int(1, 20),
        "min_samples_split": Int(2, 20),
        "min_samples_leaf": Int(1, 10),
        "max_features": Float(0.05, 1),
        "criterion": Categorical(["gini", "entropy"]),
        "bootstrap": Categorical([False, True]),
    })  # fmt: skip
    return _problem("extra_trees", space, judge, "wine of scikit-learn")


def digits(seed: int) -> Problem:
    """Find the image with the largest log-odds of the class `seed % 10`."""
    require_sklearn("digits")
    scores = _log_odds()[:, seed % CLASSES]

    def judge(params: Params) -> float:
        return float(scores[params["index"]])

    x = parts("digits", 0, 1797)[2]
    return _problem("digits", Pool(x), judge, "digits of scikit-learn", float(scores.max()))


def _problem(
    name: str, space: Space | Pool, judge: Any, data: str, optimum: float | None = None
) -> Problem:
    return Problem(name, space, lambda params, rng: judge(params), judge, optimum, data=data)


@lru_cache
def parts(name: str, train: int, end: int) -> Parts:
    """Return a data set in a fixed random order: inputs and targets to learn from, then to test.

    Inputs are standardised by the whole data set.
    """
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order], y[order]
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return x[:train], y[:train], x[train:end], y[train:end]


@lru_cache
def _log_odds() -> Array:
    """Return the log-odds of all classes for all digits by a logistic regression on them."""
    from scipy.special import logsumexp
    from sklearn.linear_model import LogisticRegression

    _, _, x, y = parts("digits", 0, 1797)
    z = LogisticRegression(C=0.1, max_iter=1000).fit(x, y).decision_function(x)
    others = [logsumexp(np.delete(z, c, axis=1), axis=1) for c in range(CLASSES)]
    return z - np.stack(others, axis=1)


def require_sklearn(task: str) -> None:
    """Return a sentence that says that scikit-learn is missing."""
    try:
        import sklearn.svm  # noqa: F401
    except ImportError:
        raise needs("scikit-learn", task) from None

"""Tune gradient-boosted trees on MNIST: nine mixed hyperparameters of XGBoost.

The paper gives the ranges below and no scales, so all numbers lie on linear ones; it does not say
how many trees it grows nor how many random points come first. Here a subset of MNIST and few
rounds keep an evaluation to a second or two on one core, and there are 5 points, as for its random
forest. Everything XGBoost draws at random has a fixed seed.
"""

from typing import Any

import numpy as np

from benchmarks.tasks.datasets import mnist
from benchmarks.tasks.problem import Params, Problem, needs
from thomax.space.parameters import Categorical, Float, Int
from thomax.space.space import Space


def boosting(train: int = 1000, validate: int = 2000, rounds: int = 10) -> Problem:
    """Return the problem of the accuracy on images that were not trained on."""
    xgboost = _xgboost()
    train_set, test_set = mnist("boosting")
    x, y = _rows(train_set.x[:train]), train_set.y[:train]
    x_validation, y_validation = _rows(test_set.x[:validate]), test_set.y[:validate]

    def judge(params: Params) -> float:
        model = xgboost.XGBClassifier(
            n_estimators=rounds, n_jobs=1, random_state=0, verbosity=0, **params
        )
        return float(np.mean(model.fit(x, y).predict(x_validation) == y_validation))

    return Problem(
        "boosting",
        Space({
            "gamma": Float(0, 10),
            "learning_rate": Float(1e-6, 1),
            "max_depth": Int(1, 15),
            "booster": Categorical(["dart", "gbtree"]),
            "grow_policy": Categorical(["depthwise", "lossguide"]),
            "objective": Categorical(["multi:softprob", "multi:softmax"]),
            "tree_method": Categorical(["exact", "hist"]),
            "reg_alpha": Float(0, 10),
            "reg_lambda": Float(0, 10),
        }),
        lambda params, rng: judge(params),
        judge,
        initial=5,
        data=train_set.name,
    )  # fmt: skip


def _rows(images: Any) -> Any:
    return images.reshape(len(images), -1).astype(np.float32)


def _xgboost() -> Any:
    try:
        import sklearn  # noqa: F401  (its classifier's interface needs it)
        import xgboost
    except ImportError:
        raise needs("xgboost-cpu and scikit-learn", "boosting") from None
    return xgboost

"""Tuning scikit-learn's models on its bundled data, as functions learned from 1,200 evaluations.

    sgd_digits        linear classifiers by stochastic gradients, with conditions
    mlp_digits        a small network for few epochs
    mlp_diabetes      the same for a regression
    svm_cancer        a support vector machine behind scaling and principal components
    forest_cancer     a random forest
    boost_wine        gradient boosting
    elastic_diabetes  a linear model of products of inputs
    pipeline_...      (digits, cancer, wine) which scaling, which reduction and which of five
                      learners, each with parameters of its own
    kernel_diabetes   kernel ridge with a scale for every input, evaluated each time

Values are accuracies, R² or minus log losses on data that were not learned from.
"""

import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from benchmarks.tasks.problem import Params, Problem, exact
from benchmarks.tasks.surrogates import Trees, tabulated
from benchmarks.tasks.tuning import Parts, parts, require_sklearn
from thomax.space.parameters import Bool, Categorical, Float, Int, Parameter
from thomax.space.space import Space

Array = NDArray[np.float64]
Build = Callable[[Params], Any]

_WORST_LOSS = 3.0  # log loss; a model that is sure and wrong counts as this
_SPLITS = {
    "digits": ("digits", 250, 1000),
    "cancer": ("breast_cancer", 200, 569),
    "wine": ("wine", 60, 178),
    "diabetes": ("diabetes", 250, 442),
}


def score(model: Any, data: Parts, *, loss: bool = False) -> float:
    """Return what a model is worth on the data to test, minus its log loss if asked for.

    A model that cannot be fitted, or says nothing finite, is worth what the worst is.
    """
    x, y, x_test, y_test = data
    with warnings.catch_warnings(action="ignore"):  # few iterations are meant
        try:
            model.fit(x, y)
        except (ValueError, np.linalg.LinAlgError):  # infinite weights, say
            return -_WORST_LOSS if loss else -1.0
        if not loss:
            value = float(model.score(x_test, y_test))
            return max(value, -1.0) if np.isfinite(value) else -1.0
        p = model.predict_proba(x_test)
    true = p[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]
    mean = float(np.mean(-np.log(np.clip(np.nan_to_num(true), 1e-9, 1))))
    return -min(mean, _WORST_LOSS)


def surrogate(
    name: str, space: Space, build: Build, data: Parts, source: str, *, loss: bool = False
) -> Problem:
    """Return the function learned from a table of a learner's scores."""
    x, y = tabulated(name, space, lambda params: score(build(params), data, loss=loss))
    model = _fitted(name, x.tobytes(), x.shape, y.tobytes())
    return exact(
        name, space, lambda params: model(space.encode([params])[0]), data=f"{source}, learned"
    )


@lru_cache(maxsize=8)
def _fitted(name: str, x: bytes, shape: tuple[int, ...], y: bytes) -> Trees:
    return Trees.fit(np.frombuffer(x).reshape(shape), np.frombuffer(y))


def _sgd(params: Params) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(**params, random_state=0, tol=None)


def _mlp_settings(params: Params) -> Params:
    rest = {k: v for k, v in params.items() if k not in ("layers", "units", "narrower")}
    units = [
        max(2, int(params["units"] * params["narrower"] ** i)) for i in range(params["layers"])
    ]
    return rest | {"hidden_layer_sizes": tuple(units), "max_iter": 10, "random_state": 0}


def _mlp_classifier(params: Params) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(**_mlp_settings(params))


def _mlp_regressor(params: Params) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(
        MLPRegressor(**_mlp_settings(params)), transformer=StandardScaler()
    )


def _svm(params: Params) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    own = {k: v for k, v in params.items() if k not in ("scaling", "components", "weight")}
    weight = {0: params["weight"], 1: 1.0}
    machine = SVC(**own, class_weight=weight, max_iter=20_000)
    return make_pipeline(_scaler(params["scaling"]), PCA(params["components"]), machine)


def _forest(params: Params) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**params, random_state=0)


def _boosting(params: Params) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(**params, random_state=0)


def _elastic(params: Params) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import ElasticNet
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    products = PolynomialFeatures(
        params["degree"], interaction_only=params["interactions"], include_bias=False
    )
    linear = ElasticNet(
        alpha=params["alpha"], l1_ratio=params["l1_ratio"], selection=params["selection"],
        max_iter=params["rounds"], random_state=0,
    )  # fmt: skip
    linear = make_pipeline(_scaler(params["scaling"]), products, StandardScaler(), linear)
    if params["target"] == "logarithm":
        return TransformedTargetRegressor(linear, func=np.log, inverse_func=_bounded_exp)
    return linear


def _bounded_exp(z: Array) -> Array:
    return np.exp(np.clip(z, 0, 8))


def _scaler(name: str) -> Any:
    from sklearn import preprocessing

    return {
        "none": preprocessing.FunctionTransformer,
        "standard": preprocessing.StandardScaler,
        "range": preprocessing.MinMaxScaler,
        "robust": preprocessing.RobustScaler,
    }[name]()


def _pipeline(params: Params) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest
    from sklearn.pipeline import make_pipeline

    steps = [_scaler(params["scaling"])]
    if params["reduction"] == "components":
        steps.append(PCA(params["components"], whiten=params["whiten"]))
    if params["reduction"] == "best inputs":
        steps.append(SelectKBest(k=params["inputs"]))
    return make_pipeline(*steps, _learner(params))


def _learner(params: Params) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    kind = params["learner"]
    if kind == "neighbours":
        return KNeighborsClassifier(params["k"], weights=params["weights"], p=params["power"])
    if kind == "machine":
        return SVC(C=params["machine_C"], gamma=params["gamma"], max_iter=20_000)
    if kind == "forest":
        return RandomForestClassifier(
            params["trees"], max_depth=params["depth"], max_features=params["share"],
            random_state=0,
        )  # fmt: skip
    if kind == "logistic":
        return LogisticRegression(C=params["logistic_C"], max_iter=params["rounds"])
    return GaussianNB(var_smoothing=params["smoothing"])


def _mlp_space() -> Space:
    return Space({
        "layers": Int(1, 3),
        "units": Int(4, 64, log=True),
        "narrower": Float(0.3, 1),
        "activation": Categorical(["relu", "tanh", "logistic", "identity"]),
        "learning_rate_init": Float(1e-4, 1e-1, log=True),
        "alpha": Float(1e-6, 1e1, log=True),
        "batch_size": Int(8, 128, log=True),
        "beta_1": Float(0.3, 0.99),
        "beta_2": Float(0.8, 0.9999),
    })  # fmt: skip


def _pipeline_space(inputs: int) -> Space:
    def of(learner: str) -> dict[str, str]:
        return {"learner": learner}

    most = min(inputs, 30)
    return Space({
        "scaling": Categorical(["none", "standard", "range", "robust"]),
        "reduction": Categorical(["none", "components", "best inputs"]),
        "components": Int(1, most, when={"reduction": "components"}),
        "whiten": Bool(when={"reduction": "components"}),
        "inputs": Int(1, inputs, when={"reduction": "best inputs"}),
        "learner": Categorical(["neighbours", "machine", "forest", "logistic", "bayes"]),
        "k": Int(1, 40, log=True, when=of("neighbours")),
        "weights": Categorical(["uniform", "distance"], when=of("neighbours")),
        "power": Float(1, 4, when=of("neighbours")),
        "machine_C": Float(1e-3, 1e3, log=True, when=of("machine")),
        "gamma": Float(1e-5, 1e1, log=True, when=of("machine")),
        "trees": Int(2, 20, when=of("forest")),
        "depth": Int(1, 12, when=of("forest")),
        "share": Float(0.05, 1, when=of("forest")),
        "logistic_C": Float(1e-4, 1e3, log=True, when=of("logistic")),
        "rounds": Int(2, 50, log=True, when=of("logistic")),
        "smoothing": Float(1e-12, 1, log=True, when=of("bayes")),
    })  # fmt: skip


def _sgd_space() -> Space:
    rated = ["constant", "invscaling", "adaptive"]
    return Space({
        "loss": Categorical(["hinge", "log_loss", "modified_huber", "squared_hinge"]),
        "penalty": Categorical(["l1", "l2", "elasticnet"]),
        "l1_ratio": Float(0, 1, when={"penalty": "elasticnet"}),
        "alpha": Float(1e-7, 1, log=True),
        "learning_rate": Categorical(["optimal", *rated]),
        "eta0": Float(1e-5, 1, log=True, when={"learning_rate": rated}),
        "power_t": Float(0.05, 1, when={"learning_rate": "invscaling"}),
        "max_iter": Int(2, 30, log=True),
        "average": Bool(),
    })  # fmt: skip


def _tree_parameters() -> dict[str, Parameter]:
    return {
        "max_depth": Int(1, 12),
        "min_samples_split": Int(2, 40, log=True),
        "min_samples_leaf": Int(1, 20, log=True),
        "max_features": Float(0.05, 1),
    }


def _spaces() -> dict[str, tuple[Space, Build, str, bool]]:
    """Return of each learned task the space, the learner, the data and whether losses count."""
    pipelines = {"digits": 64, "cancer": 30, "wine": 13}
    return {
        "sgd_digits": (_sgd_space(), _sgd, "digits", False),
        "mlp_digits": (_mlp_space(), _mlp_classifier, "digits", True),
        "mlp_diabetes": (_mlp_space(), _mlp_regressor, "diabetes", False),
        "svm_cancer": (Space({
            "kernel": Categorical(["rbf", "poly", "sigmoid", "linear"]),
            "C": Float(1e-3, 1e3, log=True),
            "gamma": Float(1e-5, 1e1, log=True, when={"kernel": ["rbf", "poly", "sigmoid"]}),
            "degree": Int(2, 5, when={"kernel": "poly"}),
            "coef0": Float(-1, 2, when={"kernel": ["poly", "sigmoid"]}),
            "weight": Float(0.1, 10, log=True),
            "scaling": Categorical(["none", "standard", "range", "robust"]),
            "components": Int(2, 30),
        }), _svm, "cancer", False),
        "forest_cancer": (Space({
            "n_estimators": Int(2, 30), **_tree_parameters(), "bootstrap": Bool(),
            "ccp_alpha": Float(1e-5, 1e-1, log=True),
            "criterion": Categorical(["gini", "entropy"]),
        }), _forest, "cancer", True),
        "boost_wine": (Space({
            "n_estimators": Int(2, 25), **_tree_parameters(), "subsample": Float(0.2, 1),
            "learning_rate": Float(1e-2, 1, log=True),
            "criterion": Categorical(["friedman_mse", "squared_error"]),
        }), _boosting, "wine", True),
        "elastic_diabetes": (Space({
            "scaling": Categorical(["none", "standard", "range", "robust"]),
            "degree": Int(1, 3), "interactions": Bool(), "alpha": Float(1e-3, 1e2, log=True),
            "l1_ratio": Float(0, 1), "selection": Categorical(["cyclic", "random"]),
            "rounds": Int(5, 100, log=True), "target": Categorical(["as is", "logarithm"]),
        }), _elastic, "diabetes", False),
        **{f"pipeline_{data}": (_pipeline_space(inputs), _pipeline, data, False)
           for data, inputs in pipelines.items()},
    }  # fmt: skip


LEARNED = (
    "sgd_digits", "mlp_digits", "mlp_diabetes", "svm_cancer", "forest_cancer", "boost_wine",
    "elastic_diabetes", "pipeline_digits", "pipeline_cancer", "pipeline_wine",
)  # fmt: skip


def learned(name: str, seed: int) -> Problem:
    """Return one of the `LEARNED` tasks; the seed has no influence."""
    require_sklearn(name)
    space, build, data, loss = _spaces()[name]
    return surrogate(
        name, space, build, parts(*_SPLITS[data]), f"{data} of scikit-learn", loss=loss
    )


def kernel_diabetes(seed: int) -> Problem:
    """Tune kernel ridge with a scale for every input; the seed chooses the split."""
    require_sklearn("kernel_diabetes")
    _, _, x, y = parts("diabetes", 0, 442)
    order = np.random.default_rng([442, seed]).permutation(len(y))
    x, y = x[order[:260]], y[order[:260]]
    train, test = np.arange(110), np.arange(110, 260)
    names = [f"scale{i + 1}" for i in range(x.shape[1])]
    threads = ThreadpoolController()

    def r2(params: Params) -> float:
        z = x * np.array([params[name] for name in names])
        squares = np.sum(z**2, axis=1)
        away = np.maximum(squares[:, None] + squares[train] - 2 * z @ z[train].T, 0.0)
        k = np.exp(-away / 2) if params["smooth"] else np.exp(-np.sqrt(away))
        centre = y[train].mean()
        ridge = k[train] + params["alpha"] * np.eye(len(train))
        predicted = centre + k[test] @ np.linalg.solve(ridge, y[train] - centre)
        return 1 - float(np.mean((predicted - y[test]) ** 2)) / float(y[test].var())

    def judge(params: Params) -> float:
        with threads.limit(limits=1):  # small matrices: threads would wait for each other
            return r2(params)

    scales: dict[str, Parameter] = {name: Float(1e-3, 3, log=True) for name in names}
    others: dict[str, Parameter] = {"alpha": Float(1e-3, 1e2, log=True), "smooth": Bool()}
    return exact("kernel_diabetes", Space(scales | others), judge, data="diabetes of scikit-learn")


LEARNERS = {name: partial(learned, name) for name in LEARNED} | {
    "kernel_diabetes": kernel_diabetes
}

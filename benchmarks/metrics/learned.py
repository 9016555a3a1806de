"""Tuning a real model, and a reaction: the other objective, or the limit, is what it costs.

network, small_network   accuracy of a small network for digits (scikit-learn) against the
                         multiplications of one prediction; or at most 1,000 of them
coupling, cheap_coupling yield of a C-N coupling (Baumgartner et al., 2019, a table of `summit`,
                         learned by `benchmarks.tasks.chemistry`) against what it costs; or at most
                         8 euros
suzuki                   yield and turnovers of a catalyst in a Suzuki coupling (Reizman et al.,
                         2016), both learned from a table of `summit`: more catalyst, more yield,
                         fewer turnovers

Prices are assumed, in euros for a millimole of product, of the order of those in catalogues:
a millimole of a base (as many as equivalents), 0.01 of a catalyst, and an hour of a heated flow
reactor, more for each degree beyond 20.
"""

import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.metrics.problem import Direction, MetricTask, Params, Values
from benchmarks.tasks.chemistry import learned_yield, rows
from benchmarks.tasks.early.reactions import aniline
from benchmarks.tasks.tuning import parts, require_sklearn
from thomax.space.parameters import Categorical, Float, Int, Parameter
from thomax.space.space import Space

CATALYSTS = {"tBuXPhos": 2.0, "tBuBrettPhos": 4.5, "AlPhos": 9.0}
BASES = {"TEA": 0.1, "TMG": 0.6, "BTMG": 3.0, "DBU": 0.3}
_HOUR, _HOUR_AND_DEGREE = 4.0, 0.05
_DIGITS, _IMAGES = 10, 250


def network_space() -> Space:
    """Return what is tuned of a network; the sizes of layers beyond the first are conditional."""
    parameters: dict[str, Parameter] = {
        "activation": Categorical(["relu", "tanh", "logistic"]),
        "layers": Int(1, 2),
        "units": Int(2, 64, log=True),
        "learning_rate_init": Float(1e-4, 1e-1, log=True),
        "alpha": Float(1e-6, 1e1, log=True),
        "batch_size": Int(8, 128, log=True),
        "pixels": Int(4, 64, log=True),
    }
    return Space(parameters)


def multiplications(params: Params) -> int:
    """Return how many multiplications one prediction takes.

    Example:
        >>> multiplications({"pixels": 10, "units": 4, "layers": 2})
        96
    """
    units = params["units"]
    return params["pixels"] * units + (params["layers"] - 1) * units**2 + units * _DIGITS


def network_values(params: Params) -> Values:
    """Return the accuracy in percent, and the multiplications and their logarithm to base 10."""
    from sklearn.neural_network import MLPClassifier

    x, y, x_test, y_test = parts("digits", _IMAGES, 1000)
    pixels = _by_variance()[: params["pixels"]]
    given = {k: params[k] for k in ("activation", "learning_rate_init", "alpha", "batch_size")}
    with warnings.catch_warnings(action="ignore"):  # few iterations are meant
        model = MLPClassifier((params["units"],) * params["layers"], max_iter=10, random_state=0,
                              **given).fit(x[:, pixels], y)  # fmt: skip
    count = multiplications(params)
    return {
        "accuracy": 100 * float(model.score(x_test[:, pixels], y_test)),
        "multiplications": float(count),
        "log10_multiplications": math.log10(count),
    }


@lru_cache
def _by_variance() -> Any:
    """Return the pixels, those first that vary most over the images for training."""
    from sklearn.datasets import load_digits

    raw = load_digits().data[np.random.default_rng(0).permutation(1797)][:_IMAGES]
    return np.argsort(-raw.var(axis=0), kind="stable")


def coupling_cost(params: Params) -> float:
    """Return the cost of a coupling in euros for a millimole.

    Example:
        >>> coupling_cost({"catalyst": "AlPhos", "base": "TEA", "equivalents": 1.0,
        ...                "temperature": 20.0, "seconds": 3600.0})
        13.1
    """
    heat = _HOUR_AND_DEGREE * (params["temperature"] - 20)
    return float(
        CATALYSTS[params["catalyst"]]
        + BASES[params["base"]] * params["equivalents"]
        + (_HOUR + heat) * params["seconds"] / 3600
    )


def _network(name: str) -> MetricTask:
    require_sklearn(name)
    front = name == "network"
    return MetricTask(
        name,
        network_space(),
        network_values,
        _with_cost("accuracy", "log10_multiplications", front),
        {} if front else {"multiplications": "<= 1000"},
        reference=(40.0, 4.0) if front else (),
        source="digits of scikit-learn",
    )


def _coupling(name: str) -> MetricTask:
    reaction, front = aniline(0), name == "coupling"

    def evaluate(params: Params) -> Values:
        assert reaction.judge is not None
        return {"yield": 100 * reaction.judge(params), "cost": coupling_cost(params)}

    assert isinstance(reaction.space, Space)
    return MetricTask(
        name,
        reaction.space,
        evaluate,
        _with_cost("yield", "cost", front),
        {} if front else {"cost": "<= 8"},
        reference=(0.0, 15.5) if front else (),
        source="Baumgartner's anilines of summit, learned",
    )


def _with_cost(gain: str, cost: str, front: bool) -> dict[str, Direction]:
    """Return the objectives: what is gained, and with a front also what it costs."""
    objectives: dict[str, Direction] = {gain: "maximize"}
    return objectives | {cost: "minimize"} if front else objectives


def _suzuki(name: str) -> MetricTask:
    table = rows("suzuki_1")
    space = Space({
        "catalyst": Categorical(sorted({row[1] for row in table})),
        "seconds": Float(60, 600),
        "temperature": Float(30, 110),
        "loading": Float(0.5, 2.5),
    })  # fmt: skip
    measured: list[Params] = [
        {"catalyst": c, "seconds": float(t), "temperature": float(h), "loading": float(a)}
        for _, c, t, h, a, *_ in table
    ]
    numbers = np.array([[float(row[-2]), float(row[-1])] for row in table])
    turnovers = learned_yield("turnovers", space, measured, numbers[:, 0], "suzuki_1").judge
    yields = learned_yield("yield", space, measured, numbers[:, 1], "suzuki_1").judge
    assert turnovers is not None
    assert yields is not None

    def evaluate(params: Params) -> Values:
        return {"yield": yields(params), "turnovers": turnovers(params)}

    return MetricTask(
        name, space, evaluate, {"yield": "maximize", "turnovers": "maximize"},
        reference=(56.0, 43.0), source="Reizman's first Suzuki coupling of summit, learned",
    )  # fmt: skip


MAKERS = {
    "network": _network, "coupling": _coupling, "suzuki": _suzuki,
    "small_network": _network, "cheap_coupling": _coupling,
}  # fmt: skip

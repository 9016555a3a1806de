"""Mixed and conditional spaces; the seed draws the shape.

mixed_network10   choices, whole numbers, an ordinal and numbers feed a random network
branches17        three methods with four or five numbers of their own, and two for all
nested13          switches open choices, which open numbers
layers14          a response like that of a network's accuracy: the number of layers decides
                  how many widths and kinds there are
recipe12          amounts in steps, an order of three parts and switches, with thresholds
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.early.rotated import rotation, weights
from benchmarks.tasks.problem import Params, Problem, exact
from thomax.space.parameters import Bool, Categorical, Float, Int, Ordinal, Parameter
from thomax.space.space import Space

Array = NDArray[np.float64]

_METHODS = {"a": 4, "b": 5, "c": 5}  # and how many numbers they have
_KINDS = ("relu", "tanh", "sine")
_ORDERS = ("abc", "acb", "bac", "bca", "cab", "cba")


def mixed_network(seed: int) -> Problem:
    """Return a random network of ten parameters of five kinds."""
    rng = np.random.default_rng([10, seed])
    space = Space({
        "colour": Categorical([*"rgb"]),
        "shape": Categorical(["cube", "ball", "rod", "plate"]),
        "maker": Categorical(["x", "y", "z"]),
        "count": Int(1, 12),
        "size": Int(8, 512, log=True),
        "grade": Ordinal(["low", "middle", "high", "highest"]),
        **{f"x{i + 1}": Float(0, 1) for i in range(4)},
    })  # fmt: skip
    first = 0.9 * rng.standard_normal((24, space.dimension))
    bias, second = rng.standard_normal(24), rng.standard_normal(24)

    def judge(params: Params) -> float:
        return float(second @ np.tanh(first @ space.encode([params])[0] + bias))

    return exact("mixed_network10", space, judge)


def branches(seed: int) -> Problem:
    """Return three methods of different worth, each with a rotated landscape of its own."""
    rng = np.random.default_rng([16, seed])
    order = rng.permutation([*_METHODS])
    tops = dict(zip(order.tolist(), (0.0, -0.25, -0.6), strict=True))
    shared = rng.uniform(-0.8, 0.8, 2)
    centres = {m: rng.uniform(-0.8, 0.8, n) for m, n in _METHODS.items()}
    turns = {m: weights(n, 3.0)[:, None] * rotation(rng, n) for m, n in _METHODS.items()}
    parameters: dict[str, Parameter] = {"method": Categorical([*_METHODS])}
    parameters |= {f"s{i + 1}": Float(-1, 1) for i in range(2)}
    for m, n in _METHODS.items():
        parameters |= {f"{m}{i + 1}": Float(-1, 1, when={"method": m}) for i in range(n)}

    def judge(params: Params) -> float:
        m = params["method"]
        x = np.array([params[f"{m}{i + 1}"] for i in range(_METHODS[m])])
        z = turns[m] @ (x - centres[m])
        common = np.array([params["s1"], params["s2"]]) - shared
        ripple = 0.1 * np.sum(1 - np.cos(4 * z)) if m == "b" else 0.0
        width = float(np.linalg.norm(z)) if m == "c" else float(z @ z)
        return float(tops[m] - 0.3 * width - ripple - common @ common)

    m = str(order[0])
    best: Params = {"method": m, "s1": float(shared[0]), "s2": float(shared[1])}
    best |= {f"{m}{i + 1}": float(c) for i, c in enumerate(centres[m])}
    return exact("branches17", Space(parameters), judge, judge(best), best=best)


def nested(seed: int) -> Problem:
    """Return a sum of three options, each behind a switch, a choice and numbers."""
    rng = np.random.default_rng([13, seed])
    parameters: dict[str, Parameter] = {}
    best: Params = {}
    gains, centres = rng.uniform(-0.4, 1, (3, 2)), rng.uniform(-0.8, 0.8, (3, 2))
    together = rng.uniform(-0.5, 0.0, (3, 3))  # what two options lose side by side
    for i in range(3):
        on, kind = f"on{i + 1}", f"kind{i + 1}"
        parameters[on] = Bool()
        parameters[kind] = Categorical(["left", "right"], when={on: True})
        for side in ("left", "right"):
            parameters[f"{side}{i + 1}"] = Float(-1, 1, when={kind: side})
    parameters["x"] = Float(-1, 1)

    def judge(params: Params) -> float:
        chosen = [i for i in range(3) if params[f"on{i + 1}"]]
        total = sum(together[i, j] for i in chosen for j in chosen if i < j)
        for i in chosen:
            side = params[f"kind{i + 1}"]
            s = ("left", "right").index(side)
            away = params[f"{side}{i + 1}"] - centres[i, s] - 0.3 * params["x"]
            total += gains[i, s] - away**2 - 0.2 * (1 - math.cos(5 * away))
        return float(total)

    candidates: list[Params] = []
    for states in np.ndindex(3, 3, 3):
        candidate: Params = {"x": 0.0}
        for i, state in enumerate(states):
            candidate[f"on{i + 1}"] = state > 0
            if state:
                side = ("left", "right")[state - 1]
                candidate |= {f"kind{i + 1}": side, f"{side}{i + 1}": float(centres[i, state - 1])}
        candidates.append(candidate)
    best = max(candidates, key=judge)
    return exact("nested13", Space(parameters), judge, judge(best), best=best)


def layers(seed: int) -> Problem:
    """Return a response to depth, widths, kinds, rate and decay, as tuning a network has."""
    rng = np.random.default_rng([14, seed])
    depth, width, rate = rng.integers(2, 5), rng.uniform(4, 8), rng.uniform(-7, -4)
    liking, follows = 0.3 * rng.standard_normal(3), 0.2 * rng.standard_normal((3, 3))
    parameters: dict[str, Parameter] = {"layers": Int(1, 4)}
    for i in range(1, 5):
        when: Any = {"layers": [*range(i, 5)]} if i > 1 else None
        parameters[f"units{i}"] = Int(8, 512, log=True, when=when)
        parameters[f"kind{i}"] = Categorical(_KINDS, when=when)
    parameters |= {
        "rate": Float(1e-5, 1, log=True), "decay": Float(1e-6, 1, log=True),
        "dropout": Float(0, 0.8), "warm_up": Bool(), "batch": Int(8, 256, log=True),
    }  # fmt: skip

    def judge(params: Params) -> float:
        n = params["layers"]
        units = np.log([params[f"units{i + 1}"] for i in range(n)])
        kinds = [_KINDS.index(params[f"kind{i + 1}"]) for i in range(n)]
        capacity = units.mean() + 0.5 * (n - depth)
        over = max(0.0, float(capacity) - width)
        regular = params["dropout"] + 0.1 * math.log(params["decay"] / 1e-6)
        ideal = rate + 0.4 * math.log(params["batch"] / 32) - 0.3 * (n - 2)
        fast = math.log(params["rate"]) - ideal
        diverged = 1 / (1 + math.exp(-2 * (fast - 1.5 - 0.7 * params["warm_up"])))
        value = -0.05 * (capacity - width) ** 2 - 0.6 * abs(regular - 0.3 - 0.3 * over)
        value += sum(liking[k] for k in kinds) / n + sum(
            map(lambda a, b: follows[a, b], kinds, kinds[1:])
        )
        return float(1 - math.exp(-1.5 - value) - 0.04 * fast**2 - diverged)

    return exact("layers14", Space(parameters), judge)


def recipe(seed: int) -> Problem:
    """Return the worth of a recipe: amounts, temperatures, an order and switches."""
    rng = np.random.default_rng([12, seed])
    ideal, order = rng.dirichlet(np.full(5, 3.0)), rng.standard_normal(6)
    heat, minutes = rng.uniform(60, 180), rng.uniform(10, 100)
    effect = rng.standard_normal(3)
    parameters: dict[str, Parameter] = {f"part{i + 1}": Int(0, 100, step=5) for i in range(5)}
    parameters |= {
        "order": Categorical(_ORDERS), "heat": Int(40, 200, step=5),
        "minutes": Int(5, 120), "stirred": Ordinal(["no", "slowly", "fast"]),
        "salt": Bool(), "covered": Bool(), "rested": Bool(),
    }  # fmt: skip

    def judge(params: Params) -> float:
        parts = np.array([params[f"part{i + 1}"] for i in range(5)], float)
        amount = parts.sum()
        shares = parts / amount if amount else np.full(5, 0.2)
        taste = -4 * float(np.sum((np.sqrt(shares) - np.sqrt(ideal)) ** 2))
        dose = (params["heat"] - 40) * params["minutes"] / ((heat - 40) * minutes)
        burnt = max(0.0, params["heat"] - heat - 30 * params["covered"]) / 40
        cooked = -(math.log(max(dose, 1e-3)) ** 2) / 2
        stirred = 0.3 * effect[0] * ("no", "slowly", "fast").index(params["stirred"])
        salt = 0.5 * (params["salt"] - 0.5) * effect[1] * (1 if shares[0] > ideal[0] else -1)
        rested = 0.4 * effect[2] * params["rested"] * (1 if amount > 200 else -1)
        right = 0.3 * order[_ORDERS.index(params["order"])] * shares[:3].sum()
        return float(taste + cooked - burnt + stirred + salt + rested + right)

    return exact("recipe12", Space(parameters), judge)


CONDITIONAL = {
    "mixed_network10": mixed_network,
    "branches17": branches,
    "nested13": nested,
    "layers14": layers,
    "recipe12": recipe,
}

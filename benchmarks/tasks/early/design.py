"""Engineering design: the least cost or weight within limits, which cost when they are passed.

    speed_reducer7   weight of a gear box (Golinski, 1970)
    exchanger8       area of three heat exchangers in a row (Hock and Schittkowski, 1981, no. 106)
    truss10          weight of ten bars (Venkayya, 1971), by the stiffness method
    cantilever10     volume of a stepped beam of five pieces (Thanedar and Vanderplaats, 1995)
    welded_beam6     cost of a welded beam of four materials and two joints (Ragsdell and Phillips,
                     1976; Deb and Goyal, 1996)
    vessel6          cost of a pressure vessel (Sandgren, 1990) of three materials and two heads
    clutch5          mass of a clutch with several discs (Osyczka, 2002), on a grid
    columns12        weight of a frame's six columns and six beams, which share its loads

A value is minus the cost on a scale of its own, and minus the share by which limits are passed.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem, exact
from thomax.space.parameters import Categorical, Float, Int, Parameter
from thomax.space.space import Space

Array = NDArray[np.float64]
Outcome = tuple[float, Sequence[float]]  # the cost, and limits: what is above 0 is too much

_PENALTY = 1.0  # of a limit passed by the whole of it, in units of the usual cost
_LARGEST = 5.0  # penalty of one limit: hopeless designs differ little


def _design(
    name: str,
    parameters: dict[str, Parameter],
    outcome: Callable[[Params], Outcome],
    usual: float,
) -> Problem:
    def judge(params: Params) -> float:
        cost, limits = outcome(params)
        passed = sum(min(_LARGEST, max(0.0, limit)) for limit in limits)
        return -cost / usual - _PENALTY * passed

    return exact(name, Space(parameters), judge)


def _speed_reducer(p: Params) -> Outcome:
    b, m, z, l1, l2, d1, d2 = p["b"], p["m"], p["z"], p["l1"], p["l2"], p["d1"], p["d2"]
    weight = (
        0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
        - 1.508 * b * (d1**2 + d2**2) + 7.4777 * (d1**3 + d2**3)
        + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    )  # fmt: skip
    limits = [
        27 / (b * m**2 * z) - 1, 397.5 / (b * m**2 * z**2) - 1,
        1.93 * l1**3 / (m * z * d1**4) - 1, 1.93 * l2**3 / (m * z * d2**4) - 1,
        math.sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / (110 * d1**3) - 1,
        math.sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / (85 * d2**3) - 1,
        m * z / 40 - 1, 5 * m / b - 1, b / (12 * m) - 1,
        (1.5 * d1 + 1.9) / l1 - 1, (1.1 * d2 + 1.9) / l2 - 1,
    ]  # fmt: skip
    return weight, limits


def speed_reducer(seed: int) -> Problem:
    """Return the gear box; the seed has no influence."""
    parameters: dict[str, Parameter] = {
        "b": Float(2.6, 3.6), "m": Float(0.7, 0.8), "z": Int(17, 28), "l1": Float(7.3, 8.3),
        "l2": Float(7.3, 8.3), "d1": Float(2.9, 3.9), "d2": Float(5, 5.5),
    }  # fmt: skip
    return _design("speed_reducer7", parameters, _speed_reducer, 3000.0)


def _exchanger(p: Params) -> Outcome:
    a1, a2, a3 = p["a1"], p["a2"], p["a3"]
    t1, t2, t3, t4, t5 = (p[f"t{i + 1}"] for i in range(5))
    limits = [
        0.0025 * (t1 + t3) - 1, 0.0025 * (t2 + t4 - t1) - 1, 0.01 * (t5 - t2) - 1,
        (100 * a1 - a1 * t3 + 833.33252 * t1 - 83333.333) / 83333.333,
        (a2 * t1 - a2 * t4 - 1250 * t1 + 1250 * t2) / 125000,
        (a3 * t2 - a3 * t5 - 2500 * t2 + 1250000) / 1250000,
    ]  # fmt: skip
    return a1 + a2 + a3, limits


def exchanger(seed: int) -> Problem:
    """Return the heat exchangers; the seed has no influence."""
    parameters: dict[str, Parameter] = {
        "a1": Float(100, 10000, log=True), "a2": Float(1000, 10000, log=True),
        "a3": Float(1000, 10000, log=True),
        **{f"t{i + 1}": Float(10, 1000) for i in range(5)},
    }  # fmt: skip
    return _design("exchanger8", parameters, _exchanger, 7000.0)


_NODES = 360.0 * np.array([[2, 1], [2, 0], [1, 1], [1, 0], [0, 1], [0, 0]])
_BARS = np.array([[4, 2], [2, 0], [5, 3], [3, 1], [2, 3], [0, 1], [4, 3], [5, 2], [2, 1], [3, 0]])
_ALONG = _NODES[_BARS[:, 1]] - _NODES[_BARS[:, 0]]
_LENGTHS = np.linalg.norm(_ALONG, axis=1)
_ELASTICITY, _LOAD, _STRESS, _SHIFT = 1e7, 1e5, 25e3, 2.0


def _truss(areas: Array) -> tuple[Array, Array]:
    """Return the stresses of ten bars and the displacements of the four free nodes."""
    stiffness = np.zeros((12, 12))
    unit = _ALONG / _LENGTHS[:, None]
    for (i, j), e, k in zip(_BARS, unit, _ELASTICITY * areas / _LENGTHS, strict=True):
        places = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        direction = np.array([-e[0], -e[1], e[0], e[1]])
        stiffness[np.ix_(places, places)] += k * np.outer(direction, direction)
    load = np.zeros(8)
    load[[3, 7]] = -_LOAD  # at the two lower free nodes
    shift = np.zeros(12)
    shift[:8] = np.linalg.solve(stiffness[:8, :8], load)
    ends = shift.reshape(6, 2)
    stretch = np.sum(unit * (ends[_BARS[:, 1]] - ends[_BARS[:, 0]]), axis=1)
    return _ELASTICITY * stretch / _LENGTHS, shift[:8]


def _truss_outcome(p: Params) -> Outcome:
    areas = np.array([p[f"area{i + 1}"] for i in range(10)])
    stress, shift = _truss(areas)
    limits = [*(np.abs(stress) / _STRESS - 1), *(np.abs(shift) / _SHIFT - 1)]
    return float(0.1 * areas @ _LENGTHS), limits


def truss(seed: int) -> Problem:
    """Return the ten bars; the seed has no influence."""
    parameters: dict[str, Parameter] = {f"area{i + 1}": Float(0.1, 35) for i in range(10)}
    return _design("truss10", parameters, _truss_outcome, 5000.0)


def _cantilever(p: Params) -> Outcome:
    b = np.array([p[f"width{i + 1}"] for i in range(5)])
    h = np.array([p[f"height{i + 1}"] for i in range(5)])
    length, load, elasticity = 100.0, 50_000.0, 2e7
    arms = length * np.arange(5, 0, -1)  # from the wall outwards
    inertia = b * h**3 / 12
    stress = 6 * load * arms / (b * h**2)
    parts = (arms**3 - (arms - length) ** 3) / inertia
    shift = load / (3 * elasticity) * float(parts.sum())
    limits = [*(stress / 14_000 - 1), shift / 2.7 - 1, *(h / (20 * b) - 1)]
    return float(length * b @ h), limits


def cantilever(seed: int) -> Problem:
    """Return the stepped beam; the seed has no influence."""
    parameters: dict[str, Parameter] = {f"width{i + 1}": Float(1, 5) for i in range(5)}
    parameters |= {f"height{i + 1}": Float(30, 65) for i in range(5)}
    return _design("cantilever10", parameters, _cantilever, 65_000.0)


# By material: shear modulus and elasticity (1e6 psi), largest stress (1e3 psi), prices.
_METALS = {
    "steel": (12.0, 30.0, 30.0, 0.1047, 0.0481),
    "cast iron": (6.0, 14.0, 8.0, 0.0489, 0.0224),
    "aluminium": (4.0, 10.0, 5.0, 0.5235, 0.2405),
    "brass": (6.0, 16.0, 8.0, 0.5584, 0.2566),
}


def _welded_beam(p: Params) -> Outcome:
    h, length, t, b = p["h"], p["l"], p["t"], p["b"]
    g, e, strength, weld_price, bar_price = _METALS[p["material"]]
    force, overhang = 6000.0, 14.0
    four = p["joint"] == "four sides"
    if four:
        area = math.sqrt(2) * h * (t + length)
        polar = math.sqrt(2) * h * (t + length) ** 3 / 6
    else:
        area = math.sqrt(2) * h * length
        polar = math.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    radius = math.hypot(length / 2, (h + t) / 2)
    first, second = force / area, force * (overhang + length / 2) * radius / polar
    shear = math.sqrt(first**2 + first * second * length / radius + second**2)
    bending = 6 * force * overhang / (b * t**2)
    buckling = (
        4.013e6 * math.sqrt(e * g * t**2 * b**6 / 36) / overhang**2
        * (1 - t / (2 * overhang) * math.sqrt(e / (4 * g)))
    )  # fmt: skip
    bent = 4 * force * overhang**3 / (1e6 * e * t**3 * b)
    welded = length + (t if four else 0.0)
    cost = (1 + weld_price) * h**2 * welded + bar_price * t * b * (overhang + length)
    strength *= 1e3
    limits = [
        shear / (0.577 * strength) - 1, bending / strength - 1, h / b - 1, bent / 0.25 - 1,
        1 - buckling / force,
    ]  # fmt: skip
    return cost, limits


def welded_beam(seed: int) -> Problem:
    """Return the welded beam; the seed has no influence."""
    parameters: dict[str, Parameter] = {
        "h": Float(0.0625, 2), "l": Float(0.1, 10), "t": Float(2, 20), "b": Float(0.0625, 2),
        "material": Categorical([*_METALS]), "joint": Categorical(["two sides", "four sides"]),
    }  # fmt: skip
    return _design("welded_beam6", parameters, _welded_beam, 4.0)


_PLATES = {"carbon steel": (1.0, 1.0), "alloy": (1.45, 0.72), "stainless": (2.3, 0.8)}


def _vessel(p: Params) -> Outcome:
    shell, head, r, length = p["shell"] / 16, p["head"] / 16, p["radius"], p["length"]
    price, thinner = _PLATES[p["material"]]
    flat = p["ends"] == "elliptic"
    volume = math.pi * r**2 * length + (2 if flat else 4) / 3 * math.pi * r**3
    cost = (
        0.6224 * shell * r * length + (1.2 if flat else 1.7781) * head * r**2
        + 3.1661 * shell**2 * length + 19.84 * shell**2 * r
    ) * price  # fmt: skip
    limits = [
        0.0193 * r * thinner / shell - 1,
        (0.0193 if flat else 0.00954) * r * thinner / head - 1,
        1 - volume / 1_296_000, length / 240 - 1,
    ]  # fmt: skip
    return cost, limits


def vessel(seed: int) -> Problem:
    """Return the pressure vessel; the seed has no influence."""
    parameters: dict[str, Parameter] = {
        "shell": Int(1, 99), "head": Int(1, 99), "radius": Float(10, 200),
        "length": Float(10, 240), "material": Categorical([*_PLATES]),
        "ends": Categorical(["round", "elliptic"]),
    }  # fmt: skip
    return _design("vessel6", parameters, _vessel, 8000.0)


def _clutch(p: Params) -> Outcome:
    inner, outer, thick, force, discs = p["inner"], p["outer"], p["thick"], p["force"], p["discs"]
    if outer <= inner:
        return 2.0, [2.0 + (inner - outer) / 50]
    mass = math.pi * (outer**2 - inner**2) * thick * (discs + 1) * 7.8e-6
    pressure = force / (math.pi * (outer**2 - inner**2))
    cubes = (outer**3 - inner**3) / (outer**2 - inner**2)
    speed = math.pi * 2 / 90 * 250 * cubes / 1000  # metres in a second
    torque = 2 / 3 * 0.5 * force * discs * cubes
    seconds = 55 * math.pi * 250 / (30 * (torque / 1000 + 3))
    limits = [
        (20 - (outer - inner)) / 20, (discs + 1) * (thick + 0.5) / 30 - 1, pressure - 1,
        pressure * speed / 10 - 1, speed / 10 - 1, seconds / 15 - 1, 1 - torque / 60_000,
    ]  # fmt: skip
    return mass, limits


def clutch(seed: int) -> Problem:
    """Return the clutch; the seed has no influence."""
    parameters: dict[str, Parameter] = {
        "inner": Int(60, 80), "outer": Int(90, 110), "thick": Float(1, 3, step=0.5),
        "force": Int(600, 1000, step=10), "discs": Int(2, 9),
    }  # fmt: skip
    return _design("clutch5", parameters, _clutch, 0.5)


def _frame(p: Params, loads: Array) -> Outcome:
    """Share loads of three storeys among columns and beams by their stiffness."""
    columns = np.array([p[f"column{i + 1}"] for i in range(6)]).reshape(3, 2)
    beams = np.array([p[f"beam{i + 1}"] for i in range(6)]).reshape(3, 2)
    above = np.cumsum(loads[::-1])[::-1]  # sideways load that a storey carries
    k, g = columns**2, beams**2  # stiffness grows with the square of the area
    ratio = g.sum(axis=1) / k.sum(axis=1)
    storey = k.sum(axis=1) * (1 + 6 * ratio) / (4 + 6 * ratio)
    drift = above / storey
    share = k / k.sum(axis=1, keepdims=True)
    bent_column = share * above[:, None] / columns**1.5
    bent_beam = (drift[:, None] * g / beams**1.5) / (1 + ratio[:, None])
    weight = float(3 * columns.sum() + 5 * beams.sum())
    limits = [*(bent_column.ravel() - 1), *(bent_beam.ravel() - 1), *(drift - 1)]
    return weight, [*limits, float(drift.sum()) / 2 - 1]


def columns(seed: int) -> Problem:
    """Return a frame of three storeys whose loads the seed draws."""
    loads = np.random.default_rng([12, seed]).uniform(3, 9, 3)
    parameters: dict[str, Parameter] = {f"column{i + 1}": Float(0.5, 8) for i in range(6)}
    parameters |= {f"beam{i + 1}": Float(0.5, 8) for i in range(6)}
    return _design("columns12", parameters, lambda p: _frame(p, loads), 80.0)


DESIGN = {
    "speed_reducer7": speed_reducer,
    "exchanger8": exchanger,
    "truss10": truss,
    "cantilever10": cantilever,
    "welded_beam6": welded_beam,
    "vessel6": vessel,
    "clutch5": clutch,
    "columns12": columns,
}

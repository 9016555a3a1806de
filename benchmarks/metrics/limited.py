"""Functions of one objective with limits, all to be minimised.

gramacy          Gramacy et al. (2016), in two dimensions
ackley10         Eriksson and Poloczek (2021): Ackley's function with a plane and a ball
keane10          Keane (1994): bumps whose best point lies at a limit, in ten dimensions
welded_beam      Coello (2002), with the formulas of `benchmarks.metrics.fronts`
pressure_vessel  Kannan and Kramer (1994): thicknesses are multiples of 1/16 inch
speed_reducer    Golinski (1970), eleven limits, a whole number of teeth
spring           Arora (1989): the lightest spring
concrete_beam    Amir and Hasegawa (1989): a list of areas of bars, a whole number, and a number
"""

import math
from collections.abc import Callable

import numpy as np

from benchmarks.metrics.fronts import BEAM_LIMITS, beam_of
from benchmarks.metrics.problem import Array, MetricTask, Params, Values
from thomax.space.parameters import Float, Int, Ordinal, Parameter
from thomax.space.space import Space

AREAS = (6.0, 6.16, 6.32, 6.6, 7.0, 7.11, 7.2, 7.8, 7.9, 8.0, 8.4)  # square inches


def gramacy(x: Array) -> Values:
    """A plane, cut by a wave and a circle."""
    wave = 0.5 * math.sin(2 * math.pi * (x[0] ** 2 - 2 * x[1]))
    return {
        "value": float(x.sum()),
        "wave": 1.5 - x[0] - 2 * x[1] - wave,
        "circle": float(x @ x) - 1.5,
    }


def ackley(x: Array) -> Values:
    """Ackley's function where the sum is at most 0 and the norm at most 5."""
    hill = -20 * math.exp(-0.2 * math.sqrt(float(np.mean(x**2))))
    ripples = -math.exp(float(np.mean(np.cos(2 * math.pi * x))))
    return {
        "value": hill + ripples + 20 + math.e,
        "sum": float(x.sum()),
        "norm": float(np.linalg.norm(x)),
    }


def keane(x: Array) -> Values:
    """Minus Keane's bumps; the product is at least 0.75, the mean at most 7.5."""
    squares = np.cos(x) ** 2
    top = abs(float(np.sum(squares**2) - 2 * np.prod(squares)))
    bottom = math.sqrt(float(np.arange(1, len(x) + 1) @ x**2))
    return {
        "value": -top / bottom if bottom else 0.0,
        "product": float(np.prod(x)),
        "mean": float(x.mean()),
    }


def pressure_vessel(params: Params) -> Values:
    """The cost of a cylinder with two half spheres as ends."""
    shell, head = params["shell"] / 16, params["head"] / 16
    r, length = params["radius"], params["length"]
    return {
        "cost": 0.6224 * shell * r * length + 1.7781 * head * r**2 + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * r,
        "shell_stress": 0.0193 * r - shell,
        "head_stress": 0.00954 * r - head,
        "volume": math.pi * r**2 * length + 4 / 3 * math.pi * r**3,
    }  # fmt: skip


def speed_reducer(params: Params) -> Values:
    """The weight of a gearbox between an engine and a propeller."""
    b, m, z = params["width"], params["module"], params["teeth"]
    l1, l2, d1, d2 = (params[n] for n in ("length1", "length2", "diameter1", "diameter2"))
    weight = (
        0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
        - 1.508 * b * (d1**2 + d2**2)
        + 7.4777 * (d1**3 + d2**3)
        + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    )
    return {
        "weight": weight,
        "bending": 27 / (b * m**2 * z),
        "contact": 397.5 / (b * m**2 * z**2),
        "deflection1": 1.93 * l1**3 / (m * z * d1**4),
        "deflection2": 1.93 * l2**3 / (m * z * d2**4),
        "stress1": math.sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / (0.1 * d1**3),
        "stress2": math.sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / (0.1 * d2**3),
        "size": m * z,
        "narrow": b / m,
        "wide": b / m,
        "shaft1": (1.5 * d1 + 1.9) / l1,
        "shaft2": (1.1 * d2 + 1.9) / l2,
    }


def spring(params: Params) -> Values:
    """The weight of a spring by its wire, its coils' diameter and their number."""
    d, coil, n = params["wire"], params["coil"], params["coils"]
    bend = 12566 * (coil * d**3 - d**4)
    shear = (4 * coil**2 - d * coil) / bend if bend > 0 else math.inf
    return {
        "weight": (n + 2) * coil * d**2,
        "deflection": 1 - coil**3 * n / (71785 * d**4),
        # Coils within their own wire are no springs: the formula has a pole there.
        "shear": min(shear + 1 / (5108 * d**2) - 1, 100.0),
        "surge": 1 - 140.45 * d / (coil**2 * n),
        "diameter": (d + coil) / 1.5 - 1,
    }


def concrete_beam(params: Params) -> Values:
    """The cost of a beam of concrete by the area of its bars, its height and its width."""
    area, height, width = params["area"], params["height"], params["width"]
    return {
        "cost": 29.4 * area + 0.6 * height * width,
        "slenderness": height / width,
        "moment": height * area - 7.375 * area**2 / width,
    }


def _on_box(
    name: str,
    function: Callable[[Array], Values],
    low: float,
    high: float,
    d: int,
    limits: dict[str, str],
    best: float,
    source: str,
) -> MetricTask:
    names = [f"x{i + 1}" for i in range(d)]
    space = Space({n: Float(low, high) for n in names})
    return MetricTask(
        name, space, lambda params: function(np.array([params[n] for n in names])),
        {"value": "minimize"}, limits, best=best, source=source,
    )  # fmt: skip


def _design(
    name: str,
    function: Callable[[Params], Values],
    parameters: dict[str, Parameter],
    objective: str,
    limits: dict[str, str],
    best: float,
    source: str,
) -> MetricTask:
    return MetricTask(
        name,
        Space(parameters),
        function,
        {objective: "minimize"},
        limits,
        best=best,
        source=source,
    )


_REDUCER_LIMITS = {
    **dict.fromkeys(("bending", "contact", "deflection1", "deflection2"), "<= 1"),
    "stress1": "<= 1100", "stress2": "<= 850", "size": "<= 40", "narrow": ">= 5",
    "wide": "<= 12", "shaft1": "<= 1", "shaft2": "<= 1",
}  # fmt: skip


def boxes() -> list[MetricTask]:
    """Return the functions on boxes."""
    return [
        _on_box(
            "gramacy", gramacy, 0, 1, 2, {"wave": "<= 0", "circle": "<= 0"}, 0.5998,
            "Gramacy et al. (2016)",
        ),
        _on_box(
            "ackley10", ackley, -5, 10, 10, {"sum": "<= 0", "norm": "<= 5"}, 0.0,
            "Eriksson and Poloczek (2021)",
        ),
        _on_box(
            "keane10", keane, 0, 10, 10, {"product": ">= 0.75", "mean": "<= 7.5"}, -0.747310,
            "Keane (1994)",
        ),
    ]  # fmt: skip


def machines() -> list[MetricTask]:
    """Return the designs of machines."""
    beam: dict[str, Parameter] = {
        "weld": Float(0.125, 2), "length": Float(0.1, 10), "height": Float(0.1, 10),
        "thickness": Float(0.1, 2),
    }  # fmt: skip
    vessel: dict[str, Parameter] = {
        "shell": Int(1, 99), "head": Int(1, 99), "radius": Float(10, 200),
        "length": Float(10, 200),
    }  # fmt: skip
    reducer: dict[str, Parameter] = {
        "width": Float(2.6, 3.6), "module": Float(0.7, 0.8), "teeth": Int(17, 28),
        "length1": Float(7.3, 8.3), "length2": Float(7.3, 8.3), "diameter1": Float(2.9, 3.9),
        "diameter2": Float(5.0, 5.5),
    }  # fmt: skip
    coils: dict[str, Parameter] = {
        "wire": Float(0.05, 2), "coil": Float(0.25, 1.3), "coils": Float(2, 15),
    }  # fmt: skip
    concrete: dict[str, Parameter] = {
        "area": Ordinal(AREAS), "height": Int(28, 40), "width": Float(5, 10),
    }  # fmt: skip
    return [
        _design(
            "welded_beam", beam_of, beam, "cost", BEAM_LIMITS | {"deflection": "<= 0.25"},
            1.724852, "Coello (2002)",
        ),
        _design(
            "pressure_vessel", pressure_vessel, vessel, "cost",
            {"shell_stress": "<= 0", "head_stress": "<= 0", "volume": ">= 1296000"}, 6059.714335,
            "Kannan and Kramer (1994)",
        ),
        _design(
            "speed_reducer", speed_reducer, reducer, "weight", _REDUCER_LIMITS, 2994.471066,
            "Golinski (1970)",
        ),
        _design(
            "spring", spring, coils, "weight",
            dict.fromkeys(("deflection", "shear", "surge", "diameter"), "<= 0"), 0.012665,
            "Arora (1989)",
        ),
        _design(
            "concrete_beam", concrete_beam, concrete, "cost",
            {"slenderness": "<= 4", "moment": ">= 180"}, 359.208, "Amir and Hasegawa (1989)",
        ),
    ]  # fmt: skip

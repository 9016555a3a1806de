"""Functions with several objectives, all to be minimised: analytic ones, and designs of machines.

zdt1, zdt3                  Zitzler, Deb and Thiele (2000), in 6 and 8 dimensions
dtlz2, dtlz7                Deb, Thiele, Laumanns and Zitzler (2005), 3 objectives in 6 dimensions
branin_currin               Belakaria, Deshwal and Doppa (2019)
fonseca                     Fonseca and Fleming (1995), also called VLMOP2, in 3 dimensions
four_bar_truss              Cheng and Li (1999), RE21 of Tanabe and Ishibuchi (2020)
crash                       Liao et al. (2008), RE34: mass, acceleration and intrusion of a car
disc_brake, welded_beam_2   Ray and Liew (2002), two objectives and four limits, RE33 and RE32

Reference points of dtlz2, dtlz7, branin_currin, disc_brake and welded_beam_2 are near those in
BoTorch's test functions; the others are what `benchmarks.metrics.references` finds, rounded: the
worst of the non-dominated ones among random points, and a tenth beyond.
"""

import math
from collections.abc import Callable

import numpy as np

from benchmarks.metrics.problem import Array, Direction, MetricTask, Params, Values, named
from thomax.space.parameters import Float, Int
from thomax.space.space import Space


def on_cube(
    name: str,
    function: Callable[[Array], Array],
    low: float,
    high: float,
    d: int,
    *,
    reference: tuple[float, ...],
    source: str,
    volume: float | None = None,
) -> MetricTask:
    """Return the task of a function of one array on the box [low, high]^d."""
    inputs = [f"x{i + 1}" for i in range(d)]
    outputs = [f"f{i + 1}" for i in range(len(reference))]

    def evaluate(params: Params) -> Values:
        return named(outputs, function(np.array([params[n] for n in inputs])))

    return MetricTask(
        name,
        Space({n: Float(low, high) for n in inputs}),
        evaluate,
        dict.fromkeys(outputs, "minimize"),
        reference=reference,
        volume=volume,
        source=source,
    )


def zdt1(x: Array) -> Array:
    """A convex front: f2 = 1 - sqrt(f1) where all but the first input are 0."""
    g = 1 + 9 * x[1:].mean()
    return np.array([x[0], g * (1 - math.sqrt(x[0] / g))])


def zdt3(x: Array) -> Array:
    """A front of five pieces."""
    g = 1 + 9 * x[1:].mean()
    share = x[0] / g
    return np.array([x[0], g * (1 - math.sqrt(share) - share * math.sin(10 * math.pi * x[0]))])


def dtlz2(x: Array, m: int = 3) -> Array:
    """The front is the part of the unit sphere with positive coordinates."""
    angles = x[: m - 1] * math.pi / 2
    radius = 1 + float(np.sum((x[m - 1 :] - 0.5) ** 2))
    f = np.full(m, radius)
    for i in range(m):
        f[i] *= np.prod(np.cos(angles[: m - 1 - i]))
        f[i] *= math.sin(angles[m - 1 - i]) if i else 1.0
    return f


def dtlz7(x: Array, m: int = 3) -> Array:
    """A front of 2^(m - 1) pieces."""
    first = x[: m - 1]
    g = 1 + 9 * x[m - 1 :].mean()
    height = m - float(np.sum(first / (1 + g) * (1 + np.sin(3 * math.pi * first))))
    return np.append(first, (1 + g) * height)


def branin_currin(x: Array) -> Array:
    """Branin's function on the unit square, and Currin's exponential one."""
    u, v = 15 * x[0] - 5, 15 * x[1]
    valley = v - 5.1 / (4 * math.pi**2) * u**2 + 5 / math.pi * u - 6
    branin = valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(u) + 10
    fall = 1 - math.exp(-1 / (2 * x[1])) if x[1] > 0 else 1.0
    top = 2300 * x[0] ** 3 + 1900 * x[0] ** 2 + 2092 * x[0] + 60
    return np.array([branin, fall * top / (100 * x[0] ** 3 + 500 * x[0] ** 2 + 4 * x[0] + 20)])


def fonseca(x: Array) -> Array:
    """A concave front between two bumps."""
    shift = 1 / math.sqrt(len(x))
    return np.array([1 - math.exp(-float(np.sum((x + s * shift) ** 2))) for s in (-1, 1)])


def crash(x: Array) -> Array:
    """Mass, acceleration of the passengers, and intrusion by five thicknesses of sheets."""
    a, b, c, d, e = x
    mass = (
        1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e
    )
    acceleration = (
        6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d
        + 0.0861 * a * e + 0.3628 * b * d - 0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2
    )  # fmt: skip
    intrusion = (
        -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c
        - 0.0118 * b * d - 0.0204 * c * d - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2
    )  # fmt: skip
    return np.array([mass, acceleration, intrusion])


def four_bar_truss(params: Params) -> Values:
    """Volume of four bars by their cross-sections, and how far their joint moves."""
    force, elasticity, length = 10.0, 2e5, 200.0
    a, b, c, d = (params[f"bar{i}"] for i in range(1, 5))
    root = math.sqrt(2)
    return {
        "volume": length * (2 * a + root * b + math.sqrt(c) + d),
        "movement": force * length / elasticity * (2 / a + 2 * root / b - 2 * root / c + 2 / d),
    }


def disc_brake(params: Params) -> Values:
    """Mass and stopping time of a brake of several discs."""
    r, big, force, n = params["inner"], params["outer"], params["force"], params["surfaces"]
    area, cubes = big**2 - r**2, big**3 - r**3
    return {
        "mass": 4.9e-5 * area * (n - 1),
        "time": 9.82e6 * area / (force * n * cubes),
        "width": big - r,
        "pressure": force / (3.14 * area),
        "heat": 2.22e-3 * force * cubes / area**2,
        "torque": 2.66e-2 * force * n * cubes / area,
    }


def beam_of(params: Params) -> Values:
    """Cost, deflection, stresses and buckling load of a beam that is welded to a support."""
    h, length, t, b = (params[n] for n in ("weld", "length", "height", "thickness"))
    load, arm, elasticity, shear_modulus = 6000.0, 14.0, 30e6, 12e6
    direct = load / (math.sqrt(2) * h * length)
    radius = math.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    inertia = 2 * math.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    torsion = load * (arm + length / 2) * radius / inertia
    slender = 1 - t / (2 * arm) * math.sqrt(elasticity / (4 * shear_modulus))
    return {
        "cost": 1.10471 * h**2 * length + 0.04811 * t * b * (14 + length),
        "deflection": 4 * load * arm**3 / (elasticity * t**3 * b),
        "shear": math.sqrt(direct**2 + direct * torsion * length / radius + torsion**2),
        "stress": 6 * load * arm / (b * t**2),
        "overhang": h - b,
        "buckling": 4.013 * elasticity * t * b**3 / (6 * arm**2) * slender,
    }


def _bars() -> Space:
    low = {1: 1.0, 2: math.sqrt(2), 3: math.sqrt(2), 4: 1.0}
    return Space({f"bar{i}": Float(low[i], 3.0) for i in range(1, 5)})


def _both(*names: str) -> dict[str, Direction]:
    return dict.fromkeys(names, "minimize")


BEAM_LIMITS = {
    "shear": "<= 13600", "stress": "<= 30000", "overhang": "<= 0", "buckling": ">= 6000",
}  # fmt: skip


def analytic() -> list[MetricTask]:
    """Return the functions on boxes."""
    unit = 0.0, 1.0
    return [
        on_cube(
            "zdt1", zdt1, *unit, 6, reference=(1.0, 5.4), volume=5.4 - 1 / 3,
            source="Zitzler et al. (2000)",
        ),
        on_cube("zdt3", zdt3, *unit, 8, reference=(0.95, 5.7), source="Zitzler et al. (2000)"),
        on_cube(
            "dtlz2", dtlz2, *unit, 6, reference=(1.1,) * 3, volume=1.1**3 - math.pi / 6,
            source="Deb et al. (2005)",
        ),
        on_cube("dtlz7", dtlz7, *unit, 6, reference=(1.1, 1.1, 15), source="Deb et al. (2005)"),
        on_cube(
            "branin_currin", branin_currin, *unit, 2, reference=(18, 6), volume=59.36011874867746,
            source="Belakaria et al. (2019)",
        ),
        on_cube("fonseca", fonseca, -2, 2, 3, reference=(1.08,) * 2, source="Fonseca (1995)"),
        on_cube("crash", crash, 1, 3, 5, reference=(1690, 10.1, 0.264), source="Liao (2008)"),
    ]  # fmt: skip


def designs() -> list[MetricTask]:
    """Return the designs of machines."""
    brake = Space({
        "inner": Float(55, 80), "outer": Float(75, 110), "force": Float(1000, 3000),
        "surfaces": Int(11, 20),
    })  # fmt: skip
    beam = Space({
        "weld": Float(0.125, 5), "length": Float(0.1, 10), "height": Float(0.1, 10),
        "thickness": Float(0.125, 5),
    })  # fmt: skip
    return [
        MetricTask(
            "four_bar_truss", _bars(), four_bar_truss, _both("volume", "movement"),
            reference=(2900, 0.041), source="Cheng and Li (1999)",
        ),
        MetricTask(
            "disc_brake", brake, disc_brake, _both("mass", "time"),
            {"width": ">= 20", "pressure": "<= 0.4", "heat": "<= 1", "torque": ">= 900"},
            reference=(5.7771, 3.9651), source="Ray and Liew (2002)",
        ),
        MetricTask(
            "welded_beam_2", beam, beam_of, _both("cost", "deflection"), BEAM_LIMITS,
            reference=(40, 0.015), source="Ray and Liew (2002)",
        ),
    ]  # fmt: skip

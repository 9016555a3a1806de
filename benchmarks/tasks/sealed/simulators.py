"""Simulated plants, a store and physical designs; the seed draws constants.

crane10      pushes over time that carry a load without swinging
heating12    a building's heating by hour: comfort against cost
fermenter10  feed over time of a fermenter: product in the end
cruise8      a truck's speed over hills by look-ahead gains
inventory11  when and how much to order of three goods, how shipped: mixed
coating10    thicknesses of ten layers on glass that reflect least
antenna12    phases and places of an array whose beam is to have weak side lobes
turbines12   places of six wind turbines that stand in each other's wake (Jensen, 1983)
impact11     weight of a car's side within limits of a crash (Gu et al., 2001)
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem, exact, on_box
from thomax.space.parameters import Categorical, Float, Int, Ordinal, Parameter
from thomax.space.space import Space

Array = NDArray[np.float64]
Plant = Callable[[Array, np.random.Generator], float]


def _crane(u: Array, rng: np.random.Generator) -> float:
    """Return minus the miss and the swing in the end, and the time to get there."""
    rope, friction = rng.uniform([6.0, 0.02], [10.0, 0.08])
    x = v = angle = spin = worst = 0.0
    push = (2 * u - 1).tolist()
    for step in range(200):
        a = 1.2 * push[step // 20] - friction * v
        spin += 0.1 * (-9.81 / rope * math.sin(angle) - a / rope * math.cos(angle) - 0.02 * spin)
        v, angle = v + 0.1 * a, angle + 0.1 * spin
        x += 0.1 * v
        worst = max(worst, abs(angle))
    miss = abs(x - 20) / 20 + abs(v) / 2
    return -float(min(miss, 10) + 2 * math.hypot(angle, spin) + 0.5 * worst)


def _heating(u: Array, rng: np.random.Generator) -> float:
    """Return minus a day's cost: prices by hour, and discomfort squared."""
    leak, mass = rng.uniform([0.15, 3.0], [0.25, 6.0])
    price = 1 + 0.6 * np.sin(np.arange(12) + rng.uniform(0, 6))
    outside = 2 + 6 * np.sin(np.linspace(-2, 4, 12) + rng.uniform(-0.5, 0.5))
    wanted = np.where((np.arange(12) < 3) | (np.arange(12) > 10), 17.0, 21.0)
    walls, air, cost = 16.0, 16.0, 0.0
    for hour in range(12):
        heat = 12 * float(u[hour])
        for _ in range(4):
            air += 0.25 * (heat + 0.8 * (walls - air) - leak * (air - outside[hour])) / 1.5
            walls += 0.25 * 0.8 * (air - walls) / mass
        cost += 0.15 * price[hour] * heat + 0.2 * (air - wanted[hour]) ** 2
    return -float(cost)


def _fermenter(u: Array, rng: np.random.Generator) -> float:
    """Return the product in the end: too much feed stops growth, too little starves."""
    grows, stops, makes = rng.uniform([0.25, 8.0, 0.06], [0.4, 15.0, 0.1])
    cells, food, product, volume = 0.5, 5.0, 0.0, 1.0
    feed = (0.06 * u).tolist()
    for step in range(200):
        rate = grows * food / (1 + food + food**2 / stops)
        making = makes * food / (0.5 + food) / (1 + 3 * rate)
        flow = 0.2 * feed[step // 20]
        thin = flow / volume
        food = max(0.0, food - 0.2 * cells * (2 * rate + 1.5 * making) + thin * (60 - food))
        cells = cells + 0.2 * cells * (rate - 0.02) - thin * cells
        product = product + 0.2 * (making * cells - 0.01 * product) - thin * product
        volume = volume + flow
    return float(product * volume - 2 * max(0.0, volume - 2.2))


def _cruise(u: Array, rng: np.random.Generator) -> float:
    """Return minus fuel and lateness of a truck on 12 kilometres of hills."""
    waves, heights = rng.uniform(0.5, 3, 4), rng.uniform(0.005, 0.03, 4)
    mass = rng.uniform(0.8, 1.2)
    slopes = np.sin(np.outer(np.arange(400) * 0.03, waves)) @ heights
    near, far = slopes, np.convolve(slopes, np.ones(20) / 20, "full")[19:419]
    gains = (2 * u - 1).tolist()
    v, fuel, late = 22.0, 0.0, 0.0
    for here, ahead in zip(near.tolist(), far.tolist(), strict=False):
        goal = 22 + 4 * gains[0] + 60 * gains[1] * ahead + 60 * gains[2] * here
        wish = 0.5 * (1 + gains[3]) * (goal - v) + 20 * gains[4] * here + 20 * gains[5] * ahead
        wish += 0.3 + 0.3 * gains[6] + 0.1 * gains[7] * (v - 22)
        push = min(max(wish, -1.0), 1.0)
        v += 0.7 * (0.5 * push / mass - 9.81 * here * 0.5 - 0.0002 * v**2)
        v = min(max(v, 5.0), 35.0)
        fuel += max(push, 0.0) ** 1.3 + 0.002 * abs(push)
        late += max(0.0, 22 / v - 1) + 0.5 * max(0.0, v - 27)
    return -(fuel + 2 * late) / 100


def _plant(name: str, d: int, run: Plant, seed: int) -> Problem:
    return on_box(name, lambda x: run(x, np.random.default_rng([d, 7, seed])), 0, 1, d)


def inventory(seed: int) -> Problem:
    """Return minus the mean cost of 120 days: stock, orders by ship or truck, and lost sales."""
    rng = np.random.default_rng([11, seed])
    demand = rng.poisson(rng.uniform(3, 12, 3), (120, 3)).tolist()
    keep, lost = rng.uniform(0.05, 0.2, 3).tolist(), rng.uniform(2, 5, 3).tolist()
    parameters: dict[str, Parameter] = {}
    for i in range(1, 4):
        parameters[f"point{i}"] = Int(0, 120)
        parameters[f"amount{i}"] = Int(5, 150)
        parameters[f"by{i}"] = Categorical(["ship", "truck", "plane"])
    parameters |= {"review": Ordinal([1, 2, 5, 10]), "shared": Categorical(["no", "yes"])}
    days = {"ship": 9, "truck": 4, "plane": 1}
    price = {"ship": (25.0, 0.2), "truck": (15.0, 0.6), "plane": (8.0, 1.6)}

    def judge(params: Params) -> float:
        total, shared = 0.0, params["shared"] == "yes"
        stock = [40.0, 40.0, 40.0]
        coming: list[tuple[int, int, int]] = []
        for day in range(120):
            for _, i, n in (arrival for arrival in coming if arrival[0] == day):
                stock[i] += n
            ordered = False
            for i in range(3):
                sold = min(stock[i], demand[day][i])
                stock[i] -= sold
                total += keep[i] * stock[i] + lost[i] * (demand[day][i] - sold)
                due = sum(n for when, good, n in coming if good == i and when > day)
                low = stock[i] + due <= params[f"point{i + 1}"]
                if low and day % params["review"] == 0:
                    by, n = params[f"by{i + 1}"], params[f"amount{i + 1}"]
                    fixed, each = price[by]
                    total += fixed * (0.4 if shared and ordered else 1.0) + each * n + 2 * shared
                    coming.append((day + days[by], i, n))
                    ordered = True
        return -total / 120

    return exact("inventory11", Space(parameters), judge)


def _coating(u: Array, rng: np.random.Generator) -> float:
    """Return minus the mean reflection in per cent of light from 400 to 800 nanometres."""
    low, high = rng.uniform([1.35, 2.0], [1.45, 2.4])
    waves = np.linspace(400, 800, 25)
    m00, m01 = np.ones(25, complex), np.zeros(25, complex)
    m10, m11 = np.zeros(25, complex), np.ones(25, complex)
    for i, thickness in enumerate(200 * u):
        n = low if i % 2 else high
        phase = 2 * math.pi * n * thickness / waves
        c, s = np.cos(phase), 1j * np.sin(phase)
        m00, m01 = m00 * c + m01 * s * n, m00 * s / n + m01 * c
        m10, m11 = m10 * c + m11 * s * n, m10 * s / n + m11 * c
    glass = 1.52
    a, b = m00 + m01 * glass, m10 + m11 * glass
    return -100 * float(np.mean(np.abs((a - b) / (a + b)) ** 2))


def _antenna(u: Array, rng: np.random.Generator) -> float:
    """Return how far, in decibels, the beam stands above the rest, by six gaps and six phases."""
    aim = rng.uniform(-0.4, 0.4)
    places = np.cumsum(0.3 + 0.7 * u[:6])
    phases = 2 * math.pi * u[6:]
    s = np.linspace(-1, 1, 181)
    field = 1 + np.exp(1j * (2 * math.pi * np.outer(s, places) + phases)).sum(axis=1)
    power = np.abs(field) ** 2 + 1e-6
    beam = np.abs(s - aim) < 0.12
    return float(10 * np.log10(power[beam].max() / power[~beam].max()))


def _turbines(u: Array, rng: np.random.Generator) -> float:
    """Return the share of the wind's power that six turbines in a square get."""
    places = 2000 * u.reshape(6, 2)
    winds, shares = rng.uniform(0, 2 * math.pi, 8), rng.dirichlet(np.full(8, 1.5))
    total = 0.0
    for wind, share in zip(winds, shares, strict=True):
        along = places @ np.array([math.cos(wind), math.sin(wind)])
        across = places @ np.array([-math.sin(wind), math.cos(wind)])
        behind = along[:, None] - along
        radius = 40 + 0.06 * np.maximum(behind, 0)
        overlap = np.clip((radius + 40 - np.abs(across[:, None] - across)) / 80, 0, 1)
        loss = np.where(behind > 1, 0.55 * (40 / radius) ** 2 * overlap, 0.0)
        speed = 1 - np.sqrt(np.sum(loss**2, axis=1))
        total += share * float(np.mean(np.maximum(speed, 0.0) ** 3))
    close = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(6, 1)]
    return total - 0.2 * float(np.sum(np.maximum(0.0, 1 - close / 250)))


def _crash(x: list[float]) -> list[float]:
    """Return what the crash does, each as a share of what is allowed."""
    _, a, b, c, d, e, f, g, h, i, j, k = [0.0, *x]
    found = [
        (1.16 - 0.3717 * b * d - 0.00931 * b * j - 0.484 * c * i + 0.01343 * f * j, 1.0),
        (0.261 - 0.0159 * a * b - 0.188 * a * h - 0.019 * b * g + 0.0144 * c * e
         + 0.0008757 * e * j + 0.08045 * f * i + 0.00139 * h * k + 0.00001575 * j * k, 0.32),
        (0.214 + 0.00817 * e - 0.131 * a * h - 0.0704 * a * i + 0.03099 * b * f - 0.018 * b * g
         + 0.0208 * c * h + 0.121 * c * i - 0.00364 * e * f + 0.0007715 * e * j
         - 0.0005354 * f * j + 0.00121 * h * k + 0.00184 * i * j - 0.018 * b**2, 0.32),
        (0.74 - 0.61 * b - 0.163 * c * h + 0.001232 * c * j - 0.166 * g * i + 0.227 * b**2, 0.32),
        (28.98 + 3.818 * c - 4.2 * a * b + 0.0207 * e * j + 6.63 * f * i - 7.77 * g * h
         + 0.32 * i * j, 32.0),
        (33.86 + 2.95 * c + 0.1792 * j - 5.057 * a * b - 11 * b * h - 0.0215 * e * j
         - 9.98 * g * h + 22 * h * i, 32.0),
        (46.36 - 9.9 * b - 12.9 * a * h + 0.1107 * c * j, 32.0),
        (4.72 - 0.5 * d - 0.19 * b * c - 0.0122 * d * j + 0.009325 * f * j + 0.000191 * k**2, 4.0),
        (10.58 - 0.674 * a * b - 1.95 * b * h + 0.02054 * c * j - 0.0198 * d * j
         + 0.028 * f * j, 9.9),
        (16.45 - 0.489 * c * g - 0.843 * e * f + 0.0432 * i * j - 0.0556 * i * k
         - 0.000786 * k**2, 15.7),
    ]  # fmt: skip
    return [value / limit - 1 for value, limit in found]


def impact(seed: int) -> Problem:
    """Return minus the weight of a car's side, and of limits passed; the seed has no influence."""
    names = [f"part{i + 1}" for i in range(7)]
    parameters: dict[str, Parameter] = {name: Float(0.5, 1.5) for name in names}
    parameters |= {"steel8": Categorical([0.192, 0.345]), "steel9": Categorical([0.192, 0.345])}
    parameters |= {"height": Float(-30, 30), "place": Float(-30, 30)}
    prices = np.array([4.90, 6.67, 6.98, 4.01, 1.78, 0.00001, 2.73])

    def judge(params: Params) -> float:
        x = [float(params[name]) for name in parameters]
        weight = 1.98 + float(prices @ x[:7])
        return -weight / 23 - 3 * sum(max(0.0, passed) for passed in _crash(x))

    return exact("impact11", Space(parameters), judge)


PLANTS: dict[str, tuple[int, Plant]] = {
    "crane10": (10, _crane),
    "heating12": (12, _heating),
    "fermenter10": (10, _fermenter),
    "cruise8": (8, _cruise),
}
PHYSICS: dict[str, tuple[int, Plant]] = {
    "coating10": (10, _coating),
    "antenna12": (12, _antenna),
    "turbines12": (12, _turbines),
}
SIMULATED = {name: partial(_plant, name, *of) for name, of in PLANTS.items()}
PHYSICAL = {name: partial(_plant, name, *of) for name, of in PHYSICS.items()} | {
    "impact11": impact
}

"""Controllers of small simulated machines; the seed of a run draws the machine's constants.

    tanks8        two conical tanks in a row: gains at low and high level, a feed-forward
    acrobot12     a double pendulum driven at the elbow swings up: a small network
    hill7         a weak car on a hill: bumps of push over place and speed
    glider9       how far an unpowered plane comes: its lift by height and speed
    delayed6      a mass that obeys late: gains, a filter, a prediction and a limit
    drone11       a flat drone flies through three points: gains of two nested loops
    reactor10     heat and feed over time of a reactor A → B → C: how much B

All are deterministic: the same parameters are worth the same. Every parameter runs from 0 to 1.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.tasks.problem import Problem, on_box

Machine = Callable[[Sequence[float], np.random.Generator], float]

_GRAVITY = 9.81


def _clipped(value: float, low: float, high: float) -> float:
    return low if value < low else high if value > high else value


def _tanks(u: Sequence[float], rng: np.random.Generator) -> float:
    """Return minus the mean error of the lower tank's level, and of haste at the valve."""
    wide, narrow, first, second = rng.uniform([0.8, 0.1, 0.25, 0.2], [1.2, 0.2, 0.35, 0.3])
    gain_low, gain_high, rest_low, rest_high = 8 * u[0], 8 * u[1], u[2], u[3]
    damping, bias, forward, slew = 4 * u[4], u[5], 1.5 * u[6], 0.02 + 0.3 * u[7]
    upper, lower, total, cost, valve = 0.3, 0.3, 0.0, 0.0, 0.0
    before = lower
    for step in range(240):
        target = 0.8 if step < 80 else 0.25 if step < 160 else 0.6
        error = target - lower
        gain = gain_low + (gain_high - gain_low) * target
        total = _clipped(
            total + 0.05 * error * (rest_low + (rest_high - rest_low) * target), -2, 2
        )
        wish = bias - 0.5 + gain * error + 4 * total - damping * 20 * (lower - before)
        wish = _clipped(wish + forward * math.sqrt(target), 0, 1)
        move = _clipped(wish - valve, -slew, slew)
        valve, before = valve + move, lower
        through, out = first * math.sqrt(upper), second * math.sqrt(lower)
        upper = _clipped(
            upper + 0.1 * (0.4 * valve - through) / (narrow + wide * upper**2), 0, 1.5
        )
        lower = _clipped(lower + 0.1 * (through - out) / (narrow + wide * lower**2), 0, 1.5)
        cost += abs(error) + 0.2 * abs(move)
    return -cost / 240


def _acrobot(u: Sequence[float], rng: np.random.Generator) -> float:
    """Return the mean height of the tip, and something for the highest."""
    m1, m2, l1, l2 = rng.uniform(0.85, 1.15, 4)
    w = [6 * v - 3 for v in u]
    a, b, da, db = 0.1, -0.1, 0.0, 0.0
    total, highest = 0.0, -2.0
    for _ in range(300):
        inputs = (math.sin(a), math.sin(a + b), da / 3, db / 5)
        first = math.tanh(sum(w[i] * v for i, v in enumerate(inputs)))
        second = math.tanh(sum(w[4 + i] * v for i, v in enumerate(inputs)))
        torque = 2.5 * math.tanh(w[8] * first + w[9] * second + w[10] * db / 3 + w[11] * b / 3)
        near, far = 0.5 * l1, 0.5 * l2
        d1 = m1 * near**2 + m2 * (l1**2 + far**2 + 2 * l1 * far * math.cos(b)) + 0.3
        d2 = m2 * (far**2 + l1 * far * math.cos(b)) + 0.15
        phi2 = m2 * far * _GRAVITY * math.sin(a + b)
        phi1 = -m2 * l1 * far * (db**2 + 2 * da * db) * math.sin(b)
        phi1 += (m1 * near + m2 * l1) * _GRAVITY * math.sin(a) + phi2
        inner = m2 * far**2 + 0.15 - d2**2 / d1
        ddb = (torque + d2 / d1 * phi1 - m2 * l1 * far * da**2 * math.sin(b) - phi2) / inner
        dda = -(d2 * ddb + phi1) / d1
        da, db = _clipped(da + 0.04 * dda, -9, 9), _clipped(db + 0.04 * ddb, -14, 14)
        a, b = a + 0.04 * da, b + 0.04 * db
        height = (-l1 * math.cos(a) - l2 * math.cos(a + b)) / (l1 + l2)
        total, highest = total + height, max(highest, height)
    return total / 300 + highest


def _hill(u: Sequence[float], rng: np.random.Generator) -> float:
    """Return the height reached and the time saved, less the fuel."""
    power, steep = rng.uniform([0.0010, 0.0024], [0.0013, 0.0026])
    place, speed, fuel, highest = -0.5, 0.0, 0.0, -1.0
    for step in range(250):
        x, v = (place + 0.5) / 0.6, speed / 0.03
        push = 2 * (2 * u[0] - 1) * v + (2 * u[1] - 1) * x + 2 * (2 * u[2] - 1) * x * v
        push += (2 * u[3] - 1) * math.exp(-(((x - 2 * u[4] + 1) / (0.2 + u[5])) ** 2))
        push = math.tanh(push + 0.6 * (2 * u[6] - 1))
        speed = _clipped(speed + power * push - steep * math.cos(3 * place), -0.07, 0.07)
        place += speed
        if place < -1.2:
            place, speed = -1.2, 0.0
        fuel += push**2
        highest = max(highest, math.sin(3 * place) if place > -0.5 else -1.0)
        if place > 0.5:
            return 2.0 + (250 - step) / 250 - 0.004 * fuel
    return highest - 0.002 * fuel


def _glider(u: Sequence[float], rng: np.random.Generator) -> float:
    """Return how far a plane comes in kilometres, less the harm of a hard landing."""
    mass, drag, wind = rng.uniform([0.9, 0.018, -3.0], [1.1, 0.028, 3.0])
    x, y, vx, vy = 0.0, 60.0, 14.0, 0.0
    lift_by_height = [1.6 * v - 0.2 for v in u[:4]]
    for _ in range(900):
        level = _clipped(y / 80, 0, 1) * 3
        i = min(int(level), 2)
        lift = lift_by_height[i] + (level - i) * (lift_by_height[i + 1] - lift_by_height[i])
        speed = math.hypot(vx, vy) + 1e-9
        lift += (u[4] - 0.5) * (speed - 12) / 6 + (u[5] - 0.5) * vy / 3
        if y < 12 * u[6]:  # the flare
            lift += u[7]
        lift = _clipped(lift + 0.4 * (u[8] - 0.5) * math.sin(x / 60), -0.5, 1.5)
        up = 7.0 * math.exp(-(((x - 260) / 90) ** 2)) * 0.45  # a thermal
        ax, ay = vx - wind, vy - up
        through = math.hypot(ax, ay)
        force, brake = 0.045 * lift, drag * (0.5 + 1.1 * lift**2) * 0.12
        vx += 0.1 * through * (-force * ay - brake * ax) / mass
        vy += 0.1 * (through * (force * ax - brake * ay) / mass - _GRAVITY * 0.6)
        vx, vy = _clipped(vx, -40, 60), _clipped(vy, -40, 30)
        x, y = x + 0.1 * vx, y + 0.1 * vy
        if y <= 0:
            return x / 1000 - 0.02 * max(0.0, -vy - 1.5)
    return x / 1000


def _delayed(u: Sequence[float], rng: np.random.Generator) -> float:
    """Return minus the mean error of a mass that follows a target, with a push that comes late."""
    delay, friction = int(rng.integers(5, 9)), rng.uniform(0.05, 0.3)
    gain, damping, rest = 6 * u[0], 6 * u[1], 1.5 * u[2]
    keep, ahead, most = 0.95 * u[3], 2 * u[4], 0.3 + 3 * u[5]
    queue = [0.0] * delay
    x, v, total, smooth, cost = 0.0, 0.0, 0.0, 0.0, 0.0
    for step in range(300):
        target = 1.0 if step < 150 else -0.5
        owed = 0.05 * sum(queue)  # of speed: pushes under way
        error = target - x - ahead * owed * 0.05 * delay
        total = _clipped(total + 0.05 * error, -3, 3)
        push = gain * error + rest * total - damping * (v + ahead * owed)
        smooth = keep * smooth + (1 - keep) * push
        queue.append(_clipped(smooth, -most, most))
        v += 0.05 * (queue.pop(0) - friction * v + 0.2 * math.sin(0.05 * step))
        x += 0.05 * v
        cost += min(abs(target - x), 3.0) + 0.02 * abs(queue[-1])
    return -cost / 300


def _drone(u: Sequence[float], rng: np.random.Generator) -> float:
    """Return minus the mean distance to the points of the hour, and of tilt and thrust."""
    mass, inertia = rng.uniform([0.9, 0.15], [1.2, 0.25])
    points = rng.uniform([-2, -1], [2, 2], (3, 2)).tolist()
    kx, ky, kv, kw = 6 * u[0], 12 * u[1], 6 * u[2], 8 * u[3]
    most, turn_gain, turn_damping, lean = 1.2 * u[4], 40 * u[5], 12 * u[6], 2 * u[7]
    lead, ceiling, trim = u[8], 5 + 20 * u[9], 0.7 + 0.6 * u[10]
    x, y, vx, vy, tilt, spin, cost = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for step in range(240):
        goal, following = points[step // 80], points[min(step // 80 + 1, 2)]
        blend = lead * max(0.0, step % 80 / 80 - 0.5)
        gx, gy = (g + blend * (f - g) for g, f in zip(goal, following, strict=True))
        wish = -_clipped((kx * (gx - x) - kv * vx) / _GRAVITY, -most, most)
        thrust = trim * mass * _GRAVITY + mass * (ky * (gy - y) - kw * vy)
        thrust = _clipped(thrust * (1 + lean * (1 - math.cos(tilt))), 0.0, ceiling)
        torque = _clipped(turn_gain * (wish - tilt) - turn_damping * spin, -3, 3)
        spin = _clipped(spin + 0.03 * torque / inertia, -10, 10)
        tilt += 0.03 * spin
        vx -= 0.03 * thrust * math.sin(tilt) / mass
        vy += 0.03 * (thrust * math.cos(tilt) / mass - _GRAVITY)
        x, y = x + 0.03 * vx, y + 0.03 * vy
        cost += min(math.hypot(goal[0] - x, goal[1] - y), 6.0) + 0.05 * min(abs(tilt), 3.0)
    return -cost / 240


def _reactor(u: Sequence[float], rng: np.random.Generator) -> float:
    """Return how much B there is in the end, less what heat costs and what is too hot."""
    rate1, rate2, heat1, heat2 = rng.uniform([0.8, 0.5, 3.0, 5.0], [1.2, 0.9, 4.0, 7.0])
    a, b, temperature, volume, cost = 0.2, 0.0, 1.0, 0.5, 0.0
    for step in range(200):
        place = step / 200 * 4
        i = min(int(place), 3)
        jacket = 0.8 + 0.5 * (u[i] + (place - i) * (u[i + 1] - u[i]))
        feed = 0.006 * u[5 + min(int(step / 40), 4)]
        k1 = rate1 * math.exp(heat1 * (1 - 1 / temperature))
        k2 = rate2 * 0.3 * math.exp(heat2 * 2 * (1 - 1 / temperature))
        made, lost = k1 * a * a, k2 * b
        a = max(0.0, a + 0.05 * (feed / 0.05 * (1 - a) / volume - made))
        b = max(0.0, b + 0.05 * (made - lost - feed / 0.05 * b / volume))
        volume += feed
        temperature += 0.05 * (0.8 * (jacket - temperature) + 0.5 * made + 0.3 * lost)
        temperature = _clipped(temperature, 0.6, 1.8)
        cost += 0.0005 * max(0.0, jacket - 1) + 0.05 * max(0.0, temperature - 1.25)
    return b * volume - cost


def machine(name: str, d: int, run: Machine, seed: int) -> Problem:
    """Return the machine whose constants this seed draws."""
    return on_box(name, lambda x: run(x.tolist(), np.random.default_rng([d, seed])), 0, 1, d)


MACHINES: dict[str, tuple[int, Machine]] = {
    "tanks8": (8, _tanks),
    "acrobot12": (12, _acrobot),
    "hill7": (7, _hill),
    "glider9": (9, _glider),
    "delayed6": (6, _delayed),
    "drone11": (11, _drone),
    "reactor10": (10, _reactor),
}

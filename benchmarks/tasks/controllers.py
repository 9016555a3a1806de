"""Controllers: a few numbers steer a machine, which is worth the mean return of some episodes.

    pendulum   16 weights of a small network swing a pendulum up and keep it there
    cartpole   9 gains, linear and quadratic, balance a pole on a cart
    rocket     10 gains of a hand-written rule land a rocket; a crash is a cliff

Every evaluation starts from random states, so values are noisy; `judge` is the mean over many
fixed ones. Arrays hold all episodes at once. Units and constants are those of the textbook models.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem
from thomax.space.parameters import Float
from thomax.space.space import Space

Array = NDArray[np.float64]
Machine = Callable[[Array, np.random.Generator, int], float]

_JUDGED_EPISODES, _JUDGE_SEED = 200, 12345
_GRAVITY = 9.8


def _pendulum(u: Array, rng: np.random.Generator, episodes: int) -> float:
    """Return minus the mean cost of an episode of 100 steps: of angle, speed and torque."""
    hidden, out = 4 * u[:12].reshape(3, 4) - 2, 4 * u[12:] - 2
    angle, speed = rng.uniform(-math.pi, math.pi, episodes), rng.uniform(-1, 1, episodes)
    total = 0.0
    for _ in range(100):
        state = np.stack([np.cos(angle), np.sin(angle), speed / 4], axis=1)
        torque = 2 * np.tanh(np.tanh(state @ hidden) @ out)
        from_top = (angle + math.pi) % (2 * math.pi) - math.pi
        total -= float(np.mean(from_top**2 + 0.1 * speed**2 + 0.001 * torque**2))
        speed = np.clip(speed + 0.05 * (15 * np.sin(angle) + 3 * torque), -8, 8)
        angle = angle + 0.05 * speed
    return total


def _cartpole(u: Array, rng: np.random.Generator, episodes: int) -> float:
    """Return the mean number of steps, of 200, in which the pole stands near the middle."""
    w = 2 * u - 1
    x, v, angle, turn = rng.uniform(-0.3, 0.3, (4, episodes))
    stands, total = np.ones(episodes, bool), 0.0
    for _ in range(200):
        state = np.stack([x, v, angle, turn], axis=1)
        products = state * np.roll(state, -1, axis=1)
        force = 10 * np.tanh(state @ (10 * w[:4]) + products @ (5 * w[4:8]) + w[8])
        push = (force + 0.05 * turn**2 * np.sin(angle)) / 1.1
        lever = 0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)
        faster_turn = (_GRAVITY * np.sin(angle) - np.cos(angle) * push) / lever
        faster = push - 0.05 * faster_turn * np.cos(angle) / 1.1
        x, angle = x + 0.02 * v, angle + 0.02 * turn
        v = np.clip(v + 0.02 * faster, -10, 10)
        turn = np.clip(turn + 0.02 * faster_turn, -10, 10)
        stands &= (np.abs(x) < 2.4) & (np.abs(angle) < 0.8)
        total += float(np.mean(stands * (1 - 0.1 * np.abs(x))))
    return total


def _rocket(u: Array, rng: np.random.Generator, episodes: int) -> float:
    """Return the mean reward: fuel and haste cost, a landing is worth 100 to 150, a crash -100."""
    w = 2 * u
    x, y = rng.uniform(-0.5, 0.5, episodes), np.full(episodes, 1.4)
    vx, vy = rng.uniform(-0.5, 0.5, episodes), rng.uniform(-0.5, 0, episodes)
    angle, turn = rng.uniform(-0.2, 0.2, episodes), np.zeros(episodes)
    flies, total = np.ones(episodes, bool), np.zeros(episodes)
    for _ in range(250):
        lean = np.clip(w[0] * x + w[1] * vx, -0.4 * w[2], 0.4 * w[2])
        to_turn = w[4] * (lean - angle) - w[5] * turn
        to_rise = w[6] * (w[3] * np.abs(x) + 0.3 * w[9] - y) - w[7] * vy
        main = flies & (to_rise > np.abs(to_turn)) & (to_rise > 0.05 * w[8])
        side = flies & ~main & (np.abs(to_turn) > 0.05)
        vx = vx - 0.088 * main * np.sin(angle)
        vy = vy + 0.088 * main * np.cos(angle) - 0.04 * flies
        turn = turn + 0.12 * side * np.sign(to_turn)
        x, y, angle = x + 0.04 * flies * vx, y + 0.04 * flies * vy, angle + 0.04 * flies * turn
        haste = np.abs(x) + np.abs(vx) + np.abs(vy) + np.abs(angle)
        total -= 0.3 * main + 0.03 * side + 0.05 * flies * haste
        down = flies & (y <= 0)
        soft = (np.abs(vy) < 0.45) & (np.abs(vx) < 0.4) & (np.abs(angle) < 0.35)
        lost = flies & ~down & ((np.abs(x) > 2) | (np.abs(angle) > 1.5))
        total += down * np.where(soft, 100.0 + 50.0 * (np.abs(x) < 0.25), -100.0) - 100.0 * lost
        flies &= ~down & ~lost
        if not flies.any():
            break
    return float(total.mean())


def _problem(name: str, machine: Machine, d: int, episodes: int) -> Problem:
    names = [f"w{i + 1}" for i in range(d)]

    def objective(params: Params, rng: np.random.Generator) -> float:
        return machine(np.array([params[n] for n in names]), rng, episodes)

    def judge(params: Params) -> float:
        rng = np.random.default_rng(_JUDGE_SEED)
        return machine(np.array([params[n] for n in names]), rng, _JUDGED_EPISODES)

    return Problem(name, Space({n: Float(0, 1) for n in names}), objective, judge)


CONTROLLERS: dict[str, Callable[[], Problem]] = {
    "pendulum": partial(_problem, "pendulum", _pendulum, 16, 5),
    "cartpole": partial(_problem, "cartpole", _cartpole, 9, 10),
    "rocket": partial(_problem, "rocket", _rocket, 10, 20),
}

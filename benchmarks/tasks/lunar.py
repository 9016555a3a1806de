"""Land on the moon with a heuristic controller of 12 numbers: the paper's Lunar-Lander.

The controller is that of OpenAI Gym's LunarLander with its constants made free; x in [0, 1] stands
for the weight 2 x. The value is the mean return of 20 episodes, whose seeds come from the
generator. The physics of LunarLander-v3 are those of the paper's version 2.

Notation:
    w       the weights of the controller                                          (12,)
    state   x, y, their velocities, angle, its velocity, contact of both legs      (8,)
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.tasks.problem import Params, Problem, needs
from benchmarks.tasks.pushing import box2d
from thomax.space.parameters import Float
from thomax.space.space import Space

NAMES = [f"x{i}" for i in range(1, 13)]
EPISODES, JUDGING_EPISODES = 20, 400
INITIAL_POINTS = 20
LARGEST_SEED = 2**31
WAIT, LEFT, MAIN, RIGHT = range(4)


def lunar() -> Problem:
    """Return the lander's problem; its judge takes the mean of 400 fixed episodes.

    Example:
        >>> lunar().space.dimension
        12
    """
    _gymnasium()
    space = Space({name: Float(0, 1) for name in NAMES})
    return Problem("lunar", space, _noisy_value, _value, starts=initial_points)


def initial_points(run: int) -> list[Params]:
    """Return the 20 points that a run starts from; those of 0 to 4 are the authors'.

    Each run draws the 20 values of one parameter after the other, and all runs one stream, which
    further runs continue.

    Example:
        >>> round(initial_points(0)[0]["x2"], 3)
        0.979
    """
    draws = np.random.RandomState(0).uniform(size=(run + 1, len(NAMES), INITIAL_POINTS))
    return [dict(zip(NAMES, point, strict=True)) for point in draws[run].T.tolist()]


def mean_return(params: Params, seeds: Iterable[int]) -> float:
    """Return the mean return of the episodes with these seeds."""
    w = [2 * params[name] for name in NAMES]
    environment = _gymnasium().make("LunarLander-v3")
    try:
        return float(np.mean([_episode(environment, w, seed) for seed in seeds]))
    finally:
        environment.close()


def _noisy_value(params: Params, rng: np.random.Generator) -> float:
    return mean_return(params, rng.integers(LARGEST_SEED, size=EPISODES).tolist())


def _value(params: Params) -> float:
    return mean_return(params, range(JUDGING_EPISODES))


def _episode(environment: Any, w: list[float], seed: int) -> float:
    """Return the sum of rewards; the environment ends an episode after 1,000 steps."""
    state, _ = environment.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        state, reward, landed, late, _ = environment.step(_action(w, state.tolist()))
        total += float(reward)
        over = landed or late
    return total


def _action(w: list[float], state: list[float]) -> int:
    """Choose an engine from how much the lander should turn and how much it should rise."""
    x, y, vx, vy, angle, spin, *legs = state
    wanted_angle = min(max(x * w[0] + vx * w[1], -w[2]), w[2])
    wanted_height = w[3] * abs(x)
    turn = (wanted_angle - angle) * w[4] - spin * w[5]
    rise = (wanted_height - y) * w[6] - vy * w[7]
    if any(legs):
        turn, rise = w[8], -vy * w[9]
    if rise > abs(turn) and rise > w[10]:
        return MAIN
    if turn < -w[11]:
        return RIGHT
    return LEFT if turn > w[11] else WAIT


def _gymnasium() -> Any:
    box2d("lunar")
    try:
        import gymnasium
    except ImportError:
        raise needs("gymnasium[box2d]", "lunar") from None
    return gymnasium

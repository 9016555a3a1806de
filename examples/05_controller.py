"""Find the gains of a controller that swings a pendulum up and balances it.

Needs gymnasium: pip install "thomax[tasks]"
"""

import gymnasium
import numpy as np

import thomax as tx

SPACE = {
    "push": tx.Float(0, 10),  # how hard to pump energy
    "energy": tx.Float(0, 20),  # the energy to aim for
    "angle": tx.Float(0, 40),  # balancing: gain of the angle
    "speed": tx.Float(0, 10),  # and of the angular velocity
    "switch": tx.Float(0.1, 1.5),  # balance when the angle is smaller than this
}
EPISODES, STEPS = 4, 200


def torque(state, p):
    cosine, sine, velocity = state
    angle = np.arctan2(sine, cosine)
    if abs(angle) < p["switch"]:
        return -p["angle"] * angle - p["speed"] * velocity
    missing = p["energy"] - (0.5 * velocity**2 / 3 + 5 * (cosine + 1))
    return p["push"] * missing * np.sign(velocity)


def reward(p):
    """Return the mean reward of a few episodes; a perfect controller gets about -150."""
    environment, total = gymnasium.make("Pendulum-v1"), 0.0
    for episode in range(EPISODES):
        state, _ = environment.reset(seed=episode)
        for _ in range(STEPS):
            action = np.clip([torque(state, p)], -2, 2).astype(np.float32)
            state, gain, *_ = environment.step(action)
            total += float(gain)
    return total / EPISODES


found = tx.maximize(reward, SPACE, trials=40, batch=4, seed=0)
values = [t.value for t in found.trials]
print(f"best of the first five, which are evenly spread: {max(values[:5]):.0f}")
print(f"best of all: {found.best.value:.0f} with {found.best.params}")

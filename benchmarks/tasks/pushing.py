"""Two robot hands push two objects towards their goals: 14 numbers, a planar physics simulation.

Wang et al. (2018), "Batched large-scale Bayesian optimization in high-dimensional spaces". Each
hand starts at a place and an angle, and for its duration steers towards a velocity and an angular
velocity. The value is how much closer the objects come to their goals, together; it is `OPTIMUM`
when both arrive.
"""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem, needs
from thomax.space.parameters import Float
from thomax.space.space import Space

VELOCITY_NOISE_STD = 0.01
STARTS = ((0.0, 2.0), (0.0, -2.0))
GOALS = ((4.0, 3.5), (-4.0, 3.5))
OPTIMUM = sum(math.dist(start, goal) for start, goal in zip(STARTS, GOALS, strict=True))
TIME_STEP, ITERATIONS = 0.01, 10
STEPS_PER_DURATION = 10
COASTING = 100  # steps after both hands have let go
GAIN = 30.0

HAND = {
    "x": Float(-5, 5),
    "y": Float(-5, 5),
    "vx": Float(-10, 10),
    "vy": Float(-10, 10),
    "duration": Float(2, 30),
    "angle": Float(0, 2 * math.pi),
}


def pushing() -> Problem:
    """Return the pushing problem.

    Example:
        >>> pushing().space.dimension
        14
    """
    box2d("pushing")
    parameters = {f"{name}{hand}": range_ for hand in (1, 2) for name, range_ in HAND.items()}
    parameters |= {"turn1": Float(-5, 5), "turn2": Float(-5, 5)}
    return Problem("pushing", Space(parameters), _noisy_value, _value, OPTIMUM)


def box2d(task: str) -> Any:
    """Import the physics engine, or say what this task lacks."""
    try:
        # Its module warns while it is half loaded, and crashes where warnings are errors.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import Box2D
    except ImportError:
        raise needs("gymnasium[box2d]", task) from None
    return Box2D


def _noisy_value(params: Params, rng: np.random.Generator) -> float:
    return _simulate(params, VELOCITY_NOISE_STD * rng.standard_normal((2, 2)))


def _value(params: Params) -> float:
    return _simulate(params, np.zeros((2, 2)))


def _simulate(params: Params, noise: NDArray[np.float64]) -> float:
    """Push, coast, and return how much closer the objects are; noise shifts the velocities."""
    engine = box2d("pushing")
    world = engine.b2World(gravity=(0, 0), doSleep=True)
    objects, hands = _bodies(engine, world, params)
    steps = [int(STEPS_PER_DURATION * params[f"duration{i}"]) for i in (1, 2)]
    commanded = [[params[f"vx{i}"], params[f"vy{i}"]] for i in (1, 2)]
    velocities = [engine.b2Vec2(float(vx), float(vy)) for vx, vy in commanded + noise]
    for t in range(max(steps) + COASTING):
        for i, hand in enumerate(hands):
            if t < steps[i]:
                _steer(hand, velocities[i], params[f"turn{i + 1}"])
        world.Step(TIME_STEP, ITERATIONS, ITERATIONS)
        world.ClearForces()
    left = [math.dist(goal, body.position) for goal, body in zip(GOALS, objects, strict=True)]
    return OPTIMUM - left[0] - left[1]


def _bodies(engine: Any, world: Any, params: Params) -> tuple[list[Any], list[Any]]:
    """Return two objects and two hands; the order of creation is part of the definition."""
    base = world.CreateStaticBody(shapes=engine.b2PolygonShape(box=(500, 500)))
    square, disc = engine.b2PolygonShape(box=(0.5, 0.5)), engine.b2CircleShape(radius=1)
    bar = engine.b2PolygonShape(box=(1, 0.3))
    objects = []
    for shape, start in zip((square, disc), STARTS, strict=True):
        body = world.CreateDynamicBody(position=start)
        body.CreateFixture(shape=shape, density=0.05, friction=0.01)
        _lay(world, base, body, force=5)
        objects.append(body)
    hands = []
    for i in (1, 2):
        place = (params[f"x{i}"], params[f"y{i}"])
        body = world.CreateDynamicBody(position=place, angle=params[f"angle{i}"])
        body.CreateFixture(shape=bar, density=0.1, friction=0.1)
        _lay(world, base, body, force=2)
        hands.append(body)
    return objects, hands


def _lay(world: Any, base: Any, body: Any, force: float) -> None:
    """Lay a body on the ground, which slows it down but does not stop it like a wall."""
    world.CreateFrictionJoint(
        bodyA=base,
        bodyB=body,
        localAnchorA=(0, 0),
        localAnchorB=(0, 0),
        maxForce=force,
        maxTorque=2,
        collideConnected=False,
    )


def _steer(hand: Any, velocity: Any, turn: float) -> None:
    """Push and turn a hand towards the wanted velocities, harder the further it is off.

    Box2D's vectors round to single precision, and collisions magnify the last digit: compute
    the force with them.
    """
    hand.ApplyForce(hand.mass * (velocity - hand.linearVelocity) * GAIN, hand.position, wake=True)
    hand.ApplyTorque(hand.mass * (turn - hand.angularVelocity) * GAIN, wake=True)

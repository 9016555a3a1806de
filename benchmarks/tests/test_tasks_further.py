"""Tasks that no default was chosen by: functions placed anywhere, paths, controllers."""

import math

import numpy as np
import pytest

from benchmarks.tasks import further
from benchmarks.tasks.controllers import CONTROLLERS
from benchmarks.tasks.functions import LEVY10, Choices, Function
from benchmarks.tasks.further import FURTHER, SINGLE_FURTHER
from benchmarks.tasks.registry import task

PLACED = [f for f in FURTHER.values() if isinstance(f, Function)]
EXACT = [f for f in PLACED if not f.noise_std]


def at(problem, x):
    return dict(zip(problem.space.parameters, np.asarray(x, float).tolist(), strict=True))


def some(problem, n, seed=0):
    return problem.space.decode(problem.space.sample(np.random.default_rng(seed), n))


@pytest.mark.parametrize(
    ("name", "x", "value"),
    [
        ("rastrigin8", [1] * 8, -8),
        ("rastrigin8", [0.5] * 8, -8 * 20.25),
        ("styblinski8", [0] * 8, 0),
        ("styblinski8", [-2.903534] * 8, 8 * 39.16616570377),
        ("griewank12", [0] * 12, 0),
        ("griewank12", [math.pi, *[0] * 11], -(2 + math.pi**2 / 4000)),
        ("ellipsoid15", [1, *[0] * 14], -1),
        ("ellipsoid15", [*[0] * 14, 1], -100),
        ("zakharov8", [2, *[0] * 7], -(4 + 1 + 1)),
    ],
)
def test_functions_have_their_known_values(name, x, value):
    assert FURTHER[name].value(np.array(x, float)) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("function", PLACED, ids=lambda f: f.name)
def test_a_function_is_largest_where_its_optimum_was_moved(function):
    problem = function.shifted(3)
    low, high = np.array(function.low), np.array(function.high)
    place = np.random.default_rng(3).uniform(function.margin, 1 - function.margin, len(low))
    assert problem.judge(at(problem, low + (high - low) * place)) == pytest.approx(
        problem.optimum, abs=1e-5
    )
    assert max(problem.judge(p) for p in some(problem, 500)) < problem.optimum


def test_optima_lie_near_the_edges_too():
    places = [np.random.default_rng(seed).uniform(0, 1, 8) for seed in range(5)]
    assert min(np.minimum(p, 1 - p).min() for p in places) < 0.02
    assert all(f.margin == 0 for f in EXACT)


def test_a_turned_function_has_the_same_values_at_the_same_distances():
    """A turn keeps distances: a function of the distance alone does not notice it."""
    d = 4
    ball = Function("ball", lambda x: -float(x @ x), [-1] * d, [1] * d, [0.0] * d)
    straight, turned = ball.shifted(1), Function(**{**vars(ball), "turned": True}).shifted(1)
    values = [[p.judge(x) for x in some(straight, 20)] for p in (straight, turned)]
    np.testing.assert_allclose(values[0], values[1], atol=1e-12)
    bowl = Function("bowl", lambda x: -float(x[0] ** 2), [-1] * d, [1] * d, [0.0] * d, turned=True)
    problem = bowl.shifted(1)
    base = dict.fromkeys(problem.space.parameters, 0.3)
    moved = [problem.judge(base | {name: 0.9}) for name in base]
    assert np.all(np.array(moved) != problem.judge(base))  # each parameter matters now


@pytest.mark.parametrize("name", ["noisy_hartmann6", "noisy_levy10"])
def test_noise_has_the_deviation_that_is_said(name):
    problem = task(name, 0)
    point, rng = some(problem, 1)[0], np.random.default_rng(0)
    noise = [problem.objective(point, rng) - problem.judge(point) for _ in range(400)]
    std = FURTHER[name].noise_std
    assert np.std(noise) == pytest.approx(std, rel=0.15)  # four standard errors
    assert abs(np.mean(noise)) < 4 * std / 20


def test_functions_of_development_stay_where_they_were():
    problem, x = LEVY10.shifted(0), np.zeros(10)
    place = np.random.default_rng(0).uniform(0.2, 0.8, 10)
    shift = -10 + 20 * place - 1
    assert problem.judge(at(problem, x)) == LEVY10.value(x - shift)


@pytest.mark.parametrize("name", SINGLE_FURTHER)
def test_ridges_and_paths_are_one_function_each(name):
    one, other = task(name, 0), task(name, 1)
    points = some(one, 30)
    values = [one.objective(p, np.random.default_rng(0)) for p in points]
    assert values == [other.judge(p) for p in points]
    assert len({*values}) == 30


def test_a_path_costs_its_length_and_what_it_hits():
    straight = np.linspace([0.05, 0.05], [0.95, 0.95], 12)
    places = further._along(straight)
    np.testing.assert_allclose(places[:, 0], places[:, 1])
    np.testing.assert_allclose(places[[0, -1]], straight[[0, -1]], atol=0.02)
    length = np.linalg.norm(np.diff(places, axis=0), axis=1).sum()
    assert length == pytest.approx(0.9 * math.sqrt(2), abs=0.05)
    problem = task("path20", 0)
    value = problem.judge(at(problem, straight[1:-1].reshape(-1)))
    rng = np.random.default_rng(20)
    centres, radii = rng.uniform(0.1, 0.9, (15, 2)), rng.uniform(0.05, 0.12, 15)
    fine = np.linspace([0.05, 0.05], [0.95, 0.95], 20_001)
    hit = (np.linalg.norm(fine[:, None] - centres, axis=2) < radii).any(axis=1).mean()
    expected = 5 - 0.9 * math.sqrt(2) * (0.3 + 8 * hit)
    assert value == pytest.approx(expected, abs=0.3)
    assert value < 5 - 0.3 * 0.9 * math.sqrt(2)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_are_noisy_around_what_they_are_worth(name):
    problem = task(name, 0)
    points = some(problem, 6)
    worth = [problem.judge(p) for p in points]
    assert worth == [problem.judge(p) for p in points]
    assert np.ptp(worth) > 10
    again = [problem.objective(points[0], np.random.default_rng(i)) for i in range(40)]
    assert again[7] == problem.objective(points[0], np.random.default_rng(7))
    assert np.std(again) > 0
    error = np.std(again) / math.sqrt(40)
    assert abs(np.mean(again) - worth[0]) < 5 * error


def test_good_gains_balance_the_pole_and_none_lets_it_fall():
    problem = task("cartpole", 0)
    names = [*problem.space.parameters]
    nothing = dict.fromkeys(names, 0.5)
    # Feedback against the pole's fall, and a little against the cart's way.
    good = nothing | dict(zip(names[:4], (0.53, 0.55, 0.95, 0.7), strict=True))
    assert problem.judge(nothing) < 80
    assert problem.judge(good) > 170


def test_a_rocket_without_engines_crashes_and_one_that_brakes_lands():
    problem = task("rocket", 0)
    nothing = dict.fromkeys(problem.space.parameters, 0.0)
    assert -130 < problem.judge(nothing) < -95
    # Lean against the drift, turn with damping, brake the fall; braking more is to hover for ever.
    gains = [0.34, 0.66, 0.31, 0.4, 0.79, 0.5, 0.11, 0.27, 0.95, 0.0]
    assert problem.judge(at(problem, gains)) > 100
    assert -60 < problem.judge(at(problem, gains) | {"w8": 1.0}) < 0


def test_a_pendulum_that_is_pushed_against_its_fall_costs_less():
    problem = task("pendulum", 0)
    nothing = dict.fromkeys(problem.space.parameters, 0.5)
    values = [problem.judge(p) for p in some(problem, 40)]
    assert max(values) > problem.judge(nothing) > min(values)


def test_the_mixed_one_has_more_numbers_than_choices():
    choices = FURTHER["mixed_c"]
    assert isinstance(choices, Choices)
    assert len(choices.shifted(0).space.parameters) == 12

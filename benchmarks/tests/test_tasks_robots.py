"""Rover, pushing and Lunar-Lander against values of the public reference implementations."""

import math

import numpy as np
import pytest
from scipy.interpolate import splev, splprep

from benchmarks.tasks import lunar as lunar_module
from benchmarks.tasks.lunar import initial_points, lunar, mean_return
from benchmarks.tasks.pushing import pushing
from benchmarks.tasks.rover import GOAL, OBSTACLES, START, _path, rover

HEURISTIC = [0.25, 0.5, 0.2, 0.275, 0.25, 0.5, 0.25, 0.25, 0, 0.25, 0.025, 0.025]  # Gym's own


def named(problem, values):
    return dict(zip(problem.space.parameters, np.asarray(values, float).tolist(), strict=True))


@pytest.mark.parametrize(
    ("seed", "negative_cost"),
    [
        (0, -14.738938664519928),
        (1, -15.143506447107015),
        (2, -6.278722981090684),
        (3, -18.48863000252291),
    ],
)
def test_the_rover_pays_what_the_reference_pays(seed, negative_cost):
    u = np.random.RandomState(seed).uniform(size=20)
    assert rover().judge(named(rover(), u)) == pytest.approx(5 + negative_cost, abs=1e-9)


def test_the_rover_pays_for_a_straight_line_what_the_reference_pays():
    line = np.linspace(0.05, 0.95, 12)[1:-1]
    u = np.repeat((line + 0.1) / 1.2, 2)
    assert rover().judge(named(rover(), u)) == pytest.approx(5 - 4.90509144545792, abs=1e-9)


def smoothing_spline(through):
    """Fit with FITPACK alone, its ends tied: the definition."""
    (knots, coefficients, degree), _ = splprep(through.T)
    for axis, c in enumerate(coefficients):
        c[0], c[-1] = START[axis], GOAL[axis]
    places = np.linspace(0, 1, 1000)
    return np.stack(splev(places, (knots, coefficients, degree)), axis=1), len(knots)


def test_the_rovers_path_is_the_smoothing_spline_in_the_corners_too():
    rng = np.random.default_rng(1)
    corners = np.array([[-0.1, -0.1], [-0.1, 1.1], [1.1, -0.1], [1.1, 1.1]])
    jagged = corners[[3, 3, 0, 0, 1, 2, 3, 3, 0, 0]]
    sizes = set()
    for points in [jagged, *corners[rng.integers(4, size=(20, 10))]]:
        jittered = points + 1e-4 * rng.standard_normal((10, 2))
        through = np.vstack([START, jittered, GOAL])
        expected, size = smoothing_spline(through)
        np.testing.assert_allclose(_path(through), expected, atol=1e-9)
        sizes.add(size)
    assert min(sizes) == 8  # no inner knots
    assert max(sizes) > 8


def test_the_rover_judges_points_that_coincide():
    """FITPACK refuses them; an optimiser that ends on the faces of the box proposes them."""
    through = np.vstack([START, [[1.1, 1.1], [1.1, 1.1], [-0.1, -0.1], [-0.1, -0.1], [-0.1, 1.1],
                                 [1.1, -0.1], [1.1, 1.1], [1.1, 1.1], [-0.1, -0.1], [-0.1, -0.1]],
                         GOAL])  # fmt: skip
    apart = through.copy()
    apart[1:-1] += 1e-7 * np.random.default_rng(0).standard_normal((10, 2))
    np.testing.assert_allclose(_path(through), smoothing_spline(apart)[0], atol=1e-5)
    assert math.isfinite(rover().judge(named(rover(), np.full(20, 0.125))))  # all at the start


def slow_cost(path):
    """Add up segment by segment, obstacle by obstacle."""
    costs = []
    for x, y in path:
        hit = not (0 <= x < 1 and 0 <= y < 1)
        for a, b in OBSTACLES:
            hit |= a - 0.05 <= x < a + 0.05 and b - 0.05 <= y < b + 0.05
        costs.append(20.05 if hit else 0.05)
    steps = range(len(path) - 1)
    return sum((costs[i] + costs[i + 1]) / 2 * math.dist(path[i], path[i + 1]) for i in steps)


@pytest.mark.parametrize("side", [0.0, 1.0])
def test_leaving_the_map_costs_as_much_as_an_obstacle(side):
    u = np.full(20, side)
    points = np.vstack([START, (-0.1 + 1.2 * u).reshape(10, 2), GOAL])
    path = _path(points)
    assert not ((path >= 0) & (path < 1)).all()
    assert rover().judge(named(rover(), u)) == pytest.approx(5 - slow_cost(path), abs=1e-9)


def test_the_rovers_noise_comes_from_the_generator_and_is_small():
    problem, u = rover(), named(rover(), np.random.RandomState(0).uniform(size=20))
    values = [problem.objective(u, np.random.default_rng(s)) for s in range(40)]
    assert values[0] == problem.objective(u, np.random.default_rng(0))
    assert 0.005 < np.std(values) < 0.03  # the reference: 0.0134
    assert len(OBSTACLES) == 30


@pytest.mark.parametrize(
    ("seed", "value"), [(0, -0.1916373308107966), (1, 0.04573295635358399), (2, 0.0)]
)
def test_random_pushes_are_worth_what_they_are_in_the_reference(seed, value):
    problem = pushing()
    ranges = np.array([[p.low, p.high] for p in problem.space.parameters.values()])
    x = ranges[:, 0] + np.ptp(ranges, axis=1) * np.random.RandomState(seed).uniform(size=14)
    assert problem.judge(named(problem, x)) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("x", "value"),
    [
        ([-1.5, 1, 5, 2.5, 8, 0.5, 1.5, -4.5, -4, 6, 14, 2.2, 0, 0], 9.332511393750192),
        (
            [-3.921061852722101, -1.9681694987223128, -0.20081150219257005, -8.174498274588958,
             17.53377295089324, 4.281689881427432, 1.3961074867160415, -2.860373349922558,
             -8.194524171303142, 6.468845144497202, 6.881845280315346, 1.4728480751428492,
             -1.9794717364739265, -3.8724774107236684],
            5.47226051693336,
        ),
        (
            [-3.7696992204168103, -1.2702319012742835, -1.169240169472248, -7.199509116916902,
             7.366737038133168, 3.512568319809394, 1.907976142634693, -4.499571102240042,
             -7.847554266519543, 9.636813410523821, 13.150614429548558, 3.791599864348866,
             2.1671814031353778, -1.2793644540905644],
            5.414606973444869,
        ),
    ],
)  # fmt: skip
def test_good_pushes_are_worth_what_they_are_in_the_reference(x, value):
    assert pushing().judge(named(pushing(), x)) == pytest.approx(value, abs=1e-9)


def test_pushing_knows_its_optimum_and_repeats_its_noise():
    problem = pushing()
    x = named(problem, [-1.5, 1, 5, 2.5, 8, 0.5, 1.5, -4.5, -4, 6, 14, 2.2, 0, 0])
    assert problem.optimum == pytest.approx(11.072737127026487, abs=1e-12)
    assert problem.judge(x) < problem.optimum
    values = [problem.objective(x, np.random.default_rng(s)) for s in range(20)]
    assert values[3] == problem.objective(x, np.random.default_rng(3))
    assert 0.003 < np.std(values) < 0.04  # the reference: 0.011


def lander(values):
    return dict(zip(lunar_module.NAMES, values, strict=True))


@pytest.mark.parametrize(
    ("params", "returns"),
    [
        (initial_points(0)[0], [-309.2982, -280.5589, -50.1496]),
        (initial_points(0)[13], [68.548, 38.6487, 60.1482]),
        (lander(HEURISTIC), [285.5738, 23.1274, 270.7477]),
    ],
)
def test_seeded_landings_return_what_the_reference_returned(params, returns):
    found = [mean_return(params, [seed]) for seed in (1000, 1001, 1002)]
    assert found == pytest.approx(returns, abs=1e-4)
    assert mean_return(params, [1000, 1001, 1002]) == pytest.approx(np.mean(returns), abs=1e-4)


@pytest.mark.parametrize(
    ("run", "point", "x1", "x2", "x12"),
    [
        (0, 0, 0.5488135039273248, 0.978618342232764, 0.6289818435911487),
        (0, 19, 0.8700121482468192, 0.6818202991034834, 0.5867843464581688),
        (1, 0, 0.8638556059232314, 0.24082877991544682, 0.2724368954659625),
        (2, 0, 0.07086977818420837, 0.3103808259798114, 0.37321595574479416),
        (3, 19, 0.1598452868541913, 0.3182335091770624, 0.8894479088158666),
        (4, 0, 0.22010386078090638, 0.9217190668708333, 0.720265852504758),
        (4, 19, 0.5910653808339902, 0.6771411441114241, 0.3992223836579093),
    ],
)
def test_landings_start_from_the_authors_points(run, point, x1, x2, x12):
    params = lunar().starts(run)[point]
    assert (params["x1"], params["x2"], params["x12"]) == (x1, x2, x12)
    assert len(initial_points(run)) == 20


def test_landings_repeat_with_their_generator_and_are_near_the_known_mean():
    problem, params = lunar(), lander(HEURISTIC)
    value = problem.objective(params, np.random.default_rng(0))
    assert value == problem.objective(params, np.random.default_rng(0))
    assert value != problem.objective(params, np.random.default_rng(1))
    # 200 episodes of the reference had the mean 244.9 and a standard deviation of 94.
    assert value == pytest.approx(244.9, abs=4 * 94 / math.sqrt(20))


def test_the_judge_of_landings_takes_the_same_episodes_each_time(monkeypatch):
    assert lunar_module.JUDGING_EPISODES == 400
    monkeypatch.setattr(lunar_module, "JUDGING_EPISODES", 3)
    params = lander(HEURISTIC)
    assert lunar().judge(params) == mean_return(params, [0, 1, 2])

"""Functions whose optimum is known: drawn from a process, standard, categorical and mixed."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.tasks.functions import (
    ACKLEY10,
    BRANIN,
    CATEGORICAL_A,
    CATEGORICAL_B,
    FUNCTIONS,
    HARTMANN6,
    INT_LEVELS,
    LEVY10,
    MICHALEWICZ10,
    MIXED_A,
    ROSENBROCK8,
    Choices,
    Function,
)
from benchmarks.tasks.synthetic import NOISE_STD, _root, draw, grid, synthetic

CONTINUOUS = [f for f in FUNCTIONS.values() if isinstance(f, Function)]
WITH_CHOICES = [f for f in FUNCTIONS.values() if isinstance(f, Choices)]


def test_drawn_functions_have_the_covariance_of_the_kernel():
    x = grid()
    kernel = np.exp(-0.5 * ((x[:, None] - x) / 0.1) ** 2)
    np.testing.assert_allclose(_root() @ _root().T, kernel, atol=1e-9)
    draws = np.array([draw(seed)[::111] for seed in range(400)])
    # An entry's standard error is at most sqrt(2 / n); 4.5 of them for a hundred entries.
    tolerance = 4.5 * math.sqrt(2 / len(draws))
    np.testing.assert_allclose(draws.T @ draws / 400, kernel[::111, ::111], atol=tolerance)


def test_the_synthetic_problem_knows_its_optimum_and_its_noise():
    problem = synthetic(3)
    assert problem.space.size == 1000
    assert problem.activation == "erf"
    points = problem.space.params(range(1000))
    values = [problem.judge(p) for p in points]
    assert values == draw(3).tolist()
    assert [p["x"] for p in points] == pytest.approx(grid().tolist(), abs=1e-15)
    assert max(values) == problem.optimum
    rng = np.random.default_rng(0)
    noise = [problem.objective(points[7], rng) - values[7] for _ in range(400)]
    assert np.std(noise) == pytest.approx(NOISE_STD, rel=0.15)  # four standard errors
    assert abs(np.mean(noise)) < 4 * NOISE_STD / 20


def test_seeds_draw_different_functions_and_repeat_them():
    assert synthetic(1).optimum == synthetic(1).optimum
    assert synthetic(1).optimum != synthetic(2).optimum


@pytest.mark.parametrize(
    ("function", "x", "value"),
    [
        (BRANIN, [0, 0], -55.602112642),
        (BRANIN, [-math.pi, 12.275], -0.397887358),
        (BRANIN, [9.42477796, 2.475], -0.397887358),
        (ACKLEY10, [1] * 10, -3.625384938),
        (LEVY10, [-3] * 10, -(9 * (1 + 10 * math.sin(1) ** 2) + 1)),
        (ROSENBROCK8, [0] * 8, -7),
        (ROSENBROCK8, [2] * 8, -7 * 401),
        (MICHALEWICZ10, [math.pi / 2] * 10, 3 + 5 / 1024),
        (HARTMANN6, HARTMANN6.best, 3.32236801),
        (MICHALEWICZ10, MICHALEWICZ10.best, 9.66015171),
        (ROSENBROCK8, ROSENBROCK8.best, 0),
        (ACKLEY10, ACKLEY10.best, 0),
        (LEVY10, LEVY10.best, 0),
    ],
)
def test_standard_functions_have_their_known_values(function, x, value):
    assert function.value(np.array(x, float)) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("function", CONTINUOUS, ids=lambda f: f.name)
def test_a_shifted_function_is_largest_where_its_optimum_was_moved(function):
    problem = function.shifted(5)
    names = [*problem.space.parameters]
    low, high = np.array(function.low), np.array(function.high)

    def loss(x):
        return -problem.judge(dict(zip(names, x, strict=True)))

    place = np.random.default_rng(5).uniform(0.2, 0.8, size=len(names))
    moved = low + (high - low) * place
    assert -loss(moved) == pytest.approx(problem.optimum, abs=1e-9)
    rng = np.random.default_rng(0)
    starts = [moved + 0.01 * (high - low) * rng.standard_normal(len(names)) for _ in range(3)]
    starts += [*rng.uniform(low, high, size=(10, len(names)))]
    for start in starts:
        result = minimize(loss, start, method="L-BFGS-B", bounds=[*zip(low, high, strict=True)])
        assert -result.fun <= problem.optimum + 1e-9


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda f: f.name)
def test_seeds_move_the_function_and_nothing_is_noisy(function):
    one, same, other = function.shifted(1), function.shifted(1), function.shifted(2)
    points = one.space.decode(one.space.sample(np.random.default_rng(0), 5))
    values = [one.judge(p) for p in points]
    assert values == [same.objective(p, np.random.default_rng(9)) for p in points]
    assert values != [other.judge(p) for p in points]
    assert max(values) <= one.optimum


@pytest.mark.parametrize("choices", [CATEGORICAL_A, CATEGORICAL_B], ids=lambda c: c.name)
def test_the_optimum_of_choices_is_the_best_of_all_combinations(choices):
    problem = choices.shifted(0)
    every = 1 if choices is CATEGORICAL_A else 29
    points = problem.space.params(range(0, int(problem.space.size), every))
    best = max(problem.judge(p) for p in points)
    if every == 1:
        assert best == pytest.approx(problem.optimum, abs=1e-12)
    else:
        assert best <= problem.optimum + 1e-12


def test_the_optimum_of_a_mixed_problem_is_reached():
    problem = MIXED_A.shifted(4)
    options = [p.choices for n, p in problem.space.parameters.items() if n.startswith("c")]
    places = {"x1": np.linspace(0, 1, 201), "x2": np.linspace(0, 1, 201),
              "x3": np.linspace(0, 1, 201), "n1": np.arange(INT_LEVELS)}  # fmt: skip
    best = -math.inf
    for chosen in itertools.product(*options):
        params = {f"c{i + 1}": c for i, c in enumerate(chosen)}
        params |= {"x1": 0.5, "x2": 0.5, "x3": 0.5, "n1": 0}
        for name, values in places.items():  # numbers do not interact: one after the other
            found = [problem.judge(params | {name: v}) for v in values.tolist()]
            params[name] = values[int(np.argmax(found))].item()
        best = max(best, problem.judge(params))
    assert problem.optimum - 2e-3 < best <= problem.optimum + 1e-12


@pytest.mark.parametrize("choices", WITH_CHOICES, ids=lambda c: c.name)
def test_choices_interact(choices):
    problem = choices.shifted(0)
    params = problem.space.decode(problem.space.sample(np.random.default_rng(0), 1))[0]
    first, second = (
        {
            b: problem.judge(params | {"c1": a, "c2": b})
            for b in problem.space.parameters["c2"].choices
        }
        for a in "ab"
    )
    differences = [first[b] - second[b] for b in first]
    assert np.ptp(differences) > 0.1

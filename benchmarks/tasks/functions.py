"""Test functions whose largest value is known, moved around so that no place is favoured.

Continuous functions are the negatives of the usual ones. Their optimum is moved to a random place;
outside its usual box none of them exceeds that optimum, so it stays the largest value.

Categorical and mixed problems have random tables for single choices and for pairs of choices. A
number has its best place depending on one of the choices, where it costs nothing: so the largest
value is that of the tables, found by listing all combinations of choices.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import Params, Problem
from thomax.space.parameters import Categorical, Float, Int, Parameter
from thomax.space.space import Space

Array = NDArray[np.float64]

MARGIN = 0.2  # of the box, which an optimum usually keeps from its faces
INT_LEVELS = 21
LETTERS = [*"abcdefgh"]


@dataclass(frozen=True, eq=False)
class Function:
    """A function to maximise on the box [low, high]^d, and where it is largest.

    Its optimum keeps a distance of `margin` times the box from the faces. One that is `turned`
    is so around its optimum; observed values have noise of `noise_std`.

    Example:
        >>> problem = BRANIN.shifted(seed=0)
        >>> round(problem.optimum, 4)
        -0.3979
    """

    name: str
    value: Callable[[Array], float]
    low: Sequence[float]
    high: Sequence[float]
    best: Sequence[float]
    margin: float = MARGIN
    turned: bool = False
    noise_std: float = 0.0

    def shifted(self, seed: int) -> Problem:
        """Return the problem with its optimum moved to a random place of the box."""
        low, high, best = map(np.asarray, (self.low, self.high, self.best))
        rng = np.random.default_rng(seed)
        place = rng.uniform(self.margin, 1 - self.margin, size=len(low))
        shift = low + (high - low) * place - best
        turn = np.linalg.qr(rng.standard_normal((len(low),) * 2))[0] if self.turned else None
        names = [f"x{i + 1}" for i in range(len(low))]
        bounds = zip(names, self.low, self.high, strict=True)

        def judge(params: Params) -> float:
            x = np.array([params[name] for name in names]) - shift
            return self.value(x if turn is None else best + turn @ (x - best))

        def objective(params: Params, rng: np.random.Generator) -> float:
            return judge(params) + self.noise_std * float(rng.standard_normal())

        space = Space({n: Float(a, b) for n, a, b in bounds})
        noisy = objective if self.noise_std else _without_noise(judge)
        return Problem(self.name, space, noisy, judge, self.value(best))


def _without_noise(
    judge: Callable[[Params], float],
) -> Callable[[Params, np.random.Generator], float]:
    return lambda params, rng: judge(params)


def _branin(x: Array) -> float:
    parabola = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return -float(parabola**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10)


HARTMANN_WEIGHTS = np.array([1, 1.2, 3, 3.2])
HARTMANN_SLOPES = np.array([
    [10, 3, 17, 3.5, 1.7, 8],
    [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
])  # fmt: skip
HARTMANN_CENTRES = np.array([
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
])  # fmt: skip


def _hartmann6(x: Array) -> float:
    distances = (HARTMANN_SLOPES * (x - HARTMANN_CENTRES) ** 2).sum(axis=1)
    return float(HARTMANN_WEIGHTS @ np.exp(-distances))


def _ackley(x: Array) -> float:
    radius, ripple = np.sqrt(np.mean(x**2)), np.mean(np.cos(2 * math.pi * x))
    return float(20 * np.exp(-0.2 * radius) + np.exp(ripple) - 20 - math.e)


def _levy(x: Array) -> float:
    w = 1 + (x - 1) / 4
    middle = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * math.pi * w[-1]) ** 2)
    return -float(np.sin(math.pi * w[0]) ** 2 + middle.sum() + last)


def _rosenbrock(x: Array) -> float:
    return -float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def _michalewicz(x: Array) -> float:
    i = np.arange(1, len(x) + 1)
    return float(np.sum(np.sin(x) * np.sin(i * x**2 / math.pi) ** 20))


def _on_cube(
    name: str, value: Callable[[Array], float], low: float, high: float, best: Sequence[float]
) -> Function:
    return Function(name, value, [low] * len(best), [high] * len(best), best)


BRANIN = Function("branin", _branin, [-5, 0], [10, 15], [math.pi, 2.275])
HARTMANN6 = _on_cube("hartmann6", _hartmann6, 0, 1, [
    0.2016895110067, 0.1500106918235, 0.4768739742219, 0.2753324304941, 0.3116516166001,
    0.6573005340656,
])  # fmt: skip
ACKLEY10 = _on_cube("ackley10", _ackley, -32.768, 32.768, [0.0] * 10)
ACKLEY20 = _on_cube("ackley20", _ackley, -32.768, 32.768, [0.0] * 20)
LEVY10 = _on_cube("levy10", _levy, -10, 10, [1.0] * 10)
ROSENBROCK8 = _on_cube("rosenbrock8", _rosenbrock, -5, 10, [1.0] * 8)
MICHALEWICZ10 = _on_cube("michalewicz10", _michalewicz, 0, math.pi, [
    2.2029055200, 1.5707963267949, 1.2849915703, 1.9230584696, 1.7204697724, 1.5707963267949,
    1.4544139711, 1.7560865208, 1.6557174165, 1.5707963267949,
])  # fmt: skip


@dataclass(frozen=True)
class Choices:
    """A problem of interacting choices, with or without numbers.

    `counts` says how many options each choice has.

    Example:
        >>> CATEGORICAL_A.shifted(seed=0).space.size
        4096
    """

    name: str
    counts: Sequence[int]
    floats: int = 0
    ints: int = 0

    def shifted(self, seed: int) -> Problem:
        """Return the problem with the tables and the best places that this seed draws."""
        rng = np.random.default_rng(seed)
        single = [rng.standard_normal(n) for n in self.counts]
        pairs = {
            (i, j): rng.standard_normal((self.counts[i], self.counts[j]))
            for i, j in itertools.combinations(range(len(self.counts)), 2)
        }
        numbers = self._numbers()
        centres = [self._centres(rng, n, name) for n, name in enumerate(numbers)]

        def judge(params: Params) -> float:
            c = [LETTERS.index(params[f"c{i + 1}"]) for i in range(len(self.counts))]
            places = [_unit(name, params[name]) for name in numbers]
            best = [centre[c[n % len(c)]] for n, centre in enumerate(centres)]
            value = _table_values(single, pairs, np.array([c]))[0]
            return float(value) - sum(map(_cost, places, best))

        everything = np.indices(self.counts).reshape(len(self.counts), -1).T
        optimum = float(_table_values(single, pairs, everything).max())
        space = Space(self._parameters())
        return Problem(self.name, space, _without_noise(judge), judge, optimum)

    def _numbers(self) -> list[str]:
        return [f"x{i + 1}" for i in range(self.floats)] + [f"n{i + 1}" for i in range(self.ints)]

    def _parameters(self) -> dict[str, Parameter]:
        choices: dict[str, Parameter] = {
            f"c{i + 1}": Categorical(LETTERS[:count]) for i, count in enumerate(self.counts)
        }
        numbers: dict[str, Parameter] = {
            name: Float(0, 1) if name.startswith("x") else Int(0, INT_LEVELS - 1)
            for name in self._numbers()
        }
        return choices | numbers

    def _centres(self, rng: np.random.Generator, number: int, name: str) -> list[float]:
        """Return a number's best place for each option of the choice that it goes with."""
        count = self.counts[number % len(self.counts)]
        if name.startswith("x"):
            return rng.uniform(MARGIN, 1 - MARGIN, size=count).tolist()
        return [_unit(name, n) for n in rng.integers(INT_LEVELS, size=count).tolist()]


def _table_values(
    single: list[Array], pairs: dict[tuple[int, int], Array], c: NDArray[np.int64]
) -> Array:
    """Add up the table entries of many combinations of choices, one row each."""
    alone = sum(table[c[:, i]] for i, table in enumerate(single))
    together = sum(table[c[:, i], c[:, j]] for (i, j), table in pairs.items())
    return np.asarray(alone + together)


def _unit(name: str, value: float) -> float:
    return value if name.startswith("x") else value / (INT_LEVELS - 1)


def _cost(place: float, best: float) -> float:
    """Return what a number costs away from its best place: a bowl with ripples, 0 at the best."""
    away = place - best
    return 4 * away**2 + 0.3 * (1 - math.cos(6 * math.pi * away))


CATEGORICAL_A = Choices("categorical_a", [4] * 6)
CATEGORICAL_B = Choices("categorical_b", [3] * 10)
MIXED_A = Choices("mixed_a", [4, 3, 2], floats=3, ints=1)
MIXED_B = Choices("mixed_b", [5, 4, 4, 3, 2], floats=6, ints=4)

FUNCTIONS: dict[str, Function | Choices] = {
    function.name: function
    for function in (
        BRANIN, HARTMANN6, ACKLEY10, ACKLEY20, LEVY10, ROSENBROCK8, MICHALEWICZ10,
        CATEGORICAL_A, CATEGORICAL_B, MIXED_A, MIXED_B,
    )
}  # fmt: skip

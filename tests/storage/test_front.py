"""Which trials are feasible, which beat which, and which comes closest where none is feasible."""

import itertools

import numpy as np
import pytest

from thomax.storage.front import front_of, is_feasible, least_violating, ranked
from thomax.storage.metrics import PLAIN, Metrics
from thomax.storage.trial import Trial

TRIALS = [
    Trial(0, {}, 2.0, "complete"),
    Trial(1, {}, None, "failed", "no luck"),
    Trial(2, {}, -1.0, "complete"),
    Trial(3, {}),
    Trial(4, {}, 2.0, "complete"),
    Trial(5, {}, None, "dropped"),
]
TWO = Metrics.of({"yield": "maximize", "cost": "minimize"}, {"cost": "<= 5"})


def trial(number, **values):
    return Trial(number, {}, state="complete", values=values)


@pytest.mark.parametrize(
    ("direction", "numbers"), [("maximize", [0, 4, 2]), ("minimize", [2, 0, 4])]
)
def test_the_best_comes_first_and_of_equal_ones_the_earlier(direction, numbers):
    assert [t.number for t in ranked(TRIALS, Metrics.of(direction=direction))] == numbers


def test_the_front_of_one_objective_is_its_best_trials():
    assert [t.number for t in front_of(TRIALS, PLAIN)] == [0, 4]


@pytest.mark.parametrize("seed", range(5))
def test_the_front_is_that_of_comparing_all_pairs(seed):
    rng = np.random.default_rng(seed)
    metrics = Metrics.of({"a": "maximize", "b": "minimize", "c": "maximize"}, {"b": "<= 6"})
    trials = [
        trial(n, **dict(zip("abc", row.tolist(), strict=True)))
        for n, row in enumerate(rng.integers(0, 9, (40, 3)).astype(float))
    ]

    def beats(one, other):
        signed = [
            (s * one.values[k], s * other.values[k])
            for k, s in zip("abc", (1, -1, 1), strict=True)
        ]
        return all(x >= y for x, y in signed) and any(x > y for x, y in signed)

    feasible = [t for t in trials if t.values["b"] <= 6]
    beaten = {b.number for a, b in itertools.permutations(feasible, 2) if beats(a, b)}
    expected = [t for t in feasible if t.number not in beaten]
    assert front_of(trials, metrics) == expected


def test_what_misses_an_objective_or_a_limited_value_is_on_no_front():
    trials = [
        trial(0, **{"yield": 9.0, "cost": None}), trial(1, **{"yield": None, "cost": 1.0}),
        trial(2, **{"yield": 1.0, "cost": 5.0}), trial(3, **{"yield": 9.0, "cost": 5.1}),
    ]  # fmt: skip
    assert [is_feasible(t, TWO) for t in trials] == [False, True, True, False]
    assert front_of(trials, TWO) == [trials[2]]


def test_the_closest_trial_weighs_violations_by_their_usual_size():
    metrics = Metrics.of(None, {"mg": "<= 0", "km": ">= 0"})
    trials = [
        trial(0, value=1.0, mg=1000.0, km=-0.001), trial(1, value=1.0, mg=900.0, km=-0.009),
        trial(2, value=1.0, mg=0.0, km=None),
    ]  # fmt: skip
    assert least_violating(trials, metrics) == trials[0]
    assert least_violating(trials[2:], metrics) is None

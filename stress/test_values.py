"""Values and spaces that nobody expects: proposals stay finite, valid and silent.

Whatever is told, the next proposals are points of the space; a user's mistake gets one sentence;
nothing else raises, and nothing warns. Everything random comes from a seed that a failure names.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from stress.oddities import (
    FAILURE,
    HISTORIES,
    LARGEST,
    MISTAKES,
    NUMBER,
    REFUSED,
    SLOW,
    SPACES,
    SQUARE,
    SUBNORMAL,
    TINY,
    VALUES,
    random_space,
    seeded,
)
from stress.part import Part
from stress.sentences import is_sentence, raised, shown
from thomax import MLP, Int, Optimizer, Pool, Random, Search, STOBNTSLinear

SMALL = STOBNTSLinear(MLP(1, 16, "erf"))
FIXED = STOBNTSLinear(MLP(1, 16, "erf"), noise_std=0.1)
QUICK = Search(candidates=64, restarts=2, restarts_per_draw=1, iterations=5)

Policy = Any
Row = Mapping[str, Any]


@contextmanager
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings(action="error"):
        # Processes share the compilation cache: JAX recompiles what it finds half-written.
        warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
        yield


@contextmanager
def _nothing_raised(part: Part, what: str) -> Iterator[None]:
    """Count what happens inside as one fact: no exception, and no warning either."""
    try:
        with _warnings_are_errors():
            yield
    except Exception as error:
        part.check(False, f"{what}: {shown(error)}")
    else:
        part.check(True, what)


def _check_proposals(part: Part, what: str, optimizer: Optimizer, n: int) -> None:
    """Ask for n points, and look at each."""
    space = optimizer.space
    proposals = optimizer.ask(n)
    for trial in proposals:
        params = trial.params
        finite = all(math.isfinite(v) for v in params.values() if isinstance(v, float))
        part.check(finite, f"{what}: the proposal {_brief(params)} is not finite")
        same = repr(space.with_objects(space.validate(params))) == repr(params)
        part.check(same, f"{what}: the proposal {_brief(params)} is not in canonical form")
        row = space.encode([params])
        part.check(bool(np.isfinite(row).all()), f"{what}: {_brief(params)} has no finite place")
    most = n if not space.is_finite else min(n, space.size)
    part.check(len(proposals) <= most, f"{what}: {len(proposals)} proposals, at most {most}")


def _brief(params: Row) -> str:
    text = repr(dict(params))
    return text if len(text) < 200 else text[:200] + "…"


# Values


def test_a_value_that_is_told_is_taken_or_refused_as_expected(part):
    for told, expected in VALUES:
        _tell_one(part, told, expected)
    part.figures["told"] = len(VALUES)


def _tell_one(part: Part, value: Any, expected: str) -> None:
    what = f"telling {type(value).__name__} {value!r:.40}"
    optimizer = Optimizer(SQUARE, Random(), seed=0)
    trial = optimizer.ask()
    outcome = REFUSED
    try:
        with _warnings_are_errors():
            told = optimizer.tell(trial, value)
        outcome = NUMBER if told.state == "complete" else FAILURE
        finite = told.value is None or (type(told.value) is float and math.isfinite(told.value))
        part.check(finite, f"{what} was recorded as {told.value!r}")
        as_is = outcome == FAILURE or told.value == _mean(value)
        part.check(as_is, f"{what} was recorded as {told.value!r}")
    except Exception as error:
        part.check(is_sentence(error) and "got" in str(error), f"{what}: {shown(error)}")
        part.check(optimizer.pending == [trial], f"{what} lost the trial")
    part.check(outcome == expected, f"{what} is {outcome}, expected {expected}")


def _mean(value: Any) -> float:
    """Return what a value, or the measurements that it lists, come to."""
    if not isinstance(value, list | tuple) and np.ndim(value) == 0:
        return float(value)
    known = [float(v) for v in value if not math.isnan(v)]
    return sum(v / len(known) for v in known)


def test_proposals_after_odd_histories_are_points_of_the_space(part, short):
    for name, history in HISTORIES.items():
        for n in (3,) if short else (0, 1, 2, 3, 12):
            _propose_after(part, f"{n} values {name}", history(seeded(n), n))
    part.figures["histories"] = len(HISTORIES)


def _propose_after(part: Part, what: str, values: Sequence[float | None]) -> None:
    """Tell the values of random points, then look at the proposals and the recommendation."""
    with _nothing_raised(part, what):
        optimizer = Optimizer(SQUARE, SMALL, seed=len(values), initial=0, search=QUICK)
        points = optimizer.space.sample(seeded(len(values)), len(values))
        _tell_all(optimizer, points, values)
        _check_proposals(part, what, optimizer, 2)
        if any(v is not None for v in values):
            best = optimizer.recommend()
            part.check(best.state == "complete", f"{what}: recommended {best}")


def _tell_all(optimizer: Optimizer, points: Any, values: Sequence[float | None]) -> None:
    space = optimizer.space
    rows = space.params([0] * len(points)) if isinstance(space, Pool) else space.decode(points)
    for params, value in zip(rows, values, strict=True):
        optimizer.tell(params, value)


def test_random_mixtures_of_odd_values_do_no_harm(part, short):
    for seed in range(2 if short else 40):
        _tell_a_mixture(part, seed)


def _tell_a_mixture(part: Part, seed: int) -> None:
    """Mix everything that was tried alone."""
    rng = seeded(seed, 1)
    odd: list[float | None] = [
        None, math.nan, math.inf, -math.inf, 0.0, -0.0, SUBNORMAL, TINY, 1e-300, 1e12, LARGEST,
        -LARGEST, 1.0, 1.0, 1 + 2.3e-16,
    ]  # fmt: skip
    n = int(rng.integers(1, 15))
    values = [odd[i] for i in rng.integers(len(odd), size=n)]
    ordinary = rng.normal(size=n) * 10.0 ** rng.integers(-20, 20)
    told = [v if rng.uniform() < 0.6 else float(o) for v, o in zip(values, ordinary, strict=True)]
    what = f"seed {seed}: the values {told}"
    policy = FIXED if seed % 2 else SMALL
    with _nothing_raised(part, what):
        optimizer = Optimizer(SQUARE, policy, seed=seed, initial=0, search=QUICK)
        _tell_all(optimizer, optimizer.space.sample(rng, n), told)
        _check_proposals(part, what, optimizer, 2)


def test_a_point_told_a_thousand_times_does_no_harm(part, short):
    times = 20 if short else 1000
    for policy in (FIXED,) if short else (SMALL, FIXED):
        what = f"one point told {times} times, by {policy}"
        with _nothing_raised(part, what):
            optimizer = Optimizer(SQUARE, policy, seed=0, initial=0, search=QUICK)
            for value in seeded(0).normal(size=times):
                optimizer.tell(dict.fromkeys("abcd", 0.25), value)
            _check_proposals(part, what, optimizer, 2)


# Spaces


def test_odd_spaces_are_searched(part, short):
    for name, space in SPACES.items():
        if not (short and name in SLOW):
            _search(part, name, space(), Random())
        if name not in SLOW and not short:
            _search(part, name, space(), SMALL)
    part.figures["spaces"] = len(SPACES)


def test_random_spaces_are_searched(part, short):
    seeds = range(20 if short else 400)
    for seed in seeds:
        _search_a_random_space(part, seed, Random())
    part.figures["random_spaces"] = len(seeds)


@pytest.mark.full
def test_random_spaces_are_searched_with_a_model(part):
    seeds = range(60)
    for seed in seeds:
        _search_a_random_space(part, seed, SMALL, columns=4)
    part.figures["random_spaces_with_a_model"] = len(seeds)


def _search(part: Part, name: str, space: Any, policy: Policy) -> None:
    """Follow a search from its first point past the design into what the policy proposes."""
    what = f"the space with {name}, by {type(policy).__name__}"
    with _nothing_raised(part, what):
        optimizer = Optimizer(space, policy, seed=0, initial=3, search=QUICK)
        for _ in range(2):
            _check_proposals(part, what, optimizer, 3)
            for trial in optimizer.pending:
                optimizer.tell(trial, _value_of(trial.params))
        _round_trip(part, what, optimizer)


def _value_of(params: Row) -> float | None:
    numbers = [v for v in params.values() if isinstance(v, int | float)]
    return float(numbers[-1]) if numbers else None


def _round_trip(part: Part, what: str, optimizer: Optimizer) -> None:
    """Read and place random points of the space: nothing may move."""
    space = optimizer.space
    x = space.sample(seeded(1), 50)
    if isinstance(space, Pool):
        return
    again = space.encode(space.decode(x))
    part.check(np.array_equal(x, again), f"{what}: a point moved when it was read and placed")
    part.check(bool((np.abs(x) <= 1).all()), f"{what}: a point lies outside the cube")


def test_a_bad_row_of_a_pool_is_named(part, short):
    for seed in range(2 if short else 40):
        rng = seeded(seed, 3)
        rows = rng.normal(size=(rng.integers(1, 500), rng.integers(1, 9)))
        row, column = (int(rng.integers(size)) for size in rows.shape)
        rows[row, column] = rng.choice([math.nan, math.inf, -math.inf])
        said = str(raised(lambda rows=rows: Pool(rows)))
        named = f"row {row} has {rows[row, column]} in column {column}" in said
        part.check(named, f"seed {seed}: a pool with {rows[row, column]} in row {row}: {said}")


def _search_a_random_space(
    part: Part, seed: int, policy: Policy, columns: int | None = None
) -> None:
    with _nothing_raised(part, f"making the random space of seed {seed}"):
        space = random_space(seed, columns)
        _search(part, f"seed {seed}: {_brief(space.parameters)}", space, policy)


def test_a_space_that_is_used_up_says_so(part):
    for name, space in {
        "six whole numbers": {"x": Int(0, 5)},
        "three rows": Pool(np.eye(3)),
        "one point": {"x": Int(1, 1)},
    }.items():
        what = f"using up {name}"
        with _nothing_raised(part, what):
            optimizer = Optimizer(space, Random(), seed=0, initial=2)
            size = int(optimizer.space.size)
            asked = [t.params for n in (1, 1, 99, 5) for t in optimizer.ask(n)]
            part.check(len(asked) == size, f"{what}: {len(asked)} proposals of {size}")
        _make_a_mistake(part, what, optimizer.ask)


@pytest.mark.full
def test_the_default_policy_stands_odd_values_and_large_spaces_too(part):
    """The policy users get, on what most of them have, and on the largest spaces."""
    for name in ("over 600 decades", "with an outlier of 1e12", "that fail at random"):
        values = HISTORIES[name](seeded(3), 12)
        what = f"12 values {name}, by the default policy"
        with _nothing_raised(part, what):
            optimizer = Optimizer(SQUARE, seed=0, initial=0)
            _tell_all(optimizer, optimizer.space.sample(seeded(0), 12), values)
            _check_proposals(part, what, optimizer, 2)
    for name in sorted(SLOW):
        what = f"the space with {name}, by the default policy"
        with _nothing_raised(part, what):
            optimizer = Optimizer(SPACES[name](), seed=0, initial=3, search=QUICK)
            for trial in optimizer.ask(3):
                optimizer.tell(trial, float(trial.number))
            _check_proposals(part, what, optimizer, 2)


# Mistakes


def test_a_mistake_gets_a_sentence(part):
    for name, cause in MISTAKES.items():
        _make_a_mistake(part, name, cause)
    part.figures["mistakes"] = len(MISTAKES)


def _make_a_mistake(part: Part, name: str, cause: Callable[[], Any]) -> None:
    try:
        with _warnings_are_errors():
            cause()
    except Exception as error:
        part.check(is_sentence(error), f"{name}: {shown(error)}")
    else:
        part.check(False, f"{name} was accepted")

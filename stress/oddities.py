"""Everything odd that users may tell, ask for or search, for `stress/test_values.py`."""

import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from stress.sentences import is_sentence
from thomax import Bool, Categorical, Float, Int, Optimizer, Ordinal, Pool, Random, Space

SQUARE = {name: Float(-1, 1) for name in "abcd"}  # four columns, as most spaces here: few shapes
TINY, LARGEST, SUBNORMAL = 2.2e-308, 1.797e308, 5e-324


def seeded(*seed: int) -> np.random.Generator:
    """Return the random numbers of a seed."""
    return np.random.default_rng(seed)


# Values

NUMBER, FAILURE, REFUSED = "a number", "a failure", "refused"
VALUES: list[tuple[Any, str]] = [
    *((v, NUMBER) for v in (
        0.0, -0.0, 1, -1e308, 1e308, LARGEST, -LARGEST, TINY, SUBNORMAL, -SUBNORMAL, 1e-300,
        10**300,
        np.float16(1.5), np.float32(3e38), np.float64(2), np.longdouble(1) / 3, np.int8(-128),
        np.uint64(2**64 - 1), np.array(1.5), np.array(7, np.int16), Decimal("0.1"), Fraction(1, 3),
        [1.0], (1.0,), np.array([1.0]), [LARGEST, LARGEST], [1.0, math.nan],
    )),
    *((v, FAILURE) for v in (
        None, math.nan, -math.nan, math.inf, -math.inf, np.float32("nan"), np.array(np.inf),
        Decimal("NaN"), Decimal("Infinity"), np.float16("inf"), [math.nan], [None, math.inf],
    )),
    *((v, REFUSED) for v in (
        "1", "", "nan", b"1", "九", True, False, np.bool_(True), np.array(False), 1j,
        complex(1, 0),
        np.complex64(2), [], [[1.0]], ["1"], [True], {1.0}, {"loss": 1.0}, np.zeros((1, 1)),
        np.array("1"), np.array(None), np.datetime64("2020-01-01"), np.timedelta64(1, "s"),
        10**400, -(10**309), object(), print, range(1), iter([1.0]),
    )),
]  # fmt: skip


# Histories: what n told values may look like

Values = list[float | None]


def _constant(value: float) -> Callable[[np.random.Generator, int], Values]:
    return lambda rng, n: [value] * n


HISTORIES: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "that are ordinary": lambda rng, n: rng.normal(size=n).tolist(),
    "that are all zero": _constant(0.0),
    "that are all -0.0": _constant(-0.0),
    "that are all the largest": _constant(LARGEST),
    "that are all subnormal": _constant(SUBNORMAL),
    "that are all failed": lambda rng, n: [None] * n,
    "of which one did not fail": lambda rng, n: ([1e-3] + [None] * n)[:n],
    "of two kinds": lambda rng, n: [float(i % 2) for i in range(n)],
    "of which two differ by an ulp": lambda rng, n: [1.0 + 2.3e-16 * (i % 2) for i in range(n)],
    "with an outlier of 1e12": lambda rng, n: [1e12, *rng.normal(size=n).tolist()][:n],
    "with an outlier of -1e308": lambda rng, n: [-1e308, *rng.normal(size=n).tolist()][:n],
    "of which one is the largest": lambda rng, n: [
        LARGEST, *(1e-13 * rng.normal(size=n)).tolist()
    ][:n],
    "of both signs of 1e308": lambda rng, n: [(-1.0) ** i * 1e308 for i in range(n)],
    "around 1e-300": lambda rng, n: (1e-300 * rng.normal(size=n)).tolist(),
    "that are subnormal": lambda rng, n: [SUBNORMAL * i for i in range(n)],
    "over 600 decades": lambda rng, n: (10.0 ** rng.uniform(-300, 300, n)).tolist(),
    "far from zero": lambda rng, n: (1e15 + rng.normal(size=n)).tolist(),
    "that fail at random": lambda rng, n: [v if v > 0 else None for v in rng.normal(size=n)],
    "with a long tail": lambda rng, n: (-np.exp(rng.normal(size=n) * 20)).tolist(),
}  # fmt: skip


# Spaces


def _image_pool() -> Pool:
    return Pool(seeded(0).integers(0, 256, (6, 5, 5, 3)).astype(np.uint8))


SPACES: dict[str, Callable[[], Any]] = {
    "a float of width 1e-12": lambda: {"x": Float(1, 1 + 1e-12)},
    "a float of width an ulp": lambda: {"x": Float(1, math.nextafter(1, 2))},
    "a float around 1e300": lambda: {"x": Float(1e300, 1.0001e300)},
    "a float of subnormals": lambda: {"x": Float(0, 1e-320)},
    "the widest float": lambda: {"x": Float(-8e307, 8e307)},
    "a log over 300 decades": lambda: {"x": Float(1e-150, 1e150, log=True)},
    "a log of subnormals": lambda: {"x": Float(5e-324, 1e-300, log=True)},
    "a log of width 1e-12": lambda: {"x": Float(1, 1 + 1e-12, log=True)},
    "steps of 1e-12": lambda: {"x": Float(0, 1e-11, step=1e-12)},
    "10^15 steps": lambda: {"x": Float(0, 1e3, step=1e-12)},
    "all whole numbers": lambda: {"x": Int(-(2**53), 2**53)},
    "whole numbers at the end": lambda: {"x": Int(2**53 - 3, 2**53)},
    "2^40 whole numbers on a log": lambda: {"x": Int(1, 2**40, log=True)},
    "a single whole number": lambda: {"x": Int(5, 5), "y": Float(0, 1)},
    "a single choice": lambda: {"x": Categorical(["only"]), "y": Float(0, 1)},
    "nothing but single values": lambda: {"x": Int(5, 5), "y": Ordinal([None])},
    "choices of all types": lambda: {"x": Categorical([None, True, 1, 0, "", "1", 1.5, "九"])},
    "10,000 choices": lambda: {"x": Categorical([f"c{i}" for i in range(10_000)])},
    "10,000 ordered values": lambda: {"x": Ordinal([*range(10_000)]), "y": Float(0, 1)},
    "500 dimensions": lambda: {f"x{i}": Float(-1, 1) for i in range(500)},
    "odd names": lambda: {
        "a/b": Float(0, 1), "../c": Float(0, 1), "九 \n": Float(0, 1), "": Float(0, 1),
    },
    "names that others use": lambda: {
        "value": Float(0, 1), "number": Float(0, 1), "state": Float(0, 1), "index": Float(0, 1),
    },
    "a branch that is never taken": lambda: Space(
        {"kind": Categorical(["a", "b"]), "x": Float(0, 1, when={"kind": "b"}), "y": Float(0, 1)},
        constraint=lambda p: p["kind"] == "a",
    ),
    "branches in branches": lambda: {
        "a": Bool(), "b": Bool(when={"a": True}), "c": Int(0, 3, when={"b": True}),
        "d": Float(0, 1, when={"c": [1, 2]}),
    },
    "a narrow constraint": lambda: Space(
        {name: Float(0, 1) for name in "abcd"}, constraint=lambda p: p["a"] < 0.01
    ),
    "a constraint that changes what it gets": lambda: Space(
        SQUARE, constraint=lambda p: p.pop("a") < 2 and not p.update(b="spoilt")
    ),
    "one allowed point of 160,000": lambda: Space(
        {name: Int(0, 19) for name in "abcd"}, constraint=lambda p: {*p.values()} == {7}
    ),
    "objects by label": lambda: {
        "x": Categorical({"list": [1, [2]], "type": int, "array": np.arange(3), "none": None}),
    },
    "a pool of one row": lambda: Pool([[1.0, 2.0, 3.0, 4.0]]),
    "a pool of equal rows": lambda: Pool(np.ones((20, 4))),
    "a pool of one feature": lambda: Pool(np.arange(9.0)[:, None]),
    "a pool of huge numbers": lambda: Pool(seeded(0).normal(size=(20, 4)) * 1e150),
    "a pool of subnormals": lambda: Pool(seeded(0).integers(0, 9, (20, 4)) * SUBNORMAL),
    "a pool of bytes": lambda: Pool(seeded(0).integers(0, 256, (20, 4)).astype(np.uint8)),
    "a pool of flags": lambda: Pool(seeded(0).integers(0, 2, (20, 4)).astype(bool)),
    "a pool of float16": lambda: Pool(seeded(0).normal(size=(20, 4)).astype(np.float16)),
    "a pool of 2^63": lambda: Pool(seeded(0).integers(0, 2**63, (20, 4), dtype=np.uint64)),
    "a pool of images": _image_pool,
}  # fmt: skip
# These are tried with the model once, by the default policy: each compiles for long.
SLOW = {"10,000 choices", "500 dimensions", "a pool of images"}


def random_parameter(rng: np.random.Generator, when: dict[str, Any] | None = None) -> Any:
    """Return any parameter; its bounds are of any size."""
    centre = float(rng.choice([0, 1, -1, 1e-300, 1e300, 1e15])) * rng.uniform(0.5, 1.5)
    width = max(abs(centre) * 10.0 ** rng.uniform(-13, 2), 1e-310)
    low = 10.0 ** rng.uniform(-300, 200)
    first = int(rng.integers(-(2**52), 2**52))
    options: list[Callable[[], Any]] = [
        lambda: Float(centre, centre + width, when=when),
        lambda: Float(low, low * 10 ** rng.uniform(0.001, 100), log=True, when=when),
        lambda: Float(centre, centre + width, step=width / rng.integers(1, 1000), when=when),
        lambda: Int(first, first + int(rng.integers(0, 2**50)), when=when),
        lambda: Int(1, int(2 ** rng.uniform(0, 40)), log=True, when=when),
        lambda: Int(0, 100, step=int(rng.integers(1, 100)), when=when),
        lambda: Categorical([f"c{i}" for i in range(rng.integers(1, 30))], when=when),
        lambda: Ordinal([None, True, 1, "x", 2.5][: rng.integers(1, 6)], when=when),
        lambda: Bool(when=when),
    ]
    while True:
        try:
            with warnings.catch_warnings(action="ignore"):  # a step may miss the end
                return options[rng.integers(len(options))]()
        except ValueError as error:
            if not is_sentence(error):  # a step too fine for the numbers is said to be so
                raise


def random_space(seed: int, columns: int | None = None) -> Space:
    """Return a space of a few random parameters, some of them under a condition."""
    rng = seeded(seed, 2)
    while True:
        branches = rng.uniform() < 0.5
        parameters: dict[str, Any] = {"kind": Categorical(["a", "b"])} if branches else {}
        for number in range(rng.integers(1, 6)):
            when = {"kind": "b"} if parameters.get("kind") and rng.uniform() < 0.4 else None
            name = f"p{number}/{rng.choice(['x', '九', ' ', '.'])}"
            parameters[name] = random_parameter(rng, when)
        space = Space(parameters)
        if columns is None or space.dimension == columns:
            return space


# Mistakes

NAN_ROW = np.array([[0.0, 1.0], [2.0, math.nan]])
MISTAKES: dict[str, Callable[[], Any]] = {
    "a pool with a NaN": lambda: Pool(NAN_ROW),
    "a pool with an infinity": lambda: Pool([[1.0], [math.inf]]),
    "a pool of nothing": lambda: Pool(np.zeros((0, 3))),
    "a pool without features": lambda: Pool(np.zeros((3, 0))),
    "a pool of texts": lambda: Pool([["a"], ["b"]]),
    "a pool of objects": lambda: Pool(np.array([[None], [1]])),
    "a pool of complex numbers": lambda: Pool(np.ones((3, 2)) * 1j),
    "a pool of one dimension": lambda: Pool([1.0, 2.0]),
    "a pool of five dimensions": lambda: Pool(np.zeros((2,) * 5)),
    "a pool whose squares overflow": lambda: Pool([[1e200], [-1e200]]),
    "too few names of a pool": lambda: Pool(np.eye(3), names=["a"]),
    "a float upside down": lambda: Float(1, 0),
    "a float of no width": lambda: Float(1, 1),
    "a float of NaN": lambda: Float(math.nan, 1),
    "a float up to infinity": lambda: Float(0, math.inf),
    "a float that is too wide": lambda: Float(-LARGEST, LARGEST),
    "a float of texts": lambda: Float("0", "1"),  # type: ignore[arg-type]
    "a log from zero": lambda: Float(0, 1, log=True),
    "a log over 400 decades": lambda: Float(1e-200, 1e200, log=True),
    "a step of zero": lambda: Float(0, 1, step=0),
    "a step that is too long": lambda: Float(0, 1, step=2),
    "a step below an ulp": lambda: Float(1, 2, step=1e-17),
    "a whole number beyond 2^53": lambda: Int(0, 2**53 + 1),
    "half a whole number": lambda: Int(0, 1.5),  # type: ignore[arg-type]
    "no choices": lambda: Categorical([]),
    "a text for choices": lambda: Categorical("abc"),
    "a choice twice": lambda: Categorical([1, 1.0]),
    "a choice that is a list": lambda: Categorical([[1]]),  # type: ignore[list-item]
    "a choice that is NaN": lambda: Ordinal([math.nan]),
    "a space of nothing": lambda: Space({}),
    "a name that is no text": lambda: Space({1: Float(0, 1)}),  # type: ignore[dict-item]
    "a parameter that is a pair": lambda: Space({"x": (0, 1)}),  # type: ignore[dict-item]
    "an unknown condition": lambda: Space({"x": Float(0, 1, when={"y": 1})}),
    "a condition on oneself": lambda: Space({"x": Int(0, 1, when={"x": 1})}),
    "a space that is a list": lambda: Optimizer([Float(0, 1)]),  # type: ignore[arg-type]
    "no trials": lambda: Optimizer(SQUARE).ask(0),
    "minus one trial": lambda: Optimizer(SQUARE).ask(-1),
    "half a trial": lambda: Optimizer(SQUARE).ask(1.5),  # type: ignore[call-overload]
    "NaN trials": lambda: Optimizer(SQUARE).ask(math.nan),  # type: ignore[call-overload]
    "a seed of text": lambda: Optimizer(SQUARE, seed="0"),  # type: ignore[arg-type]
    "a direction of none": lambda: Optimizer(SQUARE, direction="up"),  # type: ignore[arg-type]
    "a best of nothing": lambda: Optimizer(SQUARE).best,
    "a recommendation of nothing": lambda: Optimizer(SQUARE).recommend(),
    "a trial of somebody else": lambda: Optimizer(SQUARE).tell(7, 1.0),
    "a trial of text": lambda: Optimizer(SQUARE).tell("0", 1.0),  # type: ignore[arg-type]
    "a trial that is a list": lambda: Optimizer(SQUARE).tell([0], 1.0),  # type: ignore[arg-type]
    "a trial that is an array": lambda: _asked().tell(np.array([0, 1]), 1.0),  # type: ignore[arg-type]
    "a point without a value": lambda: Optimizer(SQUARE).tell({"a": 0}, 1.0),
    "a point with NaN": lambda: Optimizer(SQUARE).tell(dict.fromkeys("abcd", math.nan), 1.0),
    "a point with a text": lambda: Optimizer(SQUARE).enqueue(dict.fromkeys("abcd", "0")),
    "a point with a list": lambda: Optimizer(SQUARE).enqueue({name: [0] for name in "abcd"}),
    "a point with 10^400": lambda: Optimizer(SQUARE).enqueue(dict.fromkeys("abcd", 10**400)),
    "a choice of a list": lambda: Optimizer({"x": Categorical(["a"])}).enqueue({"x": ["a"]}),
    "a choice of an array": lambda: Optimizer({"x": Categorical(["a"])}).enqueue({"x": np.eye(2)}),
    "a point that is a list": lambda: Optimizer(SQUARE).enqueue([0, 0, 0, 0]),  # type: ignore[arg-type]
    "a point that is None": lambda: Optimizer(SQUARE).enqueue(None),  # type: ignore[arg-type]
    "a candidate that is a list": lambda: Optimizer(Pool(np.eye(3))).enqueue([1]),  # type: ignore[arg-type]
    "a candidate that is None": lambda: Optimizer(Pool(np.eye(3))).enqueue(None),  # type: ignore[arg-type]
    "a candidate without index": lambda: Optimizer(Pool(np.eye(3))).tell({}, 1.0),
    "candidate 3 of 3": lambda: Optimizer(Pool(np.eye(3))).tell({"index": 3}, 1.0),
    "candidate -1": lambda: Optimizer(Pool(np.eye(3))).tell({"index": -1}, 1.0),
    "candidate NaN": lambda: Optimizer(Pool(np.eye(3))).tell({"index": math.nan}, 1.0),
    "candidate infinity": lambda: Optimizer(Pool(np.eye(3))).tell({"index": math.inf}, 1.0),
    "a constraint without a point": lambda: Optimizer(
        Space(SQUARE, constraint=lambda p: False), Random(), initial=0
    ).ask(),
    "a constraint that raises": lambda: Optimizer(
        Space(SQUARE, constraint=lambda p: p["none"]), Random()
    ).ask(),
    "a constraint that is a text": lambda: Space(SQUARE, constraint="a < b"),  # type: ignore[arg-type]
}


def _asked() -> Optimizer:
    optimizer = Optimizer(SQUARE, Random(), seed=0)
    optimizer.ask(2)
    return optimizer

"""Figure 1 (a-c) as a number: how far draws disagree where nothing has been observed.

The function is the synthetic task's; ten points outside the interval are observed.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.methods import parse_method
from benchmarks.runner import append_record, commit, records
from benchmarks.tasks.synthetic import draw, grid
from thomax.keys import make_keys
from thomax.model.data import Data

TASK = "exploration"
METHODS = ("ensemble-paper:8x64", "sto-paper:8x64", "linear-paper:8x64")
UNSEEN = (0.2, 0.4)  # the interval the paper points at
_GRID = grid()[:, None]
_OBSERVED = 10


def observations(seed: int) -> Data:
    """Observe the function at random points outside the unseen interval."""
    outside = np.flatnonzero((_GRID[:, 0] < UNSEEN[0]) | (_GRID[:, 0] > UNSEEN[1]))
    chosen = np.random.default_rng(seed + 1000).choice(outside, _OBSERVED, replace=False)
    return Data(2 * _GRID[chosen] - 1, draw(seed)[chosen])


def draws(method: str, seed: int, count: int) -> np.ndarray:
    """Return acquisition functions of a method on the grid, (count, 1000)."""
    policy: Any = parse_method(method).policy(None, "erf")  # type: ignore[arg-type]
    return np.asarray(policy(make_keys(seed, count), observations(seed))(2 * _GRID - 1))


def spread(functions: np.ndarray) -> float:
    """Return the mean standard deviation over the unseen interval."""
    inside = (_GRID[:, 0] >= UNSEEN[0]) & (_GRID[:, 0] <= UNSEEN[1])
    return float(functions[:, inside].std(axis=0).mean())


def measure(folder: Path, seeds: Sequence[int], count: int = 100) -> None:
    """Append the log spread of every method and seed that has none yet.

    A record's iterations are its draws: of two for the same seed, the one of more draws counts.
    """
    known = {(r["method"], r["seed"], r["iterations"]) for r in records(folder, TASK)}
    for seed in seeds:
        for method in METHODS:
            if (method, seed, count) not in known:
                value = math.log(spread(draws(method, seed, count)))
                record = {"task": TASK, "method": method, "seed": seed, "iterations": count,
                          "log_spread": float(f"{value:.6g}"), "commit": commit()}  # fmt: skip
                append_record(folder / f"{TASK}.jsonl", record)

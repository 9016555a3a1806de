"""The search that is played in many ways, here and in a process of its own.

`python -m stress.replays [--short]` prints the proposals of every search as JSON.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from thomax import MLP, STOBNTS, Categorical, Float, Int, Optimizer, Pool, Search, STOBNTSLinear

ROOT = Path(__file__).parents[1]
NETWORK = MLP(1, 16, "erf")
POLICIES = {
    "STOBNTSLinear": STOBNTSLinear(NETWORK),
    "STOBNTS": STOBNTS(NETWORK, noise_std=0.1, steps=5),
}
MIXED = {
    "rate": Float(1e-4, 1, log=True),
    "kind": Categorical(["adam", "sgd"]),
    "momentum": Float(0, 1, when={"kind": "sgd"}),
    "depth": Int(1, 9),
}
POOL = Pool(np.random.default_rng(0).normal(size=(200, 5)))
SPACES: dict[str, Any] = {"pool": POOL, "mixed space": MIXED}
SEARCHES = [*product(POLICIES, SPACES)]  # the last compiles longest
QUICK = Search(candidates=100, restarts=2, restarts_per_draw=1, iterations=5)
BATCHES = (3, 1, 3)  # what is asked for, one after the other
SEED = 5


def opened(policy: str, space: str, journal: Path | None = None) -> Optimizer:
    """Return the optimiser that all of them compare."""
    options: dict[str, Any] = {"seed": SEED, "initial": 4, "search": QUICK, "journal": journal}
    return Optimizer(SPACES[space], POLICIES[policy], **options)


def value(params: dict[str, Any]) -> float | None:
    """Return what a point is worth; some fail."""
    if "index" in params:
        return None if params["index"] % 7 == 3 else float(np.sin(params["index"]))
    if params["depth"] == 5:
        return None
    return float(-abs(np.log10(params["rate"]) + 2) - 0.1 * params["depth"])


def play(optimizer: Optimizer, order: Callable[[int], Any] = range) -> list[str]:
    """Follow a search through its batches, told in this order, and return its proposals."""
    for n in BATCHES:
        batch = optimizer.ask(n)
        for i in order(n):
            optimizer.tell(batch[i], value(batch[i].params))
    return bits([*optimizer.trials, *optimizer.ask(2)])


def bits(trials: list[Any]) -> list[str]:
    """Write proposals so that a single bit shows."""
    return [
        repr({k: v.hex() if isinstance(v, float) else v for k, v in t.params.items()})
        for t in trials
    ]


@cache
def everything(short: bool) -> dict[str, list[str]]:
    """Return the proposals of every search."""
    searches = SEARCHES[:3] if short else SEARCHES
    return {f"{policy}, {space}": play(opened(policy, space)) for policy, space in searches}


# Processes

ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}
MUST = "another process"
CHANGES = {  # of the environment of a process; the first is all that the short version tries
    f"{MUST}, PYTHONHASHSEED=1": {"PYTHONHASHSEED": "1"},
    f"{MUST}, PYTHONHASHSEED=0": {"PYTHONHASHSEED": "0"},
    f"{MUST}, random hashes": {"PYTHONHASHSEED": "random"},
    "compiled anew": {"THOMAX_CACHE": "off"},
    "one thread": ONE_THREAD,
    "four threads": dict.fromkeys(ONE_THREAD, "4") | {"XLA_FLAGS": ""},
}


def started(name: str, short: bool) -> "subprocess.Popen[str]":
    """Start a process with this change that prints the proposals of every search."""
    command = [sys.executable, "-m", "stress.replays", *["--short"][: int(short)]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **CHANGES[name]}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    print(json.dumps(everything("--short" in sys.argv)))

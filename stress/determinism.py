"""The same seed and the same values give the same proposals, to the last bit.

Whatever does not belong to a search must not matter to it: the run, the process, the hashing of
texts, reopening the journal, the order in which a batch is told. Where only the machine could tell
(threads, compiling anew) it is measured.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations, product, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np

from stress.part import Part
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
HOSTILE_SETTINGS: dict[str, Callable[[], Any]] = {
    "with errors for rank promotion": lambda: jax.numpy_rank_promotion("raise"),
    "with strict dtypes": lambda: jax.numpy_dtype_promotion("strict"),
    "without transfers": lambda: jax.transfer_guard("disallow_explicit"),
    "with low precision": lambda: jax.default_matmul_precision("BF16_BF16_F32"),
    "in double precision": lambda: jax.enable_x64(True),
    "looking for NaN": lambda: jax.debug_nans(True),
}


def run(part: Part, short: bool) -> None:
    """Play the same search in many ways, and compare what was proposed bit by bit."""
    names = [*CHANGES][:1] if short else [*CHANGES]
    running = _started(names[0], short)  # beside the rest
    for policy, space in SEARCHES[:3] if short else SEARCHES:
        _a_search_is_the_same_again(part, policy, space)
        _a_reopened_search_is_the_same(part, policy, space)
        _the_order_of_telling_does_not_matter(part, policy, space, short)
        _asking_at_once_is_asking_one_by_one(part, policy, space)
    _settings_of_jax_do_not_matter(part, *SEARCHES[0])
    expected = everything(short)
    for name, following in zip_longest(names, names[1:]):
        process = running
        running = _started(following, short) if following else process
        _a_process_is_the_same(part, name, process, expected)


# One search


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


def everything(short: bool) -> dict[str, list[str]]:
    """Return the proposals of every search."""
    searches = SEARCHES[:3] if short else SEARCHES
    return {f"{policy}, {space}": play(opened(policy, space)) for policy, space in searches}


def _check_same(part: Part, what: str, found: list[str], expected: list[str]) -> None:
    differ = [i for i, pair in enumerate(zip(found, expected, strict=False)) if len({*pair}) > 1]
    first = f"trial {differ[0]} is {found[differ[0]]}, was {expected[differ[0]]}" if differ else ""
    same = found == expected
    part.check(same, f"seed {SEED}, {what}: {first or 'another number of trials'}")


# Ways to play it


def _a_search_is_the_same_again(part: Part, policy: str, space: str) -> None:
    first, again = play(opened(policy, space)), play(opened(policy, space))
    _check_same(part, f"{policy} on the {space}, once more", again, first)
    distinct = len({*first}) == len(first)
    part.check(distinct, f"{policy} on the {space} proposed a point twice")


def _settings_of_jax_do_not_matter(part: Part, policy: str, space: str) -> None:
    expected = play(opened(policy, space))
    for name, setting in HOSTILE_SETTINGS.items():
        with setting():
            found = play(opened(policy, space))
        _check_same(part, f"{policy} on the {space}, {name}", found, expected)


def _a_reopened_search_is_the_same(part: Part, policy: str, space: str) -> None:
    """Close the journal after every single step, and open it again."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"

        def step(act: Callable[[Optimizer], Any]) -> Any:
            with opened(policy, space, path) as optimizer:
                return act(optimizer)

        for n in BATCHES:
            for trial in step(lambda optimizer, n=n: optimizer.ask(n)):
                step(lambda optimizer, t=trial: optimizer.tell(t, value(t.params)))
        found = step(lambda optimizer: bits([*optimizer.trials, *optimizer.ask(2)]))
    what = f"{policy} on the {space}, reopened at every step"
    _check_same(part, what, found, play(opened(policy, space)))


def _the_order_of_telling_does_not_matter(
    part: Part, policy: str, space: str, short: bool
) -> None:
    expected = play(opened(policy, space))
    orders = [*permutations(range(3))][1:]
    for order in orders[-1:] if short else orders:
        found = play(opened(policy, space), lambda n, o=order: [i for i in o if i < n])
        _check_same(part, f"{policy} on the {space}, told in the order {order}", found, expected)


def _asking_at_once_is_asking_one_by_one(part: Part, policy: str, space: str) -> None:
    """Exactly so in a pool; elsewhere rounding may differ with the size of a batch: a figure."""
    together, apart = opened(policy, space), opened(policy, space)
    for optimizer in (together, apart):
        for trial in optimizer.ask(6):
            optimizer.tell(trial, value(trial.params))
    batch, single = together.ask(4), [apart.ask() for _ in range(4)]
    what = f"{policy} on the {space}, ask(4) and four times ask()"
    if space == "pool":
        _check_same(part, what, bits(single), bits(batch))
        return
    rows = [together.space.encode([t.params for t in trials]) for trials in (batch, single)]
    difference = float(np.abs(rows[0] - rows[1]).max())
    part.figures[what] = {"largest difference in the cube [-1, 1]": difference}
    part.check(difference < 1e-3, f"seed {SEED}, {what}: they differ by {difference}")


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


def _started(name: str, short: bool) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "stress.determinism", *["--short"][: int(short)]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **CHANGES[name]}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def _a_process_is_the_same(
    part: Part, name: str, process: "subprocess.Popen[str]", expected: dict[str, list[str]]
) -> None:
    """Compare what a process proposed; of threads and compilers it is only noted."""
    out, _ = process.communicate(timeout=170)
    part.check(process.returncode == 0, f"{name} ended with {process.returncode}")
    found = json.loads(out or "{}")
    if name.startswith(MUST):
        for search, proposals in expected.items():
            _check_same(part, f"{search}, {name}", found.get(search, []), proposals)
        return
    same = [search for search in expected if found.get(search) == expected[search]]
    part.figures[name] = f"the same bits in {len(same)} of {len(expected)} searches"


if __name__ == "__main__":
    print(json.dumps(everything("--short" in sys.argv)))

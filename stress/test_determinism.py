"""The same seed and the same values give the same proposals, to the last bit.

Whatever does not belong to a search must not matter to it: the run, the process, the hashing of
texts, reopening the journal, the order in which a batch is told. Where only the machine could tell
(threads, compiling anew) it is measured.
"""

import json
from collections.abc import Callable
from itertools import permutations
from typing import Any

import jax
import numpy as np
import pytest

from stress.part import Part
from stress.replays import (
    BATCHES,
    CHANGES,
    MUST,
    SEARCHES,
    SEED,
    bits,
    everything,
    opened,
    play,
    started,
    value,
)
from thomax import Optimizer

HOSTILE_SETTINGS: dict[str, Callable[[], Any]] = {
    "with errors for rank promotion": lambda: jax.numpy_rank_promotion("raise"),
    "with strict dtypes": lambda: jax.numpy_dtype_promotion("strict"),
    "without transfers": lambda: jax.transfer_guard("disallow_explicit"),
    "with low precision": lambda: jax.default_matmul_precision("BF16_BF16_F32"),
    "in double precision": lambda: jax.enable_x64(True),
    "looking for NaN": lambda: jax.debug_nans(True),
}


def _check_same(part: Part, what: str, found: list[str], expected: list[str]) -> None:
    differ = [i for i, pair in enumerate(zip(found, expected, strict=False)) if len({*pair}) > 1]
    first = f"trial {differ[0]} is {found[differ[0]]}, was {expected[differ[0]]}" if differ else ""
    same = found == expected
    part.check(same, f"seed {SEED}, {what}: {first or 'another number of trials'}")


# Ways to play it

_LAST = pytest.param(*SEARCHES[-1], marks=pytest.mark.full)  # compiles longest
each_search = pytest.mark.parametrize(("policy", "space"), [*SEARCHES[:-1], _LAST])


@each_search
def test_a_search_is_the_same_again(part, policy, space):
    first, again = play(opened(policy, space)), play(opened(policy, space))
    _check_same(part, f"{policy} on the {space}, once more", again, first)
    distinct = len({*first}) == len(first)
    part.check(distinct, f"{policy} on the {space} proposed a point twice")


def test_settings_of_jax_do_not_matter(part):
    policy, space = SEARCHES[0]
    expected = play(opened(policy, space))
    for name, setting in HOSTILE_SETTINGS.items():
        with setting():
            found = play(opened(policy, space))
        _check_same(part, f"{policy} on the {space}, {name}", found, expected)


@each_search
def test_a_search_reopened_at_every_step_is_the_same(part, policy, space, tmp_path):
    def step(act: Callable[[Optimizer], Any]) -> Any:
        with opened(policy, space, tmp_path / "run.jsonl") as optimizer:
            return act(optimizer)

    for n in BATCHES:
        for trial in step(lambda optimizer, n=n: optimizer.ask(n)):
            step(lambda optimizer, t=trial: optimizer.tell(t, value(t.params)))
    found = step(lambda optimizer: bits([*optimizer.trials, *optimizer.ask(2)]))
    what = f"{policy} on the {space}, reopened at every step"
    _check_same(part, what, found, play(opened(policy, space)))


@each_search
def test_the_order_of_telling_does_not_matter(part, policy, space, short):
    expected = play(opened(policy, space))
    orders = [*permutations(range(3))][1:]
    for order in orders[-1:] if short else orders:
        found = play(opened(policy, space), lambda n, o=order: [i for i in o if i < n])
        _check_same(part, f"{policy} on the {space}, told in the order {order}", found, expected)


@each_search
def test_asking_at_once_is_asking_one_by_one(part, policy, space):
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

_FIRST, *_OTHERS = CHANGES
_MORE = [pytest.param(name, marks=pytest.mark.full) for name in _OTHERS]


@pytest.mark.parametrize("name", [_FIRST, *_MORE])
def test_a_process_of_its_own_proposes_the_same(part, short, name):
    """Of threads and compilers it is only noted."""
    with started(name, short) as process:
        expected = everything(short)  # meanwhile
        out, _ = process.communicate(timeout=170)
    part.check(process.returncode == 0, f"{name} ended with {process.returncode}")
    found = json.loads(out or "{}")
    if name.startswith(MUST):
        for search, proposals in expected.items():
            _check_same(part, f"{search}, {name}", found.get(search, []), proposals)
        return
    same = [search for search in expected if found.get(search) == expected[search]]
    part.figures[name] = f"the same bits in {len(same)} of {len(expected)} searches"

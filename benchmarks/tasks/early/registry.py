"""The development suite `early` by family and name.

What a task needs beyond thomax is imported, downloaded or computed when the task is made. The
seed of a run draws the instance where the task is a family.
"""

from collections.abc import Callable
from functools import partial

from benchmarks.tasks.early.binary import contamination, labs, maxcut, nk, pests
from benchmarks.tasks.early.conditional import CONDITIONAL
from benchmarks.tasks.early.control import MACHINES, machine
from benchmarks.tasks.early.design import DESIGN
from benchmarks.tasks.early.learners import LEARNERS
from benchmarks.tasks.early.pools import POOLS
from benchmarks.tasks.early.reactions import MEASURED_POOLS, REACTIONS
from benchmarks.tasks.early.rotated import ROTATED, rotated
from benchmarks.tasks.early.sparse import SPARSE
from benchmarks.tasks.problem import Problem

Maker = Callable[[int], Problem]

EARLY_FAMILIES: dict[str, dict[str, Maker]] = {
    "tuning": {**LEARNERS},
    "chemistry": {**REACTIONS, "reactor10": partial(machine, "reactor10", *MACHINES["reactor10"])},
    "control": {
        name: partial(machine, name, *of) for name, of in MACHINES.items() if name != "reactor10"
    },
    "design": {**DESIGN},
    "rotated": {name: partial(rotated, name, *of) for name, of in ROTATED.items()},
    "sparse": {**SPARSE},
    "mixed": {**CONDITIONAL},
    "combinatorial": {
        "nk16": partial(nk, 16, 3),
        "nk28": partial(nk, 28, 4),
        "maxcut20": partial(maxcut, 20),
        "labs24": partial(labs, 24),
        "contamination18": partial(contamination, 18),
        "pests12": partial(pests, 12),
    },
    "pools": {**POOLS, **MEASURED_POOLS},
}
EARLY_TASKS: dict[str, Maker] = {
    name: make for family in EARLY_FAMILIES.values() for name, make in family.items()
}

"""The sealed suite by family and name, and the sentence that refuses it."""

from collections.abc import Callable, Iterable

from benchmarks.tasks import sealed
from benchmarks.tasks.problem import Problem
from benchmarks.tasks.sealed.generators import GENERATORS
from benchmarks.tasks.sealed.measured import LEARNERS, POOLS, REACTIONS
from benchmarks.tasks.sealed.puzzles import PUZZLES
from benchmarks.tasks.sealed.simulators import PHYSICAL, SIMULATED, inventory

Maker = Callable[[int], Problem]

SEALED_FAMILIES: dict[str, dict[str, Maker]] = {
    "tuning of other learners": {**LEARNERS},
    "couplings": {**REACTIONS},
    "plants": {**SIMULATED},
    "physics": {**PHYSICAL},
    "generators": {**GENERATORS},
    "store": {"inventory11": inventory},
    "puzzles": {**PUZZLES},
    "other pools": {**POOLS},
}
SEALED_TASKS: dict[str, Maker] = {
    name: make for family in SEALED_FAMILIES.values() for name, make in family.items()
}


def refuse_sealed(tasks: Iterable[str], *, unseal: bool) -> None:
    """Raise if one of these tasks is sealed, unless it is to be unsealed."""
    closed = [task for task in tasks if task in SEALED_TASKS]
    if closed and sealed.SEALED and not unseal:
        raise ValueError(
            f"The task {closed[0]} is sealed: nothing is run on it until the default is chosen. "
            "Then pass --unseal, and set SEALED = False in benchmarks/tasks/sealed."
        )

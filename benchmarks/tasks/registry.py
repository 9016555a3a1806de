"""The tasks by name. What a task needs beyond thomax is imported when the task is made.

The seed of a run draws the function where the task is a family of functions, and is otherwise
ignored: the paper's other tasks are one function each.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module

from benchmarks.tasks.controllers import CONTROLLERS
from benchmarks.tasks.functions import FUNCTIONS
from benchmarks.tasks.further import FURTHER, SINGLE_FURTHER
from benchmarks.tasks.problem import Problem
from benchmarks.tasks.synthetic import synthetic


def task(name: str, seed: int) -> Problem:
    """Make the problem of this name.

    Example:
        >>> task("branin", seed=0).space.dimension
        2
    """
    if name not in TASKS:
        raise ValueError(f"A task is one of {', '.join(TASKS)}; got {name!r}.")
    return TASKS[name](seed)


def _single(name: str, seed: int) -> Problem:
    """Make a task of the paper that is one function, from the module of its name."""
    return getattr(import_module(f"benchmarks.tasks.{name}"), name)()


def _tuned(name: str, seed: int) -> Problem:
    """Make a task of the module that tunes scikit-learn's models."""
    return getattr(import_module("benchmarks.tasks.tuning"), name)(seed)


def _always(make: Callable[[], Problem], seed: int) -> Problem:
    """Make a task that is one function."""
    return make()


TUNING = ("svm", "trees", "mlp", "digits", "neighbours", "extra_trees")
SINGLE = ("forest", "boosting", "convnet", "lunar", "pushing", "rover", "images")
TASKS: dict[str, Callable[[int], Problem]] = {
    "synthetic": synthetic,
    **{name: partial(_single, name) for name in SINGLE},
    **{name: partial(_tuned, name) for name in TUNING},
    **{name: function.shifted for name, function in (FUNCTIONS | FURTHER).items()},
    **{name: partial(_always, make) for name, make in (SINGLE_FURTHER | CONTROLLERS).items()},
}

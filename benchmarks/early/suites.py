"""The suites `early` and `sealed`: their tasks with common starting points or without.

With common starts all methods are told the same eight random points, which do not count; without,
each takes its own first points, and these count like all evaluations.
"""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.compare.suites import named
from benchmarks.methods import parse_method
from benchmarks.rivals import RIVALS
from benchmarks.runner import Run
from benchmarks.tasks.early.registry import EARLY_FAMILIES, EARLY_TASKS
from benchmarks.tasks.problem import Problem
from benchmarks.tasks.sealed.registry import SEALED_FAMILIES, SEALED_TASKS

FAMILIES = {"early": EARLY_FAMILIES, "sealed": SEALED_FAMILIES}
STARTS = 8
EVALUATIONS = 96  # of a run, the common starts among them
METHODS = (
    "auto", "random", "optuna-tpe", "optuna-gp", "optuna-cmaes", "botorch-qlognei",
    "botorch-turbo", "smac",
)  # fmt: skip


def task_with_starts(name: str, seed: int) -> Problem:
    """Make a task whose runs begin with common starting points."""
    return replace((EARLY_TASKS | SEALED_TASKS)[name](seed), initial=STARTS)


def task_without_starts(name: str, seed: int) -> Problem:
    """Make a task on which each method takes its own first points."""
    return replace((EARLY_TASKS | SEALED_TASKS)[name](seed), initial=0)


def is_pool(task: str) -> bool:
    """Return whether the task of this name is a pool, which few rivals can search.

    Example:
        >>> is_pool("hplc_pool"), is_pool("hplc6")
        (True, False)
    """
    return task.endswith("_pool")


def runs(
    tasks: Sequence[str],
    methods: Sequence[str],
    batches: Sequence[int],
    seeds: int,
    evaluations: int,
) -> list[Run]:
    """Return the runs of a comparison, seed by seed: a part of them is already a comparison.

    Args:
        tasks: Names of tasks.
        methods: Names of methods, without a batch size.
        batches: Batch sizes.
        seeds: How many seeds, from 0 on.
        evaluations: How many a run has, common starts left out.
    """
    return [
        Run(task, named(method, batch), seed, max(1, round(evaluations / batch)))
        for seed in range(seeds)
        for task in tasks
        for batch in batches
        for method in methods
        if _takes_part(method, task)
    ]


def _takes_part(method: str, task: str) -> bool:
    name = parse_method(method).name
    return name not in RIVALS or not is_pool(task) or RIVALS[name].pools

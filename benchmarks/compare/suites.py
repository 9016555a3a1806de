"""The suites: which tasks, how many evaluations, seeds and starting points.

Defaults are chosen on the development tasks. The report tasks and the further ones are run to say
what the choices are worth elsewhere, the further ones because there are more of them; some of both
are `related` to what was looked at before. The long runs are of three tasks of development and
report, with two or three times the evaluations.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from benchmarks.methods import ABLATIONS
from benchmarks.rivals import RIVALS
from benchmarks.runner import Run
from benchmarks.tasks.problem import Problem
from benchmarks.tasks.registry import task

OURS = "auto"
METHODS = (OURS, "random", "sobol", *RIVALS)
VARIANTS = (OURS, *ABLATIONS)
BATCHES = (1, 4)
# Suites that are run in batches only, with some of the methods.
IN_BATCHES = {
    "further": (OURS, "random", "optuna-tpe", "optuna-gp"),
    "long": (OURS, "random", "optuna-tpe", "botorch-turbo"),
}


@dataclass(frozen=True)
class Budget:
    """What a task gets: evaluations after its starting points, and seeds.

    `starts` is None where the task keeps its own number. `pool` says that its space is a pool,
    in which not every rival takes part, `whole` that shorter runs do not count, `related` that an
    earlier form of the task had a part in choosing our defaults, or that a development task is
    its twin; rivals that are `too_slow`, with a third of an hour a run, are left out.
    """

    evaluations: int
    seeds: int = 10
    starts: int | None = None
    pool: bool = False
    whole: bool = False
    related: bool = False
    too_slow: tuple[str, ...] = ()

    def iterations(self, batch: int) -> int:
        """Return how many batches come nearest to the evaluations.

        Example:
            >>> Budget(evaluations=30).iterations(4)
            8
        """
        return max(1, round(self.evaluations / batch))


SUITES: dict[str, dict[str, Budget]] = {
    "development": {
        "branin": Budget(60, starts=10),
        "hartmann6": Budget(60, starts=10),
        "rosenbrock8": Budget(60, starts=10),
        "ackley10": Budget(60, starts=10),
        "levy10": Budget(60, starts=10),
        "michalewicz10": Budget(60, starts=10),
        "mixed_a": Budget(60, starts=10),
        "mixed_b": Budget(60),
        "categorical_a": Budget(60, starts=10),
        "categorical_b": Budget(60, starts=10),
        "svm": Budget(60, starts=10),
        "trees": Budget(60, starts=10),
        "mlp": Budget(60, starts=10),
        "digits": Budget(60, starts=10, pool=True),
        "pushing": Budget(120),
    },
    "report": {
        "lunar": Budget(100, seeds=5),
        "rover": Budget(120),
        "forest": Budget(60),
        "boosting": Budget(20, seeds=5),
        "images": Budget(40, seeds=5, pool=True, too_slow=("botorch-qlognei",)),
        "ackley20": Budget(120, related=True),
    },
    "further": {
        "rastrigin8": Budget(60, starts=10, related=True),
        "styblinski8": Budget(60, starts=10, related=True),
        "griewank12": Budget(60, starts=10, related=True),
        "ellipsoid15": Budget(60, starts=10, related=True),
        "levy6": Budget(60, starts=10, related=True),
        "ackley12": Budget(60, starts=10, related=True),
        "rosenbrock6": Budget(60, starts=10, related=True),
        "zakharov8": Budget(60, starts=10),
        "noisy_hartmann6": Budget(60, starts=10, related=True),
        "noisy_levy10": Budget(60, starts=10, related=True),
        "mixed_c": Budget(60, starts=10, related=True),
        "ridges6": Budget(60, starts=10),
        "ridges12": Budget(60, starts=10),
        "path10": Budget(60, starts=10, related=True),
        "path20": Budget(120, related=True),
        "pendulum": Budget(100, related=True),
        "cartpole": Budget(60, starts=10, related=True),
        "rocket": Budget(100, related=True),
        "neighbours": Budget(60, starts=10),
        "extra_trees": Budget(60, starts=10),
    },
    "long": {
        "pushing": Budget(240, seeds=5, whole=True),
        "rover": Budget(240, seeds=5, whole=True),
        "lunar": Budget(300, seeds=5, whole=True),
    },
}
QUICK_SUITE = {
    name: replace(SUITES["development"][name], evaluations=12, seeds=2)
    for name in ("branin", "hartmann6", "categorical_a", "svm")
}
QUICK_METHODS = (OURS, "random", "optuna-tpe", "optuna-gp", "botorch-turbo")
# A long run starts like the others of its task: the first suite that names a task says how.
_BUDGETS = {name: b for suite in reversed(SUITES.values()) for name, b in suite.items()}


def suite_task(name: str, seed: int) -> Problem:
    """Make a task with as many starting points as its suite gives it."""
    problem, budget = task(name, seed), _BUDGETS.get(name)
    if budget is None or budget.starts is None:
        return problem
    return replace(problem, initial=budget.starts)


def can_search(method: str, budget: Budget) -> bool:
    """Return whether a method can search a task's space."""
    return not budget.pool or method not in RIVALS or RIVALS[method].pools


def is_run(method: str, budget: Budget) -> bool:
    """Return whether a method is run on a task."""
    return can_search(method, budget) and method not in budget.too_slow


def planned(suite: str, batch: int) -> tuple[str, ...]:
    """Return the methods that a suite is run with at a batch size, unless others are asked for."""
    if suite in IN_BATCHES:
        return IN_BATCHES[suite] if batch > 1 else ()
    return METHODS


def named(method: str, batch: int) -> str:
    """Return the name of a method's runs at a batch size."""
    return method if batch == 1 else f"{method}@{batch}"


def runs(
    tasks: dict[str, Budget],
    methods: Sequence[str],
    batches: Iterable[int],
    seeds: int | None = None,
) -> list[Run]:
    """Return the runs of a comparison, seed by seed: a part of them is already a comparison."""
    most = max((b.seeds for b in tasks.values()), default=0) if seeds is None else seeds
    return [
        Run(name, named(method, batch), seed, budget.iterations(batch))
        for seed in range(most)
        for name, budget in tasks.items()
        if seed < (budget.seeds if seeds is None else seeds)
        for batch in batches
        for method in methods
        if is_run(method, budget)
    ]

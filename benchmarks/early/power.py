"""How many tasks and seeds it takes to see a difference.

Outcomes of a comparison, wins or differences of scores, vary between tasks and between the seeds
of a task. A mean over T tasks with S seeds each has the variance

    (between + within / S) / T,

so that seeds help only until tasks vary more than seeds do.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

DIFFERENCE = 0.03
_LEVEL, _POWER = 0.05, 0.8


@dataclass(frozen=True)
class Spread:
    """Variances of an outcome: between tasks, and between the seeds of a task.

    Example:
        >>> Spread(between=0.02, within=0.2).error(tasks=40, seeds=10)
        0.0316...
    """

    between: float
    within: float

    @classmethod
    def of(cls, outcomes: Mapping[str, Sequence[float]]) -> "Spread":
        """Estimate both variances from outcomes by task, one number for each seed.

        What tasks vary beyond the part that seeds explain is between them. Tasks need at least
        two seeds for that.
        """
        several = [np.asarray(o, float) for o in outcomes.values() if len(o) > 1]
        if len(several) < 2:
            raise ValueError(
                "Power needs at least two tasks with two seeds each, got "
                f"{len(several)}: run more seeds."
            )
        freedom = sum(len(o) - 1 for o in several)
        within = sum(float(np.sum((o - o.mean()) ** 2)) for o in several) / freedom
        means = np.array([o.mean() for o in several])
        explained = within * float(np.mean([1 / len(o) for o in several]))
        return cls(max(0.0, float(means.var(ddof=1)) - explained), within)

    def error(self, tasks: int, seeds: int) -> float:
        """Return the standard error of a mean over so many tasks and seeds."""
        return math.sqrt((self.between + self.within / seeds) / tasks)

    def tasks_needed(
        self, difference: float, seeds: int, *, comparisons: int = 1, power: float = _POWER
    ) -> int:
        """Return how many tasks show a difference with this power, two-sided at 5 %.

        Args:
            difference: Of the mean from what it would be by chance.
            seeds: Of each task.
            comparisons: Among how many rivals the level is shared.
            power: How likely the difference is to be seen.
        """
        factor = _factor(comparisons, power)
        return math.ceil((factor / difference) ** 2 * (self.between + self.within / seeds))

    def detectable(
        self, tasks: int, seeds: int, *, comparisons: int = 1, power: float = _POWER
    ) -> float:
        """Return the smallest difference that so many tasks and seeds show with this power."""
        return _factor(comparisons, power) * self.error(tasks, seeds)


def _factor(comparisons: int, power: float) -> float:
    """Return how many standard errors a difference needs to have."""
    from scipy import stats  # here, because importing it takes long

    return float(stats.norm.ppf(1 - _LEVEL / comparisons / 2) + stats.norm.ppf(power))


def statement(what: str, spread: Spread, tasks: int, comparisons: int) -> list[str]:
    """Return how many tasks a difference of 0.03 needs, and what so many tasks can show."""
    between, within = math.sqrt(spread.between), math.sqrt(spread.within)
    needed = ", ".join(
        f"{spread.tasks_needed(DIFFERENCE, seeds, comparisons=comparisons)} tasks x {seeds} seeds"
        for seeds in (1, 3, 10)
    )
    shown = spread.detectable(tasks, 10, comparisons=comparisons)
    return [
        f"{what}: deviation {between:.3f} between tasks, {within:.3f} between seeds; a difference "
        f"of {DIFFERENCE} needs {needed}",
        f"    (5 % shared among {comparisons}, power {_POWER:.0%}); {tasks} tasks x 10 seeds show "
        f"{shown:.3f}",
    ]

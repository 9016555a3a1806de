"""One evaluation of a search, and what is said of many: which is best, which way is better."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from thomax.support.types import Params

State = Literal["pending", "complete", "failed", "dropped"]
Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Trial:
    """One evaluation: the point that was proposed, and the result.

    Args:
        number: The position of the trial in its search, counted from 0.
        params: The point, a value for each active parameter.
        value: The observed value; only a complete trial has one.
        state: "pending" until the result is known, then "complete", "failed" or "dropped"
            (given up before it ended).
        error: Why a failed trial has no value.
        given: What `ask(given=...)` had fixed when the point was proposed.

    Examples:
        >>> Trial(number=0, params={"x": 0.5}).state
        'pending'
        >>> Trial(0, {"x": 0.5}, value=-0.25, state="complete").value
        -0.25
    """

    number: int
    params: Params
    value: float | None = None
    state: State = "pending"
    error: str | None = None
    given: Params = field(default_factory=dict)

    def _repr_html_(self) -> str:
        from thomax.storage.notebook import trial_html  # here: it needs this module

        return trial_html(self)


def sign_of(direction: Direction) -> float:
    """Return what values are multiplied by so that larger is better.

    Args:
        direction: Whether large or small values are wanted.

    Examples:
        >>> sign_of("minimize")
        -1.0
    """
    return 1.0 if direction == "maximize" else -1.0


def value_of(trial: Trial) -> float:
    """Return the value of a complete trial.

    Args:
        trial: A trial that has a value.
    """
    assert trial.value is not None, f"trial {trial.number} is {trial.state}: it has no value"
    return float(trial.value)


def ranked(trials: Iterable[Trial], direction: Direction) -> list[Trial]:
    """Return the complete trials, the best first, equal ones in the order of their numbers.

    Args:
        trials: Trials in any state.
        direction: "maximize" if large values are best, "minimize" if small ones are.

    Examples:
        >>> trials = [Trial(n, {}, value, "complete") for n, value in enumerate([2.0, 1.0, 3.0])]
        >>> [t.number for t in ranked(trials, "minimize")]
        [1, 0, 2]
    """
    sign = sign_of(direction)
    return sorted((t for t in trials if t.state == "complete"), key=lambda t: -sign * value_of(t))

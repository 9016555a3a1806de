"""One evaluation of a search, and what is said of many: which is best, which way is better."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from thomax.support.types import Params

State = Literal["pending", "complete", "failed", "dropped", "retracted"]
Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Correction:
    """What a finished trial was before it was corrected or retracted, and why that was done.

    Args:
        record: The number of the journal's line that changed the trial, `n` in the file.
        state: The state before: "complete", "failed" or "retracted".
        value: The value before, if there was one.
        error: Why there was none.
        why: Why it was changed, if somebody said so.

    Examples:
        >>> Correction(record=9, state="complete", value=0.18, why="two digits swapped").value
        0.18
    """

    record: int
    state: State
    value: float | None = None
    error: str | None = None
    why: str | None = None


@dataclass(frozen=True)
class Trial:
    """One evaluation: the point that was proposed, and the result.

    Args:
        number: The position of the trial in its search, counted from 0.
        params: The point, a value for each active parameter.
        value: The observed value; only a complete trial has one.
        state: "pending" until the result is known, then "complete", "failed" or "dropped"
            (given up before it ended); "retracted" if the result was taken back.
        error: Why a failed trial has no value.
        note: What was remarked when the result was told.
        corrections: What the trial was before each time that it was corrected or retracted.
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
    note: str | None = None
    corrections: tuple[Correction, ...] = ()
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


def state_words(trial: Trial) -> str:
    """Return the state of a trial for a table, with a mark if its result was corrected.

    Args:
        trial: The trial.

    Examples:
        >>> state_words(Trial(0, {}, 0.81, "complete", corrections=(Correction(9, "failed"),)))
        'complete (corrected)'
    """
    is_corrected = trial.corrections and trial.state != "retracted"
    return f"{trial.state} (corrected)" if is_corrected else trial.state


def outcome_words(outcome: Trial | Correction) -> str:
    """Return what came of a trial, now or before a correction, for a table.

    Args:
        outcome: The trial, or what it was.

    Examples:
        >>> outcome_words(Correction(9, "failed", error="leak"))
        'failed: leak'
    """
    if outcome.value is not None:
        return f"{outcome.value:.6g}"
    return f"{outcome.state}: {outcome.error}" if outcome.error else outcome.state


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

"""One evaluation of a search: its point, its state and what was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from thomax.support.types import Params

State = Literal["pending", "complete", "failed", "dropped", "retracted"]
Direction = Literal["maximize", "minimize"]
Values: TypeAlias = Mapping[str, float | None]
Replicates: TypeAlias = Mapping[str, Sequence[float]]
Errors: TypeAlias = Mapping[str, float]


@dataclass(frozen=True)
class Correction:
    """What a finished trial was before it was corrected or retracted, and why that was done.

    Args:
        record: The number of the journal's line that changed the trial, `n` in the file.
        state: The state before: "complete", "failed" or "retracted".
        value: The value before, if there was one.
        error: Why there was none.
        why: Why it was changed, if somebody said so.
        values: The values of all metrics before, as in `Trial.values`.
        replicates: The repeated measurements before, as in `Trial.replicates`.
        noise_std: The known errors before, as in `Trial.noise_std`.

    Examples:
        >>> Correction(record=9, state="complete", value=0.18, why="two digits swapped").value
        0.18
    """

    record: int
    state: State
    value: float | None = None
    error: str | None = None
    why: str | None = None
    values: Values = field(default_factory=dict)
    replicates: Replicates = field(default_factory=dict)
    noise_std: Errors = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """One evaluation: the point that was proposed, and the result.

    Args:
        number: The position of the trial in its search, counted from 0.
        params: The point, a value for each active parameter.
        value: The observed value, of repeated measurements their mean; only a complete trial has
            one. Of a search for several objectives none has.
        state: "pending" until the result is known, then "complete", "failed" or "dropped"
            (given up before it ended); "retracted" if the result was taken back.
        error: Why a failed trial has no value.
        note: What was remarked when the result was told.
        corrections: What the trial was before each time that it was corrected or retracted.
        given: What `ask(given=...)` had fixed when the point was proposed.
        values: The observed value of each metric by its name, None where it is missing; empty
            unless the trial is complete, and where there is one objective without a name.
        replicates: The measurements of each metric of which several were told together, by its
            name; an objective without a name is called "value".
        noise_std: The standard deviation of one measurement of each metric, where it was told.

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
    values: Values = field(default_factory=dict)
    replicates: Replicates = field(default_factory=dict)
    noise_std: Errors = field(default_factory=dict)

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
    if outcome.values:
        return ", ".join(
            f"{name} {'missing' if v is None else f'{v:.6g}'}"
            for name, v in outcome.values.items()
        )
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

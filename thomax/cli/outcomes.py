"""Outcomes of many points: all are recorded or none, and those recorded before are left out."""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from thomax.cli.points import Points
from thomax.cli.texts import shown
from thomax.optimizer import Optimizer
from thomax.storage.metrics import UNNAMED, Metrics
from thomax.storage.outcomes import NoiseStd, Value, mean_of, told
from thomax.storage.trial import Correction, Trial
from thomax.support.types import Params, ParamsLike

_FINISHED = ("complete", "failed", "retracted")


@dataclass(frozen=True)
class Outcome:
    """What came of a trial, given by its number, or of any point, given by its params.

    Args:
        where: How errors name the place of the outcome.
        number: The number of the trial; None for a point that is given by its params.
        value: The observed value, or the values by the names of metrics.
        error: Why there is no value.
        params: The point; beside a number, what was really evaluated.
        columns: The columns that the row has, also where its cell is empty.
        note: A remark on it.
        noise_std: The known standard deviation of one measurement, for metrics by name.
    """

    where: str
    number: int | None
    value: Value
    error: str | None
    params: Params = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    note: str | None = None
    noise_std: NoiseStd = None


@dataclass
class Outcomes:
    """What a file holds.

    Args:
        found: The outcomes.
        blank: How many rows have no outcome yet.
    """

    found: list[Outcome]
    blank: int = 0


@dataclass
class Told:
    """What became of outcomes.

    Args:
        trials: The trials that were recorded.
        before: How many outcomes had been recorded before.
        outdated: How many of them were corrected or retracted since.
        other_notes: How many of them were recorded with another note.
        other_noise: How many of them were recorded with another noise_std.
    """

    trials: list[Trial] = field(default_factory=list)
    before: int = 0
    outdated: int = 0
    other_notes: int = 0
    other_noise: int = 0


def tell_outcomes(
    optimizer: Optimizer,
    outcomes: list[Outcome],
    *,
    as_run: bool = False,
    allow_repeats: bool = False,
) -> Told:
    """Record all outcomes, or none if one is wrong; leave out those recorded before.

    Args:
        optimizer: The search.
        outcomes: What to record.
        as_run: Whether a trial may be recorded with other params than it was proposed with.
        allow_repeats: Whether a point is recorded once more with a value that it has already.
    """
    teller = _Teller(optimizer, as_run, allow_repeats)
    for outcome in outcomes:
        params = teller.points.canonical(outcome.where, outcome.params)
        try:
            teller.take(replace(outcome, params=params))
        except ValueError as error:
            raise ValueError(f"{outcome.where}: {error} Nothing was recorded.") from None
    teller.done.trials = optimizer.tell_all(teller.chosen, as_run=as_run)
    return teller.done


class _Teller:
    """Sort outcomes into those to record and those that the search has already."""

    def __init__(self, optimizer: Optimizer, as_run: bool, allow_repeats: bool) -> None:
        self.points, self._metrics = Points(optimizer.space), optimizer.metrics
        self._trials = {t.number: t for t in optimizer.trials}
        self._as_run = as_run
        self._taken: set[int] = set()
        told = [] if allow_repeats else [t for t in self._trials.values() if t.state in _FINISHED]
        self._recorded = Counter(_identity(t.params, _result(t)) for t in told)
        # What was corrected or retracted still stands in the table that it came from.
        self._outdated = Counter(
            _identity(t.params, _result(c)) for t in told for c in t.corrections
        )
        self._pending: dict[str, list[Trial]] = {}
        for trial in self._trials.values():
            if trial.state == "pending":
                self._pending.setdefault(_identity(trial.params), []).append(trial)
        self.chosen: list[tuple[Trial | Params, Value, str | None, str | None, NoiseStd]] = []
        self.done = Told()

    def take(self, outcome: Outcome) -> None:
        new = _outcome(outcome, self._metrics)
        target: Trial | Params
        if outcome.number is None:
            params = self.points.complete(outcome.params)
            key = _identity(params, _result(new))
            known = next((c for c in (self._recorded, self._outdated) if c[key] > 0), None)
            if is_recorded := known is not None:
                known[key] -= 1
                self.done.outdated += known is self._outdated
            target = params if is_recorded else self._awaited(params)
        else:
            target = trial = self._trial(outcome)
            if is_recorded := trial.state in _FINISHED:
                self.done.outdated += _is_outdated(trial, new)
                self.done.other_notes += outcome.note not in (None, trial.note)
                self.done.other_noise += new.noise_std not in ({}, trial.noise_std)
        if is_recorded:
            self.done.before += 1
        else:
            told = (target, outcome.value, outcome.error, outcome.note, outcome.noise_std)
            self.chosen.append(told)

    def _awaited(self, params: Params) -> Trial | Params:
        """Return the first trial that waits for this point, or the point if none does."""
        waiting = self._pending.get(_identity(params), [])
        trial = next((t for t in waiting if t.number not in self._taken), None)
        if trial is None:
            return params
        self._taken.add(trial.number)
        return trial

    def _trial(self, outcome: Outcome) -> Trial:
        trial = self._trials.get(outcome.number or 0)
        if trial is None or trial.number in self._taken or trial.state == "dropped":
            pending = [t.number for t in self._trials.values() if t.state == "pending"]
            left = [n for n in pending if n not in self._taken]
            raise ValueError(
                f"trial {outcome.number} needs to be pending, and told once; "
                f"pending are {left or 'none'}."
            )
        self._taken.add(trial.number)
        different = self.points.differences(trial.params, outcome.params)
        if not different:
            return trial
        if self._as_run and trial.state == "pending":
            params = self.points.complete(outcome.params, outcome.columns, trial.params)
            return Trial(trial.number, params)
        asked = {name: trial.params.get(name, "nothing") for name in different}
        way_on = (
            "mend the row, or give --as-run to record what the row says was run."
            if trial.state == "pending"
            else "it was recorded so before."
        )
        raise ValueError(
            f"trial {trial.number} was proposed with {shown(asked)}, but the row has "
            f"{shown(different)}: {way_on}"
        )


def _identity(params: ParamsLike, *result: object) -> str:
    return repr((sorted(params.items()), *result))  # repr: True is another choice than 1


def _outcome(outcome: Outcome, metrics: Metrics) -> Correction:
    """Return what a trial would come to, checked."""
    record: dict[str, Any] = told(outcome.value, outcome.error, outcome.noise_std, metrics=metrics)
    if record["error"] is not None:
        return Correction(0, "failed", error=record["error"])
    raw = record["values"] if "values" in record else {UNNAMED: record["value"]}
    values = {name: mean_of(each) for name, each in raw.items()}
    repeated = {
        name: tuple(v for v in each if v is not None)
        for name, each in raw.items()
        if isinstance(each, list)
    }
    std = record.get("noise_std", {})
    return Correction(
        0,
        "complete",
        values.get(UNNAMED) if metrics.is_plain else None,
        values={} if metrics.is_plain else values,
        replicates=repeated,
        noise_std={UNNAMED: std} if isinstance(std, float) else std,
    )


def _result(outcome: Trial | Correction) -> tuple[object, ...]:
    """Return what is compared of an outcome: all measurements, or the reason why there are none.

    A known error belongs to the values it was told with: without it they are the same values.
    """
    known = outcome.values or ({} if outcome.value is None else {UNNAMED: outcome.value})
    measured = {name: outcome.replicates.get(name, (value,)) for name, value in known.items()}
    return tuple(sorted(measured.items())), outcome.error


def _is_outdated(trial: Trial, new: Correction) -> bool:
    """Return whether an outcome was that of the trial before a correction, or refuse another."""
    if trial.state != "retracted" and _result(trial) == _result(new):
        return False
    if any(_result(c) == _result(new) for c in trial.corrections):
        return True
    was = "retracted" if trial.state == "retracted" else f"recorded with {_words(trial)}"
    raise ValueError(
        f"trial {trial.number} needs to be pending, and told once; it is {was}, "
        f"and the row has {_words(new)}. If the row is right: "
        f"thomax correct JOURNAL {trial.number} {_as_typed(new)}."
    )


def _words(outcome: Trial | Correction) -> str:
    if outcome.values:
        return f"the values {_as_typed(outcome)}"
    several = outcome.replicates.get(UNNAMED)
    if several is not None:
        return f"the values {_as_typed(outcome)}"
    return (
        f"the error {outcome.error!r}" if outcome.value is None else f"the value {outcome.value}"
    )


def _as_typed(outcome: Trial | Correction) -> str:
    """Return an outcome as `thomax correct` takes it."""
    values = outcome.values or ({} if outcome.value is None else {UNNAMED: outcome.value})
    texts = {
        name: ",".join(map(repr, outcome.replicates.get(name, (math.nan if v is None else v,))))
        for name, v in values.items()
    }
    if not texts:
        return "--failed ..."
    return " ".join(f"{name}={text}" if outcome.values else text for name, text in texts.items())

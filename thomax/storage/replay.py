"""What an optimiser's records add up to: trials, and points to propose next.

Records:
    {"ask": number, "params": {...}}                  a point was proposed; "given" beside them is
                                                      what was fixed at the ask, if anything was
    {"tell": number, "value": v | null, "error": e}   its value, or why there is none; repeated
                                                      measurements are a list
    {"tell": number, "values": {...}, "error": null}  its values of several metrics, by name
    {"add": number, "params": {...}, "value": ...}    a value of a point never asked for
    {"enqueue": {...}}                                a point to propose next
    {"drop": number}                                  an unfinished trial given up
    {"correct": number, "value": ..., "error": e}     a finished trial has another result from here
    {"retract": number}                               nothing is learnt from a finished trial
    {"all": [record, ...]}                            several of these at once: one line, so that
                                                      a crash leaves all of them or none

The `params` of a tell are there only where another point was evaluated than the one asked for.
Where somebody made a remark, a tell and an add have a `note`, a correct and a retract a `why`.
`noise_std` is the known standard deviation of one measurement: of metrics a dict, by name.
"""

import reprlib
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TypedDict

from thomax.storage.metrics import PLAIN, UNNAMED, Metrics, require_metrics
from thomax.storage.outcomes import mean_of
from thomax.storage.records import Record
from thomax.storage.trial import Correction, Errors, Replicates, State, Trial, Values
from thomax.support.types import Json, Params
from thomax.support.user_warnings import warn

_LARGEST = sys.float_info.max


class History:
    """What the records of a search add up to, changed by records and nothing else.

    Args:
        records: The records so far.
        metrics: What they have values of.

    Examples:
        >>> history = History([{"ask": 0, "params": {"x": 1}}, {"tell": 0, "value": 2.0}])
        >>> history.trials[0].state
        'complete'
    """

    def __init__(self, records: Iterable[Record] = (), metrics: Metrics = PLAIN) -> None:
        self.metrics = metrics
        self.trials: dict[int, Trial] = {}
        self.queue: list[Params] = []  # enqueued points, the next one first
        self.count = 0  # of the records that were applied to their end
        for record in records:
            self.apply(record)

    @property
    def told(self) -> list[Trial]:
        """The trials that there is something to learn from: complete and failed ones."""
        return self.listed("complete", "failed")

    @property
    def taken(self) -> list[Trial]:
        """The trials whose points are not to be proposed again: all but retracted ones."""
        return self.listed("pending", "complete", "failed", "dropped")

    @property
    def next_number(self) -> int:
        """The number that the next trial will have."""
        return next(reversed(self.trials), -1) + 1

    def listed(self, *states: State) -> list[Trial]:
        """Return the trials in these states, or all of them, in the order of their numbers.

        Args:
            *states: The states that are wanted; all if there are none.
        """
        trials = [*self.trials.values()]  # at once: another thread may add to them meanwhile
        return [t for t in trials if not states or t.state in states]

    def apply(self, record: Record) -> Trial | None:
        """Change the state as the record says, and return the trial it is about, if it is one.

        Args:
            record: One of the records that the module describes.
        """
        trial = self._apply(record)
        self.count += 1  # last: whoever compares it finds that Ctrl-C came before
        return trial

    def _apply(self, record: Record) -> Trial | None:
        trial = self._usual(record)
        if trial is not None:
            self.trials[trial.number] = trial
            return trial
        require_sound(record)
        match record:
            case {"all": _}:
                for each in together(record):
                    self._apply(each)
                return None
            case {"enqueue": dict(params)}:
                self.queue.append(params)
                return None
            case {"ask": int(number), "params": dict(params), "given": dict(given)}:
                trial = Trial(number, params, given=given)
                if params in self.queue:  # enqueued points that do not fit what is given wait
                    self.queue.remove(params)
            case {"ask": int(number), "params": dict(params)}:
                trial = Trial(number, params)
                if self.queue[:1] == [params]:
                    self.queue.pop(0)
            case {"add": int(number), "params": dict(params)}:
                trial = _finished(Trial(number, params), record, self.metrics)
            case {"tell": int(number)} if number in self.trials:
                trial = _finished(self.trials[number], record, self.metrics)
            case {"drop": int(number)} if number in self.trials:
                trial = replace(self.trials[number], state="dropped")
            case {"correct": int(number)} if number in self.trials:
                trial = _finished(self._changed(number, record), record, self.metrics)
            case {"retract": int(number)} if number in self.trials:
                gone = self._changed(number, record)
                trial = replace(gone, state="retracted", error=None, **_NOTHING)
            case {"tell": number} | {"drop": number} | {"correct": number} | {"retract": number}:
                # The ask was damaged, and repair left it out.
                warn(f"The params of trial {number} are lost: left it out.")
                return None
            case _:
                raise ValueError(f"unknown record {reprlib.repr(record)}")
        self.trials[trial.number] = trial
        return trial

    def _changed(self, number: int, record: Record) -> Trial:
        """Return the trial with one more correction, which holds what it is now."""
        known, why = self.trials[number], record.get("why")
        assert isinstance(why, str | None)  # `require_sound` has seen to it
        now = Correction(
            self.count + 1, known.state, known.value, known.error, why,
            known.values, known.replicates, known.noise_std,
        )  # fmt: skip
        return replace(known, corrections=(*known.corrections, now))

    def _usual(self, record: Record) -> Trial | None:
        """Return the trial of an ask or of a value told, which nearly all records are.

        They get by with the few checks that concern them; None for any other record.
        """
        match [*record.items()]:
            case [("ask", number), ("params", params)]:
                if type(number) is int and number >= 0 and type(params) is dict and not self.queue:
                    return Trial(number, params)
            case [("tell", number), ("value", value), ("error", None)]:
                known = self.trials.get(number) if type(number) is int else None
                is_plain = known is not None and self.metrics.is_plain
                if is_plain and type(value) is float and abs(value) <= _LARGEST:
                    assert known is not None
                    return Trial(known.number, known.params, value, "complete", given=known.given)
        return None


def together(record: Record) -> list[Record]:
    """Return the records that one record of several holds.

    Args:
        record: A record with the key "all".
    """
    records = record["all"]
    several = records if isinstance(records, list) else []
    found = [each for each in several if isinstance(each, dict) and "all" not in each]
    if len(record) > 1 or records != found:
        raise ValueError(
            f"A record of several needs a list of records, got {reprlib.repr(record)}."
        )
    return found


def require_sound(record: Record) -> None:
    """Refuse what no optimiser writes: a checksum says that a line is whole, not who wrote it.

    Args:
        record: Any record.
    """
    for name in ("ask", "tell", "add", "drop", "correct", "retract"):
        if type(number := record.get(name, 0)) is not int or number < 0:
            raise ValueError(
                f"A record needs a trial's number for {name!r}, got {reprlib.repr(number)}."
            )
    for name in ("params", "given", "enqueue"):
        if not isinstance(params := record.get(name, {}), dict):
            raise ValueError(
                f"A record needs values by name for {name!r}, got {reprlib.repr(params)}."
            )
    for name in ("note", "why"):
        if not isinstance(text := record.get(name), str | None):
            raise ValueError(f"A record needs a text for {name!r}, got {reprlib.repr(text)}.")
    if record.keys() & {"tell", "add", "correct"}:
        _require_sound_outcome(record)


def _require_sound_outcome(record: Record) -> None:
    several, one = record.get("values"), record.get("value", "nothing")
    if "values" in record and not isinstance(several, dict):
        raise ValueError(f"A record needs values by name, got {reprlib.repr(several)}.")
    for value in several.values() if isinstance(several, dict) else [one]:
        measured = value if isinstance(value, list) and value else [value]
        if not all(v is None or _is_finite(v) for v in measured):
            raise ValueError(f"A record needs a finite number or null, got {reprlib.repr(value)}.")
    std = record.get("noise_std")
    for number in std.values() if isinstance(std, dict) else [std]:
        is_std = isinstance(number, int | float) and _is_finite(number) and number >= 0
        if not (number is None or is_std):
            raise ValueError(f"A record needs a noise_std >= 0, got {reprlib.repr(number)}.")
    if not isinstance(error := record.get("error"), str | None):
        raise ValueError(f"A record needs an error of text, got {reprlib.repr(error)}.")


def _is_finite(value: Json) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    )


def _finished(trial: Trial, record: Record, metrics: Metrics) -> Trial:
    """Return the trial with its result, and with the point that was evaluated instead, if any."""
    found = _measured(record, metrics)
    error, params = record.get("error"), record.get("params", trial.params)
    note = record.get("note", trial.note)
    assert isinstance(error, str | None)  # `require_sound` has seen to all three
    assert isinstance(params, dict)
    assert isinstance(note, str | None)
    is_complete = found["value"] is not None or any(
        v is not None for v in found["values"].values()
    )
    state: State = "complete" if is_complete else "failed"
    return replace(trial, params=params, state=state, error=error, note=note, **found)


class _Measured(TypedDict):
    """The fields of a trial that hold what was measured."""

    value: float | None
    values: Values
    replicates: Replicates
    noise_std: Errors


_NOTHING: _Measured = {"value": None, "values": {}, "replicates": {}, "noise_std": {}}


def _measured(record: Record, metrics: Metrics) -> _Measured:
    """Return what was measured, the lists of repeated measurements with it."""
    several = record.get("values")
    raw = several if isinstance(several, dict) else {UNNAMED: record["value"]}
    if metrics.is_plain is isinstance(several, dict) and any(v is not None for v in raw.values()):
        raise ValueError(f"a search of {metrics} has other records than {reprlib.repr(record)}")
    if isinstance(several, dict):
        require_metrics("A record", several, metrics)
    values = {name: mean_of(raw.get(name)) for name in metrics.names}
    if all(value is None for value in values.values()):
        return _NOTHING
    replicates = {
        name: tuple(v for v in each if isinstance(v, int | float))
        for name, each in raw.items()
        if isinstance(each, list)
    }
    std = record.get("noise_std")
    stds = std if isinstance(std, dict) else {} if std is None else {UNNAMED: std}
    known = {name: float(v) for name, v in stds.items() if isinstance(v, int | float)}
    only = metrics.only
    return {
        "value": None if only is None else values[only],
        "values": {} if metrics.is_plain else values,
        "replicates": replicates,
        "noise_std": known,
    }

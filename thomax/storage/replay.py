"""What an optimiser's records add up to: trials, and points to propose next.

Records:
    {"ask": number, "params": {...}}                  a point was proposed; "given" beside them is
                                                      what was fixed at the ask, if anything was
    {"tell": number, "value": v | null, "error": e}   its value, or why there is none
    {"add": number, "params": {...}, "value": ...}    a value of a point never asked for
    {"enqueue": {...}}                                a point to propose next
    {"drop": number}                                  an unfinished trial given up
    {"correct": number, "value": ..., "error": e}     a finished trial has another result from here
    {"retract": number}                               nothing is learnt from a finished trial
    {"all": [record, ...]}                            several of these at once: one line, so that
                                                      a crash leaves all of them or none

The `params` of a tell are there only where another point was evaluated than the one asked for.
Where somebody made a remark, a tell and an add have a `note`, a correct and a retract a `why`.
"""

import reprlib
import sys
from collections.abc import Iterable
from dataclasses import replace

from thomax.storage.records import Record
from thomax.storage.trial import Correction, State, Trial
from thomax.support.types import Json, Params
from thomax.support.user_warnings import warn

_LARGEST = sys.float_info.max


class History:
    """What the records of a search add up to, changed by records and nothing else.

    Args:
        records: The records so far.

    Examples:
        >>> history = History([{"ask": 0, "params": {"x": 1}}, {"tell": 0, "value": 2.0}])
        >>> history.trials[0].state
        'complete'
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
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
                trial = _finished(Trial(number, params), record)
            case {"tell": int(number)} if number in self.trials:
                trial = _finished(self.trials[number], record)
            case {"drop": int(number)} if number in self.trials:
                trial = replace(self.trials[number], state="dropped")
            case {"correct": int(number)} if number in self.trials:
                trial = _finished(self._changed(number, record), record)
            case {"retract": int(number)} if number in self.trials:
                gone = self._changed(number, record)
                trial = replace(gone, value=None, state="retracted", error=None)
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
        now = Correction(self.count + 1, known.state, known.value, known.error, why)
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
                if known is not None and type(value) is float and abs(value) <= _LARGEST:
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
        value, error = record.get("value", "nothing"), record.get("error")
        if not (value is None or _is_finite(value)):
            raise ValueError(f"A record needs a finite number or null, got {reprlib.repr(value)}.")
        if not isinstance(error, str | None):
            raise ValueError(f"A record needs an error of text, got {reprlib.repr(error)}.")


def _is_finite(value: Json) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    )


def _finished(trial: Trial, record: Record) -> Trial:
    """Return the trial with its result, and with the point that was evaluated instead, if any."""
    value, error, params = record["value"], record.get("error"), record.get("params", trial.params)
    note = record.get("note", trial.note)
    assert isinstance(value, int | float | None)  # `require_sound` has seen to all four
    assert isinstance(error, str | None)
    assert isinstance(params, dict)
    assert isinstance(note, str | None)
    state: State = "failed" if value is None else "complete"
    return replace(trial, params=params, value=value, state=state, error=error, note=note)

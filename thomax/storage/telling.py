"""One more value for a long journal, without reading all of it: see `thomax.storage.index`."""

from collections.abc import Iterable
from pathlib import Path

from thomax.storage.headers import missing_from, search_header
from thomax.storage.journal import Journal
from thomax.storage.outcomes import NoiseStd, Value, remark, told
from thomax.storage.records import Record
from thomax.storage.replay import require_sound, together


def tell_pending(
    path: Path,
    number: int,
    value: Value,
    error: str | None,
    note: str | None = None,
    noise_std: NoiseStd = None,
) -> bool:
    """Record the outcome of a pending trial, if an index tells that this is all there is to do.

    Args:
        path: The journal.
        number: The trial.
        value: Its value, or its values by the names of metrics; None or NaN if it failed.
        error: Why it failed.
        note: A remark on it.
        noise_std: The known standard deviation of one measurement, for metrics by name.

    Returns:
        Whether it was recorded; if not, nothing was changed, and opening the journal tells more.
    """
    opened = Journal.open_at_end(path) if path.is_file() else None
    if opened is None:
        return False
    journal, index = opened
    with journal:
        state = _Pending(index.pending, index.next_number)
        if not state.follow(journal.records) or number not in state.numbers:
            return False
        if not _are_in_space(journal, state.points):
            return False
        metrics = search_header(journal.path, journal.header).metrics
        outcome = told(value, error, noise_std, metrics=metrics)
        journal.append({"tell": number, **outcome, **remark("tell", "note", note)})
        del state.numbers[number]
        journal.write_index([*state.numbers], state.next_number)
    return True


class _Pending:
    """Which trials are pending, and the points that came since an index was made."""

    def __init__(self, numbers: Iterable[int], next_number: int) -> None:
        self.numbers = dict.fromkeys(numbers)
        self.next_number = next_number
        self.points: list[Record] = []

    def follow(self, records: Iterable[Record]) -> bool:
        """Follow these records; return whether all are as an optimiser writes them."""
        try:
            return all(map(self._follow, records))
        except ValueError:
            return False

    def _follow(self, record: Record) -> bool:
        require_sound(record)
        match record:
            case {"all": _}:
                return all(map(self._follow, together(record)))
            case {"enqueue": dict(params)}:
                pass
            case {"ask": int(number), "params": dict(params)} if number == self.next_number:
                self.numbers[number] = None
                self.next_number += 1
            case {"add": int(number), "params": dict(params)} if number == self.next_number:
                self.next_number += 1
            case {"tell": int(number)} | {"drop": int(number)} if number in self.numbers:
                del self.numbers[number]
                params = found if isinstance(found := record.get("params"), dict) else {}
            case _:
                return False
        if params:
            self.points.append(params)
        return True


def _are_in_space(journal: Journal, points: list[Record]) -> bool:
    """Return whether the space has all these points; False also where only its user can tell."""
    description = search_header(journal.path, journal.header).space
    if missing_from(description, with_objects=False) is not None:
        return False
    if not points:
        return True
    from thomax.space.space import Space  # NumPy, which telling does without

    try:
        Space.from_description(description).encode(points)
    except (ValueError, TypeError):
        return False
    return True

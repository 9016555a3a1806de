"""The memory of a search: trials, and an append-only file of JSON lines.

Line 1 is the header, record 0; `thomax.lines` describes how a line looks.

What a reader may rely on:
    A record whose `append` returned is on the disk, and no later failure takes it away.
    Only the last line can be half-written (a crash); opening moves it to `<path>.torn`,
    also if it was damaged later, which nothing tells apart.
    A file that was replaced, removed or cut while it was open is not written to any more.
    Anything else is damage: a wrong checksum, or an `n` that is not one more than the `n`
    before it (a line lost, copied or moved). Damage stops the opening and changes nothing;
    `thomax.repair` is the explicit way on.
"""

import contextlib
import errno
import json
import os
import reprlib
import shutil
import stat
import warnings
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

from thomax.lines import BOM, MAX_LINE, Line, Record, decode, encode, pieces, scan, strict_json
from thomax.notebook import trial_html

try:
    import fcntl
except ImportError:  # Windows: there, one writer at a time is up to the user
    fcntl = None  # type: ignore[assignment]

FORMAT = "thomax-journal"
VERSION = 1


State = Literal["pending", "complete", "failed", "dropped"]


@dataclass(frozen=True)
class Trial:
    """Hold one evaluation: what was asked, and what came of it.

    Only a complete trial has a value. A failed one has an `error` that says why; a dropped one
    was given up before it ended.

    Example:
        >>> Trial(number=0, params={"x": 0.5}).state
        'pending'
        >>> Trial(0, {"x": 0.5}, value=-0.25, state="complete").value
        -0.25
    """

    number: int
    params: dict[str, Any]
    value: float | None = None
    state: State = "pending"
    error: str | None = None

    def _repr_html_(self) -> str:
        return trial_html(self)


class JournalInUseError(RuntimeError):
    """Another optimizer or process holds the journal."""


class Journal:
    """Append records to a file that survives crashes, full disks and second writers.

    Made by `open` (locked: one writer at a time) or by `read` (a snapshot, never locked).
    Use it from one thread at a time; a forked child finds its copy closed.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/run.jsonl"
        >>> with Journal.open(path, {"seed": 0}) as journal:
        ...     journal.append({"event": "ask", "number": 0})
        >>> Journal.read(path).records
        [{'event': 'ask', 'number': 0}]
    """

    def __init__(self, path: Path, header: Record, fd: int, fsync: bool = True) -> None:
        self.path, self.header = path, header
        self.records: list[Record] = []
        self._fd, self._fsync = fd, fsync
        self._place = path.absolute()  # wherever the process goes
        self._end = 0  # where the next line goes
        # Closing the file is what unlocks it, so a forgotten journal must close itself.
        self._release = weakref.finalize(self, os.close, fd)
        _live.add(self)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        header: Record,
        fsync: bool = True,
        fresh: Record | None = None,
    ) -> Self:
        """Create the journal of the search that `header` describes, or continue it.

        A new journal also gets what `fresh` says; one that exists keeps its own. Without `fsync`
        appending is faster, and a power cut may take the latest records.
        """
        header, path = complete_header(header | (fresh or {})), Path(path)
        journal = cls(path, header, open_locked(path, os.O_RDWR | os.O_CREAT), fsync)
        try:
            journal._continue_or_start([*(fresh or {})])
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return what the journal holds now, without locking or changing it."""
        with cls(Path(path), {}, os.open(path, os.O_RDONLY | _BINARY)) as journal:
            records, _, tail = _load(journal.path, journal._fd)
        if not records:
            raise ValueError(_no_journal(journal.path))
        if tail.endswith(b"\n"):  # else somebody may be writing it
            warnings.warn(
                f"Journal {path} ends in a damaged line, which is left out.", stacklevel=2
            )
        journal.header, *journal.records = records
        return journal

    def append(self, record: Record) -> None:
        """Write the record: it is safe once this returns, and absent if this raises."""
        if not self._release.alive:
            raise ValueError(
                f"Journal {self.path} must be open to append, got one that is closed or comes"
                " from `read`. Open it again, with Optimizer(..., journal=...) or Journal.open,"
                " in the process that appends."
            )
        line = encode(len(self.records) + 1, record)
        entry = decode(line)
        if entry is None or entry.record != record:
            raise ValueError(
                "A journal record must be a dict that JSON gives back unchanged, got"
                f" {reprlib.repr(record)}. Use lists for tuples, and text for keys."
            )
        if not self._is_in_place():
            raise RuntimeError(
                f"Journal {self.path} must stay as it is while it is open, got a file that was"
                " replaced, removed or cut short: this record was not written, nor would anybody"
                " find it there. Open the journal again, and tell it what it lacks; the optimizer"
                " still has all trials."
            )
        self._write(line, [entry.record])

    def close(self) -> None:
        """Release the file and its lock; closing twice is fine."""
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_in_place(self) -> bool:
        own = os.fstat(self._fd)
        try:
            is_found = os.path.samestat(own, self._place.stat())
        except OSError:
            is_found = own.st_nlink > 0  # moved, perhaps with its folder
        return is_found and own.st_size >= self._end

    def _continue_or_start(self, fresh: list[str]) -> None:
        records, self._end, tail = _load(self.path, self._fd)
        if not records:
            self._start()
            return
        self.header |= {name: records[0][name] for name in fresh if name in records[0]}
        require_same_search(self.path, records[0], self.header)
        self.records = records[1:]
        if self._end < os.fstat(self._fd).st_size:
            _move_torn_tail(self.path, self._fd, self._end, tail)
        os.lseek(self._fd, self._end - 1, os.SEEK_SET)
        if os.read(self._fd, 1) != b"\n":  # the crash took nothing but the line's end
            self._write(b"\n", [])

    def _start(self) -> None:
        line = encode(0, self.header)
        os.lseek(self._fd, 0, os.SEEK_SET)
        if not line.startswith(os.read(self._fd, len(line) + 1)):  # no creation cut short either
            raise ValueError(_no_journal(self.path))
        os.ftruncate(self._fd, 0)
        self._write(line, [])
        fsync_folder(self.path)

    def _write(self, line: bytes, kept: list[Record]) -> None:
        """Write the whole line and take note of it, or do neither, also on Ctrl-C."""
        count, end = len(self.records), self._end
        try:
            os.lseek(self._fd, end, os.SEEK_SET)
            if os.write(self._fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._fsync:
                os.fsync(self._fd)
            self.records += kept
            self._end = end + len(line)  # last: whatever fails before leaves it alone
        except BaseException as error:
            del self.records[count:]
            with contextlib.suppress(OSError):  # else the next line overwrites the leftover
                os.ftruncate(self._fd, end)
            if not isinstance(error, OSError):
                raise
            raise OSError(
                error.errno,
                f"Journal {self.path} could not be written ({error.strerror}). This record is not"
                " in it, all earlier ones are. Make room, then append the record again.",
            ) from error


# Reading


def _load(path: Path, fd: int) -> tuple[list[Record], int, bytes]:
    """Return header and records, where they end, and the torn last line that may follow there."""
    records: list[Record] = []
    end, tail = 0, b""
    with os.fdopen(fd, "rb", closefd=False) as file:
        lines = scan(file)
        for line in lines:
            if not line.entry and _is_torn_tail(line, lines):
                tail = line.raw
                break
            if not line.entry and not records and not _holds_records(file):
                raise ValueError(_no_journal(path))
            if not line.entry or line.entry.n != len(records):
                raise ValueError(
                    f"Journal {path} is damaged at line {line.number} (byte {line.offset}):"
                    f" {_problem(line, len(records))}. Nothing was changed."
                    f" Run thomax.repair({str(path)!r}), or `thomax repair`, to keep every intact"
                    " record."
                )
            if not records:
                require_known_format(path, line.entry.record)
            records.append(line.entry.record)
            end = line.offset + len(line.raw)
    return records, end, tail


def _holds_records(file: BinaryIO) -> bool:
    return any(any(pieces(line)) for line in scan(file))


def _is_torn_tail(line: Line, rest: Iterator[Line]) -> bool:
    """Tell whether this broken line is all that is left, with no intact record inside it."""
    previous = b""
    for part in chain([line], rest):
        if previous.endswith(b"\n") or any(pieces(part)):
            return False
        previous = part.raw
    return True


def _problem(line: Line, expected: int) -> str:
    if line.entry:
        return f"record {line.entry.n} stands where record {expected} belongs"
    if line.raw.startswith(BOM):
        return "a byte-order mark was put before it, probably by a text editor"
    if len(line.raw) >= MAX_LINE:
        return f"it is longer than {MAX_LINE} bytes"
    if line.number == 1:
        return "it is not the header of a thomax journal"
    return "its checksum does not match its content"


def _move_torn_tail(path: Path, fd: int, end: int, tail: bytes) -> None:
    torn = path.with_name(path.name + ".torn")
    os.lseek(fd, end, os.SEEK_SET)
    try:
        with os.fdopen(fd, "rb", closefd=False) as file, torn.open("ab") as target:
            shutil.copyfileobj(file, target)
            flush(target)
    except OSError as error:
        raise OSError(
            error.errno,
            f"Journal {path} ends in a half-written line, and that could not be moved to {torn}"
            f" ({error.strerror}). No record was lost. Make room, or allow writing to the folder,"
            " then open the journal again.",
        ) from error
    kind = "damaged" if tail.endswith(b"\n") else "half-written"
    size = os.fstat(fd).st_size - end
    os.ftruncate(fd, end)
    os.fsync(fd)
    warnings.warn(
        f"Journal {path} ended in a {kind} line: moved its {size} bytes to {torn}.",
        stacklevel=4,
    )


# Headers


def complete_header(header: Record) -> Record:
    """Return the header as it stands in the file."""
    plain: Record = json.loads(strict_json(header))
    return {"format": FORMAT, "version": VERSION, **plain}


def _no_journal(path: Path) -> str:
    return (
        f"{path} must be a thomax journal, got a file without an intact header."
        " Give another path, or remove the file if it holds nothing of value."
    )


def require_known_format(path: Path, header: Record) -> None:
    """Refuse what another program or a newer thomax wrote."""
    version = header.get("version")
    if header.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ValueError(_no_journal(path))
    if version > VERSION:
        raise ValueError(
            f"Journal {path} was written by a newer thomax (journal version {version},"
            f" this one reads up to {VERSION}): upgrade thomax."
        )


def require_same_search(path: Path, stored: Record, wanted: Record) -> None:
    """Refuse to continue one search with the settings of another."""
    if not _alike(stored, wanted):
        name, old, new = _first_difference("", stored, wanted)
        is_pool = name == "space.checksum"
        what = "candidates in the same order" if is_pool else name.partition(".")[0]
        raise ValueError(
            f"Journal {path} belongs to another search: its {name} is {old}, got {new}."
            f" Pass the same {what}, or another path."
        )


def _alike(one: Any, other: Any) -> bool:
    """Compare what JSON holds; 1 and 1.0 are the same, but True is another choice than 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _first_difference(name: str, old: Any, new: Any) -> tuple[str, str, str]:
    if isinstance(old, list) and isinstance(new, list):
        old, new = _labelled(old), _labelled(new)
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            if key not in old or key not in new or not _alike(old[key], new[key]):
                inner = f"{name}.{key}" if name else str(key)
                return _first_difference(inner, old.get(key, "absent"), new.get(key, "absent"))
    return name, reprlib.repr(old), reprlib.repr(new)


def _labelled(items: list[Any]) -> dict[Any, Any]:
    """Return items by their names, where they have any, or by their positions."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    return {
        name if isinstance(name, str) else i: item
        for i, (name, item) in enumerate(zip(names, items, strict=True))
    }


# Files

_BINARY = getattr(os, "O_BINARY", 0)


def open_locked(path: Path, flags: int) -> int:
    """Return the descriptor of a file that nobody else holds."""
    try:
        fd = os.open(path, flags | _BINARY, 0o666)
    except OSError as error:
        raise OSError(
            error.errno,
            f"Journal {path} could not be opened ({error.strerror})."
            " Give the path of a file, in a folder that exists and that you may write to.",
        ) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError(f"A journal must be a regular file, got {path}. Give another path.")
        _lock(path, fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _lock(path: Path, fd: int) -> None:
    """Claim the file until it is closed; the system also closes it for a killed process."""
    if fcntl is None:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A repair that finished just now has put another file in this one's place.
        is_free = os.path.samestat(os.fstat(fd), path.stat())
    except (BlockingIOError, FileNotFoundError):
        is_free = False
    except OSError as error:
        warnings.warn(
            f"Journal {path} could not be locked ({error.strerror}):"
            " make sure that no second process writes to it.",
            stacklevel=4,
        )
        return
    if not is_free:
        raise JournalInUseError(
            f"Journal {path} must have one user at a time, got a second one while another"
            " optimizer or process holds it. Close that one, or give another path."
        )


def flush(file: BinaryIO) -> None:
    """Wait until the disk has what was written."""
    file.flush()
    os.fsync(file.fileno())


def fsync_folder(path: Path) -> None:
    """Make a new name durable, on the systems that offer it."""
    with contextlib.suppress(OSError):
        fd = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


_live: weakref.WeakSet[Journal] = weakref.WeakSet()


def _close_in_child() -> None:
    # A lock lives until all copies of its file are closed: workers forked from a search that
    # was killed would otherwise hold it for as long as they hang.
    for journal in list(_live):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)

"""The memory of a search: an append-only file of JSON lines.

Line 1 is the header, record 0; `thomax.storage.records` describes how a line looks.

What a reader may rely on:
    A record whose `append` returned is on the disk, and no later failure takes it away.
    Only the last line can be half-written (a crash); opening moves it to `<path>.torn`,
    also if it was damaged later, which nothing tells apart.
    A file that was replaced, removed, cut or written to by others while it was open is not
    written to any more.
    Anything else is damage: a wrong checksum, or an `n` that is not one more than the `n`
    before it (a line lost, copied or moved). Damage stops the opening and changes nothing;
    `thomax.repair` is the explicit way on.
"""

import contextlib
import errno
import hashlib
import os
import reprlib
import shutil
import weakref
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO, Self, TypeAlias

from thomax.storage.files import fsync_folder, side_file
from thomax.storage.headers import (
    complete_header,
    no_journal,
    require_known_format,
    require_same_search,
)
from thomax.storage.index import Index, read_index, write_index
from thomax.storage.locks import BINARY, Claim, claimed
from thomax.storage.records import (
    BOM,
    MAX_LINE,
    Line,
    Record,
    decode,
    encode,
    leading_records,
    pieces,
    scan,
)
from thomax.support.collection import collection_put_off
from thomax.support.user_warnings import warn

Digest: TypeAlias = "hashlib._Hash"


class Journal:
    """Append records to a file that survives crashes, full disks and second writers.

    Made by `open` (locked: one writer at a time) or by `read` (a snapshot, never locked).
    Use it from one thread at a time. If its own process opens the file again, that one goes on
    and this one takes no more records; nor does the copy in a forked child.

    Args:
        path: The file.
        header: The first record, which describes the search.
        claim: The open and locked file; one without a descriptor for a snapshot.
        fsync: Whether to wait after each record until it is on the disk.

    Examples:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/run.jsonl"
        >>> with Journal.open(path, {"seed": 0}) as journal:
        ...     journal.append({"event": "ask", "number": 0})
        >>> Journal.read(path).records
        [{'event': 'ask', 'number': 0}]
    """

    def __init__(self, path: Path, header: Record, claim: Claim, fsync: bool = True) -> None:
        self.path, self.header = path, header
        self.records: list[Record] = []
        self._before = 0  # records that were not read because an index tells of them
        # The digest of all lines up to that of the last of so many records, for the index.
        self._digested = (-1, hashlib.sha256())
        self._place = path.absolute()  # wherever the process goes
        self._claim, self._fsync = claim, fsync
        # Where the file ends, by the number of records: a look-up, so that Ctrl-C never finds
        # the one changed and the other not.
        self._ends = {0: 0}
        self._attempt = (0, b"")  # the number of records before the last writing, and its line
        self._owner = object()
        # Releasing is what unlocks the file, so a forgotten journal must release itself.
        self._release = weakref.finalize(self, claim.release, self._owner)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        header: Record,
        fsync: bool = True,
        if_new: Record | None = None,
    ) -> Self:
        """Create the journal of the search that `header` describes, or continue it.

        Args:
            path: The file; it is created if it does not exist.
            header: What describes the search; a journal that exists must have the same.
            fsync: Whether to wait after each record until it is on the disk. Without it appending
                is faster, and a power cut may take the latest records.
            if_new: What a new journal's header holds besides; a journal that exists keeps its own
                values.
        """
        header, path = complete_header(header | (if_new or {})), Path(path)
        # O_APPEND: where there are no locks, two that write at once do not overwrite each other.
        with claimed(path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as claim:
            journal = cls(path, header, claim, fsync)
            journal._continue_or_start([*(if_new or {})])
            claim.owner = journal._owner  # last: what fails before leaves an older one as it is
        return journal

    @classmethod
    def open_at_end(cls, path: str | os.PathLike[str]) -> tuple[Self, Index] | None:
        """Open a journal with only the records that its index does not tell of.

        Args:
            path: The file.

        Returns:
            The journal and its index; None where no index fits, or what follows is not intact.
        """
        path = Path(path)
        index = read_index(path)
        if index is None:
            return None
        with claimed(path, os.O_RDWR | os.O_APPEND) as claim:
            if claim.fd is None or claim.owner is not None:  # this process has it open
                return None
            journal = cls(path, {}, claim)
            if not journal._follow(index, claim.fd):
                return None
            claim.owner = journal._owner
        return journal, index

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return what the journal holds now, without locking or changing it.

        Args:
            path: The file.
        """
        journal = cls(Path(path), {}, Claim(None))
        fd = os.open(path, os.O_RDONLY | BINARY)
        try:
            records, _, tail, _ = _load(journal.path, fd)
        finally:
            os.close(fd)
        if not records:
            raise ValueError(no_journal(journal.path))
        if tail.endswith(b"\n"):  # else somebody may be writing it
            warn(f"Journal {path} ends in a damaged line, which is left out.")
        journal.header, *journal.records = records
        return journal

    def append(self, record: Record) -> None:
        """Write the record: it is safe once this returns, and absent if this raises an error.

        Args:
            record: A dict that JSON gives back unchanged.
        """
        with self._claim.lock:
            fd = self._writable()
            line = encode(self._before + len(self.records) + 1, record)
            entry = decode(line)
            if entry is None or entry.record != record:
                raise ValueError(
                    "A journal record must be a dict that JSON gives back unchanged, got"
                    f" {reprlib.repr(record)}. Use lists for tuples, and text for keys."
                )
            self._require_unchanged(fd)
            self._write(fd, line, [entry.record])

    def require_writable(self) -> None:
        """Raise what `append` would: for who is about to evaluate something for hours."""
        with self._claim.lock:
            self._require_unchanged(self._writable())

    def write_index(self, pending: list[int], next_number: int) -> None:
        """Put an index beside the journal if it is long, and if that is possible.

        Args:
            pending: The numbers of the trials that are pending after all records.
            next_number: The number that the next trial will have.
        """
        with self._claim.lock:
            count, digest = self._digested
            if self._claim.owner is not self._owner or count != len(self.records):
                return
            if (fd := self._claim.fd) is not None:
                known = self._before + count, self._end, digest.hexdigest()
                write_index(self.path, fd, Index(*known, pending, next_number))

    def close(self) -> None:
        """Release the file and its lock; closing twice is fine."""
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _end(self) -> int:
        return self._ends[len(self.records)]

    def _writable(self) -> int:
        """Return the descriptor to write to, or raise if there is none."""
        if self._claim.owner not in (None, self._owner):
            raise RuntimeError(
                f"Journal {self.path} must have one user at a time, got an older one: it was"
                " opened again by a newer Optimizer of this process. This record was not written."
                " Go on with the newer one; it has all trials up to its opening."
            )
        if self._claim.fd is None:
            raise ValueError(
                f"Journal {self.path} must be open to append, got one that is closed or comes"
                " from `read`. Open it again, with Optimizer(..., journal=...) or Journal.open,"
                " in the process that appends."
            )
        return self._claim.fd

    def _require_unchanged(self, fd: int) -> None:
        """Refuse a file that others have replaced or written to; cut off what we left there."""
        status = os.fstat(fd)
        is_found = _is_found(self._place, fd, status)
        if is_found and status.st_size == self._end:
            return
        if is_found and status.st_size > self._end and self._is_leftover(fd):
            self._take_back(fd)
            return
        size = f"{status.st_size} bytes instead of {self._end}"
        raise RuntimeError(
            f"Journal {self.path} must stay as it is while it is open, got a file that was"
            " replaced, removed, cut short or written to by another program"
            f" ({size if is_found else 'it is not at its path'}): this record was not written, so"
            " that nothing is overwritten. Open the journal again, and tell it what it lacks; the"
            " optimizer still has all trials."
        )

    def _is_leftover(self, fd: int) -> bool:
        """Return whether all that follows the records is of a writing of ours that failed."""
        count, line = self._attempt
        os.lseek(fd, self._end, os.SEEK_SET)
        return count == len(self.records) and line.startswith(os.read(fd, len(line) + 1))

    def _take_back(self, fd: int) -> None:
        try:
            os.ftruncate(fd, self._end)
        except OSError as error:
            raise self._unwritten(error) from error

    def _continue_or_start(self, if_new: list[str]) -> None:
        fd = self._claim.fd
        assert fd is not None  # the claim is new
        records, end, tail, digest = _load(self.path, fd)
        if not records:
            self._start(fd)
            return
        self.header |= {name: records[0][name] for name in if_new if name in records[0]}
        require_same_search(self.path, records[0], self.header)
        self.header = records[0]
        self.records = records[1:]
        self._ends = {len(self.records): end}
        self._digested = len(self.records), digest
        if end < os.fstat(fd).st_size:
            _move_torn_tail(self.path, fd, end, tail)
        os.lseek(fd, end - 1, os.SEEK_SET)
        if os.read(fd, 1) != b"\n":  # the crash took nothing but the line's end
            self._write(fd, b"\n", [])

    def _follow(self, index: Index, fd: int) -> bool:
        """Take over what the index tells, and the records after it; return whether it fits."""
        size = os.fstat(fd).st_size
        with os.fdopen(fd, "rb", closefd=False) as file:
            told = _digest_of(file, index.end)
            if told.hexdigest() != index.sha256:
                return False
            first = next(scan(file)).entry
            assert first is not None  # it was, when these bytes were digested
            require_known_format(self.path, first.record)
            self.header, self._before = first.record, index.records
            end = index.end
            for line in scan(file, index.records + 2, end):
                n = index.records + len(self.records) + 1
                if line.entry is None or line.entry.n != n or not line.raw.endswith(b"\n"):
                    return False
                self.records.append(line.entry.record)
                told.update(line.raw)
                end += len(line.raw)
        self._ends = {len(self.records): end}
        self._digested = len(self.records), told
        return end == size

    def _start(self, fd: int) -> None:
        line = encode(0, self.header)
        os.lseek(fd, 0, os.SEEK_SET)
        if not line.startswith(os.read(fd, len(line) + 1)):  # no creation cut short either
            raise ValueError(no_journal(self.path))
        os.ftruncate(fd, 0)
        self._write(fd, line, [])
        fsync_folder(self.path)

    def _write(self, fd: int, line: bytes, kept: list[Record]) -> None:
        """Write the whole line and take note of it, or do neither, also on Ctrl-C."""
        count, end = len(self.records), self._end
        self._attempt = count, line
        self._ends = {count: end, count + len(kept): end + len(line)}
        try:
            if os.write(fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._fsync:
                os.fsync(fd)
            self.records += kept  # the moment from which on the record is there
            self._digested[1].update(line)
            self._digested = len(self.records), self._digested[1]
        except BaseException as error:
            if len(self.records) == count:
                with contextlib.suppress(OSError):  # else the next writing does it
                    os.ftruncate(fd, end)
            if not isinstance(error, OSError):
                raise
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> OSError:
        return OSError(
            error.errno,
            f"Journal {self.path} could not be written ({error.strerror}). This record is not"
            " in it, all earlier ones are. Make room, then append the record again.",
        )


def _is_found(place: Path, fd: int, status: os.stat_result) -> bool:
    """Return whether the open file is where it was, or was moved to where it can be found.

    A second link to it that was left, as a backup, is not where anybody would look.
    """
    try:
        return os.path.samestat(status, place.stat())
    except OSError:
        with contextlib.suppress(OSError):  # of a system that does not know the names of files
            now = Path(f"/proc/self/fd/{fd}").readlink()
            is_removed = now.name.startswith(".nfs")  # how NFS keeps it till it is closed
            return not is_removed and os.path.samestat(status, now.stat())
        return False


def read_header(path: str | os.PathLike[str]) -> Record:
    """Return what the journal says of its search, without reading its records.

    Args:
        path: The journal.
    """
    path = Path(path)
    with path.open("rb") as file:
        first = next(scan(file), None)
    if first is None or first.entry is None or first.entry.n != 0:
        return Journal.read(path).header  # which says what is wrong
    require_known_format(path, first.entry.record)
    return first.entry.record


# Reading


def _load(path: Path, fd: int) -> tuple[list[Record], int, bytes, Digest]:
    """Return header and records, where they end, the torn line that may follow, and a digest."""
    records: list[Record] = []
    end, tail, digest = 0, b"", hashlib.sha256()
    with os.fdopen(fd, "rb", closefd=False) as file, collection_put_off():
        for several, block in leading_records(file, _checked_bytes(path, file)):
            if not records:
                require_known_format(path, several[0])
            records += several
            digest.update(block)
            end += len(block)
        lines = scan(file, len(records) + 1, end)
        for line in lines:
            if not line.entry and _is_torn_tail(line, lines):
                tail = line.raw
                break
            if not line.entry and not records and not _holds_records(file):
                raise ValueError(no_journal(path))
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
            digest.update(line.raw)
            end = line.offset + len(line.raw)
    return records, end, tail, digest


def _checked_bytes(path: Path, file: BinaryIO) -> int:
    """Return how many of the first bytes an index knows to be intact lines."""
    index = read_index(path)
    fits = index is not None and _digest_of(file, index.end).hexdigest() == index.sha256
    return index.end if index is not None and fits else 0


def _digest_of(file: BinaryIO, size: int) -> Digest:
    """Return the digest of the first bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while size and (block := file.read(min(size, 2**20))):
        digest.update(block)
        size -= len(block)
    return digest


def _holds_records(file: BinaryIO) -> bool:
    return any(any(pieces(line)) for line in scan(file))


def _is_torn_tail(line: Line, rest: Iterator[Line]) -> bool:
    """Return whether this broken line is all that is left, with no intact record inside it."""
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
    names = chain([torn], (path.with_name(f"{torn.name}-{k}") for k in count(2)))
    os.lseek(fd, end, os.SEEK_SET)
    try:
        with os.fdopen(fd, "rb", closefd=False) as file, side_file(names, fd) as (torn, target):
            shutil.copyfileobj(file, target)
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
    warn(
        f"Journal {path} ended in a {kind} line: moved its {size} bytes to {torn}.",
    )

"""The index of a long journal: what its first bytes add up to, so that nobody reads them again.

To tell the value of a pending trial takes one more line, and three facts: that all lines before
it are intact, how many they are, and that the trial is pending. Reading 200,000 records to learn
them takes seconds. `<journal>.thomax-index` has them, in one line of the form of a journal's,
with the SHA-256 of the bytes that they are about:

    {"index": 1, "thomax": "0.1.0", "records": 200002, "end": 33456691, "sha256": "5e0c...",
     "pending": [100000, 100001], "next": 100002}

What a user may rely on:
    An index is believed only if the journal's first `end` bytes have that digest, whatever size,
    time or name say; those bytes take milliseconds to digest, and were read and checked as a
    whole when the index was made. Any other index counts as none.
    The journal alone is the memory of a search. An index may be absent, old, damaged, of another
    journal or deleted at any time, and nothing fails where none can be written.
    Who opens the journal reads those bytes, but does not check each line of them once more.
    To tell a value only lines after `end` are read, by the same rules as ever. Whatever is odd
    about them, or about the trial, is left to reading everything, which says what is wrong.
"""

import contextlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

import thomax
from thomax.storage.files import side_file
from thomax.storage.locks import BINARY
from thomax.storage.records import Record, decode, encode

FEWEST_BYTES = 2**20  # of a journal with an index: others are read at once
_KIND = 1  # of what an index says; another one counts as none
_MOST_BYTES = 2**24  # of an index
_OPEN = os.O_RDONLY | BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Index(NamedTuple):
    """What the first bytes of a journal add up to.

    Args:
        records: How many records they hold, without the header.
        end: How many bytes they are.
        sha256: Their digest.
        pending: The numbers of the trials that are pending.
        next_number: The number that the next trial will have.
    """

    records: int
    end: int
    sha256: str
    pending: list[int]
    next_number: int


def index_path(journal: Path) -> Path:
    """Return where the index of a journal stands.

    Args:
        journal: The journal.
    """
    return journal.with_name(journal.name + ".thomax-index")


def write_index(journal: Path, fd: int, index: Index) -> None:
    """Put an index beside a long journal, if that is possible.

    Args:
        journal: The journal.
        fd: Its descriptor; the index gets its mode.
        index: What to write.
    """
    path = index_path(journal)
    record: Record = {
        "index": _KIND,
        "thomax": thomax.__version__,
        "records": index.records,
        "end": index.end,
        "sha256": index.sha256,
        "pending": [*index.pending],
        "next": index.next_number,
    }
    if index.end < FEWEST_BYTES:
        return
    with contextlib.suppress(OSError):
        new = path.with_name(path.name + ".new")
        new.unlink(missing_ok=True)  # of a process that was killed; the journal's lock is ours
        with side_file([new], fd) as (_, file):
            file.write(encode(0, record))
        new.replace(path)


def read_index(journal: Path) -> Index | None:
    """Return the index of a journal, or None if there is none that can be read.

    Whether it fits the journal is for the caller to find out.

    Args:
        journal: The journal.
    """
    match _read(index_path(journal)):
        case {
            "index": int(kind),
            "thomax": str(version),
            "records": int(records),
            "end": int(end),
            "sha256": str(sha256),
            "pending": list(pending),
            "next": int(next_number),
        } if (kind, version) == (_KIND, thomax.__version__):
            numbers = [number for number in pending if type(number) is int]
            return Index(records, end, sha256, numbers, next_number)
    return None


def _read(path: Path) -> Record | None:
    """Return what an index says, or None if it is damaged or no regular file."""
    with contextlib.suppress(OSError):
        fd = os.open(path, _OPEN)
        with os.fdopen(fd, "rb") as file:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                entry = decode(file.read(_MOST_BYTES))
                return None if entry is None else entry.record
    return None

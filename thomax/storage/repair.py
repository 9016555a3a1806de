"""Repair of damaged journals: keep every intact record, whatever happened around it.

What a user may rely on:
    A journal without damage is left as it is.
    The damaged file stays beside the repaired one as `<path>.damaged-<k>`.
    At no time is there neither the old nor the new file at `path`, whenever the power fails.
"""

import os
import shutil
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

from thomax.storage.files import fsync_folder, side_file
from thomax.storage.headers import complete_header, require_known_format, require_same_search
from thomax.storage.locks import claimed
from thomax.storage.records import Entry, Record, encode, pieces, scan


class Repaired(NamedTuple):
    """Count the records that `repair` kept, and the broken pieces and copies it dropped.

    Args:
        kept: The number of intact records.
        dropped: The number of broken pieces and of copies that were left out.
    """

    kept: int
    dropped: int


def repair(path: str | os.PathLike[str], header: Record | None = None) -> Repaired:
    """Rewrite a damaged journal from its intact records, in the order of their numbers.

    A journal without damage is left as it is; a damaged one stays beside it as a copy.

    Args:
        path: The journal.
        header: What the journal was opened with; needed only if its first line is lost.

    Examples:
        >>> import tempfile
        >>> from thomax.storage.journal import Journal
        >>> path = tempfile.mkdtemp() + "/run.jsonl"
        >>> with Journal.open(path, {"seed": 0}) as journal:
        ...     journal.append({"event": "ask", "number": 0})
        >>> _ = Path(path).write_text("by accident\\n" + Path(path).read_text())
        >>> repair(path)
        Repaired(kept=1, dropped=1)
    """
    path = Path(path).resolve()  # a link must go on pointing at the repaired file
    with claimed(path, os.O_RDWR, again=False) as claim:
        assert claim.fd is not None  # it is new
        with os.fdopen(claim.fd, "rb", closefd=False) as file:
            found, dropped = _salvage(file)
            first = _surviving_header(path, [e.record for e in found if e.n == 0], header)
            records = [e.record for e in sorted(found, key=lambda e: e.n) if e.n > 0]
            content = b"".join(encode(n, record) for n, record in enumerate([first, *records]))
            file.seek(0)
            if file.read(len(content) + 1) != content:
                _rewrite(path, file, content)
    return Repaired(len(records), dropped)


def _salvage(file: BinaryIO) -> tuple[list[Entry], int]:
    found: dict[bytes, Entry] = {}
    total = 0
    for line in scan(file):
        entries = pieces(line)
        total += len(entries)
        found |= {encode(*entry): entry for entry in entries if entry}
    return list(found.values()), total - len(found)


def _surviving_header(path: Path, found: list[Record], given: Record | None) -> Record:
    if len(found) > 1:
        raise ValueError(
            f"Journal {path} must hold one search, got the headers of {len(found)}."
            " Split the file at its headers (the lines with n = 0) first."
        )
    if found:
        require_known_format(path, found[0])
        if given is not None:
            require_same_search(path, found[0], complete_header(given))
        return found[0]
    if given is None:
        raise ValueError(
            f"Journal {path} must have an intact header to be repaired, got none. Nothing was"
            " changed. Pass header=, the header that the journal was opened with."
        )
    return complete_header(given)


def _rewrite(path: Path, file: BinaryIO, content: bytes) -> None:
    try:
        copies = (path.with_name(f"{path.name}.damaged-{k}") for k in count(1))
        file.seek(0)
        with side_file(copies, file.fileno()) as (_, copy):
            shutil.copyfileobj(file, copy)
        new = path.with_name(path.name + ".repairing")
        new.unlink(missing_ok=True)  # of a repair that was killed; never what a link points to
        with side_file([new], file.fileno()) as (_, target):
            target.write(content)
        new.replace(path)
        fsync_folder(path)
    except OSError as error:
        raise OSError(
            error.errno,
            f"Journal {path} could not be repaired ({error.strerror}) and is as it was."
            " Make room, or allow writing to its folder, then repair it again.",
        ) from error

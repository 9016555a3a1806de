"""Files beside a journal, and what makes a file durable."""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from thomax.storage.locks import BINARY

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | BINARY


@contextlib.contextmanager
def side_file(paths: Iterable[Path], journal: int) -> Iterator[tuple[Path, BinaryIO]]:
    """Create the first of these files whose name is free, with the mode of the open journal.

    It is on the disk as a whole afterwards, or not at all. A name that is taken is neither
    followed nor opened: it may be a link that somebody put there.

    Args:
        paths: Names to try, one after the other.
        journal: The file descriptor of the journal.
    """
    mode = stat.S_IMODE(os.fstat(journal).st_mode)
    path, fd = _created(paths, mode)
    with os.fdopen(fd, "wb") as file:
        try:
            with contextlib.suppress(AttributeError, OSError):  # where files have such a mode
                os.fchmod(fd, mode)  # what the umask took away
            yield path, file
            flush(file)
        except BaseException:
            path.unlink()
            raise


def _created(paths: Iterable[Path], mode: int) -> tuple[Path, int]:
    taken = None
    for path in paths:
        try:
            return path, os.open(path, _NEW, mode)
        except FileExistsError as error:
            taken = error
    raise taken or ValueError("side_file needs at least one path, got none.")


def flush(file: BinaryIO) -> None:
    """Wait until the disk has what was written.

    Args:
        file: A file that is open for writing.
    """
    file.flush()
    os.fsync(file.fileno())


def fsync_folder(path: Path) -> None:
    """Make a new name durable, on the systems that offer it.

    Args:
        path: A file whose folder is to be written to the disk.
    """
    with contextlib.suppress(OSError):
        fd = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

"""Locks of files: one process at a time holds a file, and one writer in that process.

What a writer may rely on:
    While it owns a claim, no other process gets one, wherever the file system has locks.
    A process that opens its own file again takes the claim over: the earlier writer finds that
    it is no longer the owner, and there is no moment at which another process could come between.
    A claim ends when it is released and when the process dies; a forked child has none.
    Those who wait get their turn about in the order in which they came.
"""

import contextlib
import errno
import os
import stat
import threading
import time
import weakref
from collections.abc import Iterator
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any

from thomax.support.user_warnings import warn

BINARY: int = getattr(os, "O_BINARY", 0)
_LOCKED_BYTE = 2**31 - 2  # Windows forbids to read a locked byte: this one is beyond any journal
_PAUSE = 0.02  # seconds between tries, on systems where nobody can queue up


fcntl: Any = None  # each system has one of them
msvcrt: Any = None
with contextlib.suppress(ImportError):
    fcntl = import_module("fcntl")
with contextlib.suppress(ImportError):
    msvcrt = import_module("msvcrt")


class OwnLock:
    """Hold a `lock` that is new, and free, in every copy of its owner and in every forked child.

    A thread that holds it has no part in the child, and would never release it there.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _own_locks.add(self)

    def __reduce__(self) -> "tuple[type[OwnLock], tuple[()]]":
        return OwnLock, ()


_own_locks: "weakref.WeakSet[OwnLock]" = weakref.WeakSet()


class JournalInUseError(RuntimeError):
    """Another optimizer or process holds the journal."""


class Claim:
    """A file that this process has open and locked, and the writer who owns it.

    `lock` is for all that changes the file or the owner.

    Args:
        fd: The file descriptor; None once the file is released.
    """

    def __init__(self, fd: int | None) -> None:
        self.fd = fd
        self.owner: object = None
        self.lock = threading.RLock()

    def release(self, owner: object) -> None:
        """Unlock and close the file, unless it is closed or a later owner has taken it over.

        Args:
            owner: Who releases it.
        """
        with self.lock:
            fd = self.fd
            if fd is None or self.owner is not owner:
                return
            # Closing would not do: a process that is being forked has a copy for a moment.
            with contextlib.suppress(OSError):
                _unlock(fd)
            _claims.pop(_identity(os.fstat(fd)), None)
            self.fd = None
            os.close(fd)


@contextlib.contextmanager
def claimed(path: Path, flags: int, *, again: bool = True) -> Iterator[Claim]:
    """Claim the file for the body, and then for the owner that the body has given the claim.

    A claim that this process has already comes with its owner, who keeps it if the body fails.

    Args:
        path: The file.
        flags: How to open it, as for `os.open`.
        again: Whether a claim that this process has already may be taken over; otherwise the file
            is in use.
    """
    while True:
        claim = _claim(path, flags, again)
        with claim.lock:
            if claim.fd is None:  # released by another thread in this moment
                continue
            try:
                yield claim
            finally:
                claim.release(None)  # if nobody owns it
            return


# Turns

_patience: ContextVar[float] = ContextVar("patience", default=0.0)


@contextlib.contextmanager
def waiting(seconds: float) -> Iterator[None]:
    """Wait so long, in the body, for files that others hold, before they are refused.

    Args:
        seconds: How long to wait.
    """
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def _claim(path: Path, flags: int, again: bool) -> Claim:
    end = time.monotonic() + _patience.get()
    while True:
        with _opening:
            claim = _claim_now(path, flags, again, end - time.monotonic())
        if claim is not None:
            return claim
        if time.monotonic() >= end:
            raise JournalInUseError(
                f"Journal {path} must have one user at a time, got a second one while another"
                " optimizer or process holds it. Close that one, or give another path."
            )
        time.sleep(_PAUSE)


def _claim_now(path: Path, flags: int, again: bool, seconds: float) -> Claim | None:
    """Return the claim of this process, which may be old or new, or None if others hold it.

    Systems that let those who wait queue up may take all the seconds; others leave that to us.
    """
    with contextlib.suppress(OSError):
        held = _claims.get(_identity(path.stat()))
        if held is not None:
            return held if again else None
    try:
        fd = os.open(path, flags | BINARY, 0o666)
    except OSError as error:
        raise OSError(
            error.errno,
            f"Journal {path} could not be opened ({error.strerror})."
            " Give the path of a file, in a folder that exists and that you may write to.",
        ) from error
    claim = None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError(f"A journal must be a regular file, got {path}. Give another path.")
        if _is_locked(path, fd, seconds):
            claim = _claims[_identity(os.fstat(fd))] = Claim(fd)
    finally:
        if claim is None:
            os.close(fd)
    return claim


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


# Systems


def _is_locked(path: Path, fd: int, seconds: float) -> bool:
    """Lock the file until it is closed, which the system also does for a killed process."""
    try:
        _lock(fd, seconds)
    except BlockingIOError:
        return False
    except OSError as error:
        warn(
            f"Journal {path} could not be locked ({error.strerror}):"
            " make sure that no second process writes to it."
        )
    with contextlib.suppress(FileNotFoundError):
        # A repair that finished just now has put another file in this one's place.
        return os.path.samestat(os.fstat(fd), path.stat())
    return False


def _lock(fd: int, seconds: float) -> None:
    """Lock the file, or raise BlockingIOError if another process has locked it."""
    if fcntl is not None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if seconds <= 0 or not _is_locked_in_turn(fd, seconds):
                raise
    elif msvcrt is not None:
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(errno.EWOULDBLOCK, "locked by another process") from error
    else:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def _is_locked_in_turn(fd: int, seconds: float) -> bool:
    """Stand in the system's queue, which serves those who wait in the order in which they came.

    To try again and again would let chance leave one of many out for as long as it likes.
    """
    # The call cannot be given up, hence the thread. It has a copy of the descriptor: when the
    # caller has given up and closed its own, getting the lock and closing the copy unlocks.
    copy, outcome = os.dup(fd), threading.Event()

    def wait() -> None:
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(copy, fcntl.LOCK_EX)
                outcome.set()
        finally:
            os.close(copy)

    threading.Thread(target=wait, daemon=True).start()
    return outcome.wait(seconds)


def _unlock(fd: int) -> None:
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_UN)
    elif msvcrt is not None:
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)


# This process

_claims: dict[tuple[int, int], Claim] = {}  # by device and inode
_opening = threading.RLock()


def _forget_in_child() -> None:
    # A lock lives until all copies of its file are closed: workers forked from a search that
    # was killed would otherwise hold it for as long as they hang. To unlock would take it from
    # the parent; and whoever holds a claim's lock is a thread that a child does not have.
    global _opening
    _opening = threading.RLock()
    for claim in _claims.values():
        claim.lock = threading.RLock()
        if claim.fd is not None:
            os.close(claim.fd)
        claim.fd = None
    _claims.clear()
    for own in [*_own_locks]:
        own.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)

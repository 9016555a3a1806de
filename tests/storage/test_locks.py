import errno
import os
import threading
import time
from pathlib import Path

import pytest
from journals import HEADER, RECORDS, reopened, write_run

from thomax.storage import locks
from thomax.storage.journal import Journal
from thomax.storage.repair import repair


class Windows:
    """What Windows does: whoever locks bytes keeps all others from locking and reading them."""

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self):
        self.holders = {}

    def locking(self, fd, mode, count):
        assert count == 1
        place = os.fstat(fd).st_ino, os.lseek(fd, 0, os.SEEK_CUR)
        if mode == self.LK_UNLCK:
            assert self.holders.pop(place) == fd
        elif place in self.holders:
            raise PermissionError(errno.EACCES, "Permission denied")
        else:
            self.holders[place] = fd


@pytest.fixture
def windows(monkeypatch):
    system = Windows()
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", system)
    return system


def test_windows_locks_a_byte_that_nobody_reads(path, windows):
    """Row 7: bytes that are locked there cannot be read, so none of the journal may be."""
    write_run(path)
    assert windows.holders == {}
    with Journal.open(path, HEADER) as journal:
        ((inode, place),) = windows.holders
        assert (inode, place > 2**30) == (path.stat().st_ino, True)
        journal.append({})
        assert windows.holders == {(inode, place): journal._claim.fd}
    assert windows.holders == {}
    assert reopened(path) == [*RECORDS, {}]


def test_another_process_on_windows_is_refused(path, windows):
    """Row 7: the lock of the other one stays as it is."""
    write_run(path)
    with Journal.open(path, HEADER):
        held = dict.fromkeys(windows.holders, "another process")
    windows.holders = dict(held)
    for opening in (lambda: Journal.open(path, HEADER), lambda: repair(path)):
        with pytest.raises(locks.JournalInUseError, match="one user at a time"):
            opening()
    assert windows.holders == held
    windows.holders = {}
    assert reopened(path) == RECORDS


def test_a_system_without_any_locks_gets_a_warning(path, monkeypatch):
    """Row 7: then the size before each writing is what is left."""
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", None)
    with pytest.warns(UserWarning, match="could not be locked"):
        write_run(path)
    with pytest.warns(UserWarning, match="could not be locked"):
        assert reopened(path) == RECORDS


# Turns


def waiting_for(path):
    """Return how many wait for the lock of the file, by what the system tells."""
    end = f":{path.stat().st_ino}"
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sum("->" in words and any(word.endswith(end) for word in words) for words in lines)


def test_those_who_wait_get_their_turns_in_the_order_in_which_they_came(path):
    """Row 17: of eight shells that suggest and tell, none is left out."""
    write_run(path)
    holder = os.open(path, os.O_RDWR)
    locks.fcntl.flock(holder, locks.fcntl.LOCK_EX)
    served = []

    def take_turn(name):
        fd = os.open(path, os.O_RDWR)
        locks._lock(fd, seconds=60)
        served.append(name)
        os.close(fd)

    shells = [threading.Thread(target=take_turn, args=(name,)) for name in range(7)]
    for count, shell in enumerate(shells, start=1):
        shell.start()
        while waiting_for(path) < count:
            time.sleep(0.001)
    os.close(holder)
    for shell in shells:
        shell.join()
    assert served == [*range(7)]


def test_waiting_ends_when_the_file_is_free(path):
    write_run(path)
    other = os.open(path, os.O_RDWR)
    locks.fcntl.flock(other, locks.fcntl.LOCK_EX)
    timer = threading.Timer(0.05, os.close, [other])
    timer.start()
    with locks.waiting(60):
        assert reopened(path) == RECORDS
    timer.join()


def test_who_gives_up_waiting_does_not_get_the_lock_later(path):
    write_run(path)
    other = os.open(path, os.O_RDWR)
    locks.fcntl.flock(other, locks.fcntl.LOCK_EX)
    with locks.waiting(0.01), pytest.raises(locks.JournalInUseError, match="one user at a time"):
        Journal.open(path, HEADER)
    os.close(other)
    with locks.waiting(60):  # the one who gave up is before us in the queue
        assert reopened(path) == RECORDS


def test_windows_is_asked_again_until_the_file_is_free(path, windows, monkeypatch):
    write_run(path)
    windows.holders = {(path.stat().st_ino, locks._LOCKED_BYTE): "another process"}
    monkeypatch.setattr(locks.time, "sleep", lambda _: windows.holders.clear())
    with locks.waiting(60):
        assert reopened(path) == RECORDS

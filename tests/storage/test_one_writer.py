import contextlib
import errno
import os
import signal
import threading

import journals
import pytest
from journals import HEADER, LOAD, RECORDS, WRITER, reopened, start, write_run

from thomax.storage.journal import Journal


def is_free_elsewhere(path):
    """Return whether another process can open the journal."""
    elsewhere = start(WRITER.replace("while True", "if False"), path)
    elsewhere.communicate()
    return elsewhere.returncode == 0


def test_a_writer_of_another_process_is_refused_until_the_first_closes(path):
    write_run(path)
    first = Journal.open(path, HEADER)
    assert not is_free_elsewhere(path)
    assert Journal.read(path).records == RECORDS
    first.append({})
    first.close()
    first.close()
    assert reopened(path) == [*RECORDS, {}]
    assert is_free_elsewhere(path)


def test_a_process_opens_its_own_journal_again(path):
    """Row 19: a notebook's cell that is run again; the older one changes nothing any more."""
    write_run(path)
    first = Journal.open(path, HEADER)
    first.append({"from": "first"})
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    with Journal.open(link, HEADER) as second:
        assert second.records == [*RECORDS, {"from": "first"}]
        second.append({"from": "second"})
        before = path.read_bytes()
        with pytest.raises(RuntimeError, match=r"opened again by a newer .* Go on with the newer"):
            first.append({"from": "first"})
        first.close()
        assert path.read_bytes() == before
        assert not is_free_elsewhere(path)
        second.append({})
    assert is_free_elsewhere(path)


def test_opening_again_in_vain_leaves_the_first_as_it_was(path):
    """Row 19: the newer one takes over when it is open, and not before."""
    write_run(path)
    with Journal.open(path, HEADER) as first:
        with pytest.raises(ValueError, match="its seed is 0, got 1"):
            Journal.open(path, HEADER | {"seed": 1})
        assert not is_free_elsewhere(path)
        first.append({})
    assert reopened(path) == [*RECORDS, {}]


def test_threads_that_open_one_journal_lose_nothing_that_was_acknowledged(path, quick):
    """Row 19: a cell run again while an older search still runs in a thread."""
    acknowledged = []

    def write(name):
        for i in range(12):
            with Journal.open(path, HEADER) as journal, contextlib.suppress(RuntimeError):
                for j in range(3):
                    journal.append({"record": f"{name} {i} {j}"})
                    acknowledged.append(f"{name} {i} {j}")

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [record["record"] for record in Journal.read(path).records]
    assert sorted(written) == sorted(acknowledged)
    assert len({*written}) == len(written) >= 6


def test_a_forgotten_journal_frees_its_file(path):
    journal = Journal.open(path, HEADER)
    del journal
    assert reopened(path) == []


def test_a_failed_opening_frees_the_file(path):
    write_run(path)
    with pytest.raises(ValueError, match="seed") as caught:
        Journal.open(path, HEADER | {"seed": 1})
    assert reopened(path) == RECORDS  # while `caught` still keeps the frames alive
    assert caught


def test_only_an_open_journal_takes_records(path):
    write_run(path)
    with Journal.open(path, HEADER) as closed:
        pass
    for journal in (closed, Journal.read(path)):
        with pytest.raises(ValueError, match=r"must be open to append, got .* Journal\.open"):
            journal.append({})
    assert reopened(path) == RECORDS


FORKING = (
    LOAD
    + """
log = journal.Journal.open(sys.argv[1], header)
log.append({})
if not (child := os.fork()):
    try:
        log.append({"from": "child"})
        print(os.getpid(), "wrote", flush=True)
    except ValueError:
        print(os.getpid(), "refused", flush=True)
    time.sleep(60)
time.sleep(60)
"""
)


def test_a_forked_child_neither_writes_nor_keeps_the_lock(path):
    parent = start(FORKING, path)
    child, outcome = parent.stdout.readline().split()
    try:
        assert outcome == "refused"
        with pytest.raises(RuntimeError, match="one user"):
            Journal.open(path, HEADER)  # it is the parent's
        parent.kill()
        parent.wait()
        assert reopened(path) == [{}]
    finally:
        os.kill(int(child), signal.SIGKILL)
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_a_closed_journal_is_free_while_a_child_still_has_a_copy_of_its_file(path):
    """Row 17: between a fork and the child's first instruction, or its exec, there is a copy."""
    journal = Journal.open(path, HEADER)
    copy = os.dup(journal._claim.fd)
    try:
        journal.close()
        assert is_free_elsewhere(path)
    finally:
        os.close(copy)


def test_a_child_forked_while_a_thread_writes_is_told_that_its_copy_is_closed(
    path, monkeypatch, in_child
):
    """Row 17: the thread that holds the lock does not exist in the child."""
    writing, go_on = threading.Event(), threading.Event()

    def slow(fd):
        writing.set()
        go_on.wait()

    def refused():
        with pytest.raises(ValueError, match="must be open to append"):
            journal.append({"from": "child"})

    with Journal.open(path, HEADER) as journal:
        monkeypatch.setattr(os, "fsync", slow)
        thread = threading.Thread(target=journal.append, args=({"from": "parent"},))
        thread.start()
        writing.wait()
        status = in_child(refused)
        go_on.set()
        thread.join()
        assert status == 0
        assert not is_free_elsewhere(path)
    assert reopened(path) == [{"from": "parent"}]


def test_a_file_replaced_while_it_was_being_locked_is_not_written_to(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")  # none on Windows
    write_run(path)
    flock = fcntl.flock

    def late(fd, operation):
        path.with_name("new").write_bytes(path.read_bytes())
        path.with_name("new").replace(path)
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(RuntimeError, match="one user at a time"):
        Journal.open(path, HEADER)


def test_a_file_system_without_locks_gets_a_warning(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")  # none on Windows

    def unsupported(fd, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.warns(UserWarning, match=r"could not be locked \(No locks available\)") as caught:
        write_run(path)
    assert caught[0].filename == journals.__file__
    assert Journal.read(path).records == RECORDS

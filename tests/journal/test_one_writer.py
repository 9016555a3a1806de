import errno
import fcntl
import os
import signal

import journals
import pytest
from journals import HEADER, LOAD, RECORDS, WRITER, reopened, start, write_run

from thomax.journal import Journal


def test_a_second_writer_is_refused_until_the_first_closes(path):
    write_run(path)
    first = Journal.open(path, HEADER)
    with pytest.raises(RuntimeError, match=r"must have one user at a time, got .* Close"):
        Journal.open(path, HEADER)
    elsewhere = start(WRITER.replace("while True", "if False"), path)
    assert elsewhere.wait() == 1
    elsewhere.stdout.close()
    assert Journal.read(path).records == RECORDS
    first.append({})
    first.close()
    first.close()
    assert reopened(path) == [*RECORDS, {}]


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
            Journal.open(path, HEADER)
        parent.kill()
        parent.wait()
        assert reopened(path) == [{}]
    finally:
        os.kill(int(child), signal.SIGKILL)
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_a_file_replaced_while_it_was_being_locked_is_not_written_to(path, monkeypatch):
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
    def unsupported(fd, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.warns(UserWarning, match=r"could not be locked \(No locks available\)") as caught:
        write_run(path)
    assert caught[0].filename == journals.__file__
    assert Journal.read(path).records == RECORDS

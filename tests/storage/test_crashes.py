import errno
import itertools
import os
import random
import sys
import time
import warnings

import pytest
from journals import HEADER, LINES, RECORDS, WRITER, by_hand, reopened, start, write_run

from thomax.storage.journal import Journal


def test_cutting_the_file_anywhere_loses_no_whole_record(path, quick):
    content = b"".join(LINES)
    ends = [len(b"".join(LINES[: i + 1])) for i in range(len(LINES))]
    torn_file = path.with_name("run.jsonl.torn")
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        kept = RECORDS[: sum(end - 1 <= cut for end in ends[1:])]  # the line end may be missing
        last_end = max((end for end in ends if end - 1 <= cut), default=cut)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with Journal.open(path, HEADER) as journal:
                assert journal.records == kept
                journal.append({"event": "later"})
        if cut > last_end:
            assert torn_file.read_bytes() == content[last_end:cut]
            assert f"its {cut - last_end} bytes to {torn_file}" in str(caught.pop().message)
            torn_file.unlink()
        assert not caught
        assert not torn_file.exists()
        assert reopened(path) == [*kept, {"event": "later"}]


def test_a_second_torn_tail_does_not_overwrite_the_first(path):
    write_run(path)
    for tail in (b"first", b"second"):
        path.write_bytes(path.read_bytes() + tail)
        with pytest.warns(UserWarning, match="half-written line"):
            assert reopened(path) == RECORDS
    assert path.with_name("run.jsonl.torn").read_bytes() == b"first"
    assert path.with_name("run.jsonl.torn-2").read_bytes() == b"second"


def test_a_torn_tail_that_cannot_be_moved_is_left_where_it_is(path):
    resource = pytest.importorskip("resource")  # none on Windows
    write_run(path)
    torn = path.read_bytes() + LINES[3][:50]
    path.write_bytes(torn)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match=rf"Journal {path} ends in .* No record was lost\. Make"):
            Journal.open(path, HEADER)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == torn
    with pytest.warns(UserWarning, match="half-written line"):
        assert reopened(path) == RECORDS


def test_a_last_line_that_was_damaged_later_is_said_to_be_so(path):
    """Its end is there, so it was written as a whole, and acknowledged."""
    changed = LINES[-1].replace(b'"number": 7', b'"number": 8')
    path.write_bytes(b"".join(LINES[:-1]) + changed)
    with pytest.warns(UserWarning, match="ends in a damaged line, which is left out"):
        assert Journal.read(path).records == RECORDS[:-1]
    with pytest.warns(UserWarning, match="ended in a damaged line: moved its"):
        assert reopened(path) == RECORDS[:-1]
    assert path.with_name("run.jsonl.torn").read_bytes() == changed


def _replace(path):
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def _keep_as_backup_only(path):
    os.link(path, path.with_name("backup.jsonl"))
    path.unlink()


def _append_without_a_lock(path):
    with path.open("ab") as file:
        file.write(LINES[-1])


def _save_in_place(path):
    path.write_bytes(path.read_bytes() + b"\n")


@pytest.mark.parametrize(
    "change",
    [
        _replace,
        lambda path: path.unlink(),
        lambda path: os.truncate(path, 0),
        _keep_as_backup_only,
        _append_without_a_lock,
        _save_in_place,
    ],
    ids=["replaced", "removed", "cut", "kept as backup", "second writer", "saved in place"],
)
def test_a_file_that_others_have_changed_is_not_written_to(path, change):
    """Rows 7 and 8: an editor may save in place, a writer may have no locks, a link may stay."""
    write_run(path)
    with Journal.open(path, HEADER) as journal:
        change(path)
        left = {file: file.read_bytes() for file in path.parent.iterdir()}
        sentence = r"replaced, removed, cut short or written to .* not written.* Open the journal"
        with pytest.raises(RuntimeError, match=sentence):
            journal.append({})
        assert journal.records == RECORDS
        assert {file: file.read_bytes() for file in path.parent.iterdir()} == left


def test_two_writers_without_locks_do_not_overwrite_each_other(path, monkeypatch):
    """Row 7: whichever comes second is refused, also in the moment between look and writing."""
    write_run(path)
    write = os.write

    def foreign_first(fd, line):
        monkeypatch.undo()
        _append_without_a_lock(path)
        return write(fd, line)

    with Journal.open(path, HEADER) as journal:
        monkeypatch.setattr(os, "write", foreign_first)
        journal.append({"acknowledged": 1})
        with pytest.raises(RuntimeError, match="bytes instead of"):
            journal.append({"acknowledged": 2})
    assert path.read_bytes() == b"".join([*LINES, LINES[-1], by_hand(9, {"acknowledged": 1})])


def test_a_file_may_be_moved_while_it_is_open(path, monkeypatch):
    write_run(path)
    monkeypatch.chdir(path.parent)
    with Journal.open(path.name, HEADER) as journal:
        monkeypatch.chdir("/")  # a relative path means what it meant
        journal.append({})
        path.rename(path.with_name("moved.jsonl"))
        journal.append({})
    assert reopened(path.with_name("moved.jsonl")) == [*RECORDS, {}, {}]


def test_reading_leaves_a_torn_tail_alone(path):
    path.write_bytes(b"".join(LINES) + LINES[3][:-9])
    before = path.read_bytes()
    assert Journal.read(path).records == RECORDS
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_killed_writer_loses_nothing_it_was_told_is_safe(path):
    rng = random.Random(0)
    safe = 0
    for _ in range(15):
        writer = start(WRITER, path)
        writer.stdout.readline()
        time.sleep(rng.uniform(0, 0.02))
        writer.kill()
        acknowledged = writer.communicate()[0].split()
        safe = max([safe, *map(int, acknowledged)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            records = reopened(path)
        assert [record["number"] for record in records] == list(range(len(records)))
        assert len(records) >= safe
        safe = len(records)
    assert safe >= 15


def test_a_full_disk_leaves_the_earlier_records_and_lets_the_next_one_in(path):
    resource = pytest.importorskip("resource")  # none on Windows
    write_run(path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Journal.open(path, HEADER) as journal:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))
        try:
            for _ in range(2):
                with pytest.raises(OSError, match=r"could not be written .* Make room") as caught:
                    journal.append({"filler": "x" * 1000})
                assert path.read_bytes() == before
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert caught.value.errno in (errno.EFBIG, errno.ENOSPC)
        assert journal.records == RECORDS
        journal.append({"filler": "y"})
    assert reopened(path) == [*RECORDS, {"filler": "y"}]


@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "I/O error"), KeyboardInterrupt()], ids=["failure", "Ctrl-C"]
)
def test_a_record_that_may_not_be_on_the_disk_is_taken_back(path, monkeypatch, error):
    write_run(path)
    before = path.read_bytes()

    def fail(fd):
        raise error

    with Journal.open(path, HEADER) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            with pytest.raises(type(error)):
                journal.append({"filler": "x" * 1000})
        assert path.read_bytes() == before
        journal.append({"filler": "y"})
    assert reopened(path) == [*RECORDS, {"filler": "y"}]


def test_ctrl_c_at_any_instruction_leaves_memory_and_file_in_step(path, quick):
    """As if the signal came before the k-th bytecode of the writing, for every k."""
    write = Journal._write.__code__
    before = sys.gettrace()

    def interrupt_at(k):
        remaining = iter(range(k))

        def trace(frame, event, argument):
            frame.f_trace_opcodes = frame.f_code is write
            if event == "opcode" and next(remaining, None) is None:
                sys.settrace(before)
                raise KeyboardInterrupt
            return trace

        return trace

    for k in itertools.count(1):
        with Journal.open(path, HEADER) as journal:
            sys.settrace(interrupt_at(k))
            try:
                journal.append({"filler": "x" * 1000})
                break  # the writing has fewer than k instructions
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(before)
            assert len(journal.records) in (0, 1)
            journal.append({"k": k})
            assert Journal.read(path).records == journal.records
        path.unlink()
    assert k > 30


def test_a_second_ctrl_c_while_a_record_is_taken_back_leaves_memory_and_file_in_step(path, quick):
    """Row 11: the file then ends in a record that memory has not, until the next one comes."""
    write = Journal._write.__code__
    before = sys.gettrace()

    def failing(k):
        """Fail to write to the end, then interrupt before the k-th bytecode of what follows."""
        remaining = iter(range(k))

        def trace(frame, event, argument):
            frame.f_trace_opcodes = frame.f_code is write
            if event == "opcode" and next(remaining, None) is None:
                sys.settrace(before)
                raise KeyboardInterrupt
            return trace

        def fsync(fd):
            sys.settrace(trace)
            caller = sys._getframe(1)
            caller.f_trace, caller.f_trace_opcodes = trace, True
            raise KeyboardInterrupt

        return fsync

    for k in itertools.count(1):
        with Journal.open(path, HEADER) as journal:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "fsync", failing(k))
                with pytest.raises(KeyboardInterrupt):
                    journal.append({"filler": "x" * 1000})
            came_to_it = sys.gettrace() is before
            sys.settrace(before)
            journal.append({"k": k})
            assert Journal.read(path).records == journal.records == [{"k": k}]
        path.unlink()
        if not came_to_it:
            break
    assert k > 10


def test_what_could_not_be_taken_back_is_taken_back_before_the_next_record(path, monkeypatch):
    write_run(path)
    write = os.write

    def fail(*_):
        raise OSError(errno.EIO, "I/O error")

    with Journal.open(path, HEADER) as journal:
        monkeypatch.setattr(os, "write", lambda fd, line: write(fd, line[:20]))
        monkeypatch.setattr(os, "ftruncate", fail)
        for error in ("No space left", "I/O error"):
            with pytest.raises(OSError, match=f"could not be written .{error}"):
                journal.append({"filler": "x" * 1000})
        monkeypatch.undo()
        journal.append({"filler": "y"})
    assert reopened(path) == [*RECORDS, {"filler": "y"}]


def test_a_failed_creation_can_be_repeated(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: 5)
        with pytest.raises(OSError, match="No space left"):
            Journal.open(path, HEADER)
    assert path.read_bytes() == b""
    assert reopened(path) == []

import errno
import fcntl
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
import zlib
from dataclasses import FrozenInstanceError, asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thomax
from thomax.journal import Journal, Trial
from thomax.lines import MAX_LINE, MAX_NESTING

HEADER = {"space": {"x": {"low": -1.0, "high": 1.0}}, "direction": "maximize", "seed": 0}
RECORDS = [{"event": "tell", "number": i, "value": i / 7, "note": "J*{" * i} for i in range(8)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


@pytest.fixture
def quick(monkeypatch):
    """Skip the waiting for the disk, where a test opens a thousand files."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def by_hand(n, record):
    """Write a line as the docstring of thomax.lines describes it."""
    body = f'"n": {n}, "record": {record if isinstance(record, str) else json.dumps(record)}}}'
    return f'{{"crc": "{zlib.crc32(body.encode()):08x}", {body}\n'.encode()


def full_header(**changes):
    return {"format": "thomax-journal", "version": 1, **HEADER, **changes}


LINES = [by_hand(0, full_header()), *(by_hand(n, r) for n, r in enumerate(RECORDS, start=1))]


def write_run(path, records=RECORDS):
    with Journal.open(path, HEADER, fsync=False) as journal:
        for record in records:
            journal.append(record)


def reopened(path):
    with Journal.open(path, HEADER) as journal:
        return journal.records


def test_a_trial_is_pending_until_told_and_never_changes():
    trial = Trial(3, {"x": 0.5})
    assert (trial.value, trial.state, trial.error) == (None, "pending", None)
    with pytest.raises(FrozenInstanceError):
        trial.value = 1.0
    failed = replace(trial, state="failed", error="ZeroDivisionError")
    assert Trial(**json.loads(json.dumps(asdict(failed)))) == failed


def test_records_come_back_in_order(path):
    write_run(path, RECORDS[:5])
    with Journal.open(path, HEADER) as journal:
        assert journal.records == RECORDS[:5]
        for record in RECORDS[5:]:
            journal.append(record)
        assert journal.records == RECORDS
    assert reopened(path) == Journal.read(path).records == RECORDS
    assert Journal.read(path).header == full_header()


def test_the_file_has_the_documented_format(path):
    write_run(path)
    assert path.read_bytes() == b"".join(LINES)


def test_the_callers_record_may_change_after_it_was_appended(path):
    with Journal.open(path, HEADER) as journal:
        record = {"params": {"x": 1}}
        journal.append(record)
        record["params"]["x"] = 2
        assert journal.records == [{"params": {"x": 1}}]


# What can be recorded

plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False).filter(lambda value: abs(value) != float("inf")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.text(), plain_values, max_size=4), max_size=4))
def test_every_finite_value_comes_back_exactly(records):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        write_run(path, records)
        assert repr(Journal.read(path).records) == repr(records)  # tells -0.0 from 0, 1 from 1.0


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), {1, 2}, b"bytes", object(), (1, 2), {1: "key"}, 10**5000],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_hold_is_refused_and_leaves_no_trace(path, value):
    with Journal.open(path, HEADER) as journal:
        before = path.read_bytes()
        with pytest.raises(ValueError, match=r"A journal record must .* got .*\. (Convert|Use) "):
            journal.append({"value": [value]})
        assert path.read_bytes() == before
        journal.append({"value": 1})
    assert reopened(path) == [{"value": 1}]


def test_only_dicts_are_records(path):
    with Journal.open(path, HEADER) as journal:
        for record in ([1], "text", None):
            with pytest.raises(ValueError, match=r"must be a dict .* got .*\. Use"):
                journal.append(record)
    assert reopened(path) == []


def test_too_deep_and_circular_records_are_refused(path):
    deep = []
    for _ in range(MAX_NESTING - 3):  # the record, the line and its value nest as well
        deep = [deep]
    circular = {}
    circular["self"] = circular
    with Journal.open(path, HEADER) as journal:
        journal.append({"value": deep})
        for record in ({"value": [deep]}, circular):
            with pytest.raises(ValueError, match="strict JSON"):
                journal.append(record)
    assert reopened(path) == [{"value": deep}]


def test_a_record_over_the_line_limit_is_refused(path):
    with (
        Journal.open(path, HEADER) as journal,
        pytest.raises(ValueError, match=r"must fit into 67108864 bytes, got \d+\. Store"),
    ):
        journal.append({"value": "a" * MAX_LINE})
    assert reopened(path) == []


# Crashes


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
    assert path.with_name("run.jsonl.torn").read_bytes() == b"firstsecond"


def test_a_torn_tail_that_cannot_be_moved_is_left_where_it_is(path):
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


def test_reading_leaves_a_torn_tail_alone(path):
    path.write_bytes(b"".join(LINES) + LINES[3][:-9])
    before = path.read_bytes()
    assert Journal.read(path).records == RECORDS
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


LOAD = f"""
import os, signal, sys, time, types
sys.modules["thomax"] = types.ModuleType("thomax")
sys.modules["thomax"].__path__ = {[*thomax.__path__]!r}
from thomax import journal
header = {HEADER!r}
"""

WRITER = (
    LOAD
    + """
with journal.Journal.open(sys.argv[1], header) as log:
    while True:
        log.append({"number": len(log.records), "filler": "x" * 200_000})
        print(len(log.records), flush=True)
"""
)


def start(script, path):
    """Run a script without importing all of thomax."""
    command = [sys.executable, "-W", "ignore", "-c", script, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


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


def test_a_failed_creation_can_be_repeated(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: 5)
        with pytest.raises(OSError, match="No space left"):
            Journal.open(path, HEADER)
    assert path.read_bytes() == b""
    assert reopened(path) == []


def test_appending_waits_for_the_disk_unless_told_not_to(path, monkeypatch):
    calls = []
    monkeypatch.setattr(os, "fsync", calls.append)
    for fsync in (True, False):
        with Journal.open(path, HEADER, fsync=fsync) as journal:
            calls.clear()
            journal.append({})
            assert len(calls) == fsync


# Damage


def test_a_file_of_any_size_takes_bounded_memory(path):
    write_run(path)
    with path.open("r+b") as file:
        file.truncate(4 * MAX_LINE)  # zeros, as some file systems leave after a power cut
    tracemalloc.start()
    try:
        assert Journal.read(path).records == RECORDS
        assert tracemalloc.get_traced_memory()[1] < 6 * MAX_LINE  # the line, and a few copies
    finally:
        tracemalloc.stop()


# Headers


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 1}, "its seed is 0, got 1. Pass the same seed, or another path."),
        ({"space": {"x": {"low": -1.0, "high": 2}}}, "its space.x.high is 1.0, got 2. Pass"),
        ({"space": {}}, "its space.x is {'high': 1.0, 'low': -1.0}, got 'absent'."),
        ({"noise": [1, "long" * 50]}, "its noise is 'absent', got [1, 'longlonglong..."),
    ],
)
def test_another_search_is_told_what_differs(path, change, sentence):
    write_run(path)
    with pytest.raises(ValueError) as caught:
        Journal.open(path, HEADER | change)
    assert str(caught.value).startswith(f"Journal {path} belongs to another search: {sentence}")
    assert reopened(path) == RECORDS


def test_differing_lists_are_told_by_position(path):
    with Journal.open(path, {"space": [["x", 1], ["y", 2]]}):
        pass
    with pytest.raises(ValueError, match=r"its space\.1\.0 is 'y', got 'z'"):
        Journal.open(path, {"space": [["x", 1], ["z", 2]]})


def test_what_is_fresh_is_written_once_and_then_kept(path):
    for number in (7, 8):
        with Journal.open(path, HEADER, fresh={"number": number}) as journal:
            assert journal.header["number"] == 7
    with pytest.raises(ValueError, match="its number is 7, got 8"):
        Journal.open(path, HEADER | {"number": 8})


def test_a_header_may_hold_tuples(path):
    for _ in range(2):
        with Journal.open(path, {"choices": ("a", "b")}) as journal:
            assert journal.header["choices"] == ["a", "b"]


def test_a_newer_version_asks_for_an_upgrade(path):
    path.write_bytes(by_hand(0, full_header(version=2)) + b"in a way we cannot read\n" * 2)
    for act in (lambda: Journal.open(path, HEADER), lambda: Journal.read(path)):
        with pytest.raises(
            ValueError,
            match=r"newer thomax \(journal version 2, this one reads up to 1\): upgrade",
        ):
            act()


@pytest.mark.parametrize(
    "content",
    [b"notes", b"notes\n", LINES[0][:-9] + b"?", by_hand(0, {"format": "other"}), b"\0" * 99],
)
def test_other_files_are_never_overwritten(path, content):
    path.write_bytes(content)
    for opening in (lambda: Journal.open(path, HEADER), lambda: Journal.read(path)):
        with pytest.raises(ValueError, match=r"must be a thomax journal, got .*\. Give another"):
            opening()
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("place", "error"), [("", IsADirectoryError), ("missing/run.jsonl", FileNotFoundError)]
)
def test_a_place_that_cannot_hold_a_journal_gets_a_sentence(tmp_path, place, error):
    with pytest.raises(error, match=r"could not be opened .* Give the path of a file, in a"):
        Journal.open(tmp_path / place, HEADER)


def test_a_device_is_no_journal():
    with pytest.raises(ValueError, match="must be a regular file, got /dev/null"):
        Journal.open("/dev/null", HEADER)


# One writer


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
    assert caught[0].filename == __file__
    assert Journal.read(path).records == RECORDS

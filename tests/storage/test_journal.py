import json
import os
import tempfile
import tracemalloc
from dataclasses import FrozenInstanceError, asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journals import HEADER, LINES, RECORDS, full_header, reopened, write_run

from thomax.storage.journal import Journal
from thomax.storage.records import MAX_LINE, MAX_NESTING
from thomax.storage.trial import Trial


def test_a_trial_is_pending_until_told_and_never_changes():
    trial = Trial(3, {"x": 0.5})
    assert (trial.value, trial.state, trial.error) == (None, "pending", None)
    with pytest.raises(FrozenInstanceError):
        trial.value = 1.0
    failed = replace(trial, state="failed", error="ZeroDivisionError")
    assert json.loads(json.dumps(asdict(failed))) == asdict(failed) | {"corrections": []}


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

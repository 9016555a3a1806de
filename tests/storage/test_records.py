import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from journals import HEADER, LINES, RECORDS, by_hand, full_header

from thomax.storage.journal import Journal
from thomax.storage.records import decode, leading_records


def with_checksum(body):
    """Return a line whose checksum is right, whatever follows it."""
    return b'{"crc": "%08x", %s\n' % (zlib.crc32(body), body)


def read_in_bulk(path):
    with path.open("rb") as file:
        return [record for records, _ in leading_records(file) for record in records]


ODD = {
    "spaces": b'"n": 2,  "record": {"a": 1}}',
    "another order": b'"record": {"a": 1}, "n": 2}',
    "a name twice": b'"n": 2, "record": {"a": 1, "a": 1}}',
    "one more field": b'"n": 2, "record": {"a": 1}, "x": 1}',
    "the number as a fraction": b'"n": 2.0, "record": {"a": 1}}',
    "a float of another spelling": b'"n": 2, "record": {"a": 1e5}}',
    "letters not escaped": '"n": 2, "record": {"a": "é"}}'.encode(),
    "two objects": b'"n": 2, "record": {"a": 1}}, {"n": 3, "record": {}}',
    "an open list": b'"n": 2, "record": {"a": [1',
    "nested too deep": b'"n": 2, "record": {"a": ' + b"[" * 63 + b"]" * 63 + b"}}",
    "no record": b'"n": 2, "record": [1]}',
}


@pytest.mark.parametrize("body", ODD.values(), ids=[*ODD])
def test_what_no_journal_writes_is_damage_although_its_checksum_is_right(path, body):
    path.write_bytes(b"".join([*LINES[:2], with_checksum(body), *LINES[2:]]))
    assert decode(with_checksum(body)) is None
    assert read_in_bulk(path) == []
    with pytest.raises(ValueError, match="damaged at line 3"):
        Journal.open(path, HEADER)


def test_two_lines_that_are_whole_only_together_are_damage(path):
    first, second = b'"n": 2, "record": {"a": [1', b'"n": 3, "record": {}}]}}'
    third = b'"n": 4, "record": {}}\n' + by_hand(5, {}).rstrip(b"\n")
    lines = [with_checksum(body) for body in (first, second, third)]
    path.write_bytes(b"".join([*LINES[:2], *lines, by_hand(6, {})]))
    with pytest.raises(ValueError, match="damaged at line 3"):
        Journal.open(path, HEADER)


def test_many_lines_are_read_at_once_up_to_the_first_odd_one(path):
    records = [{"event": "tell", "number": i, "value": i / 7} for i in range(1200)]
    lines = [by_hand(n, r) for n, r in enumerate([full_header(), *records])]
    path.write_bytes(b"".join(lines))
    assert read_in_bulk(path) == [full_header(), *records]
    lines[1100] = lines[1100].replace(b"tell", b"Tell")
    path.write_bytes(b"".join(lines))
    assert read_in_bulk(path) == [full_header(), *records][:1000]
    with pytest.raises(ValueError, match="damaged at line 1101"):
        Journal.open(path, HEADER)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.text(), plain), min_size=1, max_size=5))
def test_reading_at_once_gives_what_reading_line_by_line_gives(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("bulk") / "run.jsonl"
    lines = [by_hand(n, r) for n, r in enumerate(records)]
    path.write_bytes(b"".join(lines))
    found = read_in_bulk(path)
    assert json.dumps(found) == json.dumps(records) == json.dumps([decode(x)[1] for x in lines])


def test_the_last_line_is_left_to_the_scan_while_its_end_is_missing(path):
    path.write_bytes(b"".join(LINES).rstrip(b"\n"))
    assert read_in_bulk(path) == [full_header(), *RECORDS][:-1]
    assert Journal.read(path).records == RECORDS

"""The lines of a journal: each holds a checksum of what follows it, a number and a record.

    {"crc": "17c7775e", "n": 3, "record": {"tell": 0, "value": 0.25, "error": null}}

A line is intact if writing its record again gives the same bytes.
"""

import contextlib
import json
import os
import re
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO, NamedTuple, TypeAlias

from thomax.support.types import Json

Record: TypeAlias = dict[str, Json]

MAX_LINE = 64 * 2**20  # bytes; bounds the memory that a damaged or hostile file can take
MAX_NESTING = 64  # far below Python's recursion limit, so whatever was written can be read
BOM = b"\xef\xbb\xbf"  # the byte-order mark that some editors put before a text
_JSON = json.JSONDecoder()
_TEXT = json.JSONEncoder(allow_nan=False, check_circular=False)  # as `strict_json` writes
_FIELDS = 3  # of a line: crc, n, record
_BLOCK_LINES, _BLOCK_BYTES = 500, 2**20  # what is decoded at once
_LINE_START = re.compile(rb'\{"crc": "[0-9a-f]{8}", "n": ')


class Entry(NamedTuple):
    """A record and its number.

    Args:
        n: The number of the record; the header is record 0.
        record: The record.
    """

    n: int
    record: Record


class Line(NamedTuple):
    """A line of the file; its entry is None where it is broken.

    Args:
        number: The number of the line in its file, counted from 1.
        offset: How many bytes stand before it.
        raw: The line with its end.
        entry: The record in it, or None if the line is broken.
    """

    number: int
    offset: int
    raw: bytes
    entry: Entry | None


def encode(n: int, record: Record) -> bytes:
    """Return the line of record n.

    Args:
        n: The number of the record.
        record: The record.

    Examples:
        >>> encode(1, {"ask": 0})
        b'{"crc": "93b53e5c", "n": 1, "record": {"ask": 0}}\\n'
        >>> decode(encode(1, {"ask": 0}))
        Entry(n=1, record={'ask': 0})
    """
    body = strict_json({"n": n, "record": record})[1:].encode()
    line = b'{"crc": "%08x", %s\n' % (zlib.crc32(body), body)
    if len(line) > MAX_LINE:
        raise ValueError(
            f"A journal record must fit into {MAX_LINE} bytes, got {len(line)}."
            " Store large results in a file of their own and record its path."
        )
    return line


def strict_json(value: Json) -> str:
    """Return the value as JSON that any reader accepts, or raise ValueError.

    Args:
        value: What is to be written.
    """
    try:
        if _nesting(value) > MAX_NESTING:
            raise ValueError(f"nested more than {MAX_NESTING} deep")
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            "A journal record must be strict JSON (text, finite numbers, true, false, null, lists"
            f" and dicts), got one that is not: {error}. Convert it before it is recorded."
        ) from error


def _nesting(value: Json) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max((_nesting(v) for v in inner if isinstance(v, dict | list)), default=0)


def decode(raw: bytes) -> Entry | None:
    """Return the entry of a line, its end present or not, or None where it is not intact.

    Args:
        raw: A line, with or without its end.
    """
    raw = raw.removesuffix(b"\n") + b"\n"
    with contextlib.suppress(ValueError, RecursionError):
        match json.loads(raw.decode()):
            case {"n": int(n), "record": dict(record)} if encode(n, record) == raw:
                return Entry(n, record)
    return None


def scan(file: BinaryIO, number: int = 1, offset: int = 0) -> Iterator[Line]:
    """Read the lines that are there now; a line over the limit comes as several broken ones.

    Args:
        file: An open journal.
        number: The number of the first line to read.
        offset: Where it begins.
    """
    size = os.fstat(file.fileno()).st_size  # a writer may be appending meanwhile
    file.seek(offset)
    while raw := file.readline(min(MAX_LINE, size - offset)):
        yield Line(number, offset, raw, decode(raw))
        number += 1
        offset += len(raw)


def leading_records(file: BinaryIO, checked: int = 0) -> Iterator[tuple[list[Record], bytes]]:
    """Yield the records of whole and intact lines, many at a time, as long as nothing is odd.

    This is several times faster than to `scan` line by line, which is left with the rest.

    Args:
        file: An open journal.
        checked: How many of the first bytes are known to be intact lines: they are read only.

    Yields:
        Records in the order of their numbers, and their lines.
    """
    left, n = os.fstat(file.fileno()).st_size, 0
    unchecked = left - checked
    file.seek(0)
    while raws := _whole_lines(file, left):
        try:
            block = b"".join(raws)
            is_checked = left - len(block) >= unchecked
            records = _trusted(raws, n) if is_checked else _intact(raws, block.decode("ascii"), n)
        except (ValueError, TypeError, KeyError, RecursionError):
            return
        yield records, block
        left, n = left - len(block), n + len(records)


def _whole_lines(file: BinaryIO, left: int) -> list[bytes]:
    raws: list[bytes] = []
    end = max(left - _BLOCK_BYTES, 0)
    while left > end and len(raws) < _BLOCK_LINES:
        raw = file.readline(min(MAX_LINE, left))
        if not raw.endswith(b"\n"):
            break
        raws.append(raw)
        left -= len(raw)
    return raws


def _trusted(raws: list[bytes], first: int) -> list[Record]:
    """Return the records of lines that were found intact before, a third of the work of that."""
    values = json.loads(b"[%s]" % b",".join(raws))
    if [value["n"] for value in values] != [*range(first, first + len(raws))]:
        raise ValueError("not the lines that were checked")
    return [value["record"] for value in values]


def _intact(raws: list[bytes], text: str, first: int) -> list[Record]:
    """Return the records of whole lines, or raise one of several errors if one is not intact.

    The records are written again all at once: the text is that of all lines only if each line
    is its own, because each holds one JSON object, and no part of an object is an object.
    """
    records, values, position = [], [], 0
    for n, raw in enumerate(raws, first):
        value, end = _JSON.raw_decode(text, position)
        position += len(raw)
        record = value["record"]
        start = b'{"crc": "%08x", "n": %d, "record": ' % (zlib.crc32(raw[20:-1]), n)
        if end != position - 1 or not raw.startswith(start) or type(record) is not dict:
            raise ValueError("not one whole line")
        # Each level takes a bracket, so that few lines have to be looked at.
        if raw.count(b"{") + raw.count(b"[") > MAX_NESTING and _nesting(value) > MAX_NESTING:
            raise ValueError("nested too deep")
        values.append(value)
        records.append(record)
    if _TEXT.encode(values)[1:-1] != text[:-1].replace("\n", ", "):
        raise ValueError("not written by `encode`")
    if any(len(value) != _FIELDS for value in values):
        raise ValueError("more than a record")
    return records


def pieces(line: Line) -> list[Entry | None]:
    """Split a broken line where records start in it: a lost line end joins two of them.

    Args:
        line: A line of a journal, broken or not.
    """
    if line.entry:
        return [line.entry]
    raw = line.raw.removeprefix(BOM)
    cuts = [0, *(start.start() for start in _LINE_START.finditer(raw)), len(raw)]
    parts = (raw[begin:end].rstrip(b"\n") for begin, end in pairwise(cuts))
    return [_leading(part) for part in parts if part]


def _leading(part: bytes) -> Entry | None:
    """Return the entry that the bytes begin with, whatever stands behind it."""
    if b"}}" not in part:  # a quick answer, for there may be millions
        return None
    with contextlib.suppress(ValueError, RecursionError):
        _, end = _JSON.raw_decode(part.decode("latin-1"))  # a character for a byte
        return decode(part[:end])
    return None

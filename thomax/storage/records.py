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


def scan(file: BinaryIO) -> Iterator[Line]:
    """Read the lines that are there now; a line over the limit comes as several broken ones.

    Args:
        file: An open journal.
    """
    size = os.fstat(file.fileno()).st_size  # a writer may be appending meanwhile
    number, offset = 1, 0
    file.seek(0)
    while raw := file.readline(min(MAX_LINE, size - offset)):
        yield Line(number, offset, raw, decode(raw))
        number += 1
        offset += len(raw)


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

"""A journal of a few records, by the library and by hand."""

import json
import subprocess
import sys
import zlib

import thomax
from thomax.storage.journal import Journal

HEADER = {"space": {"x": {"low": -1.0, "high": 1.0}}, "direction": "maximize", "seed": 0}
RECORDS = [{"event": "tell", "number": i, "value": i / 7, "note": "J*{" * i} for i in range(8)]


def by_hand(n, record):
    """Write a line as the docstring of thomax.storage.records describes it."""
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


LOAD = f"""
import os, signal, sys, time, types
sys.modules["thomax"] = types.ModuleType("thomax")
sys.modules["thomax"].__path__ = {[*thomax.__path__]!r}
from thomax.storage import journal
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

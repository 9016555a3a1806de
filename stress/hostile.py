"""Journals written to do harm, and a process of its own that reads them.

`python -m stress.hostile FOLDER [--short]` makes them in the folder, reads each in every way
there is, and prints what came of it as JSON: the outcome, the seconds, and what the interpreter
was asked to do (its audit events) meanwhile.
"""

import contextlib
import io
import json
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stress.sentences import is_sentence, shown

SPACE = {
    "kind": "space",
    "parameters": [
        {"name": "x", "type": "Float", "low": 0, "high": 1, "log": False, "step": None}
    ],
    "constraint": False,
}
HEADER = {
    "format": "thomax-journal", "version": 1, "space": SPACE, "direction": "maximize", "seed": 0,
}  # fmt: skip
# What no reading of a file has to do; importing and compiling are what any first call does.
HARMFUL = (
    "socket.", "pickle.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.",
    "urllib.", "webbrowser.", "shutil.rmtree", "http.", "ftplib.", "smtplib.",
)  # fmt: skip
ASK = {"ask": 0, "params": {"x": 0.5}}
TELL = {"tell": 0, "value": 1.0, "error": None}
LARGE, VERY_LARGE = 10**5, 10**7  # bytes
OUTSIDE = "../../outside"
CODE = {
    "__class__": "os.system", "py/object": "os.system", "py/reduce": [{"py/type": "os.system"}],
    "!!python/object/apply:os.system": ["touch owned"], "__reduce__": ["os.system", "touch owned"],
}  # fmt: skip


def line(n: int, record: str) -> bytes:
    """Return a line with a right checksum, whatever the text of its record."""
    body = f'"n": {n}, "record": {record}}}'.encode()
    return b'{"crc": "%08x", %s\n' % (zlib.crc32(body), body)


def journal(*records: Any, header: Any = HEADER) -> bytes:
    """Return a journal whose every line is intact; a text is taken as it is."""
    texts = [r if isinstance(r, str) else json.dumps(r) for r in (header, *records)]
    return b"".join(line(n, text) for n, text in enumerate(texts))


def _params(**values: Any) -> dict[str, Any]:
    return {"ask": 0, "params": values}


def _keys(count: int) -> str:
    return ", ".join([f'"k{i}": 0' for i in range(count)])


def _described(**change: Any) -> bytes:
    parameter = SPACE["parameters"][0] | change  # type: ignore[index]
    return journal(ASK, header=HEADER | {"space": SPACE | {"parameters": [parameter]}})


JOURNALS: dict[str, Callable[[], bytes]] = {
    "brackets 10^5 deep": lambda: journal(
        '{"ask": 0, "params": ' + "[" * 10**5 + "]" * 10**5 + "}"
    ),
    "objects 10^5 deep": lambda: journal('{"a": ' * 10**5 + "0" + "}" * 10**5),
    "brackets that never close": lambda: journal() + b"[" * 10**7,
    "a header of brackets": lambda: b"[" * 10**6,
    "an integer of 10^7 digits": lambda: journal('{"tell": ' + "9" * 10**7 + ', "value": 1}'),
    "a number n of 10^7 digits": lambda: journal() + b'{"crc": "00000000", "n": ' + b"9" * 10**7,
    "an integer of 4,000 digits": lambda: journal(ASK, '{"tell": 0, "value": ' + "9" * 4000 + "}"),
    "a value beyond floats": lambda: journal(ASK, '{"tell": 0, "value": 1e999999}'),
    "NaN": lambda: journal(ASK, '{"tell": 0, "value": NaN}'),
    "Infinity": lambda: journal(ASK, '{"tell": 0, "value": -Infinity}'),
    "duplicate keys": lambda: journal('{"ask": 0, "ask": 1, "params": {"x": 0.5}}'),
    "10^6 keys": lambda: journal('{"ask": 0, "params": {' + _keys(10**6) + "}}"),
    "10^5 keys in the header": lambda: journal(header=HEADER | {f"k{i}": 0 for i in range(10**5)}),
    "a text of 50 MB": lambda: journal(_params(x="a" * 50 * 10**6)),
    "20,000 line ends": lambda: journal() + b"\n" * 20_000,
    "10^5 lines that start like records": lambda: journal() + b'{"crc": "00000000", "n": ' * 10**5,
    "class names": lambda: journal(_params(**CODE), header=HEADER | CODE),
    "class names as values": lambda: journal(ASK, {"tell": 0, "value": CODE, "error": CODE}),
    "paths": lambda: journal(
        _params(x=OUTSIDE), {"enqueue": {OUTSIDE: OUTSIDE}}, header=HEADER | {"journal": OUTSIDE}
    ),
    "a text for a number": lambda: journal({"ask": "zero", "params": {"x": 0.5}}),
    "true for a number": lambda: journal({"ask": True, "params": {"x": 0.5}}),
    "a list for a number": lambda: journal({"ask": [0], "params": {"x": 0.5}}),
    "a number below zero": lambda: journal({"ask": -7, "params": {"x": 0.5}}),
    "a number of 10^15": lambda: journal({"ask": 10**15, "params": {"x": 0.5}}),
    "a text for params": lambda: journal({"ask": 0, "params": "x"}),
    "null for params": lambda: journal({"enqueue": None}),
    "a text for a value": lambda: journal(ASK, {"tell": 0, "value": "1", "error": None}),
    "true for a value": lambda: journal(ASK, {"tell": 0, "value": True, "error": None}),
    "a list for a value": lambda: journal(ASK, {"add": 1, "params": {"x": 0}, "value": [1]}),
    "no value": lambda: journal(ASK, {"tell": 0}),
    "a list for an error": lambda: journal(ASK, {"tell": 0, "value": None, "error": [1]}),
    "one record for several": lambda: journal(ASK, {"all": {"tell": 0, "value": 1.0}}),
    "a number for a record of several": lambda: journal(ASK, {"all": [0]}),
    "several within several": lambda: journal(ASK, {"all": [{"all": [{"drop": 0}]}]}),
    "several, the last one wrong": lambda: journal({"all": [ASK, {"tell": 0, "value": "1"}]}),
    "another point than was asked for": lambda: journal(
        ASK, {"tell": 0, "params": {"x": 7}, "value": 1.0}
    ),
    "a text for a correction": lambda: journal(ASK, TELL, {"correct": 0, "value": "1"}),
    "a correction of nothing": lambda: journal(ASK, TELL, {"correct": 7, "value": 1.0}),
    "a list for why": lambda: journal(ASK, TELL, {"retract": 0, "why": [CODE]}),
    "a number for a note": lambda: journal(ASK, {"tell": 0, "value": 1.0, "note": 7}),
    "a trial told twice": lambda: journal(ASK, *[{"tell": 0, "value": v} for v in (1.0, 2.0)]),
    "a point outside the space": lambda: journal(_params(x=7)),
    "a point of another space": lambda: journal(_params(y=0.5)),
    "a list for the space": lambda: journal(header=HEADER | {"space": [1]}),
    "no space": lambda: journal(header={k: v for k, v in HEADER.items() if k != "space"}),
    "no parameters": lambda: journal(header=HEADER | {"space": {"kind": "space"}}),
    "a parameter that is a text": lambda: journal(
        header=HEADER | {"space": SPACE | {"parameters": ["x"]}}
    ),
    "a type of another world": lambda: _described(type="subprocess.Popen"),
    "an unknown option": lambda: _described(shell=True),
    "a list for a type": lambda: _described(type=["Float"]),
    "texts for bounds": lambda: _described(low="0", high="1"),
    "a list for a name": lambda: _described(name=["x"]),
    "2^53 whole numbers": lambda: _described(type="Int", low=0, high=2**53, step=1),
    "a condition on itself": lambda: _described(when={"x": [1]}),
    "a pool of 10^18 rows": lambda: journal(
        {"ask": 0, "params": {"index": 10**17}},
        header=HEADER
        | {"space": {"kind": "pool", "size": 10**18, "shape": [10**9], "checksum": "0"}},
    ),
    "a text for the seed": lambda: journal(header=HEADER | {"seed": "0"}),
    "a list for the direction": lambda: journal(header=HEADER | {"direction": ["maximize"]}),
    "a text for the version": lambda: journal(header=HEADER | {"version": "1"}),
    "a version of 10^18": lambda: journal(header=HEADER | {"version": 10**18}),
    "a version below zero": lambda: journal(header=HEADER | {"version": -1}),
}  # fmt: skip
SPARSE = "100 MB that were never written"  # a length that the file system only claims
SLOW = ("10^6 keys", "a text of 50 MB")  # like this one, they take seconds


def write(folder: Path, short: bool) -> dict[str, Path]:
    """Make every journal in a folder of its own, and return where they are."""
    paths = {}
    for number, (name, make) in enumerate(JOURNALS.items()):
        if short and name in SLOW:
            continue
        paths[name] = folder / str(number) / "run.jsonl"
        paths[name].parent.mkdir()
        paths[name].write_bytes(make())
    if short:
        return paths
    paths[SPARSE] = folder / "sparse" / "run.jsonl"
    paths[SPARSE].parent.mkdir()
    with paths[SPARSE].open("wb") as file:
        file.write(journal(ASK))
        file.truncate(100 * 10**6)
    return paths


def _readers() -> dict[str, Callable[[Path], object]]:
    """Return every way of thomax to take in a journal."""
    from thomax import Float, Optimizer, repair
    from thomax.cli.journals import open_again
    from thomax.cli.main import parse
    from thomax.report.writing import snapshot_of
    from thomax.storage.journal import Journal

    def optimise(path: Path) -> None:
        with Optimizer({"x": Float(0, 1)}, seed=0, journal=path) as optimizer:
            _ = optimizer.trials, optimizer.pending, repr(optimizer)
            optimizer.ask()

    def go_on(path: Path) -> None:
        with open_again(path) as optimizer:
            optimizer.ask()

    def show(path: Path) -> None:
        options = parse(["show", str(path), "--all"])
        with contextlib.redirect_stdout(io.StringIO()):
            options.act(options)

    return {
        "Journal.read": Journal.read,
        "Optimizer": optimise,
        "open_again": go_on,
        "thomax show": show,
        "the report": snapshot_of,
        "repair": repair,
    }


def _attempt(read: Callable[[Path], object], path: Path) -> tuple[str, float]:
    """Return how a reading ended: "loaded", "refused", or with what it should not have."""
    start = time.process_time()
    outcome = "loaded"
    try:
        with warnings.catch_warnings(action="ignore"):
            read(path)
    except Exception as error:
        outcome = "refused" if is_sentence(error) else shown(error)
    return outcome, time.process_time() - start


def main() -> None:
    """Read all of them, and print what was seen."""
    folder, readers = Path(sys.argv[1]), _readers()
    paths = write(folder, "--short" in sys.argv)
    harmless = folder / "sound.jsonl"  # also imports and compiles whatever reading takes
    harmless.write_bytes(journal(ASK, {"tell": 0, "value": 1.0, "error": None}))
    sound = {way: _attempt(read, harmless)[0] for way, read in readers.items()}
    events: set[str] = set()

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(HARMFUL):
            events.add(event)

    sys.addaudithook(audit)
    seen = []
    for name, path in paths.items():
        for way, read in readers.items():
            if path.stat().st_size > LARGE and way not in ("Optimizer", "repair"):
                continue  # every other way begins with the same reading
            if path.stat().st_size > VERY_LARGE and way == "repair":
                continue
            events.clear()
            before = _megabytes("VmRSS")
            _forget_peak()
            outcome, seconds = _attempt(read, path)
            grown = _megabytes("VmHWM") - before
            seen.append([name, way, outcome, round(seconds, 3), round(grown), sorted(events)])
    print(json.dumps({"sound": sound, "seen": seen}))


def _megabytes(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) / 1024


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    main()

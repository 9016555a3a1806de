"""Corrupt files: whatever happens to a journal, no intact record is lost or changed silently."""

import os
import random
import re
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import thomax as tx
from stress.intruders import check_intruders
from stress.part import Part
from stress.sentences import raised
from stress.workers import answer_of
from thomax.optimizer import Optimizer
from thomax.storage.journal import Journal
from thomax.storage.records import encode
from thomax.storage.repair import repair
from thomax.storage.replay import History

SPACE = {
    "x": tx.Float(-1, 1),
    "rate": tx.Float(1e-150, 1e150, log=True),
    "k": tx.Int(-5, 5),
    "layers": tx.Int(1, 1024, log=True),
    "größe": tx.Ordinal([0.1, 0.5, 2]),
    "flag": tx.Bool(),
    "kind": tx.Categorical(['é\u2028\n"\\', "短い", "🎲", None, True, 1.5]),
    "momentum": tx.Float(0, 1, when={"flag": True}),
}
_POINT = {"x": 0.5, "rate": 1.0, "k": 1, "layers": 2, "größe": 2, "flag": False, "kind": "🎲"}
_VALUES = (0.1, -0.0, 5e-324, -1.7976931348623157e308, 1 / 3, 12345678901234567.0)
_PLACE = re.compile(r"damaged at line \d+ \(byte (\d+)\): .*\. Nothing was changed\.")
_OTHER_REFUSALS = ("must be a thomax journal, got", "was written by a newer thomax")


def run(part: Part, short: bool) -> None:
    """Cut, flip, mangle and replace the bytes of a journal."""
    with tempfile.TemporaryDirectory() as name, patch.object(os, "fsync", lambda fd: None):
        sound = Sound(Path(name, "run.jsonl"))
        truncate_at_every_byte(part, sound, step=97 if short else 1)
        flip_bits(part, sound, 60 if short else 1000)
        mangle(part, sound, 60 if short else 1500)
        replace_whole_files(part, sound)
        refuse_records_of_the_future(part, sound)
    check_intruders(part)
    if not short:
        read_giant_lines(part)


class Sound:
    """A journal without damage, and what is in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.opened() as search:
            search.enqueue(_POINT)
            for value in _VALUES:
                search.tell(search.ask(), value)
            search.tell(search.ask(), error="\u202eout of memory \0 ✗")
            search.tell(_POINT, 1e-7)
            search.tell(search.ask(), float("nan"))
            search.drop(search.ask())
            search.ask()
        self.content = path.read_bytes()
        self.lines = self.content.splitlines(keepends=True)
        journal = Journal.read(path)
        self.header, self.records = journal.header, journal.records

    def opened(self) -> Optimizer:
        """Open the file as a search."""
        return Optimizer(SPACE, tx.Random(), seed=0, initial=99, journal=self.path)

    def write(self, content: bytes) -> None:
        """Put these bytes in the journal's place, and nothing beside it."""
        for path in self.path.parent.iterdir():
            path.unlink()
        self.path.write_bytes(content)

    def intact_in(self, content: bytes) -> list[int]:
        """Return which records' lines are still in these bytes, wherever."""
        return [i for i, line in enumerate(self.lines[1:]) if line[:-1] in content]

    def first_difference(self, content: bytes) -> int:
        """Return the position of the first byte that is not as it was."""
        pairs = enumerate(zip(self.content, content, strict=False))
        return next((i for i, (a, b) in pairs if a != b), min(len(self.content), len(content)))


# What must hold of every file


def check(part: Part, sound: Sound, content: bytes, where: str) -> str:
    """Open, read and repair these bytes; return what opening came to."""
    sound.write(content)
    intact = sound.intact_in(content)
    outcome = _check_reading(part, sound, content, intact, where)
    _check_opening(part, sound, content, intact, outcome, where)
    sound.write(content)
    _check_repair(part, sound, content, intact, where)
    return "loaded" if outcome is None else "refused"


def _check_reading(
    part: Part, sound: Sound, content: bytes, intact: list[int], where: str
) -> Exception | None:
    """Read a snapshot, and return why not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a damaged last line
            records = Journal.read(sound.path).records
    except Exception as error:
        _check_refusal(part, sound, content, error, where)
        return error
    finally:
        untouched = sound.path.read_bytes() == content
        part.check(untouched and _is_alone(sound), f"reading changed a file with {where}")
    _check_loaded(part, sound, records, intact, f"reading a file with {where}")
    return None


def _check_opening(
    part: Part,
    sound: Sound,
    content: bytes,
    intact: list[int],
    refusal: Exception | None,
    where: str,
) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torn lines
            with sound.opened() as search:
                records, trials = search._journal.records, search.trials  # type: ignore[union-attr]
    except Exception as error:
        _check_refusal(part, sound, content, error, where)
        part.check(refusal is not None, f"only reading accepted a file with {where}")
        part.check(
            sound.path.read_bytes() == content and _is_alone(sound),
            f"a refusal changed a file with {where}",
        )
        return
    begins_anew = refusal is not None and not records and not intact  # a header cut short
    part.check(refusal is None or begins_anew, f"only opening accepted a file with {where}")
    _check_loaded(part, sound, records, intact, f"opening a file with {where}")
    part.check(trials == [*History(records).trials.values()], f"trials differ after {where}")


def _check_refusal(part: Part, sound: Sound, content: bytes, error: Exception, where: str) -> None:
    """A refusal must name the file, and the place of the damage or its kind."""
    text = str(error)
    place = _PLACE.search(text)
    is_clear = (
        isinstance(error, ValueError)
        and str(sound.path) in text
        and "\n" not in text
        and len(text) < 1000
    )
    is_clear &= place is not None or any(reason in text for reason in _OTHER_REFUSALS)
    part.check(is_clear, f"the refusal of a file with {where} must be clear, got {error!r:.500}")
    if place:
        begin = int(place[1])
        first = sound.first_difference(content)
        is_right = begin <= first and (begin == 0 or content[begin - 1 : begin] == b"\n")
        part.check(is_right, f"the damage is at byte {first}, not {begin}, in a file with {where}")


def _check_loaded(
    part: Part, sound: Sound, records: list[Any], intact: list[int], act: str
) -> None:
    part.check(
        records == sound.records[: len(records)], f"{act} gave other records than were written"
    )
    lost = [i for i in intact if i >= len(records)]
    part.check(not lost, f"{act} lost the intact records {lost}")


def _check_repair(part: Part, sound: Sound, content: bytes, intact: list[int], where: str) -> None:
    if sound.lines[0][:-1] not in content:
        error = raised(lambda: repair(sound.path))
        part.check(isinstance(error, ValueError), f"repair without a header gave {error!r}")
        part.check(sound.path.read_bytes() == content, f"a refused repair changed {where}")
    try:
        repair(sound.path, sound.header)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tells whose ask is lost
            with sound.opened() as search:
                kept = search._journal.records  # type: ignore[union-attr]
    except Exception as error:
        part.check(False, f"the repair of a file with {where} came to {error!r}")
        return
    numbers = [sound.records.index(record) for record in kept if record in sound.records]
    part.check(len(numbers) == len(kept), f"repair made records up after {where}")
    part.check(numbers == sorted({*numbers}), f"repair kept records twice after {where}")
    lost = {*intact} - {*numbers}
    part.check(not lost, f"repair lost the intact records {lost} after {where}")
    copies = [path.read_bytes() for path in sound.path.parent.glob("*.damaged-*")]
    was_sound = sound.path.read_bytes() == content
    part.check(was_sound or copies == [content], f"repair has kept no copy after {where}")


def _is_alone(sound: Sound) -> bool:
    return [*sound.path.parent.iterdir()] == [sound.path]


# What happens to files


def truncate_at_every_byte(part: Part, sound: Sound, step: int) -> None:
    """Cut the file, as a crash does: it must load, with all lines that are whole."""
    cuts = [*range(0, len(sound.content) + 1, step)]
    for cut in cuts:
        outcome = check(part, sound, sound.content[:cut], f"a cut at byte {cut}")
        is_headless = cut < len(sound.lines[0]) - 1
        part.check((outcome == "loaded") != is_headless, f"a cut at byte {cut} was {outcome}")
    part.figures["cuts"] = len(cuts)


def flip_bits(part: Part, sound: Sound, count: int) -> None:
    """Flip one to three bits: all but those in the last line, which may be torn, are noticed."""
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        rng = random.Random(seed)
        content = bytearray(sound.content)
        bits = rng.sample(range(8 * len(content)), rng.choice([1, 1, 2, 3]))
        for bit in bits:
            content[bit // 8] ^= 1 << bit % 8
        where = f"bits {bits} flipped"
        outcomes[check(part, sound, bytes(content), where)] += 1
    part.figures["flips"] = {"files": count, **outcomes}


def mangle(part: Part, sound: Sound, count: int) -> None:
    """Do worse, one to three times in a row."""
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        rng = random.Random(seed)
        kinds = rng.choices([*_MANGLERS], k=rng.choice([1, 1, 2, 3]))
        content = sound.content
        for kind in kinds:
            content = _MANGLERS[kind](rng, content, sound)
        outcomes[check(part, sound, content, f"{', '.join(kinds)} (seed {seed})")] += 1
    part.figures["mangled"] = {"files": count, **outcomes}


def _slice(rng: random.Random, content: bytes) -> slice:
    length = rng.choice([1, 2, rng.randint(0, 40), rng.randint(0, 600)])
    begin = rng.randint(0, len(content))
    return slice(begin, begin + length)


def _garbage(rng: random.Random, sound: Sound) -> bytes:
    return rng.choice([
        rng.randbytes(rng.randint(1, 50)),
        bytes(rng.randint(1, 600)),
        b"\n" * rng.randint(1, 3),
        b"what is this?\n",
        b"\xef\xbb\xbf",
        b"\r\n",
        b'{"crc": "00000000", "n": 3, "record": {}}\n',
        b"[" * rng.randint(1, 5000),
        rng.choice(sound.lines[1:])[: rng.randint(0, 90)],
    ])  # fmt: skip


def _replaced(content: bytes, where: slice, by: bytes) -> bytes:
    return content[: where.start] + by + content[where.stop :]


def _zeros(rng: random.Random, content: bytes, _: Sound) -> bytes:
    where = _slice(rng, content)
    return _replaced(content, where, bytes(len(content[where])))


def _noise(rng: random.Random, content: bytes, _: Sound) -> bytes:
    where = _slice(rng, content)
    return _replaced(content, where, rng.randbytes(len(content[where])))


def _gap(rng: random.Random, content: bytes, _: Sound) -> bytes:
    return _replaced(content, _slice(rng, content), b"")


def _copy(rng: random.Random, content: bytes, _: Sound) -> bytes:
    begin = rng.randint(0, len(content))
    return _replaced(content, slice(begin, begin), content[_slice(rng, content)])


def _insertion(rng: random.Random, content: bytes, sound: Sound) -> bytes:
    begin = rng.randint(0, len(content))
    return _replaced(content, slice(begin, begin), _garbage(rng, sound))


def _lines(rng: random.Random, content: bytes, _: Sound) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.choice(["swap", "copy", "drop"])
    if change == "swap":
        lines[i], lines[j] = lines[j], lines[i]
    elif change == "copy":
        lines.insert(i, lines[j])
    else:
        del lines[i]
    return b"".join(lines)


def _end(rng: random.Random, content: bytes, sound: Sound) -> bytes:
    return content[: rng.randint(0, len(content))] + _garbage(rng, sound)


_MANGLERS: dict[str, Callable[[random.Random, bytes, Sound], bytes]] = {
    "zeros": _zeros,
    "noise": _noise,
    "a gap": _gap,
    "a copied piece": _copy,
    "an insertion": _insertion,
    "lines moved": _lines,
    "another end": _end,
}


def replace_whole_files(part: Part, sound: Sound) -> None:
    """Do to the file what editors, transfers and accidents do."""
    content = sound.content
    files = {
        "a byte-order mark": (b"\xef\xbb\xbf" + content, "refused"),
        "Windows line ends": (content.replace(b"\n", b"\r\n"), "refused"),
        "no line ends": (content.replace(b"\n", b""), "refused"),
        "blank lines": (content.replace(b"\n", b"\n\n"), "refused"),
        "UTF-16": (content.decode().encode("utf-16"), "refused"),
        "everything twice": (content * 2, "refused"),
        "the last record twice": (content + sound.lines[-1], "refused"),
        "a first record twice": (b"".join([*sound.lines[:2], *sound.lines[1:]]), "refused"),
        "zeros behind it": (content + bytes(5000), "loaded"),
        "nothing": (b"", "refused"),  # read needs a header; opening begins one
        "zeros": (bytes(5000), "refused"),
        "text": (b"notes\n" * 100, "refused"),
        "bytes": (random.Random(0).randbytes(5000), "refused"),
        "a line end": (b"\n", "refused"),
        "other JSON": (b'{"a": 1}\n[]\nnull\n', "refused"),
    }
    for name, (bad, expected) in files.items():
        outcome = check(part, sound, bad, name)
        part.check(outcome == expected, f"a file with {name} must be {expected}, got {outcome}")
    part.figures["whole files"] = len(files)


def refuse_records_of_the_future(part: Part, sound: Sound) -> None:
    """A newer version is told by its header; a record of a kind unknown here by its number."""
    count = len(sound.lines)
    newer = encode(0, {**sound.header, "version": 2})
    files = {
        "newer": (newer + b"".join(sound.lines[1:]), "newer thomax"),
        "unknown": (
            sound.content + encode(count, {"prune": 3}),
            f"record {count}: unknown record",
        ),
        "long": (sound.content + encode(count, {"prune": "x" * 9999}), f"record {count}: unknown"),
    }
    for name, (content, sentence) in files.items():
        sound.write(content)
        error = raised(sound.opened)
        is_clear = isinstance(error, ValueError) and sentence in str(error)
        part.check(
            is_clear and len(str(error)) < 1000, f"a {name} record must be refused, got {error!r}"
        )
        part.check(sound.path.read_bytes() == content, f"a {name} record's file was changed")
        if name == "newer":
            error = raised(lambda: repair(sound.path))
            part.check("newer" in str(error), f"repair must refuse a newer file, got {error!r}")


# Giants

_GIANTS = {
    "x": b"x",
    "zeros": bytes(1),
    "nesting": b"[",
    "line starts": b'{"crc": "00000000", "n": ',
    "one string": b"\\u0000",
}


def read_giant_lines(part: Part) -> None:
    """Read and repair files with a line of 100 MB, in bounded time and memory."""
    most = {"seconds": 0.0, "megabytes": 0.0}
    for kind in _GIANTS:
        for place in ("in the middle", "at the end"):
            found = answer_of(_read_a_giant_line, kind, place, seconds=300)
            where = f"a line of 100 MB of {kind} {place}"
            # At the end it may be half-written; in the middle it is damage.
            as_expected = found["was read"] == (place == "at the end")
            part.check(as_expected, f"{where} was {'' if found['was read'] else 'not '}read")
            part.check(found["lost"] == 0, f"repair lost {found['lost']} records around {where}")
            part.check(found["seconds"] < 60, f"{where} took {found['seconds']} s")
            part.check(found["megabytes"] < 500, f"{where} took {found['megabytes']} MB")
            most = {name: max(most[name], found[name]) for name in most}
    part.figures["lines of 100 MB"] = most


def _read_a_giant_line(kind: str, place: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sound = Sound(Path(name, "run.jsonl"))
        with sound.path.open("wb") as file:
            file.writelines(sound.lines if place == "at the end" else sound.lines[:3])
            for _ in range(100):  # megabytes
                file.write(_GIANTS[kind] * (2**20 // len(_GIANTS[kind])))
            if place != "at the end":
                file.writelines([b"\n", *sound.lines[3:]])
        before, begin = _peak(), time.process_time()
        was_read = raised(lambda: Journal.read(sound.path)) is None
        repair(sound.path)
        return {
            "was read": was_read,
            "seconds": round(time.process_time() - begin, 1),
            "megabytes": round(_peak() - before),
            "lost": len(sound.records) - len(Journal.read(sound.path).records),
        }


def _peak() -> float:
    """Return the most memory that this process has had, in megabytes."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit

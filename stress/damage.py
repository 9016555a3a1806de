"""A journal without damage, ways to damage it, and what must hold of it afterwards."""

import random
import re
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import thomax as tx
from stress.part import Part
from stress.sentences import raised
from thomax.optimizer import Optimizer
from thomax.storage.journal import Journal
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


class Sound:
    """A journal without damage, and what is in it."""

    options: Mapping[str, Any] = MappingProxyType({})  # of the search
    kind = ""  # in the names of figures

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.opened() as search:
            self._fill(search)
        self.content = path.read_bytes()
        self.lines = self.content.splitlines(keepends=True)
        journal = Journal.read(path)
        self.header, self.records = journal.header, journal.records

    def _fill(self, search: Optimizer) -> None:
        """Write records of all kinds."""
        search.enqueue(_POINT)
        for value in _VALUES:
            search.tell(search.ask(), value)
        search.tell(search.ask(), error="\u202eout of memory \0 ✗")
        search.tell(_POINT, 1e-7)
        search.tell(search.ask(), float("nan"))
        search.drop(search.ask())
        search.correct(0, 2.5, why="wrong dilution")
        search.correct(0, error="\u202eleak")  # corrected twice
        search.retract(1, why="✗")
        search.ask()

    def opened(self) -> Optimizer:
        """Open the file as a search."""
        return Optimizer(SPACE, tx.Random(), seed=0, initial=99, journal=self.path, **self.options)

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


class SoundOfMetrics(Sound):
    """A journal of several metrics: some missing, some measured again, some corrected twice."""

    kind = " of metrics"
    options = MappingProxyType({
        "objectives": {"yield": "maximize", "größe\n": "minimize"},
        "limits": {"impurity": "<= 0.02"},
    })  # fmt: skip

    def _fill(self, search: Optimizer) -> None:
        for value in _VALUES:
            search.tell(search.ask(), {"yield": value, "impurity": [value, 5e-324, None]})
        search.tell(search.ask(), {"größe\n": [0.1, 0.2]}, noise_std={"größe\n": 1e-300})
        search.tell(search.ask(), {"yield": float("nan")})
        search.tell(_POINT, {"yield": 1e-7}, note="\u202e✗")
        search.correct(0, {"impurity": 0.01}, why="wrong dilution")
        search.correct(0, {"yield": None, "größe\n": [1.0, 2.0]})  # corrected twice
        search.retract(1, why="✗")
        search.correct(1, {"yield": 2.5})  # brought back
        search.ask()


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
    expected = [*History(records, search.metrics).trials.values()]
    part.check(trials == expected, f"trials differ after {where}")


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


# Damage


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


MANGLERS: dict[str, Callable[[random.Random, bytes, Sound], bytes]] = {
    "zeros": _zeros,
    "noise": _noise,
    "a gap": _gap,
    "a copied piece": _copy,
    "an insertion": _insertion,
    "lines moved": _lines,
    "another end": _end,
}


# Giants

GIANTS = {
    "x": b"x",
    "zeros": bytes(1),
    "nesting": b"[",
    "line starts": b'{"crc": "00000000", "n": ',
    "one string": b"\\u0000",
}


def read_a_giant_line(kind: str, place: str) -> dict[str, Any]:
    """Read and repair a file with a line of 100 MB; return what that took."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sound = Sound(Path(name, "run.jsonl"))
        with sound.path.open("wb") as file:
            file.writelines(sound.lines if place == "at the end" else sound.lines[:3])
            for _ in range(100):  # megabytes
                file.write(GIANTS[kind] * (2**20 // len(GIANTS[kind])))
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

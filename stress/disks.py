"""Disks that lose their power, have no room, or may not be written to."""

import contextlib
import io
import os
import random
import resource
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from stress.part import Part
from stress.sentences import raised
from stress.workers import Facts, answer_of, opened
from thomax import Float, Random
from thomax.cli import show
from thomax.cli.main import main as cli
from thomax.optimizer import Optimizer
from thomax.storage.journal import Journal
from thomax.storage.repair import repair
from thomax.storage.replay import History

_NOBODY = 65534


def check_facts(part: Part, function: Callable[[Path, int], Facts], times: int) -> None:
    """Check what a process of its own finds in a folder that every user can read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for holds, sentence in answer_of(function, Path(folder), times):
            part.check(holds, sentence)


# Power cuts


class Disk:
    """What is safe from a power cut: contents as at their last fsync, names as at the folder's."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self._rng = folder, rng
        self._contents: dict[int, bytes] = {}
        self._names: dict[str, int] = {}
        self.cuts = 0
        self.check: Callable[[dict[str, bytes]], None] = lambda left: None

    def fsync(self, fd: int) -> None:
        """Cut the power before and after this."""
        self.cut()
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            self._names = self._names_now()
        else:
            for path in self.folder.iterdir():
                if path.stat().st_ino == status.st_ino:
                    self._contents[status.st_ino] = path.read_bytes()
        self.cut()

    def cut(self) -> None:
        """Check what a power cut would leave now, in some of the ways it can go."""
        self.cuts += 1
        for names in (self._names, self._names_now()):
            self.check({name: self._left(inode) for name, inode in names.items()})

    def _names_now(self) -> dict[str, int]:
        return {path.name: path.stat().st_ino for path in self.folder.iterdir()}

    def _left(self, inode: int) -> bytes:
        """Return the safe content, and a part of what followed it or zeros in its place."""
        safe = self._contents.get(inode, b"")
        now = b"".join(p.read_bytes() for p in self.folder.iterdir() if p.stat().st_ino == inode)
        more = now[len(safe) :] if now.startswith(safe) else b""
        more = more[: self._rng.randint(0, len(more))]
        return safe + self._rng.choice([b"", more, bytes(len(more))])


def cut_power_of_searches(part: Part, searches: int) -> None:
    """Cut the power of searches at every fsync: what was told before it must be there."""
    cuts = 0
    for seed in range(searches):
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            disk = Disk(Path(folder), rng)
            with patch.object(os, "fsync", disk.fsync):
                _search_on(part, disk, rng, f"the search with seed {seed}")
        cuts += disk.cuts
    part.figures["power cuts"] = cuts


def _search_on(part: Part, disk: Disk, rng: random.Random, where: str) -> None:
    told: dict[int, float] = {}
    disk.check = lambda left: _check_told(part, left, told, where)
    path = disk.folder / "run.jsonl"
    for _ in range(4):
        with opened(path) as search:
            for _ in range(rng.randint(1, 4)):
                trial = search.ask()
                value = rng.gauss(0, 1)
                search.tell(trial, value)
                told[trial.number] = value
                disk.cut()
        if rng.random() < 0.7:
            with path.open("ab") as file:  # a line that is half-written
                file.write(b'{"crc": "17c7775e", "n": '[: rng.randint(1, 25)])


def _check_told(part: Part, left: dict[str, bytes], told: dict[int, float], where: str) -> None:
    problem = _problem_after_a_cut(left, dict(told))
    part.check(problem is None, f"a power cut after {len(told)} values of {where}: {problem}")


def _problem_after_a_cut(left: dict[str, bytes], told: dict[int, float]) -> str | None:
    with tempfile.TemporaryDirectory() as folder, patch.object(os, "fsync", lambda fd: None):
        for name, content in left.items():
            Path(folder, name).write_bytes(content)
        try:
            with opened(Path(folder, "run.jsonl")) as search:
                found = {t.number: t.value for t in search.trials}
                search.tell(search.ask(), 1.0)
        except Exception as error:
            # A file of zeros might be somebody else's.
            is_unborn = not told and "remove the file if it holds nothing" in str(error)
            return None if is_unborn else f"{type(error).__name__}: {error}"
    lost = {n for n, value in told.items() if found.get(n) != value}
    return f"{lost} were lost" if lost else None


def cut_power_of_repairs(part: Part, repairs: int) -> None:
    """Cut the power of repairs at every fsync: the old file or the new one must be there."""
    for seed in range(repairs):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.jsonl")
            with opened(path) as search:
                for trial in search.ask(5):
                    search.tell(trial, seed / 7)
            _cut_power_of_a_repair(part, path, seed)


def _cut_power_of_a_repair(part: Part, path: Path, seed: int) -> None:
    rng = random.Random(seed)
    content = bytearray(path.read_bytes())
    content[rng.randrange(content.index(b"\n") + 1, len(content))] ^= 1
    damaged = bytes(content)
    repaired = _repaired(damaged)
    path.write_bytes(damaged)
    disk = Disk(path.parent, rng)
    with patch.object(os, "fsync", disk.fsync):
        for name in (path, path.parent):
            fd = os.open(name, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
        disk.check = lambda left: part.check(
            left.get("run.jsonl") in (damaged, repaired) and damaged in left.values(),
            f"a power cut left neither file of the repair with seed {seed}",
        )
        repair(path)
        disk.cut()


def _repaired(damaged: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        path.write_bytes(damaged)
        repair(path)
        return path.read_bytes()


# No room


def _with_room_for(size: int, call: Callable[[], Any]) -> Exception | None:
    """Call with files limited to this size, as on a full disk; return what it raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        call()
    except Exception as error:
        return error
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return None


def _is_clear(error: Exception | None, path: Path) -> bool:
    return isinstance(error, OSError) and str(path) in str(error)


def tell_without_room(folder: Path, times: int) -> Facts:
    """Tell with room for some bytes of the line only; then there is room again."""
    facts: Facts = []
    path, rng = folder / "run.jsonl", random.Random(0)
    with opened(path) as search:
        for _ in range(times):
            trial = search.ask()
            before = path.read_bytes()
            room = rng.randrange(60)  # a line has more
            error = _with_room_for(
                len(before) + room, lambda trial=trial: search.tell(trial, rng.gauss(0, 1))
            )
            where = f"a tell with room for {room} bytes"
            facts += [
                (_is_clear(error, path), f"{where} must say so, got {error!r}"),
                (len(Journal.read(path).records) == before.count(b"\n") - 1, f"{where} lost some"),
                (trial in search.pending, f"{where} must leave the trial pending"),
            ]
            search.tell(trial, 0.5)
        trials = search.trials
    with opened(path) as search:
        facts.append((search.trials == trials, "values told when there was room again are lost"))
    return facts


def tell_tables_without_room(folder: Path, times: int) -> Facts:
    """Tell tables with room for a part of them, then twice with room for all."""
    facts: Facts = []
    path, rng = folder / "run.jsonl", random.Random(0)
    with Optimizer({"x": Float(0, 1)}, Random(), seed=0, journal=path):
        pass
    for i in range(times // 4):
        table = folder / f"{i}.csv"
        rows = [f"{rng.random()},{rng.gauss(0, 1)}\n" for _ in range(40)]
        table.write_text("x,value\n" + "".join(rows))
        before = path.read_bytes()
        room = rng.randrange(2000)  # the line has more
        error = _with_room_for(len(before) + room, lambda t=table: _require_told(path, t))
        where = f"a table told with room for {room} bytes"
        facts += [
            ("could not be written" in str(error), f"{where} must say so, got {error!r}"),
            (path.read_bytes() == before, f"{where} was told in part"),
        ]
        for _ in range(2):
            _require_told(path, table)
        told = len(History(Journal.read(path).records).trials)
        facts.append((told == 40 * (i + 1), f"{where} and twice again gave {told} trials"))
    return facts


def _require_told(path: Path, table: Path) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli(["tell", str(path), "--from", str(table)])
    if code:
        raise RuntimeError(said.getvalue())


def open_without_room(folder: Path, times: int) -> Facts:
    """Create, mend and repair journals with room for some bytes only."""
    facts: Facts = []
    rng = random.Random(0)
    sound = folder / "sound.jsonl"
    with opened(sound) as search:
        search.tell(search.ask(), 1.0)
        trials = search.trials
    content = sound.read_bytes()
    for i in range(times // 2):
        room = rng.randrange(20)
        files = {
            "creating": (folder / f"{i}-new.jsonl", b"", lambda path: opened(path).close(), []),
            "moving a torn line": (
                folder / f"{i}-torn.jsonl",
                content + content[30:60],
                lambda path: opened(path).close(),
                trials,
            ),
            "repairing": (
                folder / f"{i}-bad.jsonl",
                content.replace(b"\n", b"?\n", 1),
                lambda path: repair(path),
                trials,
            ),
        }
        for name, (path, before, call, kept) in files.items():
            path.write_bytes(before)
            error = _with_room_for(room, lambda call=call, path=path: call(path))
            where = f"{name} with room for {room} bytes"
            facts += [
                (_is_clear(error, path), f"{where} must say so, got {error!r}"),
                (path.read_bytes() == before, f"{where} changed the file"),
            ]
            call(path)
            with opened(path) as search:
                facts.append((search.trials == kept, f"{where} lost trials"))
    return facts


# No permission


def write_where_it_is_forbidden(folder: Path, _: int) -> Facts:
    """Use journals in a folder that this user must not write to."""
    names = ("locked", "sound", "torn", "bad")
    path = {name: folder / f"{name}.jsonl" for name in (*names, "new")}
    for name in names:
        with opened(path[name]) as search:
            search.tell(search.ask(), 1.0)
            trials = search.trials
        path[name].chmod(0o666 if name != "locked" else 0o444)
    content = path["sound"].read_bytes()
    path["torn"].write_bytes(content + content[30:60])
    path["bad"].write_bytes(content.replace(b"\n", b"?\n", 1))
    folder.chmod(0o555)
    if os.geteuid() == 0:  # who may do everything
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    before = {name: path[name].read_bytes() for name in names}
    facts: Facts = []
    for name in ("locked", "torn", "bad", "new"):
        call = repair if name == "bad" else (lambda p: opened(p).close())
        error = raised(lambda call=call, name=name: call(path[name]))
        facts.append(
            (_is_clear(error, path[name]), f"a {name} journal must say so, got {error!r}")
        )
    for name in names:
        facts.append((path[name].read_bytes() == before[name], f"a {name} journal was changed"))
    for name in ("locked", "torn"):
        read = len(Journal.read(path[name]).records)
        facts.append((read == 2, f"a {name} journal must be readable, got {read} records"))
        facts.append((_shows(path[name]), f"a {name} journal must be shown"))
    with opened(path["sound"]) as search:
        facts.append((search.trials == trials, "a sound journal lost trials"))
        search.tell(search.ask(), 2.0)
    facts.append((len(Journal.read(path["sound"]).records) == 4, "a sound journal must go on"))
    return facts


def _shows(path: Path) -> bool:
    assert show  # imported before: another user may not be able to read Python's own files
    with contextlib.redirect_stdout(io.StringIO()):
        return cli(["show", str(path)]) == 0

"""Others at a journal that is open: they write to it, move it away, and lay links beside it."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from stress.part import Part
from stress.sentences import raised
from stress.workers import opened
from thomax.storage.index import index_path
from thomax.storage.repair import repair
from thomax.storage.telling import tell_pending


def _grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines(keepends=True)[-1])


def _link_away(path: Path) -> None:
    os.link(path, path.with_name("backup"))
    path.unlink()


def _replace(path: Path) -> None:
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").replace(path)


CHANGES: dict[str, Callable[[Path], None]] = {
    "a writer without locks": _grow,
    "an editor that saves in place": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "an editor that replaces the file": _replace,
    "a backup by link": _link_away,
    "a file removed": lambda path: path.unlink(),
    "a file cut short": lambda path: os.truncate(path, 10),
}


def change_while_open(part: Part, path: Path, name: str) -> None:
    """Let another program change an open journal: telling is refused, and writes nothing."""
    change = CHANGES[name]
    with opened(path) as search:
        trial = search.ask()
        change(path)
        left = {file: file.read_bytes() for file in path.parent.iterdir()}
        error = raised(lambda: search.tell(trial, 1.0))
        is_clear = isinstance(error, RuntimeError) and "this record was not written" in str(error)
        part.check(is_clear, f"after {name}, telling must be refused, got {error!r}")
        now = {file: file.read_bytes() for file in path.parent.iterdir()}
        part.check(now == left, f"after {name}, a refused tell has written")


_LONG = ["no room left: " + "x" * 950] * 1200  # more than a megabyte
INDEXES: dict[str, Callable[[bytes], bytes]] = {
    "no bytes": lambda content: b"",
    "half of it": lambda content: content[: len(content) // 2],
    "another end": lambda content: content.replace(b'"end": ', b'"end": 1'),
    "nothing pending": lambda content: content.replace(b'"pending": [', b'"pending": [9'),
    "zeros": lambda content: bytes(len(content)),
}


def spoil_index(part: Part, path: Path) -> None:
    """Spoil the index of a long journal, and the journal under it: nothing untrue is believed."""
    with opened(path) as search:
        point = search.ask().params
        search.tell_all([(point, None, error) for error in _LONG])
        trial = search.ask()
    index = index_path(path)
    journal, sound = path.read_bytes(), index.read_bytes()
    for name, spoil in INDEXES.items():
        index.write_bytes(spoil(sound))
        told = tell_pending(path, trial.number, 1.0, None)
        part.check(not told and path.read_bytes() == journal, f"an index of {name} was believed")
    for position in range(0, len(journal), len(journal) // 50):
        index.write_bytes(sound)
        status = path.stat()
        flipped = bytes([journal[position] ^ 1])
        path.write_bytes(journal[:position] + flipped + journal[position + 1 :])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        told = tell_pending(path, trial.number, 1.0, None)
        part.check(not told, f"a changed byte {position} under the index was not noticed")
    path.write_bytes(journal)
    index.write_bytes(sound)
    part.check(tell_pending(path, trial.number, 1.0, None), "a sound index was not believed")


def lay_links(part: Part, path: Path) -> None:
    """Lay links to a precious file where side files go: nobody writes to it."""
    victim = path.with_name("victim")
    victim.write_bytes(b"precious")
    with opened(path) as search:
        search.tell(search.ask(), 1.0)
        trials = search.trials
    path.chmod(0o600)
    path.write_bytes(b"?\n" + path.read_bytes())
    links = ["repairing", "damaged-1", "torn"]
    for name in links:
        path.with_name(f"run.jsonl.{name}").symlink_to(victim)
    repair(path)
    path.write_bytes(path.read_bytes() + b"torn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with opened(path) as search:
            part.check(search.trials == trials, "links beside a journal cost trials")
    part.check(victim.read_bytes() == b"precious", "a link beside a journal was followed")
    modes = {
        file.name: file.stat().st_mode & 0o777
        for file in path.parent.iterdir()
        if file != victim and not file.is_symlink()
    }
    part.check({*modes.values()} == {0o600}, f"copies of a private journal have modes {modes}")

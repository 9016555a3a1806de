"""What was written by an older thomax is read, and what is declared to suffice is declared once.

A fixture of every journal format version lies in tests/fixtures; it is never written again. The
present version's was made by `python -m stress.versions`.
"""

import shutil
from itertools import zip_longest
from typing import Any

import pytest

from stress.sentences import is_sentence, raised, shown
from stress.versions import (
    FIXTURES,
    ROOT,
    SPACE,
    check_declared_versions,
    declared,
    is_at_least,
    opened,
    play,
    points,
)
from thomax import Space
from thomax.storage.headers import VERSION
from thomax.storage.journal import Journal
from thomax.storage.records import decode, encode
from thomax.storage.replay import History

# Journals

EVERY = [
    *(
        (f"journal-{version}-{kind}.jsonl", version, kind)
        for version in range(1, VERSION + 1)
        for kind in ("space", "pool")
    ),
    ("journal-1-pool-before-names.jsonl", 1, "pool"),  # names were not yet checked
]


@pytest.mark.parametrize(("name", "version", "kind"), EVERY, ids=[name for name, *_ in EVERY])
def test_a_journal_of_an_older_thomax_loads(part, tmp_path, name, version, kind):
    fixture = FIXTURES / name
    path = tmp_path / "run.jsonl"
    shutil.copy(fixture, path)
    read = Journal.read(path)
    part.check(read.header["version"] == version, f"{fixture} is of another version")
    kinds = {key for record in read.records for key in record}
    missing = {"ask", "tell", "add", "drop", "enqueue"} - kinds
    part.check(not missing, f"{fixture} has no {missing}")
    expected = play(kind, tmp_path / "again.jsonl")
    trials = [*History(read.records).trials.values()]
    part.check(_bits(trials) == _bits(expected), f"{fixture} holds other trials: {trials}")
    if kind == "space":
        rebuilt = Space.from_description(read.header["space"])
        part.check(rebuilt == Space(SPACE), f"{fixture} describes another space: {rebuilt}")
    with opened(kind, path) as optimizer:
        part.check(_bits(optimizer.trials) == _bits(expected), f"{fixture} was opened wrongly")
        asked = optimizer.ask()
        wanted = optimizer.space.validate(points(kind)[2])
        part.check(asked.params == wanted, f"{fixture} lost its queue: {asked}")
        optimizer.tell(asked, 1.0)
    kept = path.read_bytes().startswith(fixture.read_bytes())
    part.check(kept, f"going on with {fixture} changed what it held")


def _bits(trials: list[Any]) -> str:
    return repr(trials)  # == takes -0.0 for 0.0, and True for 1


@pytest.mark.parametrize("kind", ["space", "pool"])
def test_the_present_version_is_written_as_its_fixture(part, tmp_path, kind):
    """A format that changes needs a new version, and a fixture of it."""
    fixture = FIXTURES / f"journal-{VERSION}-{kind}.jsonl"
    path = tmp_path / "run.jsonl"
    play(kind, path)
    lines = zip_longest(path.read_text().splitlines(), fixture.read_text().splitlines())
    for number, (new, old) in enumerate(lines, start=1):
        part.check(new == old, f"line {number} of {fixture} is now {new}, was {old}")


@pytest.mark.parametrize("version", [VERSION + 1, VERSION + 1000])
def test_a_future_version_is_refused(part, tmp_path, version):
    fixture = FIXTURES / f"journal-{VERSION}-space.jsonl"
    first, *rest = fixture.read_bytes().splitlines(keepends=True)
    entry = decode(first)
    header = entry.record if entry else {}
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join([encode(0, header | {"version": version}), *rest]))
    before = path.read_bytes()
    for read in (Journal.read, lambda p: opened("space", p)):
        error = raised(lambda read=read: read(path))
        outcome = "was loaded" if error is None else shown(error)
        refused = error is not None and is_sentence(error) and "upgrade thomax" in outcome
        part.check(refused, f"a journal of version {version} {outcome}")
    part.check(path.read_bytes() == before, f"a journal of version {version} was changed")


# Dependencies


def test_the_oldest_versions_are_the_declared_ones(part):
    """`make test-oldest` runs with the lower bounds, not with something near them."""
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    bounds = declared()
    for extra in ("", "table", "optuna", "report"):
        for name, bound in bounds[extra].items():
            pin = pins.get(name, "nothing")
            same = is_at_least(pin, bound) and is_at_least(bound, pin)
            part.check(same, f"tests/oldest.txt has {name}=={pin}, pyproject.toml {name}>={bound}")
    part.figures["oldest"] = pins


def test_what_is_installed_is_what_is_declared(part):
    check_declared_versions(part)

"""What was written by an older thomax is read, and what is declared to suffice is declared once.

A fixture of every journal format version lies in tests/fixtures; it is never written again. The
present version's was made by `python -m stress.versions`.
"""

import json
import re
import shutil
import tomllib
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stress.part import Part
from stress.sentences import is_sentence, shown
from thomax import Bool, Categorical, Float, Int, Optimizer, Ordinal, Pool, Random, Space
from thomax.storage.headers import VERSION
from thomax.storage.journal import Journal
from thomax.storage.records import decode, encode
from thomax.storage.replay import History

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
CORE = ("jax", "numpy", "scipy", "threadpoolctl", "tqdm")

# Every kind of parameter, option and name; never change it: the fixtures describe it.
SPACE = {
    "rate": Float(1e-05, 1.0, log=True),
    "width": Float(-1.5, 2.5),
    "drop": Float(0, 0.9, step=0.1),
    "depth": Int(1, 12),
    "units": Int(16, 4096, log=True),
    "even": Int(0, 10, step=2),
    "kind": Categorical(["adam", "sgd", "none", 3, 0.5, True, None]),
    "size": Ordinal(["small", "medium", "large"]),
    "early": Bool(),
    "momentum/β": Float(0, 1, when={"kind": ["sgd", "adam"]}),
    "nesterov": Bool(when={"kind": "sgd", "early": True}),
}
FIRST = {
    "rate": 0.1, "width": 1e-300, "drop": 0.3, "depth": 4, "units": 64, "even": 4, "kind": "sgd",
    "size": "medium", "early": True, "momentum/β": 0.9, "nesterov": False,
}  # fmt: skip
SECOND = {
    "rate": 1e-5, "width": -1.5, "drop": 0.0, "depth": 12, "units": 16, "even": 0, "kind": None,
    "size": "large", "early": False,
}  # fmt: skip
THIRD = SECOND | {"kind": True, "rate": 0.123456789012345678, "width": 5e-324}
POOL = [[0.0, 1.5], [1.0, -2.0], [0.0, 3.25], [1.0, 0.5]]
POOL_NAMES = ["aspirin", "caffeine", "β-carotene", "<none>"]


def run(part: Part, short: bool) -> None:
    """Read every fixture and compare versions; the short version is the whole."""
    for version in range(1, VERSION + 1):
        for kind in ("space", "pool"):
            _a_fixture_loads(part, FIXTURES / f"journal-{version}-{kind}.jsonl", version, kind)
    # Pools whose names were not yet checked.
    _a_fixture_loads(part, FIXTURES / "journal-1-pool-before-names.jsonl", 1, "pool")
    _the_present_version_is_written_as_its_fixture(part)
    _a_future_version_is_refused(part)
    check_declared_versions(part)
    _the_oldest_versions_are_the_declared_ones(part)


# Journals


def play(kind: str, path: Path) -> list[Any]:
    """Write a journal with every kind of record, and return its trials.

    All points are enqueued: which one a model proposes is not the format's business.
    """
    with _open(kind, path) as optimizer:
        for point in _points(kind):
            optimizer.enqueue(point)
        first, second, third, fourth, _ = optimizer.ask(5)
        optimizer.tell(second, 1e300)
        optimizer.tell(first, -0.0)
        optimizer.tell(third, float("nan"))
        optimizer.drop(fourth)
        optimizer.tell(_points(kind)[0], 5e-324)
        optimizer.tell(_points(kind)[1], error="ValueError: no luck\n\twith “quotes” and \ud800")
        optimizer.enqueue(_points(kind)[2])
        return optimizer.trials


def _open(kind: str, path: Path) -> Optimizer:
    space = Space(SPACE) if kind == "space" else Pool(POOL, names=POOL_NAMES)
    direction = "minimize" if kind == "space" else "maximize"
    return Optimizer(space, Random(), direction=direction, seed=2**40, journal=path)


def _points(kind: str) -> list[dict[str, Any]]:
    if kind == "pool":
        return [{"index": i} for i in (2, 0, 3, 1, 2)]
    return [FIRST, SECOND, THIRD, FIRST, SECOND]


def _a_fixture_loads(part: Part, fixture: Path, version: int, kind: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        shutil.copy(fixture, path)
        read = Journal.read(path)
        part.check(read.header["version"] == version, f"{fixture} is of another version")
        kinds = {key for record in read.records for key in record}
        missing = {"ask", "tell", "add", "drop", "enqueue"} - kinds
        part.check(not missing, f"{fixture} has no {missing}")
        expected = play(kind, Path(folder) / "again.jsonl")
        trials = [*History(read.records).trials.values()]
        part.check(_bits(trials) == _bits(expected), f"{fixture} holds other trials: {trials}")
        if kind == "space":
            rebuilt = Space.from_description(read.header["space"])
            part.check(rebuilt == Space(SPACE), f"{fixture} describes another space: {rebuilt}")
        with _open(kind, path) as optimizer:
            part.check(_bits(optimizer.trials) == _bits(expected), f"{fixture} was opened wrongly")
            asked = optimizer.ask()
            wanted = optimizer.space.validate(_points(kind)[2])
            part.check(asked.params == wanted, f"{fixture} lost its queue: {asked}")
            optimizer.tell(asked, 1.0)
        kept = path.read_bytes().startswith(fixture.read_bytes())
        part.check(kept, f"going on with {fixture} changed what it held")


def _bits(trials: list[Any]) -> str:
    return repr(trials)  # == takes -0.0 for 0.0, and True for 1


def _the_present_version_is_written_as_its_fixture(part: Part) -> None:
    """A format that changes needs a new version, and a fixture of it."""
    for kind in ("space", "pool"):
        fixture = FIXTURES / f"journal-{VERSION}-{kind}.jsonl"
        with TemporaryDirectory() as folder:
            path = Path(folder) / "run.jsonl"
            play(kind, path)
            lines = zip_longest(path.read_text().splitlines(), fixture.read_text().splitlines())
        for number, (new, old) in enumerate(lines, start=1):
            part.check(new == old, f"line {number} of {fixture} is now {new}, was {old}")


def _a_future_version_is_refused(part: Part) -> None:
    fixture = FIXTURES / f"journal-{VERSION}-space.jsonl"
    first, *rest = fixture.read_bytes().splitlines(keepends=True)
    entry = decode(first)
    header = entry.record if entry else {}
    for version in (VERSION + 1, VERSION + 1000):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "run.jsonl"
            path.write_bytes(b"".join([encode(0, header | {"version": version}), *rest]))
            before = path.read_bytes()
            for read in (Journal.read, lambda p: _open("space", p)):
                try:
                    read(path)
                    outcome, refused = "was loaded", False
                except Exception as error:
                    outcome = shown(error)
                    refused = is_sentence(error) and "upgrade thomax" in outcome
                part.check(refused, f"a journal of version {version} {outcome}")
            part.check(path.read_bytes() == before, f"a journal of version {version} was changed")


# Dependencies


def declared() -> dict[str, dict[str, str]]:
    """Return the lower bounds of pyproject.toml: by extra ("" are the core), then by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lists = {"": project["dependencies"], **project["optional-dependencies"]}
    found: dict[str, dict[str, str]] = {}
    for extra, requirements in lists.items():
        matches = [re.match(r"([\w.-]+)(?:\[[^]]*\])?>=([\d.]+)", text) for text in requirements]
        found[extra] = {m[1]: m[2] for m in matches if m}
    return found


def is_at_least(version: str, bound: str) -> bool:
    """Compare versions number by number: 4.10 is above 4.9.

    Example:
        >>> is_at_least("4.10.0", "4.9"), is_at_least("2.0", "2.0.1")
        (True, False)
    """
    pairs = zip_longest(_numbers(version), _numbers(bound), fillvalue=0)
    return next((a > b for a, b in pairs if a != b), True)


def _numbers(version: str) -> list[int]:
    plain = re.match(r"\d+(\.\d+)*", version)
    return [int(number) for number in plain[0].split(".")] if plain else []


def check_declared_versions(part: Part) -> None:
    """Compare what is installed with the lower bounds, and the core with the five it has."""
    bounds = declared()
    part.check(sorted(bounds[""]) == sorted(CORE), f"the core depends on {sorted(bounds[''])}")
    versions = {}
    every = {name: bound for extra in bounds.values() for name, bound in extra.items()}
    for name, bound in sorted(every.items()):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:  # an extra that is not installed here
            part.check(name not in CORE, f"{name} is not installed")
            continue
        versions[name] = f"{version} (>= {bound})"
        part.check(is_at_least(version, bound), f"{name} is {version}, below {bound}")
    part.figures["installed"] = versions


def _the_oldest_versions_are_the_declared_ones(part: Part) -> None:
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


def main() -> None:
    """Write the fixtures of the present version, unless they exist."""
    for kind in ("space", "pool"):
        path = FIXTURES / f"journal-{VERSION}-{kind}.jsonl"
        if not path.exists():
            play(kind, path)
            print(json.dumps({"wrote": path.name}))


if __name__ == "__main__":
    main()

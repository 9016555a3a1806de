"""The journals of tests/fixtures, and the versions that pyproject.toml declares.

`python -m stress.versions` writes the fixtures of the present version, once.
"""

import json
import re
import tomllib
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from typing import Any

from stress.part import Part
from thomax import Bool, Categorical, Float, Int, Optimizer, Ordinal, Pool, Random, Space
from thomax.storage.headers import VERSION

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


# Journals


def play(kind: str, path: Path) -> list[Any]:
    """Write a journal with every kind of record, and return its trials.

    All points are enqueued: which one a model proposes is not the format's business.
    """
    with opened(kind, path) as optimizer:
        for point in points(kind):
            optimizer.enqueue(point)
        first, second, third, fourth, _ = optimizer.ask(5)
        optimizer.tell(second, 1e300)
        optimizer.tell(first, -0.0)
        optimizer.tell(third, float("nan"))
        optimizer.drop(fourth)
        optimizer.tell(points(kind)[0], 5e-324)
        optimizer.tell(points(kind)[1], error="ValueError: no luck\n\twith “quotes” and \ud800")
        optimizer.enqueue(points(kind)[2])
        return optimizer.trials


def opened(kind: str, path: Path) -> Optimizer:
    """Open a journal of this kind."""
    space = Space(SPACE) if kind == "space" else Pool(POOL, names=POOL_NAMES)
    direction = "minimize" if kind == "space" else "maximize"
    return Optimizer(space, Random(), direction=direction, seed=2**40, journal=path)


def points(kind: str) -> list[dict[str, Any]]:
    """Return the points that are enqueued."""
    if kind == "pool":
        return [{"index": i} for i in (2, 0, 3, 1, 2)]
    return [FIRST, SECOND, THIRD, FIRST, SECOND]


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


def main() -> None:
    """Write the fixtures of the present version, unless they exist."""
    for kind in ("space", "pool"):
        path = FIXTURES / f"journal-{VERSION}-{kind}.jsonl"
        if not path.exists():
            play(kind, path)
            print(json.dumps({"wrote": path.name}))


if __name__ == "__main__":
    main()

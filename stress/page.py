"""The page on reliability, from what the stress tests and `make bench-scale` measured.

`python -m stress.page` writes it; a test compares it with the results.
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "explanation" / "reliability.md"

_HEAD = """# Reliability

`make stress` kills, floods and attacks a search, and `make bench-scale` measures its time and
memory on large problems. This page is written from their results (`python -m stress.page`); short
versions of all parts are tests.

**{passed:,} checks held, {failed} did not.**

| part | what is tried | checks |
| --- | --- | --- |
"""
_TRIED = {
    "kill": (
        "Workers are ended by SIGKILL ({f[SIGKILL][rounds]} rounds), SIGTERM and SIGINT, calls "
        "are interrupted ({f[calls interrupted]}), power cuts simulated ({f[power cuts]:,}), and "
        "disks fail. Every value whose `tell` returned is in the reopened journal, or in the "
        "Optuna study."
    ),
    "files": (
        "Journals are cut short ({f[cuts]:,}), have bits flipped ({f[flips][files]:,}) or are "
        "mangled otherwise ({f[mangled][files]:,}). No intact record is lost or changed silently."
    ),
    "concurrency": (
        "{f[shared journal][processes]} processes share a journal for {f[shared journal][trials]} "
        "trials while another one reads it {f[readings meanwhile]} times."
    ),
    "values": (
        "Unexpected values and {f[random_spaces]} random spaces: proposals stay finite and valid, "
        "and a user's mistake raises an error of one sentence."
    ),
    "determinism": (
        "The same seed and values give the same proposals, bit for bit: in another process, after "
        "reopening the journal, in whatever order a batch is told. `ask(4)` and four calls of "
        "`ask()` differ by rounding, at most {largest:.1g} in the cube [-1, 1]."
    ),
    "security": (
        "{f[hostile_journals]} hostile journals, and hostile names, values and error texts: "
        "nothing is executed, shown as markup or sent over the network."
    ),
    "versions": (
        "Journals of every format version are read, and the lower bounds of the dependencies are "
        "the versions that `make test-oldest` runs with."
    ),
}


def page() -> str:
    """Return the text of the page."""
    stress = _read("stress.json")
    parts = [
        _HEAD.format(**stress) + _parts(stress["parts"]),
        _scale(_read("scale.json")),
        (ROOT / "stress" / "others.md").read_text(),
    ]
    return "\n".join(parts)


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / name).read_text())


def _parts(parts: dict[str, Any]) -> str:
    rows, failures = [], []
    for name, found in parts.items():
        differences = [v for v in found["figures"].values() if isinstance(v, dict)]
        largest = max((v.get(_DIFFERENCE, 0) for v in differences), default=0)
        tried = _TRIED[name].format(f=found["figures"], largest=largest)
        rows.append(f"| {name} | {tried} | {found['passed']:,} |\n")
        failures += [f"- Does not hold: {sentence}\n" for sentence in found["failures"]]
    return "".join([*rows, "\n" if failures else "", *failures])


_DIFFERENCE = "largest difference in the cube [-1, 1]"
_ASKS = "n", "d", "batch", "first_s", "wall_s", "cpu_s", "peak_mb"
_POOLS = "rows", "features", "wall_s", "rows_per_s", "anonymous_mb"
_NAMES = {
    "n": "observations",
    "d": "dimensions",
    "first_s": "first call, s",
    "wall_s": "seconds",
    "cpu_s": "CPU seconds",
    "peak_mb": "peak MB",
    "rows_per_s": "rows per second",
    "anonymous_mb": "MB beside the file",
}
_SCALE = """## Scale

`ask()`, or `ask(n)` for a batch, on {cores} cores that had other work too, so times are upper
bounds. Each row is a process of its own; seconds are medians after the first call, which compiles.

{asks}
A batch of four at {n:,} observations in {d} dimensions, side by side:

{rivals}
The maximum of a draw over a memory-mapped pool:

{pools}
After {minutes:.0f} minutes of asking and telling, {trials:,} trials, the process had {end:.0f} MB,
{growth:.1f} MB more than half way.
"""


def _scale(found: dict[str, Any]) -> str:
    side_by_side, soak = found["rivals"][0], found["soak"][0]
    rivals = [
        {"": name, "wall_s": row["wall_s"], "cpu_s": row["cpu_s"]}
        for name, row in side_by_side.items()
        if isinstance(row, dict)
    ]
    return _SCALE.format(
        cores=found["summary"]["cores"],
        asks=_table(found["asks"], *_ASKS),
        n=side_by_side["n"],
        d=side_by_side["d"],
        rivals=_table(rivals, "", "wall_s", "cpu_s"),
        pools=_table(found["pools"], *_POOLS),
        minutes=soak["seconds"] / 60,
        trials=soak["trials"],
        end=soak["rss_mb"][-1],
        growth=soak["late_growth_mb"],
    )


def _table(rows: list[dict[str, Any]], *columns: str) -> str:
    shown = [[_shown(row[c]) if c in row else "" for c in columns] for row in rows]
    lines = [[_NAMES.get(c, c) for c in columns], ["---"] * len(columns), *shown]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _shown(value: float | str) -> str:
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")

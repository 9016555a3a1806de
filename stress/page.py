"""The page on reliability, from what the stress tests and `make bench-scale` measured.

`python -m stress.page` writes it; a test compares it with the results.
"""

import ast
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "explanation" / "reliability.md"

_HEAD = """# Nothing lost, and still fast when it gets big

A search runs for days beside expensive experiments. `make stress` does to it what happens in
such days, and worse; `make bench-scale` measures what becomes of time and memory. This page is
written from their results (`python -m stress.page`), and a short version of every part is a test.

**{passed:,} checks held, {failed} did not.**
"""


def page() -> str:
    """Return the text of the page."""
    stress = _read("stress.json")
    parts = [
        _HEAD.format(**stress),
        _parts(stress["parts"]),
        _scale(_read("scale.json")),
        (ROOT / "stress" / "others.md").read_text(),
    ]
    return "\n".join(parts)


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / name).read_text())


def _parts(parts: dict[str, Any]) -> str:
    chapters = []
    for name, found in parts.items():
        figures = dict(found["figures"])
        seconds = _shown(figures.pop("seconds"))
        lines = [
            f"## {name.capitalize()}\n\n{_purpose(name)}\n",
            f"{found['passed']:,} held, {found['failed']} did not, in {seconds} s.\n",
            *[f"- does not hold: {sentence}" for sentence in found["failures"]],
            *[f"- {key.replace('_', ' ')}: {_shown(value)}" for key, value in figures.items()],
        ]
        chapters.append("\n".join(lines) + "\n")
    return "\n".join(chapters)


def _purpose(name: str) -> str:
    """Return the first paragraph of the part's module: it says what is tried."""
    text = ast.get_docstring(ast.parse((ROOT / "stress" / f"test_{name}.py").read_text())) or ""
    return " ".join(text.split("\n\n")[0].split())


_ASKS = "n", "d", "batch", "first_s", "wall_s", "cpu_s", "peak_mb"
_POOLS = "rows", "features", "wall_s", "rows_per_s", "share", "anonymous_mb", "sharded_s"
_UPDATES = "n", "again", "one more", "scales and noise", "draw", "search"
_SCALE = """## Scale

Measured by `make bench-scale` on {cores} cores that had other work too, so times are upper bounds;
each row is a process of its own, and seconds are medians after
a first call, which compiles. Targets missed: {missed}.

{asks}
A batch of four side by side at n = {n:,}, d = {d}:

{rivals}
A draw's maximum over a memory-mapped pool. `share` is that of the speed of matrix products in the
same run, `anonymous mb` what was taken beside the mapped file; `sharded s` is with worker
processes that open the file themselves:

{pools}
CPU-seconds of `ask()` when nothing is new, after one more observation, and of its steps:

{updates}
Asking and telling for {minutes:.0f} minutes, {trials:,} trials: {end:.0f} MB at the end,
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
        missed=", ".join(f"`{name}`" for name in found["summary"]["missed"]) or "none",
        asks=_table(found["asks"], *_ASKS),
        n=side_by_side["n"],
        d=side_by_side["d"],
        rivals=_table(rivals, "", "wall_s", "cpu_s"),
        pools=_table(found["pools"], *_POOLS),
        updates=_table(found["update"], *_UPDATES),
        minutes=soak["seconds"] / 60,
        trials=soak["trials"],
        end=soak["rss_mb"][-1],
        growth=soak["late_growth_mb"],
    )


def _table(rows: list[dict[str, Any]], *columns: str) -> str:
    shown = [[_shown(row[c]) if c in row else "" for c in columns] for row in rows]
    lines = [[c.replace("_", " ") for c in columns], ["---"] * len(columns), *shown]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(v)}" for key, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return f"{value:,}" if type(value) is int else str(value)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")

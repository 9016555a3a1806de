"""Write the page that shows every figure of the paper beside its claims and verdicts."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thomax.bench.authors import ITERATIONS, LUNAR
from thomax.bench.claims import findings, table
from thomax.bench.figures import FIGURES, Figure
from thomax.bench.plots import draw, draw_exploration, label
from thomax.bench.runner import records
from thomax.bench.statistics import (
    EQUAL,
    SMALL,
    Record,
    best_by_evaluation,
    best_by_iteration,
    mean_and_error,
)

_HEAD = f"""# The paper, reproduced

This page is written by `thomax bench document` from the results under `benchmarks/results/paper`;
`thomax bench run all` makes them. Dai, Shu, Low and Jaillet (NeurIPS 2022) give figures and no
tables, and ran up to 500 iterations on a cluster; what was run here stands with each figure.

**How to read it.** A run's score is its mean best value over the iterations, on a scale where 0
is what the starting points gave and 1 the best value that any run of the task saw. A claim that
one method beats another *holds* if the 95 % interval of the paired difference over seeds lies
above 0; it *does not hold* if the interval lies below {SMALL}; otherwise there are *not enough
seeds*. A tie holds if the interval lies within ±{EQUAL}. Intervals are not corrected for the
number of claims. In figures, solid lines are the paper's configuration, dashed ours, dotted the
released code's; numbers in brackets count seeds.
"""


def write_document(folder: Path, output: Path) -> None:
    """Write the page, and the figures beside the results."""
    known = records(folder)
    rows = table(findings(known))
    parts = [_HEAD, _summary(rows)]
    path = folder / "figures" / "1abc.svg"
    if any(r["task"] == "exploration" for r in known):
        draw_exploration(path)
        parts.append(_section("1abc", "Acquisition functions", path, output, [], rows))
    for figure in FIGURES.values():
        own = [r for r in known if r["task"] == figure.task and r["method"] in figure.methods]
        if own:
            path = folder / "figures" / f"{figure.name}.svg"
            draw(figure, known, path)
            lines = _setting(figure, own) + _finals(figure, own)
            if figure.task == "lunar":
                lines += _beside_authors(figure, own)
            parts.append(_section(figure.name, figure.title, path, output, lines, rows))
        else:
            parts.append(f"## Figure {figure.name}: {figure.title}\n\nNot run yet.\n")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {output}")


def _summary(rows: Sequence[dict[str, Any]]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    return f"**Verdicts over {len(rows)} claims:** {text}.\n"


def _section(
    name: str, title: str, path: Path, output: Path, lines: list[str], rows: Sequence[Any]
) -> str:
    link = Path(*[".."] * len(output.parent.parts), path).as_posix()
    own = [row for row in rows if row["figure"] == name]
    parts = [f"## Figure {name}: {title}", "", f"![{title}]({link})", "", *lines]
    if own:
        parts += ["", "| claim | compared | difference | 95 % interval | size | seeds | verdict |",
                  "|---|---|---|---|---|---|---|", *map(_row, own)]  # fmt: skip
    return "\n".join([*parts, ""])


def _row(row: dict[str, Any]) -> str:
    compared = f"{label(row['first'])} − {label(row['second'])}"
    if "seeds" not in row:
        return f"| {row['claim']} | {compared} | | | | 0 | {row['verdict']} |"
    low, high = row["interval"]
    return (
        f"| {row['claim']} | {compared} | {row['difference']:+.3f} | {low:.3f} … {high:.3f} "
        f"| {row['standardised']:.2f} | {row['seeds']} | **{row['verdict']}** |"
    )


def _setting(figure: Figure, own: Sequence[Record]) -> list[str]:
    seeds = Counter(r["method"] for r in own)
    iterations = max(r["iterations"] for r in own)
    data = next((r["data"] for r in own if r["data"]), "")
    text = (
        f"{iterations} iterations (paper: {figure.iterations}) after {own[0]['starts']} starting"
    )
    text += f" points, {min(seeds.values())} to {max(seeds.values())} seeds."
    return [text + (f" Data: {data}." if data else "")]


def _finals(figure: Figure, own: Sequence[Record]) -> list[str]:
    lines = ["", "| method | best observed | its value judged anew | seconds per iteration |",
             "|---|---|---|---|"]  # fmt: skip
    for method in figure.methods:
        runs = [r for r in own if r["method"] == method]
        if not runs:
            lines.append(f"| {label(method)} | not run | | |")
            continue
        mean, error = (z[-1] for z in mean_and_error([best_by_evaluation(r) for r in runs]))
        judged = [r["judged"] for r in runs if r["judged"] is not None]
        anew = f"{sum(judged) / len(judged):.4g}" if judged else ""
        asking = sum(r["ask_seconds"] / max(r["iterations"], 1) for r in runs) / len(runs)
        lines.append(f"| {label(method)} | {mean:.4g} ± {error:.2g} | {anew} | {asking:.2f} |")
    return lines


def _beside_authors(figure: Figure, own: Sequence[Record]) -> list[str]:
    """Compare with the authors' runs after as many iterations, from the same points."""
    reached = [i for i in ITERATIONS if i <= max(r["iterations"] for r in own)]
    if not reached:
        return []
    lines = ["", "The authors' own five runs and ours, from the same starting points (their",
             "values there were of another function, see `thomax.bench.authors`):", "",
             "| method | iteration | authors | here |", "|---|---|---|---|"]  # fmt: skip
    for method in (m for m in figure.methods if m in LUNAR):
        runs = [r for r in own if r["method"] == method]
        for i in reached if runs else ():
            there, error_there = LUNAR[method][ITERATIONS.index(i)]
            mean, error = (z[i] for z in mean_and_error([best_by_iteration(r) for r in runs]))
            lines.append(
                f"| {label(method)} | {i} | {there} ± {error_there} | {mean:.1f} ± {error:.1f} |"
            )
    return lines

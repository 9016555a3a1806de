"""Write the page that shows every figure of the paper beside its claims and verdicts."""

import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.paper import exploration
from benchmarks.paper.authors import AUTHORS_RUNS, ITERATIONS, LUNAR
from benchmarks.paper.claims import findings, table
from benchmarks.paper.figures import FIGURES, Figure
from benchmarks.paper.plots import draw, draw_exploration, label, shown
from benchmarks.runner import results
from benchmarks.statistics import (
    EQUAL,
    SMALL,
    Record,
    best_by_evaluation,
    best_by_iteration,
    mean_and_error,
    with_error,
)

_HEAD = f"""# The paper, reproduced

`python -m benchmarks document --folder {{folder}}` writes this page from the results there;
`python -m benchmarks run all --folder {{folder}}` adds what is missing.
Dai, Shu, Low and Jaillet (NeurIPS 2022) give
figures and no tables, and ran up to 500 iterations on a cluster; **how far each figure was run
here stands with it, and every verdict is about that budget only.**

**How to read it.** A run's score is its mean best value over the iterations, on a scale where 0
is what the starting points gave and 1 the best that any run of the task saw (regret where the
optimum is known). Differences are paired over seeds, with their 95 % intervals, not corrected for
the number of claims; size is the mean difference over its standard deviation.

- That one method beats another *holds* if the interval lies above 0, and *does not hold* if it
  lies below {SMALL}.
- That two are level *holds* if the interval lies within ±{EQUAL}, and *does not hold* if it lies
  outside. That a batch loses little *holds* if the interval lies above −{EQUAL}, and *does not
  hold* if it lies below.
- Otherwise, and with fewer than three seeds, there are *not enough seeds*.
- For Figure 1 (a-c) the difference is that of the logarithms of the spread of 100 draws.

"Paper" is what the paper states, trained to convergence (Deep Ensemble and deep, narrow networks
too); "released" imitates the authors' code (`STOBNTS.released()`); "scaled" is the paper's
baseline on standardised targets; "ours" are the settings that `Optimizer` takes by itself. In
figures they are solid, dotted, dash-dotted and dashed; numbers in brackets count seeds.
"""

_CLAIMS_HEAD = "| claim | compared | after | difference | 95 % interval | size | seeds | verdict |"


def write_document(folder: Path, output: Path) -> None:
    """Write the page, and the figures beside the results."""
    text = page(folder, output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    print(f"wrote {output}")


def page(folder: Path, output: Path) -> str:
    """Draw the figures and return the page that shows them, with links from where it goes."""
    known = results(folder)
    rows = table(findings(known))
    parts = [_HEAD.replace("{folder}", _shown_path(folder)), _summary(rows)]
    path = folder / "figures" / "1abc.svg"
    lines = ["Not run yet."]
    if any(r["task"] == exploration.TASK for r in known):
        draw_exploration(path)
        lines = [_picture("Acquisition functions of the function of seed 3", path, output)]
    parts.append(_section("1abc", "Acquisition functions", lines, rows))
    for figure in FIGURES.values():
        own = [r for r in known if r["task"] == figure.task and r["method"] in figure.methods]
        lines = ["Not run yet."]
        if own:
            path = folder / "figures" / f"{figure.name}.svg"
            draw(figure, known, path)
            lines = [_picture(figure.title, path, output), "", _setting(figure, own)]
            lines += _finals(figure, own)
            lines += _beside_authors(figure, own) if figure.task == "lunar" else []
        parts.append(_section(figure.name, figure.title, lines, rows))
    return "\n".join(parts)


def _shown_path(folder: Path) -> str:
    return Path(os.path.relpath(folder)).as_posix()


def _picture(title: str, path: Path, output: Path) -> str:
    return f"![{title}]({Path(os.path.relpath(path, output.parent)).as_posix()})"


def _summary(rows: Sequence[dict[str, Any]]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    return f"**Verdicts over {len(rows)} claims:** {text}.\n"


def _section(name: str, title: str, lines: list[str], rows: Sequence[dict[str, Any]]) -> str:
    own = [row for row in rows if row["figure"] == name]
    parts = [f"## Figure {name}: {title}", "", *lines]
    if own:
        parts += ["", _CLAIMS_HEAD, "|---|---|---|---|---|---|---|---|", *map(_row, own)]
    return "\n".join([*parts, ""])


def _row(row: dict[str, Any]) -> str:
    compared = f"{label(row['first'])} − {label(row['second'])}"
    if "seeds" not in row:
        return f"| {row['claim']} | {compared} | | | | | 0 | {row['verdict']} |"
    after = f"{row['upto']} {row['by']}s" if row["upto"] else ""
    cells = [
        row["claim"],
        compared,
        after,
        _number(row["difference"], "+.3f"),
        " … ".join(_number(z, ".3f") for z in row["interval"]),
        _number(row["standardised"], ".2f"),
        row["seeds"],
        f"**{row['verdict']}**",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def _number(value: float | None, form: str) -> str:
    return "" if value is None or not math.isfinite(value) else format(value, form)


def _setting(figure: Figure, own: Sequence[Record]) -> str:
    seeds = Counter(r["method"] for r in own)
    iterations = sorted({r["iterations"] for r in own})
    data = sorted({r["data"] for r in own if r["data"]})
    ran = " or ".join(map(str, iterations))
    fewest, most = min(seeds.values()), max(seeds.values())
    text = f"{ran} of the paper's {figure.paper_iterations} iterations after {own[0]['starts']} "
    text += f"starting points, {fewest} seeds" if fewest == most else ""
    text += f"starting points, {fewest} to {most} seeds" if fewest < most else ""
    return text + (f". Data: {', '.join(data)}." if data else ".")


def _finals(figure: Figure, own: Sequence[Record]) -> list[str]:
    unit = "regret" if any(r["optimum"] is not None for r in own) else "value"
    head = f"| method | {unit} of the best observed | its value judged anew | seconds an ask |"
    lines = ["", head, "|---|---|---|---|"]
    for method in figure.methods:
        runs = [r for r in own if r["method"] == method]
        if not runs:
            lines.append(f"| {label(method)} | not run | | |")
            continue
        best = _mean([float(shown(best_by_evaluation(r), r)[-1]) for r in runs])
        judged = _mean([r["judged"] for r in runs if r["judged"] is not None])
        asking = [r["ask_seconds"] / r.get("asks", r["iterations"]) for r in runs
                  if r.get("asks", r["iterations"])]  # fmt: skip
        seconds = f"{sum(asking) / len(asking):.2f}" if asking else ""
        lines.append(f"| {label(method)} | {best} | {judged} | {seconds} |")
    return lines


def _mean(values: Sequence[float]) -> str:
    return with_error(values) if values else ""


def _beside_authors(figure: Figure, own: Sequence[Record]) -> list[str]:
    """Compare with the authors' runs after as many iterations, from the same points."""
    lines = ["", "The authors' own five runs (standard errors with n, as they plot) and ours,",
             "from the same starting points. Only *released* imitates their code; what they",
             "measured at the starting points was another function (`benchmarks.paper.authors`).",
             "",
             "| method | iteration | authors | here |", "|---|---|---|---|"]  # fmt: skip
    for method in (m for m in figure.methods if m in LUNAR):
        runs = [r for r in own if r["method"] == method and r["seed"] < AUTHORS_RUNS]
        if not runs:
            continue
        mean, error = mean_and_error([best_by_iteration(r) for r in runs])
        for i, (there, its_error) in zip(ITERATIONS, LUNAR[method], strict=True):
            if i < len(mean):
                here = f"{mean[i]:.1f} ± {_number(error[i], '.1f')}"
                lines.append(f"| {label(method)} | {i} | {there} ± {its_error} | {here} |")
    return lines

"""Write the page of verdicts on the paper's claims, with its figures drawn again."""

import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.paper import exploration
from benchmarks.paper.authors import AUTHORS_RUNS, ITERATIONS, LUNAR
from benchmarks.paper.claims import OURS, SHARE, findings, table
from benchmarks.paper.figures import FIGURES, Figure
from benchmarks.paper.plots import draw, draw_exploration, label, quantity, shown
from benchmarks.runner import results
from benchmarks.statistics import (
    EQUAL,
    SMALL,
    ZERO,
    Record,
    best_by_iteration,
    mean_and_error,
    with_error,
)

Row = dict[str, Any]

_HEAD = """# The paper, reproduced

`python -m benchmarks document --folder {folder}` writes this page from the results there, and
`python -m benchmarks run 2a --folder {folder}` adds what Figure 2a lacks. From a fresh clone,
`make figure FIG=2a` runs a figure anew. Dai, Shu, Low and Jaillet (NeurIPS 2022) give figures and
no tables. **Every verdict names the iterations and seeds it rests on, and is about these only.**
"""

_RULES = f"""## How the verdicts come about

These rules were fixed before the runs. "A beats B" is a statement about curves: the **mean over
the iterations** of the best value so far decides, and where the curves end stands beside it,
judged anew where that is possible (Lunar-Lander: 400 more episodes). The best value is the
noise-free one where the optimum is known (synthetic functions, as in the paper, and pushing, where
the noise is tiny), and elsewhere the observed one. The unit of an effect belongs to its two
methods: 0 is what the starting points gave on average, 1 where the better of the two ends on
average. Differences are paired over seeds, with 95 % intervals (Student's), not corrected for the
number of claims.

- That one method beats another *holds* if the interval lies above 0, and *does not hold* if it
  lies below {SMALL}.
- That two are level *holds* if the interval lies within ±{EQUAL}, and *does not hold* if it lies
  outside. That one loses little or is competitive *holds* if the interval lies above −{EQUAL}, and
  *does not hold* if it lies below.
- That a method does not reach zero regret *holds* if its regret at the end, as a share of that of
  the starting points, lies above {ZERO}, and *does not hold* if it lies below.
- That one explores more is about the logarithm of the spread of 100 draws, by the first rule.
- "In two of three tasks" *holds* if two comparisons do, and *does not hold* if two do not.
- Where fewer than {SHARE:.0%} of the paper's iterations were run there are *not enough
  iterations*, whatever the interval: at first all methods are level, since none has found
  anything. What is undecided with more, or has fewer than three seeds, has *not enough seeds*.

The paper's text states 500 iterations for the control tasks and none for the others: there, "of"
names our own budget. "Paper" is what the paper states; "released" imitates the authors' code;
"scaled" is the paper's baseline on standardised targets; "ours" are the settings that `Optimizer`
takes by itself. In figures they are solid, dotted, dash-dotted and dashed; numbers in brackets
count seeds. Methods of the paper take the arg max over the whole domain, also where it was
evaluated before.
"""


def write_document(folder: Path, output: Path) -> None:
    """Write the page, and the figures beside the results."""
    text = page(folder, output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    print(f"wrote {output}")


def page(folder: Path, output: Path) -> str:
    """Draw the figures and return the page that shows them, with links from where it goes."""
    known = results(folder)
    rows, ours = table(findings(known)), table(findings(known, OURS))
    return "\n".join([
        _HEAD.replace("{folder}", _shown_path(folder)),
        _summary(rows),
        _RULES,
        "## All claims of the paper\n",
        _claims(rows),
        "## The same claims against other baselines\n",
        "Not statements of the paper: its baselines on standardised targets, and with our own",
        "settings.\n",
        _claims(ours),
        *_figures(folder, output, known),
        _provenance(known),
    ])  # fmt: skip


def _shown_path(folder: Path) -> str:
    return Path(os.path.relpath(folder)).as_posix()


def _summary(rows: Sequence[Row]) -> str:
    """Return one screen: a line for each statement, over all its comparisons."""
    counts = Counter(row["verdict"] for row in rows)
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    lines = [
        f"**Verdicts on the paper's {len(rows)} claims:** {words}.", "",
        "| claim | in the paper | effects | holds | does not | open | iterations × seeds |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for statement in dict.fromkeys(row["claim"] for row in rows):
        own = [row for row in rows if row["claim"] == statement]
        verdicts = Counter(row["verdict"] for row in own)
        decided = verdicts["holds"], verdicts["does not hold"]
        parts = [part for row in own for part in row["parts"]]
        cells = [
            _sentence(statement), _places(own), _range([p.get("difference") for p in parts]),
            *decided, len(own) - sum(decided), _budgets(parts),
        ]  # fmt: skip
        lines.append(_cells(cells))
    return "\n".join([*lines, ""])


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _places(rows: Sequence[Row]) -> str:
    """Return the sections and figures of some claims, each once."""
    places = dict.fromkeys(row["place"] for row in rows)
    sections: dict[str, list[str]] = {}
    for place in places:
        section, _, figure = place.partition(", ")
        sections.setdefault(section, []).append(
            figure.removeprefix("Figures ").removeprefix("Figure ")
        )
    return "; ".join(f"{s}: {', '.join(figures)}" for s, figures in sections.items())


def _range(numbers: Sequence[float | None]) -> str:
    known = [n for n in numbers if n is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return f"{low:+.2f}" if len(known) == 1 else f"{low:+.2f} … {high:+.2f}"


def _budgets(parts: Sequence[Row]) -> str:
    """Return how far the comparisons go: each length with its numbers of seeds."""
    found: dict[str, set[int]] = {}
    for part in parts:
        if "seeds" in part:
            found.setdefault(_reached(part), set()).add(part["seeds"])
    texts = [f"{n} × {_span(seeds)}" for n, seeds in found.items()]
    return "; ".join(texts) or "not run"


def _reached(part: Row) -> str:
    if part["task"] == exploration.TASK:
        return "draws"
    whole = FIGURES[part["figure"]].paper_iterations
    return f"{part['upto']} of {whole}"


def _span(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


def _claims(rows: Sequence[Row]) -> str:
    """Return every comparison of some claims, with effect, interval and verdict."""
    lines = [
        "| claim | figure | compared | effect | 95 % interval | at the end | verdict "
        "| iterations × seeds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        for part in row["parts"]:
            lines.append(_cells([_sentence(row["claim"]), part["figure"], *_effect(part)]))
        if len(row["parts"]) > 1:
            lines.append(_cells([_sentence(row["claim"]), "together", "", "", "", "",
                                 f"**{row['verdict']}**", ""]))  # fmt: skip
    return "\n".join([*lines, ""])


def _effect(part: Row) -> list[str]:
    if not part["second"]:
        compared = f"{label(part['first'])}: regret left"
    else:
        compared = f"{label(part['first'])} − {label(part['second'])}"
    if "seeds" not in part:
        return [compared, "", "", "", part["verdict"], "not run"]
    return [
        compared, _number(part["difference"], "+.3f"), _interval(part["interval"]),
        f"{_number(part['end'], '+.3f')} ({_interval(part['end_interval'])})",
        f"**{part['verdict']}**", f"{_reached(part)} × {part['seeds']}",
    ]  # fmt: skip


def _interval(ends: Sequence[float | None]) -> str:
    return " … ".join(_number(z, ".3f") for z in ends)


def _cells(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _number(value: float | None, form: str) -> str:
    return "" if value is None or not math.isfinite(value) else format(value, form)


def _figures(folder: Path, output: Path, known: Sequence[Record]) -> list[str]:
    parts = ["## Figures 1a–c: acquisition functions\n"]
    if any(r["task"] == exploration.TASK for r in known):
        path = folder / "figures" / "1abc.svg"
        draw_exploration(path)
        parts.append(_picture("Acquisition functions of the function of seed 3", path, output))
    else:
        parts.append("Not run yet.")
    for figure in FIGURES.values():
        own = [r for r in known if r["task"] == figure.task and r["method"] in figure.every]
        parts.append(f"\n## {figure.place}: {figure.title}\n")
        if not own:
            parts.append("Not run yet.")
            continue
        path = folder / "figures" / f"{figure.name}.svg"
        draw(figure, known, path)
        parts += [_picture(figure.title, path, output), "", _setting(figure, own)]
        parts += _ends(figure, own)
        if figure.task == "lunar" and figure.by == "iteration":
            parts += _beside_authors(figure, own)
    return parts


def _picture(title: str, path: Path, output: Path) -> str:
    return f"![{title}]({Path(os.path.relpath(path, output.parent)).as_posix()})"


def _setting(figure: Figure, own: Sequence[Record]) -> str:
    data = sorted({r["data"] for r in own if r["data"]})
    text = f"`python -m benchmarks run {figure.name}`. Mean and standard error after "
    text += f"{own[0]['starts']} starting points."
    return text + (f" Data: {', '.join(data)}." if data else "")


def _ends(figure: Figure, own: Sequence[Record]) -> list[str]:
    head = quantity(figure.quantity, own)
    regrets = any("regret" in r for r in own)
    columns = ["method", "iterations × seeds", head, "best point judged anew"]
    columns += ["cumulative regret"] if regrets else []
    columns += ["seconds an ask"]
    lines = ["", _cells(columns), "|" + "---|" * len(columns)]
    for method in figure.every:
        runs = [r for r in own if r["method"] == method]
        if not runs:
            lines.append(_cells([label(method), "not run", *[""] * (len(columns) - 2)]))
            continue
        lengths = Counter(r["iterations"] for r in runs)
        asking = [r["ask_seconds"] / r["asks"] for r in runs if r.get("asks")]
        cells = [
            label(method), "; ".join(f"{n} × {seeds}" for n, seeds in sorted(lengths.items())),
            _mean([float(shown(r, figure)[-1]) for r in runs]),
            _mean([r["judged"] for r in runs if r["judged"] is not None]),
        ]  # fmt: skip
        if regrets:
            cells.append(_mean([r["regret"][-1][1] for r in runs if r.get("regret")]))
        lines.append(_cells([*cells, f"{sum(asking) / len(asking):.2f}" if asking else ""]))
    return lines


def _mean(values: Sequence[float]) -> str:
    return with_error(values) if values else ""


def _beside_authors(figure: Figure, own: Sequence[Record]) -> list[str]:
    """Compare with the authors' runs after as many iterations, from the same points."""
    lines = ["", "The authors' own five runs (squares in the figure) and ours, from the same",
             "starting points: mean, standard error, and the difference in units of the standard",
             "error of both. Only *released* imitates their code; what they measured at the",
             "starting points was another function (`benchmarks.paper.authors`).",
             "",
             "| method | iteration | authors | here | difference |",
             "|---|---|---|---|---|"]  # fmt: skip
    for method in (m for m in figure.every if m in LUNAR):
        runs = [r for r in own if r["method"] == method and r["seed"] < AUTHORS_RUNS]
        if not runs:
            continue
        mean, error = mean_and_error([best_by_iteration(r) for r in runs])
        for i, (there, its_error) in zip(ITERATIONS, LUNAR[method], strict=True):
            if i < len(mean):
                here = f"{mean[i]:.1f} ± {_number(error[i], '.1f')}"
                apart = (mean[i] - there) / math.hypot(its_error, error[i])
                cells = [label(method), i, f"{there} ± {its_error}", here, _number(apart, "+.1f")]
                lines.append(_cells(cells))
    return lines


def _provenance(known: Sequence[Record]) -> str:
    commits = sorted({r["commit"] for r in known if "commit" in r})
    if not commits:
        return ""
    text = f"\nRuns: {len(known)}, made by the code of {', '.join(commits)}."
    settings: dict[str, set[str]] = {}
    for r in known:
        settings.setdefault(f"{label(r['method'])} on {r['task']}", set()).add(
            r.get("settings", "")
        )
    mixed = [name for name, digests in settings.items() if len(digests) > 1]
    if mixed:
        text += f" Not all runs have the same settings: {'; '.join(mixed)}."
    return f"{text}\n"

"""Write the tables and the figure of `docs/research/first-evaluations.md` from stored runs.

    python -m benchmarks.early.page

`benchmarks/results/early/own` holds the default and its rivals, `.../trust` the default beside
itself without a trust set, `.../screens` variants of the former default, called `auto` there; each
method took its own first points.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from benchmarks.early.plots import draw_wins
from benchmarks.early.wins import Duel, Field, duels
from benchmarks.runner import records

RESULTS = Path(__file__).parents[1] / "results" / "early"
DOCS = Path(__file__).parents[2] / "docs"
PAGE, FIGURE = (
    DOCS / "research" / "first-evaluations.md",
    DOCS / "images" / "first-evaluations.svg",
)
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
OURS = "auto"  # the default: that of today in `own`, the former one in `screens`
AFTER = (8, 16, 24, 32, 48)
PACES = {1: "one at a time", 4: "batches of four"}
VARIANTS = {
    "auto+initial=5": "five first points",
    "auto+beta=0.2<30": "`beta` 0.2 before the 30th value",
    "auto+beta=0.2<30+initial=5": "both",
    "auto+beta=0.25+initial=5": "five first points, `beta` 0.25 throughout",
    "auto+beta=0.25<30+initial=5": "five first points, `beta` 0.25 before the 30th value",
    "auto+beta=0.5+initial=5": "five first points, `beta` 0.5 throughout",
    "auto+beta=0.2<30+initial=5+scale_prior_std=0.6": "both, and scales that differ more",
    "auto+beta=0.2<30+initial=5+inputs=waves": "both, and inputs seen through random waves",
}
WHOLE = {"auto+trust=none": "the whole space from the start"}
RIVALS = {
    "optuna-gp": "Optuna GPSampler", "optuna-tpe": "Optuna TPE", "random": "random search",
    "optuna-cmaes": "Optuna CMA-ES", "botorch-qlognei": "qLogNEI", "botorch-turbo": "TuRBO-1",
    "smac": "SMAC",
}  # fmt: skip


def fields(folder: Path) -> dict[int, Field]:
    """Return the runs of a folder, by batch size.

    Args:
        folder: Where they are.
    """
    known = list(records(folder))
    return {batch: Field.of(known, batch) for batch in PACES}


def table(found: dict[int, Field], names: dict[str, str], *, reverse: bool) -> list[str]:
    """Return a table of win rates: of ours against others, or of variants against ours.

    Args:
        found: The runs, by batch size.
        names: What the other methods are called, by their short names.
        reverse: Whether the rates are of the others against `auto`.
    """
    head = " | ".join(f"after {k}" for k in AFTER)
    lines = [f"| | tasks, runs | {head} |", "|---" * (2 + len(AFTER)) + "|"]
    for batch, field in found.items():
        lines.append(f"| **{PACES[batch]}** | |" + " |" * len(AFTER))
        for method, name in names.items():
            if method in field.methods:
                first, second = (method, OURS) if reverse else (OURS, method)
                lines.append(_row(field, name, first, second))
    return lines


def _row(field: Field, name: str, first: str, second: str) -> str:
    outcomes = field.wins(first, second, 1)
    count = f"{len(outcomes)}, {sum(map(len, outcomes.values()))}"
    cells = [_rate(Duel.of(field, first, second, k)) for k in AFTER]
    return f"| {name} | {count} | {' | '.join(cells)} |"


def _rate(duel: Duel | None) -> str:
    return "—" if duel is None else f"{duel.rate:.2f} ± {duel.error:.2f}"


def significance(found: dict[int, Field]) -> list[str]:
    """Return a sentence for each pace: p-values after 16 evaluations and at the end.

    Args:
        found: The runs of the default and of its rivals, by batch size.
    """
    lines = []
    for batch, field in found.items():
        for k in (16, AFTER[-1]):
            tests = duels(field, OURS, k)
            named = ", ".join(f"{RIVALS[m]} {d.p:.2g}" for m, d in tests.items() if m in RIVALS)
            lines.append(f"- {PACES[batch]}, after {k}: p = {named}.")
    return lines


def losses(found: dict[int, Field]) -> list[str]:
    """Return the tasks on which a rival is ahead in all runs after 16 and at the end.

    Args:
        found: The runs of the default and of its rivals, by batch size.
    """
    lines = []
    for batch, field in found.items():
        for rival in (m for m in field.methods if m in RIVALS):
            early, late = (field.wins(OURS, rival, k) for k in (16, AFTER[-1]))
            lost = [t for t in early if not any(early[t]) and not any(late[t])]
            lines.append(f"- {PACES[batch]}, {RIVALS[rival]}: {', '.join(lost) or 'none'}.")
    return lines


def tables(folder: Path = RESULTS) -> str:
    """Return what stands between the marks of the page.

    Args:
        folder: Where the results are.
    """
    ours, trust, screens = (fields(folder / name) for name in ("own", "trust", "screens"))
    return "\n".join([
        BEGIN, "",
        "## The default against its rivals", "",
        "Win rates of the default: a win is a better best value on the same task and seed, a tie "
        "counts half; errors are over tasks.", "",
        *table(ours, RIVALS, reverse=False), "",
        "Wilcoxon's signed-rank test over tasks that win rates are one half, after Holm's "
        "correction:", "",
        *significance(ours), "",
        "Tasks on which a rival was ahead in every run, both after 16 evaluations and after "
        f"{AFTER[-1]}:", "",
        *losses(ours), "",
        "## The default against itself without a trust set", "",
        "Win rates of the default against `Search(trust=None)`:", "",
        *table(trust, WHOLE, reverse=False), "",
        "## Variants against the former default", "",
        "Win rates of each variant against the former default (d + 4 first points, at most 20, "
        "`beta` 0.5, or 1 in spaces that are explored fully):", "",
        *table(screens, VARIANTS, reverse=True), "",
        END,
    ])  # fmt: skip


def replaced(page: str, new: str) -> str:
    """Return the page with new tables between its marks.

    Args:
        page: The page as it is.
        new: What stands there instead, marks included.
    """
    before, _, rest = page.partition(BEGIN)
    return before + new + rest.partition(END)[2]


def some(methods: Iterable[str], found: dict[int, Field]) -> dict[str, Field]:
    """Return the runs of some methods with titles for the figure.

    Args:
        methods: Their short names.
        found: All runs, by batch size.
    """
    kept = set(methods)
    return {
        f"{len(f.tasks)} tasks, {PACES[batch]}": Field(
            {key: curve for key, curve in f.curves.items() if key[1] in kept}, f.bases, f.tops
        )
        for batch, f in found.items()
    }


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text("utf-8"), tables()), "utf-8")
    runs = fields(RESULTS / "own")
    draw_wins(some([OURS, *RIVALS], runs), OURS, FIGURE)
    print(json.dumps({"wrote": [PAGE.name, FIGURE.name], "tasks": len(runs[1].tasks)}))

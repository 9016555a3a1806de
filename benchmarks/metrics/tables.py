"""Tables of a comparison in Markdown, for JSON, and sentences that name where we lose."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.early.wins import Duel
from benchmarks.metrics.methods import OURS, VARIANTS
from benchmarks.metrics.registry import metric_task
from benchmarks.metrics.summary import Comparison

NAMES = {
    OURS: "thomax", "random": "random", "optuna-nsga2": "Optuna NSGA-II",
    "optuna-tpe": "Optuna TPE", "optuna-gp": "Optuna GP", "botorch-qlognehvi": "qLogNEHVI",
    "botorch-qlognei": "constrained qLogNEI", "scbo": "SCBO",
}  # fmt: skip
_CLEAR, _FEWEST = 0.25, 5  # a win rate, and seeds, of a loss that is printed bold


def name_of(method: str) -> str:
    """Return a method's name for people.

    Example:
        >>> name_of("optuna-gp"), name_of("thomax-hypervolume")
        ('Optuna GP', 'thomax-hypervolume')
    """
    return NAMES.get(method, method)


def lines(comparison: Comparison) -> list[str]:
    """Return the table of methods, the best rank first, that of tasks, and the losses."""
    found = [*overview(comparison), "", *by_task(comparison)]
    if comparison.methods[0] not in VARIANTS:
        return found
    nowhere = [f"On none of these tasks {name_of(comparison.methods[0])} wins less than half."]
    return [*found, "", *(losses(comparison) or nowhere)]


def overview(comparison: Comparison) -> list[str]:
    """Return the table of methods: ranks and wins at the checkpoints."""
    steps, first = comparison.checkpoints(), comparison.methods[0]
    ranks = [comparison.mean_ranks(k) for k in steps]
    against = [comparison.duels(k) for k in steps]
    head = ["method", *(f"mean rank after {k}" for k in steps)]
    head += [f"{name_of(first)} wins after {k} (p)" for k in steps]
    limited = comparison.mode == "limits"
    head += (
        ["infeasible", "runs with a feasible point"] if limited else ["hypervolume", "infeasible"]
    )
    rows = []
    for method in sorted(comparison.methods, key=lambda m: ranks[-1].get(m, math.inf)):
        last = comparison.infeasible(method, steps[-1])
        whole = comparison.found_feasible(method, steps[-1])
        rest = [last, whole] if limited else [comparison.volume_share(method, steps[-1]), last]
        rows.append([
            name_of(method), *(_number(r.get(method), ".2f") for r in ranks),
            *(_duel(a.get(method)) for a in against),
            *(_percent(r) if method in comparison.ranked else "—" for r in rest),
            str(_runs(comparison, method)), _number(comparison.seconds(method), ".2f"),
        ])  # fmt: skip
    return _table([*head, "runs", "seconds a suggestion"], rows)


def by_task(comparison: Comparison) -> list[str]:
    """Return the table of tasks at the last checkpoint, the best mean bold."""
    k, rows = comparison.checkpoints()[-1], []
    tops = comparison.tops()
    for task in comparison.tasks:
        values = {m: _finals(comparison, task, m, k) for m in comparison.methods}
        means = {m: float(np.median(v)) for m, v in values.items() if v}
        best = max(means.values())
        cells = []
        for method in comparison.methods:
            text = _cell(comparison, task, values[method], tops[task])
            bold = method in means and means[method] == best > -math.inf
            cells.append(f"**{text}**" if bold else text)
        rows.append([_heading(comparison, task), *cells])
    return _table(["task", *map(name_of, comparison.methods)], rows)


def losses(comparison: Comparison) -> list[str]:
    """Write on which tasks the first method wins less than half of the runs against whom."""
    first, k = comparison.methods[0], comparison.checkpoints()[-1]
    found = []
    for task in comparison.tasks:
        behind = {}
        for rival in comparison.methods[1:]:
            wins = comparison.field.wins(first, rival, k).get(task, [])
            if wins and np.mean(wins) < 0.5:
                behind[rival] = wins
        if behind:
            order = sorted(behind, key=lambda m: np.mean(behind[m]))
            words = ", ".join(_loss(m, behind[m]) for m in order)
            least = float(np.mean(behind[order[0]]))
            found.append((least, f"- On {task} {name_of(first)} loses to {words}."))
    return [line for _, line in sorted(found)]


def summary(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison in a form for JSON."""
    steps = comparison.checkpoints()
    return {
        "mode": comparison.mode, "batch": comparison.batch, "tasks": len(comparison.tasks),
        "runs": {m: _runs(comparison, m) for m in comparison.methods},
        "mean_rank": {str(k): _rounded(comparison.mean_ranks(k)) for k in steps},
        "wins": {str(k): _rounded({m: d.rate for m, d in comparison.duels(k).items()})
                 for k in steps},
        "p_holm": {str(k): _rounded({m: d.p for m, d in comparison.duels(k).items()})
                   for k in steps},
    }  # fmt: skip


def _heading(comparison: Comparison, task: str) -> str:
    if comparison.mode == "limits":
        best = metric_task(task).best
        return f"{task}" + ("" if best is None else f" (best known {best:.5g})")
    return f"{task} ({len(metric_task(task).objectives)} objectives)"


def _finals(comparison: Comparison, task: str, method: str, k: int) -> list[float]:
    return [comparison.field.best(task, method, s, k) for s in comparison.seeds(task, method)]


def _cell(comparison: Comparison, task: str, values: Sequence[float], top: float) -> str:
    """Write shares of the largest hypervolume, or the median of the best feasible values."""
    if not values:
        return "—"
    middle = float(np.median(values))
    if comparison.mode == "objectives":
        return f"{100 * middle / top:.1f} %"
    if middle == -math.inf:
        return "none feasible"
    loss = -middle
    sign = metric_task(task).losses(dict.fromkeys(metric_task(task).objectives, 1.0))[0]
    return f"{sign * loss:.5g}"


def _loss(method: str, wins: Sequence[float]) -> str:
    words = f"{name_of(method)} (wins {sum(wins):g} of {len(wins)})"
    return f"**{words}**" if len(wins) >= _FEWEST and np.mean(wins) <= _CLEAR else words


def _runs(comparison: Comparison, method: str) -> int:
    return sum(m == method for _, m, _ in comparison.records)


def _duel(duel: Duel | None) -> str:
    if duel is None:
        return ""
    p = "< 0.001" if duel.p < 0.0005 else f"{duel.p:.3f}"
    return f"{100 * duel.rate:.0f} % ({p})"


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.0f} %"


def _number(value: float | None, form: str) -> str:
    return "—" if value is None or not math.isfinite(value) else format(value, form)


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(v, 4) for name, v in values.items()}


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---"] * len(head)
    return [f"| {' | '.join(line)} |" for line in (head, rule, *rows)]

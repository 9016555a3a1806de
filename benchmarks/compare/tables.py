"""Tables and sentences of a comparison, in Markdown."""

import math
from collections.abc import Sequence

import numpy as np

from benchmarks.compare.ranking import LEVEL
from benchmarks.compare.suites import OURS
from benchmarks.compare.summary import SuiteResult, TaskResult
from benchmarks.paper.plots import label
from benchmarks.statistics import Comparison, with_error


def name_of(method: str) -> str:
    """Return a method's name for people.

    Example:
        >>> name_of("auto"), name_of("optuna-gp")
        ('thomax', 'Optuna GP')
    """
    return label(method).removesuffix(" (ours)")


def overview(result: SuiteResult) -> list[str]:
    """Return the table of methods, the best rank first."""
    rank, score, p_holm = result.mean_rank(), result.mean_score(), result.p_holm()
    wins, seconds = result.wins(), result.seconds()
    head = ["method", "mean rank", "mean score", "best on", "thomax better / worse", "p (Holm)",
            "seconds a suggestion"]  # fmt: skip
    rows = []
    for method in sorted(result.methods, key=lambda m: rank.get(m, math.inf)):
        better, worse = result.better_and_worse(method)
        rows.append([
            name_of(method), _number(rank.get(method), ".2f"), _number(score.get(method), ".3f"),
            str(wins[method]), "" if method == OURS else f"{better} / {worse}",
            _probability(p_holm.get(method)), _number(seconds[method], ".3f"),
        ])  # fmt: skip
    return _table(head, rows)


def finals(result: SuiteResult) -> list[str]:
    """Return the table of tasks: mean and standard error of each method's final, the best bold."""
    rows = []
    for task in result.tasks:
        best = max(_mean(task, method) for method in result.methods if method in task.runs)
        cells = [_final(task, m, best) for m in result.methods]
        rows.append([f"{task.name} ({'regret' if task.regret else 'value'})", *cells])
    return _table(["task", *map(name_of, result.methods)], rows)


def losses(result: SuiteResult) -> list[str]:
    """Write on which tasks we lose to whom and by how much, the greatest loss first."""
    lines = []
    for task in result.tasks:
        rivals = [m for m in result.methods if m != OURS]
        against = {m: found for m in rivals if (found := task.versus(m)) is not None}
        lost = {m: c for m, c in against.items() if c.difference < -LEVEL}
        if lost:
            order = sorted(lost, key=lambda m: lost[m].difference)
            words = ", ".join(_loss(m, lost[m]) for m in order)
            lines.append((lost[order[0]].difference, f"- On {task.name} thomax loses to {words}."))
    return [line for _, line in sorted(lines)]


def without_related(result: SuiteResult) -> list[str]:
    """Write what the ranks are without the tasks that resemble those used for tuning."""
    if (unrelated := result.unrelated()) is None or OURS not in result.methods:
        return []
    related = [t.name for t in result.tasks if result.budgets[t.name].related]
    rank = unrelated.mean_rank()
    ranks = ", ".join(f"{name_of(m)} {rank[m]:.2f}" for m in sorted(rank, key=rank.__getitem__))
    counts = {m: unrelated.better_and_worse(m) for m in result.methods if m != OURS}
    against = ", ".join(f"{name_of(m)} {b} / {w}" for m, (b, w) in counts.items())
    return [
        f"Without tasks that resemble those used for tuning our defaults ({', '.join(related)}), "
        f"{len(unrelated.ranked)} tasks are ranked: {ranks}. "
        f"thomax is better / worse than {against}."
    ]


def judgements(result: SuiteResult) -> list[str]:
    """Write of noisy tasks what the points that looked best are worth without the noise."""
    lines = []
    for task in (task for task in result.tasks if task.noisy):
        sign = -1 if task.regret else 1
        found = {m: [sign * v for v in task.judged(m).values()] for m in result.methods}
        words = [f"{name_of(m)} {with_error(values)}" for m, values in found.items() if values]
        kind = "a regret of" if task.regret else "a value of"
        line = (
            f"- On {task.name}, which is noisy, the points that were observed as best have {kind} "
            f"{', '.join(words)} when they are judged with less noise or none."
        )
        ours = [sign * v for v in task.judged(OURS, "recommended").values()]
        if ours:
            line += f" Those that `recommend()` names have {kind} {with_error(ours)}."
        lines.append(line)
    return lines


def _loss(method: str, found: Comparison) -> str:
    words = f"{name_of(method)} by {-found.difference:.3f}"
    if not math.isfinite(found.low):
        return f"{words} (one seed)"
    interval = f"({-found.high:.3f} … {-found.low:.3f})"
    return f"**{words}** {interval}" if found.high < 0 else f"{words} {interval}"


def _mean(task: TaskResult, method: str) -> float:
    return float(np.mean([*task.finals(method).values()]))


def _final(task: TaskResult, method: str, best: float) -> str:
    if method not in task.runs:
        return "—"
    sign = -1 if task.regret else 1
    values = [sign * v for v in task.finals(method).values()]
    text = with_error(values)
    return f"**{text}**" if math.isclose(sign * float(np.mean(values)), best) else text


def _probability(p: float | None) -> str:
    return "< 0.001" if p is not None and p < 0.0005 else _number(p, ".3f")


def _number(value: float | None, form: str) -> str:
    return "" if value is None or not math.isfinite(value) else format(value, form)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]

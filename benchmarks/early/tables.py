"""Tables of a comparison over the whole run, for people and for JSON."""

import math
from dataclasses import asdict
from typing import Any

from benchmarks.early.power import Spread, statement
from benchmarks.early.wins import Duel, Field, duels


def lines(field: Field, reference: str) -> list[str]:
    """Return for each checkpoint a table of all methods, and the win rates of all pairs."""
    found = []
    for k in field.checkpoints():
        scores, mean_ranks = field.mean_scores(k), field.mean_ranks(k)
        against = duels(field, reference, k)
        found += ["", f"after {k} evaluations"]
        found.append(f"  {'method':<28} {'score':>6} {'rank':>5}  {reference} wins, difference, p")
        for method in sorted(field.methods, key=lambda m: -scores[m]):
            rank = f"{mean_ranks[method]:5.2f}" if method in mean_ranks else "    -"
            versus = _row(against[method]) if method in against else ""
            found.append(f"  {method:<28} {scores[method]:6.3f} {rank}  {versus}")
    return [*found, "", *_matrix(field)]


def _row(duel: Duel) -> str:
    return (
        f"{duel.rate:.2f} ± {duel.error:.2f}  {duel.score:+.3f} ± {duel.score_error:.3f}  "
        f"p = {duel.p:.3g} ({duel.tasks} tasks)"
    )


def _matrix(field: Field) -> list[str]:
    """Return the win rates of all pairs, rows against columns, by checkpoint."""
    found = []
    for k in field.checkpoints():
        found.append(f"win rates after {k}: row against column")
        for i, first in enumerate(field.methods):
            row = [Duel.of(field, first, second, k) for second in field.methods[:i]]
            cells = ["  -  " if d is None else f"{d.rate:.2f} " for d in row]
            found.append(f"  {i + 1} {first:<28} {' '.join(cells)}")
    return found


def power_lines(field: Field, reference: str) -> list[str]:
    """Return how many tasks and seeds a difference of 0.03 needs, by the spread of these runs."""
    others = [m for m in field.methods if m != reference]
    found = []
    for k in field.checkpoints():
        for what, outcomes in (("wins", field.wins), ("scores", field.score_differences)):
            try:
                spreads = [Spread.of(outcomes(reference, m, k)) for m in others]
            except ValueError:
                return ["power: needs two seeds of two tasks for every method"]
            if spreads:
                typical = Spread(
                    sum(s.between for s in spreads) / len(spreads),
                    sum(s.within for s in spreads) / len(spreads),
                )
                name = f"{what} after {k}"
                found += statement(name, typical, len(field.tasks), len(others))
    return found


def summary(field: Field, reference: str) -> dict[str, Any]:
    """Return the comparison in a form for JSON, by checkpoint."""
    found: dict[str, Any] = {}
    for k in field.checkpoints():
        pairs = {
            f"{first} : {second}": round(duel.rate, 3)
            for i, first in enumerate(field.methods)
            for second in field.methods[i + 1 :]
            if (duel := Duel.of(field, first, second, k)) is not None
        }
        found[str(k)] = {
            "score": _rounded(field.mean_scores(k)),
            "mean_rank": _rounded(field.mean_ranks(k)),
            "against": {m: _rounded(asdict(d)) for m, d in duels(field, reference, k).items()},
            "win_rates": pairs,
        }
    return found


def _rounded(numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(v, float) and math.isnan(v) else round(v, 4)
        for name, v in numbers.items()
    }

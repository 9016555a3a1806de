"""Draw the win rate of a method against each other one over the evaluations."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.early.wins import CHECKPOINTS, Duel, Field
from benchmarks.paper.plots import plotting, save


def draw_wins(fields: Mapping[str, Field], reference: str, path: Path) -> None:
    """Write the win rates by evaluation, one panel for each field, bands of one standard error.

    Args:
        fields: Titles of panels, and the runs that they show.
        reference: The method whose win rates are shown.
        path: Of the figure.
    """
    with plotting() as plt:
        fig, axes = plt.subplots(
            1, len(fields), figsize=(4.6 * len(fields), 3.8), layout="constrained", squeeze=False,
            sharey=True,
        )  # fmt: skip
        for axis, (title, field) in zip(axes[0], fields.items(), strict=True):
            for rival in (m for m in field.methods if m != reference):
                steps = _steps(field.length)
                duels = [Duel.of(field, reference, rival, k) for k in steps]
                rates = np.array([np.nan if d is None else d.rate for d in duels])
                errors = np.array([np.nan if d is None else d.error for d in duels])
                (line,) = axis.plot(steps, rates, label=rival)
                band = rates - errors, rates + errors
                axis.fill_between(steps, *band, color=line.get_color(), alpha=0.12, lw=0)
            axis.axhline(0.5, color="gray", lw=0.8, ls="--")
            axis.set_xscale("log", base=2)
            ticks = [k for k in (1, 2, 4, *CHECKPOINTS) if k <= field.length]
            axis.set_xticks(ticks, [str(k) for k in ticks])
            axis.set_ylim(0, 1)
            axis.set_xlabel("evaluations")
            axis.set_title(title, fontsize=9)
            axis.spines[["top", "right"]].set_visible(False)
        axes[0][0].set_ylabel(f"win rate of {reference}")
        handles, labels = axes[0][0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        save(fig, path)


def _steps(length: int) -> list[int]:
    """Return evaluations to draw: each at first, then fewer."""
    return sorted({*range(1, min(length, 16) + 1), *range(16, length + 1, 4), length})

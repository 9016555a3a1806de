"""Draw by evaluation how much of the largest known hypervolume, or of the best value, is missing.

Of the hypervolume it is a share of the largest; of a feasible value the distance from the best
that is known, where a run without a feasible point has none yet.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.metrics.problem import Array
from benchmarks.metrics.registry import metric_task
from benchmarks.metrics.runner import START_POINTS
from benchmarks.metrics.summary import Comparison
from benchmarks.metrics.tables import name_of
from benchmarks.paper.plots import plotting, save

SHOWN = {
    "objectives": ("zdt1", "dtlz2", "crash", "disc_brake", "network", "coupling"),
    "limits": ("gramacy", "ackley10", "welded_beam", "pressure_vessel", "speed_reducer",
               "cheap_coupling"),
}  # fmt: skip
_COLUMNS = 3
_COLOURS = ("black", "tab:gray", "tab:orange", "tab:green", "tab:blue", "tab:red", "tab:purple")


def draw_regret(comparison: Comparison, path: Path) -> None:
    """Write medians and quartiles over seeds for a few tasks."""
    tasks = [t for t in SHOWN[comparison.mode] if t in comparison.tasks] or [*comparison.tasks]
    rows = math.ceil(len(tasks) / _COLUMNS)
    with plotting() as plt:
        fig, axes = plt.subplots(
            rows, _COLUMNS, figsize=(3.6 * _COLUMNS, 2.8 * rows + 0.6), layout="constrained",
            squeeze=False,
        )  # fmt: skip
        for axis in axes.flat[len(tasks) :]:
            axis.set_axis_off()
        for axis, task in zip(axes.flat, tasks, strict=False):
            _draw_task(axis, comparison, task)
        handles = [
            plt.Line2D([], [], color=_COLOURS[i % len(_COLOURS)], label=name_of(m))
            for i, m in enumerate(comparison.methods)
        ]
        fig.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
        save(fig, path)


def _draw_task(axis: Any, comparison: Comparison, task: str) -> None:
    for i, method in enumerate(comparison.methods):
        curves = regrets(comparison, task, method)
        if not len(curves):
            continue
        steps = np.arange(1, curves.shape[1] + 1)
        low, middle, high = (
            np.quantile(curves, q, axis=0, method="lower") for q in (0.25, 0.5, 0.75)
        )
        shown = np.isfinite(middle) & (steps >= START_POINTS)
        width = 2.0 if i == 0 else 1.2
        axis.plot(steps[shown], middle[shown], color=_COLOURS[i % len(_COLOURS)], lw=width)
        both = shown & np.isfinite(high)
        axis.fill_between(
            steps[both], low[both], high[both], color=_COLOURS[i % len(_COLOURS)], alpha=0.1, lw=0
        )
    if axis.lines and any(len(line.get_xdata()) for line in axis.lines):
        axis.set_yscale("log")
    axis.set_title(task, fontsize=9)
    axis.tick_params(labelsize=7)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def regrets(comparison: Comparison, task: str, method: str) -> Array:
    """Return what is missing after each evaluation, (seeds, evaluations), never quite zero."""
    curves = [comparison.curves[task, method, s] for s in comparison.seeds(task, method)]
    top, made = comparison.tops()[task], metric_task(task)
    if made.has_front:
        scale = top
    else:
        top, scale = (max(top, -made.best) if made.best is not None else top), 1.0
    length = min((len(c) for c in curves), default=0)
    return np.array([np.maximum((top - c[:length]) / scale, 1e-4) for c in curves])

"""Draw a comparison: curves of all tasks side by side, and mean ranks."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.suites import OURS
from benchmarks.compare.summary import SuiteResult, TaskResult
from benchmarks.compare.tables import name_of
from benchmarks.paper.plots import plotting, save

_COLUMNS, _RANK_COLUMNS = 4, 3
_COLOURS = (
    "tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown", "tab:pink",
    "tab:olive", "tab:cyan", "navy", "darkgoldenrod", "teal", "magenta", "sienna",
)  # fmt: skip


def draw_curves(result: SuiteResult, path: Path) -> None:
    """Write the best value by evaluation for each task: median and quartiles over seeds."""
    rows = math.ceil(len(result.tasks) / _COLUMNS)
    with plotting() as plt:
        fig, axes = plt.subplots(
            rows, _COLUMNS, figsize=(3.4 * _COLUMNS, 2.6 * rows + 0.8), layout="constrained",
            squeeze=False,
        )  # fmt: skip
        for axis in axes.flat[len(result.tasks) :]:
            axis.set_axis_off()
        for axis, task in zip(axes.flat, result.tasks, strict=False):
            _draw_task(axis, task, result.methods)
        handles = [
            plt.Line2D([], [], color=_colour(m, result.methods), label=name_of(m))
            for m in result.methods
        ]
        fig.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
        save(fig, path)


def _draw_task(axis: Any, task: TaskResult, methods: Sequence[str]) -> None:
    sign, lowest = (-1 if task.regret else 1), math.inf
    for method in (m for m in methods if m in task.runs):
        curves = sign * np.array([task.curve(r) for r in task.runs[method].values()])
        low, middle, high = np.quantile(curves, [0.25, 0.5, 0.75], axis=0)
        colour, steps = _colour(method, methods), np.arange(len(middle))
        width = 2.2 if method == OURS else 1.2
        axis.plot(steps, middle, color=colour, lw=width, zorder=3 if method == OURS else 2)
        axis.fill_between(steps, low, high, color=colour, alpha=0.1, lw=0)
        lowest = min(lowest, float(middle.min()))
    if task.regret and lowest > 0:
        axis.set_yscale("log")
    axis.set_title(f"{task.name} ({'regret' if task.regret else 'value'})", fontsize=9)
    axis.tick_params(labelsize=7)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def draw_ranks(results: Sequence[SuiteResult], path: Path) -> None:
    """Write the mean ranks of each suite and batch size, the best on top."""
    with plotting() as plt:
        columns = min(_RANK_COLUMNS, len(results))
        rows = math.ceil(len(results) / columns)
        fig, axes = plt.subplots(
            rows, columns, figsize=(3.4 * columns + 0.6, 3.2 * rows), layout="constrained",
            squeeze=False,
        )  # fmt: skip
        for axis in axes.flat[len(results) :]:
            axis.set_axis_off()
        for axis, result in zip(axes.flat, results, strict=False):
            rank = result.mean_rank()
            order = sorted(rank, key=lambda m: -rank[m])
            colours = ["black" if m == OURS else "tab:gray" for m in order]
            axis.barh([name_of(m) for m in order], [rank[m] for m in order], color=colours)
            for i, method in enumerate(order):
                axis.text(rank[method], i, f" {rank[method]:.2f}", va="center", fontsize=8)
            tasks = f"{len(result.ranked)} tasks"
            axis.set_title(f"{result.suite}, {result.pace} ({tasks})", fontsize=9)
            axis.set_xlabel("mean rank (1 is best)", fontsize=8)
            axis.tick_params(labelsize=8)
            axis.spines[["top", "right"]].set_visible(False)
        save(fig, path)


def _colour(method: str, methods: Sequence[str]) -> str:
    others = [m for m in methods if m != OURS]
    return "black" if method == OURS else _COLOURS[others.index(method) % len(_COLOURS)]

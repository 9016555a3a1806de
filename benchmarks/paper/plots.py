"""Draw a figure of the paper from records: its curves, and beside them those of ours."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.methods import ABLATIONS
from benchmarks.paper import exploration
from benchmarks.paper.authors import ITERATIONS, LUNAR
from benchmarks.paper.figures import Figure, Quantity
from benchmarks.statistics import (
    Record,
    above_optimum,
    best_by_evaluation,
    best_by_iteration,
    mean_and_error,
    noise_free,
)
from benchmarks.tasks import synthetic

_WORDS = {
    "sto": "STO-BNTS", "linear": "STO-BNTS-Linear", "ensemble": "Deep Ensemble", "gp-ts": "GP-TS",
    "gp-ucb": "GP-UCB", "neural-ucb": "Neural UCB", "neural-ts": "Neural TS", "auto": "thomax",
}  # fmt: skip
_OTHERS = {
    "random": "random", "sobol": "Sobol", "optuna-tpe": "Optuna TPE", "optuna-gp": "Optuna GP",
    "optuna-cmaes": "Optuna CMA-ES", "botorch-turbo": "TuRBO-1", "botorch-qlognei": "qLogNEI",
    "botorch-ts": "BoTorch TS", "smac": "SMAC", **{name: name for name in ABLATIONS},
}  # fmt: skip
_PATH, _DECIMALS = re.compile(r' d="[^"]*"'), re.compile(r"\d+\.\d{2,}")
_COLOURS = (
    "tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown", "tab:pink",
    "tab:gray", "tab:olive", "tab:cyan", "navy", "darkgoldenrod", "lime", "crimson", "black",
    "teal", "magenta", "steelblue", "sienna",
)  # fmt: skip
_LINES = {"-paper": "-", "-released": ":", "-scaled": "-.", "": "--"}


def label(method: str) -> str:
    """Return a method's name for people.

    Example:
        >>> label("linear-paper:8x64@4")
        'STO-BNTS-Linear (paper), 8x64, B=4'
    """
    name, _, batch = method.partition("@")
    name, _, network = name.partition(":")
    configuration = next(c for c in _LINES if name.endswith(c))
    words = _OTHERS.get(name)
    if words is None:
        own = _WORDS[name.removesuffix(configuration)]
        words = f"{own} ({configuration.removeprefix('-') or 'ours'})"
    return words + (f", {network}" if network else "") + (f", B={batch}" if batch else "")


def draw(figure: Figure, records: Sequence[Record], path: Path) -> None:
    """Write the figure as the paper has it: mean and standard error over seeds by iteration.

    Our own configurations, if there are runs of them, stand in a panel of their own.
    """
    own = [r for r in records if r["task"] == figure.task]
    panels = [(*figure.methods, *figure.released)]
    if any(r["method"] in figure.ours for r in own):
        panels.append((figure.methods[0], *figure.ours))
    with plotting() as plt:
        width = 5.4 * len(panels)
        fig, axes = plt.subplots(
            1, len(panels), figsize=(width, 5.6), sharey=True, squeeze=False, layout="constrained"
        )
        titles = (figure.title, f"{figure.title}: our configurations")
        for axis, title, methods in zip(axes[0], titles, panels, strict=False):
            for i, method in enumerate(methods):
                curves = [shown(r, figure) for r in own if r["method"] == method]
                if curves:
                    _line(axis, curves, method, i)
                    _authors(axis, figure, method, i)
            axis.set(xlabel=f"{figure.by}s after the starting points", title=title)
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
            axis.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2,
                        frameon=False)  # fmt: skip
        axes[0, 0].set_ylabel(quantity(figure.quantity, own))
        save(fig, path)


def quantity(name: Quantity, records: Sequence[Record]) -> str:
    """Return what is shown of runs: regret only where the optimum is known."""
    regret = name == "simple regret" and any(r["optimum"] is not None for r in records)
    return name if regret or name == "validation error" else "best observed"


def shown(record: Record, figure: Figure) -> np.ndarray:
    """Return a run's curve in the figure: noise-free regret, validation error, or best value."""
    by = best_by_iteration if figure.by == "iteration" else best_by_evaluation
    if figure.quantity == "validation error":
        return 1 - by(record)
    if figure.quantity == "simple regret" and record["optimum"] is not None:
        return -above_optimum(by(noise_free(record)), record)
    return by(record)


def _line(axis: Any, curves: list[np.ndarray], method: str, i: int) -> None:
    mean, error = mean_and_error(curves)
    name = method.partition("@")[0].partition(":")[0]
    style = next(line for ending, line in _LINES.items() if name.endswith(ending))
    steps = np.arange(len(mean))
    colour = _COLOURS[i % len(_COLOURS)]
    axis.plot(steps, mean, style, color=colour, lw=1.6, label=f"{label(method)} [{len(curves)}]")
    axis.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.12, lw=0)


def _authors(axis: Any, figure: Figure, method: str, i: int) -> None:
    """Mark the authors' own runs, as far as they were run here, in the colour of ours."""
    is_theirs = figure.task == "lunar" and figure.by == "iteration" and method in LUNAR
    if is_theirs and "released" not in method:
        reached = axis.lines[-1].get_xdata()[-1]
        points = [(n, *at) for n, at in zip(ITERATIONS, LUNAR[method], strict=True)]
        points = [point for point in points if point[0] <= reached]
        if points:
            x, mean, error = np.transpose(points)
            axis.errorbar(x, mean, error, fmt="s", ms=4, capsize=2, lw=1, color=_COLOURS[i])


@contextmanager
def plotting() -> Iterator[Any]:
    """Load matplotlib, without a screen, for figures that are the same whenever drawn."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'thomax[plot]'") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "thomax", "svg.fonttype": "none"}):
        yield plt


def save(fig: Any, path: Path) -> None:
    """Write a figure and forget it."""
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(fig)
    if path.suffix == ".svg":  # a twentieth of a pixel is enough, and half the size of the file
        text = path.read_text(encoding="utf-8")
        path.write_text(_PATH.sub(lambda m: _shortened(m[0]), text), encoding="utf-8")


def _shortened(path: str) -> str:
    """Round a path of an SVG file, and leave out what lies within a level stretch of it."""
    lines = _DECIMALS.sub(lambda m: f"{float(m[0]):.1f}", path).split("\n")
    height = [line.split()[2] if line.startswith("L ") else None for line in lines]
    level = [
        height[i - 1] == height[i] == height[i + 1] is not None for i in range(1, len(lines) - 1)
    ]
    kept = [True, *(not flat for flat in level), True][: len(lines)]
    return "\n".join(line for line, keep in zip(lines, kept, strict=True) if keep)


def draw_exploration(path: Path, seed: int = 3, count: int = 100) -> None:
    """Write Figure 1 (a-c): acquisition functions of three methods on the same data."""
    data, truth = exploration.observations(seed), synthetic.draw(seed)
    grid = synthetic.grid()
    with plotting() as plt:
        fig, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
        for axis, method in zip(axes, exploration.METHODS, strict=True):
            functions = exploration.draws(method, seed, count)
            axis.axvspan(*exploration.UNSEEN, color="0.93")
            axis.plot(grid, functions.T, color="C0", lw=0.5, alpha=0.3, rasterized=True)
            axis.plot(grid, truth, color="black", lw=1)
            axis.plot(0.5 * (data.x[:, 0] + 1), data.y, "*", color="C3", ms=9)
            title = f"{label(method)}: spread {exploration.spread(functions):.2f}"
            axis.set(title=title, xlabel="x", ylim=(-5, 5))
        save(fig, path)

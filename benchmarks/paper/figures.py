"""The paper's figures: which task, which methods, how long.

Runs belong to tasks, not to figures: figures that share a method on a task share its runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.runner import Run

WEAK = ("neural-ucb-paper", "neural-ts-paper", "gp-ucb-paper", "gp-ts-paper")
SCALED = ("neural-ucb-scaled", "neural-ts-scaled")
STRONG = ("neural-ucb", "neural-ts", "gp-ucb", "gp-ts")
_OURS = ("sto", "linear", "random")
_VARIANTS = (
    "sto-paper", "linear-paper", "ensemble-paper", "sto-paper@4", "sto-paper:1x512",
    "sto-paper:8x64",
)  # fmt: skip
_BASELINES = ("sto-paper", *WEAK, *SCALED, *STRONG, *_OURS)
_CONTROL = (
    "sto-paper", "linear-paper", "sto-paper@4", "linear-paper@4", *WEAK, *STRONG, *_OURS,
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """One panel: the runs it needs, the iterations of the paper, and those committed here."""

    name: str
    title: str
    task: str
    methods: tuple[str, ...]
    paper_iterations: int
    iterations: int
    seeds: int

    def runs(
        self, iterations: int, seeds: Sequence[int], methods: Sequence[str] | None = None
    ) -> list[Run]:
        """Return the runs of the figure, seed by seed: a part of them is already a comparison."""
        chosen = self.methods if methods is None else methods
        return [Run(self.task, method, seed, iterations) for seed in seeds for method in chosen]


FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "1d", "Synthetic function: by method and width", "synthetic",
            ("sto-paper:8x64", "linear-paper:8x64", "linear-paper:8x64@4", "ensemble-paper:8x64",
             "linear-paper:8x512", "linear-paper:8x16", "sto-paper:8x16", "gp-ts", "sto",
             "linear", "random"),
            50, 20, 10,
        ),
        Figure("2a", "Random forest: variants", "forest", _VARIANTS, 150, 20, 10),
        Figure("2b", "Random forest: baselines", "forest", _BASELINES, 150, 20, 10),
        Figure("2c", "XGBoost: variants", "boosting", _VARIANTS, 150, 5, 3),
        Figure("2d", "XGBoost: baselines", "boosting", _BASELINES, 150, 5, 3),
        Figure(
            "3a", "Lunar-Lander, 12 parameters", "lunar",
            ("sto-released", "linear-released", *_CONTROL), 500, 20, 5,
        ),
        Figure("3b", "Robot pushing, 14 parameters", "pushing", (*_CONTROL, *SCALED), 500, 20, 10),
        Figure("3c", "Rover path, 20 parameters", "rover", (*_CONTROL, *SCALED), 500, 30, 10),
        Figure(
            "3d", "Images", "images",
            ("sto-paper:cnn64", "sto-paper:cnn64@4", "linear-paper:cnn64",
             "neural-ucb-paper:cnn64", "neural-ts-paper:cnn64", "gp-ts-paper", "gp-ucb-paper",
             "gp-ts", "gp-ucb", "sto:cnn64", "random"),
            100, 10, 5,
        ),
        Figure("cnn-a", "Convolutional network: variants", "convnet", _VARIANTS, 150, 5, 3),
        Figure("cnn-b", "Convolutional network: baselines", "convnet", _BASELINES, 150, 5, 3),
        Figure(
            "lunar-batch-a", "Lunar-Lander, all with batches of four", "lunar",
            ("sto-paper@4", "linear-paper@4", "gp-ts-paper@4", "neural-ts-paper@4"), 500, 20, 5,
        ),
        Figure(
            "lunar-batch-b", "Lunar-Lander, by evaluations", "lunar",
            ("sto-paper", "linear-paper", "sto-paper@4", "linear-paper@4"), 500, 20, 5,
        ),
        Figure(
            "images-width", "Images: STO-BNTS-Linear by width", "images",
            ("linear-paper:cnn16", "linear-paper:cnn64", "linear-paper:cnn128"), 100, 10, 5,
        ),
    )
}  # fmt: skip


def figure(name: str) -> Figure:
    """Return a figure by its name, or say which there are."""
    if name not in FIGURES:
        raise ValueError(f"A figure is one of 1abc, {', '.join(FIGURES)}; got {name!r}.")
    return FIGURES[name]

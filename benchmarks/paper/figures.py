"""The paper's figures: which task, which methods, how long.

Runs belong to tasks, not to figures: figures that share a method on a task share its runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.runner import Run

WEAK = ("neural-ucb-paper", "neural-ts-paper", "gp-ucb-paper", "gp-ts-paper")
SCALED = ("neural-ucb-scaled", "neural-ts-scaled")
STRONG = ("neural-ucb", "neural-ts", "gp-ucb", "gp-ts")
RELEASED = ("sto-released", "linear-released")  # the authors' code: slow, so run after the rest
_OWN = ("sto", "linear", "random")
_VARIANTS = (
    "sto-paper", "linear-paper", "ensemble-paper", "sto-paper:1x512", "sto-paper:8x64",
    "sto-paper@4",
)  # fmt: skip
_BASELINES = ("sto-paper", *WEAK)
_CONTROL = ("sto-paper", "linear-paper", *WEAK, "sto-paper@4", "linear-paper@4")
Quantity = Literal["simple regret", "validation error", "reward", "score"]


@dataclass(frozen=True)
class Figure:
    """One panel: its curves, the iterations of the paper, and those to be run here.

    `methods` are the paper's curves, `released` the authors' code for some of them, and `ours`
    further configurations on the same task; they are run in this order. The paper's text states
    500 iterations for the control tasks; for the others it states none, and `paper_iterations` is
    our budget.
    """

    name: str
    place: str  # in the paper
    title: str
    task: str
    methods: tuple[str, ...]
    paper_iterations: int
    iterations: int
    seeds: int
    ours: tuple[str, ...] = ()
    quantity: Quantity = "reward"
    by: Literal["iteration", "evaluation"] = "iteration"
    released: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All methods, in the order in which they are run."""
        return (*self.methods, *self.released, *self.ours)

    def runs(self, iterations: int, seeds: Sequence[int], methods: Sequence[str]) -> list[Run]:
        """Return the runs of the figure, seed by seed: a part of them is already a comparison."""
        return [Run(self.task, method, seed, iterations) for seed in seeds for method in methods]


def _tuning(name: str, place: str, title: str, task: str, iterations: int, seeds: int) -> Figure:
    variants = name.endswith(("a", "c"))
    return Figure(
        name, place, f"{title}: {'variants' if variants else 'baselines'}", task,
        _VARIANTS if variants else _BASELINES, 150, iterations, seeds,
        () if variants else (*SCALED, *STRONG, *_OWN), "validation error",
    )  # fmt: skip


FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "1d", "Figure 1d", "Synthetic function: by method and width", "synthetic",
            ("sto-paper:8x64", "ensemble-paper:8x64", "linear-paper:8x64", "gp-ts-paper",
             "linear-paper:8x512", "linear-paper:8x16", "sto-paper:8x16", "linear-paper:8x64@4"),
            50, 50, 50, ("gp-ts", *_OWN), "simple regret",
        ),
        _tuning("2a", "Figure 2a", "Random forest", "forest", 150, 20),
        _tuning("2b", "Figure 2b", "Random forest", "forest", 150, 20),
        _tuning("2c", "Figure 2c", "XGBoost", "boosting", 150, 5),
        _tuning("2d", "Figure 2d", "XGBoost", "boosting", 150, 5),
        Figure(
            "3a", "Figure 3a", "Lunar-Lander, 12 parameters", "lunar", _CONTROL, 500, 200, 5,
            (*STRONG, *_OWN), released=RELEASED,
        ),
        Figure(
            "3b", "Figure 3b", "Robot pushing, 14 parameters", "pushing", _CONTROL, 500, 200, 10,
            (*SCALED, *STRONG, *_OWN),
        ),
        Figure(
            "3c", "Figure 3c", "Rover path, 20 parameters", "rover", _CONTROL, 500, 200, 10,
            (*SCALED, *STRONG, *_OWN),
        ),
        Figure(
            "3d", "Figure 3d", "Images", "images",
            ("sto-paper:cnn64", "linear-paper:cnn64", "neural-ucb-paper:cnn64",
             "neural-ts-paper:cnn64", "gp-ucb-paper", "gp-ts-paper"),
            100, 50, 10, ("gp-ucb", "gp-ts", "sto:cnn64", "random"), "score",
        ),
        _tuning("cnn-a", "Figure 4a", "Convolutional network", "convnet", 150, 5),
        _tuning("cnn-b", "Figure 4b", "Convolutional network", "convnet", 150, 5),
        Figure(
            "lunar-batch-a", "Figure 5a", "Lunar-Lander, all with batches of four", "lunar",
            ("sto-paper@4", "linear-paper@4", "gp-ts-paper@4", "neural-ts-paper@4"), 500, 200, 5,
        ),
        Figure(
            "lunar-batch-b", "Figure 5b", "Lunar-Lander, by evaluations", "lunar",
            ("sto-paper", "linear-paper", "sto-paper@4", "linear-paper@4"), 500, 200, 5,
            by="evaluation",
        ),
        Figure(
            "images-width", "Figure 6", "Images: STO-BNTS-Linear by width", "images",
            ("linear-paper:cnn16", "linear-paper:cnn64", "linear-paper:cnn128"), 100, 50, 10,
            quantity="score",
        ),
    )
}  # fmt: skip


def figure(name: str) -> Figure:
    """Return a figure by its name, or say which there are."""
    if name not in FIGURES:
        raise ValueError(f"A figure is one of 1abc, {', '.join(FIGURES)}; got {name!r}.")
    return FIGURES[name]

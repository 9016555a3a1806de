"""What a benchmark optimises: a space, an objective to maximise, and what is known about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thomax.model.networks import Activation
from thomax.space.pool import Pool
from thomax.space.space import Space

Params = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """A black box of a benchmark, always to be maximised.

    `objective` gets a generator for its noise, if it has any, so that a run can be repeated.
    `judge` is the noise-free value, or a much better estimate of it. `optimum` is the largest
    value of `judge` where it is known. `initial` is how many random points the paper starts
    from, `starts` those points themselves where it names them (by run); `activation` is that of
    the paper's networks. `data` says which data set is behind the objective.
    """

    name: str
    space: Space | Pool
    objective: Callable[[Params, np.random.Generator], float]
    judge: Callable[[Params], float] | None = None
    optimum: float | None = None
    initial: int = 20
    data: str = ""
    starts: Callable[[int], list[Params]] | None = None
    activation: Activation = "relu"


class MissingPackageError(ImportError):
    """A benchmark needs a package that is not installed."""


def needs(package: str, task: str) -> MissingPackageError:
    """Return the one sentence that says what to install.

    Example:
        >>> str(needs("gymnasium[box2d]", "lunar"))
        "The task lunar needs gymnasium[box2d]: pip install 'thomax[tasks]'"
    """
    return MissingPackageError(f"The task {task} needs {package}: pip install 'thomax[tasks]'")

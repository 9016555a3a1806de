"""What a benchmark optimises: a space, an objective to maximise, and what is known about it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thomax.model.networks import Activation
from thomax.space.parameters import Float
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
    the paper's networks. `data` says which data set is behind the objective. `best` is a point
    where `judge` is as large as `optimum`.
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
    best: Params | None = field(default=None, compare=False)  # a dict has no hash


def exact(
    name: str,
    space: Space | Pool,
    judge: Callable[[Params], float],
    optimum: float | None = None,
    *,
    best: Params | None = None,
    data: str = "",
) -> Problem:
    """Return a problem whose values have no noise.

    Example:
        >>> from thomax import Float
        >>> line = exact("line", Space({"x": Float(0, 1)}), lambda params: params["x"], 1.0)
        >>> line.objective({"x": 0.5}, np.random.default_rng(0))
        0.5
    """
    return Problem(
        name, space, lambda params, rng: judge(params), judge, optimum, data=data, best=best
    )


def on_box(
    name: str,
    value: Callable[[NDArray[np.float64]], float],
    low: float,
    high: float,
    d: int,
    best: NDArray[np.float64] | None = None,
) -> Problem:
    """Return the problem of a function without noise on the box [low, high]^d.

    Example:
        >>> on_box("bowl", lambda x: -float(x @ x), -1, 1, 2, best=np.zeros(2)).best
        {'x1': 0.0, 'x2': 0.0}
    """
    names = [f"x{i + 1}" for i in range(d)]

    def judge(params: Params) -> float:
        return value(np.array([params[n] for n in names]))

    space = Space({n: Float(low, high) for n in names})
    if best is None:
        return exact(name, space, judge)
    return exact(
        name, space, judge, value(best), best=dict(zip(names, best.tolist(), strict=True))
    )


class MissingPackageError(ImportError):
    """A benchmark needs a package that is not installed."""


def needs(package: str, task: str) -> MissingPackageError:
    """Return the one sentence that says what to install.

    Example:
        >>> str(needs("gymnasium[box2d]", "lunar"))
        "The task lunar needs gymnasium[box2d]: pip install 'thomax[tasks]'"
    """
    return MissingPackageError(f"The task {task} needs {package}: pip install 'thomax[tasks]'")

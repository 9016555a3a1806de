"""Optimise a function in one call."""

from typing import Any, Literal

from thomax.loop import Objective
from thomax.optimizer import Optimizer
from thomax.suggest import Policy


def maximize(
    objective: Objective, space: Any, trials: int, policy: Policy | None = None, **options: Any
) -> Optimizer:
    """Maximise a function in one call; the options are those of Optimizer and `run`.

    With a `journal` the same call again goes on where the last one ended, for `trials` more.

    Example:
        >>> from thomax import Float
        >>> found = maximize(
        ...     lambda p: -abs(p["x"]), {"x": Float(-1, 1)}, trials=6, seed=0, progress=False
        ... )
        >>> len(found.trials)
        6
    """
    return _optimize("maximize", objective, space, trials, policy, options)


def minimize(
    objective: Objective, space: Any, trials: int, policy: Policy | None = None, **options: Any
) -> Optimizer:
    """Minimise a function in one call; the options are those of Optimizer and `run`.

    With a `journal` the same call again goes on where the last one ended, for `trials` more.

    Example:
        >>> from thomax import Float
        >>> found = minimize(
        ...     lambda p: abs(p["x"]), {"x": Float(-1, 1)}, trials=6, seed=0, progress=False
        ... )
        >>> found.best.value < 1
        True
    """
    return _optimize("minimize", objective, space, trials, policy, options)


_OPTIMIZER_OPTIONS = {"seed", "initial", "journal", "search", "replicates"}


def _optimize(
    direction: Literal["maximize", "minimize"],
    objective: Objective,
    space: Any,
    trials: int,
    policy: Policy | None,
    options: dict[str, Any],
) -> Optimizer:
    own = {name: options.pop(name) for name in _OPTIMIZER_OPTIONS & options.keys()}
    # Closed also when all went well: the same call again opens the journal and goes on.
    with Optimizer(space, policy, direction=direction, **own) as optimizer:
        optimizer.run(objective, trials, **options)
    return optimizer

"""Optimise a function in one call."""

import inspect
from typing import Any

from thomax.optimizer import Optimizer, SpaceLike
from thomax.policies.base import Policy, PolicyFunction
from thomax.running.loop import check_run
from thomax.running.workers import Objective
from thomax.storage.trial import Direction
from thomax.support.spelling import require_known


def maximize(
    objective: Objective,
    space: SpaceLike,
    trials: int | None = None,
    policy: Policy | PolicyFunction | None = None,
    **options: Any,
) -> Optimizer:
    """Maximise a function in one call.

    Args:
        objective: A function of the params, a dict.
        space: What is searched: a dict of parameters, a Space or a Pool.
        trials: How many trials to finish in this call. With a `journal` the same call again goes
            on where the last one ended.
        policy: How points are proposed; by default a policy that suits the space.
        **options: The other arguments of Optimizer (such as `seed` and `journal`) and of
            `Optimizer.run` (such as `batch` and `total`).

    Examples:
        >>> from thomax import Float
        >>> found = maximize(
        ...     lambda p: -abs(p["x"]), {"x": Float(-1, 1)}, trials=6, seed=0, progress=False
        ... )
        >>> len(found.trials)
        6
    """
    return _optimize("maximize", objective, space, trials, policy, options)


def minimize(
    objective: Objective,
    space: SpaceLike,
    trials: int | None = None,
    policy: Policy | PolicyFunction | None = None,
    **options: Any,
) -> Optimizer:
    """Minimise a function in one call.

    Args:
        objective: A function of the params, a dict.
        space: What is searched: a dict of parameters, a Space or a Pool.
        trials: How many trials to finish in this call. With a `journal` the same call again goes
            on where the last one ended.
        policy: How points are proposed; by default a policy that suits the space.
        **options: The other arguments of Optimizer (such as `seed` and `journal`) and of
            `Optimizer.run` (such as `batch` and `total`).

    Examples:
        >>> from thomax import Float
        >>> found = minimize(
        ...     lambda p: abs(p["x"]), {"x": Float(-1, 1)}, trials=6, seed=0, progress=False
        ... )
        >>> found.best.value < 1
        True
    """
    return _optimize("minimize", objective, space, trials, policy, options)


_OWN = {"self", "space", "policy", "direction", "objective", "trials"}
_OPTIMIZER_OPTIONS = inspect.signature(Optimizer).parameters.keys() - _OWN
_RUN_OPTIONS = inspect.signature(Optimizer.run).parameters.keys() - _OWN


def _optimize(
    direction: Direction,
    objective: Objective,
    space: SpaceLike,
    trials: int | None,
    policy: Policy | PolicyFunction | None,
    options: dict[str, Any],
) -> Optimizer:
    # Before there is a journal; the arguments of these functions come first among the names.
    known = ["objective", "space", "trials", "policy"]
    require_known(direction, options, [*known, *sorted(_OPTIMIZER_OPTIONS | _RUN_OPTIONS)])
    own = {name: options.pop(name) for name in _OPTIMIZER_OPTIONS & options.keys()}
    check_run(objective, trials, **options)
    optimizer = Optimizer(space, policy, direction=direction, **own)
    try:
        optimizer.run(objective, trials, **options)
    except KeyboardInterrupt:
        raise  # evaluations may still be running, and are recorded when they end
    except BaseException:
        optimizer.close()
        raise
    optimizer.close()  # the same call again opens the journal and goes on
    return optimizer

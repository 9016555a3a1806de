"""Optimise a function in one call; make the settings of the paper's theorems in another."""

import inspect
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from thomax.initial_design import UncertaintySampling
from thomax.optimizer import Optimizer, SpaceLike
from thomax.policies.base import Policy, PolicyFunction
from thomax.proposals import with_length
from thomax.running.loop import check_run
from thomax.running.workers import Objective
from thomax.space.pool import Pool
from thomax.space.space import Space, as_space
from thomax.support.checks import POSITIVE, Rule, require, whole
from thomax.support.spelling import require_known, spell_checked
from thomax.theory import BetaSchedule, continuous_log_size

if TYPE_CHECKING:  # importing JAX takes long
    from thomax.model.networks import Network

_PROBABILITY = Rule("between 0 and 1", lambda v: isinstance(v, float) and 0 < v < 1)


def maximize(
    objective: Objective,
    space: SpaceLike,
    trials: int | None = None,
    policy: Policy | PolicyFunction | None = None,
    **options: Any,
) -> Optimizer:
    """Maximise a function in one call.

    Args:
        objective: A function of the params, a dict; it returns a number, or a `Result`.
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
        objective: A function of the params, a dict; it returns a number, or a `Result`.
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


def optimize(
    objective: Objective,
    space: SpaceLike,
    trials: int | None = None,
    policy: Policy | PolicyFunction | None = None,
    **options: Any,
) -> Optimizer:
    """Search for the best trade-offs of several objectives in one call.

    Args:
        objective: A function of the params, a dict, that returns a dict of values by name.
        space: What is searched: a dict of parameters, a Space or a Pool.
        trials: How many trials to finish in this call. With a `journal` the same call again goes
            on where the last one ended.
        policy: How points are proposed; by default a policy that suits the space.
        **options: The `objectives` by name, and the other arguments of Optimizer (such as
            `limits`, `seed` and `journal`) and of `Optimizer.run` (such as `batch` and `total`).

    Examples:
        >>> from thomax import Float
        >>> found = optimize(
        ...     lambda p: {"yield": p["x"], "cost": p["x"] ** 2}, {"x": Float(0, 1)}, trials=6,
        ...     objectives={"yield": "maximize", "cost": "minimize"}, seed=0, progress=False,
        ... )
        >>> len(found.front)
        6
    """
    if options.get("objectives") is None:
        raise ValueError(
            'optimize needs objectives by name, such as objectives={"yield": "maximize"}, got '
            "none: name them, or call maximize or minimize for one without a name."
        )
    return _optimize("optimize", objective, space, trials, policy, options)


_OWN = {"self", "space", "policy", "direction", "objective", "trials"}
_OPTIMIZER_OPTIONS = inspect.signature(Optimizer).parameters.keys() - _OWN
_RUN_OPTIONS = inspect.signature(Optimizer.run).parameters.keys() - _OWN


def _optimize(
    name: Literal["maximize", "minimize", "optimize"],
    objective: Objective,
    space: SpaceLike,
    trials: int | None,
    policy: Policy | PolicyFunction | None,
    options: dict[str, Any],
) -> Optimizer:
    # Before there is a journal; the arguments of these functions come first among the names.
    known = ["objective", "space", "trials", "policy"]
    require_known(name, options, [*known, *sorted(_OPTIMIZER_OPTIONS | _RUN_OPTIONS)])
    if name != "optimize" and options.get("objectives") is not None:
        raise ValueError(f"{name} has one objective without a name: call optimize for others.")
    own = {key: options.pop(key) for key in _OPTIMIZER_OPTIONS & options.keys()}
    if name != "optimize":
        own["direction"] = name
    check_run(objective, trials, **options)
    optimizer = Optimizer(space, policy, **own)
    try:
        optimizer.run(objective, trials, **options)
    except KeyboardInterrupt:
        raise  # evaluations may still be running, and are recorded when they end
    except BaseException:
        optimizer.close()
        raise
    optimizer.close()  # the same call again opens the journal and goes on
    return optimizer


@spell_checked
def theorem_settings(
    space: SpaceLike,
    horizon: int,
    *,
    batch: int = 1,
    noise_std: float = 0.1,
    delta: float = 0.1,
    C: float = 1.0,
    network: "Network | None" = None,
) -> dict[str, Any]:
    """Return the arguments with which an Optimizer runs the algorithm of the paper's theorems.

    That is uncertainty sampling until the pending points of a batch hold at most C, then draws of
    beta_t times the posterior's standard deviation, with repeats. The theorems hold for an
    objective that is a draw of the network's prior plus noise, in its own units; the regret is at
    most `theory.regret_bound(...)` with probability 1 - delta. This explores for very long: for a
    search that is to find something soon, keep the defaults.

    Args:
        space: What is searched: a dict of parameters, a Space or a Pool.
        horizon: T, how many evaluations follow the initial stage; it sets the grid that stands
            for continuous parameters.
        batch: B, how many points are evaluated at the same time.
        noise_std: Standard deviation of the observation noise.
        delta: The probability with which the bound may fail.
        C: How many nats of information the pending points of a batch may hold.
        network: By default a ReLU network of infinite width (Theorem 1); one of finite width gets
            the beta of Theorem 2.

    Examples:
        >>> from thomax import Float, Optimizer
        >>> space = {"x": Float(0, 1)}
        >>> settings = theorem_settings(space, horizon=100, batch=2, noise_std=0.5)
        >>> optimizer = Optimizer(space, seed=0, **settings)
        >>> settings["initial"]
        UncertaintySampling(length=8, batch=2, C=1.0)
    """
    from thomax.model.networks import MLP
    from thomax.policies.sto import STOBNTSLinear
    from thomax.search.settings import Search

    for name, value, rule in (
        ("horizon", horizon, whole(1)),
        ("batch", batch, whole(1)),
        ("delta", delta, _PROBABILITY),
        ("C", C, POSITIVE),
    ):
        require("theorem_settings", name, value, rule)
    space = as_space(space)
    network = MLP(width=math.inf) if network is None else network
    policy = STOBNTSLinear(network, noise_std=noise_std, standardise=False)
    initial = with_length(UncertaintySampling(batch=batch, C=C), space, lambda: policy)
    assert isinstance(initial, UncertaintySampling)
    schedule = BetaSchedule(
        _log_size(space, horizon),
        delta,
        finite_width=getattr(network, "width", 0) != math.inf,
        initial=initial.length or 0,
    )
    return {
        "policy": replace(policy, beta=schedule),
        "initial": initial,
        "allow_repeats": True,
        "search": Search(trust=None),  # they maximise over the whole domain
    }


def _log_size(space: Space | Pool, horizon: int) -> float:
    """Return log |X|, where a grid stands for each continuous parameter."""
    if isinstance(space, Pool) or space.is_finite:
        return math.log(space.size)
    counts = [parameter.scale.count for parameter in space.parameters.values()]
    continuous = sum(math.isinf(count) for count in counts)
    others = sum(math.log(count) for count in counts if math.isfinite(count))
    return continuous_log_size(horizon, continuous) + others

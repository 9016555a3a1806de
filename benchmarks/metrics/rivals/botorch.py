"""BoTorch's noisy expected improvements: of the hypervolume, or of one objective, with limits.

Every objective and every limit has a SingleTaskGP of its own, as in BoTorch's tutorials, and
acquisitions are maximised as there. The unit cube is that of `benchmarks.rivals.botorch`. After
they were fitted one by one, the models become one of several independent outputs: the same
posterior, but computed at once, which a test compares.

Notation:
    m   objectives, the model's first outputs; the limits' excess are the others
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.metrics.problem import Array, MetricTask, Params
from benchmarks.rivals.botorch import Cube, fitted, seeded, tensor, unit_bounds

_RESTARTS, _RAW_SAMPLES = 10, 512
_OPTIONS = {"batch_limit": 5, "maxiter": 200}  # of the tutorials


def qlognehvi(task: MetricTask, seed: int, starts: int) -> "Modelled":
    """Return the noisy expected improvement of the hypervolume, in its logarithmic form."""
    return Modelled(task, seed)


def qlognei(task: MetricTask, seed: int, starts: int) -> "Modelled":
    """Return the noisy expected improvement of one objective where limits hold."""
    return Modelled(task, seed)


class Modelled:
    """Fit a Gaussian process to each metric, and maximise the acquisition of the task."""

    def __init__(self, task: MetricTask, seed: int) -> None:
        import torch

        torch.set_num_threads(1)
        self._task, self._points = task, Cube(task.space)
        self._seed, self._asks = seed, 0
        self._params: list[Params] = []
        self._outputs: list[Array] = []

    def ask(self, n: int) -> list[Params]:
        """Propose n points at once; the same history gets the same answer."""
        self._asks += 1
        with seeded(self._seed, self._asks):
            return proposed(lambda: self._best(n), self._points, n, self._params)

    def _best(self, n: int) -> Array:
        from botorch.optim import optimize_acqf

        x, y = tensor(self._points.encode(self._params)), np.array(self._outputs)
        model = joined([fitted(x, column) for column in y.T], x, y)
        found, _ = optimize_acqf(
            self._acquisition(model, x), unit_bounds(x.shape[-1]), q=n, num_restarts=_RESTARTS,
            raw_samples=_RAW_SAMPLES, options=_OPTIONS, sequential=True,
        )  # fmt: skip
        return found.detach().numpy()

    def tell(self, params: Params, losses: Array, excess: Array) -> None:
        """Keep what is to be maximised, and the excess."""
        self._params.append(params)
        self._outputs.append(np.concatenate([-losses, excess]))

    def _acquisition(self, model: Any, x: Any) -> Any:
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.acquisition.multi_objective.logei import (
            qLogNoisyExpectedHypervolumeImprovement,
        )
        from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
        from botorch.acquisition.objective import GenericMCObjective

        m = len(self._task.objectives)
        constraints = [_output(m + i) for i in range(len(self._task.limits))] or None
        if m == 1:
            return qLogNoisyExpectedImprovement(
                model, x, objective=GenericMCObjective(lambda z, X=None: z[..., 0]),
                constraints=constraints, prune_baseline=True,
            )  # fmt: skip
        return qLogNoisyExpectedHypervolumeImprovement(
            model, (-self._task.reference_losses()).tolist(), x,
            objective=IdentityMCMultiOutputObjective(outcomes=[*range(m)], num_outcomes=m + len(
                self._task.limits)),
            constraints=constraints, prune_baseline=True,
        )  # fmt: skip


def proposed(best: Callable[[], Array], points: Cube, n: int, seen: list[Params]) -> list[Params]:
    """Return the best points, or random ones where BoTorch's algebra fails.

    Args:
        best: Returns the best points of the unit cube, one row each.
        points: The unit cube.
        n: How many points.
        seen: What was asked for before.
    """
    from linear_operator.utils.errors import NanError, NotPSDError

    try:
        return points.decode(best(), seen)
    except (NanError, NotPSDError):
        return points.random(np.random.default_rng(len(seen)), n, seen)


def joined(models: Sequence[Any], x: Any, y: Array) -> Any:
    """Return one SingleTaskGP with the parameters of those that were fitted to each output.

    Args:
        models: A SingleTaskGP of each output.
        x: The points that they were fitted to.
        y: The outputs, one column for each.
    """
    import torch
    from botorch.models import SingleTaskGP

    if len(models) == 1:
        return models[0]
    whole = SingleTaskGP(x, tensor(y))
    single = [dict(model.named_parameters()) for model in models]
    with torch.no_grad():
        for name, parameter in whole.named_parameters():
            parameter.copy_(torch.stack([own[name] for own in single]).reshape(parameter.shape))
    return whole.eval()


def _output(i: int) -> Any:
    return lambda z: z[..., i]

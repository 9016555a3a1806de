"""Two ways to use BoTorch's default Gaussian process: qLogNEI, and pathwise Thompson draws.

BoTorch searches the unit cube. A number lies there as in our cube, which runs from -1 to 1; a
choice has one column for each option, and after the search the largest of them counts; where that
makes it a point already asked for, a random one takes its place. Finite spaces of moderate size
are searched one by one; so are pools, whose candidates are scaled to the unit cube by column.

Notation:
    x        observed points                                   (n, d)
    y        their values; a failure counts as the worst       (n,)
    pending  points that were asked for and not told           (m, d)
    choices  the candidates that are left, or None: the cube   (N, d)
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.improvement import fast_forward
from benchmarks.rivals.likelihood import fast_loss
from thomax.space.parameters import Categorical
from thomax.space.pool import Pool
from thomax.space.space import Space

Params = dict[str, Any]
Array = NDArray[np.float64]

_FEWEST = 2  # observations that a model needs
_DESIGN = 5  # random points where nothing is told before the first ask, as many as Ax takes
_RESTARTS, _RAW_SAMPLES = 10, 512  # of BoTorch's tutorials
_AT_ONCE = 512  # candidates: with their samples they fit into the cache
_MOST_LISTED = 100_000  # points of a finite space that are searched one by one


@dataclass(frozen=True)
class Known:
    """What a proposal may look at, as tensors."""

    x: Any
    pending: Any
    choices: Any
    dimension: int


def qlognei(space: Space | Pool, seed: int) -> "Modelled":
    """Return batch noisy expected improvement in its logarithmic form."""
    return Modelled(space, seed, _improving)


def thompson(space: Space | Pool, seed: int) -> "Modelled":
    """Return Thompson sampling: the maxima of draws from the posterior."""
    return Modelled(space, seed, _drawn)


class Modelled:
    """Fit a Gaussian process to all that was told, and propose points by it."""

    def __init__(
        self, space: Space | Pool, seed: int, propose: Callable[[Any, Known, int], Any]
    ) -> None:
        import torch

        torch.set_num_threads(1)
        self._points = _points(space)
        self._seed, self._asks, self._propose = seed, 0, propose
        self._fewest = _FEWEST
        self._told: list[tuple[Params, float | None]] = []
        self._pending: list[Params] = []

    def ask(self, n: int) -> list[Params]:
        """Propose n points at once; the same history gets the same answer."""
        if not self._asks and not self._told:
            self._fewest = _DESIGN
        self._asks += 1
        seed = [self._seed, self._asks]
        seen = [*[params for params, _ in self._told], *self._pending]
        choices = self._points.left(seen)
        n = n if choices is None else min(n, len(choices))
        y = filled([value for _, value in self._told])
        if n == 0 or len(y) < self._fewest:
            found = self._points.random(np.random.default_rng(seed), n, seen)
        else:
            with seeded(*seed):
                known = self._known(choices)
                x = self._propose(fitted(known.x, y), known, n)
            found = self._points.decode(x.detach().numpy(), seen)
        self._pending += found
        return found

    def tell(self, params: Params, value: float | None) -> None:
        """Keep a value."""
        if params in self._pending:
            self._pending.remove(params)
        self._told.append((params, value))

    def _known(self, choices: Array | None) -> Known:
        told = tensor(self._points.encode([params for params, _ in self._told]))
        pending = tensor(self._points.encode(self._pending)) if self._pending else None
        return Known(told, pending, None if choices is None else tensor(choices), told.shape[-1])


def _improving(model: Any, known: Known, n: int) -> Any:
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.optim import optimize_acqf, optimize_acqf_discrete

    acquisition = qLogNoisyExpectedImprovement(
        model, known.x, X_pending=known.pending, prune_baseline=True
    )
    if n == 1 and known.pending is None:
        acquisition.forward = fast_forward(acquisition)
    if known.choices is not None:
        return optimize_acqf_discrete(
            acquisition, n, known.choices, max_batch_size=_AT_ONCE, return_acq_values=False
        )[0]
    return optimize_acqf(
        acquisition, unit_bounds(known.dimension), q=n, num_restarts=_RESTARTS,
        raw_samples=_RAW_SAMPLES, sequential=True,
    )[0]  # fmt: skip


def _drawn(model: Any, known: Known, n: int) -> Any:
    import torch
    from botorch.sampling.pathwise import get_matheron_path_model
    from botorch.utils.sampling import optimize_posterior_samples

    paths = get_matheron_path_model(model, torch.Size([n]))
    if known.choices is None:
        return optimize_posterior_samples(paths, unit_bounds(known.dimension))[0]
    with torch.no_grad():
        parts = [paths(part)[..., 0] for part in known.choices.split(_AT_ONCE)]
    chosen: list[int] = []
    for row in torch.cat(parts, dim=-1):
        # Two draws may agree on a candidate: the second takes its next best.
        row[chosen] = -torch.inf
        chosen.append(int(row.argmax()))
    return known.choices[chosen]


def _points(space: Space | Pool) -> "Cube | Candidates":
    if isinstance(space, Space) and not (space.is_finite and space.size <= _MOST_LISTED):
        return Cube(space)
    return Candidates(space)


class Cube:
    """A space as the unit cube."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._centred = np.ones(space.dimension, dtype=bool)
        for block in space.blocks:
            if isinstance(space.parameters[block.name], Categorical):
                self._centred[block.columns] = False

    def encode(self, params: list[Params]) -> Array:
        """Return points of the unit cube, one row each."""
        x = self._space.encode(params)
        return np.where(self._centred, (x + 1) / 2, x)

    def decode(self, x: Array, seen: list[Params]) -> list[Params]:
        """Return the params of the nearest valid points; random ones for those seen before."""
        rows = self._space.snap(np.where(self._centred, 2 * x - 1, x))
        taken = [*seen]
        for params in self._space.decode(rows):
            if params in taken:
                rng = np.random.default_rng(len(taken))
                others = self._space.decode(self._space.sample(rng, 100))
                params = next((p for p in others if p not in taken), params)
            taken.append(params)
        return taken[len(seen) :]

    def left(self, seen: list[Params]) -> None:
        """Return None: points of a cube are not listed."""

    def random(self, rng: np.random.Generator, n: int, seen: list[Params]) -> list[Params]:
        """Return n random points."""
        return self._space.decode(self._space.sample(rng, n))


class Candidates:
    """A pool, or a finite space, as points of the unit cube."""

    def __init__(self, pool: Pool | Space) -> None:
        self._pool = pool
        self._size = int(pool.size)
        x = pool.at(range(self._size)).reshape(self._size, -1).astype(np.float64)
        low, width = x.min(axis=0), np.ptp(x, axis=0)
        self._x = (x - low) / np.where(width > 0, width, 1.0)

    def encode(self, params: list[Params]) -> Array:
        """Return the candidates' points, one row each."""
        return self._x[self._pool.index(params)]

    def left(self, seen: list[Params]) -> Array:
        """Return the points of the candidates that nobody has asked for."""
        return self._x[self._unseen(seen)]

    def decode(self, x: Array, seen: list[Params]) -> list[Params]:
        """Return the candidates at these points; equal ones are taken in their order."""
        left = self._unseen(seen)
        found: list[int] = []
        for row in x:
            equal = left[(self._x[left] == row).all(axis=1)]
            found.append(next(i for i in equal.tolist() if i not in found))
        return self._pool.params(found)

    def random(self, rng: np.random.Generator, n: int, seen: list[Params]) -> list[Params]:
        """Return n random candidates."""
        return self._pool.params(rng.choice(self._unseen(seen), n, replace=False).tolist())

    def _unseen(self, seen: list[Params]) -> NDArray[np.int64]:
        return np.setdiff1d(np.arange(self._size), self._pool.index(seen))


# What TuRBO uses too


def filled(values: list[float | None]) -> Array:
    """Return values with the worst in place of those that failed; BoTorch knows no failures."""
    finite = [value for value in values if value is not None]
    worst = min(finite, default=0.0)
    return np.array([worst if value is None else value for value in values])


def fitted(x: Any, y: Array, **parts: Any) -> Any:
    """Return the SingleTaskGP that BoTorch fits to these points, on standardised values."""
    from botorch.exceptions import ModelFittingError
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(x, tensor(y)[:, None], **parts)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    try:
        fit_gpytorch_mll(mll, closure=None if parts else fast_loss(mll))
    except ModelFittingError:  # as told, with the best that was found
        model.eval()
    return model


@contextmanager
def seeded(*numbers: int) -> Iterator[None]:
    """Let PyTorch draw from a seed of numbers, quietly, and restore its generator."""
    from botorch.utils.sampling import manual_seed

    seed = int(np.random.SeedSequence(numbers).generate_state(1)[0])
    with warnings.catch_warnings(action="ignore"), manual_seed(seed):
        yield


def tensor(array: Array) -> Any:
    """Return a tensor of doubles."""
    import torch

    return torch.as_tensor(np.asarray(array, dtype=np.float64))


def unit_bounds(d: int) -> Any:
    """Return the bounds of the unit cube, as BoTorch wants them."""
    import torch

    return torch.stack([torch.zeros(d), torch.ones(d)]).double()

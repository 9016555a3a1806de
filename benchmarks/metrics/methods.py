"""The methods of this comparison by name, each behind the same two calls."""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import thomax as tx
from benchmarks.metrics.problem import MetricTask, Params, Values
from benchmarks.metrics.registry import metric_task, mode_of
from benchmarks.metrics.rivals import RIVALS, make_rival
from benchmarks.rivals.packages import version
from thomax.metric_scores import LIMIT_BETA, metric_score
from thomax.search.settings import Scalarisation, Search

OURS = "thomax"


@dataclass(frozen=True)
class Variant:
    """How draws of several metrics become one, and how wide those of limits are."""

    scalarisation: Scalarisation = Search().scalarisation
    limit_beta: float | None = LIMIT_BETA


VARIANTS = {
    OURS: Variant(),
    "thomax-chebyshev": Variant(scalarisation="chebyshev"),
    "thomax-hypervolume": Variant(scalarisation="hypervolume"),
    "thomax-limits-full": Variant(limit_beta=1.0),
    "thomax-limits-half": Variant(limit_beta=0.5),
}
METHODS = (OURS, "random", *RIVALS)


def check_method(name: str) -> None:
    """Return in one sentence which methods there are, if this is none of them."""
    if name not in (*VARIANTS, *METHODS):
        raise ValueError(f"A method is one of {', '.join((*VARIANTS, *METHODS))}; got {name!r}.")


def takes_part(method: str, task: str) -> bool:
    """Return whether a method is for tasks of this kind, and a variant differs from ours there.

    Example:
        >>> takes_part("scbo", "gramacy"), takes_part("scbo", "zdt1")
        (True, False)
    """
    if method in RIVALS:
        return mode_of(task) in RIVALS[method].modes
    if method.startswith(f"{OURS}-limits"):
        return bool(metric_task(task).limits)
    return method not in VARIANTS or method == OURS or mode_of(task) == "objectives"


class Session:
    """A method that is asked and told, and how long its asks took."""

    def __init__(self, method: str, task: MetricTask, seed: int, starts: int) -> None:
        self._task = task
        self.seconds = 0.0
        self._asked: list[tuple[Params, Any]] = []
        self._rival = self._ours = None
        self.made_by: dict[str, str] = {}
        if method in VARIANTS:
            self._variant = VARIANTS[method]
            self._ours = _optimizer(task, seed, self._variant)
            self.made_by = {"settings": settings(self._ours, self._variant)}
        else:
            self._rival = make_rival(method, task, seed, starts)
            is_package = method in RIVALS
            self.made_by = {"package": version(RIVALS[method].packages)} if is_package else {}

    def ask(self, n: int) -> list[Params]:
        """Return n points."""
        begin = time.perf_counter()
        if self._ours is not None:
            with _with_limits(self._variant.limit_beta):
                trials = self._ours.ask(n)
            self._asked = [(dict(trial.params), trial) for trial in trials]
            found = [params for params, _ in self._asked]
        else:
            assert self._rival is not None
            found = self._rival.ask(n)
        self.seconds += time.perf_counter() - begin
        return found

    def tell(self, params: Params, values: Values) -> None:
        """Tell what a point gave."""
        if self._ours is not None:
            known = {**dict.fromkeys(self._task.objectives), **self._task.limits}
            trial = next((t for asked, t in self._asked if asked == params), params)
            self._ours.tell(trial, {name: values[name] for name in known})
        else:
            assert self._rival is not None
            losses, excess = self._task.losses(values), self._task.excess(values)
            self._rival.tell(params, losses, excess)


def _optimizer(task: MetricTask, seed: int, variant: Variant) -> Any:
    return tx.Optimizer(
        task.space,
        objectives=dict(task.objectives),
        limits=dict(task.limits),
        seed=seed,
        initial=0,
        search=Search(scalarisation=variant.scalarisation),
    )


@contextmanager
def _with_limits(beta: float | None) -> Iterator[None]:
    """Let suggestions draw limits as wide as this: no setting of the optimiser says how wide."""
    if beta == LIMIT_BETA:
        yield
        return
    with patch("thomax.suggest.metric_score", partial(metric_score, limit_beta=beta)):
        yield


def settings(optimizer: Any, variant: Variant) -> str:
    """Return a short digest of all settings of ours: records of others are told apart."""
    parts = optimizer.policy, optimizer._search, variant.limit_beta
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]

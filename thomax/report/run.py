"""What a report is about: a search as it stands at one moment."""

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thomax.model.data import Data
from thomax.search.settings import Search
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.journal import Journal, Trial
from thomax.storage.replay import History
from thomax.suggest import Policy

Batches = list[list[int]]


@dataclass(frozen=True)
class Run:
    """Hold what is known of a search: from an optimiser everything, from a journal most of it.

    The policy is None where only the journal was given. So is the space of a pool: its journal
    holds a checksum, not the candidates.
    """

    name: str
    journal: Path | None
    space: Space | Pool | None
    policy: Policy | None
    direction: str
    seed: int
    trials: list[Trial]
    batches: Batches = field(default_factory=list)
    search: Search = field(default_factory=Search)

    @property
    def sign(self) -> float:
        """What makes larger values better ones."""
        return 1.0 if self.direction == "maximize" else -1.0

    @cached_property
    def complete(self) -> list[Trial]:
        """The trials with a value."""
        return [t for t in self.trials if t.state == "complete"]

    @cached_property
    def failed(self) -> list[Trial]:
        """The trials that ended without a value."""
        return [t for t in self.trials if t.state == "failed"]

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked for and not yet told."""
        return [t for t in self.trials if t.state == "pending"]

    @property
    def by_value(self) -> list[Trial]:
        """The trials with a value, the best first."""
        return sorted(self.complete, key=lambda t: -self.sign * value_of(t))

    @property
    def parameters(self) -> list[str]:
        """The names of all parameters, in the order of the space or of their appearance."""
        if isinstance(self.space, Space):
            return [*self.space.parameters]
        return [*dict.fromkeys(name for t in self.trials for name in t.params)]

    def data(self) -> Data:
        """Return what the model learns from: failures are NaN, larger is better."""
        told = [t for t in self.trials if t.state in ("complete", "failed")]
        y = [math.nan if t.value is None else self.sign * t.value for t in told]
        pending = [t for t in self.trials if t.state == "pending"]
        return Data(self.encode(told), np.array(y), self.encode(pending))

    def encode(self, trials: list[Trial]) -> np.ndarray:
        """Return the points of trials, one row each."""
        if self.space is None:
            raise ValueError(
                "Only a known space encodes points: give the optimiser, not its path."
            )
        shape = self.space.shape
        if not trials:
            return np.zeros((0, *shape))
        return np.asarray(self.space.encode([t.params for t in trials])).reshape(-1, *shape)


def value_of(trial: Trial) -> float:
    """Return the value of a complete trial."""
    return float(trial.value or 0.0)


def run_of(source: Any) -> Run:
    """Take a snapshot of an optimiser, or of what a journal holds now."""
    if isinstance(source, str | os.PathLike):
        return _of_journal(Path(source))
    if not hasattr(source, "trials") or not hasattr(source, "policy"):
        raise TypeError(
            f"A report needs an Optimizer or the path of a journal, got {type(source).__name__}."
        )
    return _of_optimizer(source)


def _of_journal(path: Path) -> Run:
    journal = Journal.read(path)
    description = journal.header.get("space")
    is_pool = isinstance(description, Mapping) and description.get("kind") == "pool"
    space = None if is_pool or not description else Space.from_description(description)
    return Run(
        path.name,
        path,
        space,
        None,
        journal.header.get("direction", "maximize"),
        int(journal.header.get("seed") or 0),
        [*History(journal.records).trials.values()],
        batches_of(journal.records),
    )


def _of_optimizer(optimizer: Any) -> Run:
    # The optimiser is one level up and cannot be imported; it hands itself to its report.
    with getattr(optimizer, "_lock", nullcontext()):
        journal = getattr(optimizer, "_journal", None)
        return Run(
            "search" if journal is None else journal.path.name,
            None if journal is None else journal.path,
            optimizer.space,
            optimizer.policy,
            optimizer.direction,
            optimizer.seed,
            [_with_labels(optimizer.space, trial) for trial in optimizer.trials],
            [] if journal is None else batches_of(journal.records),
            getattr(optimizer, "_search", Search()),
        )


def _with_labels(space: Space | Pool, trial: Trial) -> Trial:
    """Return a trial as a journal holds it: a page shows the labels of choices, not objects."""
    return replace(trial, params=space.with_labels(trial.params))


def batches_of(records: Iterable[Mapping[str, Any]]) -> Batches:
    """Group the trials that were asked for one after another before anything was told.

    Example:
        >>> batches_of([{"ask": 0}, {"ask": 1}, {"tell": 0}, {"ask": 2}, {"tell": 1}])
        [[0, 1], [2]]
    """
    batches: Batches = [[]]
    for record in records:
        if "ask" in record:
            batches[-1].append(record["ask"])
        elif batches[-1] and record.keys() & {"tell", "add", "all"}:
            batches.append([])
    return [batch for batch in batches if batch]

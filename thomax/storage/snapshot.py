"""A search as it stands at one moment: what the report, the commands and notebooks show.

Nothing numerical is imported before it is needed: `thomax show` starts at once.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from thomax.storage.front import front_of, ranked, value_in
from thomax.storage.headers import search_header
from thomax.storage.journal import Journal
from thomax.storage.metrics import Metrics
from thomax.storage.records import Record
from thomax.storage.replay import History
from thomax.storage.trial import Correction, Direction, Trial, sign_of
from thomax.support.types import Json

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from thomax.model.data import Data
    from thomax.policies.base import Policy
    from thomax.search.settings import Search
    from thomax.space.pool import Pool
    from thomax.space.space import Space

Batches = list[list[int]]


class Change(NamedTuple):
    """A correction or retraction, with what came of it.

    Args:
        number: The trial.
        before: What the trial was, and why it was changed.
        after: What it was then: the trial as it is now, or what the next correction found.
    """

    number: int
    before: Correction
    after: Correction | Trial


@dataclass(frozen=True)
class Snapshot:
    """The state of a search: everything from an optimiser, most of it from a journal alone.

    Made by `Optimizer.snapshot` and by `Snapshot.read`. Trials hold the labels of choices that
    are objects, as a journal does.

    Args:
        metrics: The objectives and limits.
        seed: The seed of the search.
        trials: All trials in the order of their numbers.
        searched: The space, or its description where only the journal is known.
        journal: The file of the search, if it has one.
        batches: The numbers of trials that were asked for before another value was told.
        policy: The policy that proposes points; None if only the journal is known.
        search: How the policy's scores are maximised; None if only the journal is known.
    """

    metrics: Metrics
    seed: int
    trials: list[Trial]
    searched: "Space | Pool | dict[str, Json]"
    journal: Path | None = None
    batches: Batches = field(default_factory=list)
    policy: "Policy | None" = None
    search: "Search | None" = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Snapshot":
        """Return what a journal holds now, also while another process writes to it.

        Args:
            path: The journal of an Optimizer.

        Examples:
            >>> import tempfile
            >>> from thomax import Float, Optimizer
            >>> path = tempfile.mkdtemp() + "/run.jsonl"
            >>> with Optimizer({"x": Float(-1, 1)}, seed=0, journal=path) as optimizer:
            ...     _ = optimizer.tell({"x": 0.5}, 2.0)
            >>> Snapshot.read(path).best.value
            2.0
        """
        journal = Journal.read(path)
        header = search_header(journal.path, journal.header)
        return cls(
            header.metrics,
            header.seed,
            History(journal.records, header.metrics).listed(),
            header.space,
            journal.path,
            batches_of(journal.records),
        )

    @property
    def name(self) -> str:
        """What a page calls the search."""
        return "search" if self.journal is None else self.journal.name

    @property
    def direction(self) -> Direction:
        """Whether the first objective is maximised or minimised."""
        return self.metrics.direction

    @property
    def sign(self) -> float:
        """What values are multiplied by so that larger is better."""
        return sign_of(self.direction)

    @cached_property
    def space(self) -> "Space | Pool | None":
        """The space, or None where only the journal of a pool is known.

        Such a journal holds a checksum of the candidates, not the candidates.
        """
        if not isinstance(self.searched, dict):
            return self.searched
        if self.searched.get("kind") == "pool":
            return None
        from thomax.space.space import Space

        return Space.from_description(self.searched)

    @cached_property
    def description(self) -> dict[str, Json]:
        """The space as the header of a journal describes it."""
        return self.searched if isinstance(self.searched, dict) else self.searched.describe()

    @cached_property
    def complete(self) -> list[Trial]:
        """The trials with a value."""
        return [t for t in self.trials if t.state == "complete"]

    @cached_property
    def failed(self) -> list[Trial]:
        """The trials that ended without a value."""
        return [t for t in self.trials if t.state == "failed"]

    @cached_property
    def pending(self) -> list[Trial]:
        """The trials that were asked for and not yet told."""
        return [t for t in self.trials if t.state == "pending"]

    @cached_property
    def taken(self) -> list[Trial]:
        """The trials whose points are not to be proposed again: all but retracted ones."""
        return [t for t in self.trials if t.state != "retracted"]

    @property
    def changes(self) -> list[Change]:
        """All corrections and retractions, in the order in which they were made."""
        found: list[Change] = []
        for trial in self.trials:
            later: list[Correction | Trial] = [*trial.corrections[1:], trial]
            pairs = zip(trial.corrections, later, strict=False)
            found += [Change(trial.number, before, after) for before, after in pairs]
        return sorted(found, key=lambda change: change.before.record)

    @cached_property
    def ranked(self) -> list[Trial]:
        """The feasible trials, the best first; of several objectives those of the front."""
        if self.metrics.only is None:
            return self.front
        return ranked(self.trials, self.metrics)

    @cached_property
    def front(self) -> list[Trial]:
        """The feasible trials that no other feasible one beats, in the order of their numbers."""
        return front_of(self.trials, self.metrics)

    @property
    def next_number(self) -> int:
        """The number that the next trial will have."""
        return self.trials[-1].number + 1 if self.trials else 0

    @property
    def best(self) -> Trial | None:
        """The feasible trial with the best value, if there is one; none of several objectives."""
        return self.ranked[0] if self.ranked and self.metrics.only is not None else None

    @property
    def parameters(self) -> list[str]:
        """The names of all parameters, in the order of the space or of their appearance."""
        from thomax.space.space import Space

        if isinstance(self.space, Space):
            return [*self.space.parameters]
        return [*dict.fromkeys(name for t in self.trials for name in t.params)]

    def data(self, metric: str | None = None) -> "Data":
        """Return what the model of a metric learns from: failures are NaN, larger is better.

        Args:
            metric: Its name; by default the first objective.
        """
        from thomax.storage.observations import measured_data

        told = [t for t in self.trials if t.state in ("complete", "failed")]
        rows, pending = self.encode(told), self.encode(self.pending)
        return measured_data(told, rows, pending, self.metrics, metric)

    def encode(self, trials: Sequence[Trial]) -> "np.ndarray":
        """Return the points of trials as the model sees them, one row each.

        Args:
            trials: Trials of this search.
        """
        from thomax.storage.observations import encoded

        if self.space is None:
            raise ValueError(
                "Only a known space encodes points: give the optimiser, not its path."
            )
        return encoded(self.space, [t.params for t in trials])

    def to_dataframe(self) -> "pd.DataFrame":
        """Return all trials as a pandas DataFrame, a column for each parameter and each metric.

        A parameter called like another column gets the prefix "params.".
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: pip install thomax[table]") from error
        rows = []
        for t in self.trials:
            measured = {name: value_in(t, name, self.metrics) for name in self.metrics.names}
            own = {**measured, "state": t.state, "error": t.error, "note": t.note}
            taken = {"number", *own}
            params = {f"params.{k}" if k in taken else k: v for k, v in t.params.items()}
            rows.append({"number": t.number, **params, **own})
        return pd.DataFrame(rows)


def batches_of(records: Iterable[Record]) -> Batches:
    """Group the trials that were asked for one after another before anything was told.

    Args:
        records: The records of a journal.

    Examples:
        >>> batches_of([{"ask": 0}, {"ask": 1}, {"tell": 0}, {"ask": 2}, {"tell": 1}])
        [[0, 1], [2]]
    """
    batches: Batches = [[]]
    for record in records:
        if isinstance(number := record.get("ask"), int):
            batches[-1].append(number)
        elif batches[-1] and record.keys() & {"tell", "add", "all", "correct", "retract"}:
            batches.append([])
    return [batch for batch in batches if batch]

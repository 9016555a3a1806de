"""What a model learns from: observed values and encoded points, as `Data`."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from thomax.initial_design import Identity, identities
from thomax.model.data import Data
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.records import Record
from thomax.storage.replay import History
from thomax.storage.trial import Direction, Trial, sign_of
from thomax.support.types import Array, Params, ParamsLike


def encoded(space: Space | Pool, points: Sequence[ParamsLike]) -> np.ndarray:
    """Return points as the model sees them, one row each, also if there are none.

    Args:
        space: The space of the points.
        points: Params with the labels of choices, as a journal holds them.
    """
    if not points:
        return np.zeros((0, *space.shape))
    return np.asarray(space.encode(points)).reshape(-1, *space.shape)


def observed_data(
    rows: Array,
    values: Sequence[float | None],
    pending: Array,
    direction: Direction,
) -> Data:
    """Return finished and running evaluations as data: failures are NaN, larger is better.

    Args:
        rows: The encoded points of finished evaluations, one row each.
        values: Their values as they were observed; None or NaN for failed ones.
        pending: The encoded points of running evaluations.
        direction: "maximize" if large values are best, "minimize" if small ones are.

    Examples:
        >>> rows, pending = np.zeros((2, 1)), np.ones((1, 1))
        >>> observed_data(rows, [3.0, None], pending, "minimize").y.tolist()
        [-3.0, nan]
    """
    sign = sign_of(direction)
    y = [np.nan if value is None else sign * value for value in values]
    return Data(np.asarray(rows), np.array(y), np.asarray(pending))


class EncodedHistory(History):
    """A history whose points are encoded when they are first needed, and then remembered.

    Args:
        space: The space of the points.
        records: The records so far.

    Examples:
        >>> from thomax import Float
        >>> records = [{"add": 0, "params": {"x": 0.5}, "value": 2.0}]
        >>> EncodedHistory(Space({"x": Float(0, 1)}), records).data("maximize").y.tolist()
        [2.0]
    """

    def __init__(self, space: Space | Pool, records: Iterable[Record] = ()) -> None:
        self._space = space
        # By the trial's number, with the params, which change if another point was evaluated.
        self._rows: dict[int, tuple[Params, np.ndarray]] = {}
        self._identities: dict[int, tuple[Params, Identity]] = {}
        super().__init__(records)

    def rows(self, *trials: Trial) -> np.ndarray:
        """Return the encoded points of trials, one row each, also if there are none.

        Args:
            *trials: Trials of this history.
        """
        new = _not_in(self._rows, trials)
        points = encoded(self._space, [t.params for t in new])  # at once, which is faster
        for trial, row in zip(new, points, strict=True):
            self._rows[trial.number] = trial.params, row
        shape = self._space.shape
        return np.array([self._rows[t.number][1] for t in trials]).reshape(-1, *shape)

    def identities(self) -> set[Identity]:
        """Return what tells the points that are taken from other points of the space."""
        trials = self.taken
        new = _not_in(self._identities, trials)
        found = identities(self._space, [t.params for t in new], self.rows(*new))
        for trial, identity in zip(new, found, strict=True):
            self._identities[trial.number] = trial.params, identity
        return {self._identities[t.number][1] for t in trials}

    def data(self, direction: Direction) -> Data:
        """Return what the model learns from: failures are NaN, larger is better.

        Args:
            direction: "maximize" if large values are best, "minimize" if small ones are.
        """
        told, pending = self.told, self.listed("pending")
        values = [t.value for t in told]
        return observed_data(self.rows(*told), values, self.rows(*pending), direction)

    def require_in_space(self) -> None:
        """Refuse trials and enqueued points that the space does not have."""
        self.rows(*self.listed())
        encoded(self._space, self.queue)


def _not_in(known: Mapping[int, tuple[Params, object]], trials: Sequence[Trial]) -> list[Trial]:
    return [t for t in trials if t.number not in known or known[t.number][0] is not t.params]

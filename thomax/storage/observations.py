"""What a model learns from: observed values and encoded points, as `Data`."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from thomax.initial_design import Identity, identities
from thomax.model.data import Data
from thomax.model.metric_data import Bound, MetricData
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.front import value_in
from thomax.storage.metrics import PLAIN, Metrics
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


def measured_data(
    told: Sequence[Trial],
    rows: Array,
    pending: Array,
    metrics: Metrics,
    metric: str | None = None,
) -> Data:
    """Return what the model of a metric learns from: failures are NaN, larger is better.

    Trials that miss this metric and have others are left out.

    Args:
        told: Finished trials.
        rows: Their encoded points.
        pending: The encoded points of running evaluations.
        metrics: The objectives and limits of the search.
        metric: The name of the metric; by default the first objective.
    """
    name = metrics.names[0] if metric is None else metric
    values = [value_in(t, name, metrics) for t in told]
    kept = [i for i, value in enumerate(values) if value is not None or told[i].state == "failed"]
    return observed_data(
        np.asarray(rows)[kept], [values[i] for i in kept], pending, metrics.better(name)
    )


def all_metrics_data(
    told: Sequence[Trial], rows: Array, pending: Array, metrics: Metrics
) -> MetricData:
    """Return what the models of all metrics learn from.

    Args:
        told: Finished trials.
        rows: Their encoded points.
        pending: The encoded points of running evaluations.
        metrics: The objectives and limits of the search.
    """
    signs = {name: sign_of(metrics.better(name)) for name in metrics.names}
    y = np.full((len(told), len(signs)), np.nan)
    for column, (name, sign) in enumerate(signs.items()):
        for row, trial in enumerate(told):
            if (value := value_in(trial, name, metrics)) is not None:
                y[row, column] = sign * value
    return MetricData(
        np.asarray(rows, np.float32),
        y,
        [measured_data(told, rows, pending, metrics, name) for name in metrics.names],
        len(metrics.objectives),
        bounds_of(metrics),
    )


def bounds_of(metrics: Metrics) -> list[Bound]:
    """Return the limits of metrics as they apply to oriented values.

    Args:
        metrics: The objectives and limits of a search.
    """
    found = []
    for name, limit in metrics.limits.items():
        sign = sign_of(metrics.better(name))
        is_lower = limit.is_upper == (sign < 0)
        found.append(Bound(metrics.names.index(name), sign * limit.bound, is_lower))
    return found


class EncodedHistory(History):
    """A history whose points are encoded when they are first needed, and then remembered.

    Args:
        space: The space of the points.
        records: The records so far.
        metrics: What they have values of.

    Examples:
        >>> from thomax import Float
        >>> records = [{"add": 0, "params": {"x": 0.5}, "value": 2.0}]
        >>> EncodedHistory(Space({"x": Float(0, 1)}), records).data().y.tolist()
        [2.0]
    """

    def __init__(
        self, space: Space | Pool, records: Iterable[Record] = (), metrics: Metrics = PLAIN
    ) -> None:
        self._space = space
        # By the trial's number, with the params, which change if another point was evaluated.
        self._rows: dict[int, tuple[Params, np.ndarray]] = {}
        self._identities: dict[int, tuple[Params, Identity]] = {}
        super().__init__(records, metrics)

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

    def data(self, metric: str | None = None) -> Data:
        """Return what the model of a metric learns from: failures are NaN, larger is better.

        Args:
            metric: Its name; by default the first objective.
        """
        return measured_data(
            self.told, self.rows(*self.told), self.rows(*self.listed("pending")),
            self.metrics, metric,
        )  # fmt: skip

    def metric_data(self) -> MetricData:
        """Return what the models of all metrics learn from."""
        pending = self.rows(*self.listed("pending"))
        return all_metrics_data(self.told, self.rows(*self.told), pending, self.metrics)

    def require_in_space(self) -> None:
        """Refuse trials and enqueued points that the space does not have."""
        self.rows(*self.listed())
        encoded(self._space, self.queue)


def _not_in(known: Mapping[int, tuple[Params, object]], trials: Sequence[Trial]) -> list[Trial]:
    return [t for t in trials if t.number not in known or known[t.number][0] is not t.params]

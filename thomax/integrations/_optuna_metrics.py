"""Objectives and limits as Optuna keeps them.

    thomax                          Optuna
    objectives                      directions, and the names of metrics
    a limit m <= b, or m >= b       a constraint m - b, or b - m, that holds where it is <= 0
    a trial with all objectives     COMPLETE
    one that misses some            PRUNED, with the others as a user attribute

Everything that was measured, repeatedly or with a known error, is a user attribute too.
"""

from collections.abc import Iterable
from typing import NamedTuple

from optuna.study import Study
from optuna.study.study import _SYSTEM_ATTR_METRIC_NAMES
from optuna.trial import FrozenTrial, TrialState

from thomax.integrations._optuna_trials import (
    CONSTRAINTS,
    PARTIAL,
    constraints_of,
    directions_of,
    observed_values,
)
from thomax.integrations._told import Measurement, measurement
from thomax.storage.front import margins, value_in
from thomax.storage.metrics import UNNAMED, Metrics
from thomax.storage.trial import Trial
from thomax.support.types import Json

_METRICS = "thomax:metrics"
_MEASURED = "thomax:measured"
_PREFIX = "constraint "  # of limits whose constraint has a number, or the name of an objective
_STATES = {
    "complete": TrialState.COMPLETE,
    "failed": TrialState.FAIL,
    "dropped": TrialState.FAIL,
    "retracted": TrialState.FAIL,
    "pending": TrialState.RUNNING,
}


class Result(NamedTuple):
    """How a trial ended, in Optuna's words.

    Args:
        state: Its state.
        values: Its objectives, if it has all of them.
        system_attrs: Its constraints.
        user_attrs: What Optuna has no place for.
    """

    state: TrialState
    values: list[float] | None
    system_attrs: dict[str, Json]
    user_attrs: dict[str, Json]


def result_of(trial: Trial, metrics: Metrics) -> Result:
    """Return how a trial ended, in Optuna's words.

    Args:
        trial: A trial of thomax.
        metrics: The objectives and limits of its search.
    """
    if trial.state != "complete":
        return Result(_STATES[trial.state], None, {}, {})
    told = measurement(trial)
    user_attrs: dict[str, Json] = {}
    if isinstance(told.value, dict | list) or told.noise_std is not None:
        user_attrs[_MEASURED] = told._asdict()
    values = [value_in(trial, name, metrics) for name in metrics.objectives]
    known = [value for value in values if value is not None]
    constraints = _as_attributes(
        {name: None if m is None else -m for name, m in margins(trial, metrics).items()}
    )
    if len(known) == len(values):
        return Result(TrialState.COMPLETE, known, constraints, user_attrs)
    return Result(TrialState.PRUNED, None, constraints, {**user_attrs, PARTIAL: [*values]})


def _as_attributes(constraints: dict[str, float | None]) -> dict[str, Json]:
    if hasattr(FrozenTrial, "constraints"):
        return {
            f"{CONSTRAINTS}:{name.removeprefix(_PREFIX)}": value
            for name, value in constraints.items()
            if value is not None
        }
    values: list[Json] = [*constraints.values()]  # before Optuna 5: all or none
    return {CONSTRAINTS: values} if values and None not in values else {}


def describe_metrics(study: Study, metrics: Metrics) -> None:
    """Write into a study what is measured, unless that is one objective without a name.

    Args:
        study: The study.
        metrics: The objectives and limits.
    """
    if metrics.is_plain:
        return
    study.set_user_attr(_METRICS, metrics.options())
    if metrics.is_named:  # as Study.set_metric_names does, which warns of being experimental
        study._storage.set_study_system_attr(
            study._study_id, _SYSTEM_ATTR_METRIC_NAMES, [*metrics.objectives]
        )


def require_same_metrics(study: Study, metrics: Metrics) -> None:
    """Refuse a study that measures something else.

    Args:
        study: The study.
        metrics: The objectives and limits of the search that is to be copied there.
    """
    directions: list[str] = [*directions_of(study)]
    wanted = [*metrics.objectives.values()]
    if directions != wanted:
        raise ValueError(f"to_study needs a study to {' and '.join(wanted)}, got {directions}.")
    described = study.user_attrs.get(_METRICS)
    if described is None:
        return
    there = Metrics.of_header(described)
    if there != metrics or [*there.objectives] != [*metrics.objectives]:
        raise ValueError(
            f"to_study needs a study of the same metrics ({metrics}), but {study.study_name!r} "
            f"has others ({there}): give another study_name."
        )


def metrics_of(study: Study, trials: Iterable[FrozenTrial]) -> Metrics:
    """Return the objectives of a study, and its constraints as limits.

    Args:
        study: The study.
        trials: Its trials.
    """
    described = study.user_attrs.get(_METRICS)
    if described is not None:
        return Metrics.of_header(described)
    directions = directions_of(study)
    names = [*(study.metric_names or ())]
    if len(directions) == 1:
        names = [UNNAMED]
    elif len({*names}) < len(directions):
        names = [f"objective {i}" for i in range(len(directions))]
    keys = sorted({key for trial in trials for key in constraints_of(trial)})
    limits = {f"{_PREFIX}{key}" if key.isdigit() or key in names else key: "<= 0" for key in keys}
    if len(directions) == 1:
        return Metrics.of(None, limits, directions[0], "from_study")
    return Metrics.of(dict(zip(names, directions, strict=True)), limits, who="from_study")


def measured_in(trial: FrozenTrial, metrics: Metrics) -> Measurement:
    """Return what was measured in a finished trial, NaN or nothing where a metric is missing.

    Args:
        trial: A finished trial of Optuna.
        metrics: The objectives and limits of its study.
    """
    copied = trial.user_attrs.get(_MEASURED)
    if copied is not None:
        return Measurement(**copied)
    values = observed_values(trial, len(metrics.objectives))
    if metrics.is_plain:
        return Measurement(values[0])
    found = dict(zip(metrics.objectives, values, strict=True))
    limits = [*metrics.limits]
    for key, value in constraints_of(trial).items():
        names = [name for name in limits if name.removeprefix(_PREFIX) == key]
        if key.isdigit() and not names:  # those of a function have no names
            names = limits[int(key) : int(key) + 1]
        for name in names:
            limit = metrics.limits[name]
            margin = value if limit.is_upper else -value
            found.setdefault(name, limit.bound + margin)
    return Measurement(found)

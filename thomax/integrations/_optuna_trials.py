"""What a study's trials tell a model, and what workers tell each other through the storage."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from optuna.samplers import PartialFixedSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from thomax.integrations._optuna_space import Point, View
from thomax.model.data import Data
from thomax.model.metric_data import Bound, MetricData
from thomax.storage.observations import observed_data
from thomax.storage.trial import Direction, sign_of
from thomax.support.types import Params, ParamsLike

_PROPOSAL = "thomax:relative_params"
_FALLBACK = "thomax:fallback"
STATE = "thomax:state"  # the attribute of a trial whose state Optuna has no name for
PARTIAL = "thomax:values"  # that of a trial that misses objectives: Optuna wants all or none
CONSTRAINTS = "constraints"  # Optuna's own
_CHUNK = 2045  # characters that every storage takes


@dataclass(frozen=True)
class StudyHistory:
    """Everything the storage knows beside one trial, as a view sees it.

    Args:
        data: What the model learns from: of one objective, or of several metrics.
        taken: Told or pending points that could be proposed again.
    """

    data: Data | MetricData
    taken: list[Point]


def read_trials(study: Study) -> list[FrozenTrial]:
    """Return all trials as they are in the storage now, not in a cache.

    Args:
        study: The study.
    """
    found: list[FrozenTrial] = study._get_trials(deepcopy=False, use_cache=False)
    return found


def history_of(
    study: Study, trials: Iterable[FrozenTrial], view: View, number: int
) -> StudyHistory:
    """Return what all trials but this one have told or are about to evaluate.

    Args:
        study: The study.
        trials: Its trials.
        view: Its space.
        number: The number of the trial that is left out.
    """
    told, finished, pending = [], [], []
    for trial in trials:
        if trial.number == number or trial.user_attrs.get(STATE) == "retracted":
            continue
        if not trial.state.is_finished():
            pending.append(view.point(pending_params(trial)))
        elif point := view.point(trial.params):  # a trial without parameters tells nothing
            told.append(point)
            finished.append(trial)
    pending = [point for point in pending if point]
    shape = view.space.shape
    x, running = (np.reshape(view.rows(p), (-1, *shape)) for p in (told, pending))
    canonical = (view.inside(point) for point in told + pending)
    data = _data(x, finished, running, directions_of(study))
    return StudyHistory(data, [p for p in canonical if p is not None])


def _data(
    x: np.ndarray, told: list[FrozenTrial], running: np.ndarray, directions: list[Direction]
) -> Data | MetricData:
    """Return what models learn: a constraint is a metric that is at most 0 in a feasible trial."""
    count = len(directions)
    constraints = [constraints_of(trial) for trial in told]
    keys = sorted({key for each in constraints for key in each})  # processes must agree
    objectives = np.reshape([observed_values(t, count) for t in told], (-1, count))
    if count == 1 and not keys:
        return observed_data(x, objectives[:, 0].tolist(), running, directions[0])
    goals = objectives * [sign_of(direction) for direction in directions]
    margins = np.array([[-each.get(key, math.nan) for key in keys] for each in constraints])
    y = np.column_stack([_clipped(goals), _clipped(margins, has_sign=True)]) if told else goals
    bounds = [Bound(count + i, 0.0, is_lower=True) for i in range(len(keys))]
    return MetricData.of(x, y, count, bounds, running)


def _clipped(y: np.ndarray, has_sign: bool = False) -> np.ndarray:
    """Return values where infinities are the extremes of each column, or as far out as these."""
    y = y.copy()
    for column in y.T:
        known = column[np.isfinite(column)]
        largest = np.abs(known).max(initial=0.0) or 1.0
        is_bounded = has_sign or not len(known)
        ends = (-largest, largest) if is_bounded else (known.min(), known.max())
        column[:] = np.clip(column, *ends)  # what is missing stays NaN
    return y


def directions_of(study: Study) -> list[Direction]:
    """Return of each objective whether large or small values are best.

    Args:
        study: A study.
    """
    return ["maximize" if d == StudyDirection.MAXIMIZE else "minimize" for d in study.directions]


def observed_values(trial: FrozenTrial, count: int) -> list[float]:
    """Return a finished trial's values of the objectives, NaN where there is none.

    A failed trial has none. A pruned one counts by its last report, if there is one.

    Args:
        trial: A finished trial of Optuna.
        count: The number of objectives.
    """
    missing = [math.nan] * count
    if trial.state == TrialState.FAIL:
        return missing
    if trial.state == TrialState.PRUNED and trial.intermediate_values and count == 1:
        return [float(trial.intermediate_values[max(trial.intermediate_values)])]
    values = trial.user_attrs.get(PARTIAL) or trial.values or missing
    return [math.nan if value is None else float(value) for value in values]


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """Return the constraints of a trial that did not fail: they hold where they are at most 0.

    Args:
        trial: A trial of Optuna.
    """
    if trial.state == TrialState.FAIL:
        return {}
    if hasattr(trial, "constraints"):
        return dict(trial.constraints)
    found = trial.system_attrs.get(CONSTRAINTS) or ()  # before Optuna 5
    return {str(i): value for i, value in enumerate(found)}


def pending_params(trial: FrozenTrial) -> Params:
    """Return what an unfinished trial evaluates: its proposal, and what it really uses.

    Args:
        trial: An unfinished trial of Optuna.
    """
    fixed = trial.system_attrs.get("fixed_params", {})
    return {**_published(trial.system_attrs), **fixed, **trial.params}


def fixed_params(study: Study, trial: FrozenTrial) -> Params:
    """Return what is decided of a trial before it begins.

    Some of its parameters may have been enqueued, or a PartialFixedSampler around the sampler has
    fixed them: that one leaves them out of the search space and does not say what they are.

    Args:
        study: The study.
        trial: The trial that is about to begin.
    """
    found: Params = {}
    sampler = study.sampler
    while isinstance(sampler, PartialFixedSampler):
        found = {**getattr(sampler, "_fixed_params", {}), **found}
        sampler = getattr(sampler, "_base_sampler", None)
    return {**found, **trial.system_attrs.get("fixed_params", {})}


def publish(study: Study, trial: FrozenTrial, params: ParamsLike) -> None:
    """Let other workers see a proposal before the objective asks for its first parameter.

    Args:
        study: The study.
        trial: The trial that is to evaluate the proposal.
        params: The proposal.
    """
    text = json.dumps(params, default=repr)
    # The last chunk is always a short one, so that a reader knows it.
    for i, start in enumerate(range(0, len(text) + 1, _CHUNK)):
        chunk = text[start : start + _CHUNK]
        study._storage.set_trial_system_attr(trial._trial_id, f"{_PROPOSAL}:{i}", chunk)


def record_fallback(study: Study, trial: FrozenTrial, reason: str) -> None:
    """Keep with the trial why the model did not propose its point.

    Args:
        study: The study.
        trial: The trial.
        reason: Why the model failed.
    """
    study._storage.set_trial_system_attr(trial._trial_id, _FALLBACK, reason[:_CHUNK])


def _published(attributes: Mapping[str, object]) -> Params:
    """Return the proposal in a trial's attributes; nothing if it is only half written."""
    chunks: list[str] = []
    while not chunks or len(chunks[-1]) == _CHUNK:
        chunk = attributes.get(f"{_PROPOSAL}:{len(chunks)}")
        if not isinstance(chunk, str):
            return {}
        chunks.append(chunk)
    try:
        params = json.loads("".join(chunks))
    except ValueError:
        return {}
    return params if isinstance(params, dict) else {}

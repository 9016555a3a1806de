"""What a study's trials tell a model, and what workers tell each other through the storage."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import StudyDirection
from optuna.trial import TrialState

from thomax.integrations._optuna_space import Point, View
from thomax.model.data import Data

_PROPOSAL = "thomax:relative_params"
_FALLBACK = "thomax:fallback"
_CHUNK = 2045  # characters that every storage takes


@dataclass(frozen=True)
class History:
    """Everything the storage knows beside one trial, as a view sees it."""

    data: Data
    taken: list[Point]  # told or pending points that could be proposed again


def read_trials(study: Any) -> list[Any]:
    """Return all trials as they are in the storage now, not in a cache."""
    found: list[Any] = study._get_trials(deepcopy=False, use_cache=False)
    return found


def history_of(study: Any, trials: Iterable[Any], view: View, number: int) -> History:
    """Return what all trials but this one have told or are about to evaluate."""
    sign = 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0
    told, values, pending = [], [], []
    for trial in trials:
        if trial.number == number:
            continue
        if not trial.state.is_finished():
            pending.append(view.point(pending_params(trial)))
        elif point := view.point(trial.params):  # a trial without parameters tells nothing
            told.append(point)
            values.append(sign * observed_value(trial))
    pending = [point for point in pending if point]
    shape = view.space.shape
    x, running = (np.reshape(view.rows(p), (-1, *shape)) for p in (told, pending))
    canonical = (view.inside(point) for point in told + pending)
    return History(Data(x, np.array(values), running), [p for p in canonical if p is not None])


def observed_value(trial: Any) -> float:
    """Return a finished trial's value, NaN if it has failed.

    An infeasible trial counts as failed: its value may be excellent and must not attract. A pruned
    one counts by its last report, and without any as failed.
    """
    if trial.state == TrialState.FAIL or not is_feasible(trial):
        return math.nan
    if trial.state == TrialState.PRUNED and trial.intermediate_values:
        return float(trial.intermediate_values[max(trial.intermediate_values)])
    return math.nan if trial.value is None else float(trial.value)


def is_feasible(trial: Any) -> bool:
    """Say whether all constraints hold; a trial without any is feasible."""
    if hasattr(trial, "constraints"):
        constraints = trial.constraints.values()
    else:  # before Optuna 5
        constraints = trial.system_attrs.get("constraints") or ()
    return all(value <= 0 for value in constraints)


def pending_params(trial: Any) -> dict[str, Any]:
    """Return what an unfinished trial evaluates: its proposal, and what it really uses."""
    fixed = trial.system_attrs.get("fixed_params", {})
    return {**_published(trial.system_attrs), **fixed, **trial.params}


def publish(study: Any, trial: Any, params: Mapping[str, Any]) -> None:
    """Let other workers see a proposal before the objective asks for its first parameter."""
    text = json.dumps(params, default=repr)
    # The last chunk is always a short one, so that a reader knows it.
    for i, start in enumerate(range(0, len(text) + 1, _CHUNK)):
        chunk = text[start : start + _CHUNK]
        study._storage.set_trial_system_attr(trial._trial_id, f"{_PROPOSAL}:{i}", chunk)


def record_fallback(study: Any, trial: Any, reason: str) -> None:
    """Keep with the trial why the model did not propose its point."""
    study._storage.set_trial_system_attr(trial._trial_id, _FALLBACK, reason[:_CHUNK])


def _published(attributes: Mapping[str, Any]) -> dict[str, Any]:
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

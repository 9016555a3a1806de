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
from thomax.storage.observations import observed_data
from thomax.storage.trial import Direction
from thomax.support.types import Params, ParamsLike

_PROPOSAL = "thomax:relative_params"
_FALLBACK = "thomax:fallback"
STATE = "thomax:state"  # the attribute of a trial whose state Optuna has no name for
_CHUNK = 2045  # characters that every storage takes


@dataclass(frozen=True)
class StudyHistory:
    """Everything the storage knows beside one trial, as a view sees it.

    Args:
        data: What the model learns from.
        taken: Told or pending points that could be proposed again.
    """

    data: Data
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
    told, values, pending = [], [], []
    for trial in trials:
        if trial.number == number or trial.user_attrs.get(STATE) == "retracted":
            continue
        if not trial.state.is_finished():
            pending.append(view.point(pending_params(trial)))
        elif point := view.point(trial.params):  # a trial without parameters tells nothing
            told.append(point)
            values.append(observed_value(trial))
    pending = [point for point in pending if point]
    shape = view.space.shape
    x, running = (np.reshape(view.rows(p), (-1, *shape)) for p in (told, pending))
    canonical = (view.inside(point) for point in told + pending)
    data = observed_data(x, values, running, direction_of(study))
    return StudyHistory(data, [p for p in canonical if p is not None])


def direction_of(study: Study) -> Direction:
    """Return whether large or small values are best.

    Args:
        study: A study with one objective.
    """
    return "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"


def observed_value(trial: FrozenTrial) -> float:
    """Return a finished trial's value, NaN if it has failed.

    An infeasible trial counts as failed: its value may be excellent and must not attract. A pruned
    one counts by its last report, and without any as failed.

    Args:
        trial: A finished trial of Optuna.
    """
    if trial.state == TrialState.FAIL or not is_feasible(trial):
        return math.nan
    if trial.state == TrialState.PRUNED and trial.intermediate_values:
        return float(trial.intermediate_values[max(trial.intermediate_values)])
    return math.nan if trial.value is None else float(trial.value)


def is_feasible(trial: FrozenTrial) -> bool:
    """Return whether all constraints hold; a trial without any is feasible.

    Args:
        trial: A trial of Optuna.
    """
    if hasattr(trial, "constraints"):
        return all(value <= 0 for value in trial.constraints.values())
    # Before Optuna 5
    return all(value <= 0 for value in trial.system_attrs.get("constraints") or ())


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

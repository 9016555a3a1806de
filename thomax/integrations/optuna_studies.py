"""Carry runs between thomax and Optuna: to look at them there, or to continue them here.

    thomax                              Optuna
    Float, Int                          float and int with the same bounds, step and log
    Categorical, Ordinal, Bool          categorical
    an inactive parameter               absent
    a pool's candidate                  an int `index`; its name and columns as user attributes
    complete, failed, dropped, pending  COMPLETE, FAIL, FAIL (marked), RUNNING
    objectives, limits                  directions, constraints (`_optuna_metrics`)

The study keeps the description of the space and every trial its thomax number as user attributes.
"""

import math
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

try:
    import optuna
except ImportError as error:
    raise ImportError(
        "thomax.integrations.optuna_studies needs Optuna: pip install 'thomax[optuna]'"
    ) from error
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from thomax.integrations._optuna_metrics import (
    describe_metrics,
    measured_in,
    metrics_of,
    require_same_metrics,
    result_of,
)
from thomax.integrations._optuna_space import Distributions, inferred_conditions
from thomax.integrations._optuna_trials import (
    PARTIAL,
    STATE,
    constraints_of,
    observed_values,
    pending_params,
)
from thomax.optimizer import Optimizer
from thomax.space.parameters import Categorical, Float, Int, Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.space.values import Scalar
from thomax.storage.metrics import Metrics
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Trial
from thomax.support.spelling import spell_checked
from thomax.support.types import Json, Params
from thomax.support.user_warnings import warn

_SPACE = "thomax:space"
_NUMBER = "thomax:number"
_ERROR = "thomax:error"
_NOTE = "thomax:note"


@spell_checked
def to_study(
    source: Optimizer | str | os.PathLike[str],
    study: Study | None = None,
    *,
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
) -> Study:
    """Copy the trials of an optimiser, or of a journal file, into an Optuna study.

    Copying again adds what is new, also to a study that `from_study` has read. Limits become
    constraints; a trial that misses an objective becomes a pruned one.

    Args:
        source: An Optimizer, or the path of a journal, which is read without locking it.
        study: The study to copy to; by default one is created, or continued if it exists.
        storage: The storage of a study that is created, as for `optuna.create_study`.
        study_name: The name of a study that is created; by default that of the journal.

    Examples:
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> optimizer = Optimizer({"x": Float(-1, 1)}, seed=0)
        >>> _ = optimizer.tell({"x": 0.5}, 2.0)
        >>> to_study(optimizer).best_params
        {'x': 0.5}
    """
    snapshot = source.snapshot() if isinstance(source, Optimizer) else Snapshot.read(source)
    if study is None:
        stem = None if isinstance(source, Optimizer) else Path(source).stem
        study = optuna.create_study(
            storage=storage,
            study_name=study_name or stem,
            directions=[*snapshot.metrics.objectives.values()],
            load_if_exists=True,
        )
    _require_same_search(study, snapshot)
    known_distributions = distributions(snapshot.description)
    frozen = {
        trial.number: _frozen(trial, known_distributions, snapshot.metrics)
        for trial in snapshot.trials
    }
    present = study.get_trials(deepcopy=False)
    lacking, ended = _compared(present, frozen, study.study_name)
    study.set_user_attr(_SPACE, snapshot.description)
    describe_metrics(study, snapshot.metrics)
    by_number = {trial.number: trial for trial in snapshot.trials}
    for number, running in ended.items():
        _finish(study, running, by_number[number], snapshot.metrics)
    for number in lacking:
        study.add_trial(frozen[number])
    return study


def from_study(study: Study, **options: Any) -> Optimizer:
    """Return an optimiser that knows the trials of an Optuna study.

    Args:
        study: A study with one to four objectives. Constraints become limits: of those without
            names the first is called "constraint 0". Trials without constraint values do not
            count as feasible then.
        **options: Arguments of Optimizer. Without `space` it is the one that `to_study` described,
            else the widest that the trials used, with conditions guessed from which parameters
            they used together. With a `journal` the trials are written to it.

    Examples:
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(direction="maximize")
        >>> study.optimize(lambda trial: -trial.suggest_float("x", -1, 1) ** 2, n_trials=5)
        >>> from_study(study, seed=0)
        Optimizer(Space({'x': Float(-1.0, 1.0)}), maximize, seed=0: 5 complete)
    """
    trials = sorted(study.get_trials(deepcopy=False), key=lambda t: t.number)
    space = options.pop("space", None) or _space_of(study, trials)
    metrics = metrics_of(study, trials)
    optimizer = Optimizer(space, **metrics.options(), **options)
    if optimizer.trials:
        optimizer.close()
        raise ValueError(
            f"from_study needs a new journal, got one of {len(optimizer.trials)} trials: "
            "give another path."
        )
    # Waiting ones last: what is enqueued comes first when asked.
    trials.sort(key=lambda t: t.state == TrialState.WAITING)
    refusals = {t.number: _copy_or_refuse(optimizer, t) for t in trials}
    left_out = {number: why for number, why in refusals.items() if why is not None}
    if left_out:
        why = next(iter(left_out.values()))
        warn(
            f"Trials {[*left_out]} do not fit the space: left them out. (The first: {why})",
        )
    return optimizer


# To Optuna


def _require_same_search(study: Study, snapshot: Snapshot) -> None:
    require_same_metrics(study, snapshot.metrics)
    if study.user_attrs.get(_SPACE, snapshot.description) != snapshot.description:
        raise ValueError(
            f"to_study needs a study of the same space, but {study.study_name!r} holds trials of "
            "another: give another study_name."
        )


def _compared(
    present: list[FrozenTrial], ours: Mapping[int, FrozenTrial], study_name: str
) -> tuple[list[int], dict[int, FrozenTrial]]:
    """Return the numbers that a study lacks, and its running trials that have ended since.

    A trial that has another number there, or none because it was Optuna's first, is known by its
    params and its outcome. One of the same number with others is of another search.
    """
    numbered = {t.user_attrs[_NUMBER]: t for t in present if _NUMBER in t.user_attrs}
    unclaimed = Counter(map(_content, present))
    lacking: list[int] = []
    ended: dict[int, FrozenTrial] = {}
    for number, trial in ours.items():
        there = numbered.get(number)
        same_point = there is not None and _marks(there) == _marks(trial)
        if there is not None and same_point and not there.state.is_finished():
            unclaimed[_content(there)] -= 1
            if trial.state.is_finished():
                ended[number] = there
        elif unclaimed[_content(trial)] > 0:
            unclaimed[_content(trial)] -= 1
        elif there is None:
            lacking.append(number)
        elif not same_point or trial.state.is_finished():
            raise ValueError(
                f"to_study needs a study of the same search, but trial {number} of {study_name!r} "
                f"was {there.params} with value {_shown(there)}, got {trial.params} with value "
                f"{_shown(trial)}: give another study_name, also if it was corrected since, for "
                "Optuna does not change finished trials."
            )
    return lacking, ended


def _content(trial: FrozenTrial) -> tuple[object, ...]:
    """Return what is learnt from a trial."""
    finished, retracted = trial.state.is_finished(), trial.user_attrs.get(STATE) == "retracted"
    if not finished:
        return _marks(trial), finished, retracted
    count = len(trial.values or trial.user_attrs.get(PARTIAL) or [None])
    # A pruned trial without a value has failed, as one has whose values are all infinite.
    values = [(i, v) for i, v in enumerate(observed_values(trial, count)) if math.isfinite(v)]
    constraints = [(k, f"{v:.9g}") for k, v in constraints_of(trial).items() if math.isfinite(v)]
    return _marks(trial), finished, retracted, *values, *sorted(constraints)


def _shown(trial: FrozenTrial) -> str:
    values = trial.values or [None]
    return ", ".join(map(str, values))


def _marks(trial: FrozenTrial) -> tuple[str, ...]:
    """Return params as text; steps of a grid may differ in their last digit."""
    params = sorted(trial.params.items())
    return tuple(f"{n}={v:.12g}" if isinstance(v, float) else f"{n}={v!r}" for n, v in params)


def distributions(description: Mapping[str, Json]) -> Distributions:
    """Return Optuna's distributions of a space or pool that is described.

    Args:
        description: The description of a space or a pool.
    """
    if description["kind"] == "pool":
        size = description["size"]
        assert isinstance(size, int)
        return {"index": IntDistribution(0, size - 1)}
    space = Space.from_description(description)
    return {name: _distribution(name, p) for name, p in space.parameters.items()}


def _distribution(name: str, parameter: Parameter) -> BaseDistribution:
    p = parameter
    if isinstance(p, Float):
        return FloatDistribution(p.low, p.high, log=p.log, step=p.step)
    if isinstance(p, Int):
        return IntDistribution(p.low, p.high, log=p.log, step=p.step)
    choices = [p.value_of(level) for level in range(int(p.scale.count))]
    if len(set(choices)) < len(choices):
        raise ValueError(
            f"Optuna needs choices that differ by ==, but True is 1 and False is 0; got "
            f"{choices} for {name!r}: write some of them as text."
        )
    return CategoricalDistribution(choices)


def _frozen(trial: Trial, known: Mapping[str, BaseDistribution], metrics: Metrics) -> FrozenTrial:
    used = {name: d for name, d in known.items() if name in trial.params}
    shown = {name: v for name, v in trial.params.items() if name not in used}  # of a pool
    result = result_of(trial, metrics)
    return optuna.trial.create_trial(
        state=result.state,
        values=result.values,
        params={name: trial.params[name] for name in used},
        distributions=used,
        system_attrs=result.system_attrs,
        user_attrs={_NUMBER: trial.number, **shown, **_remarks(trial), **result.user_attrs},
    )


def _finish(study: Study, known: FrozenTrial, trial: Trial, metrics: Metrics) -> None:
    """Write the end of a trial that was pending when it was copied."""
    if trial.state == "pending":
        return
    result, storage = result_of(trial, metrics), study._storage
    for name, remark in {**_remarks(trial), **result.user_attrs}.items():
        storage.set_trial_user_attr(known._trial_id, name, remark)
    for name, constraint in result.system_attrs.items():
        storage.set_trial_system_attr(known._trial_id, name, constraint)
    study.tell(known.number, result.values, state=result.state)


def _remarks(trial: Trial) -> dict[str, str]:
    """Return what Optuna has no place for."""
    found: dict[str, str | None] = {
        STATE: trial.state if trial.state in ("dropped", "retracted") else None
    }
    found |= {_ERROR: trial.error, _NOTE: trial.note and trial.note[:1000]}
    return {name: text for name, text in found.items() if text is not None}


# From Optuna


def _space_of(study: Study, trials: list[FrozenTrial]) -> Space:
    """Return the space that was exported, or the smallest that holds all trials."""
    description = study.user_attrs.get(_SPACE)
    if description is None:
        return _inferred_space(trials)
    if description["kind"] == "pool":
        raise ValueError(
            "from_study needs the candidates of this study's pool, which Optuna does not hold: "
            "pass space=Pool(...)."
        )
    if description.get("constraint"):
        raise ValueError(
            "from_study needs the constraint of this study's space, which Optuna does not hold: "
            "pass space=Space(..., constraint=...)."
        )
    return Space.from_description(description)


def _inferred_space(trials: list[FrozenTrial]) -> Space:
    used: dict[str, list[BaseDistribution]] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            used.setdefault(name, []).append(distribution)
    if not used:
        raise ValueError(
            "from_study needs trials with parameters, got none: pass the space, "
            "such as space={'x': Float(0, 1)}."
        )
    parameters = {name: _widest(name, used[name]) for name in sorted(used)}
    free = Space(parameters)  # conditions name labels, not objects
    points = [free.with_labels(t.params) for t in trials if t.state == TrialState.COMPLETE]
    for name, when in inferred_conditions(parameters, points).items():
        parameters[name] = replace(parameters[name], when=when)
    return Space(parameters)


def _widest(name: str, distributions: list[BaseDistribution]) -> Parameter:
    """Return a parameter that holds every value of these distributions."""
    kinds = {type(d) for d in distributions}
    if len(kinds) > 1:
        raise ValueError(
            f"from_study needs parameters of one kind each, but {name!r} was "
            f"{sorted(kind.__name__ for kind in kinds)}: pass a space without it."
        )
    if kinds == {CategoricalDistribution}:
        listed = [d for d in distributions if isinstance(d, CategoricalDistribution)]
        return _choices([c for d in listed for c in d.choices])
    ranges = [d for d in distributions if isinstance(d, FloatDistribution | IntDistribution)]
    low, high = min(d.low for d in ranges), max(d.high for d in ranges)
    if low == high:
        return Categorical([low])
    log = all(d.log for d in ranges)
    same_grid = len({(d.low, d.step) for d in ranges}) == 1
    step = ranges[0].step if same_grid else None
    if kinds == {IntDistribution}:
        return Int(int(low), int(high), log=log, step=int(step or 1))
    return Float(low, high, log=log, step=step)


def _choices(choices: list[object]) -> Categorical:
    """Return a parameter of these choices; those of a kind that a journal cannot hold get labels.

    Optuna only warns of tuples and other objects.
    """
    plain = [choice for choice in choices if isinstance(choice, Scalar)]
    if len(plain) == len(choices):
        return Categorical([*dict.fromkeys(plain)])
    return Categorical({repr(choice): choice for choice in choices})


def _copy_or_refuse(optimizer: Optimizer, trial: FrozenTrial) -> str | None:
    """Copy a trial, or return why it does not fit the space."""
    try:
        params = _fitting(optimizer.space, trial)
    except ValueError as error:
        return str(error)
    dropped, retracted = (trial.user_attrs.get(STATE) == s for s in ("dropped", "retracted"))
    if trial.state == TrialState.WAITING:
        optimizer.enqueue(params)
    elif dropped or not trial.state.is_finished():
        optimizer.enqueue(params)
        asked = optimizer.ask()
        if dropped:
            optimizer.drop(asked)
    else:
        value, noise_std = measured_in(trial, optimizer.metrics)
        numbers = value.values() if isinstance(value, dict) else [value]
        is_missing = all(isinstance(v, float) and math.isnan(v) for v in numbers)
        told = optimizer.tell(
            params,
            None if is_missing else value,
            error=_why_failed(trial) if is_missing else None,
            note=trial.user_attrs.get(_NOTE),
            noise_std=noise_std,
        )
        if retracted:
            optimizer.retract(told)
    return None


def _fitting(space: Space | Pool, trial: FrozenTrial) -> Params:
    """Return the point of a trial, or raise.

    What was proposed or enqueued but never asked for by the objective is no part of a result;
    only a trial that ended before it had asked for everything is completed by it.
    """
    points = [pending_params(trial)]
    if trial.state.is_finished():
        points = [dict(trial.params), *points]
    if isinstance(space, Pool):
        points = [{"index": params.get("index")} for params in points]
    for params in points[:-1]:
        with suppress(ValueError):
            return space.validate(params)
    return space.validate(points[-1])


def _why_failed(trial: FrozenTrial) -> str:
    return str(trial.user_attrs.get(_ERROR, f"Optuna's trial was {trial.state.name}"))

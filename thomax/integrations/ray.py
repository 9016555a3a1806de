"""Ray Tune: thomax as a search algorithm.

Tune knows a trial by its id, and a point as a nested dictionary; the optimiser knows it by its
number, and as flat params. `Layout` translates the points, `ThomaxSearch` the lives of trials.
Tried with Ray 2.60.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from thomax.initial_design import Initial
from thomax.optimizer import Optimizer
from thomax.policies.base import Policy, PolicyFunction
from thomax.search.settings import Search
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.space.values import python_scalar
from thomax.storage.outcomes import Value
from thomax.storage.trial import Correction, Trial
from thomax.support.spelling import spell_checked
from thomax.support.types import Params, ParamsLike
from thomax.support.user_warnings import warn

try:
    from ray.tune.result import DEFAULT_METRIC
    from ray.tune.search import Searcher
except ImportError as error:
    raise ImportError(
        "thomax.integrations.ray needs Ray Tune: pip install 'thomax[ray]'"
    ) from error
from thomax.integrations._ray_space import Config, Layout, own_layout, refuse_conditions
from thomax.integrations._told import measurement

FORMAT = "thomax-ray-search"
VERSION = 2
_DIRECTIONS: dict[str, Literal["maximize", "minimize"]] = {"max": "maximize", "min": "minimize"}


class ThomaxSearch(Searcher):  # type: ignore[misc]
    """Let Tune evaluate what thomax proposes.

    A trial that raises, or whose metric is missing, NaN or infinite, counts as failed; of several
    metrics, those that a trial has are learnt. `save` writes JSON that a new ThomaxSearch
    restores; only a policy must be given to it again.

    Args:
        space: What is searched: a Space, a Pool, or a dict of thomax parameters or of Tune's
            domains, which may be nested. A condition (`when`) then names the other parameter by
            its keys joined with "/". By default the domains of Tune's `param_space`.
        metric: The result to optimise; by default that of TuneConfig. A list of several, to search
            for trade-offs between them: `optimizer.front` holds the best ones.
        mode: "max" or "min", or a list of these for a list of metrics; by default that of
            TuneConfig.
        limits: What a good trial keeps, by the names of results, such as {"latency": "<= 0.1"}.
        policy: How points are proposed; by default a policy that suits the space.
        seed: A whole number that makes the proposals reproducible; random if it is left out.
        points_to_evaluate: Configs to evaluate first.
        initial: The number of quasi-random points before the policy takes over, or "uncertainty",
            as for Optimizer.
        search: How the scores of the policy are maximised.
        allow_repeats: Whether points may be proposed again, and twice in a batch.

    Examples:
        >>> from ray import tune
        >>> space = {"width": tune.randint(1, 9), "adam": {"lr": tune.loguniform(1e-4, 1e-1)}}
        >>> search = ThomaxSearch(space, metric="loss", mode="min", seed=0)
        >>> config = search.suggest("my-trial")
        >>> sorted(config), sorted(config["adam"])
        (['adam', 'width'], ['lr'])
        >>> search.on_trial_complete("my-trial", {"loss": 0.5})
        >>> search.optimizer.best.value
        0.5
    """

    _metric: str | list[str] | None
    _mode: str | list[str] | None

    @spell_checked
    def __init__(
        self,
        space: Space | Pool | Config | None = None,
        metric: str | Sequence[str] | None = None,
        mode: str | Sequence[str] | None = None,
        policy: Policy | PolicyFunction | None = None,
        seed: int | None = None,
        points_to_evaluate: Sequence[Config] | None = None,
        initial: Initial = None,
        search: Search | None = None,
        allow_repeats: bool = False,
        limits: Mapping[str, str] | None = None,
    ) -> None:
        _require_modes(metric, mode)
        super().__init__(metric=_own(metric), mode=_own(mode))
        self._policy = policy
        self._settings: dict[str, Any] = {"seed": seed, "initial": python_scalar(initial)}
        self._settings |= {"allow_repeats": allow_repeats, "search": search}
        if limits is not None:
            self._settings["limits"] = limits
        self._points = list(points_to_evaluate or ())
        self._layout = None if space is None else own_layout(space)
        self._optimizer: Optimizer | None = None
        self._queue: list[Params] = []  # what is left of the points, as params
        self._numbers: dict[str, int] = {}  # of unfinished trials, by Tune's ids
        self._reported: dict[str, dict[str, float]] = {}  # their latest values
        self._start_if_complete()

    @property
    def optimizer(self) -> Optimizer:
        """The optimiser behind the search, with all trials so far."""
        if self._optimizer is None:
            raise RuntimeError(
                "ThomaxSearch needs a space, a metric and a mode, "
                f"got {'no' if self._layout is None else 'a'} space, metric={self._metric!r}, "
                f"mode={self._mode!r}: give all three to ThomaxSearch, or param_space to Tuner "
                "and metric and mode to TuneConfig."
            )
        return self._optimizer

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: Config, **_: object
    ) -> bool:
        """Take over what the Tuner was given; return whether its space is the one searched.

        Args:
            metric: The metric that Tune was given.
            mode: The mode that Tune was given.
            config: Tune's `param_space`.
        """
        self._metric = _agreed("metric", self._metric, metric)
        self._mode = _agreed("mode", self._mode, mode)
        if self._layout is not None:
            self._start_if_complete()
            return self._layout.is_that_of(config)
        refuse_conditions(config)
        self._layout = Layout.read(config)
        _warn_about_objects(self._layout)
        self._start_if_complete()
        return True

    # Tune declares a dict or None here, and knows FINISHED all the same.
    def suggest(self, trial_id: str) -> Params | str:  # type: ignore[override]
        """Return the config of a new trial, or FINISHED when a finite space has no more.

        Args:
            trial_id: What Tune calls the trial.
        """
        optimizer, layout = self.optimizer, self._known_layout()
        if self._queue:
            optimizer.enqueue(self._queue.pop(0))
        asked = optimizer.ask(1)
        if not asked:
            return self.FINISHED
        self._numbers[trial_id] = asked[0].number
        return layout.nest(asked[0].params)

    def on_trial_result(self, trial_id: str, result: Config) -> None:
        """Remember the latest value: schedulers stop paused trials without repeating it.

        Args:
            trial_id: What Tune calls the trial.
            result: What the trial has reported.
        """
        if trial_id not in self._numbers:
            return
        for name in self._names:
            if (value := _number(result.get(name))) is not None:
                self._reported.setdefault(trial_id, {})[name] = value

    def on_trial_complete(
        self, trial_id: str, result: Config | None = None, error: bool = False
    ) -> None:
        """Tell the optimiser how a trial ended; ignore ids it does not know.

        Args:
            trial_id: What Tune calls the trial.
            result: The last report of the trial.
            error: Whether the trial raised an error.
        """
        number = self._numbers.pop(trial_id, None)
        reported = self._reported.pop(trial_id, {})
        if number is None:
            return
        if error:
            self.optimizer.tell(number, error="the trial raised an error")
            return
        found = {name: (result or {}).get(name, reported.get(name)) for name in self._names}
        try:
            self.optimizer.tell(number, self._as_told(found))
        except ValueError as refused:
            self.optimizer.tell(number, error=refused)

    def add_evaluated_point(
        self,
        parameters: Config,
        value: Value,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: Sequence[float] | None = None,
    ) -> None:
        """Tell the optimiser about a config that was evaluated elsewhere.

        Args:
            parameters: The config.
            value: The value of the metric; a dict by the names of several, or with limits.
            error: Whether the evaluation raised an error.
            pruned: Whether the evaluation was stopped early; its value counts all the same.
            intermediate_values: Earlier values, which are not used.
        """
        optimizer, point = self.optimizer, self._known_layout().flatten(parameters)
        if error:  # whatever value came before it
            optimizer.tell(point, error="the trial raised an error")
        else:
            optimizer.tell(point, value)

    def save(self, checkpoint_path: str) -> None:
        """Write the whole search as JSON, except its policy.

        Args:
            checkpoint_path: The file to write.
        """
        Path(checkpoint_path).write_text(json.dumps(self._state(), allow_nan=False), "utf-8")

    def restore(self, checkpoint_path: str) -> None:
        """Continue the search that `save` wrote, also on an instance without a space.

        Args:
            checkpoint_path: A file that `save` wrote.
        """
        state = _read_state(Path(checkpoint_path))
        if self._layout is None:
            self._layout = Layout.from_description(state["layout"])
        elif self._layout.describe() != state["layout"]:
            raise ValueError(
                f"{checkpoint_path} belongs to a search of another space: "
                "pass the same space, or none."
            )
        self._load(state)

    def _start_if_complete(self) -> None:
        if self._layout is None or self._mode is None or self._optimizer is not None:
            return
        self._metric = self._metric or DEFAULT_METRIC  # what a function returns without a name
        space = self._layout.space
        self._queue = [space.validate(self._layout.flatten(p)) for p in self._points]
        self._optimizer = self._new_optimizer()

    def _new_optimizer(self) -> Optimizer:
        space = self._known_layout().space
        _require_modes(self._metric, self._mode)
        metrics, modes = _listed(self._metric), _listed(self._mode)
        aims = {name: _DIRECTIONS[mode] for name, mode in zip(metrics, modes, strict=True)}
        if self._is_plain:
            direction = _DIRECTIONS[modes[0]]
            return Optimizer(space, self._policy, direction=direction, **self._settings)
        return Optimizer(space, self._policy, objectives=aims, **self._settings)

    @property
    def _is_plain(self) -> bool:
        """Whether a number is told, and not a number for each name."""
        return isinstance(self._metric, str) and not self._settings.get("limits")

    @property
    def _names(self) -> list[str]:
        """What is read from a result."""
        return _listed(self._metric) if self._is_plain else self.optimizer.metrics.names

    def _as_told(self, found: Params) -> Value:
        if self._is_plain:
            value: Value = found[self._names[0]]
            return value
        return {name: _number(value) for name, value in found.items()}

    def _known_layout(self) -> "Layout":
        assert self._layout is not None, "an optimiser is made from a layout"
        return self._layout

    def _state(self) -> Params:
        optimizer, search = self.optimizer, self._settings["search"]
        return {
            "format": FORMAT,
            "version": VERSION,
            "metric": self._metric,
            "mode": self._mode,
            "layout": self._known_layout().describe(),
            "settings": {
                **self._settings,
                "seed": optimizer.seed,
                "search": None if search is None else asdict(search),
            },
            "trials": [_saved(optimizer, trial) for trial in optimizer.trials],
            "queue": self._queue,
            "numbers": self._numbers,
            "reported": self._reported,
        }

    def _load(self, state: ParamsLike) -> None:
        """Rebuild the optimiser: the same trials under the same numbers propose the same."""
        self._metric, self._mode = state["metric"], state["mode"]
        search = state["settings"]["search"]
        self._settings = {**state["settings"], "search": search and Search(**search)}
        self._queue, self._numbers = list(state["queue"]), dict(state["numbers"])
        self._reported = {
            name: dict(each) if isinstance(each, dict) else {str(self._metric): each}
            for name, each in state["reported"].items()  # once there was one metric
        }
        self._optimizer = self._new_optimizer()
        for trial in state["trials"]:
            if trial["state"] in ("complete", "failed", "retracted"):
                _tell_again(self._optimizer, trial)
                continue
            self._optimizer.enqueue(trial["params"])
            asked = self._optimizer.ask()
            if trial["state"] == "dropped":
                self._optimizer.drop(asked)


def _tell_again(optimizer: Optimizer, saved: ParamsLike) -> None:
    """Record a finished trial, and then what it was corrected to."""
    earlier = [Correction(**each) for each in saved.get("corrections", [])]
    outcomes: list[Trial | Correction] = [*earlier, Trial(**{**saved, "corrections": ()})]
    measured, params, note = measurement(outcomes[0]), saved["params"], saved.get("note")
    told = optimizer.tell(
        params, measured.value, error=outcomes[0].error, note=note, noise_std=measured.noise_std
    )
    for before, after in zip(earlier, outcomes[1:], strict=True):
        if after.state == "retracted":
            optimizer.retract(told, why=before.why)
            continue
        value, noise_std = measurement(after)
        optimizer.correct(told, value, error=after.error, why=before.why, noise_std=noise_std)


def _saved(optimizer: Optimizer, trial: Trial) -> Params:
    own = replace(trial, params=optimizer.space.with_labels(trial.params))
    return asdict(own)


def _read_state(path: Path) -> Params:
    try:
        state = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError:  # Tune copies it to the storage, and may be killed meanwhile
        state = None
    known = state if isinstance(state, dict) and state.get("format") == FORMAT else {}
    version = known.get("version")
    if not isinstance(version, int):
        raise ValueError(
            f"{path} must be a whole file that ThomaxSearch.save wrote: "
            "restore an earlier copy, or start again with add_evaluated_trials."
        )
    if version != VERSION:
        raise ValueError(
            f"{path} must be of version {VERSION}, got version {version} of "
            f"{'a newer' if version > VERSION else 'an older'} thomax: restore it with that one, "
            "or start again with add_evaluated_trials."
        )
    return known


def _warn_about_objects(layout: Layout) -> None:
    """Warn before the job that `Tuner.restore` will not bring the space back."""
    for name, text in layout.describe()["choices"].items():
        if text is None:
            warn(
                f"The choices of {name!r} cannot be saved, so Tuner.restore will not work: "
                "give the domains to ThomaxSearch(space=...), or choose among names.",
                through=("ray",),
            )


def _agreed(what: str, own: str | list[str] | None, tunes: str | None) -> str | list[str] | None:
    """Return what was given here or to Tune, which knows one metric: it may be one of several."""
    if own and tunes and tunes not in _listed(own):
        raise ValueError(
            f"ThomaxSearch was given {what} {own!r}, and Tune {tunes!r}: give it once."
        )
    return own or tunes


def _listed(names: str | Sequence[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else [*(names or ())]


def _own(names: str | Sequence[str] | None) -> str | list[str] | None:
    return names if names is None or isinstance(names, str) else [*names]


def _require_modes(metric: str | Sequence[str] | None, mode: str | Sequence[str] | None) -> None:
    if mode is None:
        return
    if any(each not in _DIRECTIONS for each in _listed(mode)):
        raise ValueError(f'ThomaxSearch needs mode "min" or "max", got {mode!r}.')
    is_one = isinstance(mode, str)
    if metric is not None and (
        is_one != isinstance(metric, str) or len(_listed(metric)) != len(_listed(mode))
    ):
        raise ValueError(
            f"ThomaxSearch needs a mode for each metric, got metric={metric!r} and "
            f'mode={mode!r}: pass two lists of the same length, such as ["loss", "size"] and '
            '["min", "min"].'
        )


def _number(value: object) -> float | None:
    """Return a finite number as one, and None for everything else."""
    plain = python_scalar(value)
    is_number = isinstance(plain, int | float) and math.isfinite(plain)
    return float(plain) if is_number else None

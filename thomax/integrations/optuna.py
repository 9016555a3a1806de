"""Use thomax as a sampler of Optuna.

The sampler keeps no history: what it proposes is a function of the storage, of its seed and of
the trial's number. So any number of workers share a study, and a study that is resumed goes on as
if it had never stopped.
"""

import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence

try:
    import optuna
except ImportError as error:
    raise ImportError(
        "thomax.integrations.optuna needs Optuna: pip install 'thomax[optuna]'"
    ) from error
import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.samplers._base import _process_constraints_after_trial
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from thomax.initial_design import design_length, quasi_random_point_in
from thomax.integrations._optuna_space import (
    Point,
    PoolView,
    SpaceView,
    View,
    latest_distributions,
    region_where,
)
from thomax.integrations._optuna_trials import (
    StudyHistory,
    fixed_params,
    history_of,
    publish,
    read_trials,
    record_fallback,
)
from thomax.keys import Stream, make_key, stream
from thomax.model.data import Data
from thomax.model.metric_data import MetricData
from thomax.policies.base import Policy, PolicyFunction, as_policy
from thomax.proposals import check_search
from thomax.search.settings import Search
from thomax.space.given import Region
from thomax.space.pool import Pool
from thomax.storage.locks import OwnLock
from thomax.suggest import default_policy, suggest
from thomax.support.checks import checked_whole
from thomax.support.spelling import spell_checked
from thomax.support.types import Params
from thomax.support.user_warnings import warn

_ATTEMPTS = 50  # to find a point that no other worker takes at the same moment
_SPREAD = 4  # draws of which a worker that has given up a point takes any


class ThomaxSampler(BaseSampler):  # type: ignore[misc]
    """Propose the parameters of Optuna's trials by batch neural Thompson sampling.

    Running trials of all workers are taken into account. Parameters that were enqueued, or that a
    `PartialFixedSampler` around this sampler fixes, are given to the model: it chooses the others
    for these values.

    With several objectives each trial looks for a trade-off of its own: every objective has a
    model, and draws of all are weighed up at random. So has every constraint, and how far it holds
    or not teaches; a trial without constraint values is not taken for feasible. The model learns
    from failed trials where not to go; pruned ones count by their last report. If the model fails,
    the trial gets a quasi-random point, and its system attribute "thomax:fallback" says why.

    Args:
        policy: How points are proposed; by default a policy that suits the space.
        n_startup_trials: The number of quasi-random trials at the beginning, by default
            five.
        pool: Candidates to choose from. The objective calls `trial.suggest_int("index", 0, len -
            1)` and gets the row of a candidate, whose features the model knows; other parameters
            are drawn at random.
        pool_parameter: What the objective calls the row of a candidate.
        batch: How many trials one fit serves, if they are asked for before another value is told.
        seed: A whole number that makes the proposals reproducible; random if it is left out.
        search: How the scores of the policy are maximised.
        constraints_func: What returns the constraints of a trial that has ended, as Optuna's own
            samplers take it: numbers of which all are at most 0 where the trial is feasible. With
            Optuna 5 `trial.set_constraint` does the same in the objective.
        warn_independent_sampling: Whether to warn of parameters that are drawn at random.

    Examples:
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(sampler=ThomaxSampler(seed=0))
        >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=12)
        >>> study.best_value < 0.01
        True
    """

    @spell_checked
    def __init__(
        self,
        *,
        policy: Policy | PolicyFunction | None = None,
        n_startup_trials: int | None = None,
        pool: Pool | None = None,
        pool_parameter: str = "index",
        batch: int = 1,
        seed: int | None = None,
        search: Search | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        check_search("ThomaxSampler", search)
        if pool is not None and not isinstance(pool, Pool):
            raise TypeError(f"ThomaxSampler needs pool to be a Pool, got {pool!r}: use Pool(...).")
        if constraints_func is not None and not callable(constraints_func):
            raise TypeError(
                "ThomaxSampler needs constraints_func to be a function of a trial, got "
                f"{constraints_func!r}: pass one that returns a list of numbers."
            )
        if n_startup_trials is not None:
            n_startup_trials = checked_whole(
                "ThomaxSampler", "n_startup_trials", n_startup_trials, 0
            )
        self.policy = None if policy is None else as_policy(policy, "ThomaxSampler")
        self.n_startup_trials = n_startup_trials
        self.batch = checked_whole("ThomaxSampler", "batch", batch, 1)
        self.seed = (
            secrets.randbits(32) if seed is None else checked_whole("ThomaxSampler", "seed", seed)
        )
        # Threads draw from seeds of their own, but share one evenly spread sequence.
        self._design_seed = self.seed
        self.search = search
        self.constraints_func = constraints_func
        self.warn_independent_sampling = warn_independent_sampling
        self._pool_view = None if pool is None else PoolView(pool_parameter, pool)
        self._ahead: tuple[object, list[Point]] = (None, [])  # a batch's points not yet asked for
        self._own = OwnLock()

    def reseed_rng(self) -> None:
        """Draw a new seed: Optuna calls this before each trial that runs in a thread."""
        with self._own.lock:
            self.seed = secrets.randbits(32)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the newest distribution of every parameter that any trial has used.

        Args:
            study: The study.
            trial: The trial that is about to begin.
        """
        trials = read_trials(study)
        if self._pool_view is None:
            return latest_distributions(trials)
        self._pool_view.require_same_pool(trials)
        return {n: d for n, d in self._pool_view.distributions.items() if not d.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]
    ) -> Params:
        """Propose a value for every parameter of the search space.

        Args:
            study: The study.
            trial: The trial that is about to begin.
            search_space: The distributions that `infer_relative_search_space` returned.
        """
        if not search_space:
            return {}
        with self._own.lock:
            return self._claim(study, trial, search_space)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> object:
        """Draw one parameter at random: one that the model cannot know yet.

        Args:
            study: The study.
            trial: The running trial.
            param_name: The parameter.
            param_distribution: Its distribution.
        """
        if self._pool_view is not None and param_name == self._pool_view.name:
            self._pool_view.require_same_distribution(param_distribution)
        if self.warn_independent_sampling:
            self._warn_of_independent_sampling(study, trial, param_name)
        # Python's own hash of a name differs from process to process.
        rng = stream(make_key(self.seed, trial.number), zlib.crc32(param_name.encode()))
        sampler = RandomSampler(seed=int(rng.integers(2**32)))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Keep the constraints of a trial that has ended.

        Args:
            study: The study.
            trial: The trial.
            state: How it ended.
            values: What the objective returned.
        """
        if self.constraints_func is not None:
            _process_constraints_after_trial(self.constraints_func, study, trial, state)

    def _claim(
        self, study: Study, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]
    ) -> Params:
        """Publish a proposal, and another one while a second worker has published the same.

        Who looks after having published cannot miss a proposal published before: of two equal
        ones at least one is given up. Workers with the same knowledge would collide repeatedly,
        so a worker that backs off picks one of several draws at random.
        """
        trials, fixed = read_trials(study), fixed_params(study, trial)
        left_out = {n: d for n, d in latest_distributions(trials).items() if n in fixed}
        view = self._pool_view or SpaceView.of({**left_out, **search_space}, trials)
        region = region_where(view, fixed)
        history = history_of(study, trials, view, trial.number)
        rng = stream(make_key(self.seed, trial.number), Stream.OPTUNA_CHOICE)
        params: Params = {}
        for attempt in range(_ATTEMPTS):
            # Once every point has been proposed, all may be proposed again.
            exhausted = _is_exhausted(region, history)
            exclude = [] if exhausted else history.taken
            choice = int(rng.integers(_SPREAD)) if attempt else None
            point = self._point(study, trial, view, region, history, exclude, choice)
            params = view.params(point)
            publish(study, trial, params)
            if exhausted or region.space is None or not region.space.is_finite:
                break
            history = history_of(study, read_trials(study), view, trial.number)
            if point not in history.taken:
                break
        return {name: value for name, value in params.items() if name in search_space}

    def _point(
        self,
        study: Study,
        trial: FrozenTrial,
        view: View,
        region: Region,
        history: StudyHistory,
        exclude: list[Point],
        choice: int | None,
    ) -> Point:
        """Return the next point: of the initial design first, then of the policy."""
        if len(history.data) >= design_length(self.n_startup_trials):
            try:
                return self._policy_point(view, region, history, trial.number, exclude, choice)
            except Exception as error:  # a run of days must not end because a model fails
                reason = f"{type(error).__name__}: {error}"
                record_fallback(study, trial, reason)
                warn(
                    f"Trial {trial.number} is quasi-random, because the model failed ({reason}).",
                    through=("optuna",),
                )
        is_finite = region.space is None or region.space.is_finite
        point = quasi_random_point_in(
            region, self._design_seed, trial.number, exclude if is_finite else [],
            np.zeros((0, *view.space.shape)),
        )  # fmt: skip
        return _own(view, point or {})

    def _policy_point(
        self,
        view: View,
        region: Region,
        history: StudyHistory,
        number: int,
        exclude: list[Point],
        choice: int | None,
    ) -> Point:
        """Return a point that is left of a batch on the same data, or of a new batch.

        With a choice it is that one of some draws' points, and no batch is kept.
        """
        data = history.data
        policy = default_policy(view.space) if self.policy is None else self.policy
        if choice is not None:
            points = self._points(policy, view, region, data, _SPREAD, number, exclude)
            return points[choice % len(points)]
        key = (view.space, region.given, data.x.tobytes(), data.y.tobytes())
        points = [p for p in self._ahead[1] if p not in exclude] if self._ahead[0] == key else []
        # A policy that reads pending points has to see those of its own batch.
        n = 1 if policy.reads_pending else self.batch
        first, *rest = points or self._points(policy, view, region, data, n, number, exclude)
        self._ahead = key, rest
        return first

    def _points(
        self,
        policy: Policy,
        view: View,
        region: Region,
        data: Data | MetricData,
        n: int,
        number: int,
        exclude: list[Point],
    ) -> list[Point]:
        """Return the points of n draws, fewer where a finite space has no more, at least one."""
        found = suggest(
            policy,
            region,
            data,
            n,
            seed=self.seed,
            number=number,
            search=self.search,
            exclude=exclude,
        )
        if not found:
            raise RuntimeError("the search found no new point")
        return [_own(view, point) for point in found]

    def _warn_of_independent_sampling(self, study: Study, trial: FrozenTrial, name: str) -> None:
        space = self.infer_relative_search_space(study, trial)
        view = self._pool_view or (SpaceView.of(space) if space else None)
        if view is None or trial.number < design_length(self.n_startup_trials):
            return
        reason = "earlier trials did not use it in this range or in this case"
        if self._pool_view is not None:
            reason = f"with a pool the model decides only about `{self._pool_view.name}`"
        optuna.logging.get_logger("optuna.thomax").warning(
            f"Trial {trial.number} draws the parameter `{name}` at random, because {reason}. "
            "Set warn_independent_sampling=False to silence this."
        )


def _is_exhausted(region: Region, history: StudyHistory) -> bool:
    space = region.space
    if space is not None and not space.is_finite:
        return False
    taken = [point for point in map(region.inside, history.taken) if point is not None]
    return bool(taken) if space is None else len(set(space.index(taken))) >= space.size


def _own(view: View, point: Point) -> Point:
    """Return a pool's point without the columns it shows to people."""
    return {"index": point["index"]} if isinstance(view, PoolView) else point

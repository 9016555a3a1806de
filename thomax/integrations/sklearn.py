"""scikit-learn: thomax as a cross-validated search over an estimator's parameters.

scikit-learn fits, scores and refits; `ThomaxSearchCV` only chooses the candidates, batch by batch,
from the scores of those before. Tried with scikit-learn 1.9.
"""

import copy
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np

from thomax.initial_design import Initial
from thomax.optimizer import Optimizer
from thomax.policies.base import Policy, PolicyFunction
from thomax.space.parameters import Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space, as_space
from thomax.storage.front import is_feasible, least_violating
from thomax.storage.metrics import UNNAMED
from thomax.storage.outcomes import Value
from thomax.storage.trial import Direction, Trial
from thomax.support.checks import is_whole
from thomax.support.spelling import spell_checked
from thomax.support.types import Array, Params
from thomax.support.user_warnings import warn

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection import BaseCrossValidator
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
except ImportError as error:
    raise ImportError(
        "thomax.integrations.sklearn needs scikit-learn: pip install 'thomax[sklearn]'"
    ) from error

Results = dict[str, Any]  # of scikit-learn: arrays by the names of columns
Scoring = str | Callable[..., Any] | Sequence[str] | Mapping[str, Any] | None
Split = tuple[np.ndarray, np.ndarray]  # the rows to train on, and those to test on
Folds: TypeAlias = int | BaseCrossValidator | Iterable[Split] | None
_SECONDS = ("fit_time", "score_time")  # means that scikit-learn measures beside the scores
_ALL_FAILED = re.compile(r"All the \d+ fits failed")


class ThomaxSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search an estimator's parameters by cross-validation, `batch` candidates at a time.

    Used like GridSearchCV, with a thomax space instead of a grid. All batches see the same folds.
    Candidates that cannot be fitted are told to the optimiser as failed. Once fitted, `optimizer_`
    holds the trials, in the order of `cv_results_`.

    Args:
        estimator: The estimator whose parameters are searched.
        space: A Space, or a dict of thomax parameters by the estimator's names for them.
        n_trials: The number of candidates in all.
        batch: The number of candidates that are chosen together, and fitted in parallel if
            `n_jobs` allows.
        policy: How candidates are proposed; by default a policy that suits the space.
        initial: The number of quasi-random candidates before the policy takes over, or
            "uncertainty", as for Optimizer.
        metric: The score to maximise, of several; by default the one named by `refit`.
        objectives: Several of the scores, to search for trade-offs between them instead: each is
            maximised, and `optimizer_.front` holds the best ones. `refit` chooses one of all
            candidates, by a score or as a function of `cv_results_`.
        limits: What a good candidate keeps, by the names of scores and of the mean seconds
            "fit_time" and "score_time", such as {"score_time": "<= 0.01"}. The best candidate is
            then the best of those that keep all of them, unless `refit` is a function.
        random_state: The seed of the proposals, as scikit-learn takes it.
        scoring: The score or scores, as for GridSearchCV.
        n_jobs: The number of parallel fits, as for GridSearchCV.
        refit: Whether to fit the best candidate on all data, or by which score, as for
            GridSearchCV.
        cv: The folds, as for GridSearchCV.
        verbose: How much is printed, as for GridSearchCV.
        pre_dispatch: The number of fits that are dispatched ahead, as for GridSearchCV.
        error_score: The score of a failed fit, or "raise", as for GridSearchCV.
        return_train_score: Whether `cv_results_` holds scores on the training folds, as for
            GridSearchCV.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from thomax import Float
        >>> model = LogisticRegression(max_iter=1000)
        >>> search = ThomaxSearchCV(
        ...     model, {"C": Float(0.01, 100, log=True)}, n_trials=8, random_state=0
        ... )
        >>> print(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.9)
        True
    """

    @spell_checked
    def __init__(
        self,
        estimator: BaseEstimator,
        space: Space | Mapping[str, Parameter],
        *,
        n_trials: int = 32,
        batch: int = 4,
        policy: Policy | PolicyFunction | None = None,
        initial: Initial = None,
        metric: str | None = None,
        objectives: Sequence[str] | None = None,
        limits: Mapping[str, str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        scoring: Scoring = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[Results], int] = True,
        cv: Folds = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.space = space
        self.n_trials = n_trials
        self.batch = batch
        self.policy = policy
        self.initial = initial
        self.metric = metric
        self.objectives = objectives
        self.limits = limits
        self.random_state = random_state

    def _run_search(self, evaluate_candidates: Callable[..., Results], **_: object) -> None:
        """Ask, evaluate, tell, until the trials are used up or a finite space is."""
        optimizer = self._new_optimizer()
        folds = _SameFolds(self._checked_cv_orig)
        self._unfitted: dict[int, Params] = {}
        results: Results = {}
        failure: Exception | None = None
        while (left := self.n_trials - len(optimizer.trials)) > 0:
            trials = optimizer.ask(min(self.batch, left))
            if not trials:
                break
            try:
                results = evaluate_candidates([t.params for t in trials], cv=folds)
            except ValueError as error:
                if self.error_score == "raise" or not _ALL_FAILED.search(str(error)):
                    raise
                failure = error
                self._tell_unfitted(optimizer, trials, error)
            else:
                self._tell_scores(optimizer, trials, results)
        if not results:
            raise failure or ValueError(
                "ThomaxSearchCV needs a space with a point, but its constraint refuses all."
            )
        self._add_unfitted_at_the_end(results)
        self.optimizer_ = optimizer

    def _new_optimizer(self) -> Optimizer:
        for name in ("n_trials", "batch"):
            value = getattr(self, name)
            if not is_whole(value, 1):
                raise ValueError(
                    f"ThomaxSearchCV needs {name} to be a whole number >= 1, got {value!r}."
                )
        # Parameters remember what they compute, but `fit` must leave its arguments unchanged.
        space = as_space(copy.deepcopy(self.space))
        if isinstance(space, Pool):
            raise TypeError(
                "ThomaxSearchCV needs a dictionary of parameters or a Space, got a Pool: "
                "its rows name no parameters of the estimator."
            )
        if not callable(self.scoring):  # before anything is fitted
            several = isinstance(self.scoring, list | tuple | set | dict)
            self._score_names([*self.scoring] if several else ["score"])
        state = self.random_state
        whole = state if isinstance(state, Integral) and is_whole(state) else None
        seed = check_random_state(state).randint(2**31 - 1) if whole is None else int(whole)
        aims: dict[str, Direction] | None = None
        if self.objectives is not None:
            aims = dict.fromkeys(self.objectives, "maximize")
        return Optimizer(
            space,
            copy.deepcopy(self.policy),
            seed=seed,
            initial=self.initial,
            objectives=aims,
            limits=copy.deepcopy(self.limits),
        )

    def _score_names(self, names: Sequence[str]) -> list[str]:
        """Choose the scores to maximise, of those that scikit-learn computes."""
        for name in self.limits or ():
            if name not in (*names, *_SECONDS):
                raise ValueError(
                    "ThomaxSearchCV needs limits= to name scores, fit_time or score_time, got "
                    f"{name!r} with the scores {[*names]}: name it in scoring=."
                )
        if self.objectives is None:
            return [self._score_name(names)]
        if isinstance(self.objectives, str) or self.metric is not None:
            raise ValueError(
                "ThomaxSearchCV needs objectives= to be a list of scores, and no metric=, got "
                f"objectives={self.objectives!r}, metric={self.metric!r}: for one score use "
                "metric."
            )
        for name in self.objectives:
            if name not in names:
                raise ValueError(
                    f"ThomaxSearchCV needs objectives= to be among the scores {[*names]}, "
                    f"got {name!r}: name it in scoring=."
                )
        return [*self.objectives]

    def _score_name(self, names: Sequence[str]) -> str:
        wanted = self.metric
        if wanted is None or (wanted == self.scoring and [*names] == ["score"]):
            wanted = "score" if [*names] == ["score"] else self.refit
        if not isinstance(wanted, str) or wanted not in names:
            raise ValueError(
                f"ThomaxSearchCV needs metric= to be one of the scores {[*names]}, "
                f"got metric={self.metric!r}, refit={self.refit!r}: name the one to maximise."
            )
        return wanted

    def _tell_scores(
        self, optimizer: Optimizer, trials: Sequence[Trial], results: Results
    ) -> None:
        prefix = "mean_test_"
        names = [key.removeprefix(prefix) for key in results if key.startswith(prefix)]
        wanted = self._score_names(names)
        for place, trial in enumerate(trials, start=len(results["params"]) - len(trials)):
            scores = {name: results[prefix + name][place] for name in names}
            seconds = {name: results[f"mean_{name}"][place] for name in _SECONDS}
            if any(math.isnan(scores[name]) for name in wanted):  # a fit failed, at its own speed
                seconds = dict.fromkeys(_SECONDS, math.nan)
            optimizer.tell(trial, self._as_told(wanted, {**seconds, **scores}))

    def _as_told(self, wanted: Sequence[str], found: Mapping[str, float]) -> Value:
        """Return the scores to maximise, and what is limited, as the optimiser is told of them."""
        limited = {name: found[name] for name in self.limits or ()}
        if self.objectives is not None:
            return {name: found[name] for name in wanted} | limited
        return {UNNAMED: found[wanted[0]], **limited} if limited else found[wanted[0]]

    # If all fits of one batch fail, scikit-learn raises and forgets the batch. Here it counts as
    # failed, and stands in cv_results_ like any other failed fit.

    def _tell_unfitted(
        self, optimizer: Optimizer, trials: Sequence[Trial], error: Exception
    ) -> None:
        first, last = trials[0].number, trials[-1].number
        warn(
            f"All fits of candidates {first} to {last} failed; the search goes on.\n{error}",
            FitFailedWarning,
            through=("sklearn", "joblib"),
        )
        for trial in trials:
            self._unfitted[trial.number] = trial.params
            if math.isfinite(self.error_score):
                wanted = self.objectives or ["score"]
                names = [*wanted, *(self.limits or ())]
                scores: dict[str, float] = dict.fromkeys(names, float(self.error_score))
                seconds = dict.fromkeys(_SECONDS, math.nan)
                optimizer.tell(trial, self._as_told(wanted, {**scores, **seconds}))
            else:
                optimizer.tell(trial, error=error)

    def _format_results(
        self,
        candidate_params: Sequence[Params],
        n_splits: int,
        out: Sequence[Results],
        more_results: Results | None = None,
    ) -> Results:
        """Put the candidates that scikit-learn forgot back into their places."""
        self._formatted = candidate_params, n_splits, out, more_results
        candidates, rows = [*candidate_params], [*out]
        for number, params in self._unfitted.items():
            candidates.insert(number, params)
            place = number * n_splits
            rows[place:place] = [_failed_row(out[0], self.error_score)] * n_splits
        formatted: Results = super()._format_results(candidates, n_splits, rows, more_results)
        return formatted

    def _select_best_index(
        self, refit: bool | str | Callable[[Results], int], refit_metric: str, results: Results
    ) -> int:
        """Choose the candidate to refit: of those that keep the limits, if there are limits."""
        if not self.limits or callable(refit):
            return int(super()._select_best_index(refit, refit_metric, results))
        trials, metrics = self.optimizer_.trials, self.optimizer_.metrics
        kept = np.array([is_feasible(trial, metrics) for trial in trials])
        if kept.any():
            return int(np.where(kept, results[f"rank_test_{refit_metric}"], np.inf).argmin())
        closest = least_violating(trials, metrics)
        warn(
            "No candidate keeps all limits: best_params_ are those of the one that comes closest.",
            through=("sklearn", "joblib"),
        )
        if closest is None:
            return int(super()._select_best_index(refit, refit_metric, results))
        return closest.number

    def _add_unfitted_at_the_end(self, results: Results) -> None:
        # `fit` keeps this very dictionary, so it is changed in place.
        if max(self._unfitted, default=-1) >= len(results["params"]):
            results.update(self._format_results(*self._formatted))
        del self._unfitted, self._formatted

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = {**super().__getstate__()}
        state.pop("_formatted", None)
        return state


class _SameFolds:
    """Split once: a splitter that draws folds at random would draw others for each batch."""

    def __init__(self, cv: BaseCrossValidator) -> None:
        self._cv = cv
        self._folds: list[Split] | None = None

    def split(self, X: Array, y: "Array | None" = None, **params: object) -> list[Split]:
        """Return the folds of the first call."""
        if self._folds is None:
            self._folds = list(self._cv.split(X, y, **params))
        return self._folds


def _failed_row(row: Results, error_score: float | str) -> Results:
    """Return what scikit-learn notes of a failed fit, with the scores that another one has."""
    failed = {**row, "fit_time": math.nan, "score_time": math.nan}
    for key in failed.keys() & {"test_scores", "train_scores"}:
        is_dict = isinstance(row[key], dict)
        failed[key] = dict.fromkeys(row[key], error_score) if is_dict else error_score
    return failed

"""Ask for points, tell their values: the optimiser over a journal.

The journal is the whole state. Every method that changes something first appends one record, then
applies it; opening an existing journal applies its records again. The random key of trial i
depends only on the seed and on i, so a resumed run proposes what the unbroken run would have
proposed. `thomax.storage.replay` says what the records mean.
"""

import itertools
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from thomax.initial_design import Initial, checked_initial
from thomax.policies.base import Policy, PolicyFunction, as_policy
from thomax.proposals import Proposer, check_search, with_length
from thomax.running.loop import Callback, StopReason, Unfinished, run, show_on_stderr
from thomax.running.workers import AnyExecutor, Objective, own_params
from thomax.search.settings import Search
from thomax.space.given import Region, region_of
from thomax.space.parameters import Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space, as_space
from thomax.space.values import copied
from thomax.storage.front import front_of, least_violating, margins, ranked
from thomax.storage.headers import missing_from, search_header
from thomax.storage.journal import Journal, read_header
from thomax.storage.locks import OwnLock
from thomax.storage.metrics import UNNAMED, Metrics
from thomax.storage.notebook import search_html
from thomax.storage.observations import EncodedHistory
from thomax.storage.outcomes import MISSING, NoiseStd, Value, corrected, remark, told
from thomax.storage.records import Record
from thomax.storage.snapshot import Snapshot, batches_of
from thomax.storage.trial import Direction, Trial
from thomax.support.checks import FLAG, at_least, checked_whole, is_whole, require
from thomax.support.collection import collection_put_off
from thomax.support.spelling import spell_checked
from thomax.support.types import ParamsLike
from thomax.support.user_warnings import warn

if TYPE_CHECKING:
    import pandas as pd

    from thomax.prediction import Prediction

SpaceLike = Space | Pool | Mapping[str, Parameter]
Told = Trial | int | ParamsLike
Outcome = (
    tuple[Told, Value, str | None]
    | tuple[Told, Value, str | None, str | None]
    | tuple[Told, Value, str | None, str | None, NoiseStd]
)


class Optimizer:
    """Maximise (or minimise) a black box by asking for points and telling their values.

    The journal is the whole state: opening an existing one goes on where it ended. The random
    key of trial i depends only on the seed and on i, so a resumed run proposes what the unbroken
    run would have proposed.

    Args:
        space: What is searched: a dict of parameters, a Space or a Pool.
        policy: How points are proposed, such as `STOBNTS()`; by default one that suits the space.
        direction: "maximize" if large values are best, "minimize" if small ones are.
        objectives: Several objectives, or one with a name: "maximize" or "minimize" by name, such
            as {"yield": "maximize", "cost": "minimize"}. Values are told by these names, and the
            search is for the trade-offs between them, `front`.
        limits: What a good evaluation keeps, by the names of metrics, such as
            {"impurity": "<= 0.02"}. They are measured with the objectives, and learnt.
        seed: A whole number that makes the proposals reproducible; random if it is left out.
        initial: The number of quasi-random points before the policy takes over, by default
            five. Unless it is 0, they go on until a value is told.
            `UncertaintySampling(...)` takes the points of largest posterior variance instead;
            "uncertainty" is that with its default settings.
        journal: A file that keeps everything told. One that exists is continued.
        search: How the scores of the policy are maximised.
        allow_repeats: Whether a score is maximised over the whole space, as the paper has it: then
            a point may be proposed again, and more than once in a batch. This pays for objectives
            with much noise. Otherwise every point is a new one.
        repeat_margin: Where a draw promises at its maximum no more than this beyond a point that
            was evaluated, that one is evaluated again; in standard deviations of the noise, such
            as 0.3. For one noisy objective without limits. By default every point is a new one,
            which found better points wherever it was measured.

    Examples:
        >>> from thomax import Float
        >>> optimizer = Optimizer({"x": Float(-1, 1)}, seed=0, initial=2)
        >>> for trial in optimizer.ask(2):
        ...     _ = optimizer.tell(trial, -trial.params["x"] ** 2)
        >>> optimizer.best.state
        'complete'
    """

    @spell_checked
    def __init__(
        self,
        space: SpaceLike,
        policy: Policy | PolicyFunction | None = None,
        *,
        direction: Direction = "maximize",
        objectives: Mapping[str, Direction] | None = None,
        limits: Mapping[str, str] | None = None,
        seed: int | None = None,
        initial: Initial = None,
        journal: str | os.PathLike[str] | None = None,
        search: Search | None = None,
        allow_repeats: bool = False,
        repeat_margin: float | None = None,
    ) -> None:
        self.metrics = Metrics.of(objectives, limits, direction)
        check_search("Optimizer", search)
        require("Optimizer", "allow_repeats", allow_repeats, FLAG)
        require("Optimizer", "repeat_margin", repeat_margin, at_least(0).or_none())
        if repeat_margin is not None and not self.metrics.is_plain:
            raise ValueError(
                "Optimizer needs one objective without limits for a repeat_margin, got "
                f"{self.metrics}: leave it out, or tell replicates as a list."
            )
        self.space = as_space(space)
        self._policy = None if policy is None else as_policy(policy, "Optimizer")
        self._initial = checked_initial(initial)
        self._search = search or Search()
        self._allow_repeats, self._repeat_margin = allow_repeats, repeat_margin
        self._records: list[Record] = []  # those of the journal, if there is one
        self._built = EncodedHistory(self.space, (), self.metrics)  # what they add up to
        self._own = OwnLock()
        self.seed, self._journal = self._replayed(journal, seed)

    @classmethod
    def open(
        cls,
        journal: str | os.PathLike[str],
        policy: Policy | PolicyFunction | None = None,
        *,
        space: SpaceLike | None = None,
        **options: Any,
    ) -> "Optimizer":
        """Open a journal that exists, with the space, direction and seed that it holds.

        Args:
            journal: The file that an `Optimizer(..., journal=...)` has made.
            policy: As for `Optimizer`: a journal does not hold it.
            space: Needed only where the journal does not hold all of it: a Pool, a Space with a
                constraint, or choices that are objects with labels.
            **options: The other arguments of `Optimizer`, such as `initial` and `search`.

        Examples:
            >>> import tempfile
            >>> from thomax import Float
            >>> path = tempfile.mkdtemp() + "/run.jsonl"
            >>> Optimizer({"x": Float(-1, 1)}, seed=0, journal=path).close()
            >>> Optimizer.open(path)
            Optimizer(Space({'x': Float(-1.0, 1.0)}), maximize, seed=0: no trials)
        """
        path = Path(journal)
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "no file"
            raise FileNotFoundError(
                f"Optimizer.open needs the journal of a search, got {path}, where there is {kind}."
                " Check the path, or begin a search with Optimizer(space, journal=...)."
            )
        header = search_header(path, read_header(path))
        if space is None:
            if (missing := missing_from(header.space)) is not None:
                what, argument = missing
                raise ValueError(
                    f"Optimizer.open needs a space that the journal describes in full, got {path},"
                    f" which does not hold {what}: pass the same space, {argument}."
                )
            space = Space.from_description(header.space)
        return cls(space, policy, **{**header.metrics.options(), **options, "journal": path})

    def _replayed(
        self, journal: str | os.PathLike[str] | None, seed: int | None
    ) -> tuple[int, Journal | None]:
        """Open the journal, take its seed if none is given, and replay its records."""
        seed = None if seed is None else checked_whole("Optimizer", "seed", seed)
        if journal is None:
            return (secrets.randbits(32) if seed is None else seed), None
        header: Record = {"space": self.space.describe(), **self.metrics.options()}
        if seed is not None:
            opened = Journal.open(journal, {**header, "seed": seed})
        else:
            opened = Journal.open(journal, header, if_new={"seed": secrets.randbits(32)})
        try:
            found = search_header(opened.path, opened.header)
            seed, self.metrics = found.seed, found.metrics  # in their order in the journal
            self._built = EncodedHistory(self.space, (), self.metrics)
            self._replay(opened)
        except ValueError:
            opened.close()
            raise
        return seed, opened

    def _replay(self, opened: Journal) -> None:
        self._records = opened.records
        try:
            with collection_put_off():
                for record in opened.records:
                    self._built.apply(record)
                self._built.require_in_space()
        except (KeyError, TypeError, IndexError, ValueError) as error:
            n = self._built.count
            where = f"record {n + 1}" if n < len(opened.records) else "a point"
            raise ValueError(
                f"Journal {opened.path} holds a record that does not fit the ones before it "
                f"({where}: {str(error)[:300]}); it was written by something else than this "
                "optimiser: use another path, or upgrade thomax if a newer one wrote it."
            ) from error

    @property
    def _history(self) -> EncodedHistory:
        """What the records add up to, built anew if Ctrl-C has kept one from being applied.

        Whenever that comes, also in here, the next look at the history finds that it is behind.
        """
        if self._built.count != len(self._records):
            self._built = EncodedHistory(self.space, self._records, self.metrics)
        return self._built

    @property
    def policy(self) -> Policy:
        """How points are proposed: the policy that was given, or the one that suits the space."""
        if self._policy is None:  # importing JAX takes long, and the first points do without
            from thomax.suggest import default_policy

            self._policy = default_policy(self.space)
        return self._policy

    @policy.setter
    def policy(self, policy: Policy | PolicyFunction) -> None:
        self._policy = as_policy(policy, "Optimizer")

    @property
    def trials(self) -> list[Trial]:
        """All trials, in the order of their numbers."""
        return [self._copy(t) for t in self._history.listed()]

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked for and not yet told."""
        return [self._copy(t) for t in self._history.listed("pending")]

    @property
    def direction(self) -> Direction:
        """Whether the first objective is maximised or minimised."""
        return self.metrics.direction

    @property
    def best(self) -> Trial:
        """The trial with the best observed value, of those that keep all limits."""
        if self.metrics.only is None:
            names = " and ".join(self.metrics.objectives)
            raise ValueError(
                f"There is no single best trial for {names}: `front` has the best trade-offs, "
                "and recommend(weights={...}) names one of them."
            )
        best_first = ranked(self._history.listed(), self.metrics)
        if not best_first:
            raise ValueError(self._why_no_best())
        return self._copy(best_first[0])

    @property
    def front(self) -> list[Trial]:
        """The trials that keep all limits and that no other such trial beats.

        One beats another if it is as good in all objectives and better in one. For one objective
        these are the best trials. A trial that misses an objective is left out.
        """
        return [self._copy(t) for t in front_of(self._history.listed(), self.metrics)]

    @overload
    def ask(self, *, given: ParamsLike | None = None) -> Trial: ...

    @overload
    def ask(self, n: int, *, given: ParamsLike | None = None) -> list[Trial]: ...

    @spell_checked
    def ask(self, n: int | None = None, *, given: ParamsLike | None = None) -> Trial | list[Trial]:
        """Propose the next trial, or the next n: they are pending until told.

        Args:
            n: How many trials to return, in a list; without it, one trial is returned. The list
                is shorter than n, or empty, when every point of a finite space has been proposed;
                without n that is an error.
            given: Values that these trials must have, by the names of parameters, such as what
                is in stock today; for a pool values of its columns, names or labels. The others
                are searched, and the model learns from all trials. Enqueued points that do not
                fit stay in the queue.

        Examples:
            >>> from thomax import Categorical, Float
            >>> space = {"catalyst": Categorical(["P1", "P2"]), "load": Float(0, 1)}
            >>> optimizer = Optimizer(space, seed=0)
            >>> [t.params["catalyst"] for t in optimizer.ask(3, given={"catalyst": "P2"})]
            ['P2', 'P2', 'P2']
        """
        if n is not None and not is_whole(n, 1):
            raise ValueError(f"ask needs a whole number n >= 1, got {n!r}.")
        region = region_of(self.space, given)
        with self._own.lock:
            proposed = self._propose(1 if n is None else int(n), region)
        if n is not None:
            return proposed
        if not proposed:
            where = f"Where given={region.given} holds, the" if region.given else "The"
            raise ValueError(
                f"{where} space is exhausted: no point was found that has not been proposed. "
                "Stop here, or allow repetition with allow_repeats=True."
            )
        return proposed[0]

    @spell_checked
    def tell(
        self,
        trial: Trial | int | ParamsLike,
        value: Value = MISSING,
        *,
        error: str | BaseException | None = None,
        note: str | None = None,
        noise_std: NoiseStd = None,
    ) -> Trial:
        """Record the value of a trial that `ask` returned, or of a point that becomes one thereby.

        One of `value` and `error` must be given. The model learns from a failed evaluation where
        not to go.

        Args:
            trial: A pending trial, its number, or the params of a point that was not asked for.
            value: What the objective returned; NaN, infinity and None record a failure. Of
                repeated measurements a list. With objectives or limits by name a dict of these:
                any of them may be missing, and it is a failure if all are. A `Result` has one of
                these, and what is known beside it.
            error: Why the evaluation failed, as text or as the exception.
            note: A remark to keep with it, such as "stirrer slow"; nothing is learnt from it.
            noise_std: The standard deviation of one measurement, where it is known; by name if
                the value is.
        """
        outcome = told(value, error, noise_std, metrics=self.metrics)
        outcome |= remark("tell", "note", note)
        with self._own.lock:
            if not isinstance(trial, Mapping):
                # Algorithm 1, line 9; Algorithm 2, line 8
                return self._append_about_trial({"tell": self._checked_pending(trial), **outcome})
            params = self.space.validate(trial)
            added: Record = {"add": self._history.next_number, "params": params}
            return self._append_about_trial(added | outcome)

    @spell_checked
    def tell_all(self, outcomes: Iterable[Outcome], *, as_run: bool = False) -> list[Trial]:
        """Record several outcomes in one write: all of them, or none if one is refused or fails.

        Args:
            outcomes: Triples of a trial, its number or params as `tell` takes them, a value,
                and an error; a value or an error is None. A fourth item may be a note, or None,
                a fifth a `noise_std`.
            as_run: Whether a trial whose params were changed is recorded with the changed ones,
                because that is what was evaluated.

        Examples:
            >>> from thomax import Float
            >>> optimizer = Optimizer({"x": Float(-1, 1)}, seed=0)
            >>> first, second = optimizer.ask(2)
            >>> [t.state for t in optimizer.tell_all([(first, 0.5, None), (second, None, "lost")])]
            ['complete', 'failed']
        """
        outcomes = [*outcomes]  # a generator may evaluate, or ask
        with self._own.lock:
            free = itertools.count(self._history.next_number)
            records: dict[int, Record] = {}
            about: Record
            for trial, value, error, *more in outcomes:
                note, noise_std = [*more, None, None][:2]
                outcome = told(value, error, noise_std, metrics=self.metrics)
                outcome |= remark("tell_all", "note", note)
                if isinstance(trial, Mapping):
                    number = next(free)
                    about = {"add": number, "params": self.space.validate(trial)}
                else:
                    number, about = self._tell_record(trial, as_run)
                if number in records:
                    raise ValueError(f"tell_all needs each trial once, got trial {number} again.")
                records[number] = {**about, **outcome}
            if records:
                one, *others = records.values()
                self._append({"all": [one, *others]} if others else one)
            return [self._copy(self._history.trials[number]) for number in records]

    @spell_checked
    def correct(
        self,
        trial: Trial | int,
        value: Value = MISSING,
        *,
        error: str | BaseException | None = None,
        why: str | None = None,
        noise_std: NoiseStd = None,
    ) -> Trial:
        """Change what a finished trial came to, from now on; what it was stays in the journal.

        One of `value` and `error` must be given. The next proposals are those of a search that
        was told the new value at once. A retracted trial is brought back. Corrected again, the
        last value counts; `Trial.corrections` has the earlier ones.

        Args:
            trial: A complete, failed or retracted trial, or its number.
            value: The right value; NaN, infinity and None record a failure. By name only those
                metrics are changed that are named, and None or NaN says that one is missing.
            error: Why the evaluation counts as failed, as text or as the exception.
            why: Why it is corrected, such as "wrong dilution".
            noise_std: The standard deviation of one measurement, as for `tell`.

        Examples:
            >>> from thomax import Float
            >>> optimizer = Optimizer({"x": Float(-1, 1)}, seed=0)
            >>> told = optimizer.tell({"x": 0.5}, 0.18)
            >>> optimizer.correct(told, 0.81, why="two digits swapped").value
            0.81
        """
        reason = remark("correct", "why", why)
        with self._own.lock:
            number = self._checked_finished("correct", trial)
            before = self._history.trials[number]
            outcome = corrected(before, value, error, noise_std, metrics=self.metrics)
            return self._append_about_trial({"correct": number, **outcome, **reason})

    def retract(self, trial: Trial | int, *, why: str | None = None) -> Trial:
        """Take back the result of a finished trial: nothing is learnt from it any more.

        It does not count as finished, cannot be the best, and its point may be proposed again.
        `correct` brings it back.

        Args:
            trial: A complete or failed trial, or its number.
            why: Why it is retracted, such as "leak".
        """
        reason = remark("retract", "why", why)
        with self._own.lock:
            number = self._checked_finished("retract", trial)
            return self._append_about_trial({"retract": number, **reason})

    def enqueue(self, params: ParamsLike) -> None:
        """Make the next `ask` propose this point before any other.

        Args:
            params: A point of the space.
        """
        with self._own.lock:
            self._append({"enqueue": self.space.validate(params)})

    def drop(self, trial: Trial | int) -> None:
        """Give up an unfinished trial: it no longer counts as pending, and teaches nothing.

        A finite space does not propose its point again; `enqueue` does.

        Args:
            trial: A pending trial, or its number.
        """
        with self._own.lock:
            self._append({"drop": self._checked_pending(trial)})

    @spell_checked
    def recommend(self, weights: Mapping[str, float] | None = None) -> Trial:
        """Return the evaluated trial that the model expects to be best.

        With noise the best observed value is an overestimate: this ranks evaluated points by their
        posterior mean, estimated by a few draws. Where the observed values show no noise it is
        `best`. A policy without draws (Random, Sobol, the bounds) leaves that to the default one.
        Only trials that are expected to keep all limits count.

        Args:
            weights: How much each of several objectives counts, by its name, where a weight of 1
                counts the difference between the ends of the front as 1.

        Examples:
            >>> from thomax import Float
            >>> aims = {"yield": "maximize", "cost": "minimize"}
            >>> optimizer = Optimizer({"x": Float(0, 1)}, objectives=aims, seed=0)
            >>> for x in (0.1, 0.5, 0.9):
            ...     _ = optimizer.tell({"x": x}, {"yield": x, "cost": x**3})
            >>> optimizer.recommend({"yield": 1, "cost": 1}).params
            {'x': 0.5}
        """
        from thomax.recommendation import checked_weights, recommended
        from thomax.suggest import posterior_means

        if not self.metrics.is_one:
            shares, data = checked_weights(weights, self.metrics), self._history.metric_data()
            row = recommended(self.policy, self.space, data, shares, seed=self.seed)
            if row is None:
                raise ValueError(self._why_no_best())
            return self._copy(self._history.told[row])
        checked_weights(weights, self.metrics)
        best = self.best
        means = posterior_means(self.policy, self.space, self._history.data(), seed=self.seed)
        if means is None:
            return best
        return self._copy(self._history.listed("complete")[int(means.argmax())])

    def predict(
        self, points: "ParamsLike | Trial | Sequence[ParamsLike | Trial]"
    ) -> "Prediction | dict[str, Prediction]":
        """Return what the model expects at any points: means, deviations and 90 % intervals.

        The numbers are in the units of the values told, for the objective itself and for one more
        measurement of it. They come from the model that `recommend()` and the report use; failed
        trials are left out. It takes at least three values. Where values are told by the names of
        metrics there is a prediction for each, by its name.

        Args:
            points: The params of one point or of several, or trials; for a pool the index, name
                or label of candidates is enough.

        Examples:
            >>> from thomax import Float
            >>> optimizer = Optimizer({"x": Float(-1, 1)}, seed=0)
            >>> for x in (-0.8, -0.3, 0.2, 0.6, 0.9):
            ...     _ = optimizer.tell({"x": x}, x**2)
            >>> found = optimizer.predict([{"x": 0.3}, {"x": 0.61}])
            >>> bool(found.low[1] < 0.61**2 < found.high[1])
            True
        """
        from thomax.prediction import points_of, predict

        params = points_of(self.space, points)
        shown = [self.space.with_objects(point) for point in params]
        found = {
            name: replace(
                predict(
                    self.policy,
                    self.space,
                    self._history.data(name),
                    params,
                    direction=self.metrics.better(name),
                    seed=self.seed,
                    metric=None if self.metrics.is_plain else name,
                ),
                params=shown,
            )
            for name in self.metrics.names
        }
        return found[UNNAMED] if self.metrics.is_plain else found

    @spell_checked
    def run(
        self,
        objective: Objective,
        trials: int | None = None,
        *,
        total: int | None = None,
        batch: int = 1,
        executor: AnyExecutor | None = None,
        synchronous: bool = False,
        timeout: float | None = None,
        unfinished: Unfinished = "evaluate",
        give_up: int = 3,
        progress: bool = True,
        callbacks: Sequence["Callback[Optimizer]"] = (),
    ) -> StopReason:
        """Evaluate the objective at `trials` more points, `batch` at a time; return why it ended.

        An objective that raises, or whose worker process dies, fails its trial, not the run; the
        first failure is shown at once. What an evaluation returned is recorded, also on Ctrl-C;
        where that is impossible (a full disk) it is printed in full.

        Args:
            objective: A function of the params, a dict; it returns what `tell` takes as a value.
            trials: How many trials to finish in this call.
            total: How many finished trials there shall be in all, those of earlier runs included;
                instead of `trials`.
            batch: How many evaluations run at the same time.
            executor: Any `concurrent.futures` executor; by default threads if batch > 1. One that
                breaks because a worker died is replaced by a new one with the same settings.
            synchronous: Start a new batch when the whole last one has ended, instead of a new
                trial as soon as one ends.
            timeout: After so many seconds nothing new is started, and what runs is waited for.
            unfinished: Whether to "evaluate" trials that an earlier run left unfinished first, or
                to "drop" them.
            give_up: Raise an error if the first so many trials of this run all fail, and leave
                them to the next run; 0 for never.
            progress: Whether to show a progress bar.
            callbacks: Functions of (optimizer, trial), called when a trial is recorded.
        """
        if self._journal is not None and self._history.listed("pending"):
            self._journal.require_writable()  # other trials are asked for, which says the same
        return run(
            self,
            objective,
            trials,
            argument=own_params,
            total=total,
            batch=batch,
            executor=executor,
            synchronous=synchronous,
            timeout=timeout,
            unfinished=unfinished,
            give_up=give_up,
            progress=progress,
            callbacks=callbacks,
            show=show_on_stderr,
        )

    def snapshot(self) -> Snapshot:
        """Return the search as it stands, for reports and programs that only look at it."""
        with self._own.lock:
            trials = [replace(t, params=copied(t.params)) for t in self._history.listed()]
            return Snapshot(
                self.metrics,
                self.seed,
                trials,
                self.space,
                None if self._journal is None else self._journal.path,
                batches_of(self._records),
                self.policy,
                self._search,
            )

    def to_dataframe(self) -> "pd.DataFrame":
        """Return all trials as a pandas DataFrame, a column for each parameter.

        A parameter called like another column gets the prefix "params.".
        """
        return self.snapshot().to_dataframe()

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write what was found, and what the model makes of it, as one HTML page.

        Args:
            path: The file to write.
        """
        from thomax.report import write_report

        return write_report(self, path)

    def close(self) -> None:
        """Release the journal, so that another process can open it."""
        if self._journal is None:
            return
        if self._own.lock.acquire(blocking=False):  # else another thread is about to change it
            try:
                pending = [t.number for t in self._history.listed("pending")]
                self._journal.write_index(pending, self._history.next_number)
            finally:
                self._own.lock.release()
        self._journal.close()

    def __enter__(self) -> "Optimizer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to copy the journal: a file belongs to one optimiser."""
        if self._journal is not None:
            raise TypeError(
                "An optimiser with a journal cannot be copied or pickled, got "
                f"{self._journal.path}: open the journal again where it is needed."
            )
        copies = {"_records": [*self._records], "_own": OwnLock()}
        # Built anew from the records when it is needed.
        built = EncodedHistory(self.space, (), self.metrics)
        return {**vars(self), **copies, "_built": built}

    def __repr__(self) -> str:
        states = [t.state for t in self._history.listed()]
        counts = ", ".join(f"{states.count(s)} {s}" for s in sorted(set(states))) or "no trials"
        return f"Optimizer({self.space}, {self.metrics}, seed={self.seed}: {counts})"

    def _repr_html_(self) -> str:
        return search_html(repr(self), self.snapshot())

    def _propose(self, n: int, region: Region) -> list[Trial]:
        """Record the next trials, fewer than n if the space is exhausted."""
        self._initial = with_length(self._initial, self.space, lambda: self.policy)  # found once
        proposer = Proposer(
            self.space,
            lambda: self.policy,
            self.seed,
            self._initial,
            self._search,
            self._allow_repeats,
            self._repeat_margin,
            region,
        )
        given: Record = {"given": region.given} if region.given else {}
        proposed: list[Trial] = []
        while len(proposed) < n:
            points = proposer.points(self._history, n - len(proposed))
            if not points:
                break
            for params in points:
                asked: Record = {"ask": self._history.next_number, "params": params}
                proposed.append(self._append_about_trial(asked | given))
        return proposed

    def _copy(self, trial: Trial) -> Trial:
        """Hand out a trial of the caller's own: what is done to its params stays there."""
        params, given = (self.space.with_objects(p) for p in (trial.params, trial.given))
        return replace(trial, params=params, given=given)

    def _tell_record(self, trial: Trial | int, as_run: bool) -> tuple[int, Record]:
        if not as_run or not isinstance(trial, Trial):
            number = self._checked_pending(trial)
            return number, {"tell": number}
        number, params = self._checked_pending(trial.number), self.space.validate(trial.params)
        is_changed = params != self._history.trials[number].params
        return number, {"tell": number, "params": params} if is_changed else {"tell": number}

    def _why_no_best(self) -> str:
        if any(t.state == "complete" for t in self._history.listed()):
            return self._why_not_feasible()
        failed = self._history.listed("failed")
        if not failed:
            return "There is no best trial yet: tell the value of at least one trial."
        return (
            f"There is no best trial: all {len(failed)} that ended have failed, "
            f"the last with {failed[-1].error!r}. Mend the objective, or widen the space."
        )

    def _why_not_feasible(self) -> str:
        closest = least_violating(self._history.listed(), self.metrics)
        if closest is None:
            return "There is no best trial yet: no trial has the objective and all limited values."
        missed = [
            f"{name} {closest.values[name]:.6g} where {self.metrics.limits[name]} is wanted"
            for name, margin in margins(closest, self.metrics).items()
            if margin is not None and margin < 0
        ]
        if not missed:
            return f"There is no best trial yet: trial {closest.number} misses the objective."
        return (
            f"There is no best trial yet: none keeps all limits. Trial {closest.number} comes "
            f"closest, with {' and '.join(missed)}."
        )

    def _append(self, record: Record) -> Trial | None:
        """Write a record, then apply it: what is not on disk has not happened."""
        history = self._history
        if self._journal is not None:
            self._journal.append(record)
        else:
            self._records.append(record)
        return history.apply(record)

    def _append_about_trial(self, record: Record) -> Trial:
        trial = self._append(record)
        assert trial is not None, "asking and telling are about a trial"
        return self._copy(trial)

    def _checked_pending(self, trial: Trial | int) -> int:
        number = trial.number if isinstance(trial, Trial) else trial
        known = self._history.trials.get(int(number)) if is_whole(number) else None
        if known is None or known.state != "pending":
            pending = [t.number for t in self._history.listed("pending")]
            shown = pending if len(pending) <= 10 else [*pending[:10], "..."]
            is_finished = known is not None and known.state != "dropped"
            advice = f" `correct({number}, ...)` changes its result." if is_finished else ""
            raise ValueError(
                f"Trial {number!r} is not pending (pending: {shown}). "
                f"Tell each trial that `ask` returned exactly once.{advice}"
            )
        self._warn_if_changed(trial, known)
        return known.number

    def _checked_finished(self, who: str, trial: Trial | int) -> int:
        number = trial.number if isinstance(trial, Trial) else trial
        known = self._history.trials.get(int(number)) if is_whole(number) else None
        if known is None:
            last = self._history.next_number - 1
            known_ones = f"trials have the numbers 0 to {last}" if last >= 0 else "there is none"
            raise ValueError(f"{who} needs a trial or its number, got {number!r}: {known_ones}.")
        advice = {
            "pending": f"`tell({number}, ...)` records its result.",
            "dropped": "`tell(params, value)` records the result of its point as a new trial.",
        }
        if who == "retract":
            advice["retracted"] = (
                f"nothing is left to do. `correct({number}, ...)` brings it back."
            )
        if known.state in advice:
            raise ValueError(
                f"{who} needs a finished trial, got trial {number}, which is {known.state}: "
                f"{advice[known.state]}"
            )
        self._warn_if_changed(trial, known)
        return known.number

    def _warn_if_changed(self, trial: Trial | int, known: Trial) -> None:
        if isinstance(trial, Trial) and self.space.with_labels(trial.params) != known.params:
            warn(
                f"Trial {known.number} was asked for with {known.params}, got one with "
                f"{trial.params}: "
                "what came of it counts for the former. Tell trials to the optimizer that they "
                "are from, and evaluate copies of their params if you change them.",
            )

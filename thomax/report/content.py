"""Everything a report says, as numbers and names: no figures and no HTML."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict

import numpy as np

from thomax.keys import Stream, make_key, stream
from thomax.report.axes import Axis, axis_of, axis_of_values
from thomax.report.belief import Belief, belief_of, model_note
from thomax.report.candidates import Candidates, candidates_of, pictures_of
from thomax.report.diagnostics import Diagnostics, diagnose
from thomax.report.importance import Importance, importance_of
from thomax.report.metrics import metric_snapshot, preferred_trials
from thomax.report.slices import Pair, Slice, cuts_of
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Trial, value_of
from thomax.suggest import default_policy, posterior_means

MOST_BEST, MOST_PICTURES = 20, 12
_LONGEST_REASON = 160
_NUMBER = re.compile(r"(0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")


@dataclass(frozen=True)
class Content:
    """What the page shows; what the model cannot tell yet is None or empty.

    Args:
        snapshot: The search.
        written: When the report was made.
        counts: How many trials are in each state.
        best: The trial with the best observed value, of those that keep all limits.
        recommended: The trial that `Optimizer.recommend` returns.
        beliefs: Posterior mean and standard deviation by the number of a complete trial.
        note: Which model is shown, where it is not the search's own.
        axes: An axis for each parameter.
        importance: How much each parameter explains.
        slices: The model along single parameters.
        pairs: The model over pairs of parameters.
        candidates: What the model expects of a pool's candidates.
        pictures: Images of the best candidates, as data URIs.
        reasons: Why trials failed, with counts, the most frequent first.
        diagnostics: How well draws were trained, and facts about the run.
        parts: Where there are several metrics what the model says of each, by its name.
    """

    snapshot: Snapshot
    written: datetime
    counts: dict[str, int]
    best: Trial | None
    recommended: Trial | None
    beliefs: dict[int, tuple[float, float]]
    note: str
    axes: dict[str, Axis]
    importance: Importance | None
    slices: list[Slice]
    pairs: list[Pair]
    candidates: Candidates | None
    pictures: list[str]
    reasons: list[tuple[str, int]]
    diagnostics: Diagnostics
    parts: dict[str, "Content"] = field(default_factory=dict)

    @property
    def models(self) -> "dict[str, Content]":
        """What the model says of each metric; of one objective alone without a name."""
        return self.parts or {"": self}


def gather(snapshot: Snapshot) -> Content:
    """Ask the model everything that the page shows.

    Args:
        snapshot: The search.
    """
    diagnostics = diagnose(snapshot)
    if snapshot.metrics.is_one:
        return _of_one(snapshot, _preferred(snapshot), diagnostics)
    preferred = preferred_trials(snapshot)
    nothing = Diagnostics([], {})
    parts = {
        name: _of_one(metric_snapshot(snapshot, name), preferred, nothing)
        for name in snapshot.metrics.names
    }
    only = snapshot.metrics.only
    beliefs = {} if only is None else parts[only].beliefs
    is_modelled = bool(beliefs) if only else any(part.beliefs for part in parts.values())
    return Content(
        **_facts(snapshot, preferred if is_modelled and snapshot.ranked else []),
        beliefs=beliefs,
        importance=None,
        slices=[],
        pairs=[],
        candidates=None,
        diagnostics=diagnostics,
        parts=parts,
    )


def _of_one(snapshot: Snapshot, preferred: list[Trial], diagnostics: Diagnostics) -> Content:
    """Return what there is to say of one metric.

    Args:
        snapshot: The search for this metric.
        preferred: The trials that slices go through, the best first.
        diagnostics: How draws are doing.
    """
    belief = belief_of(snapshot)
    beliefs = _at_trials(snapshot, belief)
    importance, candidates = None, None
    slices: list[Slice] = []
    pairs: list[Pair] = []
    if belief is not None and isinstance(snapshot.space, Space):
        rng = stream(make_key(snapshot.seed), Stream.REPORT_POINTS)
        importance = importance_of(belief.values, snapshot.space, rng)
        slices, pairs = cuts_of(snapshot, snapshot.space, belief, importance.ranking, preferred)
    if belief is not None and isinstance(snapshot.space, Pool):
        rng = stream(make_key(snapshot.seed), Stream.REPORT_CANDIDATES)
        candidates = candidates_of(snapshot, snapshot.space, belief, rng)
    return Content(
        **_facts(snapshot, preferred if beliefs else []),
        beliefs=beliefs,
        importance=importance,
        slices=slices,
        pairs=pairs,
        candidates=candidates,
        diagnostics=diagnostics,
    )


class _Facts(TypedDict):
    snapshot: Snapshot
    written: datetime
    counts: dict[str, int]
    best: Trial | None
    recommended: Trial | None
    note: str
    axes: dict[str, Axis]
    pictures: list[str]
    reasons: list[tuple[str, int]]


def _facts(snapshot: Snapshot, preferred: list[Trial]) -> _Facts:
    """Return what does not come from draws of the model."""
    images = snapshot.space if isinstance(snapshot.space, Pool) else None
    return {
        "snapshot": snapshot,
        "written": datetime.now().astimezone(),
        "counts": dict(Counter(t.state for t in snapshot.trials)),
        "best": snapshot.best,
        "recommended": preferred[0] if preferred else None,
        "note": model_note(snapshot),
        "axes": _axes(snapshot),
        "pictures": [] if images is None else pictures_of(images, snapshot.ranked[:MOST_PICTURES]),
        "reasons": grouped_reasons([reason_of(t) for t in snapshot.failed]),
    }


def _preferred(snapshot: Snapshot) -> list[Trial]:
    """Return the complete trials, beginning with the one that `Optimizer.recommend` returns."""
    if snapshot.space is None:
        return snapshot.ranked
    policy = snapshot.policy or default_policy(snapshot.space)
    means = posterior_means(policy, snapshot.space, snapshot.data(), seed=snapshot.seed)
    if means is None:
        return snapshot.ranked
    return [snapshot.complete[i] for i in np.argsort(-means, kind="stable")]


def reason_of(trial: Trial) -> str:
    """Return why a trial failed, in one line of bounded length.

    Args:
        trial: A failed trial.
    """
    words = " ".join((trial.error or "no reason given").split())
    return words if len(words) <= _LONGEST_REASON else words[: _LONGEST_REASON - 1] + "…"


def grouped_reasons(reasons: Sequence[str]) -> list[tuple[str, int]]:
    """Count reasons, the most frequent first; those that differ only by numbers are one.

    Args:
        reasons: A line for each failed trial.

    Examples:
        >>> grouped_reasons(["node 3 died after 60 s", "node 7 died after 60 s", "no luck"])
        [('node # died after 60 s', 2), ('no luck', 1)]
    """
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    for reason in reasons:
        pieces = _NUMBER.split(reason)  # words and numbers in turn
        groups.setdefault(tuple(pieces[::2]), []).append(pieces)
    counted = [
        (
            "".join(p[0] if len({*p}) == 1 else "#" for p in zip(*members, strict=True)),
            len(members),
        )
        for members in groups.values()
    ]
    return sorted(counted, key=lambda c: -c[1])


def valued(snapshot: Snapshot) -> list[Trial]:
    """Return the complete trials that have a value of the one objective.

    Args:
        snapshot: The search.
    """
    return [t for t in snapshot.complete if t.value is not None]


def best_so_far(snapshot: Snapshot) -> list[tuple[int, float]]:
    """Return the best value up to each trial that keeps all limits.

    Args:
        snapshot: The search.
    """
    trials = sorted(snapshot.ranked, key=lambda t: t.number)
    best = np.maximum.accumulate([snapshot.sign * value_of(t) for t in trials])
    return [(t.number, snapshot.sign * float(b)) for t, b in zip(trials, best, strict=True)]


def _at_trials(snapshot: Snapshot, belief: Belief | None) -> dict[int, tuple[float, float]]:
    """Return the posterior's mean and standard deviation at every complete trial."""
    if belief is None:
        return {}
    draws = belief.values(snapshot.encode(snapshot.complete))
    means, stds = draws.mean(0).tolist(), draws.std(0, ddof=1).tolist()
    return {t.number: (m, s) for t, m, s in zip(snapshot.complete, means, stds, strict=True)}


def _axes(snapshot: Snapshot) -> dict[str, Axis]:
    if isinstance(snapshot.space, Space):
        return {name: axis_of(name, p) for name, p in snapshot.space.parameters.items()}
    # The index and the name of a candidate say nothing; the columns of a table do.
    names = [name for name in snapshot.parameters if name not in ("index", "name")]
    seen = {name: [t.params[name] for t in snapshot.trials if name in t.params] for name in names}
    return {name: axis_of_values(name, values) for name, values in seen.items()}

"""The numbers of a report, against the same numbers computed another way."""

from collections import Counter

import numpy as np
import pytest

from thomax import MLP, Float, Optimizer, STOBNTSLinear, Trial
from thomax.report.content import _preferred, best_so_far, grouped_reasons, reason_of
from thomax.report.writing import snapshot_of
from thomax.storage.trial import sign_of
from thomax.suggest import belief_policy


def test_counts_and_the_best_are_those_of_the_optimiser(mixed, mixed_content):
    assert mixed_content.counts == Counter(t.state for t in mixed.trials)
    assert mixed_content.counts == {"complete": 12, "failed": 1, "pending": 2}
    assert mixed_content.best == mixed.best


def test_beliefs_are_means_and_deviations_of_the_models_draws(mixed, mixed_content):
    complete = [t for t in mixed.trials if t.state == "complete"]
    keys = np.array([[3, 2**63 + i] for i in range(64)], np.uint64)
    policy = belief_policy(mixed.policy, mixed.space, beta=1.0)
    draws = -policy(keys, mixed.snapshot().data().successes())(
        mixed.space.encode([t.params for t in complete])
    )
    for i, trial in enumerate(complete):
        mean, std = mixed_content.beliefs[trial.number]
        assert mean == pytest.approx(draws[:, i].mean(), rel=1e-4)
        assert std == pytest.approx(draws[:, i].std(ddof=1), rel=1e-3)


def test_without_noise_the_best_observed_trial_is_recommended(mixed, mixed_content):
    """Row 6."""
    assert mixed_content.recommended == mixed_content.best == mixed.recommend()


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_with_noise_the_page_recommends_what_the_optimiser_does(direction):
    """Noise alone: other draws of the same posterior prefer another trial."""
    policy = STOBNTSLinear(MLP(width=24, activation="erf"))
    search = Optimizer({"x": Float(-1, 1)}, policy, direction=direction, seed=2)
    search.tell({"x": 0.9}, error="no luck")
    rng = np.random.default_rng(2)
    for x in rng.uniform(-1, 1, 20):
        search.tell({"x": x}, sign_of(direction) * rng.normal())
    preferred = _preferred(snapshot_of(search))
    assert preferred[0] == search.recommend()
    assert preferred[0] != search.best
    assert sorted(t.number for t in preferred) == [*range(1, 21)]


def test_the_best_so_far_never_gets_worse(mixed, mixed_content):
    values = {t.number: t.value for t in mixed.trials if t.state == "complete"}
    for number, best in best_so_far(mixed_content.snapshot):
        assert best == min(v for n, v in values.items() if n <= number)
    assert [n for n, _ in best_so_far(mixed_content.snapshot)] == sorted(values)


def test_reasons_that_differ_only_by_numbers_are_one():
    """Row 22: two hundred lines of `node 17 died`, `node 18 died`, ..."""
    reasons = [f"node {i} at 0x{i:x} died after 1.5e3 s" for i in range(30)]
    assert grouped_reasons([*reasons[:10], "no luck", *reasons[10:], "no luck 2"]) == [
        ("node # at # died after 1.5e3 s", 30),
        ("no luck", 1),
        ("no luck 2", 1),
    ]
    assert grouped_reasons(["exit 1", "exit 1"]) == [("exit 1", 2)]
    assert grouped_reasons([]) == []


def test_reasons_are_counted_and_cut(mixed_content):
    assert mixed_content.reasons == [("ValueError: no luck on this machine", 1)]
    assert reason_of(Trial(0, {}, state="failed")) == "no reason given"
    long = reason_of(Trial(0, {}, state="failed", error="x" * 500))
    assert len(long) == 160
    assert long.endswith("x…")

"""Points that are measured again where a draw promises hardly more elsewhere."""

import numpy as np
import pytest

from thomax import Float, Optimizer

SPACE = {"x": Float(-1, 1)}


def searched(margin, journal=None, count=14):
    rng = np.random.default_rng(0)
    search = Optimizer(SPACE, seed=3, repeat_margin=margin, journal=journal)
    while len(search.trials) < count:
        trial = search.ask()
        search.tell(trial, 1 - trial.params["x"] ** 2 + 0.5 * rng.normal())
    return search


def test_a_wide_margin_repeats_evaluated_points_and_none_never_does():
    points = [t.params["x"] for t in searched(100.0).trials]
    assert len(set(points)) < len(points)
    assert set(points[5:]) <= set(points[:5])  # after the first points only those again
    new = [t.params["x"] for t in searched(None).trials]
    assert len(set(new)) == len(new)


def test_a_resumed_search_repeats_what_the_unbroken_one_does(tmp_path):
    whole = searched(1.0)
    path = tmp_path / "run.jsonl"
    rng = np.random.default_rng(0)
    for _ in range(14):
        with Optimizer(SPACE, seed=3, repeat_margin=1.0, journal=path) as search:
            trial = search.ask()
            search.tell(trial, 1 - trial.params["x"] ** 2 + 0.5 * rng.normal())
    with Optimizer.open(path) as search:
        assert [t.params for t in search.trials] == [t.params for t in whole.trials]


def test_a_margin_is_a_number_for_one_objective_without_limits():
    with pytest.raises(ValueError, match="repeat_margin >= 0"):
        Optimizer(SPACE, repeat_margin=-1.0)
    with pytest.raises(ValueError, match="one objective without limits for a repeat_margin"):
        Optimizer(SPACE, limits={"cost": "<= 1"}, repeat_margin=0.3)

"""Several metrics of a Ray Tune job: objectives, limits, partial results, saved and restored."""

import math

import pytest
from searching import POLICY, QUICK, RAYS_OWN_WARNINGS, flat, plain_optimizer, search_of

from thomax import Optimizer
from thomax.integrations.ray import ThomaxSearch

pytestmark = RAYS_OWN_WARNINGS

AIMS = {"loss": "minimize", "speed": "maximize"}
PAIR = {"metric": ["loss", "speed"], "mode": ["min", "max"]}
LIMITS = {"memory": "<= 0.5"}


def measured(config):
    x, width = config["x"], config["net"]["width"]
    return {"loss": (x - 0.3) ** 2, "speed": -width * (x + 0.3) ** 2, "memory": x}


def twin(**options):
    plain = plain_optimizer(seed=3)
    return Optimizer(plain.space, POLICY, seed=3, initial=3, search=QUICK, **options)


def evaluate(search, names):
    for name in names:
        search.on_trial_complete(name, measured(search.suggest(name)))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (PAIR, {"objectives": AIMS}),
        (PAIR | {"limits": LIMITS}, {"objectives": AIMS, "limits": LIMITS}),
        ({"limits": LIMITS}, {"objectives": {"loss": "minimize"}, "limits": LIMITS}),
        (
            {"limits": {"loss": "<= 0.5"}},
            {"objectives": {"loss": "minimize"}, "limits": {"loss": "<= 0.5"}},
        ),
    ],
)
def test_it_suggests_what_the_plain_optimiser_proposes(ours, theirs):
    by_hand, search = twin(**theirs), search_of(seed=3, **ours)
    for name in "abcdef":
        trial, config = by_hand.ask(), search.suggest(name)
        assert flat(config) == trial.params
        search.on_trial_complete(name, {**measured(config), "other": 1})
        values = measured(config)
        by_hand.tell(trial, {name: values[name] for name in by_hand.metrics.names})
    assert search.optimizer.trials == by_hand.trials
    assert search.optimizer.front == by_hand.front


@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "low"])
def test_what_a_trial_misses_is_missing_and_the_rest_is_learnt(bad):
    search = search_of(**PAIR)
    for name in "abc":
        search.suggest(name)
    search.on_trial_complete("a", {"loss": 1.0, "speed": bad})
    search.on_trial_complete("b", {"speed": 2.0})
    search.on_trial_complete("c", {"loss": bad})
    found = search.optimizer.trials
    assert found[0].values == {"loss": 1.0, "speed": None}
    assert found[1].values == {"loss": None, "speed": 2.0}
    assert (found[2].state, found[2].error) == ("failed", "no metric has a value")


def test_a_paused_trial_counts_with_its_latest_report_of_each_metric():
    search = search_of(**PAIR)
    search.suggest("cut")
    search.on_trial_result("cut", {"loss": 3.0, "speed": 1.0})
    search.on_trial_result("cut", {"loss": 2.0, "speed": math.nan})
    search.on_trial_complete("cut")
    assert search.optimizer.trials[0].values == {"loss": 2.0, "speed": 1.0}


def test_evaluated_points_have_values_by_name():
    search = search_of(**PAIR)
    search.add_evaluated_point({"x": 0.5, "net": {"width": 1}}, {"loss": 0.25, "speed": 1.0})
    assert search.optimizer.front[0].values == {"loss": 0.25, "speed": 1.0}


def test_a_saved_search_of_several_metrics_goes_on_like_the_unbroken_one(tmp_path):
    unbroken, broken = (search_of(**PAIR, limits=LIMITS) for _ in range(2))
    for search in (unbroken, broken):
        evaluate(search, "abcd")
        search.optimizer.tell(
            {"x": 0.1, "net/width": 2}, {"loss": [0.1, 0.2], "memory": 0.0},
            noise_std={"loss": 0.05},
        )  # fmt: skip
        search.optimizer.correct(0, {"speed": -9.0}, why="clock was off")
        search.optimizer.retract(1, why="leak")
        search.suggest("paused")
        search.on_trial_result("paused", {"loss": 0.5, "memory": 0.1})
    broken.save(str(tmp_path / "state.json"))
    restored = ThomaxSearch(policy=POLICY)
    restored.restore(str(tmp_path / "state.json"))
    for search in (unbroken, restored):
        search.on_trial_complete("paused")
        evaluate(search, "ef")

    def seen(search):
        return [(t.params, t.values, t.replicates, t.noise_std) for t in search.optimizer.trials]

    assert seen(restored) == seen(unbroken)
    assert restored.optimizer.trials[0].corrections[0].why == "clock was off"
    assert restored.optimizer.trials[1].state == "retracted"
    assert restored.metric == ["loss", "speed"]


@pytest.mark.parametrize(
    "options",
    [
        {"metric": ["loss", "speed"], "mode": ["min"]},
        {"metric": ["loss", "speed"], "mode": "min"},
        {"metric": "loss", "mode": ["min"]},
    ],
)
def test_every_metric_needs_a_mode(options):
    with pytest.raises(ValueError, match="needs a mode for each metric, got metric="):
        search_of(**options)


def test_wrong_modes_and_limits_are_refused():
    with pytest.raises(ValueError, match=r"needs mode .*, got \['min', 'obs'\]"):
        search_of(metric=["loss", "speed"], mode=["min", "obs"])
    with pytest.raises(ValueError, match='A limit needs "<=" or ">=" and a number'):
        search_of(limits={"memory": "small"})
    later = search_of(metric=["loss", "speed"], mode=None)
    with pytest.raises(ValueError, match="needs a mode for each metric"):
        later.set_search_properties(None, "min", {})


def test_tune_may_be_given_one_of_the_metrics_for_its_scheduler():
    search = search_of(**PAIR)
    assert search.set_search_properties("loss", "min", {}) is not None
    assert search.metric == ["loss", "speed"]
    with pytest.raises(ValueError, match="and Tune 'accuracy': give it once"):
        search.set_search_properties("accuracy", "max", {})

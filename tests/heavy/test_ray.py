"""The contract of a Ray Tune searcher, by hand."""

import json
import math
import pickle

import numpy as np
import pytest
from ray import cloudpickle, tune
from ray.tune.search import ConcurrencyLimiter, Searcher
from searching import (
    PLAIN,
    POLICY,
    QUICK,
    RAYS_OWN_WARNINGS,
    SPACE,
    evaluate,
    flat,
    loss,
    plain_optimizer,
    search_of,
    states,
)

from thomax import (
    Bool,
    Categorical,
    Float,
    Int,
    Pool,
    Space,
)
from thomax.integrations.ray import ThomaxSearch

pytestmark = RAYS_OWN_WARNINGS


# Suggesting and completing


@pytest.mark.parametrize("mode", ["min", "max"])
def test_it_suggests_what_the_plain_optimiser_proposes(mode):
    by_hand = plain_optimizer(direction={"min": "minimize", "max": "maximize"}[mode])
    search = search_of(mode=mode)
    for name in "abcdef":
        trial, config = by_hand.ask(), search.suggest(name)
        assert flat(config) == trial.params
        assert type(config["net"]["width"]) is int
        search.on_trial_complete(name, {"loss": loss(config), "other": 1})
        by_hand.tell(trial, loss(config))
    assert search.optimizer.trials == by_hand.trials
    assert search.optimizer.best == by_hand.best


def test_trials_end_in_any_order():
    search = search_of()
    configs = {name: search.suggest(name) for name in "abc"}
    for name in "cab":
        search.on_trial_complete(name, {"loss": loss(configs[name])})
    assert [t.value for t in search.optimizer.trials] == [loss(configs[n]) for n in "abc"]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"loss": math.nan}, False),
        ({"loss": math.inf}, False),
        ({"loss": -math.inf}, False),
        ({"loss": np.float32("nan")}, False),
        ({"loss": None}, False),
        ({"loss": "low"}, False),
        ({"accuracy": 1.0}, False),
        ({}, False),
        (None, False),
        (None, True),
        ({"loss": 1.0}, True),
    ],
)
def test_a_trial_without_a_finite_metric_fails_and_the_search_goes_on(result, error):
    search = search_of()
    search.suggest("bad")
    search.on_trial_complete("bad", result=result, error=error)
    evaluate(search, "abcd")
    assert states(search) == ["failed"] + 4 * ["complete"]
    assert search.optimizer.trials[0].error


def test_numbers_of_numpy_are_values():
    search = search_of()
    search.suggest("a")
    search.on_trial_complete("a", {"loss": np.float32(0.5)})
    assert search.optimizer.best.value == 0.5


def test_a_trial_stopped_while_paused_counts_with_its_latest_report():
    """Tune completes it without a result, for instance when HyperBand cuts it."""
    search = search_of()
    search.suggest("cut")
    search.on_trial_result("cut", {"loss": 3.0})
    search.on_trial_result("cut", {"loss": np.float32(2.0)})
    search.on_trial_result("cut", {"loss": math.nan})
    search.on_trial_result("cut", {"progress": 1})
    search.on_trial_complete("cut")
    assert search.optimizer.trials[0].value == 2.0


def test_unknown_ids_are_ignored():
    search = search_of()
    search.on_trial_result("nobody", {"loss": 1.0})
    search.on_trial_complete("nobody", {"loss": 1.0})
    evaluate(search, "a")
    search.on_trial_complete("a", {"loss": 9.0})
    search.on_trial_complete("a", error=True)
    assert states(search) == ["complete"]


def test_a_finite_space_finishes():
    search = search_of({"x": tune.choice([0, 1]), "net": {"width": tune.randint(1, 3)}})
    evaluate(search, "abcd")
    assert search.suggest("e") == Searcher.FINISHED
    again = search_of({"x": tune.choice([0])}, allow_repeats=True)
    assert [again.suggest(name) for name in "ab"] == [{"x": 0}, {"x": 0}]


def test_points_to_evaluate_come_first_in_their_order():
    points = [
        {"x": 0.5, "net": {"width": 2, "constant": "ignored"}},
        {"x": -0.5, "net": {"width": 4}},
    ]
    search = search_of(points_to_evaluate=points)
    first, second, third = (search.suggest(name) for name in "abc")
    assert first == {"x": 0.5, "net": {"width": 2}}
    assert second == points[1]
    assert third not in points


def test_a_point_outside_the_space_is_refused():
    with pytest.raises(ValueError, match="'net/width' needs a whole number from 1 to 4, got 5"):
        search_of(points_to_evaluate=[{"x": 0, "net": {"width": 5}}])
    with pytest.raises(ValueError, match="'net/width' is missing"):
        search_of(points_to_evaluate=[{"x": 0}])


def test_evaluated_points_teach():
    search = search_of(initial=0)
    search.add_evaluated_point({"x": 0.5, "net": {"width": 1}, "epochs": 3}, 0.25)
    search.add_evaluated_point({"x": 0.6, "net": {"width": 1}}, math.nan)
    search.add_evaluated_point({"x": 0.7, "net": {"width": 1}}, 0.5, error=True)
    search.add_evaluated_point({"x": 0.8, "net": {"width": 1}}, 0.5, pruned=True)
    assert [t.value for t in search.optimizer.trials] == [0.25, None, None, 0.5]
    by_hand = plain_optimizer(initial=0)
    for trial in search.optimizer.trials:
        by_hand.tell(trial.params, trial.value, error=trial.error)
    assert flat(search.suggest("a")) == by_hand.ask().params


def test_a_batch_of_the_limiter_is_a_batch_of_the_optimiser():
    by_hand, search = plain_optimizer(), search_of()
    limiter = ConcurrencyLimiter(search, max_concurrent=3, batch=True)
    for round_ in range(3):
        configs = {f"{round_}{i}": limiter.suggest(f"{round_}{i}") for i in range(3)}
        assert limiter.suggest("one too many") is None
        trials = by_hand.ask(3)
        for config, trial in zip(configs.values(), trials, strict=True):
            # Matrix products of one draw and of three are rounded differently on some processors.
            assert flat(config) == pytest.approx(trial.params, abs=5e-3)
        for name in reversed(configs):
            limiter.on_trial_complete(name, {"loss": loss(configs[name])})
        for trial, config in zip(trials, configs.values(), strict=True):
            by_hand.tell(trial, loss(config))
    told, expected = ([(t.number, t.value) for t in o.trials] for o in (search.optimizer, by_hand))
    assert told == expected


# Spaces


@pytest.mark.parametrize(
    ("domain", "parameter"),
    [
        (tune.uniform(-1, 2), Float(-1, 2)),
        (tune.loguniform(1e-4, 1), Float(1e-4, 1, log=True)),
        (tune.quniform(0, 1, 0.25), Float(0, 1, step=0.25)),
        (tune.randint(2, 5), Int(2, 4)),
        (tune.randint(2, 3), Int(2, 2)),
        (tune.lograndint(1, 101), Int(1, 100, log=True)),
        (tune.qrandint(0, 30, 10), Int(0, 30, step=10)),
        (tune.qrandint(5, 38, 10), Int(10, 30, step=10)),
        (tune.qrandint(5, 12, 10), Int(10, 10)),
        (tune.qrandint(2, 5, 1), Int(2, 4)),
        (tune.choice(["a", 1, 2.5, True, None]), Categorical(["a", 1, 2.5, True, None])),
    ],
)
def test_a_domain_of_tune_becomes_a_parameter(domain, parameter):
    search = search_of({"p": domain})
    assert search.optimizer.space == Space({"p": parameter})


@pytest.mark.parametrize(
    ("domain", "allowed"),
    [
        (tune.qloguniform(0.1, 0.7, 0.1), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        (tune.qlograndint(3, 12, 4), [4, 8, 12]),
        (tune.choice([[64, 64], [128], {"a": 1}]), [[64, 64], [128], {"a": 1}]),
        (tune.choice([(1, 2), print, math.inf]), [(1, 2), print, math.inf]),
    ],
)
def test_what_no_parameter_holds_is_counted_or_listed(domain, allowed, tmp_path):
    search = search_of({"deep": {"p": domain}}, points_to_evaluate=[{"deep": {"p": allowed[1]}}])
    seen = [search.suggest(f"t{i}") for i in range(len(allowed))]
    assert seen[0] == {"deep": {"p": allowed[1]}}
    values = [config["deep"]["p"] for config in seen]
    assert all(value in values for value in allowed)
    assert {type(v) for v in values} == {type(v) for v in allowed}
    search.save(tmp_path / "state")
    twin = search_of({"deep": {"p": domain}})
    twin.restore(tmp_path / "state")
    assert twin.optimizer.trials == search.optimizer.trials
    for wrong in (0.123, "x", math.nan):
        with pytest.raises(ValueError, match="'deep/p' needs"):
            search.add_evaluated_point({"deep": {"p": wrong}}, 1.0)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"p": tune.grid_search([1, 2])}, "grid_search for 'p': use tune.choice"),
        ({"p": tune.sample_from(lambda config: 1)}, "bounds for 'p', got tune.sample_from"),
        ({"p": tune.randn()}, "bounds for 'p', got"),
        ({"p": tune.qrandn(0, 1, 0.5)}, "bounds for 'p', got"),
        ({"p": tune.choice([1, {"q": tune.uniform(0, 1)}])}, "domains inside, got 'p'.*when="),
        ({"p": [tune.uniform(0, 1)]}, "got 'p/0' in a list: name its elements"),
        ({"p": tune.uniform(1, 0)}, "'p': Float needs low < high, got low=1, high=0"),
        ({"p": tune.choice([])}, "at least one choice"),
        ({"a": {"b": tune.uniform(0, 1)}, "a/b": tune.uniform(0, 1)}, "Two parameters.*'a/b'"),
        ({"p": tune.uniform(0, 1), "o": {"k": 3}}, "constant 'o/k': move it to the param_space"),
        ({}, "at least one domain"),
    ],
)
def test_what_cannot_be_searched_is_named_with_a_way_out(space, message):
    with pytest.raises(ValueError, match=message):
        search_of(space)


def test_keys_with_a_slash_and_numbers_as_keys_come_back():
    search = search_of({"a/b": tune.uniform(0, 1), "layers": {0: tune.randint(1, 9)}})
    config = search.suggest("t")
    assert config.keys() == {"a/b", "layers"}
    assert config["layers"].keys() == {0}


def test_parameters_of_thomax_nest_and_depend_on_each_other():
    space = {
        "opt": {
            "kind": Categorical(["adam", "sgd"]),
            "momentum": Float(0, 1, when={"opt/kind": "sgd"}),
        },
        "bias": Bool(),
        "x": tune.uniform(0, 1),
    }
    search = search_of(space, seed=1)
    configs = [search.suggest(f"t{i}") for i in range(6)]
    for config in configs:
        assert ("momentum" in config["opt"]) == (config["opt"]["kind"] == "sgd")
        assert config.keys() == {"opt", "bias", "x"}
    assert len({config["opt"]["kind"] for config in configs}) == 2


def test_spaces_with_constraints_and_pools_are_searched():
    space = Space({"x": Float(0, 1), "y": Float(0, 1)}, constraint=lambda p: p["x"] < p["y"])
    search = search_of(space)
    assert all(c["x"] < c["y"] for c in (search.suggest(f"t{i}") for i in range(5)))
    pool = search_of(Pool(np.random.default_rng(0).normal(size=(3, 2))))
    assert sorted(pool.suggest(name)["index"] for name in "abc") == [0, 1, 2]


# What the Tuner tells the searcher


def test_the_tuner_may_bring_space_metric_and_mode():
    search = ThomaxSearch(seed=0, initial=3, policy=POLICY, search=QUICK)
    with pytest.raises(RuntimeError, match="got no space, metric=None, mode=None: give all"):
        search.suggest("a")
    assert search.set_search_properties("loss", "min", {**SPACE, "epochs": 3}, stop=None)
    assert (search.metric, search.mode) == ("loss", "min")
    twin = search_of()
    assert [search.suggest(n) for n in "ab"] == [twin.suggest(n) for n in "ab"]


def test_a_space_given_twice_is_taken_only_if_it_is_the_same():
    search = search_of(metric=None, mode=None)
    with pytest.raises(RuntimeError, match="got a space, metric=None, mode=None"):
        search.suggest("a")
    assert not search.set_search_properties("loss", "max", {"epochs": 3})
    assert search.optimizer.direction == "maximize"
    assert search.set_search_properties("loss", "max", {**SPACE, "epochs": 3})
    assert not search.set_search_properties("loss", "max", {"x": tune.uniform(0, 9)})
    assert search.optimizer.space == Space(PLAIN)


def test_a_mode_without_a_metric_means_the_returned_number():
    search = search_of(metric=None)
    search.suggest("a")
    search.on_trial_complete("a", {"_metric": 0.5})
    assert search.optimizer.best.value == 0.5


def test_metrics_and_modes_that_disagree_are_refused():
    with pytest.raises(ValueError, match="mode 'min', and Tune 'max': give it once"):
        search_of().set_search_properties("loss", "max", {})
    with pytest.raises(ValueError, match="metric 'loss', and Tune 'accuracy': give it once"):
        search_of().set_search_properties("accuracy", "min", {})
    with pytest.raises(ValueError, match='mode "min" or "max", got'):
        ThomaxSearch(mode="minimum")


def test_conditions_in_the_param_space_are_refused():
    config = {"a": Bool(), "b": Float(0, 1, when={"a": True})}
    with pytest.raises(ValueError, match="no conditions, got when= for 'b': give the param"):
        ThomaxSearch().set_search_properties("loss", "min", config)


# Saving and restoring


def interrupted(**options):
    """Return a search with trials in all states, a point in the queue, and a report."""
    points = [{"x": i / 10, "net": {"width": 1}} for i in range(3)]
    search = search_of(points_to_evaluate=points[:2], **options)
    evaluate(search, "ab")
    search.add_evaluated_point(points[2], 1.5)
    for name in "cdefg":
        search.suggest(name)
    search.on_trial_complete("d", error=True)
    search.on_trial_result("e", {"loss": 0.25})
    search.optimizer.drop(search.optimizer.trials[-1])
    search._queue.append({"x": 0.75, "net/width": 3})
    return search


def save_and_restore(search, blank, path):
    search.save(str(path))
    blank.restore(str(path))
    return blank


def by_pickle(search, blank, path):
    return pickle.loads(pickle.dumps(search))


def by_cloudpickle(search, blank, path):
    return cloudpickle.loads(cloudpickle.dumps(search))


@pytest.mark.parametrize("way", [save_and_restore, by_pickle, by_cloudpickle])
def test_a_restored_search_suggests_what_the_unbroken_one_would(way, tmp_path):
    search = interrupted(seed=None, initial=np.int64(3))
    blank = ThomaxSearch(policy=POLICY)
    twin = way(search, blank, tmp_path / "searcher-state.pkl")
    assert twin.optimizer.trials == search.optimizer.trials
    assert set(states(twin)) == {"complete", "failed", "pending", "dropped"}
    assert (twin.metric, twin.mode) == ("loss", "min")
    for name in "hijk":
        config = search.suggest(name)
        assert twin.suggest(name) == config
        for one in (search, twin):
            one.on_trial_complete(name, {"loss": loss(config)})
    assert search.optimizer.trials[8].params == {"x": 0.75, "net/width": 3}
    for one in (search, twin):
        one.on_trial_complete("e")
        one.on_trial_complete("f", {"loss": 3.0})
    assert twin.optimizer.trials == search.optimizer.trials
    assert twin.optimizer.trials[5].value == 0.25


def test_corrections_are_restored_with_the_search(tmp_path):
    search = interrupted()
    finished = [t.number for t in search.optimizer.trials if t.state in ("complete", "failed")]
    search.optimizer.correct(finished[0], 0.5, why="wrong unit")
    search.optimizer.retract(finished[1], why="leak")
    search.optimizer.retract(finished[0])
    search.optimizer.correct(finished[0], 0.25)
    twin = save_and_restore(search, ThomaxSearch(policy=POLICY), tmp_path / "state")

    def plain(trial):
        was = [(c.state, c.value, c.error, c.why) for c in trial.corrections]
        return trial.number, trial.params, trial.state, trial.value, trial.note, was

    assert [*map(plain, twin.optimizer.trials)] == [*map(plain, search.optimizer.trials)]
    assert twin.suggest("z") == search.suggest("z")


def test_choices_among_tuples_and_lists_are_restored_into_a_blank_search(tmp_path):
    options = [(1, 2), [3], {"a": (4,)}, {5, 6}]
    search = search_of({"p": tune.choice(options)})
    search.suggest("a")
    twin = save_and_restore(search, ThomaxSearch(policy=POLICY), tmp_path / "state")
    rest = [twin.suggest(name)["p"] for name in "bcd"]
    assert rest == [search.suggest(name)["p"] for name in "bcd"]
    assert all(option in options for option in rest)


def test_choices_that_cannot_be_saved_are_mentioned_before_the_job():
    config = {"p": tune.choice([print, len])}
    with pytest.warns(
        UserWarning, match=r"choices of 'p' cannot be saved, so Tuner\.restore"
    ) as caught:
        ThomaxSearch().set_search_properties("loss", "min", config)
    assert caught[0].filename == __file__


def test_the_saved_state_is_plain_json(tmp_path):
    interrupted().save(str(tmp_path / "state"))
    state = json.loads((tmp_path / "state").read_text("utf-8"))
    assert len(state["trials"]) == 8
    assert state["layout"]["paths"] == {"x": ["x"], "net/width": ["net", "width"]}


def test_the_folder_of_an_experiment_is_restored_into_a_blank_search(tmp_path):
    search = interrupted()
    search.save_to_dir(str(tmp_path), "2026")
    blank = ThomaxSearch(policy=POLICY)
    blank.restore_from_dir(str(tmp_path))
    assert blank.optimizer.trials == search.optimizer.trials


def test_an_unstarted_search_can_be_pickled():
    twin = cloudpickle.loads(
        cloudpickle.dumps(ThomaxSearch(seed=0, points_to_evaluate=[{"x": 0}]))
    )
    assert twin.set_search_properties("loss", "min", {"x": tune.uniform(0, 1)})
    assert twin.suggest("a") == {"x": 0.0}


def test_a_file_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "state"
    for content in ("[]", "", '{"format": "thomax-ra'):
        path.write_text(content, "utf-8")
        with pytest.raises(ValueError, match=r"must be a whole file that ThomaxSearch\.save"):
            ThomaxSearch().restore(path)
    interrupted().save(path)
    with pytest.raises(ValueError, match="another space: pass the same space, or none"):
        search_of({"x": tune.uniform(0, 5)}).restore(path)
    state = json.loads(path.read_text("utf-8"))
    for version, sentence in ((3, "newer thomax"), (1, "older thomax"), ("2", "whole file")):
        path.write_text(json.dumps(state | {"version": version}), "utf-8")
        with pytest.raises(ValueError, match=sentence):
            ThomaxSearch().restore(path)


@pytest.mark.parametrize(
    "space",
    [
        {"p": tune.choice([print, len])},
        Space({"x": Float(0, 1)}, constraint=bool),
        Pool(np.eye(3)),
    ],
)
def test_what_json_cannot_hold_must_be_given_again(space, tmp_path):
    search = search_of(space)
    search.suggest("a")
    search.save(tmp_path / "state")
    with pytest.raises(ValueError, match="make ThomaxSearch with the same space, then restore"):
        ThomaxSearch().restore(tmp_path / "state")
    twin = search_of(space)
    twin.restore(tmp_path / "state")
    assert twin.optimizer.trials == search.optimizer.trials


# Labelled choices


def test_labelled_choices_are_suggested_as_objects_and_saved_as_labels(tmp_path):
    """Row 20: and, row 9, what is done to a suggested config stays there."""
    space = {"layers": Categorical({"small": [64], "large": [64, 64]}), "x": Float(0, 1)}
    search = ThomaxSearch(space, metric="loss", mode="min", seed=0)
    for name in "abcd":
        config = search.suggest(name)
        assert config["layers"] in ([64], [64, 64])
        config["layers"].clear()
        search.on_trial_complete(name, {"loss": config["x"]})
    search.add_evaluated_point({"layers": [64], "x": 0.5}, 1.0)
    search.save(str(tmp_path / "state"))
    again = ThomaxSearch(space, metric="loss", mode="min")
    again.restore(str(tmp_path / "state"))
    assert again.optimizer.trials == search.optimizer.trials
    with pytest.raises(ValueError, match="choices among objects"):
        ThomaxSearch().restore(str(tmp_path / "state"))


def test_a_list_that_was_suggested_may_be_changed():
    """Row 9: Tune's own choices too."""
    search = ThomaxSearch(
        {"c": tune.choice([[1, 2], [3]])}, "loss", "min", seed=0, allow_repeats=True
    )
    for name in "abcdef":
        config = search.suggest(name)
        assert config["c"] in ([1, 2], [3])
        config["c"].clear()


def test_a_misspelt_argument_is_explained():
    """Row 20: of the search."""
    with pytest.raises(TypeError, match=r"ThomaxSearch has no .* 'metrics': .* 'metric'\?"):
        ThomaxSearch(metrics="loss")

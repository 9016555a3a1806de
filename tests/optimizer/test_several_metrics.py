"""Several metrics of one evaluation: told, missing, corrected, resumed, and what is best then."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from searches import POLICY, SEARCH, SQUARE, hill, optimizer, params_of, told

import thomax
from thomax import Correction, Float, Int, Optimizer, Random, STOBNTSLinear
from thomax.storage.journal import Journal
from thomax.storage.snapshot import Snapshot

AIMS = {"yield": "maximize", "cost": "minimize"}
LIMITS = {"impurity": "<= 0.5"}


def measured(params):
    x, y = params["x"], params["y"]
    return {"yield": hill(params), "cost": (x + 1) ** 2 + abs(y), "impurity": (x - y) / 2}


def made(**options):
    """Return a search of SQUARE for several objectives with a limit."""
    settings = {"objectives": AIMS, "limits": LIMITS, "initial": 4} | options
    return Optimizer(SQUARE, POLICY, seed=0, search=SEARCH, **settings)


def small(values, **options):
    settings = {"objectives": AIMS, "limits": LIMITS} | options
    search = Optimizer({"x": Float(-1, 1)}, Random(), seed=0, **settings)
    for value in values:
        search.tell(search.ask(), value)
    return search


def fed(count, **options):
    search = made(**options)
    for i in range(count):
        trial = search.ask()
        values = measured(trial.params)
        if i % 3 == 2:
            del values[[*values][i % 2]]
        search.tell(trial, values)
    return search


# --- what is told -------------------------------------------------------------------------------


def test_a_trial_has_the_values_of_all_metrics_by_name():
    search = small([{"yield": 0.81, "cost": 3, "impurity": np.float32(0.25)}])
    (trial,) = search.trials
    assert trial.values == {"yield": 0.81, "cost": 3.0, "impurity": 0.25}
    assert (trial.value, trial.state) == (None, "complete")


def test_a_metric_that_is_missing_or_nan_is_none_and_teaches_nothing():
    search = small([{"yield": 0.8}, {"yield": math.nan, "cost": 1.0, "impurity": None}])
    assert [t.values for t in search.trials] == [
        {"yield": 0.8, "cost": None, "impurity": None},
        {"yield": None, "cost": 1.0, "impurity": None},
    ]
    assert [t.state for t in search.trials] == ["complete", "complete"]
    data = search._history.metric_data()
    assert [len(m) for m in data.metrics] == [1, 1, 0]


def test_if_all_metrics_are_missing_the_trial_has_failed():
    search = small([{"yield": math.nan, "cost": math.inf}, {}, None, math.nan])
    assert [t.state for t in search.trials] == ["failed"] * 4
    assert search.trials[0].error == "no metric has a value"
    assert search.trials[0].values == {}
    assert search.tell(search.ask(), error="leak").error == "leak"


def test_a_named_objective_has_a_value_and_values():
    search = small([{"yield": 0.5}], objectives={"yield": "maximize"}, limits=None)
    assert (search.best.value, search.best.values) == (0.5, {"yield": 0.5})


def test_an_objective_without_a_name_is_called_value():
    search = small(
        [{"value": 1.2, "latency": 18}, {"value": 0.2, "latency": 21}],
        objectives=None, direction="minimize", limits={"latency": "<= 20"},
    )  # fmt: skip
    assert search.best.value == 1.2
    assert search.best.values == {"value": 1.2, "latency": 18.0}


def test_without_names_and_limits_trials_have_a_value_only():
    trial = told(1).trials[0]
    assert trial.values == {}
    assert trial.value is not None


def test_repeated_measurements_are_kept_and_their_mean_is_the_value():
    search = optimizer()
    trial = search.tell(search.ask(), [0.71, 0.74, 0.69])
    assert trial.value == pytest.approx(0.7133333333333334)
    assert trial.replicates == {"value": (0.71, 0.74, 0.69)}
    assert search.tell(search.ask(), np.array([1.0, 3.0])).value == 2.0
    assert search.tell(search.ask(), (1.0, math.nan)).replicates == {"value": (1.0,)}
    assert search.tell(search.ask(), [math.nan, None]).state == "failed"
    assert search.tell(search.ask(), [1e308, 1.2e308]).value == pytest.approx(1.1e308)


def test_metrics_have_repeated_measurements_each():
    search = small([{"yield": [0.8, 0.82], "cost": 3.1}])
    (trial,) = search.trials
    assert trial.values == {"yield": pytest.approx(0.81), "cost": 3.1, "impurity": None}
    assert trial.replicates == {"yield": (0.8, 0.82)}


def test_a_known_error_is_kept():
    search = optimizer()
    assert search.tell(search.ask(), 0.71, noise_std=0.02).noise_std == {"value": 0.02}
    several = small([])
    trial = several.tell(several.ask(), {"yield": 0.8}, noise_std={"yield": 0.02, "cost": 1.0})
    assert trial.noise_std == {"yield": 0.02}  # nothing was measured of the cost


# --- bad input: a sentence each, and nothing is lost --------------------------------------------


@pytest.mark.parametrize(
    ("value", "options", "problem"),
    [
        ({"yeild": 0.8}, {}, r"tell needs values of 'yield' and .*, got one of 'yeild': did you"),
        (0.8, {}, r"tell needs a dict of the metrics that were measured, got 0.8: pass \{"),
        ([0.8], {}, "tell needs a dict of the metrics"),
        ({"yield": "high"}, {}, "tell needs a number as value, got 'high'"),
        ({"yield": ["high"]}, {}, "tell needs a number as value, got 'high'"),
        ({"yield": {"mean": 1}}, {}, "tell needs a number as value, got"),
        ({"yield": 1.0}, {"error": "leak"}, "tell needs a value or an error, got both"),
        ({"yield": 1.0}, {"noise_std": 0.1}, "tell needs noise_std by the names of metrics"),
        ({"yield": 1.0}, {"noise_std": {"yeild": 0.1}}, "did you mean 'yield'"),
        ({"yield": 1.0}, {"noise_std": {"yield": -0.1}}, "noise_std of 'yield' to be a finite"),
    ],
)
def test_what_is_no_outcome_is_refused_and_nothing_is_lost(path, value, options, problem):
    with small([{"yield": 1.0}], journal=path) as search:
        trial = search.ask()
        with pytest.raises(ValueError, match=problem):
            search.tell(trial, value, **options)
        with pytest.raises(ValueError, match=problem.replace("tell", "correct")):
            search.correct(0, value, **options)
        assert search.pending == [trial]
        expected = search.trials
    with Optimizer.open(path) as again:
        assert again.trials == expected


def test_a_dict_is_refused_where_nothing_was_named():
    search = optimizer()
    with pytest.raises(ValueError, match=r"tell needs a number as value, got \{'yield': 1.0\}"):
        search.tell(search.ask(), {"yield": 1.0})
    with pytest.raises(ValueError, match="noise_std to be a finite number"):
        search.tell(search.pending[0], 1.0, noise_std=math.nan)
    assert len(search.pending) == 1


def test_best_of_several_objectives_says_to_use_the_front():
    with pytest.raises(ValueError, match="no single best trial for yield and cost: `front` has"):
        _ = small([{"yield": 1.0}]).best


def test_best_says_how_far_the_closest_trial_is_from_feasible():
    search = small(
        [{"value": 1.0, "a": 30, "b": 1}, {"value": 2.0, "a": 22, "b": 1}, {"value": 3.0}],
        objectives=None, limits={"a": "<= 20", "b": ">= 0"},
    )  # fmt: skip
    match = r"none keeps all limits. Trial 1 comes closest, with a 22 where <= 20.0 is wanted"
    for ask in (lambda: search.best, search.recommend):
        with pytest.raises(ValueError, match=match):
            ask()
    assert search.front == []
    with pytest.raises(ValueError, match="no trial has the objective and all limited values"):
        _ = small([{"value": 1.0}], objectives=None, limits={"a": "<= 20"}).best


# --- corrections, journals ----------------------------------------------------------------------


def test_a_correction_changes_the_metrics_that_it_names():
    search = small([{"yield": [0.8, 0.9], "cost": 3.0}])
    search.tell(search.ask(), {"cost": 1.0}, noise_std={"cost": 0.1})
    trial = search.correct(0, {"impurity": 0.1, "cost": 4.0}, why="late from the lab")
    assert trial.values == {"yield": pytest.approx(0.85), "cost": 4.0, "impurity": 0.1}
    assert trial.replicates == {"yield": (0.8, 0.9)}
    (before,) = trial.corrections
    assert isinstance(before, Correction)
    assert before.values == {"yield": pytest.approx(0.85), "cost": 3.0, "impurity": None}
    assert before.replicates == {"yield": (0.8, 0.9)}
    assert search.correct(0, {"yield": None}).values["yield"] is None
    assert search.correct(1, {"yield": 1.0}).noise_std == {"cost": 0.1}
    assert search.correct(1, error="spilt").values == {}
    assert search.correct(1, {"yield": 2.0}).values["yield"] == 2.0
    assert search.retract(1).values == {}


def acted(search, steps):
    """Tell, correct and retract by turns, and return what was proposed."""
    found = []
    for step in steps:
        trial = search.ask()
        found.append(trial.params)
        values = measured(trial.params)
        if step % 4 == 1:
            values["cost"] = math.nan
        if step % 4 == 2:
            values["yield"] = [values["yield"], values["yield"] + 0.01]
        search.tell(trial, values, noise_std={"impurity": 0.1} if step % 2 else None)
        if step == 5:
            search.correct(3, {"yield": -1.0}, why="wrong dilution")
        if step == 6:
            search.retract(2, why="leak")
        if step == 7:
            search.correct(2, {"yield": 0.3, "impurity": [0.1, 0.2]})
            search.tell_all([({"x": 0.0, "y": 0.0}, {"cost": 1.0}, None, "by hand", {"cost": 1})])
    return found


def test_a_resumed_search_equals_the_unbroken_one_across_corrections(path):
    unbroken = acted(made(), range(10))
    found = []
    for steps in (range(3), range(3, 6), range(6, 7), range(7, 10)):
        with made(journal=path) as search:
            found += acted(search, steps)
            expected = search.trials
    assert found == unbroken
    with Optimizer.open(path, POLICY) as again:
        assert again.trials == expected
        assert again.front == [t for t in expected if t in again.front] != []
    assert Snapshot.read(path).trials == expected
    assert Snapshot.read(path).front == Snapshot.read(path).ranked != []


def test_the_order_of_objectives_is_that_of_the_journal(path):
    with fed(6, journal=path) as search:
        expected = params_of(search.ask(2))
        search.drop(6), search.drop(7)
    turned = {name: AIMS[name] for name in reversed(AIMS)}
    with made(journal=path, objectives=turned) as search:
        assert [*search.metrics.objectives] == [*AIMS]
        assert params_of(fed(6).ask(2)) == expected


@pytest.mark.parametrize(
    "other",
    [
        {"limits": None}, {"limits": {"impurity": "<= 0.4"}}, {"limits": {"ph": "<= 0.5"}},
        {"objectives": AIMS | {"cost": "maximize"}}, {"objectives": {"yield": "maximize"}},
        {"objectives": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_journal_with_other_metrics_is_refused(path, other):
    small([{"yield": 1.0}], journal=path).close()
    with pytest.raises(ValueError, match=r"belongs to another search: its .* Pass the same"):
        small([], journal=path, **other)


def test_a_journal_without_metrics_holds_what_it_always_did(path):
    with small([0.5, None], objectives=None, limits=None, journal=path) as search:
        search.tell(search.ask(), 1.0, note="slow")
    records = [json.loads(line)["record"] for line in path.read_text().splitlines()]
    assert records[0].keys() == {"format", "version", "space", "direction", "seed"}
    assert records[2] == {"tell": 0, "value": 0.5, "error": None}
    assert records[4] == {"tell": 1, "value": None, "error": "no value"}
    assert records[6] == {"tell": 2, "value": 1.0, "error": None, "note": "slow"}
    with pytest.raises(ValueError, match=r"another search: its .* Pass the same"):
        small([], journal=path)


def test_records_hold_what_was_told(path):
    small([{"yield": [0.8, math.nan], "cost": 3}], journal=path).close()
    assert Journal.read(path).header["objectives"] == AIMS
    assert Journal.read(path).header["limits"] == {"impurity": "<= 0.5"}
    assert "direction" not in Journal.read(path).header
    values = {"yield": [0.8, None], "cost": 3.0, "impurity": None}
    assert Journal.read(path).records[1] == {"tell": 0, "values": values, "error": None}


@pytest.mark.parametrize(
    "record",
    [
        {"tell": 0, "value": 1.0, "error": None}, {"tell": 0, "values": [1.0], "error": None},
        {"tell": 0, "values": {"yeild": 1.0}, "error": None},
        {"tell": 0, "values": {"yield": "1"}, "error": None},
        {"tell": 0, "values": {"yield": []}, "error": None},
        {"tell": 0, "values": {"yield": 1.0}, "noise_std": {"yield": -1}, "error": None},
    ],
    ids=str,
)  # fmt: skip
def test_records_that_no_optimiser_writes_are_refused(path, record):
    with small([], journal=path) as search:
        search.ask()
        header = search._journal.header
    with Journal.open(path, header) as journal:
        journal.append(record)
    with pytest.raises(ValueError, match="holds a record that does not fit the ones before it"):
        Optimizer.open(path)


def test_a_repaired_journal_has_the_metrics(path):
    with fed(5, journal=path) as search:
        expected = search.trials
    path.write_bytes(b"by accident\n" + path.read_bytes())
    assert thomax.repair(path).dropped == 1
    with Optimizer.open(path) as again:
        assert again.trials == expected


# --- proposals ----------------------------------------------------------------------------------


def test_one_named_objective_is_proposed_for_as_ever():
    plain, named = told(8), made(objectives={"yield": "maximize"}, limits=None)
    for trial in plain.trials:
        named.tell(trial.params, {"yield": trial.value})
    assert params_of(named.ask(3)) == params_of(plain.ask(3))


def test_one_objective_is_searched_as_before_there_were_several():
    """The points were recorded before there were metrics, on another processor: climbs end when
    they gain less than 1e-4, so that its rounding decides a little."""
    before = [{"x": 1.0, "y": -1.0}, {"x": 0.5081, "y": -0.4017}, {"x": 1.0, "y": -0.5225}]
    search = told(6, search=replace(SEARCH, trust=None))  # which came later
    for found, known in zip(params_of(search.ask(3)), before, strict=True):
        assert found == pytest.approx(known, abs=2e-3)


def test_asking_at_once_or_one_by_one_is_the_same():
    at_once, one_by_one = fed(9), fed(9)
    found = [one_by_one.ask().params for _ in range(3)]
    for one, other in zip(params_of(at_once.ask(3)), found, strict=True):
        assert one == pytest.approx(other, abs=0.02)


@pytest.mark.parametrize("given", [{"x": 0.5}, {"x": -0.25, "y": 0.5}])
def test_what_is_given_is_kept(given):
    search = fed(6)
    assert search.ask(given=given).params.items() >= given.items()


def test_on_a_grid_the_best_drawn_feasible_point_is_proposed():
    """The rule of Eriksson and Poloczek, by listing all points."""
    from thomax.keys import make_keys
    from thomax.metric_scores import metric_score

    space = {"n": Int(0, 20), "m": Int(0, 20)}
    search = Optimizer(space, STOBNTSLinear(), seed=0, initial=6, limits={"c": "<= 1"})
    for _ in range(8):
        trial = search.ask()
        n, m = trial.params["n"] / 20, trial.params["m"] / 20
        search.tell(trial, {"value": n + m, "c": 3 * n * m + n})
    points = [{"n": n, "m": m} for n, m in itertools.product(range(21), repeat=2)]
    x = np.asarray(search.space.encode(points), np.float32)
    score = metric_score(search.policy, make_keys(0, 1, first=8), search._history.metric_data())
    f = [m.values(x)[0] for m in score.metrics]
    missing = np.maximum(-score.limits[0].margin(np.array(f)[:, None])[0], 0)
    order = np.lexsort((-f[0], missing))
    taken = params_of(search.trials)
    expected = next(points[i] for i in order if points[i] not in taken)
    assert search.ask().params == expected


@pytest.mark.slow
def test_a_search_finds_the_best_feasible_point_at_its_border():
    search = Optimizer(SQUARE, seed=0, limits={"c": "<= 0.5"})
    search.run(lambda p: {"value": hill(p), "c": p["x"] ** 2 + p["y"] ** 2}, 30, progress=False)
    # The hill's top (0.3, -0.5) lies in the disc of radius 0.71: the limit does not bind.
    assert search.best.value > 0.99
    tight = Optimizer(SQUARE, seed=0, limits={"c": "<= 0.1"})
    tight.run(lambda p: {"value": hill(p), "c": p["x"] ** 2 + p["y"] ** 2}, 30, progress=False)
    reach = 1 - (math.hypot(0.3, 0.5) - math.sqrt(0.1)) ** 2
    assert reach - 0.01 < tight.best.value <= reach


# --- recommend, predict, run --------------------------------------------------------------------


def test_recommend_weighs_objectives_in_units_of_the_front():
    values = [(0.0, 0.0), (0.5, 90.0), (1.0, 100.0), (0.9, 101.0)]
    search = small([{"yield": y, "cost": c, "impurity": 0.0} for y, c in values])
    assert search.recommend({"yield": 1}).number == 2
    assert search.recommend({"cost": 1}).number == 0
    assert search.recommend({"yield": 1.1, "cost": 1}).number == 2
    assert search.recommend(weights={"yield": 0.9, "cost": 1}).number == 0


def test_with_noise_a_lucky_value_beside_a_limit_is_not_recommended():
    """The limit is x <= 0; one of many noisy measurements of it, at x = 0.5, says otherwise."""
    rng = np.random.default_rng(0)
    search = Optimizer({"x": Float(-1, 1)}, seed=0, limits={"c": "<= 0"})
    for i in [*range(-4, 5)] * 3:
        search.tell({"x": i / 4}, {"value": i / 4, "c": i / 4 + 0.2 * rng.normal()})
    search.tell({"x": 0.5}, {"value": 0.5, "c": -0.1})
    assert search.best.params["x"] == 0.5
    assert -0.3 < search.recommend().params["x"] < 0.3


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        (None, r"needs weights for several objectives, got None: pass weights=\{\"yield\": 1"),
        ({"impurity": 1}, "'impurity' is no objective"),
        ({"yield": -1}, "a weight >= 0 for 'yield', got -1"),
        ({"yield": 0}, "needs a weight > 0"),
    ],
)
def test_weights_that_weigh_nothing_are_refused(weights, problem):
    with pytest.raises(ValueError, match=problem):
        small([{"yield": 1.0}]).recommend(weights)
    with pytest.raises(ValueError, match="needs weights only for several objectives"):
        told(1).recommend({"value": 1})


def test_each_metric_is_predicted_by_its_name():
    search = Optimizer(SQUARE, seed=0, objectives=AIMS, limits=LIMITS)
    for trial in fed(8).trials:
        search.tell(trial.params, trial.values)
    found = search.predict([{"x": 0.1, "y": 0.2}, {"x": 0.3, "y": -0.5}])
    assert [*found] == ["yield", "cost", "impurity"]
    alone = Optimizer(SQUARE, seed=0, direction="minimize")
    for trial in search.trials:
        if trial.values["cost"] is not None:
            alone.tell(trial.params, trial.values["cost"])
    np.testing.assert_allclose(found["cost"].mean, alone.predict(found["cost"].params).mean)
    with pytest.raises(ValueError, match="at least 3 trials with a value of 'cost', got 0"):
        small([{"yield": 1.0}, {"yield": 2.0}, {"yield": 3.0}]).predict({"x": 0.0})


def test_an_objective_that_returns_a_dict_is_run(path):
    options = {"objectives": AIMS, "limits": LIMITS, "seed": 0, "progress": False}
    found = thomax.optimize(measured, SQUARE, 5, Random(), journal=path, **options)
    assert len(found.trials) == 5
    assert found.trials[0].values == measured(found.trials[0].params)
    found = thomax.minimize(
        lambda p: {"value": p["x"], "c": p["y"]}, SQUARE, 5, Random(), limits={"c": "<= 0"},
        seed=0, progress=False,
    )  # fmt: skip
    assert found.best.values["c"] <= 0
    with pytest.raises(RuntimeError, match=r"The first 3 trials .* needs a dict of the metrics"):
        thomax.optimize(hill, SQUARE, 5, Random(), **options)
    with pytest.raises(ValueError, match="optimize needs objectives by name"):
        thomax.optimize(measured, SQUARE, 5)
    with pytest.raises(ValueError, match="minimize has one objective without a name"):
        thomax.minimize(measured, SQUARE, 5, objectives=AIMS)


def test_tables_have_a_column_for_each_metric():
    frame = small([{"yield": 0.5, "cost": 2.0}]).to_dataframe()
    assert frame.columns.tolist() == [
        "number", "x", "yield", "cost", "impurity", "state", "error", "note",
    ]  # fmt: skip

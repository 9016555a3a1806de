"""Rivals get the starts that all get, stay inside the space, and repeat what a seed did."""

import importlib.util
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import runner
from benchmarks.methods import ABLATIONS, Method, parse_method
from benchmarks.paper.plots import label
from benchmarks.rivals import RIVALS, Session, make_rival, takes_part
from benchmarks.rivals.botorch import Candidates, Cube, filled
from benchmarks.rivals.packages import require_packages, version
from benchmarks.rivals.turbo import SMALLEST, TrustRegion
from benchmarks.runner import Run, finished, perform, records, run_all
from benchmarks.tasks.problem import MissingPackageError, Problem
from thomax import Bool, Categorical, Float, Int, Ordinal, Pool, Space

BOX = Space({"x": Float(-1, 1), "y": Float(0.1, 10, log=True)})
MIXED = Space({
    "kind": Categorical(["a", "b", None]),
    "size": Ordinal(["s", "m", "l"]),
    "on": Bool(),
    "n": Int(1, 64, log=True),
    "even": Int(0, 10, step=2),
    "tenth": Float(0, 1, step=0.1),
    "one": Int(3, 3),
    "rate": Float(1e-4, 1, log=True, when={"kind": ["a", "b"]}),
    "deep": Int(1, 5, when={"on": True, "size": "l"}),
})  # fmt: skip
rng = np.random.default_rng(0)
POOL = Pool(rng.normal(size=(30, 3)))
FAST = ("optuna-tpe", "optuna-cmaes", "botorch-turbo", "smac")


def value(params):
    numbers = [v for v in params.values() if isinstance(v, int | float)]
    return -float(np.sum(np.square(numbers)))


BOWL = Problem("bowl", BOX, lambda params, rng: value(params), initial=4)


def made(name, space=BOX, seed=0):
    for package in RIVALS[name].packages:
        pytest.importorskip(package, exc_type=ImportError)
    return make_rival(name, space, seed)


def told(rival, space, n=6, sign=1):
    for params in space.decode(space.sample(np.random.default_rng(1), n)):
        rival.tell(params, sign * value(params))
    return rival


@pytest.mark.parametrize("name", RIVALS)
def test_a_batch_has_so_many_points_of_a_mixed_conditional_space(name):
    session = Session(told(made(name, MIXED), MIXED), MIXED)
    trials = session.ask(2)
    assert [MIXED.validate(t.params) for t in trials] == [t.params for t in trials]
    assert len(trials) == len(session.pending) == 2
    session.tell(trials[1], value(trials[1].params))
    session.tell(trials[0], None)
    assert [t.state for t in session.trials] == ["failed", "complete"]
    assert not session.pending


@pytest.mark.parametrize("name", RIVALS)
def test_the_seed_and_the_history_decide_what_is_asked(name):
    """CMA-ES makes no use of points that it did not ask for, and says so on the page."""

    def asked(seed, sign=1):
        return told(made(name, seed=seed), BOX, n=11, sign=sign).ask(1)

    first = asked(3)
    assert asked(3) == first
    other = asked(4) if name == "optuna-cmaes" else asked(3, sign=-1)
    assert other != first


def test_starting_points_take_the_place_of_optunas_random_trials():
    """Both samplers draw their random trials from the seed alone, and so ask for the same."""

    def asked(starts, n):
        both = [made(name, seed=5) for name in ("optuna-tpe", "optuna-gp")]
        return [told(rival, BOX, n=starts).ask(n) for rival in both]

    tpe, gp = asked(starts=0, n=10)
    assert tpe == gp
    for starts in (5, 10):
        tpe, gp = asked(starts, n=1)
        assert tpe != gp


@pytest.mark.parametrize("name", RIVALS)
def test_failed_trials_do_not_stop_a_rival(name):
    rival = made(name)
    for value, params in enumerate(BOX.decode(BOX.sample(np.random.default_rng(2), 12))):
        rival.tell(params, value if value % 2 else None)
    for _ in range(2):
        (params,) = rival.ask(1)
        assert BOX.validate(params) == params
        rival.tell(params, None)


@pytest.mark.parametrize("name", ["botorch-qlognei", "botorch-ts", "botorch-turbo"])
def test_rounding_does_not_waste_asks_on_points_already_seen(name):
    space = Space({"a": Categorical([*"pqrs"]), "b": Categorical([*"pqrs"]), "c": Int(0, 3)})
    rival = made(name, space)
    seen = space.decode(space.sample(np.random.default_rng(0), 5))
    for params in seen:
        rival.tell(params, float(params["a"] == "q") + params["c"])
    for _ in range(3):
        for params in rival.ask(2):
            assert params not in seen
            seen.append(params)
            rival.tell(params, float(params["a"] == "q") + params["c"])


class Recorded:
    """A rival that asks for one place and keeps what it is told."""

    def __init__(self):
        self.told = []

    def ask(self, n):
        return [{"x": 0.25, "y": 1.0} for _ in range(n)]

    def tell(self, params, value):
        self.told.append((params, value))


def test_the_same_starts_and_values_reach_every_method(monkeypatch):
    rivals = {name: Recorded() for name in ("optuna-tpe", "smac")}
    monkeypatch.setattr(runner, "make_rival", lambda name, space, seed: rivals[name])
    monkeypatch.setattr(runner, "version", lambda name: "package 1.0")
    ours = perform(Run("bowl", "random@2", 5, 2), BOWL)
    for name, rival in rivals.items():
        record = perform(Run("bowl", f"{name}@2", 5, 2), BOWL)
        assert record["values"][:4] == ours["values"][:4]
        assert [round(v, 3) for _, v in rival.told[:4]] == [
            round(v, 3) for v in ours["values"][:4]
        ]
        assert [value(p) for p, _ in rival.told] == [v for _, v in rival.told]
        assert len(rival.told) == len(record["values"]) == 4 + 2 * 2
        assert {*record} == {*ours, "package"} - {"settings"}
        assert (record["asks"], record["starts"]) == (2, 4)


def test_a_value_that_is_no_number_is_told_as_a_failure():
    rival = Recorded()
    session = Session(rival, BOX)
    session.tell({"x": 0.0, "y": 1.0}, math.nan)
    (trial,) = session.ask(1)
    session.tell(trial, math.inf)
    assert [v for _, v in rival.told] == [None, None]
    assert [t.value for t in session.trials] == [None, None]


def test_points_outside_the_space_are_not_let_through():
    session = Session(Recorded(), Space({"x": Float(0.5, 1), "y": Float(0, 1)}))
    with pytest.raises(ValueError, match=r"'x' needs a number from 0\.5 to 1"):
        session.ask(1)


@pytest.mark.parametrize("name", FAST[:2])
def test_a_run_is_a_function_of_its_name(name):
    made(name)
    once, again = (perform(Run("bowl", f"{name}@2", 0, 3), BOWL) for _ in range(2))
    assert once["values"] == again["values"]
    assert len(once["values"]) == 4 + 6
    assert once["package"] == version(RIVALS[name].packages)


def slow(params, rng):
    time.sleep(0.02)
    return value(params)


def make_slow(name, seed):
    return replace(BOWL, objective=slow)


def make_bowl(name, seed):
    return BOWL


def test_an_interrupted_rival_starts_anew_and_finished_ones_stay(tmp_path):
    made("optuna-tpe")
    runs = [Run("bowl", "optuna-tpe@4", seed, n) for seed, n in ((0, 1), (1, 200))]
    child = multiprocessing.get_context("spawn").Process(
        target=run_all, args=(runs, tmp_path, make_slow), kwargs={"progress": False}
    )
    child.start()
    deadline = time.monotonic() + 60
    while not finished(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    (before,) = records(tmp_path)
    short = [runs[0], replace(runs[1], iterations=2)]
    run_all(short, tmp_path, make_bowl, progress=False)
    assert finished(tmp_path) == {*short}
    assert records(tmp_path)[0] == before
    assert not list((tmp_path / "journals").iterdir())


# Who takes part


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_says_where_it_takes_part(name):
    assert takes_part(name, POOL) == (name in ("botorch-qlognei", "botorch-ts"))
    assert takes_part(name, MIXED)
    assert not takes_part(name, Space({"x": Float(0, 1)}, constraint=lambda p: True))
    if not takes_part(name, POOL):
        with pytest.raises(ValueError, match=f"{name} cannot search a pool: leave it out"):
            make_rival(name, POOL, 0)


@pytest.mark.parametrize("name", ["botorch-qlognei", "botorch-ts"])
def test_candidates_of_a_pool_are_asked_for_once_and_to_the_last(name):
    session = Session(made(name, POOL), POOL)
    for params in POOL.params(range(20)):
        session.tell(params, float(POOL.encode([params]).sum()))
    while trials := session.ask(4):
        for trial in trials:
            session.tell(trial, float(POOL.encode([trial.params]).sum()))
    assert sorted(t.params["index"] for t in session.trials) == [*range(30)]
    sums = POOL.at(range(30)).sum(axis=1)
    assert session.trials[20].value > np.median(sums[20:])  # good ones first


@pytest.mark.parametrize("name", RIVALS)
def test_a_missing_package_is_one_sentence(name, monkeypatch):
    package = RIVALS[name].packages[-1]
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "benchmarks.rivals.packages.find_spec", lambda p: None if p == package else find("json")
    )
    with pytest.raises(MissingPackageError) as caught:
        require_packages(name, RIVALS[name].packages)
    assert str(caught.value) == f"The method {name} needs {package}: pip install 'thomax[rivals]'"


def test_naming_the_rivals_imports_none_of_them():
    code = (
        "import sys, benchmarks.command, benchmarks.rivals.turbo, benchmarks.rivals.smac;"
        "print(sorted({'optuna', 'torch', 'botorch', 'smac', 'cmaes'} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_have_names_like_other_methods(name):
    assert parse_method(f"{name}@4") == Method(name, batch=4)
    assert label(f"{name}@4").endswith(", B=4")
    with pytest.raises(ValueError, match="no network of ours"):
        parse_method(f"{name}:1x8")


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablations_run_by_their_names(name):
    method = parse_method(name)
    assert (method.policy(BOX), method.search(BOX)) == ABLATIONS[name](BOX)
    assert label(name) == name


def test_an_ablation_is_run_with_its_own_search(monkeypatch):
    from thomax import Random, Search

    searches = []

    def variant(space):
        searches.append(space)
        return Random(), Search(candidates=7)

    monkeypatch.setitem(ABLATIONS, "one-scale", variant)
    assert len(perform(Run("bowl", "one-scale@2", 0, 2), BOWL)["values"]) == 4 + 4
    assert parse_method("one-scale").search(BOX) == Search(candidates=7)
    assert searches[0] is BOX


# TuRBO's state


@pytest.mark.parametrize(
    ("batches", "q", "length", "counts"),
    [
        ("", 1, 0.8, (0, 0)),
        ("ss", 1, 0.8, (2, 0)),
        ("sss", 1, 1.6, (0, 0)),
        ("sssss", 1, 1.6, (2, 0)),
        ("ssssss", 1, 1.6, (0, 0)),  # not beyond the largest
        ("ssf", 1, 0.8, (0, 1)),  # a failure ends the row
        ("ssfss", 1, 0.8, (2, 0)),
        ("f" * 9, 1, 0.8, (0, 9)),
        ("f" * 10, 1, 0.4, (0, 0)),  # max(4 / 1, 10 / 1)
        ("ff", 4, 0.8, (0, 2)),
        ("fff", 4, 0.4, (0, 0)),  # ceil(10 / 4)
        ("ffsff", 4, 0.8, (0, 2)),
        ("ffffff", 4, 0.2, (0, 0)),
    ],
)
def test_a_trust_region_grows_with_successes_and_shrinks_with_failures(batches, q, length, counts):
    region = TrustRegion(dimension=10, best=1.0)
    for outcome in batches:
        region = region.after(region.best + 1 if outcome == "s" else region.best - 1, q)
    assert (region.length, (region.successes, region.failures)) == (length, counts)


def test_in_few_dimensions_four_evaluations_may_fail():
    region = TrustRegion(dimension=2, best=0.0)
    for _ in range(3):
        region = region.after(-1.0, 1)
    assert (region.length, region.after(-1.0, 1).length) == (0.8, 0.4)
    assert TrustRegion(2, 0.0).after(-1.0, 4).length == 0.4


def test_a_success_is_noticeable():
    region = TrustRegion(dimension=10, best=-100.0)
    assert region.after(-99.95, 1).successes == 0
    assert region.after(-99.95, 1).best == -99.95
    assert region.after(-99.85, 1).successes == 1


def test_a_spent_region_is_replaced_by_fresh_points():
    region = replace(TrustRegion(2, 0.0), length=SMALLEST)
    assert not region.is_spent
    assert region.after(-1.0, 4).is_spent
    turbo = told(made("botorch-turbo"), BOX, n=4)
    turbo.ask(4)
    turbo._region = region
    for _ in range(4):
        turbo.tell({"x": 1.0, "y": 10.0}, -101.0)
    fresh = turbo.ask(4)
    assert turbo._region is None
    for params in fresh:
        turbo.tell(params, value(params))
    turbo.ask(1)
    assert turbo._region == TrustRegion(2, max(map(value, fresh)))
    assert [params for params, _ in turbo._told] == fresh


# Points of the unit cube


def test_the_cube_has_numbers_from_zero_to_one_and_a_column_for_each_choice():
    space = Space({"x": Float(-1, 1), "c": Categorical(["a", "b", "c"])})
    cube = Cube(space)
    params = [{"x": -1.0, "c": "a"}, {"x": 0.5, "c": "c"}]
    np.testing.assert_array_equal(cube.encode(params), [[0, 1, 0, 0], [0.75, 0, 0, 1]])
    assert cube.decode(np.array([[0.75, 0.2, 0.6, 0.5]]), []) == [{"x": 0.5, "c": "b"}]
    points = MIXED.decode(MIXED.sample(np.random.default_rng(0), 50))
    x = Cube(MIXED).encode(points)
    assert x.min() >= 0
    assert x.max() <= 1
    assert Cube(MIXED).decode(x, []) == points


def test_equal_candidates_are_taken_one_after_the_other():
    pool = Pool([[0.0, 5.0], [1.0, 5.0], [1.0, 5.0], [3.0, 5.0]])
    candidates = Candidates(pool)
    row = candidates.encode([{"index": 1}])
    np.testing.assert_allclose(row, [[1 / 3, 0.0]])
    found = candidates.decode(np.vstack([row, row]), [])
    assert [p["index"] for p in found] == [1, 2]
    assert [p["index"] for p in candidates.decode(row, [{"index": 1}])] == [2]


def test_failures_count_as_the_worst_value():
    np.testing.assert_array_equal(filled([1.0, None, -3.0]), [1, -3, -3])
    np.testing.assert_array_equal(filled([None]), [0])


def test_records_of_rivals_are_json(tmp_path):
    made("optuna-cmaes")
    run_all([Run("bowl", "optuna-cmaes", 0, 2)], tmp_path, make_bowl, progress=False)
    (line,) = (tmp_path / "bowl.jsonl").read_text().splitlines()
    assert json.loads(line)["package"].startswith("optuna ")


@pytest.mark.parametrize(("name", "design"), [("botorch-qlognei", 5), ("botorch-turbo", 4)])
def test_without_starts_botorch_begins_with_random_points(name, design, monkeypatch):
    """The model takes over after five points, as in Ax, or two for each dimension (TuRBO)."""
    from benchmarks.rivals import botorch, turbo

    fitted = []
    for module in (botorch, turbo):
        fit = module.fitted
        monkeypatch.setattr(
            module,
            "fitted",
            lambda x, y, fit=fit, **parts: fitted.append(len(y)) or fit(x, y, **parts),
        )
    plane = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
    rival = made(name, plane)
    for _ in range(design + 1):
        (point,) = rival.ask(1)
        rival.tell(point, -(point["x"] ** 2) - point["y"])
    assert fitted == [design]


def test_without_starts_smac_begins_with_its_own_design():
    plane = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
    rivals = made("smac", plane), made("smac", plane)
    told(rivals[1], plane)
    points = [rival.ask(4) for rival in rivals]
    assert [len(p) for p in points] == [4, 4]
    assert points[0] != points[1]
    designs = [rival._facade._initial_design._n_configs for rival in rivals]
    assert designs == [20, 0]

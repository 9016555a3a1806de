import copy
import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from searches import GRID, POLICY, SEARCH, SQUARE, hill, optimizer, params_of, told

from thomax import (
    GPUCB,
    MLP,
    Categorical,
    Float,
    Int,
    NeuralUCB,
    Optimizer,
    Pool,
    Random,
    Search,
    Sobol,
    Space,
    STOBNTSLinear,
    UncertaintySampling,
    maximize,
    minimize,
)
from thomax.initial_design import most_uncertain_point, quasi_random_point, stage_length
from thomax.suggest import default_policy

# Asking and telling


def test_what_was_asked_is_pending_until_told():
    search = optimizer()
    trials = search.ask(3)
    assert [t.number for t in trials] == [0, 1, 2]
    assert search.pending == trials == search.trials
    done = search.tell(trials[1], 2.5)
    assert (done.number, done.value, done.state, done.params) == (
        1, 2.5, "complete", trials[1].params,
    )  # fmt: skip
    assert search.pending == [trials[0], trials[2]]
    assert search.tell(2, 1).value == 1.0  # a number will do
    assert search.best == done
    assert search.ask().number == 3


def test_every_proposal_is_a_point_of_the_space():
    space = Space(
        {
            "kind": Categorical(["a", "b"]),
            "x": Float(1e-3, 1, log=True, when={"kind": "a"}),
            "n": Int(0, 20),
        },
        constraint=lambda p: p["n"] % 2 == 0,
    )
    search = told(8, lambda p: p["n"] + p.get("x", 0), space=space)
    search.ask(3)
    for trial in search.trials:
        assert space.validate(trial.params) == trial.params
    assert len({t.params["kind"] for t in search.trials}) == 2


def test_told_values_are_learnt_from():
    search = told(24, search=Search(candidates=1000, restarts=6))
    late = [hill(t.params) for t in search.trials[-8:]]
    assert search.best.value > 0.95
    assert np.mean(late) > 0.6  # a random point is worth 1 - 2/3 - 0.34 on average: zero


def test_the_order_of_tell_does_not_matter():
    searches = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 0, 2, 4, 1]):
        search = optimizer(initial=6)
        trials = search.ask(6)
        for number in order:
            search.tell(trials[number], hill(trials[number].params))
        searches.append(search.ask(2))
    assert params_of(searches[0]) == params_of(searches[1])


@pytest.mark.parametrize("count", [0, 6, 3])
def test_asking_for_four_is_asking_four_times(count):
    """Also without any data, and across the end of the initial design."""
    together, apart = told(count), told(count)
    rows = together.space.encode(params_of(together.ask(4)))
    others = apart.space.encode(params_of([apart.ask() for _ in range(4)]))
    np.testing.assert_allclose(rows, others, atol=1e-3)
    assert len(np.unique(rows.round(3), axis=0)) == 4


@pytest.mark.parametrize("space", [GRID, Pool(np.random.default_rng(0).normal(size=(50, 3)))])
def test_asking_for_four_is_asking_four_times_exactly_in_finite_spaces(space):
    def value(params):
        return params.get("b", 0) - params.get("index", 0) / 10

    together, apart = (told(6, value, space=space) for _ in range(2))
    assert params_of(together.ask(4)) == params_of([apart.ask() for _ in range(4)])


def test_points_never_asked_for_can_be_told():
    search, ignorant = optimizer(initial=0), optimizer(initial=0)
    for x in np.linspace(-1, 1, 8):
        added = search.tell({"x": x, "y": 0}, -abs(x - 0.5))
    assert (added.number, added.state, added.params) == (7, "complete", {"x": 1.0, "y": 0.0})
    assert search.pending == []
    assert search.ask().number == 8
    assert search.best.value == pytest.approx(-0.0714, abs=1e-3)
    assert search.trials[-1].params != ignorant.ask().params


def test_minimising_is_maximising_the_negative():
    down = told(7, lambda p: -hill(p), direction="minimize")
    up = told(7)
    assert params_of(down.ask(2)) == params_of(up.ask(2))
    assert down.best.value == -up.best.value == min(t.value for t in down.trials if t.value)
    assert down.best.number == up.best.number == down.recommend().number == up.recommend().number


def test_the_seed_decides_the_proposals():
    assert params_of(told(6).trials) == params_of(told(6).trials)
    assert params_of(told(6, seed=1).trials) != params_of(told(6).trials)
    assert params_of(told(6, seed=np.int64(1)).trials) == params_of(told(6, seed=1).trials)
    assert optimizer(seed=None).seed != optimizer(seed=None).seed


def test_pending_points_are_known_to_the_policy():
    seen = []

    def policy(keys, data):
        seen.append(data)
        return POLICY(keys, data)

    search = told(4, policy=policy)
    trial = search.ask()
    search.ask()
    np.testing.assert_allclose(seen[-1].pending, search.space.encode([trial.params]), atol=1e-6)
    assert len(seen[-1]) == 4


def test_a_policy_may_be_any_function():
    from thomax.model.draws import LinearDraw

    def policy(keys, data):
        draw = POLICY(keys, data)
        assert isinstance(draw, LinearDraw)
        return draw

    assert params_of(told(6, policy=policy).trials) == params_of(told(6).trials)


@pytest.mark.parametrize("outcome", [1.0, None])
def test_the_design_goes_on_until_something_is_told(outcome):
    """A large first batch has nothing to learn from; a failed evaluation is told too."""
    search = optimizer(initial=3)
    trials = [*search.ask(6), search.ask()]
    for trial in trials:
        assert trial.params == quasi_random_point(search.space, 0, trial.number, [])
    search.tell(trials[5], outcome)
    assert search.ask().params != quasi_random_point(search.space, 0, 7, [])


def test_a_search_without_a_design_draws_from_the_prior():
    assert optimizer(initial=0).ask().params != quasi_random_point(optimizer().space, 0, 0, [])


@pytest.mark.parametrize("noise_std", [0.1, None])
def test_the_initial_design_may_be_uncertainty_sampling(noise_std):
    search = optimizer(initial=UncertaintySampling(3), policy=replace(POLICY, noise_std=noise_std))
    before = []
    for trial in search.ask(3):
        prior = search.policy.prior_kernel(search.space.shape), 0.1
        expected = most_uncertain_point(search.space, 0, trial.number, before, [], *prior, SEARCH)
        assert trial.params == expected
        before.append(trial.params)
    search.tell(0, 1.0)
    data = search.snapshot().data()
    assert len(data) == 1  # the policy takes over: its fourth point is another
    fourth = most_uncertain_point(search.space, 0, 3, before, [], *prior, SEARCH)
    assert search.ask().params != fourth
    with pytest.raises(ValueError, match="with a prior_kernel and a noise_std, got Func"):
        optimizer(initial="uncertainty", policy=lambda keys, data: None).ask()


def test_the_word_uncertainty_is_the_stage_of_the_theorem():
    """For batches of four, until three pending points hold at most one nat."""
    space = Space({"b": Int(0, 30)})
    prior = POLICY.prior_kernel(space.shape), 0.1
    length = stage_length(UncertaintySampling(batch=4, C=1.0), space, *prior)
    assert 20 < length < 80
    settings = {"space": space, "initial": "uncertainty", "allow_repeats": True}
    points = params_of(told(length + 3, lambda p: p["b"], **settings).trials)
    numbers = (length - 1, length, length + 1, length + 2)
    found = [most_uncertain_point(space, 0, n, points[:n], [], *prior, SEARCH) for n in numbers]
    assert found[0] == points[length - 1]
    assert found[1:] != points[length:]


def test_a_resumed_stage_equals_the_unbroken_one(tmp_path):
    def settings(**more):
        return {"initial": UncertaintySampling(6), "seed": 5} | more

    whole = [t.params for t in told(8, **settings()).trials]
    parts = []
    for count in (2, 3, 3):
        search = optimizer(**settings(journal=tmp_path / "run.jsonl"))
        for _ in range(count):
            trial = search.ask()
            search.tell(trial, hill(trial.params))
        parts = [t.params for t in search.trials]
        search.close()
    assert parts == whole
    batch = [t.params for t in optimizer(**settings()).ask(6)]
    assert batch == whole[:6]  # no values are needed


# Finite spaces


def test_no_point_of_4096_is_proposed_twice():
    space = {f"c{i}": Categorical(["a", "b", "c", "d"]) for i in range(6)}
    search = told(80, lambda p: [*p.values()].count("a"), space=space)
    assert len({tuple(p.items()) for p in params_of(search.trials)}) == 80
    assert search.best.value >= 5  # 19 points of 4096


def test_proposals_differ_from_what_is_pending():
    """All points are pending, one after the other: none is proposed twice, also by later asks."""
    search = told(5, lambda p: p["b"], space=GRID)
    points = [tuple(t.params.items()) for n in (7, 1, 20) for t in search.ask(n)]
    assert len({*points}) == 28


def test_a_large_first_batch_looks_up_each_point_but_a_few_times(monkeypatch):
    """All points before a point were looked up for it: half a million for 1,000 of them."""
    looked_up = []
    index = Space.index
    monkeypatch.setattr(Space, "index", lambda *a: looked_up.append(len(a[1])) or index(*a))
    assert len(optimizer({"b": Int(1, 10_000)}).ask(100)) == 100
    assert 100 <= sum(looked_up) <= 1000


@pytest.mark.parametrize("initial", [2, 50, "uncertainty"])
def test_an_exhausted_space_is_said_to_be_so(initial):
    search = optimizer({"b": Int(0, 5)}, initial=initial)
    assert len(search.ask(4)) == 4
    assert len(search.ask(4)) == 2
    assert search.ask(4) == []
    with pytest.raises(ValueError, match=r"The space is exhausted.* allow_repeats=True"):
        search.ask()
    again = optimizer({"b": Int(0, 5)}, initial=initial, allow_repeats=True)
    assert [len(again.ask(3)) for _ in range(4)] == [3, 3, 3, 3]


@pytest.mark.parametrize("space", [{"x": Float(0, 1)}, {"x": Int(0, 9)}], ids=["real", "finite"])
def test_repeats_are_points_of_the_past_and_of_the_same_batch(space):
    """Values that rise towards an edge: every draw has its maximum there, where one was told."""
    sure = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.01, beta=0.01)
    for repeats, distinct in ((True, 1), (False, 3)):
        search = optimizer(space, sure, initial=2, allow_repeats=repeats)
        top = search.space.parameters["x"].high
        for x in (0, top):
            search.tell({"x": x}, x)
        points = [t.params["x"] for t in search.ask(3)]
        assert len(set(points)) == distinct
        assert (top in points) == repeats


def test_dropped_trials_are_neither_pending_nor_known():
    search = told(4)
    first, second = search.ask(2)
    search.drop(first)
    assert search.pending == [second]
    assert search.trials[4].state == "dropped"
    assert len(search.snapshot().data()) == 4
    with pytest.raises(ValueError, match=r"Trial 4 is not pending \(pending: \[5\]\)"):
        search.tell(first, 1.0)


@pytest.mark.slow
def test_the_best_of_a_pool_is_found():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4_000, 8))
    y = np.sin(2 * x[:, 0] + x[:, 1]) + np.cos(x[:, 2] - x[:, 3]) + x[:, 4] * x[:, 5]
    y += 0.5 * x[:, 6] - x[:, 7] ** 2
    search = Optimizer(Pool(x), seed=0)
    for _ in range(15):
        for trial in search.ask(4):
            search.tell(trial, y[trial.params["index"]])
    assert len(search.trials) == 60
    assert (y > search.best.value).sum() < 4  # of 4,000: one search in 16 would do so by chance


# Failed evaluations


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_failing_region_is_left(seed):
    """The optimum lies at the border of the region that fails: it is approached, not crossed."""
    search = Optimizer({"x0": Float(0, 1), "x1": Float(0, 1)}, seed=seed)
    for _ in range(60):
        trial = search.ask()
        x0, x1 = trial.params.values()
        search.tell(trial, math.nan if x0 > 0.6 else -4 * (x0 - 0.6) ** 2 - (x1 - 0.3) ** 2)
    assert sum(t.state == "failed" for t in search.trials[-30:]) <= 10
    assert search.best.value > -0.03


def test_failures_are_kept_with_their_reason():
    search = optimizer()
    trials = search.ask(5)
    search.tell(trials[0], math.nan)
    search.tell(trials[1], -math.inf)
    search.tell(trials[2], None)
    search.tell(trials[3], error=ZeroDivisionError("by zero"))
    search.tell(trials[4], error="out of memory")
    assert {t.state for t in search.trials} == {"failed"}
    assert {t.value for t in search.trials} == {None}
    assert [t.error for t in search.trials] == [
        "the value was nan", "the value was -inf", "no value", "ZeroDivisionError: by zero",
        "out of memory",
    ]  # fmt: skip
    assert search.ask().number == 5  # a search where all failed goes on
    added = search.tell({"x": 0, "y": 0}, math.nan)
    assert (added.number, added.state) == (6, "failed")
    with pytest.raises(ValueError, match=r"all 6 that ended have failed.*the value was nan"):
        _ = search.best


def test_telling_neither_a_value_nor_an_error_is_a_mistake():
    """Row 18: it was recorded as a failure."""
    search = optimizer()
    trial = search.ask()
    for point in (trial, trial.number, {"x": 0, "y": 0}):
        with pytest.raises(TypeError, match="tell needs a value or an error, got neither"):
            search.tell(point)
    assert search.trials == [trial]
    assert search.tell(trial, None).error == "no value"


# What the model recommends


def test_a_lucky_outlier_is_observed_best_but_not_recommended():
    rng = np.random.default_rng(0)
    search = optimizer({"x": Float(-1, 1)})
    for x in rng.uniform(0.45, 0.55, 8):
        search.tell({"x": x}, 1.0)
    for i, x in enumerate(rng.uniform(-0.55, -0.45, 8)):
        search.tell({"x": x}, 2.0 if i == 3 else -0.5)
    assert search.best.params["x"] < 0
    assert search.recommend().params["x"] > 0
    assert search.recommend().state == "complete"


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_of_an_exact_objective_the_best_trial_is_recommended(direction):
    """Row 6: a rough function is not noise; no worse trial is preferred to one that was seen."""
    rng = np.random.default_rng(0)
    search = Optimizer({f"x{i}": Float(-2, 2) for i in range(4)}, direction=direction, seed=0)
    for x in rng.uniform(-2, 2, (40, 4)):
        value = float(480 + (x**2 - 10 * np.cos(2 * np.pi * x)).sum())
        search.tell({f"x{i}": float(v) for i, v in enumerate(x)}, value)
    assert search.recommend() == search.best


@pytest.mark.parametrize("policy", [Random(), Sobol(), GPUCB(), NeuralUCB(MLP(width=16))])
def test_a_policy_without_draws_recommends_by_the_default_model(policy):
    """Random scores would name any trial, and a bound one that is little known."""
    searches = [Optimizer({"x": Float(-1, 1)}, p, seed=2) for p in (policy, None)]
    noise = np.random.default_rng(0).normal(size=16)
    points = [*np.linspace(0.2, 0.8, 15), -0.9]
    for x, e in zip(points, noise, strict=True):
        for search in searches:
            search.tell({"x": x}, 0.3 * e - (x - 0.5) ** 2 if x > 0 else -0.2)
    recommended, by_default = (search.recommend() for search in searches)
    assert recommended == by_default
    assert by_default.params["x"] > 0


def test_a_policy_of_ones_own_recommends_without_failures(monkeypatch):
    """Its data hold the successes only, as when it proposes."""
    seen = []

    def policy(keys, data):
        seen.append(data.y)
        return POLICY(keys, data)

    monkeypatch.setattr("thomax.suggest.shows_noise", lambda *_: True)
    search = optimizer({"x": Float(-1, 1)}, policy)
    for i, x in enumerate(np.linspace(-1, 1, 6)):
        search.tell({"x": float(x)}, math.nan if i == 2 else -(x**2))
    assert search.recommend().state == "complete"
    assert np.isfinite(seen).all()


def test_values_near_the_largest_float_can_be_recommended():
    search = told(6, lambda p: 1e308 * hill(p))
    assert search.recommend().number == told(6).recommend().number


def test_with_few_values_the_best_is_recommended():
    search = told(2)
    search.tell(search.ask(), math.nan)
    assert search.recommend() == search.best
    with pytest.raises(ValueError, match="There is no best trial yet: tell the value"):
        optimizer().recommend()


# What a person looks at


def test_a_search_can_be_watched_while_another_thread_tells():
    search, told_all, seen = optimizer(), threading.Event(), []

    def watch():
        while not told_all.is_set():
            seen.append((len(search.trials), len(search.pending), repr(search)))
            if search.trials:
                seen.append(search.best)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            for x in np.linspace(-1, 1, 1500):
                search.tell({"x": x, "y": 0.0}, -abs(x))
        finally:
            told_all.set()
            sys.setswitchinterval(usual)
        watching.result()
    assert len(seen) > 10


def test_trials_handed_out_are_the_callers_own():
    search = told(5)
    before = params_of(search.trials)
    handed_out = [*search.trials, search.best, search.recommend(), search.ask(), *search.pending]
    handed_out.append(search.tell(5, 1.0))
    for trial in handed_out:
        trial.params.clear()
    assert params_of(search.trials[:5]) == before
    assert params_of(search.trials[5:]) != [{}]
    search.ask()


def test_a_table_of_all_trials():
    search = optimizer({"x": Float(0, 1), "value": Int(0, 9)})
    search.tell({"x": 0.5, "value": 3}, 2.0)
    search.tell({"x": 0.25, "value": 4}, error="broken")
    table = search.to_dataframe()
    assert list(table.columns) == [
        "number",
        "x",
        "params.value",
        "value",
        "state",
        "error",
        "note",
    ]
    assert table["x"].tolist() == [0.5, 0.25]
    assert table["params.value"].tolist() == [3, 4]
    assert table["value"].iloc[0] == 2.0
    assert np.isnan(table["value"].iloc[1])
    assert table["state"].tolist() == ["complete", "failed"]
    assert table["error"].iloc[1] == "broken"


def test_the_representation_counts_trials():
    search = optimizer({"x": Float(0, 1)}, direction="minimize", seed=5)
    assert repr(search) == "Optimizer(Space({'x': Float(0.0, 1.0)}), minimize, seed=5: no trials)"
    search.tell(search.ask(3)[0], 1.0)
    assert repr(search).endswith("seed=5: 1 complete, 2 pending)")


# In one call


def test_one_call_maximises_or_minimises():
    quick = {"policy": POLICY, "seed": 0, "progress": False, "initial": 4}
    highest = maximize(hill, SQUARE, 6, **quick)
    lowest = minimize(lambda p: -hill(p), SQUARE, trials=6, batch=1, **quick)
    assert highest.direction == "maximize"
    assert lowest.direction == "minimize"
    assert params_of(highest.trials) == params_of(lowest.trials)
    assert highest.best.value == max(t.value for t in highest.trials)
    assert lowest.best.value == min(t.value for t in lowest.trials)


def test_the_same_call_again_goes_on(path):
    quick = {"policy": POLICY, "seed": 0, "progress": False, "initial": 4}
    found = maximize(hill, SQUARE, 6, journal=path, **quick)
    again = maximize(hill, SQUARE, 3, journal=path, **quick)
    assert len(found.trials) == 6
    assert again.trials == maximize(hill, SQUARE, 9, **quick).trials
    assert found.recommend().state == "complete"  # it can still be asked what was found
    with pytest.raises(ValueError, match=r"Open it again, with Optimizer"):
        found.ask()


def test_one_call_that_is_interrupted_releases_its_journal(path):
    def interrupt(params):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        maximize(interrupt, SQUARE, 6, policy=POLICY, journal=path, progress=False)
    assert len(Optimizer(SQUARE, journal=path).pending) == 1
    assert caught.tb is not None  # it still holds the interrupted optimiser
    with pytest.raises(TypeError, match="maximize has no argument 'tries'"):
        maximize(hill, SQUARE, 6, tries=3)


def test_one_call_does_what_is_left_of_a_total(path):
    """Row 20: the same call again does nothing more."""
    options = {"policy": POLICY, "journal": path, "seed": 0, "progress": False}
    maximize(hill, SQUARE, 2, **options)
    assert len(maximize(hill, SQUARE, total=5, **options).trials) == 5
    assert len(maximize(hill, SQUARE, total=5, **options).trials) == 5
    with pytest.raises(ValueError, match="run needs trials=, total= or timeout="):
        maximize(hill, SQUARE, **options)


def test_the_first_points_import_neither_jax_nor_scipy():
    """They take a second, which a shell that only wants the first points would pay every time."""
    code = (
        "import sys, thomax as tx\n"
        "optimizer = tx.Optimizer({'x': tx.Float(0, 1), 'k': tx.Categorical(['a', 'b'])})\n"
        "for trial in optimizer.ask(4): optimizer.tell(trial, trial.params['x'])\n"
        "assert optimizer.best.value is not None\n"
        "assert not {'jax', 'scipy'} & {*sys.modules}\n"
        "optimizer.ask(20)\n"
        "assert 'scipy' in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_policy_is_that_of_the_space_until_another_is_given():
    search = Optimizer({"x": Float(0, 1)})
    assert search.policy == default_policy(search.space)
    assert search.policy is search.policy
    search.policy = lambda keys, data: STOBNTSLinear()(keys, data)
    assert search.policy.is_model  # a function is a policy with the default attributes
    with pytest.raises(TypeError, match="needs a policy"):
        search.policy = STOBNTSLinear


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_goes_its_own_way(duplicate):
    search = told(3)
    twin = duplicate(search)
    before = search.trials
    assert twin.trials == before
    assert twin.tell(twin.ask(), 1.0).number == 3
    assert search.trials == before
    assert search.tell({"x": 0.0, "y": 0.0}, 2.0).number == 3
    assert twin._own.lock is not search._own.lock
    assert params_of(twin.trials) != params_of(search.trials)

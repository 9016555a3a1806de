import math
import secrets
import shutil
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from thomax import (
    MLP,
    Categorical,
    Float,
    Int,
    Optimizer,
    Pool,
    Search,
    Space,
    STOBNTSLinear,
    Trial,
    maximize,
    minimize,
    repair,
)
from thomax.design import most_uncertain_point
from thomax.history import History

POLICY = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
SQUARE = {"x": Float(-1, 1), "y": Float(-1, 1)}
GRID = {"a": Categorical(["p", "q", "r", "s"]), "b": Int(0, 9)}


def optimizer(space=None, policy=POLICY, **options):
    search = Search(candidates=200, restarts=3)
    settings = {"seed": 0, "initial": 4, "search": search} | options
    return Optimizer(SQUARE if space is None else space, policy, **settings)


def hill(params):
    return 1 - (params["x"] - 0.3) ** 2 - (params["y"] + 0.5) ** 2


def told(count=6, objective=hill, **options):
    """Return an optimiser that has been told some values."""
    found = optimizer(**options)
    for _ in range(count):
        trial = found.ask()
        found.tell(trial, objective(trial.params))
    return found


def params_of(trials):
    return [t.params for t in trials]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


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
    from thomax.draws import LinearDraw

    def policy(keys, data):
        draw = POLICY(keys, data)
        assert isinstance(draw, LinearDraw)
        return draw

    assert params_of(told(6, policy=policy).trials) == params_of(told(6).trials)


@pytest.mark.parametrize("noise_std", [0.1, None])
def test_the_initial_design_may_be_uncertainty_sampling(noise_std):
    search = optimizer(initial="uncertainty", policy=replace(POLICY, noise_std=noise_std))
    before = []
    for trial in search.ask(3):
        settings = (search.policy.covariance, 0.1)
        expected = most_uncertain_point(search.space, 0, trial.number, before, [], *settings)
        assert trial.params == expected
        before.append(trial.params)
    with pytest.raises(ValueError, match="needs a policy with a covariance, got function"):
        optimizer(initial="uncertainty", policy=lambda keys, data: None).ask()


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


@pytest.mark.parametrize("initial", [2, 50, "uncertainty"])
def test_an_exhausted_space_is_said_to_be_so(initial):
    search = optimizer({"b": Int(0, 5)}, initial=initial)
    assert len(search.ask(4)) == 4
    assert len(search.ask(4)) == 2
    assert search.ask(4) == []
    with pytest.raises(ValueError, match=r"The space is exhausted.* replicates=True"):
        search.ask()
    again = optimizer({"b": Int(0, 5)}, initial=initial, replicates=True)
    assert [len(again.ask(3)) for _ in range(4)] == [3, 3, 3, 3]


def test_dropped_trials_are_neither_pending_nor_known():
    search = told(4)
    first, second = search.ask(2)
    search.drop(first)
    assert search.pending == [second]
    assert search.trials[4].state == "dropped"
    assert len(search._data()) == 4
    with pytest.raises(ValueError, match=r"Trial 4 is not pending \(pending: \[5\]\)"):
        search.tell(first, 1.0)


def test_the_best_of_a_pool_is_found():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (10_000, 8))
    y = np.sin(2 * x[:, 0] + x[:, 1]) + np.cos(x[:, 2] - x[:, 3]) + x[:, 4] * x[:, 5]
    y += 0.5 * x[:, 6] - x[:, 7] ** 2
    search = Optimizer(Pool(x), seed=0)
    for _ in range(25):
        for trial in search.ask(4):
            search.tell(trial, y[trial.params["index"]])
    assert len(search.trials) == 100
    assert (y > search.best.value).sum() < 10


# Failed evaluations


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
    search.tell(trials[2])
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


def test_values_near_the_largest_float_can_be_recommended():
    search = told(6, lambda p: 1e308 * hill(p))
    assert search.recommend().number == told(6).recommend().number


def test_with_few_values_the_best_is_recommended():
    search = told(2)
    search.tell(search.ask(), math.nan)
    assert search.recommend() == search.best
    with pytest.raises(ValueError, match="There is no best trial yet: tell the value"):
        optimizer().recommend()


# The journal

STEPS = [
    lambda s: s.ask(),
    lambda s: s.ask(),
    lambda s: s.tell(1, hill(s.trials[1].params)),
    lambda s: s.enqueue({"x": 0.25, "y": 0.75}),
    lambda s: s.ask(),
    lambda s: s.tell({"x": -0.5, "y": 0.5}, 0.125),
    lambda s: s.ask(),
    lambda s: s.tell(2, math.nan),
    lambda s: s.ask(),
    lambda s: s.tell(5, hill(s.trials[5].params)),
    lambda s: s.drop(0),
    lambda s: s.ask(),
    lambda s: s.tell(4, error="broken"),
    lambda s: s.ask(),
    lambda s: s.ask(),
]


def test_a_resumed_search_continues_as_the_unbroken_one_at_every_cut(path, tmp_path):
    with optimizer(journal=path) as search:
        for i, step in enumerate(STEPS):
            shutil.copy(path, tmp_path / f"cut{i}.jsonl")
            step(search)
        expected = search.trials
    assert len(expected) == 9
    assert {t.state for t in expected} == {"pending", "complete", "failed", "dropped"}
    for i in range(len(STEPS)):
        with optimizer(journal=tmp_path / f"cut{i}.jsonl") as resumed:
            for step in STEPS[i:]:
                step(resumed)
            assert resumed.trials == expected, f"cut before step {i}"
            assert repr(resumed) == repr(search)


def test_a_batch_cut_short_is_completed_by_the_rest(path, tmp_path):
    told(5, journal=path).close()
    shutil.copy(path, tmp_path / "copy.jsonl")
    with optimizer(journal=path) as search:
        batch = search.ask(4)
    with optimizer(journal=tmp_path / "copy.jsonl") as other:
        other.ask(2)
    with optimizer(journal=tmp_path / "copy.jsonl") as resumed:
        resumed.ask(2)
        assert len(resumed.pending) == 4
        rows, expected = (resumed.space.encode(params_of(t)) for t in (resumed.pending, batch))
    np.testing.assert_allclose(rows, expected, atol=1e-3)


def test_enqueued_points_come_first_and_once_also_after_a_restart(path):
    points = [{"x": 0.5, "y": 0.5}, {"x": -0.5, "y": 0.25}, {"x": 0.0, "y": 0.0}]
    with optimizer(journal=path) as search:
        for point in points:
            search.enqueue(point)
        assert search.ask().params == points[0]
    with optimizer(journal=path) as search:
        assert params_of(search.ask(3))[:2] == points[1:]
    with optimizer(journal=path) as search:
        assert params_of(search.pending)[:3] == points
        later = params_of(search.ask(3))
        assert not [point for point in points if point in later]


def test_the_seed_is_that_of_the_journal(path):
    with optimizer(journal=path, seed=None) as search:
        expected = search.ask(2)
        seed = search.seed
    with optimizer(journal=path, seed=None) as search:
        assert search.seed == seed
        assert search.pending == expected
    with pytest.raises(ValueError, match=f"its seed is {seed}, got {seed + 1}"):
        optimizer(journal=path, seed=seed + 1)


def test_a_journal_that_another_process_creates_meanwhile_gives_its_seed(path, monkeypatch):
    def another_is_faster(bits):
        monkeypatch.undo()
        optimizer(journal=path, seed=7).close()
        return 8

    monkeypatch.setattr(secrets, "randbits", another_is_faster)
    with optimizer(journal=path, seed=None) as search:
        assert search.seed == 7


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"space": {"x": Float(-1, 1), "y": Float(-1, 2)}}, "space.parameters.1.high"),
        ({"space": {"x": Float(-1, 1)}}, "space.parameters"),
        ({"space": Space(SQUARE, constraint=bool)}, "space.constraint"),
        ({"space": Pool(np.eye(3))}, "space"),
        ({"direction": "minimize"}, "direction"),
    ],
)
def test_a_journal_of_another_search_is_refused_and_left_as_it_is(path, change, named):
    told(2, journal=path).close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"belongs to another search: its {named}"):
        optimizer(**{"journal": path} | change)
    assert path.read_bytes() == before
    assert len(optimizer(journal=path).trials) == 2


def test_two_optimisers_on_one_journal_are_refused(path):
    with optimizer(journal=path) as search:
        with pytest.raises(RuntimeError, match="must have one user at a time"):
            optimizer(journal=path)
        search.ask()
    with optimizer(journal=path) as search:  # closed by the context manager
        assert len(search.pending) == 1


def test_what_cannot_be_written_has_not_happened(path):
    search = told(2, journal=path)
    trial = search.ask()
    search.close()
    for change in (lambda: search.tell(trial, 1.0), search.ask, lambda: search.drop(trial)):
        with pytest.raises(ValueError, match="must be open to append"):
            change()
    assert search.pending == [trial]
    assert optimizer(journal=path).trials == search.trials


def test_ctrl_c_after_writing_and_before_taking_note_gives_no_number_twice(path, monkeypatch):
    def interrupted(history, record):
        monkeypatch.undo()
        raise KeyboardInterrupt

    search = told(2, journal=path)
    point = {"x": 0.5, "y": 0.5}
    for change in (search.ask, lambda: search.enqueue(point), lambda: search.tell(point, 1.0)):
        monkeypatch.setattr(History, "apply", interrupted)
        with pytest.raises(KeyboardInterrupt):
            change()
    assert [t.number for t in search.trials] == [0, 1, 2, 3]
    assert search.ask() == Trial(4, point)
    search.close()
    assert optimizer(journal=path).trials == search.trials


def test_a_repaired_journal_keeps_every_trial_that_was_not_hit(path):
    with told(6, journal=path) as search:
        expected = search.trials
    lines = path.read_bytes().splitlines(keepends=True)
    for lost, state in ((5, None), (6, "pending")):  # trial 2 was asked in line 5, told in line 6
        damaged = lines[lost].replace(b"record", b"RECORD")
        path.write_bytes(b"".join([*lines[:lost], damaged, *lines[lost + 1 :]]))
        with pytest.raises(ValueError, match=r"damaged at line .* Run thomax.repair"):
            optimizer(journal=path)
        repair(path)
        if state is None:
            with pytest.warns(UserWarning, match="params of trial 2 are lost: left it out"):
                search = optimizer(journal=path)
        else:
            search = optimizer(journal=path)
        others = [t for t in expected if t.number != 2]
        assert [t for t in search.trials if t.number != 2] == others
        assert [t.state for t in search.trials if t.number == 2] == ([state] if state else [])
        assert search.ask().number == 6
        search.close()
        path.write_bytes(b"".join(lines))


def test_a_journal_of_other_records_is_refused(path):
    from thomax.journal import Journal

    with optimizer(journal=path) as search:
        header = {"space": search.space.describe(), "direction": "maximize", "seed": 0}
    with Journal.open(path, header) as journal:
        journal.append({"event": "ask"})
    with pytest.raises(ValueError, match="a record that does not fit the ones before") as caught:
        optimizer(journal=path)
    Journal.open(path, header).close()  # the refusal has released the file
    assert caught.tb is not None  # though its traceback is still held


# Bad input


@pytest.mark.parametrize(
    "value",
    [
        "1.5", b"1", True, np.bool_(True), 1j, np.complex64(1), [1.0], np.array([1.0]),
        np.array("1.5"), {"loss": 1}, 10**400, np.datetime64("2020-01-01"),
    ],
    ids=lambda value: f"{type(value).__name__} {value!r}"[:20],
)  # fmt: skip
def test_a_value_that_is_no_number_is_refused_and_nothing_is_lost(path, value):
    with told(2, journal=path) as search:
        trial = search.ask()
        with pytest.raises(ValueError, match=r"tell needs a number as value, got .*: pass a"):
            search.tell(trial, value)
        assert search.pending == [trial]
        assert search.tell(trial, 1.0).value == 1.0
        expected = search.trials
    assert optimizer(journal=path).trials == expected


@pytest.mark.parametrize(
    "value",
    [1, 1.0, np.float32(1), np.int8(1), np.array(1.0), jnp.array(1.0), Decimal(1), Fraction(1)],
    ids=repr,
)
def test_numbers_of_all_kinds_are_values(path, value):
    with optimizer(journal=path) as search:
        done = search.tell(search.ask(), value)
    assert type(done.value) is float
    assert optimizer(journal=path).best.value == 1.0


@pytest.mark.parametrize(
    "trial", [1, 7, -1, None, "0", True, Trial(3, {}), np.array([0, 1]), 0.5, [0]], ids=repr
)
def test_a_trial_that_is_not_pending_is_refused(trial):
    search = optimizer()
    search.ask(2)
    search.tell(1, 2.0)
    with pytest.raises(ValueError, match=r"is not pending \(pending: \[0\]\). Tell each trial"):
        search.tell(trial, 1.0)
    with pytest.raises(ValueError, match="is not pending"):
        search.drop(trial)
    assert [t.value for t in search.trials] == [None, 2.0]


def test_a_long_list_of_pending_trials_is_shortened():
    search = optimizer(initial=30)
    search.ask(30)
    with pytest.raises(ValueError, match=r"8, 9, '...'\]\)"):
        search.tell(99, 1.0)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"x": 2, "y": 0}, "Parameter 'x' needs a number from -1.0 to 1.0, got 2"),
        ({"x": 0}, "Parameter 'y' is missing"),
        ({"x": 0, "y": 0, "z": 0}, "Unknown parameter 'z'"),
        ({"x": math.nan, "y": 0}, "Parameter 'x' needs"),
    ],
)
def test_params_outside_the_space_are_refused(path, params, problem):
    with optimizer(journal=path) as search:
        for change in (lambda: search.tell(params, 1.0), lambda: search.enqueue(params)):
            with pytest.raises(ValueError, match=problem):
                change()
        assert search.trials == []
        assert search.ask().params != params
    assert len(optimizer(journal=path).trials) == 1


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True])
def test_asking_for_no_trials_is_refused(n):
    with pytest.raises(ValueError, match=f"ask needs a whole number n >= 1, got {n!r}"):
        optimizer().ask(n)


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"direction": "up"}, ValueError, 'direction "maximize" or "minimize", got \'up\''),
        ({"initial": -1}, ValueError, "initial to be a whole number"),
        ({"initial": "random"}, ValueError, "initial to be a whole number"),
        ({"seed": 1.5}, ValueError, "seed to be a whole number, got 1.5"),
        ({"seed": "a"}, ValueError, "seed to be a whole number, got 'a'"),
        ({"policy": STOBNTSLinear}, TypeError, "pass an instance"),
        ({"policy": "ts"}, TypeError, "Optimizer needs a policy such as STOBNTSLinear"),
        ({"space": [1, 2]}, TypeError, "A space is a Space, a Pool or a dictionary"),
        ({"space": {}}, ValueError, "at least one parameter"),
        ({"space": {"x": (0, 1)}}, TypeError, "needs a parameter for 'x'"),
    ],
)
def test_bad_settings_are_refused_before_a_journal_is_made(path, options, error, problem):
    with pytest.raises(error, match=problem):
        optimizer(**{"journal": path} | options)
    assert not path.exists()


def test_wrong_bounds_are_refused():
    with pytest.raises(ValueError, match="Float needs low < high, got low=1, high=0"):
        optimizer({"x": Float(1, 0)})


@pytest.mark.parametrize("initial", [3, 0, "uncertainty"])
@pytest.mark.parametrize("parameter", [Float(0, 1), Int(0, 10**6)])
def test_a_constraint_that_nothing_satisfies_is_reported(initial, parameter):
    search = optimizer(Space({"x": parameter}, constraint=lambda p: False), initial=initial)
    with pytest.raises(ValueError, match="The constraint refused"):
        search.ask()
    assert search.trials == []


# What a person looks at


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
    assert list(table.columns) == ["number", "x", "params.value", "value", "state", "error"]
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


def test_one_call_maximises_or_minimises(path):
    quick = {"policy": POLICY, "seed": 0, "progress": False, "initial": 4}
    highest = maximize(hill, SQUARE, 6, journal=path, **quick)
    lowest = minimize(lambda p: -hill(p), SQUARE, trials=6, batch=1, **quick)
    assert highest.direction == "maximize"
    assert lowest.direction == "minimize"
    assert params_of(highest.trials) == params_of(lowest.trials)
    assert highest.best.value == max(t.value for t in highest.trials)
    assert lowest.best.value == min(t.value for t in lowest.trials)
    highest.close()
    assert len(Optimizer(SQUARE, journal=path).trials) == 6


def test_one_call_that_is_interrupted_releases_its_journal(path):
    def interrupt(params):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        maximize(interrupt, SQUARE, 6, policy=POLICY, journal=path, progress=False)
    assert len(Optimizer(SQUARE, journal=path).pending) == 1
    assert caught.tb is not None  # it still holds the interrupted optimiser
    with pytest.raises(TypeError, match="unexpected keyword argument 'tries'"):
        maximize(hill, SQUARE, 6, tries=3)

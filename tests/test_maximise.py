from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thomax import (
    MLP,
    Bool,
    Categorical,
    Data,
    Float,
    Int,
    Ordinal,
    Pool,
    Search,
    Space,
    STOBNTSLinear,
    make_keys,
)
from thomax import maximise as module
from thomax.maximise import maximise

register = partial(
    jax.tree_util.register_dataclass,
    data_fields=["centre", "scale", "target"],
    meta_fields=["single"],
)


def score_class(values):
    """Make a score, a registered record of arrays, from a function of (target, x)."""

    @register
    @dataclass(frozen=True)
    class Score:
        centre: np.ndarray
        scale: np.ndarray
        single: bool
        target: np.ndarray

        def values(self, x):
            return values(self.target, x)

    def of(*targets):
        zeros = np.zeros(len(targets))
        return Score(zeros, zeros + 1, False, np.array(targets, np.float32))

    return of


bowl = score_class(lambda target, x: -((x - target) ** 2).sum(-1))
linear = score_class(lambda target, x: x @ target)
needle = score_class(lambda target, x: jax.numpy.exp(-200 * ((x - target) ** 2).sum(-1)))
# Target: heights and places of three peaks, one for each choice; the last column is the place.
peaks = score_class(
    lambda target, x: x[:, :3] @ target[:3] - 4 * (x[:, 3] - x[:, :3] @ target[3:]) ** 2
)

QUICK = Search(candidates=300, restarts=4)


def rng(seed=0):
    return np.random.default_rng(seed)


def draws(space, count=5):
    """Return posterior draws of a small network, rough enough to have many local maxima."""
    x = space.sample(rng(1), 12)
    policy = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
    return policy(make_keys(0, count), Data(x, rng(2).normal(size=12)))


LEVELS = ["a", "b", "c", "d"]
SPACES = {
    "categorical": Space({f"c{i}": Categorical(LEVELS) for i in range(4)}),
    "conditional": Space({
        "kind": Categorical(["tree", "line"]),
        "depth": Int(1, 30, when={"kind": "tree"}),
        "slope": Float(-1, 1, step=0.1, when={"kind": "line"}),
        "flag": Bool(),
    }),
    "constrained": Space(
        {"a": Int(0, 40), "b": Ordinal([1, 2, 5, 10])},
        constraint=lambda p: (p["a"] + p["b"]) % 3 == 1,
    ),
    "larger than a chunk": Space({"a": Int(0, 150), "b": Int(0, 150)}),
}  # fmt: skip


def all_points(space):
    """List the points of a space by hand: every combination that it accepts, once."""
    places = [p.scale.place(np.arange(p.scale.count)) for p in space.parameters.values()]
    rows = np.array([np.concatenate(row) for row in product(*places)])
    points = {tuple(params.items()): params for params in space.decode(rows)}
    return [p for p in points.values() if space.constraint is None or space.constraint(p)]


def greedy_by_hand(values, taken=()):
    """Give each draw its best point which no draw before it has got."""
    chosen = []
    for row in values:
        chosen.append(next(i for i in np.argsort(-row) if i not in [*taken, *chosen]))
    return chosen


@pytest.mark.parametrize("name", SPACES)
def test_a_finite_space_is_searched_exactly(name, monkeypatch):
    space = SPACES[name]
    points = all_points(space)
    score = draws(space)
    values = score(space.encode(points))
    expected = greedy_by_hand(values)
    monkeypatch.setattr(module, "_SMALL", 10**5)
    assert maximise(rng(), score, space) == [points[i] for i in expected]
    excluded = [points[i] for i in expected[:2]]
    expected = greedy_by_hand(values, taken=expected[:2])
    assert maximise(rng(), score, space, exclude=excluded) == [points[i] for i in expected]


def test_a_pool_is_searched_exactly_whatever_its_size_and_shape():
    features = rng(3).normal(size=(20_000, 2))
    pool = Pool(features)
    score = draws(pool)
    values = score(pool.at(np.arange(20_000)))
    expected = greedy_by_hand(values)
    assert [p["index"] for p in maximise(rng(), score, pool)] == expected
    last = pool.at([19_999])[0]
    assert maximise(rng(), bowl(last), pool) == [{"index": 19_999}]
    images = Pool(rng(4).normal(size=(20, 3, 3, 1)))
    brightest = score_class(lambda target, x: target * x.sum((1, 2, 3)))
    expected = [int(images.at(np.arange(20)).sum((1, 2, 3)).argmax())]
    assert [p["index"] for p in maximise(rng(), brightest(1.0), images)] == expected


root = score_class(lambda target, x: jax.numpy.sqrt(target * x[:, 0]))  # NaN, zero and more


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.integers(-3, 3), min_size=1, max_size=30),
    signs=st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=4),
    excluded=st.sets(st.integers(0, 29)),
    rows=st.integers(1, 8),
    part=st.sampled_from([None, 8, 16]),
)
def test_pieces_of_a_pool_are_ranked_like_the_whole(values, signs, excluded, rows, part):
    """Ties go to the lower index, excluded points and NaN to nobody, however it is cut."""
    excluded = [i for i in excluded if i < len(values)]
    with ThreadPoolExecutor(2) as executor, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", rows)
        patch.setattr(module, "_PART", part)
        pool = Pool(np.array(values, float)[:, None], executor=part and executor)
        with np.errstate(invalid="ignore"):
            scores = np.sqrt(np.array(signs)[:, None] * pool.at(range(pool.size))[:, 0])
        exclude = pool.params(excluded)
        found = [p["index"] for p in maximise(rng(), root(*signs), pool, exclude=exclude)]
    expected = []
    for row in scores:
        order = np.argsort(-row, kind="stable")
        free = [i for i in order if row[i] >= 0 and i not in [*excluded, *expected]]
        expected += free[:1]
    assert found == expected


def test_a_batch_is_the_same_however_its_draws_are_grouped(monkeypatch):
    pool = Pool(rng(3).normal(size=(500, 2)))
    corners = rng(4).choice([-2.0, 2.0], (7, 6))
    for _ in range(2):
        found = [p["index"] for p in maximise(rng(), draws(pool, 20), pool)]
        assert found == greedy_by_hand(draws(pool, 20)(pool.at(range(500))))
        climbed = CUBE.encode(maximise(rng(), bowl(*0.4 * corners), CUBE, search=QUICK))
        np.testing.assert_allclose(climbed, 0.4 * corners, atol=1e-3)
        monkeypatch.setattr(module, "_DRAWS", 3)


def test_few_draws_are_evaluated_at_once(monkeypatch):
    """Memory does not grow with the batch."""
    sizes = []

    def evaluate(score, x):
        sizes.append(len(score.centre))
        return module_evaluate(score, x)

    module_evaluate = module.evaluate
    monkeypatch.setattr(module, "evaluate", evaluate)
    for space in (CUBE, Pool(rng(3).normal(size=(50, 6)))):
        maximise(rng(), bowl(*[INSIDE] * 40), space, search=QUICK)
    assert sizes == [13, 13, 14] * 2


# Pools over an executor ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    path = tmp_path_factory.mktemp("pool") / "features.npy"
    np.save(path, rng(3).normal(5, 3, (40_000, 8)).astype(np.float32))
    return np.load(path, mmap_mode="r")


def test_processes_find_what_one_process_finds_bit_by_bit(mapped, monkeypatch):
    monkeypatch.setattr(module, "_PART", 16_384)
    here = Pool(mapped)
    score = draws(here, 3)
    best = [p["index"] for p in maximise(rng(), score, here)]
    excluded = here.params([best[0], 39_999, 20_000])
    expected = maximise(rng(), score, here, exclude=excluded)
    assert best[0] not in [p["index"] for p in expected]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        there = Pool(mapped, executor=executor)
        assert maximise(rng(), score, there, exclude=excluded) == expected
        part = [*there.parts(16_384)][1]
        none = np.array([], np.int64)
        found = executor.submit(module._best_of, score, part, none).result()
    again = module._best_of(score, part, none)
    np.testing.assert_array_equal(found.values, again.values)
    np.testing.assert_array_equal(found.indices, again.indices)
    assert (found.indices >= 16_384).all()


class Recording(ThreadPoolExecutor):
    """Threads, a list of what they were given, and a mishap in one of the tasks."""

    def __init__(self, mishap=None):
        super().__init__(1)
        self.given, self.futures, self.mishap = [], [], mishap

    def submit(self, function, *args):
        self.given.append(args)
        if len(self.given) == self.mishap:
            future = Future()
            future.set_exception(OSError("disk gone"))
        else:
            future = super().submit(function, *args)
        self.futures.append(future)
        return future


def test_a_task_gets_the_draws_a_part_and_what_is_excluded_there(mapped, monkeypatch):
    monkeypatch.setattr(module, "_PART", 16_384)
    with Recording() as executor:
        pool = Pool(mapped, executor=executor)
        score = draws(pool, 2)
        maximise(rng(), score, pool, exclude=pool.params([39_999, 7, 16_384, 16_383]))
    assert [part.start for _, part, _ in executor.given] == [0, 16_384, 32_768]
    assert [e.tolist() for _, _, e in executor.given] == [[7, 16_383], [16_384], [39_999]]


def test_a_task_that_fails_ends_the_search_and_cancels_the_others(mapped, monkeypatch):
    monkeypatch.setattr(module, "_PART", 1024)
    with Recording(mishap=1) as executor:
        pool = Pool(mapped, executor=executor)
        with pytest.raises(OSError, match="disk gone"):
            maximise(rng(), draws(pool, 1), pool)
        assert sum(future.cancelled() for future in executor.futures) > 10


def test_an_exhausted_space_returns_what_is_left_and_then_nothing():
    space = Space({"a": Int(0, 4)})
    score = draws(space, 4)
    everything = [{"a": i} for i in range(5)]
    found = maximise(rng(), score, space, exclude=everything[:3])
    assert sorted(p["a"] for p in found) == [3, 4]
    assert maximise(rng(), score, space, exclude=everything) == []
    pool = Pool(np.eye(3))
    assert maximise(rng(), bowl(np.zeros(3)), pool, exclude=pool.params([0, 1, 2])) == []


@pytest.mark.parametrize("taken", [1, 2, 3, 5])
def test_a_searched_space_returns_what_is_left_too(taken):
    space = Space({"a": Int(0, 4)})
    search = Search(candidates=50, restarts=2, exhaustive=2)
    exclude = [{"a": i} for i in range(taken)]
    found = maximise(rng(), draws(space, 4), space, search=search, exclude=exclude)
    assert sorted(p["a"] for p in found) == [*range(taken, 5)]


@pytest.mark.parametrize("constraint", [None, lambda p: p["a"] < 2])
def test_the_last_point_of_a_larger_space_is_found(constraint):
    """Random points would hardly ever meet the one point of 8,000 that is left."""
    space = Space({c: Int(0, 19) for c in "abc"}, constraint=constraint)
    points = [p for p in space.params(range(8000)) if constraint is None or constraint(p)]
    left = points.pop(321)
    assert maximise(rng(), draws(space, 2), space, exclude=points) == [left]


def test_a_larger_space_is_scored_when_maxima_are_taken():
    """The search knows the best point of a draw, the next best ones only by chance."""
    space = Space({f"c{i}": Categorical([*"abc"]) for i in range(8)})
    score = draws(space, 1)
    points = all_points(space)
    values = score(space.encode(points))[0]
    order = np.argsort(-values)
    for taken in (1, 5, 40, 200):
        exclude = [points[i] for i in order[:taken]]
        (found,) = maximise(rng(), score, space, exclude=exclude)
        assert score(space.encode([found]))[0, 0] == pytest.approx(values[order[taken]], abs=1e-5)


def test_a_grid_too_fine_to_list_is_scored_whole():
    space = Space({"a": Int(0, 9999)})
    score = draws(space, 1)
    best = space.params([int(score(space.encode(space.params(range(10_000))))[0].argmax())])
    assert maximise(rng(), score, space) == best


def test_the_search_steps_to_the_top_of_a_grid():
    """Without steps to neighbours it ends next to the top in most draws."""
    space = SPACES["larger than a chunk"]
    score, points = draws(space, 8), all_points(space)
    found = maximise(rng(), score, space, search=Search(exhaustive=0))
    tops = [points[i] for i in score(space.encode(points)).argmax(axis=1)]
    assert sum(a == b for a, b in zip(found, tops, strict=True)) >= 7


def test_the_search_goes_next_to_maxima_that_are_taken():
    """All climbs end at the top, which is taken: what remains must not be where they began."""
    space = Space({f"n{i}": Int(0, 4) for i in range(6)})
    target = np.linspace(0.02, 0.1, 6)
    away = np.sort(((space.encode(all_points(space)) - target) ** 2).sum(axis=1))
    exclude = []
    for rank in range(6):  # as a run does whose model has settled
        found = maximise(rng(), bowl(target), space, search=Search(exhaustive=0), exclude=exclude)
        assert ((space.encode(found) - target) ** 2).sum() == pytest.approx(away[rank])
        exclude += found


def test_the_search_finds_nearly_what_scoring_all_points_finds():
    """Why spaces of many points are searched first: scoring all of them takes longer."""
    space = Space({f"c{i}": Categorical([*"abc"]) for i in range(9)})
    score = draws(space, 8)
    values = score(space.encode(all_points(space)))
    found = np.diag(score(space.encode(maximise(rng(), score, space))))
    assert np.mean((values.max(axis=1) - found) / values.std(axis=1)) < 0.1


def test_an_excluded_choice_is_not_taken_for_one_that_only_looks_equal():
    space = Space({"a": Categorical([True, 1, 0, False])})
    search = Search(candidates=50, restarts=2, exhaustive=2)
    everything = [{"a": value} for value in (True, 1, 0, False)]
    found = maximise(rng(), draws(space, 4), space, search=search, exclude=everything[:1])
    assert sorted(map(repr, found)) == ["{'a': 0}", "{'a': 1}", "{'a': False}"]
    assert maximise(rng(), draws(space, 4), space, search=search, exclude=everything) == []


CUBE = Space({name: Float(-1, 1) for name in "abcdef"})
INSIDE = np.array([0.3, -0.7, 0.05, 0.9, -0.2, 0.55])
BEYOND = np.array([1.5, -0.7, -3.0, 0.9, -0.2, 2.0])


def test_a_continuous_space_is_climbed_to_the_top_inside_and_at_the_border():
    found = maximise(rng(), bowl(INSIDE, BEYOND, -INSIDE), CUBE, search=QUICK)
    expected = [INSIDE, np.clip(BEYOND, -1, 1), -INSIDE]
    np.testing.assert_allclose(CUBE.encode(found), expected, atol=1e-3)


def test_floats_are_searched_on_their_own_scale():
    space = Space({"rate": Float(1e-4, 1, log=True), "share": Float(0, 10)})
    found = maximise(rng(), bowl([0.5, -0.5]), space, search=QUICK)[0]
    assert found["rate"] == pytest.approx(0.1, rel=1e-2)
    assert found["share"] == pytest.approx(2.5, abs=1e-2)


def test_the_neighbourhood_of_good_points_is_searched_as_well():
    """A needle that random points miss, and whose slope is too small to feel from afar."""
    score, search = needle(INSIDE), Search(candidates=400, restarts=4)
    near = INSIDE[None] + 0.05
    lost = CUBE.encode(maximise(rng(), score, CUBE, search=search))
    found = CUBE.encode(maximise(rng(), score, CUBE, search=search, centres=near))
    assert np.abs(lost - INSIDE).max() > 0.1
    np.testing.assert_allclose(found[0], INSIDE, atol=1e-2)
    empty = np.empty((0, 6))
    assert len(maximise(rng(), score, CUBE, search=search, centres=empty)) == 1
    elsewhere = Search(candidates=400, restarts=4, local=0.0)
    assert maximise(rng(), score, CUBE, search=elsewhere, centres=near) == CUBE.decode(lost)


MIXED = Space({"kind": Categorical(["a", "b", "c"]), "place": Float(-1, 1)})


@pytest.mark.parametrize(
    ("heights", "places", "best"),
    [
        ([0.5, 1.0, 0.9], [-0.9, 0.8, -0.8], ("b", 0.8)),
        ([0.5, 1.0, 1.1], [-0.9, 0.8, -0.8], ("c", -0.8)),
        ([1.0, 0.2, 0.0], [2.0, 0.0, 0.0], ("b", 0.0)),  # the highest peak is out of reach
    ],
)
@pytest.mark.parametrize("search", [QUICK, Search(candidates=8, restarts=8)])
def test_choices_and_floats_are_searched_jointly(heights, places, best, search):
    found = maximise(rng(), peaks([*heights, *places]), MIXED, search=search)[0]
    assert (found["kind"], found["place"]) == (best[0], pytest.approx(best[1], abs=1e-3))


def test_a_discrete_space_too_large_to_list_is_searched_by_single_changes():
    space = Space({f"c{i}": Categorical(LEVELS) for i in range(12)} | {"n": Int(0, 40)})
    weights = rng(5).normal(size=(3, space.dimension))
    found = maximise(rng(), linear(*weights), space, search=QUICK)
    for params, row in zip(found, weights, strict=True):
        best = row[:48].reshape(12, 4).argmax(1)
        assert [params[f"c{i}"] for i in range(12)] == [LEVELS[i] for i in best]
        assert params["n"] == (40 if row[48] > 0 else 0)


def test_a_parameter_of_very_many_levels_is_climbed_and_snapped():
    space = Space({"n": Int(0, 10**7), "x": Float(-1, 1)})
    found = maximise(rng(), bowl([0.5, 0.25]), space, search=QUICK)[0]
    assert isinstance(found["n"], int)
    assert found["n"] == pytest.approx(7_500_000, abs=5000)
    assert found["x"] == pytest.approx(0.25, abs=1e-3)


CONDITIONAL = Space({
    "kind": Categorical(["a", "b", "c"]),
    "place": Float(-1, 1, when={"kind": ["b", "c"]}),
})  # fmt: skip


@pytest.mark.parametrize(
    ("target", "best"),
    [
        ([1.0, 0.9, 0.8, 0.0, 0.7, -0.7], {"kind": "a"}),
        ([0.7, 0.9, 0.8, 0.0, 0.7, -0.7], {"kind": "b", "place": pytest.approx(0.7, abs=1e-3)}),
        ([0.7, 0.7, 0.8, 0.0, 0.7, -0.7], {"kind": "c", "place": pytest.approx(-0.7, abs=1e-3)}),
    ],
)
def test_conditional_parameters_appear_where_they_are_active(target, best):
    assert maximise(rng(), peaks(target), CONDITIONAL, search=QUICK) == [best]


def test_every_point_satisfies_the_constraint():
    spaces = {
        "continuous": Space(
            {"a": Float(-1, 1), "b": Float(-1, 1)}, constraint=lambda p: p["a"] + p["b"] < 0.5
        ),
        "mixed": Space(
            {"a": Float(-1, 1), "n": Int(-10, 10)}, constraint=lambda p: p["a"] + p["n"] / 10 < 0.5
        ),
    }
    for space in spaces.values():
        found = maximise(rng(), linear([1.0, 1.0], [1.0, 0.9], [-1.0, 2.0]), space, search=QUICK)
        x = space.encode(found)
        assert space.satisfies(x).all()
        assert (x[:2].sum(1) > 0.4).all()  # and it lies near the border that holds it back
        assert x[2, 1] > 0.95


def test_rounding_at_the_end_gives_valid_points():
    space = Space({"n": Int(0, 10), "x": Float(-1, 1), "step": Float(0, 1, step=0.25)})
    search = Search(candidates=300, restarts=4, rounding=True)
    found = maximise(rng(), bowl([0.63, 0.3, -0.6]), space, search=search)
    assert found == [{"n": 8, "x": pytest.approx(0.3, abs=1e-3), "step": 0.25}]
    found = maximise(rng(), peaks([0.5, 1.0, 0.9, -0.9, 0.8, -0.8]), MIXED, search=search)[0]
    assert MIXED.validate(found) == found
    constrained = Space({"n": Int(0, 10), "x": Float(-1, 1)}, constraint=lambda p: p["n"] != 8)
    assert maximise(rng(), bowl([0.63, 0.3]), constrained, search=search)[0]["n"] != 8


def test_rounding_keeps_what_was_best_before_it():
    """The paper's way: x is the best partner of the unrounded n, not of the rounded one."""
    space = Space({"n": Int(0, 2), "x": Float(-1, 1)})
    tied = score_class(lambda target, x: -100 * (x[:, 0] - x[:, 1]) ** 2 - (x[:, 1] - target) ** 2)
    for search, x in (
        (Search(candidates=1, restarts=1, rounding=True), 0.3),
        (Search(candidates=50, restarts=4), 0.0),
    ):
        expected = {"n": 1, "x": pytest.approx(x, abs=0.01)}
        assert maximise(rng(), tied(0.3), space, search=search) == [expected]


@pytest.mark.parametrize("space", [CUBE, MIXED, SPACES["categorical"], SPACES["conditional"]])
@pytest.mark.parametrize("exhaustive", [10**5, 0])
def test_a_batch_of_equal_draws_has_distinct_points_none_of_them_excluded(space, exhaustive):
    search = Search(candidates=100, restarts=4, exhaustive=exhaustive)
    corner = np.full(space.dimension, 2.0)
    first = maximise(rng(), bowl(corner), space, search=search)
    found = maximise(rng(), bowl(*[corner] * 4), space, search=search, exclude=first)
    rows = {row.tobytes() for row in space.encode([*first, *found])}
    assert len(rows) == 5


def test_the_search_is_a_function_of_its_generator():
    score = draws(MIXED)
    once, again = (maximise(rng(7), score, MIXED, search=QUICK) for _ in range(2))
    assert once == again


def test_the_maximum_of_a_rough_draw_is_that_of_a_dense_grid_or_higher():
    space = Space({"a": Float(-1, 1), "b": Float(-1, 1)})
    score = draws(space)
    axis = np.linspace(-1, 1, 101)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    found = maximise(rng(), score, space, search=Search(candidates=2000, restarts=12))
    ours = np.diag(score(space.encode(found)))
    assert (ours >= score(grid).max(1) - 1e-3).all()


@pytest.mark.parametrize("name", ["candidates", "restarts", "restarts_per_draw", "rounds"])
def test_a_search_that_looks_nowhere_is_refused(name):
    with pytest.raises(ValueError, match=f"Search needs {name} >= 1, got 0"):
        Search(**{name: 0})


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_the_local_share_is_a_share(share):
    with pytest.raises(ValueError, match="Search needs local from 0 to 1"):
        Search(local=share)


def test_the_papers_search_screens_ten_thousand_points_and_rounds():
    assert Search.paper().candidates == 10_000
    assert Search.paper().local == 0
    assert Search.paper().rounding

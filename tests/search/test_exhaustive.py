"""Finite spaces and pools that are scored whole, and what of them is left."""

from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scores import (
    CUBE,
    INSIDE,
    QUICK,
    SPACES,
    all_points,
    bowl,
    draws,
    greedy_by_hand,
    rng,
    score_class,
)

from thomax import Categorical, Int, Optimizer, Pool, Random, Search, Space
from thomax.model.evaluation import CompiledEvaluator
from thomax.search import exhaustive
from thomax.search.maximise import maximise


@pytest.mark.parametrize("name", SPACES)
def test_a_finite_space_is_searched_exactly(name, monkeypatch):
    space = SPACES[name]
    points = all_points(space)
    score = draws(space)
    values = score(space.encode(points))
    expected = greedy_by_hand(values)
    monkeypatch.setattr("thomax.search.maximise._SMALL", 10**5)
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
        patch.setattr(exhaustive, "ROWS", rows)
        patch.setattr(exhaustive, "_PART", part)
        pool = Pool(np.array(values, float)[:, None], executor=part and executor)
        with np.errstate(invalid="ignore"):
            scores = np.sqrt(np.array(signs)[:, None] * pool.at(range(pool.size))[:, 0])
        expected = []
        for row in scores:
            order = np.argsort(-row, kind="stable")
            free = [i for i in order if row[i] >= 0 and i not in [*excluded, *expected]]
            expected += free[:1]
        exclude = pool.params(excluded)
        if not expected and len({*excluded}) < pool.size:
            with pytest.raises(ValueError, match="score needs to be a number somewhere"):
                maximise(rng(), root(*signs), pool, exclude=exclude)
            return
        found = [p["index"] for p in maximise(rng(), root(*signs), pool, exclude=exclude)]
    assert found == expected


def test_a_batch_is_the_same_however_its_draws_are_grouped(monkeypatch):
    pool = Pool(rng(3).normal(size=(500, 2)))
    corners = rng(4).choice([-2.0, 2.0], (7, 6))
    for _ in range(2):
        found = [p["index"] for p in maximise(rng(), draws(pool, 20), pool)]
        assert found == greedy_by_hand(draws(pool, 20)(pool.at(range(500))))
        climbed = CUBE.encode(maximise(rng(), bowl(*0.4 * corners), CUBE, search=QUICK))
        np.testing.assert_allclose(climbed, 0.4 * corners, atol=1e-3)
        monkeypatch.setattr("thomax.search.scores._DRAWS", 3)


def test_few_draws_are_evaluated_at_once(monkeypatch):
    """Memory does not grow with the batch."""
    sizes, evaluate_all = [], CompiledEvaluator.values

    def values(self, x):
        sizes.append(self.count)
        return evaluate_all(self, x)

    monkeypatch.setattr(CompiledEvaluator, "values", values)
    for space in (CUBE, Pool(rng(3).normal(size=(50, 6)))):
        maximise(rng(), bowl(*[INSIDE] * 40), space, search=QUICK)
    assert {*sizes} == {13, 14}  # some draws have the same maximum, and look again


def test_the_last_points_that_a_tight_constraint_allows_are_found(monkeypatch):
    """13 points of 2,197, as if those were too many to be scored: random ones miss some."""
    monkeypatch.setattr("thomax.search.multistart._TRIES", 1)
    space = Space({n: Int(0, 12) for n in "abc"}, constraint=lambda p: len({*p.values()}) == 1)
    optimizer = Optimizer(space, Random(), seed=0, initial=1, search=Search(max_enumerated=100))
    found = []
    for _ in range(14):
        for trial in optimizer.ask(1):
            optimizer.tell(trial, 0.0)
            found.append(trial.params["a"])
    assert sorted(found) == [*range(13)]


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
    search = Search(candidates=50, restarts=2, max_enumerated=2)
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


def test_an_excluded_choice_is_not_taken_for_one_that_only_looks_equal():
    space = Space({"a": Categorical([True, 1, 0, False])})
    search = Search(candidates=50, restarts=2, max_enumerated=2)
    everything = [{"a": value} for value in (True, 1, 0, False)]
    found = maximise(rng(), draws(space, 4), space, search=search, exclude=everything[:1])
    assert sorted(map(repr, found)) == ["{'a': 0}", "{'a': 1}", "{'a': False}"]
    assert maximise(rng(), draws(space, 4), space, search=search, exclude=everything) == []

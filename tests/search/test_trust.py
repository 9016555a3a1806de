"""At first, numbers stay near what was evaluated: in the union of boxes around all of it."""

from dataclasses import replace

import numpy as np
import pytest
from scores import linear

from thomax import Bool, Categorical, Float, Int, Optimizer, Random, Search, Space
from thomax.search.maximise import maximise
from thomax.search.trust import Box, TrustSet, trust_set
from thomax.space.given import SpaceRegion

MIXED = Space(
    {
        "x": Float(0, 1),
        "n": Int(0, 50),
        "kind": Categorical([*"abc"]),
        "on": Bool(),
        "y": Float(1e-3, 1, log=True),
    }
)


def rng(seed=0):
    return np.random.default_rng(seed)


def is_inside(points, known, h, columns):
    """Whether each point lies in the box of some evaluated one, by brute force."""
    away = np.abs(points[:, None, columns] - known[None][:, :, columns]).max(axis=2)
    return away.min(axis=1) <= 2 * h + 1e-6


def numeric(space):
    one = [b.columns.start for b in space.blocks if b.columns.stop - b.columns.start == 1]
    return [c for c in one if c != space.blocks[list(space.parameters).index("on")].columns.start]


@pytest.mark.parametrize(("d", "start"), [(1, 3), (9, 27), (10, 30), (40, 30)])
def test_the_start_has_three_evaluations_for_each_parameter_at_most_thirty(d, start):
    space = Space({f"x{i}": Float(0, 1) for i in range(d)})

    def h(n, trust=0.2):
        return trust_set(trust, space, np.zeros((n, d))).h

    assert h(0) is None  # nothing is evaluated: there is no box
    assert h(1) == h(start - 1) == 0.2
    assert h(start) is h(start + 1) is h(1, trust=None) is None


def test_candidates_come_into_boxes_and_choices_stay_as_they_were():
    known, h = MIXED.sample(rng(), 4), 0.1
    drawn = MIXED.sample(rng(1), 600)
    x, box = TrustSet(MIXED, known, h).confine(rng(2), drawn, 400)
    columns = numeric(MIXED)
    step = 1 / 50  # an Int is rounded to a level
    assert is_inside(x, known, h + step, columns).all()
    assert not is_inside(drawn, known, h + step, columns).all()
    others = np.setdiff1d(np.arange(x.shape[1]), columns)
    np.testing.assert_array_equal(x[:, others], drawn[:, others])
    np.testing.assert_allclose(MIXED.snap(x), x)
    inside = (x >= box.low - 2 * step) & (x <= box.high + 2 * step)
    assert inside.all()
    np.testing.assert_array_equal(box.low[:, others], -1)
    np.testing.assert_array_equal(box.high[:, others], 1)
    np.testing.assert_allclose(box.high[:, columns].max(), min(1, known[:, columns].max() + 0.2))


def test_numbers_that_not_every_point_has_are_free():
    """Where it is missing, a number stands in the middle, wherever it is good."""
    space = Space(
        {
            "kind": Categorical(["a", "b"]),
            "x": Float(0, 1, when={"kind": "a"}),
            "y": Float(0, 1),
        }
    )
    known = space.encode([{"kind": "b", "y": 0.5}])
    x, box = TrustSet(space, known, 0.1).confine(rng(), space.sample(rng(1), 300), 200)
    place = {b.name: b.columns.start for b in space.blocks}
    assert np.abs(x[:, place["x"]]).max() > 0.9
    assert np.abs(x[:, place["y"]]).max() <= 0.2
    assert (box.low[:, place["x"]] == -1).all()


def test_what_is_spread_fills_the_boxes_evenly_and_the_rest_moves_least():
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    known = np.array([[0.0, 0.0], [0.5, -0.5]])
    x, _ = TrustSet(space, known, 0.1).confine(rng(), space.sample(rng(1), 4000), 4000)
    own = x[np.abs(x).max(axis=1) <= 0.2]  # the boxes do not overlap
    assert abs(len(own) - 2000) < 5 * np.sqrt(1000)
    np.testing.assert_allclose(own.mean(axis=0), 0, atol=5 * 0.2 / np.sqrt(3 * 2000))
    np.testing.assert_allclose(own.std(axis=0), 0.2 / np.sqrt(3), rtol=0.1)
    near = np.array([[0.1, 0.05], [0.3, 0.0], [1.0, -0.5]])
    moved, _ = TrustSet(space, known, 0.1).confine(rng(), near, 0)
    # (0.3, 0) is closest to the first point, (1, -0.5) to the second one.
    np.testing.assert_allclose(moved[0], near[0])
    np.testing.assert_allclose(moved[1:, 1], near[1:, 1])
    assert abs(moved[1, 0]) < 0.2
    assert 0.3 < moved[2, 0] < 0.7


def test_the_maximum_of_a_draw_is_sought_in_the_trust_set():
    space = Space({f"x{i}": Float(0, 1) for i in range(5)})
    known = space.sample(rng(), 6)
    h = trust_set(0.2, space, known).h
    score = linear(*np.ones((2, 5)))
    found = space.encode(maximise(rng(1), score, space, centres=known[:2], evaluated=known))
    assert is_inside(found, known, h, slice(None)).all()
    best = np.minimum(known + 2 * h, 1).sum(axis=1).max()  # the upper corner of a box
    np.testing.assert_allclose(found[0].sum(), best, atol=1e-3)
    free = maximise(
        rng(1), score, space, search=Search(trust=None), centres=known[:2], evaluated=known
    )
    np.testing.assert_allclose(space.encode(free)[0], 1, atol=1e-3)


def test_without_good_points_the_whole_space_is_searched():
    """Random points, and what an initial design does not know yet, are no matter of trust."""
    space = Space({f"x{i}": Float(0, 1) for i in range(5)})
    known = space.sample(rng(), 6)
    found = maximise(rng(), linear(*np.ones((1, 5))), space, centres=known[:2], known=known)
    np.testing.assert_allclose(space.encode(found), 1, atol=1e-3)
    drawn = []
    for search in (Search(), Search(trust=None)):
        optimizer = Optimizer(space, Random(), seed=0, initial=2, search=search)
        for trial in optimizer.ask(2):
            optimizer.tell(trial, trial.params["x0"])
        drawn.append([trial.params for trial in optimizer.ask(8)])
    assert drawn[0] == drawn[1]


def test_draws_with_the_same_maximum_get_points_of_the_trust_set_too():
    """All want the same corner of a box: the next best points lie in it, not anywhere."""
    space = Space({"x": Float(-1, 1)})
    known = np.array([[0.5]])
    h = trust_set(0.2, space, known).h
    for few in (Search(restarts=2, restarts_per_draw=1), Search(candidates=4)):
        found = maximise(
            rng(), linear(*np.ones((6, 1))), space, search=few, centres=known, evaluated=known
        )
        assert is_inside(space.encode(found), known, h, slice(None)).all()
        assert len({p["x"] for p in found}) == 6


def test_a_constraint_holds_inside_the_trust_set_too():
    space = Space(
        {f"x{i}": Float(0, 1) for i in range(4)}, constraint=lambda p: p["x0"] + p["x1"] <= 0.9
    )
    known = space.sample(rng(), 5)
    score = linear(*np.ones((3, 4)))
    found = maximise(rng(1), score, space, centres=known[:1], evaluated=known)
    assert len(found) == 3
    assert all(p["x0"] + p["x1"] <= 0.9 for p in found)


def test_given_parameters_leave_boxes_around_the_others():
    space = Space({f"x{i}": Float(0, 1) for i in range(4)})
    known = space.sample(rng(), 6)
    region = SpaceRegion(space, {"x0": 0.25})
    found = maximise(rng(1), linear(*np.ones((1, 4))), region, centres=known[:2], evaluated=known)
    assert found[0]["x0"] == 0.25
    assert is_inside(space.encode(found), known, 0.2, slice(1, 4)).all()


def test_failed_evaluations_are_nothing_to_stay_near_to():
    optimizer = Optimizer({f"x{i}": Float(0, 1) for i in range(5)}, seed=0, initial=0)
    bad, good = ({f"x{i}": v for i in range(5)} for v in (0.95, 0.1))
    optimizer.tell(good, 1.0)
    optimizer.tell(bad, error="burst")
    proposed = optimizer.space.encode([t.params for t in optimizer.ask(8)])
    assert is_inside(proposed, optimizer.space.encode([good]), 0.2, slice(None)).all()


def test_a_search_walks_out_of_the_first_boxes():
    space = {f"x{i}": Float(0, 1) for i in range(6)}
    optimizer = Optimizer(space, seed=0)
    optimizer.run(lambda p: sum(p.values()), 30, progress=False)
    assert optimizer.best.value > 5.9


def test_the_paper_and_the_released_code_trust_everywhere():
    assert Search.paper().trust is Search.released().trust is None


@pytest.mark.parametrize("trust", [-0.1, 1.5, "near", True])
def test_trust_is_a_share_or_none(trust):
    with pytest.raises((ValueError, TypeError), match="trust"):
        Search(trust=trust)


def test_boxes_of_the_whole_cube_take_no_memory():
    box = Box.whole((10**6, 10**6))
    assert replace(box).take(np.array([[3, 5]])).low.shape == (1, 2, 10**6)

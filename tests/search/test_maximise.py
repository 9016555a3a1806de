"""The entry to the search: which way a space is maximised, and by which name."""

from functools import partial

import numpy as np
import pytest
from scores import CUBE, QUICK, SPACES, bowl, draws, rng

import thomax
from thomax import Int, Pool, Search, Space
from thomax.search.maximise import maximise
from thomax.search.multistart import climb_candidates

GRID = Space({name: Int(0, 4) for name in "abcdef"})  # 15,625 points: searched, then scored
BEST = np.full(6, 0.5)  # the fourth level of each


def test_there_is_one_public_word_for_maximising():
    """`thomax.maximise` was a module once, and not the function that people expected."""
    assert callable(thomax.maximize)
    assert not hasattr(thomax, "maximise")


def test_the_search_stops_where_the_best_point_is_taken_and_can_be_looked_up():
    score, best = bowl(BEST, BEST), GRID.decode(BEST[None])
    arguments = (score, GRID, QUICK, [], None, (), ())
    climb = partial(climb_candidates, distinct=True)
    stopped = climb(rng(), *arguments, stop_if_taken=True)
    assert stopped.stopped
    assert GRID.decode(stopped.points) == best  # the first draw took it
    finished = climb(rng(), *arguments, stop_if_taken=False)
    assert not finished.stopped
    assert len(finished.points) == 2


def test_what_a_stopped_search_has_missed_is_found_by_scoring_every_point():
    best = GRID.decode(BEST[None])
    (found,) = maximise(rng(), bowl(BEST), GRID, search=QUICK, exclude=best)
    steps = [abs(found[name] - best[0][name]) for name in found]
    assert sorted(steps) == [0, 0, 0, 0, 0, 1]  # the next best is one step away


@pytest.mark.parametrize(
    "space", [SPACES["categorical"], Pool(rng(3).normal(size=(500, 3)))], ids=["finite", "pool"]
)
def test_points_that_may_coincide_are_each_draws_own_maximum(space):
    """Line 8 of Algorithm 1 takes the largest value over the whole domain, for every draw."""
    rows = np.concatenate([x for _, x in space.chunks(1000)]).astype(np.float32)
    score = draws(space, 40)
    expected = space.params(score(rows).argmax(axis=1))
    assert maximise(rng(), score, space, distinct=False) == expected
    found = maximise(rng(), score, space)
    names = [str(point) for point in found]
    assert len(set(names)) == len(names) == 40  # by default all differ
    assert len({str(point) for point in expected}) < 40


def test_draws_with_one_maximum_get_it_all_where_points_may_coincide():
    score = bowl(*[np.full(6, 2.0)] * 3)  # beyond a corner, where the search ends exactly
    found = maximise(rng(), score, CUBE, search=QUICK, distinct=False)
    assert found == CUBE.decode(np.ones((3, 6)))
    apart = maximise(rng(), score, CUBE, search=QUICK)
    assert apart[0] == found[0]
    assert len({str(point) for point in apart}) == 3
    same = maximise(rng(), bowl(*[BEST] * 3), GRID, search=Search(), distinct=False)
    assert same == GRID.decode(np.tile(BEST, (3, 1)))

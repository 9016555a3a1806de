"""The entry to the search: which way a space is maximised, and by which name."""

import numpy as np
from scores import QUICK, bowl, rng

import thomax
from thomax import Int, Space
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
    arguments = (score, GRID, QUICK, [], None, ())
    stopped = climb_candidates(rng(), *arguments, stop_if_taken=True)
    assert stopped.stopped
    assert GRID.decode(stopped.points) == best  # the first draw took it
    finished = climb_candidates(rng(), *arguments, stop_if_taken=False)
    assert not finished.stopped
    assert len(finished.points) == 2


def test_what_a_stopped_search_has_missed_is_found_by_scoring_every_point():
    best = GRID.decode(BEST[None])
    (found,) = maximise(rng(), bowl(BEST), GRID, search=QUICK, exclude=best)
    steps = [abs(found[name] - best[0][name]) for name in found]
    assert sorted(steps) == [0, 0, 0, 0, 0, 1]  # the next best is one step away

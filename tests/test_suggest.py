"""The default policy of a space: how large the deviation of its draws is, and when."""

import numpy as np
import pytest

from thomax import Categorical, Float, Pool, Space
from thomax.suggest import GreedyStart, default_policy


def numbers(d):
    return Space({f"x{i}": Float(0, 1) for i in range(d)})


@pytest.mark.parametrize(
    ("space", "length", "later"),
    [
        (numbers(1), 3, 1.0),
        (numbers(2), 6, 1.0),
        (numbers(6), 18, 0.5),
        (numbers(40), 30, 0.5),
        (Space({"kind": Categorical(["a", "b"]), "x": Float(0, 1)}), 6, 1.0),
        (Pool(np.random.default_rng(0).normal(size=(9, 2))), 30, 1.0),
    ],
)
def test_draws_begin_with_a_quarter_of_the_deviation_and_end_with_half_or_all_of_it(
    space, length, later
):
    beta = default_policy(space).beta
    assert beta == GreedyStart(length, then=later)
    assert [beta(n) for n in (0, length - 1, length, 10**6)] == [0.25, 0.25, later, later]


def test_targets_are_not_warped_where_the_space_is_explored_fully():
    assert default_policy(numbers(3)).warp_targets
    assert not default_policy(numbers(2)).warp_targets

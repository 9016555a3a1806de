"""Trials are ranked in one place: complete ones only, the best first."""

import pytest

from thomax.storage.trial import Trial, ranked, sign_of, value_of

TRIALS = [
    Trial(0, {}, 2.0, "complete"),
    Trial(1, {}, None, "failed", "no luck"),
    Trial(2, {}, -1.0, "complete"),
    Trial(3, {}),
    Trial(4, {}, 2.0, "complete"),
    Trial(5, {}, None, "dropped"),
]


@pytest.mark.parametrize(
    ("direction", "numbers"), [("maximize", [0, 4, 2]), ("minimize", [2, 0, 4])]
)
def test_the_best_comes_first_and_of_equal_ones_the_earlier(direction, numbers):
    assert [t.number for t in ranked(TRIALS, direction)] == numbers


def test_larger_is_better_after_the_sign():
    assert (sign_of("maximize"), sign_of("minimize")) == (1.0, -1.0)


def test_only_a_trial_with_a_value_has_one():
    assert value_of(Trial(0, {}, 0.0, "complete")) == 0.0
    with pytest.raises(AssertionError):
        value_of(Trial(1, {}, None, "failed"))

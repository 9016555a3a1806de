"""What is said of one trial."""

import pytest

from thomax.storage.trial import Trial, sign_of, value_of


def test_larger_is_better_after_the_sign():
    assert (sign_of("maximize"), sign_of("minimize")) == (1.0, -1.0)


def test_only_a_trial_with_a_value_has_one():
    assert value_of(Trial(0, {}, 0.0, "complete")) == 0.0
    with pytest.raises(AssertionError):
        value_of(Trial(1, {}, None, "failed"))

"""What a model learns from, and that it is the same whenever points were encoded."""

import numpy as np

from thomax import Categorical, Float, Int, Space
from thomax.storage.observations import EncodedHistory, encoded, observed_data

SPACE = Space({
    "x": Float(0, 1), "n": Int(1, 4), "kind": Categorical(["a", "b"]),
    "y": Float(0, 1, when={"kind": "b"}),
})  # fmt: skip
RECORDS = [
    {"ask": 0, "params": {"x": 0.5, "n": 2, "kind": "a"}},
    {"ask": 1, "params": {"x": 0.25, "n": 3, "kind": "b", "y": 0.75}},
    {"tell": 0, "value": 3.0, "error": None},
    {"add": 2, "params": {"x": 0.0, "n": 1, "kind": "a"}, "value": None, "error": "no luck"},
    {"ask": 3, "params": {"x": 1.0, "n": 4, "kind": "a"}},
    {"tell": 1, "value": 1.0, "error": None, "params": {"x": 0.75, "n": 3, "kind": "a"}},
]


def test_failures_are_nan_and_larger_is_better():
    data = observed_data(np.zeros((3, 2)), [1.0, None, np.nan], np.ones((1, 2)), "minimize")
    np.testing.assert_array_equal(data.y, [-1.0, np.nan, np.nan])
    assert data.pending.shape == (1, 2)


def test_no_points_have_the_shape_of_some():
    assert encoded(SPACE, []).shape == (0, SPACE.dimension)
    assert EncodedHistory(SPACE).rows().shape == (0, SPACE.dimension)
    assert len(EncodedHistory(SPACE).data()) == 0


def test_points_looked_at_after_each_record_are_those_looked_at_once():
    """Trial 1 was evaluated elsewhere than proposed: what was remembered of it is not used."""
    history = EncodedHistory(SPACE)
    for record in RECORDS:
        history.apply(record)
        step_by_step, identities = history.data(), history.identities()
    at_once = EncodedHistory(SPACE, RECORDS)
    for name in ("x", "y", "pending"):
        known, expected = getattr(step_by_step, name), getattr(at_once.data(), name)
        np.testing.assert_array_equal(known, expected)
    assert identities == at_once.identities()
    assert SPACE.decode(step_by_step.x[1:2]) == [RECORDS[-1]["params"]]

"""What a model learns from, and that it is the same whenever points were encoded."""

import numpy as np

from thomax import Categorical, Float, Int, Optimizer, Space
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


def test_replicates_become_their_mean_with_what_they_say_of_the_noise():
    search = Optimizer({"x": Float(-1, 1)}, direction="minimize", seed=0)
    search.tell({"x": 0.1}, [1.0, 2.0, 6.0], noise_std=0.3)
    search.tell({"x": 0.2}, 4.0, noise_std=0.2)
    search.tell({"x": 0.3}, [1.0, 3.0])
    search.tell({"x": 0.4}, error="lost")
    data = search._history.data()
    np.testing.assert_allclose(data.y, [-3.0, -4.0, -2.0, np.nan])
    np.testing.assert_allclose(data.repeats, [3, 1, 2, 1])
    np.testing.assert_allclose(data.noise_std, [0.3 / np.sqrt(3), 0.2, np.nan, np.nan])
    np.testing.assert_allclose(data.scatter, [14.0, 0.0, 2.0, 0.0])


def test_each_metric_has_the_noise_that_was_told_of_it():
    search = Optimizer({"x": Float(-1, 1)}, objectives={"a": "maximize", "b": "minimize"}, seed=0)
    search.tell({"x": 0.1}, {"a": [1.0, 3.0], "b": 2.0}, noise_std={"b": 0.5})
    search.tell({"x": 0.2}, {"a": 1.0})
    of_a, of_b = search._history.data("a"), search._history.data("b")
    np.testing.assert_allclose(of_a.repeats, [2, 1])
    np.testing.assert_allclose(of_a.noise_std, [np.nan, np.nan])
    np.testing.assert_allclose([of_b.y, of_b.repeats, of_b.noise_std], [[-2.0], [1], [0.5]])


def test_an_error_that_is_known_draws_the_prediction_to_the_better_measurement():
    far = {}
    for first, second in ((0.01, 3.0), (3.0, 0.01)):
        search = Optimizer({"x": Float(-1, 1)}, seed=0)
        for x in (-0.9, -0.5, 0.5, 0.9):
            search.tell({"x": x}, x, noise_std=0.05)
        search.tell({"x": 0.0}, 1.0, noise_std=first)
        search.tell({"x": 0.0}, -1.0, noise_std=second)
        far[first] = float(search.predict([{"x": 0.0}]).mean[0])
    assert far[0.01] > 0.5
    assert far[3.0] < -0.5

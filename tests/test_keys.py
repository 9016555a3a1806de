import jax
import numpy as np
import pytest

from thomax.keys import Stream, as_keys, make_key, make_keys, normals, stream


def test_a_stream_depends_on_seed_number_and_purpose_only():
    a = stream(make_key(1, 2), 3).standard_normal(5)
    np.testing.assert_array_equal(a, stream(make_key(1, 2), 3).standard_normal(5))
    for other in (stream(make_key(2, 2), 3), stream(make_key(1, 3), 3), stream(make_key(1, 2), 4)):
        assert not np.isclose(a, other.standard_normal(5)).any()


def test_the_numbers_of_streams_never_change():
    """Every result of every seed depends on them, and on none being used for two things."""
    numbers = {name: int(purpose) for name, purpose in Stream.__members__.items()}
    assert numbers == {
        "RANDOM_SCORE": 0, "THETA0": 1, "THETA0_PRIME": 2, "NEURAL_TS_NOISE": 2, "EPS": 3,
        "FREQUENCIES": 4, "TAILS": 5, "INITIAL_DESIGN": 11, "SEARCH": 12, "OPTUNA_CHOICE": 13,
        "REPORT_POINTS": 21, "REPORT_CANDIDATES": 22, "FAILURES": 31, "WEIGHTS": 41, "METRICS": 42,
    }  # fmt: skip
    plain = stream(make_key(1, 2), 12).standard_normal(5)
    np.testing.assert_array_equal(stream(make_key(1, 2), Stream.SEARCH).standard_normal(5), plain)


def test_streams_of_neighbouring_keys_are_uncorrelated():
    draws = normals(make_keys(0, 50), 4000, Stream.EPS)
    correlations = np.corrcoef(draws)[np.triu_indices(50, 1)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(4000)  # 1225 pairs
    assert abs(draws.var() - 1) < 4 * np.sqrt(2 / draws.size)


@pytest.mark.parametrize(
    ("key", "batch", "single"),
    [(5, 1, True), (make_key(1), 1, True), (make_keys(1, 3), 3, False), ([[1, 2]], 1, False)],
)
def test_keys_come_in_many_forms(key, batch, single):
    keys, is_single = as_keys(key)
    assert keys.shape == (batch, 2)
    assert is_single == single


def test_a_key_of_jax_is_a_key():
    keys, single = as_keys(jax.random.key(3))
    assert single
    assert keys.shape == (1, 2)
    assert as_keys(jax.random.split(jax.random.key(3), 4))[0].shape == (4, 2)


@pytest.mark.parametrize("key", [0.5, [1, 2, 3], np.zeros((0, 2), int), "seed"])
def test_what_is_no_key_is_refused(key):
    with pytest.raises((TypeError, ValueError), match="key"):
        as_keys(key)


def test_negative_and_huge_seeds_are_keys():
    assert make_key(-1, 2**70 + 1).tolist() == [2**64 - 1, 1]

"""Random picks uniformly, Sobol follows SciPy's sequence, both reproducibly."""

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

from thomax.keys import make_key, make_keys
from thomax.model.data import Data
from thomax.model.evaluation import evaluate, evaluator
from thomax.policies.random import Random, Sobol
from thomax.search.maximise import maximise
from thomax.space.parameters import Categorical, Float, Int
from thomax.space.space import Space

NOTHING = Data(np.zeros((0, 2)), np.zeros(0))


def points(n, d=2, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, d))


def test_random_picks_uniformly_from_a_pool():
    """4,000 keys, 10 points, some of them alike in a coordinate: chi-square at level 1e-4."""
    pool = np.concatenate([[[-1, -1], [-1, 1], [1, -1], [1, 1], [0, 1], [0, -1]], points(4)])
    picks = Random()(make_keys(0, 4000), NOTHING)(pool).argmax(axis=1)
    assert stats.chisquare(np.bincount(picks, minlength=10)).pvalue > 1e-4


def test_random_scores_are_standard_normal_and_independent():
    """Of points and of keys; correlations of N numbers stay within four standard errors."""
    count = 4000
    first, second = Random()(make_keys(0, 2), NOTHING)(points(count))
    assert stats.kstest(first, "norm").pvalue > 1e-4
    for a, b in ((first, second), (first[1:], first[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(count)


def test_scores_of_the_corners_of_rectangles_are_independent():
    """The weak spot of hashing coordinates one by one: their product has mean 0 and sd 1."""
    count = 4000
    a, b, c, d = points(count, 4).T
    corners = [(a, c), (a, d), (b, c), (b, d)]
    score = Random()(3, NOTHING)
    product = np.prod([score(np.stack(corner, axis=1)) for corner in corners], axis=0)
    assert abs(product.mean()) < 4 / np.sqrt(count)


def test_random_scores_belong_to_the_point_and_the_key():
    x = points(50)
    whole = Random()(make_keys(4, 3), NOTHING)(x)
    np.testing.assert_array_equal(Random()(make_key(4, 2), NOTHING)(x[::-1]), whole[2, ::-1])
    assert len(np.unique(whole)) == whole.size
    swapped = Random()(make_key(4, 2), NOTHING)(x[:, ::-1])
    assert (swapped != whole[2]).all()


def test_a_zero_has_no_sign():
    score = Random()(0, NOTHING)
    assert score(np.array([[0.0, 1.0]])) == score(np.array([[-0.0, 1.0]]))


def test_the_precision_of_jax_does_not_matter():
    score = Random()(make_keys(0, 2), NOTHING)
    x = points(9).astype(np.float32)
    with jax.enable_x64(False):  # `evaluate` switches it on
        found = jax.jit(jax.vmap(lambda s: s.values(x)))(score)
    np.testing.assert_allclose(found, evaluate(score, x), rtol=1e-5)


def test_random_scores_are_flat():
    x = points(6).reshape(2, 3, 2).astype(np.float32)
    assert not evaluator(Random()(make_keys(0, 2), NOTHING)).own_gradients(x)[1].any()


def test_random_proposes_different_points_of_a_mixed_space():
    space = Space({"x": Float(0, 1), "n": Int(0, 10**6), "c": Categorical(["a", "b"])})
    data = Data(np.zeros((0, space.dimension)), np.zeros(0))
    found = maximise(np.random.default_rng(0), Random()(make_keys(0, 5), data), space)
    assert len({str(params) for params in found}) == 5


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 4, 1)])
def test_sobol_points_are_those_of_scipy(shape):
    d = int(np.prod(shape))
    data = Data(np.zeros((0, *shape)), np.zeros(0))
    found = Sobol()(make_keys(7, 8), data).target
    expected = 2 * qmc.Sobol(d, scramble=True, rng=np.random.default_rng(7)).random(8) - 1
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_late_sobol_points_are_those_of_scipy():
    late = make_keys(7, 3, first=190)
    data = Data(np.zeros((0, 5)), np.zeros(0))
    expected = 2 * qmc.Sobol(5, scramble=True, rng=np.random.default_rng(7)).random(256) - 1
    np.testing.assert_allclose(Sobol()(late, data).target, expected[190:193], atol=1e-6)


def test_too_many_columns_for_a_sobol_sequence_are_refused():
    with pytest.raises(ValueError, match="Sobol needs <= 21201 columns, got 30000: use Random"):
        Sobol()(0, Data(np.zeros((0, 30_000)), np.zeros(0)))


def test_sobol_scores_are_maximal_at_its_points():
    space = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
    score = Sobol()(make_keys(7, 3), NOTHING)
    found = maximise(np.random.default_rng(0), score, space)
    np.testing.assert_allclose([[p["x"], p["y"]] for p in found], score.target, atol=1e-4)


def test_sobol_takes_any_key():
    huge = np.array([2**64 - 1, 2**64 - 1], np.uint64)
    for key in (huge, 0, jax.random.key(1)):
        assert np.isfinite(Sobol()(key, NOTHING)(points(3))).all()


@pytest.mark.parametrize("policy", [Random(), Sobol()])
@pytest.mark.parametrize("shape", [(1,), (2,), (5, 4, 1)])
def test_the_data_do_not_matter(policy, shape):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(6, *shape))
    empty, full = Data(x[:0], []), Data(x, [1.0, np.nan, 3.0, 3.0, 1e300, 0.0], pending=x[:2])
    found = policy(make_keys(1, 2), full)(x)
    assert found.shape == (2, 6)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, policy(make_keys(1, 2), empty)(x))
    assert policy(make_key(1, 1), full)(x).shape == (6,)

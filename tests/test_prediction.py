"""Predictions against a Gaussian process written anew, quadrature and draws."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import thomax as tx
from thomax.model.targets import invertible
from thomax.policies.prepared import Marginals
from thomax.prediction import _of_normal, _spread_of_draws

X = np.array([-0.9, -0.5, -0.2, 0.1, 0.45, 0.8])
NEW = np.array([-0.7, 0.0, 0.3, 0.95])
LINE = {"x": tx.Float(-1, 1)}
NETWORK = tx.MLP(1, 64, "relu", w_std=1.3, b_std=0.2)


def searched(policy=None, values=None, **options):
    values = np.sin(3 * X) if values is None else values
    search = tx.Optimizer(LINE, policy, seed=0, **options)
    search.tell_all([({"x": x}, y, None) for x, y in zip(X, values, strict=True)])
    return search


def relu_tangent_kernel(a, b, w2, b2):
    """The tangent kernel of a hidden ReLU layer, by arc cosines, of points lifted to a circle."""
    a, b = (np.sqrt(2) * np.c_[z, np.ones_like(z)] / np.hypot(z, 1)[:, None] for z in (a, b))
    found = np.empty((len(a), len(b)))
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            pp, qq, pq = (w2 * (u @ v) / 2 + b2 for u, v in ((p, p), (q, q), (p, q)))
            angle = math.acos(min(1.0, pq / math.sqrt(pp * qq)))
            products = math.sqrt(pp * qq) / (2 * math.pi)
            products *= math.sin(angle) + (math.pi - angle) * math.cos(angle)
            slopes = (math.pi - angle) / (2 * math.pi)
            found[i, j] = w2 * products + b2 + w2 * slopes * pq
    return found


def test_mean_and_deviation_are_those_of_a_gaussian_process():
    noise, values = 0.2, 5 + 2 * np.sin(3 * X)
    found = searched(tx.STOBNTSLinear(NETWORK, noise_std=noise), values).predict(
        [{"x": x} for x in NEW]
    )
    centre, scale = values.mean(), values.std()
    K, k, prior = (
        relu_tangent_kernel(a, b, 1.3**2, 0.2**2) for a, b in ((X, X), (X, NEW), (NEW, NEW))
    )
    inverse = np.linalg.inv(K + noise**2 * np.eye(len(X)))
    mean = k.T @ inverse @ ((values - centre) / scale)
    std = np.sqrt(np.diag(prior - k.T @ inverse @ k))
    np.testing.assert_allclose(found.mean, centre + scale * mean, rtol=1e-5)
    np.testing.assert_allclose(found.std, scale * std, rtol=1e-4)
    t = stats.t.ppf(0.95, len(X) / 2)
    np.testing.assert_allclose(found.high - found.mean, t * scale * std, rtol=1e-4)
    np.testing.assert_allclose(found.mean - found.low, t * scale * std, rtol=1e-4)
    wide = scale * np.sqrt(std**2 + noise**2)
    np.testing.assert_allclose(found.measurement_high - found.mean, t * wide, rtol=1e-4)
    np.testing.assert_allclose(found.mean - found.measurement_low, t * wide, rtol=1e-4)


def test_a_gp_policy_predicts_with_its_own_kernel():
    noise = 0.3
    policy = tx.GPTS(tx.SE(0.5), fit=False, noise_std=noise)
    found = searched(policy).predict([{"x": x} for x in NEW])
    y = np.sin(3 * X)
    K, k = (np.exp(-0.5 * ((X[:, None] - z) / 0.5) ** 2) for z in (X, NEW))
    inverse = np.linalg.inv(K + noise**2 * np.eye(len(X)))
    mean = y.mean() + k.T @ inverse @ (y - y.mean())
    std = y.std() * np.sqrt(1 - np.einsum("in,ij,jn->n", k, inverse, k))
    np.testing.assert_allclose(found.mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.std, std, atol=1e-6)


def test_half_the_deviation_of_a_search_is_not_that_of_a_prediction():
    half, full = (searched(tx.STOBNTSLinear(beta=b)).predict({"x": 0.3}) for b in (0.5, 1.0))
    assert half.std == full.std
    assert half.mean == full.mean


@pytest.mark.parametrize("tail", [0, 50], ids=["linear", "warped"])
def test_units_and_direction_are_those_of_the_values_told(tail):
    values = np.sin(3 * X) - tail * (X < -0.8)
    points = [{"x": x} for x in NEW]
    ours = searched(values=values).predict(points)
    scaled = searched(values=1000 * values + 7).predict(points)
    for name in ("mean", "low", "high", "measurement_low", "measurement_high"):
        expected = 1000 * getattr(ours, name) + 7
        np.testing.assert_allclose(getattr(scaled, name), expected, rtol=1e-6, err_msg=name)
    np.testing.assert_allclose(scaled.std, 1000 * ours.std, rtol=1e-6)
    other = searched(values=-values, direction="minimize").predict(points)
    np.testing.assert_allclose(other.mean, -ours.mean, rtol=1e-9)
    np.testing.assert_allclose(other.low, -ours.high, rtol=1e-9)
    np.testing.assert_allclose(other.measurement_high, -ours.measurement_low, rtol=1e-9)


def test_moments_of_warped_targets_are_integrals_and_quantiles_pass_through():
    y = -np.exp(np.random.default_rng(0).normal(1, 1.5, 60))
    standard = invertible(y)
    assert standard.warping is not None
    m = Marginals(np.array([-0.4, 1.0]), np.array([0.3, 0.5]), 0.2, standard)
    found = _of_normal(m, freedom=30)
    for i in range(2):
        law = stats.norm(m.mean[i], m.std[i])

        def moment(power, law=law, about=0.0):
            def weighed(z):
                return (standard.values(np.array([z]))[0] - about) ** power * law.pdf(z)

            return integrate.quad(weighed, *law.interval(1 - 1e-12), limit=200)[0]

        mean = moment(1)
        assert found["mean"][i] == pytest.approx(mean, rel=1e-4)
        assert found["std"][i] == pytest.approx(math.sqrt(moment(2, about=mean)), rel=1e-3)
        t = stats.t.ppf(0.95, 30)
        edge = standard.values(np.array([m.mean[i] - t * m.std[i]]))[0]
        assert found["low"][i] == pytest.approx(edge)


def test_without_a_closed_form_quantiles_are_those_of_draws_with_noise():
    normal = np.random.default_rng(0).normal(2.0, 0.5, (4000, 1))
    found = _spread_of_draws(normal, noise_std=1.2)
    error = 4 * 0.5 / math.sqrt(4000)
    assert found["mean"][0] == pytest.approx(2, abs=error)
    # A quantile's standard error is sqrt(q (1 - q) / n) over the density there.
    error = 4 * math.sqrt(0.05 * 0.95 / 4000) / (stats.norm.pdf(1.645) / 0.5)
    assert found["low"][0] == pytest.approx(2 - 1.645 * 0.5, abs=error)
    assert found["measurement_high"][0] == pytest.approx(2 + 1.645 * 1.3, rel=0.03)


def test_a_policy_with_draws_alone_predicts_by_them():
    class Own(tx.Policy):
        def __call__(self, keys, data):
            return tx.STOBNTSLinear(NETWORK, noise_std=0.2)(keys, data)

    points = [{"x": x} for x in NEW]
    drawn = searched(Own()).predict(points)
    exact = searched(tx.STOBNTSLinear(NETWORK, noise_std=0.2)).predict(points)
    # 128 draws of a network of width 64: chance, and the law of finite width
    assert (abs(drawn.mean - exact.mean) < exact.std).all()
    assert (abs(np.log(drawn.std / exact.std)) < math.log(1.6)).all()
    assert (drawn.measurement_high > drawn.high).all()


def test_a_policy_that_is_no_model_leaves_it_to_the_default_one():
    ours, default = (searched(p).predict({"x": 0.3}) for p in (tx.Random(), None))
    np.testing.assert_array_equal(ours.mean, default.mean)


def test_too_few_values_are_said_to_be_too_few_and_failures_do_not_count():
    search = tx.Optimizer(LINE, seed=0)
    for x, y in ((-0.5, 1.0), (0.5, 2.0), (0.7, math.nan), (0.9, math.nan)):
        search.tell({"x": x}, y)
    with pytest.raises(ValueError, match="predict needs at least 3 trials with a value, got 2"):
        search.predict({"x": 0.0})
    search.tell({"x": 0.1}, 1.5)
    before = search.predict({"x": 0.0})
    search.tell({"x": 0.05}, math.nan)
    assert search.predict({"x": 0.0}).mean == before.mean


def test_one_point_several_trials_and_none():
    search = searched()
    assert search.predict({"x": 0.3}).mean.shape == (1,)
    assert len(search.predict(search.trials)) == len(X)
    assert search.predict(search.trials[0]).params == [search.trials[0].params]
    assert len(search.predict([])) == 0


def test_candidates_of_a_pool_are_predicted_by_name_or_index():
    pool = tx.Pool(np.linspace(0, 1, 12)[:, None], names=[f"m{i}" for i in range(12)])
    search = tx.Optimizer(pool, seed=0)
    for i in range(0, 12, 2):
        search.tell({"index": i}, float(i))
    found = search.predict([{"name": "m5"}, {"index": 5}])
    assert found.mean[0] == found.mean[1] == pytest.approx(5, abs=1)
    assert found.params[0] == {"index": 5, "name": "m5"}


def test_points_that_the_constraint_refuses_are_predicted_all_the_same():
    space = tx.Space(LINE, constraint=lambda p: p["x"] < 0.9)
    search = tx.Optimizer(space, seed=0)
    search.tell_all([({"x": x}, x, None) for x in X])
    assert search.predict({"x": 0.95}).mean == pytest.approx(0.95, abs=0.2)


@pytest.mark.parametrize(
    ("points", "kind", "sentence"),
    [
        ([{"x": 0}, {"y": 0}], ValueError, "predict, point 1: Unknown parameter 'y'"),
        ([{"x": 7}], ValueError, "predict, point 0: Parameter 'x' needs"),
        ([3], TypeError, "predict, point 0: params needs a mapping"),
        (pd.DataFrame({"x": [0.1]}), TypeError, 'points.to_dict\\("records"\\)'),
        ("x", TypeError, "predict needs the params of a point"),
    ],
    ids=str,
)
def test_what_is_no_point_is_refused(points, kind, sentence):
    with pytest.raises(kind, match=sentence):
        searched().predict(points)


def test_equal_values_are_predicted_without_warnings():
    found = searched(values=np.full(len(X), 3.0)).predict({"x": 0.3})
    assert found.mean == pytest.approx(3)
    assert np.isfinite(found.measurement_high).all()


def test_a_prediction_is_shown_as_a_table_and_escaped():
    search = tx.Optimizer({"x": tx.Float(0, 1), "k": tx.Categorical(["<b>", "c"])}, seed=0)
    for x in (0.1, 0.5, 0.9):
        search.tell({"x": x, "k": "<b>"}, x)
    found = search.predict([{"x": x, "k": "<b>"} for x in np.linspace(0, 1, 25)])
    assert repr(found).startswith("Prediction of 25 points:\n")
    assert "... 5 more" in repr(found)
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    frame = found.to_dataframe()
    assert frame.shape == (25, 8)
    assert frame["mean"].tolist() == [row["mean"] for row in found.rows()] == found.mean.tolist()

"""Every function of the hand-written networks against JAX's derivatives of `MLP.apply`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from thomax import MLP, STOBNTS, Data, STOBNTSLinear, make_keys
from thomax.model import evaluation
from thomax.model.by_hand import Forward, MLPEvaluator, _erf, is_by_hand, layers_of
from thomax.model.evaluation import evaluate, evaluator
from thomax.model.failures import avoid_failures
from thomax.model.kernels import blocks_product, empirical_ntk, float64

D, N, B = 3, 7, 2
NETWORKS = [
    MLP(1, 16, "relu"),
    MLP(2, 16, "erf", w_std=1.2, b_std=0.1),
    MLP(3, 8, "gelu", w_std=1.7, b_std=0.4),
]


def numbers(network, precision=np.float64):
    rng = np.random.default_rng(0)
    p = network.size((D,))
    theta, v = (rng.normal(size=(B, p)).astype(precision) for _ in range(2))
    return theta, v, rng.normal(size=(N, D)).astype(precision), rng.normal(size=(B, N))


def forward_of(network, theta, x):
    return Forward.of(network, layers_of(network, theta, D), x)


def by_jax(function):
    """Apply a function of one network's parameters to all networks, in double precision."""
    with float64():
        return lambda *args: np.stack([np.asarray(function(*z)) for z in zip(*args, strict=True)])


@pytest.mark.parametrize("network", NETWORKS, ids=str)
@pytest.mark.parametrize(("precision", "close"), [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_outputs_tangents_and_gradients_are_those_of_jax(network, precision, close):
    theta, v, x, a = numbers(network, precision)
    forward = forward_of(network, theta, x)
    tangents = forward.tangents(layers_of(network, v, D))
    exact = [z.astype(np.float64) for z in (theta, v)]

    def tangent(t, u, z):
        return jax.jvp(lambda s: network.apply(s, z), (t,), (u,))[1]

    with float64():
        z = jnp.asarray(x, jnp.float64)
        expected = {
            "output": [network.apply(t, z) for t in exact[0]],
            "tangent": [tangent(t, u, z) for t, u in zip(*exact, strict=True)],
            "gradient": [jax.grad(lambda q, t=t: network.apply(t, q).sum())(z) for t in exact[0]],
            "tangent_gradient": [
                jax.grad(lambda q, t=t, u=u: tangent(t, u, q).sum())(z)
                for t, u in zip(*exact, strict=True)
            ],
            "pulled": [
                jax.vjp(lambda s: network.apply(s, z), t)[1](w)[0]
                for t, w in zip(exact[0], a, strict=True)
            ],
        }
    found = {
        "output": forward.output,
        "tangent": tangents[-1][..., 0],
        "gradient": forward.gradient(),
        "tangent_gradient": forward.tangent_gradient(layers_of(network, v, D), tangents),
        "pulled": forward.pulled(a.astype(precision)),
    }
    for name, value in found.items():
        reference = np.array(expected[name])
        bound = (2e-6 if name == "pulled" else close) * max(1.0, np.abs(reference).max())
        np.testing.assert_allclose(value, reference, rtol=0, atol=bound, err_msg=name)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_blocks_give_the_empirical_kernel(network):
    theta, _, x, _ = numbers(network)
    with float64():
        jacobians = [jax.jacobian(lambda t: network.apply(t, x))(t) for t in theta]
    blocks = forward_of(network, theta, x).blocks()
    for i, J in enumerate(np.array(jacobians)):
        rows = [(A[i], signals[i]) for A, signals in blocks]
        np.testing.assert_allclose(blocks_product(rows, rows), J @ J.T, rtol=1e-10)
        kernel = empirical_ntk(network, theta[i].astype(np.float32), x.astype(np.float32))
        np.testing.assert_allclose(kernel, J @ J.T, rtol=2e-5, atol=1e-4)


def test_erf_in_single_precision_is_exact_to_rounding():
    h = np.linspace(-12, 12, 200_001).astype(np.float32)
    value, slope = _erf(h)
    np.testing.assert_allclose(value, special.erf(h.astype(float)), rtol=0, atol=2e-7)
    exact = 2 / np.sqrt(np.pi) * np.exp(-(h.astype(float) ** 2))
    np.testing.assert_allclose(slope, exact, rtol=1e-5, atol=1e-30)
    assert (np.abs(value) <= 1).all()
    assert (np.diff(value) >= -2e-7).all()


@pytest.mark.parametrize("policy", [STOBNTSLinear, STOBNTS])
@pytest.mark.parametrize("inputs", ["sphere", "cube", "unit_cube"])
@pytest.mark.parametrize("network", [MLP(2, 32, "erf"), MLP(1, 32, "relu")], ids=str)
def test_draws_by_hand_equal_draws_by_jax(policy, inputs, network):
    rng = np.random.default_rng(1)
    data = Data(rng.uniform(-1, 1, (12, D)), rng.normal(size=12))
    draws = policy(network, noise_std=0.1, inputs=inputs)(make_keys(0, 3), data)
    x = rng.uniform(-1, 1, (3, 300, D)).astype(np.float32)
    assert isinstance(evaluator(draws), MLPEvaluator)
    values, gradients = evaluator(draws).own_gradients(x)
    jax_values, jax_gradients = (np.asarray(z) for z in evaluation._own_gradients(draws, x))
    np.testing.assert_allclose(values, jax_values, rtol=0, atol=1e-5)
    np.testing.assert_allclose(gradients, jax_gradients, rtol=0, atol=2e-5)
    np.testing.assert_allclose(evaluator(draws).own_values(x), jax_values, rtol=0, atol=1e-5)
    shared = np.asarray(evaluation._common_points(draws, x[1]))
    np.testing.assert_allclose(evaluate(draws, x[1]), shared, rtol=0, atol=1e-5)


def test_some_draws_of_a_batch_are_evaluated_as_in_the_batch():
    rng = np.random.default_rng(2)
    data = Data(rng.uniform(-1, 1, (8, D)), rng.normal(size=8))
    whole = evaluator(STOBNTS(MLP(1, 16))(make_keys(0, 4), data))
    x = rng.uniform(-1, 1, (5, D)).astype(np.float32)
    part = whole.part(slice(1, 3))
    np.testing.assert_allclose(part.values(x), whole.values(x)[1:3], atol=1e-6)


def test_networks_of_other_kinds_are_left_to_jax():
    assert not is_by_hand(MLP(width=np.inf))
    data = Data(np.zeros((1, D)), np.zeros(1))
    draws = STOBNTSLinear(MLP(width=np.inf))(make_keys(0, 1), data)
    assert isinstance(evaluator(draws), evaluation.CompiledEvaluator)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 1)])
def test_no_points_have_no_values(shape):
    data = Data(np.zeros((2, *shape)), np.arange(2.0))
    draws = STOBNTSLinear(MLP(1, 8))(make_keys(0, 2), data)
    assert draws(np.zeros((0, *shape))).shape == (2, 0)
    score = avoid_failures(draws, make_keys(0, 1)[0], Data(data.x, np.array([1.0, np.nan])))
    for each in (evaluator(draws), score):
        assert each.values(np.zeros((0, *shape), np.float32)).shape == (2, 0)
        assert each.own_values(np.zeros((2, 0, *shape), np.float32)).shape == (2, 0)


def test_draws_of_jax_arrays_are_evaluated_as_those_of_numpy():
    rng = np.random.default_rng(3)
    data = Data(rng.uniform(-1, 1, (8, D)), rng.normal(size=8))
    x = rng.uniform(-1, 1, (5, D))
    for policy in (STOBNTSLinear(MLP(1, 16)), STOBNTS(MLP(1, 16), inputs="unit_cube")):
        draws = policy(make_keys(0, 2), data)
        with float64():
            same = jax.tree.map(jnp.asarray, draws)
        np.testing.assert_array_equal(same(x), draws(x))

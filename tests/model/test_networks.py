from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from thomax import Data, STOBNTSLinear
from thomax.model.networks import CNN, MLP, Custom


def init(key):
    first, second = jax.random.split(key)
    return {
        "hidden": {"w": 0.3 * jax.random.normal(first, (3, 40)), "b": jnp.zeros(40)},
        "out": {"w": jax.random.normal(second, (40,)) / 6.0},
    }


def apply(params, x):
    return jnp.tanh(x @ params["hidden"]["w"] + params["hidden"]["b"]) @ params["out"]["w"]


NETWORKS = [
    (MLP(1, 8, "erf"), (3,)),
    (MLP(3, 7, "gelu", w_std=1.2, b_std=0.0), (4,)),
    (MLP(2, 8), (2, 2, 1)),
    (CNN(1, 4), (7, 8, 2)),
    (CNN(2, 3, "gelu"), (9, 9, 1)),
    (CNN(1, 4), (2, 1, 1)),
    (Custom(init, apply, last_layer="out"), (3,)),
]


@pytest.mark.parametrize(("network", "shape"), NETWORKS)
def test_a_network_maps_points_of_its_shape_to_numbers_row_by_row(network, shape):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=network.size(shape)).astype(np.float32)
    x = rng.normal(size=(5, *shape)).astype(np.float32)
    outputs = np.asarray(network.apply(theta, x))
    assert outputs.shape == (5,)
    assert outputs.dtype == np.float32
    np.testing.assert_allclose(network.apply(theta, x[2:3]), outputs[2:3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("network", "shape"), NETWORKS)
def test_the_output_is_linear_in_the_last_layer(network, shape):
    rng = np.random.default_rng(1)
    theta = rng.normal(size=network.size(shape)).astype(np.float32)
    x = rng.normal(size=(4, *shape)).astype(np.float32)
    last = network.output_mask(shape)
    assert 0 < last.sum() < len(theta)
    np.testing.assert_allclose(network.apply(np.where(last, 0, theta), x), 0, atol=1e-6)
    np.testing.assert_allclose(
        network.apply(np.where(last, 3 * theta, theta), x), 3 * network.apply(theta, x), rtol=2e-3,
        atol=1e-4,
    )  # fmt: skip


def test_the_scale_of_activations_is_kept_through_depth():
    """ReLU with w_std^2 = 2 and no bias: E f(x)^2 = 2 |x|^2 / d at any depth."""
    x = np.ones((1, 6), np.float32)
    for depth in (1, 4):
        network = MLP(depth, 64, b_std=0.0)
        thetas = (
            np.random.default_rng(2).normal(size=(3000, network.size((6,)))).astype(np.float32)
        )
        outputs = np.asarray(jax.vmap(lambda t, n=network: n.apply(t, x)[0])(thetas))
        kurtosis = (outputs**4).mean() / (outputs**2).mean() ** 2
        assert abs((outputs**2).mean() - 2) < 4 * 2 * np.sqrt((kurtosis - 1) / 3000)


def test_a_custom_network_starts_as_the_users_initialisation():
    """N(0, 1) parameters, rescaled inside, have the standard deviations that init has."""
    network = Custom(init, apply, last_layer="out", zero_std=0.05)
    x = np.random.default_rng(3).normal(size=(6, 3)).astype(np.float32)
    own = np.array([apply(init(jax.random.key(i)), x) for i in range(400)])
    thetas = np.random.default_rng(4).normal(size=(400, network.size((3,)))).astype(np.float32)
    ours = np.array([network.apply(t, x) for t in thetas])
    np.testing.assert_allclose(ours.std(0), own.std(0), rtol=0.25)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MLP(0),
        lambda: MLP(1.5),
        lambda: MLP(width=0),
        lambda: MLP(width=2.5),
        lambda: MLP(activation="tanh"),
        lambda: MLP(w_std=0.0),
        lambda: MLP(b_std=-1.0),
        lambda: CNN(pooling=0),
        lambda: CNN(kernel=1.5),
        lambda: MLP(depth="2"),
        lambda: MLP(width=float("nan")),
        lambda: MLP(w_std=float("inf")),
        lambda: Custom("init", apply),
        lambda: Custom(init, None),
        lambda: Custom(init, apply, zero_std=0.0),
        lambda: CNN().size((28, 28)),
        lambda: Custom(init, apply, last_layer="output").output_mask((3,)),
    ],
)
def test_impossible_networks_are_refused(make):
    with pytest.raises(ValueError, match="needs"):
        make()


class Fields(NamedTuple):
    hidden: jax.Array
    out: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Module:
    hidden: jax.Array
    out: jax.Array


WEIGHTS = (np.full((3, 4), 2.0, np.float32), np.full(4, 3.0, np.float32))


@pytest.mark.parametrize(
    ("tree", "last_layer"),
    [
        ([*WEIGHTS], -1),
        (WEIGHTS, 1),
        (Fields(*WEIGHTS), -1),
        (Fields(*WEIGHTS), "out"),
        (Module(*WEIGHTS), "out"),
        ({"hidden": WEIGHTS[0], "out": WEIGHTS[1]}, "out"),
        ({"params": {"d0": {"w": WEIGHTS[0]}, "d1": {"w": WEIGHTS[1]}}}, ("params", "d1")),
        ([[WEIGHTS[0]], {"out": WEIGHTS[1]}], (-1, "out")),
    ],
)
def test_the_last_layer_is_found_in_any_tree(tree, last_layer):
    network = Custom(lambda key: tree, lambda w, x: x[:, 0], last_layer=last_layer)
    np.testing.assert_array_equal(network.output_mask((3,)), [False] * 12 + [True] * 4)


@pytest.mark.parametrize(
    ("tree", "last_layer"), [([*WEIGHTS], 2), ({"a": WEIGHTS[0]}, -1), ([*WEIGHTS], (0, "w"))]
)
def test_a_last_layer_that_is_not_there_is_refused_with_what_is(tree, last_layer):
    with pytest.raises(ValueError, match=r"name an entry of what init returns.*there are \["):
        Custom(lambda key: tree, lambda w, x: x[:, 0], last_layer=last_layer).output_mask((3,))


def test_a_misspelt_last_layer_is_refused_when_the_network_is_made():
    """Row 20: STOBNTSLinear never noticed, STOBNTS only while it was training."""
    tree = {"hidden": WEIGHTS[0], "out": WEIGHTS[1]}
    with pytest.raises(ValueError, match=r"got 'oot': there are \['hidden'\], \['out'\]"):
        Custom(lambda key: tree, lambda w, x: x[:, 0], last_layer="oot")


def test_a_network_with_a_column_of_outputs_is_refused_with_what_to_do():
    """Row 20: outputs (n, 1) ended in an error about shapes deep in JAX."""
    network = Custom(init, lambda w, x: apply(w, x)[:, None])
    data = Data(np.zeros((2, 3)), np.arange(2.0))
    with pytest.raises(ValueError, match=r"one number for each point.*outputs\[:, 0\]"):
        STOBNTSLinear(network, noise_std=0.1)(0, data)

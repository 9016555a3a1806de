"""Tune a convolutional network on MNIST: nine mixed hyperparameters.

One convolution, max-pooling, one dense hidden layer, softmax. The paper gives the ranges below and
no scales, so all numbers lie on linear ones; it does not say how long it trains nor how many
random points come first. Here a subset of MNIST keeps an evaluation to seconds, and there are 5
points, as for its random forest. Weight decay is the L2 penalty inside the optimiser's gradient.

Notation:
    x       images, scaled to [0, 1]                          (n, height, width)
    y       their classes                                     (n,)
    w       weights: (kernel, bias) of each of three layers
"""

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.datasets import mnist
from benchmarks.tasks.problem import Params, Problem, needs
from thomax.space.parameters import Categorical, Float, Int
from thomax.space.space import Space

Weights = list[tuple[Any, Any]]

CLASSES = 10
SEED = 0
ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh}
PREDICTED_AT_ONCE = 1000  # images; bounds the memory


@dataclass(frozen=True)
class Architecture:
    """The shape of a network, and what needs another compilation when it changes.

    Example:
        >>> Architecture(channels=8).hidden
        64
    """

    channels: int = 16
    kernel: int = 3
    pooling: int = 3
    hidden: int = 64
    activation: str = "relu"
    optimizer: str = "adam"


def convnet(train: int = 4000, validate: int = 2000, epochs: int = 3) -> Problem:
    """Return the problem of the accuracy on images that were not trained on."""
    optax_for("convnet")
    train_set, test_set = mnist("convnet")
    x, y = scaled(train_set.x[:train]), train_set.y[:train]
    x_validation, y_validation = scaled(test_set.x[:validate]), test_set.y[:validate]

    def judge(params: Params) -> float:
        rates = params["learning_rate"], params["weight_decay"]
        rest = {k: v for k, v in params.items() if k in Architecture.__dataclass_fields__}
        network = Architecture(**rest)
        w = fit(network, x, y, epochs, params["batch_size"], *rates)
        guesses = probabilities(network, w, x_validation).argmax(axis=1)
        return float(np.mean(guesses == y_validation))

    return Problem(
        "convnet",
        Space({
            "learning_rate": Float(1e-4, 0.1),
            "weight_decay": Float(1e-6, 1e-2),
            "batch_size": Int(64, 512),
            "pooling": Int(3, 5),
            "channels": Int(4, 16),
            "kernel": Int(3, 5),
            "hidden": Int(4, 16),
            "activation": Categorical(["relu", "tanh"]),
            "optimizer": Categorical(["adam", "rmsprop"]),
        }),
        lambda params, rng: judge(params),
        judge,
        initial=5,
        data=train_set.name,
    )  # fmt: skip


def scaled(images: NDArray[Any]) -> NDArray[np.float32]:
    """Return images with their largest value at 1."""
    return (images / images.max()).astype(np.float32)


def fit(
    network: Architecture,
    x: NDArray[np.float32],
    y: NDArray[np.int64],
    epochs: int,
    batch_size: int,
    learning_rate: float,
    weight_decay: float = 0.0,
) -> Weights:
    """Train by mini-batches, the images in a fixed random order; the last few may be left out."""
    rng = np.random.default_rng(SEED)
    size = min(batch_size, len(x))
    usable = len(x) // size * size
    orders = [rng.permutation(len(x))[:usable].reshape(-1, size) for _ in range(epochs)]
    w = _initial(network, x.shape[1:], rng)
    return _train(network, w, x, y, np.concatenate(orders), learning_rate, weight_decay)


def probabilities(
    network: Architecture, w: Weights, x: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the predicted probabilities of all classes, one row an image."""
    starts = range(0, len(x), PREDICTED_AT_ONCE)
    parts = [_logits(network, w, x[start : start + PREDICTED_AT_ONCE]) for start in starts]
    logits = np.concatenate(parts).astype(np.float64)  # single precision would tie near 1
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _initial(network: Architecture, shape: tuple[int, ...], rng: np.random.Generator) -> Weights:
    pooled = math.prod(max(1, side // network.pooling) for side in shape)
    shapes = [
        (network.kernel**2, network.channels),
        (pooled * network.channels, network.hidden),
        (network.hidden, CLASSES),
    ]
    return [
        (
            (rng.standard_normal(s) / math.sqrt(s[0])).astype(np.float32),
            np.zeros(s[1], np.float32),
        )
        for s in shapes
    ]


@partial(jax.jit, static_argnums=0)
def _logits(network: Architecture, w: Weights, x: Any) -> Any:
    phi = ACTIVATIONS[network.activation]
    (k, a), (v, b), (u, c) = w
    h = _pooled(phi(_patches(x, network.kernel) @ k + a), network.pooling)
    return phi(h.reshape(len(x), -1) @ v + b) @ u + c


# Shifted copies and reshapes, as XLA's own gradients of convolution and pooling crawl on CPUs.


def _patches(x: Any, kernel: int) -> Any:
    """Return the neighbourhood of every pixel, zero beyond the border: (n, height, width, k^2)."""
    _, height, width = x.shape
    before = (kernel - 1) // 2
    around = (before, kernel - 1 - before)
    padded = jnp.pad(x, ((0, 0), around, around))
    shifts = itertools.product(range(kernel), repeat=2)
    return jnp.stack([padded[:, i : i + height, j : j + width] for i, j in shifts], axis=-1)


def _pooled(h: Any, window: int) -> Any:
    """Return the maxima over windows; rows and columns that fill no window are left out."""
    n, height, width, channels = h.shape
    a, b = min(window, height), min(window, width)
    h = h[:, : height // a * a, : width // b * b]
    return h.reshape(n, height // a, a, width // b, b, channels).max(axis=(2, 4))


@partial(jax.jit, static_argnums=0)
def _train(
    network: Architecture, w: Weights, x: Any, y: Any, batches: Any, rate: Any, decay: Any
) -> Weights:
    optax = optax_for("convnet")
    direction = {"adam": optax.scale_by_adam, "rmsprop": optax.scale_by_rms}[network.optimizer]
    optimizer = optax.chain(optax.add_decayed_weights(decay), direction(), optax.scale(-rate))

    def loss(w: Weights, batch: Any) -> Any:
        logits = _logits(network, w, x[batch])
        return optax.softmax_cross_entropy_with_integer_labels(logits, y[batch]).mean()

    def step(carry: Any, batch: Any) -> tuple[Any, None]:
        w, state = carry
        updates, state = optimizer.update(jax.grad(loss)(w, batch), state, w)
        return (optax.apply_updates(w, updates), state), None

    return jax.lax.scan(step, (w, optimizer.init(w)), batches)[0][0]


def optax_for(task: str) -> Any:
    """Import optax, or say that this task lacks it."""
    try:
        import optax
    except ImportError:
        raise needs("optax", task) from None
    return optax

"""Networks in NTK parameterisation: every parameter is drawn from N(0, 1), the paper's `init`.

The scale sits in the forward pass: h = w_std / sqrt(fan_in) phi(h) W + b_std b. Parameters are one
flat vector theta, as in the paper, so that the algebra of the method needs no tree operations.

Notation:
    theta   parameters of the network                                   (p,)
    x       points; vectors (n, d) or images (n, height, width, c)      (n, ...)
    shape   shape of one point, (d,) or (height, width, c)
    (A, D)  a block of tangent features: layer inputs (n, a) with back-propagated signals (n, b);
            the gradients of that layer are the row-wise outer products of A and D

The bias matters: without it (b_std = 0) the prior variance at the centre of the cube, x = 0, is
zero, and the model believes it knows the value there.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from thomax.support.checks import FUNCTION, POSITIVE, Rule, at_least, check, one_of, whole
from thomax.support.compilation import own_settings
from thomax.support.lazy_jax import jax, jnp
from thomax.support.spelling import spell_checked
from thomax.support.types import Array, ArrayOrFloat

Activation: TypeAlias = Literal["relu", "erf", "gelu"]
Blocks: TypeAlias = list[tuple[Array, Array]]
Tree: TypeAlias = Any  # any nesting of arrays, as JAX allows it

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda h: jax.nn.relu(h),
    "erf": lambda h: jax.scipy.special.erf(h),
    "gelu": lambda h: jax.nn.gelu(h, approximate=False),
}


_WIDTH = Rule(
    "to be a whole number >= 1 (or infinity)",
    lambda v: v == math.inf or (at_least(1).holds(v) and int(v) == v),
)


class Network(Protocol):
    """What the method needs of a network: its number of parameters and its function."""

    def size(self, shape: tuple[int, ...]) -> int:
        """Count the parameters for points of this shape.

        Args:
            shape: Shape of one point.
        """

    def output_mask(self, shape: tuple[int, ...]) -> np.ndarray:
        """Mark, in the flat vector of parameters, the weights and the bias of the last layer.

        Args:
            shape: Shape of one point.
        """

    def scales(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return what each parameter is multiplied by to give a weight of the network, (p,).

        Only gradient descent needs it: the weights are the standard parameterisation.

        Args:
            shape: Shape of one point.
        """

    def apply(self, theta: Array, x: Array) -> Array:
        """Compute the network's outputs (n,).

        Args:
            theta: Parameters, (p,).
            x: Points, (n, ...).
        """

    def blocks(self, theta: Array, x: Array) -> Blocks | None:
        """Return the tangent features as blocks (A, D), or None if the structure is unknown.

        Args:
            theta: Parameters, (p,).
            x: Points, (n, ...).
        """


@spell_checked
@dataclass(frozen=True)
class MLP:
    """A fully connected network; points of any shape are flattened.

    Args:
        depth: Number of hidden layers.
        width: Units of each hidden layer; `math.inf` stands for the limit, in which the tangent
            kernel is exact.
        activation: Function after every hidden layer, "relu", "erf" or "gelu".
        w_std: Standard deviation of the weights, times the root of the number of inputs.
        b_std: Standard deviation of the biases.

    Examples:
        >>> MLP(depth=2, width=256).size((12,))
        69377
    """

    depth: int = 2
    width: float = 256
    activation: Activation = "relu"
    w_std: float = math.sqrt(2.0)
    b_std: float = 0.3

    def __post_init__(self) -> None:
        _check(self, "depth")

    def size(self, shape: tuple[int, ...]) -> int:
        """Count the parameters for points of this shape."""
        return sum((a + 1) * b for a, b in self.layers(math.prod(shape)))

    def inputs(self, p: int) -> int:
        """Return of how many numbers points are if there are so many parameters.

        Args:
            p: The number of parameters.
        """
        return round((p - self.size((0,))) / self.width)

    def output_mask(self, shape: tuple[int, ...]) -> np.ndarray:
        """Mark the weights and the bias of the output layer."""
        return np.arange(self.size(shape)) >= self.size(shape) - (int(self.width) + 1)

    def scales(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the standard deviations of the weights, which multiply the parameters."""
        return _standard_deviations(self, self.layers(math.prod(shape)))

    def apply(self, theta: Array, x: Array) -> Array:
        """Compute the network's outputs (n,)."""
        return self._forward(theta, x, [0.0] * (self.depth + 1))[0]

    def blocks(self, theta: Array, x: Array) -> Blocks:
        """Return the tangent features, one block a layer."""
        shifts = [jnp.zeros((len(x), b), x.dtype) for _, b in self.layers(math.prod(x.shape[1:]))]
        return _signals(lambda s: self._forward(theta, x, s), shifts)

    def layers(self, d: int) -> list[tuple[int, int]]:
        """Return the numbers of inputs and outputs of every layer, for points of d numbers.

        Args:
            d: The number of inputs of the first layer.
        """
        m = int(self.width)
        return [(d, m), *[(m, m)] * (self.depth - 1), (m, 1)]

    def _forward(
        self, theta: Array, x: Array, shifts: Sequence[ArrayOrFloat]
    ) -> tuple[Array, list[Array]]:
        """Return outputs and every layer's scaled inputs; shifts are added before activation."""
        h = x.reshape(len(x), -1)
        inputs = []
        for index, (a, b) in enumerate(self.layers(h.shape[1])):
            h = ACTIVATIONS[self.activation](h) if index else h
            h, theta, used = _dense(self, theta, h, a, b)
            h = h + shifts[index]
            inputs.append(used)
        return h[:, 0], inputs


@spell_checked
@dataclass(frozen=True)
class CNN:
    """Convolutions with pooling, then one dense hidden layer; points are images (h, w, c).

    The defaults are the paper's network for images: one 3x3 convolution, max-pooling by 3, a dense
    layer.

    Args:
        depth: Number of convolutions, each followed by pooling.
        width: Number of channels of a convolution and of units of the dense layer.
        activation: Function after every layer but the last, "relu", "erf" or "gelu".
        w_std: Standard deviation of the weights, times the root of the number of inputs.
        b_std: Standard deviation of the biases.
        kernel: Edge of the window of a convolution, in pixels.
        pooling: Edge of the window that a maximum is taken over, in pixels.

    Examples:
        >>> CNN(width=64).size((28, 28, 1))
        332545
    """

    depth: int = 1
    width: float = 64
    activation: Activation = "relu"
    w_std: float = math.sqrt(2.0)
    b_std: float = 0.3
    kernel: int = 3
    pooling: int = 3

    def __post_init__(self) -> None:
        _check(self, "depth", "kernel", "pooling")

    def size(self, shape: tuple[int, ...]) -> int:
        """Count the parameters for images of this shape."""
        convolutions, dense = self._layers(shape)
        return sum((self.kernel**2 * a + 1) * b for a, b in convolutions) + sum(
            (a + 1) * b for a, b in dense
        )

    def output_mask(self, shape: tuple[int, ...]) -> np.ndarray:
        """Mark the weights and the bias of the output layer."""
        return np.arange(self.size(shape)) >= self.size(shape) - (int(self.width) + 1)

    def scales(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the standard deviations of the weights, which multiply the parameters."""
        convolutions, dense = self._layers(shape)
        return _standard_deviations(
            self, [*((self.kernel**2 * a, b) for a, b in convolutions), *dense]
        )

    def apply(self, theta: Array, x: Array) -> Array:
        """Compute the network's outputs (n,)."""
        return self._forward(theta, x, [0.0] * (self.depth + 2))[0]

    def blocks(self, theta: Array, x: Array) -> Blocks:
        """Return the tangent features; a convolution contributes its whole gradients, D = 1."""
        shapes = jax.eval_shape(lambda t, z: self._forward(t, z, None)[1], theta, x)
        shifts = [jnp.zeros(s.shape, x.dtype) for s in shapes]
        found: Blocks = []
        for a, d in _signals(lambda s: self._forward(theta, x, s), shifts):
            if d.ndim == 2:
                found.append((a, d))
            else:  # sum the outer products over the positions of the image
                found.append((_outer_over_positions(a, d), jnp.ones((len(x), 1), x.dtype)))
        return found

    def _layers(
        self, shape: tuple[int, ...]
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        if len(shape) != 3:
            raise ValueError(
                f"CNN needs images of shape (height, width, channels), got {shape}: use MLP."
            )
        height, breadth, channels = shape
        m = int(self.width)
        convolutions = [(channels if i == 0 else m, m) for i in range(self.depth)]
        for _ in range(self.depth):
            height, breadth = (max(1, s // self.pooling) for s in (height, breadth))
        return convolutions, [(height * breadth * m, m), (m, 1)]

    def _forward(
        self, theta: Array, x: Array, shifts: Sequence[ArrayOrFloat] | None
    ) -> tuple[Array, list[Array]]:
        """Return outputs and layer inputs; without shifts, pre-activations instead of inputs."""
        phi = ACTIVATIONS[self.activation]
        convolutions, dense = self._layers(x.shape[1:])
        h, inputs, signals = x, [], []
        for index, (a, b) in enumerate(convolutions):
            h = _patches(h, self.kernel)
            h, theta, used = _dense(self, theta, h, self.kernel**2 * a, b)
            h = h if shifts is None else h + shifts[index]
            inputs.append(used)
            signals.append(h)
            h = _max_pool(phi(h), self.pooling)
        h = h.reshape(len(x), -1)
        for index, (a, b) in enumerate(dense, start=self.depth):
            h = phi(h) if index > self.depth else h
            h, theta, used = _dense(self, theta, h, a, b)
            h = h if shifts is None else h + shifts[index]
            inputs.append(used)
            signals.append(h)
        return h[:, 0], signals if shifts is None else inputs


@spell_checked
@dataclass(frozen=True)
class Custom:
    """Any network given as a pair: `init(key) -> parameters` and `apply(parameters, x) -> (n,)`.

    The parameters may be any tree of arrays in any initialisation: each array is rescaled by its
    root mean square at initialisation, which turns it into the NTK parameterisation's N(0, 1).

    Args:
        init: Function that makes parameters from a JAX key.
        apply: Function of parameters and points (n, ...) that returns their outputs, (n,).
        last_layer: The entry of the parameters that is the output layer: an index, key or field,
            or a tuple of them as a path into nested parameters.
        zero_std: Standard deviation of arrays that start at zero (usually biases).

    Examples:
        >>> def init(key): return [jax.random.normal(key, (2, 8)), jax.random.normal(key, (8,))]
        >>> def apply(w, x): return jnp.tanh(x @ w[0]) @ w[1]
        >>> Custom(init, apply, last_layer=-1).size((2,))
        24
    """

    init: Callable[["jax.Array"], Tree]
    function: Callable[[Tree, Array], Array]
    last_layer: int | str | tuple[int | str, ...] = -1
    zero_std: float = 0.1

    def __init__(
        self,
        init: Callable[["jax.Array"], Tree],
        apply: Callable[[Tree, Array], Array],
        last_layer: int | str | tuple[int | str, ...] = -1,
        zero_std: float = 0.1,
    ) -> None:
        values = (init, apply, last_layer, zero_std)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)
        check(self, init=FUNCTION, function=FUNCTION, zero_std=POSITIVE)
        if last_layer != -1:  # which most networks are never asked for
            self.output_mask(())

    def size(self, shape: tuple[int, ...]) -> int:
        """Count the parameters."""
        return len(_scales(self))

    def output_mask(self, shape: tuple[int, ...]) -> np.ndarray:
        """Mark the parameters of the named output layer."""
        with own_settings():
            leaves = jax.tree_util.tree_leaves_with_path(self.init(jax.random.key(0)))
        paths = [path for path, _ in leaves]
        name = self.last_layer
        for depth, step in enumerate(name if isinstance(name, tuple) else (name,)):
            paths = [path for path in paths if depth < len(path)]
            entry = _entry([path[depth] for path in paths], step)
            if entry is None:
                known = ", ".join(jax.tree_util.keystr(path) for path, _ in leaves)
                raise ValueError(
                    "Custom needs last_layer to name an entry of what init returns, got "
                    f"{name!r}: there are {known}."
                )
            paths = [path for path in paths if path[depth] == entry]
        return np.concatenate([np.full(np.size(leaf), path in paths) for path, leaf in leaves])

    def scales(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the root mean square of each array, which multiplies its parameters."""
        return _scales(self)

    def apply(self, theta: Array, x: Array) -> Array:
        """Compute the network's outputs (n,)."""
        found = self.function(_unravel(self)(theta * _scales(self).astype(theta.dtype)), x)
        if np.shape(found) != (len(x),):
            raise ValueError(
                f"Custom needs apply to return one number for each point, shape ({len(x)},), got "
                f"shape {np.shape(found)}: return outputs[:, 0] if each has a row of its own."
            )
        return found

    def blocks(self, theta: Array, x: Array) -> None:
        """Return None: the structure is unknown."""
        return


def _entry(keys: Sequence[Hashable], wanted: int | str) -> Hashable | None:
    """Return the key of a tree's level that is wanted: by its name, or by its place if ordered."""
    entries = [*dict.fromkeys(keys)]
    ordered = not any(isinstance(key, jax.tree_util.DictKey) for key in entries)
    if isinstance(wanted, int) and ordered:
        return entries[wanted] if -len(entries) <= wanted < len(entries) else None
    named = (key for key in entries if wanted in (getattr(key, a, None) for a in ("key", "name")))
    return next(named, None)


@lru_cache(maxsize=64)
def _unravel(network: Custom) -> Callable[..., Tree]:
    from jax.flatten_util import ravel_pytree

    with jax.ensure_compile_time_eval(), own_settings():
        return ravel_pytree(network.init(jax.random.key(0)))[1]


@lru_cache(maxsize=64)
def _scales(network: Custom) -> np.ndarray:
    """Return each parameter's root mean square over its array, from a few initialisations."""
    with jax.ensure_compile_time_eval(), own_settings():
        draws = [jax.tree.leaves(network.init(jax.random.key(i))) for i in range(16)]
    found = []
    for leaf in zip(*draws, strict=True):
        rms = float(np.sqrt(np.mean(np.square(np.asarray(leaf)))))
        found.append(np.full(leaf[0].size, rms or network.zero_std, np.float32))
    return np.concatenate(found)


def _check(network: MLP | CNN, *counts: str) -> None:
    """Raise for sizes and names that no network can have."""
    check(
        network, **dict.fromkeys(counts, whole(1)), width=_WIDTH, w_std=POSITIVE,
        activation=one_of(*ACTIVATIONS), b_std=at_least(0),
    )  # fmt: skip


PAPER_NETWORK = MLP(2, 256, "relu", w_std=1.5, b_std=0.05)  # of the paper's experiments


def _standard_deviations(network: MLP | CNN, layers: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return those of all weights, layer by layer: rows of weights, then one of biases."""
    rows = [([network.w_std / math.sqrt(a)] * a + [network.b_std], b) for a, b in layers]
    return np.concatenate([np.repeat(np.array(each, np.float32), b) for each, b in rows])


def _dense(
    network: MLP | CNN, theta: Array, h: Array, a: int, b: int
) -> tuple[Array, Array, Array]:
    """Apply one layer; return outputs, the parameters left over, and the scaled inputs.

    The bias is the weight of a constant input b_std, so a layer's gradients are outer products of
    (scaled inputs, b_std) with the back-propagated signals.
    """
    scaled = (network.w_std / math.sqrt(a)) * h
    constant = jnp.full((*h.shape[:-1], 1), network.b_std, h.dtype)
    used = jnp.concatenate([scaled, constant], axis=-1)
    weights = theta[: (a + 1) * b].reshape(a + 1, b)
    return used @ weights, theta[(a + 1) * b :], used


def _signals(
    forward: Callable[[Sequence[Array]], tuple[Array, list[Array]]], shifts: Sequence[Array]
) -> Blocks:
    """Return layer inputs and D = df/dh: rows are independent, so one sweep serves all of them."""

    def total(s: Sequence[Array]) -> tuple[Array, list[Array]]:
        outputs, inputs = forward(s)
        return outputs.sum(), inputs

    signals, inputs = jax.grad(total, has_aux=True)(shifts)
    return list(zip(inputs, signals, strict=True))


def _outer_over_positions(a: Array, d: Array) -> Array:
    return jnp.einsum("nhwa,nhwb->nab", a, d).reshape(len(a), -1)


def _patches(h: Array, kernel: int) -> Array:
    """Gather the kernel x kernel neighbourhood of every position, zero-padded at the border."""
    return jax.lax.conv_general_dilated_patches(
        h, (kernel, kernel), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _max_pool(h: Array, window: int) -> Array:
    """Take the maximum over windows; an axis shorter than the window is pooled whole.

    What does not fill a window is cut off. Reshaping is far faster than `reduce_window`, whose
    derivative is slow on CPUs.
    """
    n, height, breadth, channels = h.shape
    a, b = min(window, height), min(window, breadth)
    whole = h[:, : height // a * a, : breadth // b * b]
    return whole.reshape(n, height // a, a, breadth // b, b, channels).max(axis=(2, 4))

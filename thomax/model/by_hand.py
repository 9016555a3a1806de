"""MLPs by hand: outputs, tangents and their gradients as matrix products of NumPy.

The default network is small, and a search evaluates it thousands of times in tiny pieces: there
NumPy is several times faster than compiled code is called, and needs no compilation and no JAX.
The tests compare every function with JAX's derivatives of `MLP.apply`.

Notation (leading axes of all arrays are B networks; l counts layers):
    h_l   pre-activations, h_{l+1} = u_l W_l + b_l                       (B, N, m)
    u_l   what a layer gets: points, or phi(h_l)                         (B, N, a)
    W, b  weights and biases with the network's scales multiplied in     (B, a, m), (B, 1, m)
    t_l   derivative of h_l in a direction (V, c) of parameter space     (B, N, m)
    D_l   derivative of the output with respect to h_l                   (B, N, m)
"""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

import numpy as np

from thomax.model.blas import in_threads, small_matrices
from thomax.model.evaluation import Evaluator
from thomax.model.networks import MLP, Blocks, Network
from thomax.model.prior import UnitCube


class Layer(NamedTuple):
    """A layer of B networks, with the scales of the forward pass in it.

    Args:
        W: The weights, (B, a, m).
        b: The biases, (B, 1, m).
        transposed: The weights once more, (B, m, a): products of few rows with a transposed view
            take three times as long.
    """

    W: np.ndarray
    b: np.ndarray
    transposed: np.ndarray

    def part(self, which: slice) -> "Layer":
        """Return the layer of some of the networks.

        Args:
            which: Their positions.
        """
        return Layer(*(array[which] for array in self))


# erf(x) = tanh(x q(x^2)): the coefficients of q, fitted on [0, 3.8] with an error of 6e-8.
_ERF = np.array(
    [1.12837971, 0.102765481, -1.84383552e-4, -6.25719705e-4, 8.97126399e-5, -5.98569978e-6,
     1.58960772e-7], np.float32
)  # fmt: skip
_ERF_END = np.float32(3.8**2)
_PIECE = 192  # points evaluated at once: arrays of 200 kB
_MANY = 16  # pieces: fewer are not worth threads
_ROOT = 2 / math.sqrt(math.pi)


def is_by_hand(network: Network) -> TypeGuard[MLP]:
    """Return whether a network is evaluated by NumPy: an MLP of finite width.

    Args:
        network: Any network.
    """
    return isinstance(network, MLP) and network.width < math.inf


def layers_of(network: MLP, theta: np.ndarray, d: int) -> list[Layer]:
    """Return weights and biases of B networks, with the scales of the forward pass in them.

    Args:
        network: The shape and the scales of the networks.
        theta: Their parameters, (B, p).
        d: The number of inputs.
    """
    found, start = [], 0
    for a, b in network.layers(d):
        block = theta[:, start : start + (a + 1) * b].reshape(len(theta), a + 1, b)
        scale = theta.dtype.type(network.w_std / math.sqrt(a))
        W = block[:, :a] * scale
        bias = block[:, a:] * theta.dtype.type(network.b_std)
        found.append(Layer(W, bias, np.ascontiguousarray(W.swapaxes(1, 2))))
        start += (a + 1) * b
    return found


@dataclass(frozen=True)
class Forward:
    """A forward pass of B networks, and what its derivatives need.

    Args:
        network: The shape and the scales of the networks.
        layers: Their weights and biases.
        inputs: u_l of every layer.
        signals: h_l of every hidden layer, and the output.
        slopes: phi' at the hidden h_l.
    """

    network: MLP
    layers: list[Layer]
    inputs: list[np.ndarray]
    signals: list[np.ndarray]
    slopes: list[np.ndarray]

    @classmethod
    def of(cls, network: MLP, layers: list[Layer], z: np.ndarray) -> "Forward":
        """Run points through the networks.

        Args:
            network: The shape and the scales of the networks.
            layers: Their weights and biases.
            z: The points, the same for all networks (N, d) or of each (B, N, d).
        """
        phi = _ACTIVATIONS[network.activation]
        inputs, slopes = [z], []
        signals: list[np.ndarray] = []
        for index, layer in enumerate(layers):
            if index:
                u, slope = phi(signals[-1])
                inputs.append(u)
                slopes.append(slope)
            h = inputs[-1] @ layer.W
            h += layer.b
            signals.append(h)
        return cls(network, layers, inputs, signals, slopes)

    @property
    def output(self) -> np.ndarray:
        """The outputs, (B, N)."""
        return self.signals[-1][..., 0]

    def tangents(self, directions: Sequence[Layer]) -> list[np.ndarray]:
        """Return t_l of every layer; the last is J v, (B, N, 1).

        Args:
            directions: The direction v in parameter space, as weights and biases.
        """
        found: list[np.ndarray] = []
        for index, (layer, direction) in enumerate(zip(self.layers, directions, strict=True)):
            t = self.inputs[index] @ direction.W
            t += direction.b
            if index:
                t += (self.slopes[index - 1] * found[-1]) @ layer.W
            found.append(t)
        return found

    def backward(self, last: np.ndarray) -> list[np.ndarray]:
        """Return D_l of every layer, given that of the output (B, N, 1)."""
        found = [last]
        for layer, slope in zip(self.layers[:0:-1], self.slopes[::-1], strict=True):
            found.append(slope * (found[-1] @ layer.transposed))
        return found[::-1]

    def gradient(self) -> np.ndarray:
        """Return the gradients of the outputs with respect to the points, (B, N, d)."""
        first = self.backward(np.ones_like(self.signals[-1]))[0]
        return np.asarray(first @ self.layers[0].transposed)

    def tangent_gradient(
        self, directions: Sequence[Layer], tangents: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return the gradients of J v with respect to the points, (B, N, d).

        Reverse mode over the sweep that made the tangents: each h_l has an adjoint, and each t_l
        one, which is D_l.

        Args:
            directions: The direction v in parameter space, as weights and biases.
            tangents: What `tangents` returned for it.
        """
        bend = _BENDS[self.network.activation]
        of_t = np.ones_like(self.signals[-1])
        of_h = np.zeros_like(of_t)
        for index in range(len(self.layers) - 1, -1, -1):
            W, V = self.layers[index].transposed, directions[index].transposed
            through = of_t @ W
            of_u = of_t @ V
            if index < len(self.layers) - 1:  # the output's h has no adjoint
                of_u += of_h @ W
            if index == 0:
                return np.asarray(of_u)
            h, slope = self.signals[index - 1], self.slopes[index - 1]
            of_t = slope * through
            of_h = slope * of_u
            curved = bend(h, slope)
            if curved is not None:
                curved *= tangents[index - 1]
                curved *= through
                of_h += curved
        raise AssertionError("a network has layers")

    def pulled(self, a: np.ndarray) -> np.ndarray:
        """Return J^T a, (B, p).

        Args:
            a: The weights of the points for each network, (B, N).
        """
        parts = []
        for u, D in zip(self.inputs, self.backward(a[..., None]), strict=True):
            scale = D.dtype.type(self.network.w_std / math.sqrt(u.shape[-1]))
            W = u.swapaxes(-1, -2) @ D
            W *= scale
            b = self.network.b_std * D.sum(axis=1)
            parts += [W.reshape(len(W), -1), b]
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def blocks(self) -> Blocks:
        """Return the tangent features (A, D) of every layer, (B, N, a + 1) and (B, N, m)."""
        found: Blocks = []
        signals = self.backward(np.ones_like(self.signals[-1]))
        for u, D in zip(self.inputs, signals, strict=True):
            scale = u.dtype.type(self.network.w_std / math.sqrt(u.shape[-1]))
            constant = np.full((*u.shape[:-1], 1), self.network.b_std, u.dtype)
            A = np.concatenate([scale * u, constant], axis=-1)
            found.append((np.broadcast_to(A, (len(D), *A.shape[-2:])), D))
        return found


def forward_pass(network: MLP, theta: np.ndarray, x: np.ndarray) -> Forward:
    """Run points of any shape through networks that are given by flat vectors of parameters.

    Args:
        network: The shape and the scales of the networks.
        theta: Their parameters, (B, p).
        x: The points, (N, ...).
    """
    z = x.reshape(len(x), -1)
    return Forward.of(network, layers_of(network, theta, z.shape[1]), z)


@dataclass(frozen=True)
class MLPEvaluator(Evaluator):
    """B draws of MLPs: f(x; theta), if that is a part of them, plus < grad f, v >, times beta.

    Args:
        network: The shape and the scales of the networks.
        lifting: What the networks see of points, as in a `Draw`.
        beta: What multiplies the draws, (B,).
        base: Where the networks are linearised.
        direction: The direction v of the tangent term.
        trained: The networks that are added, if any.
    """

    network: MLP
    lifting: np.ndarray | UnitCube | None
    beta: np.ndarray
    base: list[Layer]
    direction: list[Layer]
    trained: list[Layer] | None

    @classmethod
    def of(
        cls,
        network: MLP,
        lifting: np.ndarray | UnitCube | None,
        beta: np.ndarray,
        *,
        base: np.ndarray,
        direction: np.ndarray,
        trained: np.ndarray | None = None,
    ) -> "MLPEvaluator":
        """Prepare draws that are given by flat vectors of parameters, of NumPy or of JAX.

        Args:
            network: The shape and the scales of the networks.
            lifting: What the networks see of points, as in a `Draw`.
            beta: What multiplies the draws, (B,).
            base: Where the networks are linearised, (B, p).
            direction: The direction of the tangent term, (B, p).
            trained: The parameters of networks that are added, (B, p), or None.
        """
        d = network.inputs(base.shape[1])

        def layers(theta: np.ndarray) -> list[Layer]:
            return layers_of(network, np.asarray(theta), d)

        if lifting is not None and not isinstance(lifting, UnitCube):
            lifting = np.asarray(lifting)
        last = None if trained is None else layers(trained)
        return cls(network, lifting, np.asarray(beta), layers(base), layers(direction), last)

    @property
    def count(self) -> int:
        """How many draws there are, B."""
        return len(self.beta)

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of all draws at the same points."""
        x = self._in_unit_cube(x, 2).reshape(len(x), math.prod(x.shape[1:]))
        return self._in_pieces([x] * self.count)

    def own_values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of each draw at its own points."""
        x = self._in_unit_cube(x, 3).reshape(*x.shape[:2], math.prod(x.shape[2:]))
        return self._in_pieces([*x])

    def own_gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values and gradients of each draw at its own points."""
        z, scales, length = self._lifted(self._in_unit_cube(x, 3))
        forward = Forward.of(self.network, self.base, z)
        tangents = forward.tangents(self.direction)
        values, by_z = tangents[-1], forward.tangent_gradient(self.direction, tangents)
        if self.trained is not None:
            other = Forward.of(self.network, self.trained, z)
            values, by_z = values + other.signals[-1], by_z + other.gradient()
        by_z = self.beta[:, None, None] * by_z
        values = self.beta[:, None] * values[..., 0]
        if isinstance(self.lifting, UnitCube):
            by_z *= np.float32(0.5)
        elif self.lifting is not None:  # z has a fixed length: only the part across z counts
            by_z -= z * ((by_z * z).sum(axis=-1, keepdims=True) / z.shape[-1])
            by_z = (by_z[..., :-1] / length) * scales
        return values.astype(np.float64), by_z.astype(np.float64)

    def part(self, which: slice) -> "MLPEvaluator":
        """Return some of the draws."""

        def some(layers: list[Layer]) -> list[Layer]:
            return [layer.part(which) for layer in layers]

        return MLPEvaluator(
            self.network,
            self.lifting[which] if isinstance(self.lifting, np.ndarray) else self.lifting,
            self.beta[which],
            some(self.base),
            some(self.direction),
            None if self.trained is None else some(self.trained),
        )

    def _in_unit_cube(self, x: np.ndarray, axes: int) -> np.ndarray:
        """Bring points to the unit cube if the networks see them there; not images."""
        seen_there = isinstance(self.lifting, UnitCube) and x.ndim == axes
        return (x + 1) * np.float32(0.5) if seen_there else x

    def _in_pieces(self, points: list[np.ndarray]) -> np.ndarray:
        """Evaluate one draw at a time, at so few points that what is between stays in the cache.

        Arrays of a megabyte would cost as much to get from the system as to fill.
        """
        draws = [self.part(slice(i, i + 1)) for i in range(self.count)]
        pieces = [(draw, x[i : i + _PIECE]) for draw, x in zip(draws, points, strict=True)
                  for i in range(0, len(x), _PIECE)]  # fmt: skip
        many = len(pieces) >= _MANY
        with small_matrices(_PIECE) if many else nullcontext():
            found = in_threads(_values, pieces) if many else [_values(p) for p in pieces]
        return np.concatenate([*found, np.empty(0)]).reshape(self.count, -1)

    def _lifted(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return points as the networks see them, what multiplied them, and the last divisor."""
        if not isinstance(self.lifting, np.ndarray):
            return x, np.ones(1), np.ones(1)
        d = x.shape[-1]
        alike = x.ndim == 2 and bool((self.lifting == self.lifting[0]).all())
        scales = (self.lifting[0] if alike else self.lifting[:, None]) / np.float32(math.sqrt(d))
        scaled = x * scales
        z = np.concatenate([scaled, np.ones_like(scaled[..., :1])], axis=-1)
        length = np.sqrt(np.square(z).sum(axis=-1, keepdims=True))
        length /= np.float32(math.sqrt(d + 1))
        z /= length
        return z, scales, length


def _tangent(
    network: MLP, layers: list[Layer], directions: list[Layer], z: np.ndarray
) -> np.ndarray:
    """Return J v alone, (B, N, 1), and keep nothing that derivatives would need."""
    phi = _ACTIVATIONS[network.activation]
    u, moved = z, None
    for index, (layer, direction) in enumerate(zip(layers, directions, strict=True)):
        t = u @ direction.W
        t += direction.b
        if moved is not None:
            t += moved @ layer.W
        if index == len(layers) - 1:  # the output itself is not wanted
            break
        h = u @ layer.W
        h += layer.b
        u, moved = phi(h)
        moved *= t
    return np.asarray(t)


def _values(piece: tuple[MLPEvaluator, np.ndarray]) -> np.ndarray:
    """Evaluate a single draw at a few points."""
    draw, x = piece
    z = draw._lifted(x)[0]
    found = _tangent(draw.network, draw.base, draw.direction, z)
    if draw.trained is not None:
        found += Forward.of(draw.network, draw.trained, z).signals[-1]
    return np.asarray(draw.beta * found[0, :, 0], np.float64)


def _erf(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return erf and its derivative; in float32 by a polynomial, exact to rounding."""
    if h.dtype != np.float32:
        from scipy.special import erf

        return erf(h), _ROOT * np.exp(-h * h)
    square = h * h
    slope = np.negative(square)
    np.exp(slope, out=slope)
    slope *= np.float32(_ROOT)
    np.minimum(square, _ERF_END, out=square)
    q = square * _ERF[-1]
    for coefficient in _ERF[-2:0:-1]:
        q += coefficient
        q *= square
    q += _ERF[0]
    q *= h
    return np.tanh(q, out=q), slope


def _relu(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(h, 0), (h > 0).astype(h.dtype)


def _gelu(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value, slope = _erf(h * h.dtype.type(math.sqrt(0.5)))
    below = (1 + value) / 2  # the normal distribution function
    return h * below, below + h * slope * h.dtype.type(math.sqrt(0.125))


_ACTIVATIONS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "relu": _relu,
    "erf": _erf,
    "gelu": _gelu,
}


def _erf_bend(h: np.ndarray, slope: np.ndarray) -> np.ndarray:
    found = h * slope
    found *= -2
    return found


def _gelu_bend(h: np.ndarray, _: np.ndarray) -> np.ndarray:
    density = np.exp(-h * h / 2) / h.dtype.type(math.sqrt(2 * math.pi))
    return np.asarray(density * (2 - h * h))


_BENDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray | None]] = {
    "relu": lambda h, slope: None,
    "erf": _erf_bend,
    "gelu": _gelu_bend,
}  # phi'' from h and phi', or None where it is zero

"""A network as a linear map of its parameters: J v, J^T a, and solves with J J^T + ridge.

All functions work on B networks at once and are compiled once for each size of the data.

Notation:
    theta   parameters of B networks                                      (B, p)
    x       points, padded with zero rows to a fixed number N             (N, ...)
    J       gradients of the outputs at x with respect to theta, per network   (N, p)
    K       J J^T on the n rows that are no padding                       (n, n)
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from thomax.model.blas import side_by_side
from thomax.model.by_hand import forward_pass, is_by_hand, layers_of
from thomax.model.kernels import blocks_product, empirical_ntk
from thomax.model.networks import Blocks, Network
from thomax.model.posterior import Factor
from thomax.support.compilation import compiled
from thomax.support.lazy_jax import jax
from thomax.support.types import Array


def linearise(
    network: Network, theta: np.ndarray, v: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return f(x; theta) and J v for every network, (B, N) each: one forward-mode sweep.

    Args:
        network: The network to linearise.
        theta: The parameters at which each network is linearised, (B, p).
        v: The direction in parameter space of each network, (B, p).
        x: The points, (N, ...).
    """
    if is_by_hand(network):
        forward = forward_pass(network, theta, x)
        return forward.output, forward.tangents(layers_of(network, v, x[0].size))[-1][..., 0]
    output, tangent = _linearise(network, theta, v, x)
    return np.asarray(output), np.asarray(tangent)


def push(network: Network, theta: np.ndarray, v: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return J v for every network, (B, N).

    Args:
        network: The network to linearise.
        theta: The parameters at which each network is linearised, (B, p).
        v: The direction in parameter space of each network, (B, p).
        x: The points, (N, ...).
    """
    return linearise(network, theta, v, x)[1]


def _sweep(network: Network, theta: Array, v: Array, x: Array) -> tuple[Array, Array]:
    return jax.vmap(lambda t, u: jax.jvp(lambda s: network.apply(s, x), (t,), (u,)))(theta, v)


_linearise = compiled(static_argnums=(0,))(_sweep)


def pull(network: Network, theta: np.ndarray, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return J^T a for every network, (B, N) -> (B, p): one reverse-mode sweep.

    Args:
        network: The network to linearise.
        theta: The parameters at which each network is linearised, (B, p).
        a: The weights of the points for each network, (B, N).
        x: The points, (N, ...).
    """
    if is_by_hand(network):
        return forward_pass(network, theta, x).pulled(a)
    return np.asarray(_pull(network, theta, a, x))


@compiled(static_argnums=(0,))
def _pull(network: Network, theta: Array, a: Array, x: Array) -> Array:
    return jax.vmap(lambda t, u: jax.vjp(lambda s: network.apply(s, x), t)[1](u)[0])(theta, a)


def _expand(
    network: Network, theta: np.ndarray, v: np.ndarray, x: np.ndarray
) -> tuple[Array, Array, Blocks | None]:
    """Return f, J v and the blocks of J."""
    if is_by_hand(network):
        forward = forward_pass(network, theta, x)
        tangents = forward.tangents(layers_of(network, v, x[0].size))
        return forward.output, tangents[-1][..., 0], forward.blocks()
    return _expand_compiled(network, theta, v, x)


@compiled(static_argnums=(0,))
def _expand_compiled(
    network: Network, theta: Array, v: Array, x: Array
) -> tuple[Array, Array, Blocks | None]:
    """Return f, J v and the blocks of J; compiled together they share the forward sweep."""
    blocks = jax.vmap(lambda t: network.blocks(t, x))(theta)
    return *_sweep(network, theta, v, x), blocks


class TangentSystem:
    """B networks linearised at theta: f, J v, and solves with J J^T + ridge I.

    Args:
        network: The network to linearise.
        theta: The parameters at which each network is linearised, (B, p).
        v: The direction in parameter space of each network, (B, p).
        x: The points, padded with zero rows, (N, ...).
        n: The number of points that are no padding.
        precision: The type of K; float32 is enough, and faster, where a damping far above rounding
            is added.
        weights: What multiplies the outputs of the n points, and so the rows of J, (n,); None
            for nothing.
    """

    def __init__(
        self,
        network: Network,
        theta: np.ndarray,
        v: np.ndarray,
        x: np.ndarray,
        n: int,
        precision: DTypeLike = np.float64,
        weights: np.ndarray | None = None,
    ) -> None:
        self._network, self._theta, self._x, self._n = network, theta, x, n
        self._weights = weights
        self._layers: Blocks | None = None
        output, tangent, blocks = _expand(network, theta, v, x)
        if blocks is not None:
            self._layers = [(np.asarray(a)[:, :n], np.asarray(d)[:, :n]) for a, d in blocks]
        self.kernels = self._kernels(precision)
        self.output, self.tangent = (
            self._weighted(np.asarray(z)[:, :n].astype(np.float64)) for z in (output, tangent)
        )

    def mean_variance(self) -> np.ndarray:
        """Return the mean of the diagonal of K, for every network (B,)."""
        return np.array([np.trace(K) / len(K) for K in self.kernels])

    def solver(self, ridge: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return b (B, n) -> a (B, n) for one ridge a network, factored once.

        Args:
            ridge: What is added to the diagonal of K: one number a network, (B,), or one for
                each of its points, (B, n).
        """
        factors = [Factor(K, r) for K, r in zip(self.kernels, ridge, strict=True)]
        return lambda b: np.array([f.solve(v) for f, v in zip(factors, b, strict=True)])

    def push(self, v: np.ndarray) -> np.ndarray:
        """Return J v on the rows that are no padding, (B, n).

        Args:
            v: A direction in parameter space of each network, (B, p).
        """
        layers = self._layers
        if layers is None:
            full = np.asarray(push(self._network, self._theta, v, self._x))
            return self._weighted(full[:, : self._n])

        def product(i: int) -> np.ndarray:
            total, start = np.zeros(self._n, np.float32), 0
            for a, d in layers:
                shape = (a.shape[-1], d.shape[-1])
                V = v[i, start : start + shape[0] * shape[1]].reshape(shape)
                total += np.einsum("nb,nb->n", a[i] @ V, d[i])
                start += V.size
            return total

        return self._weighted(np.array(side_by_side(product, range(len(v)), self._n)))

    def pull(self, a: np.ndarray) -> np.ndarray:
        """Return J^T a for weights of the rows that are no padding, (B, n) -> (B, p).

        Args:
            a: The weights of the points for each network, (B, n).
        """
        layers, a = self._layers, self._weighted(a)
        if layers is None:
            return np.asarray(pull(self._network, self._theta, self._padded(a), self._x))
        weights = a.astype(np.float32)[:, :, None]

        def product(i: int) -> np.ndarray:
            return np.concatenate([(u[i].T @ (weights[i] * d[i])).ravel() for u, d in layers])

        return np.array(side_by_side(product, range(len(a)), self._n))

    def _kernels(self, precision: DTypeLike) -> list[np.ndarray]:
        w = self._weights
        found = self._unweighted_kernels(precision)
        return found if w is None else [w[:, None] * K * w for K in found]

    def _unweighted_kernels(self, precision: DTypeLike) -> list[np.ndarray]:
        n, layers = self._n, self._layers
        if layers is None:
            return [empirical_ntk(self._network, t, self._x[:n]) for t in self._theta]

        def kernel(i: int) -> np.ndarray:
            rows = [(a[i], d[i]) for a, d in layers]
            return blocks_product(rows, rows, precision)

        return side_by_side(kernel, range(len(self._theta)), n)

    def _weighted(self, rows: np.ndarray) -> np.ndarray:
        return rows if self._weights is None else self._weights * rows

    def _padded(self, a: np.ndarray) -> np.ndarray:
        full = np.zeros((len(a), len(self._x)), np.float32)
        full[:, : self._n] = a
        return full

"""Plain gradient descent as the authors of the paper and of Neural UCB released it.

It is a descent in the standard parameterisation, in which the weights of the network themselves
are the parameters. In ours they are w = s theta, with the scales s of `Network.scales`: a step of
rate r in w is one of rate r / s^2 in theta. The loss is

    1/(2n) |y - g(X; theta)|^2  +  1/2 sum_j c_j (theta_j - anchor_j)^2 .

Where g is linear, any number of steps has a closed form. Let J be the gradients of g in theta,
e = theta - theta0 and r = y - J theta0; a step is e <- e - (rate / s^2) (J^T (J e - r) / n + c e).
Parameters that share v = c / s^2 form a group. What is added to those of group g is always
P_g J^T a_g / s^2 with some a_g in function space, and with K_h = J P_h J^T / s^2, n x n, a step is

    a_g  <-  a_g + rate (r / n - sum_h K_h a_h / n - v_g a_g) ,

an affine map of (groups times n) numbers, whose powers come from repeated squaring.
"""

import numpy as np

from thomax.model.networks import Network
from thomax.model.tangents import push
from thomax.support.compilation import compiled
from thomax.support.lazy_jax import jax, jnp
from thomax.support.types import Array


def step_sizes(network: Network, shape: tuple[int, ...], rate: float) -> np.ndarray:
    """Return the learning rate of every parameter theta for one of the weights, (p,) float32.

    Args:
        network: The network.
        shape: Shape of one point.
        rate: The learning rate of the weights.
    """
    s = network.scales(shape).astype(np.float64)
    # A bias of scale 0 has no gradient.
    return np.asarray(rate / np.where(s > 0, s, np.inf) ** 2, np.float32)


def descend(
    network: Network,
    theta: np.ndarray,
    anchor: np.ndarray,
    x: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    penalty: np.ndarray,
    steps: int,
    rate: float,
) -> np.ndarray:
    """Take full-batch gradient steps; networks that diverge keep their start.

    Args:
        network: The network g.
        theta: The parameters to start from, (B, p).
        anchor: The parameters that the penalty draws to, (B, p).
        x: The points, padded, (N, ...).
        targets: The targets of every network, padded, (B, N).
        weights: What multiplies the squared residuals, 1 / n, and 0 on padding, (N,).
        penalty: The weights c of the penalty, (p,).
        steps: The number of steps.
        rate: The learning rate in the standard parameterisation.
    """
    rates = step_sizes(network, x.shape[1:], rate)
    c = np.asarray(penalty, np.float32)
    found = np.asarray(_descend(network, steps, theta, anchor, x, targets, weights, c, rates))
    return np.where(np.isfinite(found).all(axis=1)[:, None], found, theta)


@compiled(static_argnums=(0,))
def _descend(
    network: Network,
    steps: int,
    theta: Array,
    anchor: Array,
    x: Array,
    targets: Array,
    weights: Array,
    penalty: Array,
    rates: Array,
) -> Array:
    def loss(t: Array, y: Array) -> Array:
        return 0.5 * jnp.sum(weights * (y - network.apply(t, x)) ** 2)

    def step(_: int, t: Array) -> Array:
        gradient = jax.vmap(jax.grad(loss))(t, targets)
        return t - rates * (gradient + penalty * (t - anchor))

    return jax.lax.fori_loop(0, steps, step, theta)


def descend_linear(
    network: Network,
    theta0_prime: np.ndarray,
    theta0: np.ndarray,
    x: np.ndarray,
    targets: np.ndarray,
    *,
    penalty: np.ndarray,
    steps: int,
    rate: float,
) -> np.ndarray:
    """Return where so many steps on the linear models < grad f(x; theta0'), theta > end.

    Models that diverge keep their start.

    Args:
        network: The network f.
        theta0_prime: Where each is linearised, (B, p).
        theta0: The start of each, to which the penalty draws, (B, p).
        x: The points, padded, (N, ...).
        targets: The targets of the n points that are no padding, (B, n).
        penalty: The weights c of the penalty, (p,).
        steps: The number of steps.
        rate: The learning rate in the standard parameterisation.
    """
    n = targets.shape[1]
    rates = step_sizes(network, x.shape[1:], 1.0).astype(np.float64)
    residuals = targets - np.asarray(push(network, theta0_prime, theta0, x), np.float64)[:, :n]
    v, group = np.unique(np.asarray(penalty, np.float64) * rates, return_inverse=True)
    found = []
    for linearised, start, r in zip(theta0_prime, theta0, residuals, strict=True):
        J = np.asarray(_jacobian(network, linearised, x))[:n]
        K = np.zeros((len(v), n, n))
        for g in range(len(v)):
            scaled = J[:, group == g] * np.sqrt(rates[group == g]).astype(np.float32)
            K[g] = scaled @ scaled.T
        with np.errstate(over="ignore", invalid="ignore"):  # where it diverges
            a = _after_steps(K, v, r, steps, rate).astype(np.float32)
            change = np.zeros_like(start)
            for g in range(len(v)):
                columns = group == g
                change[columns] = rates[columns] * (a[g] @ J[:, columns])
        found.append(start + change if np.isfinite(change).all() else start)
    return np.array(found, np.float32)


def _after_steps(
    K: np.ndarray, v: np.ndarray, r: np.ndarray, steps: int, rate: float
) -> np.ndarray:
    """Return a after so many steps of the module's docstring from 0, (groups, n)."""
    groups, n = K.shape[:2]
    row = np.concatenate([*K], axis=1) / n
    one = np.eye(groups * n) - rate * (np.tile(row, (groups, 1)) + np.diag(np.repeat(v, n)))
    first = np.tile(rate * r / n, groups)
    # The map of m steps is a -> power a + a_m: twice the steps, and one more for each digit 1.
    power, a = np.eye(groups * n), np.zeros(groups * n)
    for digit in f"{steps:b}":
        a, power = a + power @ a, power @ power
        if digit == "1":
            a, power = first + one @ a, one @ power
    return a.reshape(groups, n)


@compiled(static_argnums=(0,))
def _jacobian(network: Network, theta: Array, x: Array) -> Array:
    gradient = jax.grad(lambda t, point: network.apply(t, point[None])[0])
    return jax.vmap(gradient, in_axes=(None, 0))(theta, x)

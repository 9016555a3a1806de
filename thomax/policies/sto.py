"""STO-BNTS and STO-BNTS-Linear: Algorithms 1 and 2 of Dai, Shu, Low, Jaillet (NeurIPS 2022).

Notation:
    theta0, theta0'   independent draws from `init`, every entry N(0, 1)     (B, p)
    J                 gradients of the network's outputs at the observed x   (n, p)
    eps               a draw of the observation noise N(0, s2)               (B, n)
    beta              inflation of the posterior's standard deviation (Theorem 1); 1 in practice

beta multiplies the network, and beta^2 the noise variance in the loss; so dividing the targets by
beta and multiplying the trained function by it is the same thing, and that is done here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import jax
import numpy as np

from thomax import posterior
from thomax.blas import small_matrices
from thomax.compilation import cached_compilation
from thomax.data import Data, Standardised, pad, padded_size, standardise
from thomax.draws import LinearDraw, NeuralDraw, PathwiseDraw
from thomax.kernels import empirical_ntk, exact_ntk, float64
from thomax.keys import Key, as_keys, normals
from thomax.networks import MLP, Network
from thomax.tangents import push
from thomax.training import Certificate, Problem, gradient_descent, train, train_linear

Beta: TypeAlias = float | Callable[[int], float]

_THETA0, _THETA0_PRIME, _EPS = 1, 2, 3  # the streams of a key
_ROWS_AT_ONCE = 2**14  # draws times points that are trained in one go


@dataclass(frozen=True)
class STOBNTSLinear:
    """Draw from the posterior by Algorithm 2, the linear model on tangent features.

    The minimiser that gradient descent tends to is computed in closed form, with one n x n
    factorisation a draw. With `perturb` (the default) draws are exact posterior samples for the
    empirical tangent kernel; without, the paper's loss (1) to the letter. `noise_std` is on the
    scale of the standardised targets; `standardise=False` leaves targets raw. `beta` is a number,
    or a function of the number of observations. An MLP of infinite width gives pathwise draws with
    the exact kernel.

    Example:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> draws = STOBNTSLinear(MLP(width=64))(np.array([[0, 1], [0, 2]]), data)
        >>> draws(np.linspace(-1, 1, 50)[:, None]).shape
        (2, 50)
    """

    network: Network = MLP()  # noqa: RUF009 - frozen
    noise_std: float = 0.1
    beta: Beta = 1.0
    perturb: bool = True
    standardise: bool = True
    max_dense: int = 10_000
    prior_width: int = 1024

    def __post_init__(self) -> None:
        _check(self)

    @cached_compilation
    def __call__(self, key: Key, data: Data) -> LinearDraw | PathwiseDraw:
        """Return one posterior draw for each key."""
        if _is_infinite(self.network):
            return _pathwise(self, key, data)
        return _in_groups(key, data, lambda keys: self._draw(keys, data))

    def on_set(self, key: Key, data: Data, points: np.ndarray) -> np.ndarray:
        """Draw the values at a finite set of points jointly, for a network of infinite width."""
        return _on_set(self, key, data, points)

    def covariance(self, points: np.ndarray) -> np.ndarray:
        """Return the prior covariances of points, (N, N): of the exact kernel where it is known."""
        return _covariance(self.network, points)

    def _draw(self, keys: np.ndarray, data: Data) -> LinearDraw:
        setup = _Setup.of(self, keys, data)
        p = self.network.size(data.x.shape[1:])
        theta0_prime = normals(keys, p, _THETA0_PRIME)  # line 4
        theta = normals(keys, p, _THETA0)  # line 5
        if setup.n:  # line 6, in closed form
            theta = train_linear(
                self.network, theta0_prime, theta, setup.x, setup.targets, self.noise_std**2,
                max_dense=self.max_dense,
            )  # fmt: skip
        return LinearDraw(
            *setup.units(), network=self.network, theta=theta, theta0_prime=theta0_prime,
            beta=setup.betas(),
        )  # fmt: skip


@dataclass(frozen=True)
class STOBNTS:
    """Draw from the posterior by Algorithm 1, training the network itself.

    Training is damped Gauss-Newton in function space (`steps` at most) and a polishing phase
    (`polish` iterations at most), until the gradient's norm has fallen by `tolerance`; every draw
    carries a `certificate`. Setting `descent=(steps, learning_rate)` trains by plain gradient
    descent instead, as the paper does. The other settings are those of STOBNTSLinear.

    Example:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> draw = STOBNTS(MLP(width=64))(0, data)
        >>> bool(draw.certificate.relative_gradient[0] < 1e-2)
        True
    """

    network: Network = MLP()  # noqa: RUF009 - frozen
    noise_std: float = 0.1
    beta: Beta = 1.0
    perturb: bool = True
    standardise: bool = True
    max_dense: int = 10_000
    prior_width: int = 1024
    steps: int = 10
    polish: int = 4
    tolerance: float = 1e-3
    descent: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        _check(self)

    @cached_compilation
    def __call__(self, key: Key, data: Data) -> NeuralDraw | PathwiseDraw:
        """Return one posterior draw for each key."""
        if _is_infinite(self.network):
            return _pathwise(self, key, data)
        return _in_groups(key, data, lambda keys: self._draw(keys, data))

    def on_set(self, key: Key, data: Data, points: np.ndarray) -> np.ndarray:
        """Draw the values at a finite set of points jointly, for a network of infinite width."""
        return _on_set(self, key, data, points)

    def covariance(self, points: np.ndarray) -> np.ndarray:
        """Return the prior covariances of points, (N, N): of the exact kernel where it is known."""
        return _covariance(self.network, points)

    def _draw(self, keys: np.ndarray, data: Data) -> NeuralDraw:
        setup = _Setup.of(self, keys, data)
        shape = data.x.shape[1:]
        p = self.network.size(shape)
        theta0 = normals(keys, p, _THETA0)  # line 4
        theta0_prime = normals(keys, p, _THETA0_PRIME)  # line 5
        theta0_prime[:, self.network.last_layer(shape)] = 0.0
        theta, certificate = theta0, _untrained(len(keys))
        if setup.n:  # lines 6 and 7; delta(x) = < grad f(x; theta0), theta0' > is constant
            delta = np.asarray(push(self.network, theta0, theta0_prime, setup.x))
            targets = setup.pad(setup.targets) - delta
            weights = (np.arange(len(setup.x)) < setup.n).astype(np.float32)
            problem = Problem(self.network, theta0, setup.x, targets, weights, self.noise_std**2)
            theta, certificate = self._train(problem)
        return NeuralDraw(
            *setup.units(), network=self.network, theta=theta, theta0=theta0,
            theta0_prime=theta0_prime, beta=setup.betas(), certificate=certificate,
        )  # fmt: skip

    def _train(self, problem: Problem) -> tuple[np.ndarray, Certificate]:
        if self.descent is None:
            return train(
                problem,
                steps=self.steps,
                polish=self.polish,
                tolerance=self.tolerance,
                max_dense=self.max_dense,
            )
        steps, rate = self.descent
        theta = gradient_descent(problem, problem.theta0, steps=steps, learning_rate=rate)
        loss, gradient = problem.loss_and_gradient(theta)
        first = problem.loss_and_gradient(problem.theta0)[1]
        norms = np.linalg.norm(gradient, axis=1) / np.linalg.norm(first, axis=1)
        return theta, Certificate(loss, norms, np.full(len(theta), steps))


@dataclass(frozen=True)
class _Setup:
    """What both algorithms start from: padded points and targets y / beta (+ eps)."""

    x: np.ndarray
    n: int
    targets: np.ndarray
    standard: Standardised
    beta: float

    @classmethod
    def of(cls, policy: STOBNTS | STOBNTSLinear, keys: np.ndarray, data: Data) -> "_Setup":
        n = len(data)
        # eps belongs to a point, not to its place in the history: draw it in a canonical order.
        order = np.lexsort((data.y, *data.x.reshape(n, math.prod(data.x.shape[1:])).T[::-1]))
        y = data.y[order]
        standard = standardise(y) if policy.standardise else Standardised(y, 0.0, 1.0)
        beta = float(policy.beta(n) if callable(policy.beta) else policy.beta)
        targets = np.tile(standard.targets / beta, (len(keys), 1))
        if policy.perturb:
            targets = targets + policy.noise_std * normals(keys, n, _EPS)
        return cls(pad(data.x[order], padded_size(n)), n, targets, standard, beta)

    def pad(self, rows: np.ndarray) -> np.ndarray:
        """Append zeros for the padded points."""
        return pad(rows.astype(np.float32), len(self.x), axis=-1)

    def units(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return centre, scale and the single-key flag that a draw begins with."""
        size = len(self.targets)
        return np.full(size, self.standard.centre), np.full(size, self.standard.scale), False

    def betas(self) -> np.ndarray:
        """Return beta for every draw."""
        return np.full(len(self.targets), self.beta, np.float32)


def _untrained(count: int) -> Certificate:
    """Certify draws from the prior: without data the start is the minimum."""
    return Certificate(np.zeros(count), np.zeros(count), np.zeros(count, int))


def _check(policy: STOBNTS | STOBNTSLinear) -> None:
    name = type(policy).__name__
    if not policy.noise_std > 0:
        raise ValueError(f"{name} needs noise_std > 0, got {policy.noise_std}.")
    if not callable(policy.beta) and not policy.beta > 0:
        raise ValueError(f"{name} needs beta > 0 or a function of n, got {policy.beta}.")
    if _is_infinite(policy.network):
        exact_ntk(policy.network)


def _is_infinite(network: Network) -> bool:
    return getattr(network, "width", 0) == math.inf


def _in_groups(key: Key, data: Data, draw: Callable[[np.ndarray], Any]) -> Any:
    """Make the draws of a large batch in groups of bounded memory, and join them."""
    keys, single = as_keys(key)
    group = max(1, _ROWS_AT_ONCE // padded_size(len(data)))
    with small_matrices(len(data)):
        parts = [draw(keys[i : i + group]) for i in range(0, len(keys), group)]
    return _join(parts).as_single(single)


def _join(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _pathwise(policy: STOBNTS | STOBNTSLinear, key: Key, data: Data) -> PathwiseDraw:
    """Condition a prior draw on the data: at infinite width both algorithms are this."""
    keys, single = as_keys(key)
    setup = _Setup.of(policy, keys, data)
    kernel = exact_ntk(policy.network)
    network = replace(policy.network, width=policy.prior_width)  # type: ignore[type-var]
    p = network.size(data.x.shape[1:])
    theta0, theta0_prime = normals(keys, p, _THETA0), normals(keys, p, _THETA0_PRIME)
    weights = np.zeros((len(keys), len(setup.x)))
    if setup.n:
        prior = np.asarray(push(network, theta0_prime, theta0, setup.x), np.float64)
        x = setup.x[: setup.n].astype(np.float64)
        with float64():
            K = np.asarray(kernel(x, x))
        factor = posterior.Factor(K, policy.noise_std**2)
        weights[:, : setup.n] = factor.solve((setup.targets - prior[:, : setup.n]).T).T
    shared = (kernel, setup.x.astype(np.float64))
    repeated = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], len(keys), 0), shared)
    return PathwiseDraw(
        *setup.units(), network=network, theta=theta0, theta0_prime=theta0_prime,
        beta=setup.betas(), kernel=repeated[0], x=repeated[1], weights=weights,
    ).as_single(single)  # fmt: skip


def _covariance(network: Network, points: np.ndarray) -> np.ndarray:
    if isinstance(network, MLP) and network.activation != "gelu":
        with float64():
            x = np.asarray(points, np.float64)
            return np.asarray(exact_ntk(network)(x, x))
    x = np.asarray(points, np.float32)
    theta = normals(as_keys(0)[0], network.size(x.shape[1:]), _THETA0_PRIME)[0]
    return empirical_ntk(network, theta, x)


def _on_set(
    policy: STOBNTS | STOBNTSLinear, key: Key, data: Data, points: np.ndarray
) -> np.ndarray:
    """Draw the values at a finite set jointly and exactly, at infinite width: one Cholesky."""
    if not _is_infinite(policy.network):
        raise ValueError(
            "Exact draws on a set need a network of infinite width, "
            f"got {policy.network}: call the policy and evaluate its draws instead."
        )
    keys, single = as_keys(key)
    setup = _Setup.of(replace(policy, perturb=False), keys[:1], data)
    x, new = setup.x[: setup.n].astype(np.float64), np.asarray(points, np.float64)
    kernel = exact_ntk(policy.network)
    with float64():
        K, k, prior = (np.asarray(kernel(a, b)) for a, b in ((x, x), (x, new), (new, new)))
    mean, covariance = posterior.mean_and_covariance(
        K, k, prior, setup.targets[0], policy.noise_std
    )
    draws = setup.beta * posterior.joint_draws(normals(keys, len(new), _EPS), mean, covariance)
    values = setup.standard.centre + setup.standard.scale * draws
    return values[0] if single else values

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
from typing import Any, Self, TypeAlias

import jax
import numpy as np
from scipy.spatial.distance import cdist

from thomax.checks import DESCENT, FLAG, NETWORK, POSITIVE, at_least, check, whole
from thomax.keys import Key, as_keys, normals
from thomax.model import posterior
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.draws import LinearDraw, NeuralDraw, PathwiseDraw
from thomax.model.kernels import empirical_ntk, exact_ntk, gram, has_exact_ntk
from thomax.model.networks import MLP, Network
from thomax.model.padding import pad, padded_size
from thomax.model.prior import SMALLEST_MAX_NOISE_STD, Prior, default_prior, fit_prior
from thomax.model.tangents import push
from thomax.model.targets import Standardised
from thomax.model.training import Certificate, Problem, gradient_descent, train, train_linear
from thomax.spelling import spell_checked

Beta: TypeAlias = float | Callable[[int], float]

_THETA0, _THETA0_PRIME, _EPS = 1, 2, 3  # the streams of a key
_PAPER_NETWORK = MLP(2, 256, "relu", w_std=1.5, b_std=0.05)
_MOST_COMPARED = 256  # points whose values are compared to see noise
_ROWS_AT_ONCE = 2**14  # draws times points that are trained in one go


@dataclass(frozen=True)
class _SampleThenOptimise:
    """What both algorithms have in common: the settings of STOBNTSLinear."""

    network: Network = MLP(activation="erf")  # noqa: RUF009 - frozen
    noise_std: float | None = None
    beta: Beta = 1.0
    perturb: bool = True
    lift_to_sphere: bool = True
    standardise: bool = True
    warp_targets: bool = True
    scale_prior_std: float = 0.25
    max_noise_std: float = 0.1
    max_dense: int = 10_000
    prior_width: int = 1024

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def paper(cls) -> Self:
        """Return the settings of the paper's experiments: raw targets, bare loss, 2 x 256 ReLU."""
        return cls(
            _PAPER_NETWORK, noise_std=0.1, perturb=False, lift_to_sphere=False, standardise=False
        )

    def on_set(self, key: Key, data: Data, points: np.ndarray) -> np.ndarray:
        """Draw the values at a finite set of points jointly, for a network of infinite width."""
        return _on_set(self, key, data, points)

    def prior(self, data: Data) -> Prior:
        """Return what draws from these data take for granted: scales and noise."""
        return _Known.of(self, data).prior

    def evidence_of_noise(self, data: Data) -> float:
        """Return by how many nats noise explains the values better than a rough function does."""
        return _evidence_of_noise(self, data)

    def covariance(self, points: np.ndarray) -> np.ndarray:
        """Return the prior covariances of points, by the exact kernel where it is known."""
        return _covariance(self, points)


@spell_checked
@dataclass(frozen=True)
class STOBNTSLinear(_SampleThenOptimise):
    """Draw from the posterior by Algorithm 2, the linear model on tangent features.

    The minimiser that gradient descent tends to is computed in closed form, with one n x n
    factorisation a draw. With `perturb` (the default) draws are exact posterior samples for the
    empirical tangent kernel; without, the paper's loss (1) to the letter.

    `noise_std` is on the scale of the standardised targets; None chooses it, together with the
    scales of inputs and outputs, by the evidence, up to `max_noise_std` of the function's
    amplitude: what is taken for noise is no longer followed. `scale_prior_std` says how much
    the scales of dimensions differ (0: not at all). `lift_to_sphere` lifts the points to a
    sphere (for MLP), `standardise=False` leaves targets raw, `warp_targets=False` does not
    warp a long tail of bad ones. `beta` is a number, or a function of the number of
    observations. An MLP of infinite width gives pathwise draws with the exact kernel, from
    priors of networks `prior_width` wide. More than `max_dense` points are solved iteratively.

    Example:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> draws = STOBNTSLinear(MLP(width=64))(np.array([[0, 1], [0, 2]]), data)
        >>> draws(np.linspace(-1, 1, 50)[:, None]).shape
        (2, 50)
    """

    def __call__(self, key: Key, data: Data) -> LinearDraw | PathwiseDraw:
        """Return one posterior draw for each key."""
        return _draws(self, key, data, self._draw)

    def _draw(self, keys: np.ndarray, known: "_Known") -> LinearDraw:
        p = self.network.size(known.x.shape[1:])
        theta0_prime = normals(keys, p, _THETA0_PRIME)  # Algorithm 2, line 4
        theta = normals(keys, p, _THETA0)  # Algorithm 2, line 5
        if known.n:  # Algorithm 2, line 6, in closed form
            theta = train_linear(
                self.network, theta0_prime, theta, known.x, known.targets(keys), known.s2,
                max_dense=self.max_dense,
            )  # fmt: skip
        return LinearDraw(
            **known.units(len(keys)), network=self.network, theta=theta, theta0_prime=theta0_prime
        )


@spell_checked
@dataclass(frozen=True)
class STOBNTS(_SampleThenOptimise):
    """Draw from the posterior by Algorithm 1, training the network itself.

    Training is damped Gauss-Newton in function space (`steps` at most) and a polishing phase
    (`polish` iterations at most), until the gradient's norm has fallen by `tolerance`; every draw
    carries a `certificate`. ReLU networks that it shows to be far from trained, as with many
    points and little noise, need more polishing (`polish=50`). Setting
    `descent=(steps, learning_rate)` trains by plain gradient descent instead, as the paper does.
    The other settings are those of STOBNTSLinear.

    Example:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> draw = STOBNTS(MLP(width=64))(0, data)
        >>> bool(draw.certificate.relative_gradient[0] < 1e-2)
        True
    """

    steps: int = 60
    polish: int = 3
    tolerance: float = 1e-3
    descent: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, steps=whole(0), polish=whole(0), tolerance=at_least(0), descent=DESCENT)

    def __call__(self, key: Key, data: Data) -> NeuralDraw | PathwiseDraw:
        """Return one posterior draw for each key."""
        return _draws(self, key, data, self._draw)

    def _draw(self, keys: np.ndarray, known: "_Known") -> NeuralDraw:
        shape = known.x.shape[1:]
        p = self.network.size(shape)
        theta0 = normals(keys, p, _THETA0)  # Algorithm 1, line 4
        theta0_prime = normals(keys, p, _THETA0_PRIME)  # Algorithm 1, line 5
        theta0_prime[:, self.network.output_mask(shape)] = 0.0
        theta, certificate = theta0, _untrained(len(keys))
        if known.n:
            # Algorithm 1, line 6: delta(x) = < grad f(x; theta0), theta0' > is constant
            delta = np.asarray(push(self.network, theta0, theta0_prime, known.x))
            targets = pad(known.targets(keys).astype(np.float32), len(known.x), -1) - delta
            weights = (np.arange(len(known.x)) < known.n).astype(np.float32)
            problem = Problem(self.network, theta0, known.x, targets, weights, known.s2)
            theta, certificate = self._train(problem)  # Algorithm 1, line 7
        return NeuralDraw(
            **known.units(len(keys)), network=self.network, theta=theta, theta0=theta0,
            theta0_prime=theta0_prime, certificate=certificate,
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
class _Known:
    """What all draws of a call share: points as the network sees them, targets, the prior."""

    x: np.ndarray
    n: int
    standard: Standardised
    prior: Prior
    beta: float
    perturb: bool
    dimension: int

    @classmethod
    def of(cls, policy: _SampleThenOptimise, data: Data) -> "_Known":
        data = data.successes().in_canonical_order()
        n, x = len(data), data.x
        standard = data.targets(policy.standardise, policy.standardise and policy.warp_targets)
        if policy.noise_std is None:
            prior = fit_prior(
                policy.network, x, standard.targets, policy.lift_to_sphere,
                scale_prior_std=policy.scale_prior_std, max_noise_std=policy.max_noise_std,
            )  # fmt: skip
        else:
            prior = default_prior(policy.network, policy.lift_to_sphere, policy.noise_std)
        beta = float(policy.beta(n) if callable(policy.beta) else policy.beta)
        if not 0 < beta < math.inf:
            name = type(policy).__name__
            raise ValueError(f"{name} needs beta > 0, got {beta} for {n} observations.")
        x = prior.inputs(pad(x, padded_size(n, x.shape[1:])))
        return cls(x, n, standard, prior, beta, policy.perturb, math.prod(data.x.shape[1:]))

    @property
    def gain(self) -> float:
        """What multiplies the network: beta, and the amplitude of the prior."""
        return self.beta * self.prior.amplitude  # Algorithm 1, line 2; Algorithm 2, line 2

    @property
    def s2(self) -> float:
        """The noise variance in units of the network."""
        return self.prior.noise_std**2

    def targets(self, keys: np.ndarray) -> np.ndarray:
        """Return the targets of every draw, (B, n), with a draw of the noise."""
        targets = np.tile(self.standard.targets / self.gain, (len(keys), 1))
        if not self.perturb:
            return targets
        return targets + self.prior.noise_std * normals(keys, self.n, _EPS)

    def units(self, count: int) -> dict[str, Any]:
        """Return the fields of a draw that lead back to the objective's units."""
        warping = self.standard.warping
        return {
            "centre": np.full(count, self.standard.centre),
            "scale": np.full(count, self.standard.scale),
            "lifting": self.prior.lifting(count, self.dimension),
            "warping": None if warping is None else np.tile(warping, (count, 1)),
            "beta": np.full(count, self.gain, np.float32),
            "single": False,
        }


def _untrained(count: int) -> Certificate:
    """Certify draws from the prior: without data the start is the minimum."""
    return Certificate(np.zeros(count), np.zeros(count), np.zeros(count, int))


def _check(policy: _SampleThenOptimise) -> None:
    flags = dict.fromkeys(("perturb", "lift_to_sphere", "standardise", "warp_targets"), FLAG)
    check(
        policy, network=NETWORK, noise_std=POSITIVE.or_none(), beta=POSITIVE.or_function(),
        scale_prior_std=at_least(0), max_noise_std=at_least(SMALLEST_MAX_NOISE_STD),
        max_dense=whole(0),
        prior_width=whole(1), **flags,
    )  # fmt: skip
    if _is_infinite(policy.network):
        exact_ntk(policy.network)


def _is_infinite(network: Network) -> bool:
    return getattr(network, "width", 0) == math.inf


def _draws(
    policy: _SampleThenOptimise,
    key: Key,
    data: Data,
    draw: Callable[[np.ndarray, _Known], Any],
) -> Any:
    """Make the draws of a batch, in groups of bounded memory."""
    keys, single = as_keys(key)
    group = max(1, _ROWS_AT_ONCE // padded_size(len(data), data.x.shape[1:]))
    with small_matrices(len(data)):
        known = _Known.of(policy, data)
        if _is_infinite(policy.network):
            return _pathwise(policy, keys, known).as_single(single)
        parts = [draw(keys[i : i + group], known) for i in range(0, len(keys), group)]
    return _join(parts).as_single(single)


def _join(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _pathwise(policy: _SampleThenOptimise, keys: np.ndarray, known: _Known) -> PathwiseDraw:
    """Condition a prior draw on the data: at infinite width both algorithms are this."""
    kernel = exact_ntk(policy.network)
    network = replace(policy.network, width=policy.prior_width)  # type: ignore[type-var]
    p = network.size(known.x.shape[1:])
    theta0, theta0_prime = normals(keys, p, _THETA0), normals(keys, p, _THETA0_PRIME)
    weights = np.zeros((len(keys), len(known.x)))
    x = known.x.astype(np.float64)
    if known.n:
        prior = np.asarray(push(network, theta0_prime, theta0, known.x), np.float64)
        K = gram(kernel, x[: known.n], x[: known.n])
        residual = known.targets(keys) - prior[:, : known.n]
        weights[:, : known.n] = posterior.Factor(K, known.s2).solve(residual.T).T
    shared = jax.tree.map(lambda z: np.repeat(np.asarray(z)[None], len(keys), 0), (kernel, x))
    return PathwiseDraw(
        **known.units(len(keys)), network=network, theta=theta0, theta0_prime=theta0_prime,
        kernel=shared[0], x=shared[1], weights=weights,
    )  # fmt: skip


def _covariance(policy: _SampleThenOptimise, points: np.ndarray) -> np.ndarray:
    network = policy.network
    x = default_prior(network, policy.lift_to_sphere, None).inputs(np.asarray(points, np.float32))
    if has_exact_ntk(network):
        return gram(exact_ntk(network), x, x)
    theta = normals(as_keys(0)[0], network.size(x.shape[1:]), _THETA0_PRIME)[0]
    return empirical_ntk(network, theta, x)


def _evidence_of_noise(policy: _SampleThenOptimise, data: Data) -> float:
    """Look at the best points only where there are many: close ones are among them."""
    data = data.successes()
    best = np.argsort(-data.y, kind="stable")[:_MOST_COMPARED]
    data = Data(data.x[best], data.y[best]).in_canonical_order()
    known = _Known.of(policy, data)
    x = known.x[: known.n]
    flat = data.x.reshape(known.n, known.dimension)
    distances = cdist(flat, flat) / (2 * math.sqrt(known.dimension))
    targets = known.standard.targets / known.prior.amplitude
    K = gram(exact_ntk(policy.network), x, x)
    return posterior.evidence_of_noise(K, distances, targets, known.prior.noise_std)


def _on_set(policy: _SampleThenOptimise, key: Key, data: Data, points: np.ndarray) -> np.ndarray:
    """Draw the values at a finite set jointly and exactly, at infinite width: one Cholesky."""
    if not _is_infinite(policy.network):
        raise ValueError(
            "Exact draws on a set need a network of infinite width, "
            f"got {policy.network}: call the policy and evaluate its draws instead."
        )
    keys, single = as_keys(key)
    known = _Known.of(policy, data)
    new = known.prior.inputs(np.asarray(points, np.float32))
    x = known.x[: known.n]
    kernel = exact_ntk(policy.network)
    K, k, prior = (gram(kernel, a, b) for a, b in ((x, x), (x, new), (new, new)))
    targets = known.standard.targets / known.prior.amplitude
    noise_std = math.sqrt(known.s2)
    mean, covariance = posterior.mean_and_covariance(K, k, prior, targets, noise_std)
    if not policy.perturb:
        covariance = posterior.unperturbed_covariance(K, k, prior, noise_std)
    around = posterior.joint_draws(normals(keys, len(new), _EPS), np.zeros(len(new)), covariance)
    draws = known.prior.amplitude * (mean + known.beta * around)
    values = known.standard.values(draws)
    return values[0] if single else values

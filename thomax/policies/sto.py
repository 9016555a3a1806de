"""STO-BNTS and STO-BNTS-Linear: Algorithms 1 and 2 of Dai, Shu, Low, Jaillet (NeurIPS 2022).

Notation:
    theta0, theta0'   independent draws from `init`, every entry N(0, 1)     (B, p)
    J                 gradients of the network's outputs at the observed x   (n, p)
    eps               a draw of the observation noise N(0, s2)               (B, n)
    beta              inflation of the posterior's standard deviation (Theorem 1); 1 in practice

Where the noise of values differs, eps_i and the residuals of the loss have the variance s2_i of
value i; a descent of so many steps ignores what is known of it.

beta multiplies the network, and beta^2 the noise variance in the loss; so dividing the targets by
beta and multiplying the trained function by it is the same thing, and that is done here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar

import numpy as np

from thomax.keys import Key, Stream, as_keys, make_keys, normals
from thomax.model import posterior
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.draws import Draw, LinearDraw, NeuralDraw, PathwiseDraw
from thomax.model.gradient_steps import descend, descend_linear
from thomax.model.kernels import exact_ntk, gram, has_exact_ntk
from thomax.model.networks import CNN, MLP, PAPER_NETWORK, Network
from thomax.model.noise import Noise
from thomax.model.padding import pad
from thomax.model.prior import (
    INPUTS,
    SMALLEST_MAX_NOISE_STD,
    Inputs,
    Prior,
    default_prior,
    fit_prior,
)
from thomax.model.tangents import push
from thomax.model.training import Certificate, Problem, certify, train, train_linear
from thomax.model.uncertainty import EmpiricalNTK, PriorKernel
from thomax.policies.base import Policy
from thomax.policies.prepared import (
    Marginals,
    PreparedData,
    Schedule,
    at,
    groups,
    is_infinite,
    pathwise_draws,
)
from thomax.support.checks import DESCENT, FLAG, NETWORK, POSITIVE, at_least, check, whole
from thomax.support.spelling import spell_checked

D = TypeVar("D", bound=Draw)
T = TypeVar("T", bound=Draw | Certificate)

_FIXED_SEED = 10  # of draws that are always the same: any number would do
_MOST_COMPARED = 256  # points whose values are compared to see noise


@dataclass(frozen=True)
class _SampleThenOptimise(Policy):
    """What both algorithms have in common: settings, prior, and draws at infinite width."""

    network: Network = MLP(activation="erf")  # noqa: RUF009 - frozen
    noise_std: float | None = None
    beta: Schedule = 1.0
    perturb: bool = True
    inputs: Inputs = "sphere"
    standardise: bool = True
    warp_targets: bool = True
    scale_prior_std: float = 0.25
    max_noise_std: float = 0.1
    max_observations: int = 2000
    prior_width: int = 1024
    descent: tuple[int, float] | None = None
    bias_penalty: float = 1.0
    fixed_draws: bool = False

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def paper(cls) -> Self:
        """Return the settings of the paper's experiments: raw targets, no added noise, ReLU.

        For comparison with the paper, whose searches also used `Search.paper()` and
        `Optimizer(allow_repeats=True)`. Synthetic functions had erf instead of ReLU, images a CNN
        with the same `w_std` and `b_std`.
        """
        return cls(
            PAPER_NETWORK, noise_std=0.1, perturb=False, inputs="unit_cube", standardise=False
        )

    @classmethod
    def released(cls) -> Self:
        """Return the settings of the code that the authors released, which is not the paper's.

        Each place in a batch keeps its random draws from round to round; training is 10,000
        gradient steps, which leave the linear model far from its minimum; and the penalty of
        biases lacks the factor (w_std / b_std)^2 = 900. `Search.released()` goes with it.
        """
        network = PAPER_NETWORK
        return replace(
            cls.paper(), descent=(10_000, 1e-3), fixed_draws=True,
            bias_penalty=(network.b_std / network.w_std) ** 2,
        )  # fmt: skip

    def on_set(self, key: Key, data: Data, points: np.ndarray) -> np.ndarray:
        """Draw the values at a finite set of points jointly, for a network of infinite width.

        Args:
            key: One key or a batch of B keys.
            data: What has been observed.
            points: Encoded points (N, ...).

        Returns:
            Values in the objective's units, (N,) or (B, N).
        """
        return _on_set(self, key, data, points)

    def marginals(self, data: Data, points: np.ndarray) -> Marginals | None:
        """Return the posterior's mean and deviation by the exact tangent kernel.

        Args:
            data: What has been observed.
            points: Encoded points (N, ...).

        Returns:
            Them on the scale of the targets, or None where the exact kernel is unknown.
        """
        if not has_exact_ntk(self.network):
            return None
        with small_matrices(len(data)):
            known = self._prepared(data)
            new = known.prior.inputs(np.asarray(points, np.float32))
            return known.marginals(exact_ntk(self.network), new)

    def prior(self, data: Data) -> Prior:
        """Return the scales and the noise that draws given these data use.

        Args:
            data: What has been observed.
        """
        return self._prepared(data).prior

    def evidence_of_noise(self, data: Data) -> float:
        """Return by how many nats noise explains the values better than a rough function does.

        Args:
            data: What has been observed.
        """
        return _evidence_of_noise(self, data)

    def prior_kernel(self, shape: tuple[int, ...]) -> PriorKernel:
        """Return the prior covariance of encoded points, by the exact kernel where it is known.

        Args:
            shape: The shape of one point.
        """
        return _prior_kernel(self, shape)

    def _prepared(self, data: Data) -> PreparedData[Prior]:
        data = data.successes()
        if self.descent is not None:
            data = data.plain()
        return PreparedData.of(
            data.best_and_spread(self.max_observations),
            self._chosen_prior,
            standardise=self.standardise,
            warp=self.warp_targets,
            beta=at(self.beta, len(data)),  # of all observations, also where some are left out
            owner=type(self).__name__,
        )

    def _chosen_prior(self, x: np.ndarray, targets: np.ndarray, noise: Noise | None) -> Prior:
        if self.noise_std is not None:
            return default_prior(self.network, self.inputs, self.noise_std)
        return fit_prior(
            self.network, x, targets, self.inputs, scale_prior_std=self.scale_prior_std,
            max_noise_std=self.max_noise_std, noise=noise,
        )  # fmt: skip

    def _penalty(self, x: np.ndarray, weight: float) -> np.ndarray:
        """Return the weights of the squared distances from the start in a descent, (p,)."""
        network, shape = self.network, x.shape[1:]
        weights = np.ones(network.size(shape))
        if self.bias_penalty != 1 and isinstance(network, MLP | CNN):
            is_bias = replace(network, b_std=0.0).scales(shape) == 0
            weights[is_bias] = self.bias_penalty
        return weight * weights

    def _targets(self, keys: np.ndarray, known: PreparedData[Prior]) -> np.ndarray:
        """Return the targets of every draw, (B, n)."""
        if self.perturb:
            return known.perturbed_targets(keys)
        return np.tile(known.targets, (len(keys), 1))


@spell_checked
@dataclass(frozen=True)
class STOBNTSLinear(_SampleThenOptimise):
    """Draw from the posterior by Algorithm 2, the linear model on a network's tangent features.

    The minimiser that gradient descent tends to is computed in closed form, with one n x n
    factorisation for each draw. With `perturb` a draw is exact for the kernel of its own random
    features; over draws this is a mixture, which tends to the posterior of the exact tangent
    kernel as the width grows.

    Args:
        network: The network; an MLP of infinite width gives draws with the exact tangent kernel.
        noise_std: Standard deviation of the noise on the scale of the standardised targets; None
            chooses it, with the scales of inputs and outputs, by the evidence.
        beta: What multiplies the posterior's standard deviation: a number, or a function of the
            number of observations.
        perturb: Add a draw of the noise to the targets, so that draws follow the posterior;
            False leaves them as in the paper's loss (1).
        inputs: What the network sees of a point of the cube [-1, 1]^d: the point lifted to a
            "sphere" (MLP only), as it is in the "cube", or in the "unit_cube" [0, 1]^d.
        standardise: Bring the targets to mean zero and unit variance.
        warp_targets: Compress a long tail of bad targets, if they are standardised.
        scale_prior_std: Prior standard deviation of the log scales of single dimensions around
            the common scale; 0 gives all dimensions the same.
        max_noise_std: The most noise that the evidence may choose, in units of the function's
            amplitude.
        max_observations: How many observations draws are conditioned on at most; of more, the
            best half of this number and as many spread over the others.
        prior_width: Width of the networks that prior draws are taken from at infinite width.
        descent: Stop where this number of gradient steps with this learning rate ends, in the
            standard parameterisation, on half the mean of squares, as the released code does;
            what is known of the noise of single values is then ignored.
        bias_penalty: What multiplies the squared distance of biases from their start in the loss
            of that descent.
        fixed_draws: Make the same random draws in every round, one for each place in a batch.

    Examples:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> draws = STOBNTSLinear(MLP(width=64))(np.array([[0, 1], [0, 2]]), data)
        >>> draws(np.linspace(-1, 1, 50)[:, None]).shape
        (2, 50)
    """

    def __call__(self, key: Key, data: Data) -> LinearDraw | PathwiseDraw:
        """Return one posterior draw for each key."""
        return _draws(self, key, data, self._draw)

    def _draw(self, keys: np.ndarray, known: PreparedData[Prior]) -> LinearDraw:
        p = self.network.size(known.x.shape[1:])
        theta0_prime = normals(keys, p, Stream.THETA0_PRIME)  # Algorithm 2, line 4
        theta = normals(keys, p, Stream.THETA0)  # Algorithm 2, line 5
        problem = (self.network, theta0_prime, theta, known.x, self._targets(keys, known))
        if known.n and self.descent is not None:
            steps, rate = self.descent
            theta = descend_linear(
                *problem,
                penalty=self._penalty(known.x, known.s2 / known.n),
                steps=steps,
                rate=rate,
            )
        elif known.n:  # Algorithm 2, line 6, in closed form
            theta = train_linear(*problem, known.variances)
        return LinearDraw(
            **known.units(len(keys)), network=self.network, theta=theta,
            theta0_prime=theta0_prime, beta=known.gains(len(keys)),
        )  # fmt: skip


@spell_checked
@dataclass(frozen=True)
class STOBNTS(_SampleThenOptimise):
    """Draw from the posterior by Algorithm 1, training the network itself.

    The network is trained by damped Gauss-Newton steps in function space, then polished; the
    `certificate` of a draw says how far its loss may still fall.

    Args:
        network: The network; an MLP of infinite width gives draws with the exact tangent kernel.
        noise_std: Standard deviation of the noise on the scale of the standardised targets; None
            chooses it, with the scales of inputs and outputs, by the evidence.
        beta: What multiplies the posterior's standard deviation: a number, or a function of the
            number of observations.
        perturb: Add a draw of the noise to the targets, so that draws follow the posterior;
            False leaves them as in the paper's loss (1).
        inputs: What the network sees of a point of the cube [-1, 1]^d: the point lifted to a
            "sphere" (MLP only), as it is in the "cube", or in the "unit_cube" [0, 1]^d.
        standardise: Bring the targets to mean zero and unit variance.
        warp_targets: Compress a long tail of bad targets, if they are standardised.
        scale_prior_std: Prior standard deviation of the log scales of single dimensions around
            the common scale; 0 gives all dimensions the same.
        max_noise_std: The most noise that the evidence may choose, in units of the function's
            amplitude.
        max_observations: How many observations draws are conditioned on at most; of more, the
            best half of this number and as many spread over the others.
        prior_width: Width of the networks that prior draws are taken from at infinite width.
        descent: Stop where this number of gradient steps with this learning rate ends, in the
            standard parameterisation, on half the mean of squares, as the released code does;
            what is known of the noise of single values is then ignored.
        bias_penalty: What multiplies the squared distance of biases from their start in the loss
            of that descent.
        fixed_draws: Make the same random draws in every round, one for each place in a batch.
        steps: Gauss-Newton steps at most.
        polish: Iterations at most of the polishing after them.
        tolerance: Stop when the loss is estimated to fall by no more than this share.

    Examples:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> draw = STOBNTS(MLP(width=64, activation="erf"))(0, data)
        >>> bool(draw.certificate.decrease[0] < 0.05)
        True
    """

    steps: int = 60
    polish: int = 1000
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, steps=whole(0), polish=whole(0), tolerance=at_least(0))

    def __call__(self, key: Key, data: Data) -> NeuralDraw | PathwiseDraw:
        """Return one posterior draw for each key."""
        return _draws(self, key, data, self._draw)

    def _draw(self, keys: np.ndarray, known: PreparedData[Prior]) -> NeuralDraw:
        shape = known.x.shape[1:]
        p = self.network.size(shape)
        theta0 = normals(keys, p, Stream.THETA0)  # Algorithm 1, line 4
        theta0_prime = normals(keys, p, Stream.THETA0_PRIME)  # Algorithm 1, line 5
        theta0_prime[:, self.network.output_mask(shape)] = 0.0
        theta, certificate = theta0, _untrained(len(keys))
        if known.n:
            # Algorithm 1, line 6: delta(x) = < grad f(x; theta0), theta0' > is constant
            delta = np.asarray(push(self.network, theta0, theta0_prime, known.x))
            with np.errstate(over="ignore"):  # raw targets beyond float32 leave the start
                targets = self._targets(keys, known).astype(np.float32)
            targets = pad(targets, len(known.x), -1) - delta
            problem = Problem(self.network, theta0, known.x, targets, *known.residual_weights())
            theta, certificate = self._train(problem)  # Algorithm 1, line 7
        return NeuralDraw(
            **known.units(len(keys)), network=self.network, theta=theta, theta0=theta0,
            theta0_prime=theta0_prime, beta=known.gains(len(keys)), certificate=certificate,
        )  # fmt: skip

    def _train(self, problem: Problem) -> tuple[np.ndarray, Certificate]:
        if self.descent is None:
            return train(
                problem,
                steps=self.steps,
                polish=self.polish,
                tolerance=self.tolerance,
            )
        steps, rate = self.descent
        theta = descend(
            self.network, problem.theta0, problem.theta0, problem.x, problem.targets,
            problem.weights / np.float32(problem.n),
            penalty=self._penalty(problem.x, problem.s2 / problem.n), steps=steps, rate=rate,
        )  # fmt: skip
        iterations = np.full(len(theta), steps)
        return theta, certify(problem, theta, iterations)


def _untrained(count: int) -> Certificate:
    """Return the certificates of prior draws: without data the start is the minimum."""
    return Certificate(np.zeros(count), np.zeros(count), np.zeros(count, int))


def _check(policy: _SampleThenOptimise) -> None:
    flags = dict.fromkeys(("perturb", "standardise", "warp_targets", "fixed_draws"), FLAG)
    check(
        policy, network=NETWORK, noise_std=POSITIVE.or_none(), beta=POSITIVE.or_function(),
        scale_prior_std=at_least(0), max_noise_std=at_least(SMALLEST_MAX_NOISE_STD),
        max_observations=whole(2), prior_width=whole(1), inputs=INPUTS,
        descent=DESCENT, bias_penalty=at_least(0), **flags,
    )  # fmt: skip
    if policy.bias_penalty != 1 and not (policy.descent and isinstance(policy.network, MLP | CNN)):
        raise ValueError(
            f"{type(policy).__name__} needs bias_penalty=1 without a descent of an MLP or a CNN, "
            f"got {policy.bias_penalty}: leave it out."
        )
    if is_infinite(policy.network):
        exact_ntk(policy.network)


def _draws(
    policy: _SampleThenOptimise,
    key: Key,
    data: Data,
    draw: Callable[[np.ndarray, PreparedData[Prior]], D],
) -> D | PathwiseDraw:
    """Make the draws of a batch, in groups of bounded memory."""
    keys, single = as_keys(key)
    if policy.fixed_draws:
        keys = make_keys(_FIXED_SEED, len(keys))
    with small_matrices(len(data)):
        known = policy._prepared(data)
        if is_infinite(policy.network):
            return _pathwise(policy, keys, known).as_single(single)
        parts = [draw(keys[group], known) for group in groups(len(keys), len(known.x))]
    return _join(parts).as_single(single)


def _join(parts: list[T]) -> T:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    return replace(
        first, **{f.name: _joined([getattr(p, f.name) for p in parts]) for f in fields(first)}
    )


def _joined(values: list[Any]) -> Any:
    """Concatenate arrays, and those of certificates; what is no array is the same in all parts."""
    if isinstance(values[0], np.ndarray):
        return np.concatenate(values)
    if isinstance(values[0], Certificate):
        return Certificate.joined(values)
    return values[0]


def _pathwise(
    policy: _SampleThenOptimise, keys: np.ndarray, known: PreparedData[Prior]
) -> PathwiseDraw:
    """Condition a prior draw on the data: at infinite width both algorithms are this."""
    kernel = exact_ntk(policy.network)
    assert isinstance(policy.network, MLP)  # no other network has an exact kernel
    network = replace(policy.network, width=policy.prior_width)
    return pathwise_draws(keys, known, kernel, network, policy._targets(keys, known))


def _prior_kernel(policy: _SampleThenOptimise, shape: tuple[int, ...]) -> PriorKernel:
    network = policy.network
    before = default_prior(network, policy.inputs, None)
    if has_exact_ntk(network):
        return PriorKernel(exact_ntk(network), before.scale)
    seen = before.inputs(np.zeros((1, *shape), np.float32)).shape[1:]
    theta = normals(as_keys(0)[0], network.size(seen), Stream.THETA0_PRIME)[0]
    return PriorKernel(EmpiricalNTK(network, theta), before.scale)


def _evidence_of_noise(policy: _SampleThenOptimise, data: Data) -> float:
    """Look at the best points only where there are many: close ones are among them."""
    from scipy.spatial.distance import cdist  # here, because importing it takes long

    data = data.successes()
    best = np.argsort(-data.y, kind="stable")[:_MOST_COMPARED]
    known = policy._prepared(data.take(best))
    x = known.observed
    flat = known.data.x.reshape(known.n, known.dimension)
    distances = cdist(flat, flat) / (2 * math.sqrt(known.dimension))
    targets = known.standard.targets / known.prior.amplitude
    K = gram(exact_ntk(policy.network), x, x)
    noise = None if known.noise is None else known.noise.in_units(known.prior.amplitude)
    return posterior.evidence_of_noise(K, distances, targets, known.prior.noise_std, noise)


def _on_set(policy: _SampleThenOptimise, key: Key, data: Data, points: np.ndarray) -> np.ndarray:
    """Draw the values at a finite set jointly and exactly, at infinite width: one Cholesky."""
    if not is_infinite(policy.network):
        raise ValueError(
            "Exact draws on a set need a network of infinite width, "
            f"got {policy.network}: call the policy and evaluate its draws instead."
        )
    keys, single = as_keys(key)
    known = policy._prepared(data)
    new = known.prior.inputs(np.asarray(points, np.float32))
    x = known.observed
    kernel = exact_ntk(policy.network)
    K, k, prior = (gram(kernel, a, b) for a, b in ((x, x), (x, new), (new, new)))
    targets = known.standard.targets / known.prior.amplitude
    noise_std = np.sqrt(known.variances)
    mean, covariance = posterior.mean_and_covariance(K, k, prior, targets, noise_std)
    if not policy.perturb:
        covariance = posterior.unperturbed_covariance(K, k, prior, noise_std)
    around = posterior.joint_draws(
        normals(keys, len(new), Stream.EPS), np.zeros(len(new)), covariance
    )
    draws = known.prior.amplitude * (mean + known.beta * around)
    values = known.standard.values(draws)
    return values[0] if single else values

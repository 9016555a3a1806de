"""Training of B networks: Levenberg-Marquardt in function space, then polishing.

Minimises |y - f(X; theta)|^2 + s2 |theta - theta0|^2, the paper's loss (1), from theta0. Where the
noise of values differs, with a variance s2_i each, residuals are multiplied by w_i, the root of
s2 / s2_i: that is the loss of outputs w f and targets w y, and J and K below are those of w f.

With J and K = J J^T at the current theta, e = theta - theta0 and r = y - f(X; theta), the damped
Gauss-Newton step with damping lam, rho = s2 + lam, is, without any p x p matrix,

    step = J^T (K + rho I)^-1 (r + (s2 / rho) J e)  -  (s2 / rho) e .

lam = 0 is the full Gauss-Newton step, exact in one go as the width grows to infinity. Damping
rather than shortening the step is what carries ReLU networks over their kinks: the stiff
directions are solved at once and only the weak ones are held back.

Gauss-Newton leaves out r times the second derivatives of f. Where targets are many times as large
as the network's own scale, that is most of the Hessian: damping grows, and the steps come to rest
far above the minimum. So limited-memory BFGS goes on from there. Its memory learns what is left
out; its preconditioner is the damped Gauss-Newton model, made anew every few iterations, because
ReLU networks leave the region of one model after a few steps.

With lam = 0 the model's own minimum is s2 b^T (K + s2 I)^-1 b, b = r + J e: what the loss lies
above it (for linear networks: above the minimum) is the certificate's estimate of how far the loss
may still fall. It costs one n x n factorisation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thomax.model.blas import in_threads
from thomax.model.by_hand import Forward, forward_pass, is_by_hand
from thomax.model.lbfgs import InverseHessian, minimise
from thomax.model.networks import MLP, Network
from thomax.model.tangents import TangentSystem
from thomax.support.compilation import compiled
from thomax.support.lazy_jax import jax, jnp, pytree
from thomax.support.types import Array

_FIRST_DAMPING = 0.05  # of the mean diagonal of K
_POLISH_DAMPING = 0.05  # of the mean diagonal of K: usable across ReLU's kinks
_RENEWAL = 5  # iterations of polishing with one model
_WINDOW = 4  # renewals over which the speed of polishing is measured
_AHEAD = 5  # windows of that speed after which the loss must have fallen enough
_STALLED = 0.05  # relative decrease below which Gauss-Newton hands over to polishing
_PROMISING = 0.2  # relative decrease that the linear model must not promise then
_ROUNDING = 1e-7  # share of the loss at the start that float32 does not see
_LARGEST_DAMPING = 1e6  # of the mean diagonal of K: no step is short enough to find anything


@pytree(
    data_fields=["loss", "decrease", "iterations"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Certificate:
    """How far the training of each network went, (B,) each.

    The decrease is an estimate, exact for linear networks: it is that of the network linearised
    at the end. For smooth networks it vanishes with the gradient. At kinks of ReLU gradients do
    not vanish, and the estimate promises more than further training finds: there it says how far
    the loss may fall at most. It knows nothing of other, lower minima far away.

    Args:
        loss: The loss at the end.
        decrease: The share of that loss by which it may still fall, from 0 to 1.
        iterations: The iterations of Gauss-Newton and of the polishing together.
    """

    loss: np.ndarray
    decrease: np.ndarray
    iterations: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence["Certificate"]) -> "Certificate":
        """Return the certificate of all the networks of several.

        Args:
            parts: The certificates, in the order of the networks.
        """
        names = ("loss", "decrease", "iterations")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Problem:
    """The loss of B networks.

    Args:
        network: The network to train.
        theta0: The parameters that training starts from and is drawn to, (B, p).
        x: The points, padded with zero rows, (N, ...).
        targets: The targets of every network, padded, (B, N).
        weights: What multiplies the residuals of the points, w, 0 on padding, (N,).
        s2: The weight of the squared distance from theta0: the noise variance where w is 1.
    """

    network: Network
    theta0: np.ndarray
    x: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    s2: float

    @property
    def n(self) -> int:
        """Count the points that are no padding."""
        return int(np.count_nonzero(self.weights))

    @property
    def weighted_targets(self) -> np.ndarray:
        """The targets of the points that are no padding, as `linearised` counts them, (B, n)."""
        return self.targets[:, : self.n] * self.weights[: self.n]

    def alone(self) -> list["Problem"]:
        """Return the problem of every network by itself."""
        each = zip(self.theta0, self.targets, strict=True)
        return [replace(self, theta0=theta[None], targets=y[None]) for theta, y in each]

    def linearised(self, theta: np.ndarray) -> TangentSystem:
        """Return f and J at theta, and J (theta - theta0), all of them times the weights.

        Args:
            theta: The parameters at which each network is linearised, (B, p).
        """
        v, w = theta - self.theta0, self.weights[: self.n]
        return TangentSystem(
            self.network, theta, v, self.x, self.n, precision=np.float32,
            weights=None if (w == 1).all() else w,
        )  # fmt: skip

    def loss(self, theta: np.ndarray) -> np.ndarray:
        """Return the losses (B,).

        Args:
            theta: The parameters of every network, (B, p).
        """
        if is_by_hand(self.network):
            return self._by_hand(self.network, theta)[0]
        args = (theta, self.theta0, self.x, self.targets, self.weights, np.float32(self.s2))
        return np.asarray(_losses(self.network, *args), np.float64)

    def loss_and_gradient(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (B,) and their gradients (B, p).

        Args:
            theta: The parameters of every network, (B, p).
        """
        if is_by_hand(self.network):
            losses, forward, residual = self._by_hand(self.network, theta)
            pulled = forward.pulled(self.weights * residual)
            return losses, np.float32(2 * self.s2) * (theta - self.theta0) - 2 * pulled
        args = (theta, self.theta0, self.x, self.targets, self.weights, np.float32(self.s2))
        loss, gradient = _loss_and_gradient(self.network, *args)
        return np.asarray(loss, np.float64), np.asarray(gradient)

    def _by_hand(self, network: MLP, theta: np.ndarray) -> tuple[np.ndarray, Forward, np.ndarray]:
        """Return the losses, the forward pass and the weighted residuals of MLPs, by NumPy."""
        forward = forward_pass(network, theta, self.x)
        residual = self.weights * (self.targets - forward.output)
        return _squares(residual) + self.s2 * _squares(theta - self.theta0), forward, residual


def _loss(
    network: Network,
    theta: Array,
    theta0: Array,
    x: Array,
    targets: Array,
    weights: Array,
    s2: np.float32,
) -> Array:
    residual = weights * (targets - network.apply(theta, x))
    return jnp.sum(residual**2) + s2 * jnp.sum((theta - theta0) ** 2)


@compiled(static_argnums=(0,))
def _losses(
    network: Network,
    theta: Array,
    theta0: Array,
    x: Array,
    targets: Array,
    weights: Array,
    s2: np.float32,
) -> Array:
    return jax.vmap(lambda t, start, y: _loss(network, t, start, x, y, weights, s2))(
        theta, theta0, targets
    )


@compiled(static_argnums=(0,))
def _loss_and_gradient(
    network: Network,
    theta: Array,
    theta0: Array,
    x: Array,
    targets: Array,
    weights: Array,
    s2: np.float32,
) -> tuple[Array, Array]:
    return jax.vmap(
        lambda t, start, y: jax.value_and_grad(_loss, argnums=1)(
            network, t, start, x, y, weights, s2
        )
    )(theta, theta0, targets)


def train_linear(
    network: Network,
    theta0_prime: np.ndarray,
    theta0: np.ndarray,
    x: np.ndarray,
    targets: np.ndarray,
    s2: float | np.ndarray,
) -> np.ndarray:
    """Minimise |y - J theta|^2 + s2 |theta - theta0|^2, J at theta0', for targets (B, n).

    The minimiser, where gradient descent from theta0 ends, is theta0 + J^T (K + s2 I)^-1
    (y - J theta0). If y carries a draw of the noise, J theta has over theta0 the law of the
    posterior under the kernel J J^T of this theta0'; over theta0' too it is a mixture of such
    laws, which tends to the posterior under the exact tangent kernel as the width grows. With a
    noise variance for each value the loss is sum_i s2 r_i^2 / s2_i + s2 |theta - theta0|^2, r the
    residuals, for any s2, and the minimiser has A = K + diag(s2_i).

    Args:
        network: The network to train.
        theta0_prime: The parameters at which it is linearised, (B, p).
        theta0: A draw from the prior over the weights, (B, p).
        x: The points, padded with zero rows, (N, ...).
        targets: The targets of the n points that are no padding, (B, n).
        s2: The noise variance: one, or one for each value, (n,).
    """
    ridge = np.broadcast_to(s2, (len(theta0), *np.shape(s2)))

    def moved(which: slice) -> np.ndarray:
        system = TangentSystem(network, theta0_prime[which], theta0[which], x, targets.shape[1])
        a = system.solver(ridge[which])(targets[which] - system.tangent)
        return system.pull(a)

    if not is_by_hand(network):
        return theta0 + moved(slice(None))
    alone = [slice(i, i + 1) for i in range(len(theta0))]  # NumPy lets threads work side by side
    return theta0 + np.concatenate(in_threads(moved, alone))


def train(
    problem: Problem,
    *,
    steps: int,
    polish: int,
    tolerance: float,
) -> tuple[np.ndarray, Certificate]:
    """Minimise the loss; return the parameters (B, p) and how far the loss may still fall.

    A network is done when the certificate's estimate is below the tolerance, or when its loss,
    at the speed of the last 20 iterations, would not fall by that share in 100 more.

    Args:
        problem: The loss to minimise.
        steps: The most steps of Gauss-Newton.
        polish: The most iterations of limited-memory BFGS after them.
        tolerance: The share of the loss that is left to gain when training stops.
    """
    if not is_by_hand(problem.network):  # JAX compiles for B networks at once
        return _train(problem, steps, polish, tolerance)
    # A network that is done leaves its core to the others.
    found = in_threads(lambda one: _train(one, steps, polish, tolerance), problem.alone())
    theta, certificates = zip(*found, strict=True)
    return np.concatenate(theta), Certificate.joined(certificates)


def _train(
    problem: Problem, steps: int, polish: int, tolerance: float
) -> tuple[np.ndarray, Certificate]:
    with np.errstate(over="ignore", invalid="ignore"):  # steps that overflow are refused
        theta, used = gauss_newton(problem, steps=steps)
        models = _Models(problem, tolerance)
        found = minimise(
            problem.loss_and_gradient, theta, iterations=polish, model=models, renewal=_RENEWAL
        )
        iterations = np.full(len(theta), used + found.iterations)
        if np.array_equal(models.theta, found.x):  # no need to linearise them once more
            return found.x, Certificate(found.value, _share(models.left, found.value), iterations)
        return found.x, certify(problem, found.x, iterations)


def certify(problem: Problem, theta: np.ndarray, iterations: np.ndarray) -> Certificate:
    """Return the loss at theta and how far it may still fall.

    Args:
        problem: The loss that was minimised.
        theta: The parameters of every network, (B, p).
        iterations: How many iterations it took, (B,).
    """
    loss = problem.loss(theta)
    left = _decrease(problem, problem.linearised(theta), loss)
    return Certificate(loss, _share(left, loss), iterations)


def _share(left: np.ndarray, loss: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(loss), left / np.maximum(loss, 1e-30), 1.0)


def _decrease(problem: Problem, system: TangentSystem, loss: np.ndarray) -> np.ndarray:
    """Return how far the loss lies above the least loss of the linearised networks, (B,)."""
    b = problem.weighted_targets - system.output + system.tangent
    a = system.solver(np.full(len(b), problem.s2))(b)
    return np.clip(loss - problem.s2 * np.einsum("bn,bn->b", a, b), 0, loss)


class _Models:
    """The damped Gauss-Newton models of the polishing, and when it is done.

    `theta` is where the last model was made, `left` how far the losses lie above its minimum.
    """

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self._problem, self._tolerance = problem, tolerance
        self.theta = self.left = np.zeros(0)
        self._start = problem.loss(problem.theta0)
        self._losses = [np.full(len(self._start), np.inf)] * _WINDOW
        self._damping = np.full(len(self._start), _POLISH_DAMPING)

    def __call__(self, theta: np.ndarray, loss: np.ndarray) -> tuple[InverseHessian, np.ndarray]:
        """Return v -> (J^T J + rho I)^-1 v / 2 at theta, and which networks are done."""
        system = self._problem.linearised(theta)
        less = np.maximum(self._damping / 3, _POLISH_DAMPING)
        more = np.minimum(self._damping * 6, 2 * _LARGEST_DAMPING)
        self._damping = np.where(loss < self._losses[-1], less, more)
        ahead = _AHEAD * (self._losses[0] - loss)
        self._losses = [*self._losses[1:], loss]
        self.theta, self.left = theta, _decrease(self._problem, system, loss)
        left = np.minimum(self.left, ahead)
        done = left <= np.maximum(self._tolerance * loss, _ROUNDING * self._start)
        rho = self._problem.s2 + self._damping * system.mean_variance()
        solve = system.solver(rho)

        def apply(v: np.ndarray) -> np.ndarray:
            pulled = system.pull(solve(system.push(v)))
            return np.asarray((v - pulled) / (2 * rho[:, None].astype(np.float32)))

        return apply, done | (self._damping > _LARGEST_DAMPING)


def gauss_newton(problem: Problem, *, steps: int) -> tuple[np.ndarray, int]:
    """Take damped Gauss-Newton steps while they gain much; the loss never increases.

    Args:
        problem: The loss to minimise.
        steps: The most steps.

    Returns:
        The parameters and the number of steps.
    """
    theta = problem.theta0
    loss = problem.loss(theta)
    system = problem.linearised(theta)
    scale = system.mean_variance()
    damping = _FIRST_DAMPING * scale
    # A network that stalls rests while others go on: no draw depends on the rest of its batch.
    active = np.ones(len(theta), bool)
    for step in range(1, steps + 1):
        candidate, predicted = damped_step(problem, system, theta, damping)
        new_loss = problem.loss(candidate)
        gain = (loss - new_loss) / np.maximum(loss - predicted, 1e-30)
        better = active & np.isfinite(new_loss) & (new_loss < loss)
        theta = np.where(better[:, None], candidate, theta)
        factor = _damping_factor(gain, better)
        damping = np.where(active, damping * factor, damping)
        # A small step is no stall if the damping is about to fall, or if the model promised much.
        is_small = better & (loss - new_loss <= _STALLED * loss)
        stalled = is_small & (factor >= 1) & (loss - predicted <= _PROMISING * loss)
        active = active & ~stalled & (damping <= _LARGEST_DAMPING * scale)
        loss = np.where(better, new_loss, loss)
        if not active.any():
            return theta, step
        if better.any() and step < steps:
            system = problem.linearised(theta)
    return theta, steps


def _damping_factor(gain: np.ndarray, better: np.ndarray) -> np.ndarray:
    """Trust the linear model more where the loss fell as it predicted, less where it did not."""
    factor = np.select([gain > 0.9, gain > 0.75, gain > 0.5], [0.2, 0.5, 1.0], 2.0)
    return np.where(better, factor, 4.0)


def damped_step(
    problem: Problem, system: TangentSystem, theta: np.ndarray, damping: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the step of the module's docstring leads, and the loss the model predicts.

    Args:
        problem: The loss to minimise.
        system: The networks linearised at theta.
        theta: The parameters of every network, (B, p).
        damping: The damping lam of every network, (B,).
    """
    e = theta - problem.theta0
    residual = problem.weighted_targets - system.output
    rho = problem.s2 + damping
    shrink = (problem.s2 / rho)[:, None]
    right = residual + shrink * system.tangent
    a = system.solver(rho)(right)
    step = np.asarray(system.pull(a) - shrink.astype(np.float32) * e)
    # J step = K a - shrink J e, and K a = right - rho a.
    left_over = residual - (right - rho[:, None] * a) + shrink * system.tangent
    predicted = np.square(left_over).sum(1) + problem.s2 * _squares(e + step)
    return theta + step, predicted


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("bp,bp->b", rows, rows, dtype=np.float64)

"""Deep ensembles: Algorithm 1 of Dai, Shu, Low, Jaillet (NeurIPS 2022), less what makes it Bayes.

A member is the network itself, trained from its own start theta0 to fit the data: no tangent term,
no regularisation, no perturbed targets. What its members disagree about is only what different
starts leave over; the paper's Figure 1 shows that this is too little.

Notation:
    theta0   starts, every entry N(0, 1)         (B, p)
    theta    trained parameters                  (B, p)
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from thomax.checks import DESCENT, FLAG, NETWORK, at_least, check, whole
from thomax.keys import Key, Stream, as_keys, normals
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.draws import DRAW_FIELDS, Draw
from thomax.model.networks import MLP, Network
from thomax.model.padding import pad, padded_size
from thomax.model.prior import default_prior
from thomax.model.training import Problem, gradient_descent, train
from thomax.policies.base import Policy
from thomax.spelling import spell_checked

_RIDGE = 1e-6  # nothing but a floor under the solves, where points coincide
_MAX_DENSE = 10_000  # points up to which kernel matrices are formed
_ROWS_AT_ONCE = 2**14  # members times points that are trained in one go


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[*DRAW_FIELDS, "theta"],
    meta_fields=["single", "network"],
)
@dataclass(frozen=True, repr=False)
class Member(Draw):
    """A member of a deep ensemble: f(x; theta), nothing else."""

    network: Network
    theta: np.ndarray

    def values(self, x: Any) -> Any:
        """Evaluate one member on the standardised scale."""
        return self.network.apply(self.theta, self.inputs(x))


@spell_checked
@dataclass(frozen=True)
class DeepEnsemble(Policy):
    """Train one network a key, each from its own random start, to fit the data.

    Training is damped Gauss-Newton (`steps` at most) and polishing (`polish` iterations at most),
    until the gradient's norm has fallen by `tolerance`. With `descent=(steps, learning_rate)` it
    is gradient descent on the mean squared error instead; a descent that diverges leaves its
    start. `lift_to_sphere` lifts the points to a sphere (for MLP), `standardise=False` leaves
    targets raw.

    Example:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> members = DeepEnsemble(MLP(width=64))(np.array([[0, 1], [0, 2]]), data)
        >>> bool(np.allclose(members(data.x), data.y, atol=1e-2))
        True
    """

    network: Network = MLP(activation="erf")  # noqa: RUF009 - frozen
    lift_to_sphere: bool = True
    standardise: bool = True
    steps: int = 20
    polish: int = 50
    tolerance: float = 1e-4
    descent: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        check(
            self, network=NETWORK, lift_to_sphere=FLAG, standardise=FLAG, steps=whole(0),
            polish=whole(0),
            tolerance=at_least(0), descent=DESCENT,
        )  # fmt: skip
        if getattr(self.network, "width", 0) == math.inf:
            raise ValueError(
                f"DeepEnsemble needs a network of finite width, got {self.network}: "
                "at infinite width use STOBNTS."
            )

    @classmethod
    def paper(cls, *, scaled: bool = False) -> "DeepEnsemble":
        """Return the settings of the released code: 10,000 gradient steps on raw targets.

        There the scales sit in the parameters and the learning rate is 1e-3 for half the mean
        squared error. Here they sit in the forward pass, where the same steps of the hidden
        layers have the rate 1e-3 * width / w_std^2 / 2; those of the first layer are longer here.
        `scaled` standardises the targets.
        """
        network = MLP(2, 256, "relu", w_std=1.5, b_std=0.05)
        rate = 1e-3 * network.width / network.w_std**2 / 2
        return cls(network, lift_to_sphere=False, standardise=scaled, descent=(10_000, rate))

    def __call__(self, key: Key, data: Data) -> Member:
        """Return one member for each key."""
        keys, single = as_keys(key)
        data = data.successes().in_canonical_order()
        n, count = len(data), len(keys)
        standard = data.targets(self.standardise)
        prior = default_prior(self.network, self.lift_to_sphere, None)
        x = prior.inputs(pad(data.x, padded_size(n, data.x.shape[1:])))
        theta = normals(keys, self.network.size(x.shape[1:]), Stream.THETA0)
        group = max(1, _ROWS_AT_ONCE // len(x))
        if n:
            with small_matrices(n):
                parts = [
                    self._train(theta[i : i + group], x, standard.targets)
                    for i in range(0, count, group)
                ]
            theta = np.concatenate(parts)
        return Member(
            centre=np.full(count, standard.centre), scale=np.full(count, standard.scale),
            lifting=None if prior.scale is None else np.full(count, prior.scale, np.float32),
            single=single, network=self.network, theta=theta,
        )  # fmt: skip

    def _train(self, theta0: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        n = len(y)
        weights = (np.arange(len(x)) < n).astype(np.float32)
        with np.errstate(over="ignore"):  # raw targets beyond float32 make the descent diverge
            targets = np.tile(pad(y, len(x)).astype(np.float32), (len(theta0), 1))
        if self.descent is None:
            problem = Problem(self.network, theta0, x, targets, weights, _RIDGE)
            return train(
                problem, steps=self.steps, polish=self.polish, tolerance=self.tolerance,
                max_dense=_MAX_DENSE,
            )[0]  # fmt: skip
        steps, rate = self.descent
        mean = weights / np.float32(math.sqrt(n))  # the mean of squares, not their sum
        problem = Problem(self.network, theta0, x, targets, mean, 0.0)
        theta = gradient_descent(problem, theta0, steps=steps, learning_rate=rate)
        return np.where(np.isfinite(problem.loss(theta))[:, None], theta, theta0)

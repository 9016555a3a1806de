"""Deep ensembles: Algorithm 1 of Dai et al. (NeurIPS 2022) without the Bayesian terms.

A member is the network itself, trained from its own start theta0 to fit the data: no tangent term,
no perturbed targets, and hardly any pull to the start unless `noise_std` asks for it. Members
differ only by their starts; the paper's Figure 1 shows that this underestimates the uncertainty.

Notation:
    theta0   starts, every entry N(0, 1)         (B, p)
    theta    trained parameters                  (B, p)
"""

from dataclasses import dataclass, replace

import numpy as np

from thomax.keys import Key, Stream, as_keys, normals
from thomax.model.blas import small_matrices
from thomax.model.data import Data
from thomax.model.draws import DRAW_FIELDS, Draw
from thomax.model.gradient_steps import descend
from thomax.model.networks import MLP, PAPER_NETWORK, Network
from thomax.model.prior import INPUTS, Inputs, Prior, default_prior
from thomax.model.training import Problem, train
from thomax.policies.base import Policy
from thomax.policies.prepared import PreparedData, groups, is_infinite
from thomax.support.checks import DESCENT, FLAG, NETWORK, at_least, check, whole
from thomax.support.lazy_jax import pytree
from thomax.support.spelling import spell_checked
from thomax.support.types import Array


@pytree(
    data_fields=[*DRAW_FIELDS, "theta"],
    meta_fields=["single", "network"],
)
@dataclass(frozen=True, repr=False)
class Member(Draw):
    """A member of a deep ensemble: f(x; theta), nothing else.

    Args:
        network: The network.
        theta: Its trained parameters, (B, p).
    """

    network: Network
    theta: np.ndarray

    def values(self, x: Array) -> Array:
        """Evaluate one member on the standardised scale."""
        return self.network.apply(self.theta, self.inputs(x))


@spell_checked
@dataclass(frozen=True)
class DeepEnsemble(Policy):
    """Train one network for each key, from its own random start, to fit the data.

    Known noise and repeats of single values are ignored.

    Args:
        network: The network, of finite width.
        inputs: What the network sees of a point of the cube [-1, 1]^d: the point lifted to a
            "sphere" (MLP only), as it is in the "cube", or in the "unit_cube" [0, 1]^d.
        standardise: Bring the targets to mean zero and unit variance.
        noise_std: The weight of the squared distance from the start in the loss is its square, as
            in `STOBNTS`; the default is a floor under the solves where points coincide.
        steps: Damped Gauss-Newton steps at most.
        polish: Iterations at most of the optimisation that follows them.
        tolerance: Stop when the loss is estimated to fall by no more than this share.
        descent: Train by gradient descent instead, with this number of steps and this learning
            rate, in the standard parameterisation, on half the mean of squares; a descent that
            diverges returns its start.

    Examples:
        >>> data = Data(np.array([[-0.5], [0.5]]), np.array([0.0, 1.0]))
        >>> members = DeepEnsemble(MLP(width=64))(np.array([[0, 1], [0, 2]]), data)
        >>> bool(np.allclose(members(data.x), data.y, atol=1e-2))
        True
    """

    network: Network = MLP(activation="erf")  # noqa: RUF009 - frozen
    inputs: Inputs = "sphere"
    standardise: bool = True
    noise_std: float = 1e-3
    steps: int = 20
    polish: int = 50
    tolerance: float = 1e-4
    descent: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        check(
            self, network=NETWORK, inputs=INPUTS, standardise=FLAG, steps=whole(0),
            polish=whole(0), tolerance=at_least(0), descent=DESCENT, noise_std=at_least(0),
        )  # fmt: skip
        if is_infinite(self.network):
            raise ValueError(
                f"DeepEnsemble needs a network of finite width, got {self.network}: "
                "at infinite width use STOBNTS."
            )

    @classmethod
    def paper(cls, *, scaled: bool = False) -> "DeepEnsemble":
        """Return the settings of the paper: `STOBNTS.paper()` without the tangent term.

        Args:
            scaled: Standardise the targets.
        """
        return cls(PAPER_NETWORK, inputs="unit_cube", standardise=scaled, noise_std=0.1)

    @classmethod
    def released(cls) -> "DeepEnsemble":
        """Return the settings of the released code: 10,000 gradient steps, no regularisation."""
        return replace(cls.paper(), noise_std=0.0, descent=(10_000, 1e-3))

    def __call__(self, key: Key, data: Data) -> Member:
        """Return one member for each key."""
        keys, single = as_keys(key)
        prior = default_prior(self.network, self.inputs, None)
        known = PreparedData.of(data, lambda *_: prior, standardise=self.standardise)
        theta = normals(keys, self.network.size(known.x.shape[1:]), Stream.THETA0)
        if known.n:
            with small_matrices(known.n):
                parts = groups(len(keys), len(known.x))
                theta = np.concatenate([self._train(theta[part], known) for part in parts])
        members = Member(**known.units(len(keys)), network=self.network, theta=theta)
        return members.as_single(single)

    def _train(self, theta0: np.ndarray, known: PreparedData[Prior]) -> np.ndarray:
        x, targets = known.x, known.tiled_targets(len(theta0))
        if self.descent is None:
            s2 = self.noise_std**2
            problem = Problem(self.network, theta0, x, targets, known.is_observed, s2)
            settings = {"steps": self.steps, "polish": self.polish}
            return train(problem, **settings, tolerance=self.tolerance)[0]
        steps, rate = self.descent
        penalty = np.full(theta0.shape[1], self.noise_std**2 / known.n)
        return descend(
            self.network, theta0, theta0, x, targets, known.mean_weights,
            penalty=penalty, steps=steps, rate=rate,
        )  # fmt: skip

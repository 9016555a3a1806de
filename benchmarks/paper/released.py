"""What the authors' released code does where it differs from the paper, for comparison only.

It draws (theta0, theta0') once, from a fixed key, and never again; trains on raw targets in the
unit cube by 10,000 gradient steps, which leaves the linear model far from its minimum; and takes
the best of 10,000 uniform points (its refinement moves nothing in float32). What is kept here of
that, and what is not:
    kept   frozen keys, raw targets without noise, the unit cube, the search, and, in closed form,
           where so many steps on the linear model end
    not    the neural model's last percents (it is trained to convergence, near which the released
           code ends), the weights of biases in the penalty, the parameterisation of the steps
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thomax.keys import Stream, as_keys, make_keys, normals
from thomax.model.data import Data
from thomax.model.draws import LinearDraw
from thomax.model.kernels import empirical_ntk
from thomax.model.networks import MLP
from thomax.model.padding import pad
from thomax.model.prior import Prior
from thomax.model.tangents import pull, push
from thomax.policies.base import Policy
from thomax.policies.prepared import PreparedData
from thomax.policies.sto import STOBNTS, STOBNTSLinear

_FROZEN_SEED = 10  # any number: what matters is that it never changes
STEPS = 10_000
RELATIVE_RATE = 0.23  # learning rate times largest eigenvalue, measured on the released code


@dataclass(frozen=True)
class UnitCubeMLP(MLP):
    """A network that sees points of [-1, 1]^d as points of [0, 1]^d."""

    def apply(self, theta: Any, x: Any) -> Any:
        """Evaluate the network at centred points."""
        return super().apply(theta, 0.5 * (x + 1))

    def blocks(self, theta: Any, x: Any) -> Any:
        """Return the gradients at centred points, by layers."""
        return super().blocks(theta, 0.5 * (x + 1))


@dataclass(frozen=True)
class FrozenKeys(Policy):
    """A policy whose draws have the same random start in every round: slot i has key i."""

    policy: Policy

    def __call__(self, key: Any, data: Data) -> Any:
        """Return one draw for each key, whatever the keys are."""
        keys, _ = as_keys(key)
        return self.policy(make_keys(_FROZEN_SEED, len(keys)), data)


@dataclass(frozen=True)
class UnconvergedLinear(STOBNTSLinear):
    """The linear model after a number of gradient steps, in closed form.

    In the eigenbasis of A = K + s2 I each step multiplies what is left of the way to the minimum
    by 1 - rate lambda, so after k steps the dual weights are (I - (I - rate A)^k) A^-1 r.
    """

    gradient_steps: int = STEPS

    def _draw(self, keys: np.ndarray, known: PreparedData[Prior]) -> LinearDraw:
        p = self.network.size(known.x.shape[1:])
        theta0_prime, theta = (
            normals(keys, p, Stream.THETA0_PRIME),
            normals(keys, p, Stream.THETA0),
        )
        if known.n:
            start = np.asarray(push(self.network, theta0_prime, theta, known.x), np.float64)
            residual = self._targets(keys, known) - start[:, : known.n]
            x = known.x[: known.n]
            duals = [
                _after_steps(empirical_ntk(self.network, t, x), r, known.s2, self.gradient_steps)
                for t, r in zip(theta0_prime, residual, strict=True)
            ]
            a = pad(np.array(duals, np.float32), len(known.x), -1)
            theta = theta + np.asarray(pull(self.network, theta0_prime, a, known.x))
        return LinearDraw(
            **known.units(len(keys)), network=self.network, theta=theta,
            theta0_prime=theta0_prime, beta=known.gains(len(keys)),
        )  # fmt: skip


def _after_steps(K: np.ndarray, residual: np.ndarray, s2: float, steps: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0.0) + s2
    left = (1 - RELATIVE_RATE * values / values[-1]) ** steps
    return vectors @ ((1 - left) / values * (vectors.T @ residual))


_NETWORK = UnitCubeMLP(2, 256, "relu", w_std=1.5, b_std=0.05)
_SETTINGS: dict[str, Any] = {
    "noise_std": 0.1, "perturb": False, "lift_to_sphere": False, "standardise": False,
}  # fmt: skip


def released_sto() -> FrozenKeys:
    """Return STO-BNTS as released, trained to convergence, which raw targets make hard."""
    return FrozenKeys(STOBNTS(_NETWORK, **_SETTINGS))


def released_linear() -> FrozenKeys:
    """Return STO-BNTS-Linear as released, after its 10,000 gradient steps."""
    return FrozenKeys(UnconvergedLinear(_NETWORK, **_SETTINGS))

"""What the model believes: posterior draws, evaluated wherever the report looks.

Draws are taken at the full deviation of the posterior, and with as much noise as the data say,
whatever the search takes to propose points, so that a band of 90 % means 90 %.
"""

from dataclasses import dataclass

import numpy as np

from thomax.keys import NO_TRIAL, make_keys
from thomax.model.evaluation import Score, in_units
from thomax.policies.gp import GPTS
from thomax.policies.sto import STOBNTSLinear
from thomax.storage.snapshot import Snapshot
from thomax.suggest import FEWEST_VALUES, belief_policy, default_policy

_DRAWS, _FEW_DRAWS = 64, 16
_MANY_POINTS = 500  # observed points from which on a draw is expensive


@dataclass(frozen=True)
class Belief:
    """Posterior draws in the user's units: larger is better only when maximising.

    Args:
        draws: The posterior draws; larger is better.
        count: How many draws there are.
        sign: What turns them into the user's values.
    """

    draws: Score
    count: int
    sign: float

    def values(self, x: np.ndarray) -> np.ndarray:
        """Evaluate all draws at points (N, ...): (count, N).

        Args:
            x: Encoded points, one row each.
        """
        return self.sign * in_units(self.draws, np.asarray(x))


def belief_of(snapshot: Snapshot) -> Belief | None:
    """Draw from the posterior given everything told, or return None if that is too little.

    Args:
        snapshot: The search.
    """
    if snapshot.space is None or len(snapshot.complete) < FEWEST_VALUES:
        return None
    searched_with = snapshot.policy or default_policy(snapshot.space)
    policy = belief_policy(searched_with, snapshot.space, beta=1.0)
    data = snapshot.data().successes()
    cheap = isinstance(policy, STOBNTSLinear | GPTS) and len(data) <= _MANY_POINTS
    count = _DRAWS if cheap else _FEW_DRAWS
    return Belief(
        policy(make_keys(snapshot.seed, count, first=NO_TRIAL), data), count, snapshot.sign
    )


def model_note(snapshot: Snapshot) -> str:
    """Return which model the page shows, where it is not the search's own.

    Args:
        snapshot: The search.
    """
    if snapshot.policy is None:
        return (
            "A journal does not say which policy proposed its trials: "
            "the model here is the default one."
        )
    if not snapshot.policy.is_model:
        name = type(snapshot.policy).__name__
        return f"{name} has no posterior draws: the model here is the default one."
    return ""

"""How the draws are doing: certificates, times, the prior that was chosen, versions."""

import platform
import statistics
import time
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from thomax.keys import make_keys
from thomax.model.data import Data
from thomax.model.draws import NeuralDraw
from thomax.model.metric_data import MetricData
from thomax.model.prior import Prior, UnitCube
from thomax.policies.base import Policy
from thomax.policies.sto import STOBNTS, STOBNTSLinear
from thomax.report.metrics import observed
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.snapshot import Snapshot
from thomax.suggest import default_policy, suggest

_DRAWS = 3


@dataclass(frozen=True)
class Certified:
    """How well one draw was trained: how far its loss may still fall.

    Args:
        decrease: The share of the loss by which it may still fall, an estimate.
        loss: The loss after training.
        iterations: The number of training steps.
    """

    decrease: float
    loss: float
    iterations: int


@dataclass(frozen=True)
class Diagnostics:
    """How well posterior draws are trained, and facts about the run.

    Args:
        certificates: One for each draw; none where draws are solved exactly.
        facts: Texts by name.
    """

    certificates: list[Certified]
    facts: dict[str, str]


def diagnose(snapshot: Snapshot) -> Diagnostics:
    """Take a few posterior draws and one suggestion with the search's own policy, and time them.

    Args:
        snapshot: The search.
    """
    facts = {"seed": str(snapshot.seed)}
    certificates: list[Certified] = []
    if snapshot.space is not None:
        policy = default_policy(snapshot.space) if snapshot.policy is None else snapshot.policy
        data = snapshot.data()
        draw_seconds, certificates = _new_draws(snapshot, policy, data)
        name = "policy (assumed)" if snapshot.policy is None else "policy"
        facts |= {name: repr(policy), **_prior_facts(policy, data.successes())}
        told = f"with {len(snapshot.complete)} values told"
        of = "" if snapshot.metrics.is_one else f" of {snapshot.metrics.names[0]}"
        facts["one draw"] = f"{draw_seconds:.3f} s {told}{of}"
        seen = data if snapshot.metrics.is_one else observed(snapshot)[1]
        ask = _ask_seconds(snapshot, snapshot.space, policy, seen)
        facts["one suggestion"] = f"{ask:.3f} s {told}"
    packages = ("thomax", "jax", "numpy", "scipy", "plotly")
    facts["versions"] = ", ".join(
        [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    )
    return Diagnostics(certificates, facts)


def _prior_facts(policy: Policy, data: Data) -> dict[str, str]:
    if not isinstance(policy, STOBNTS | STOBNTSLinear):
        return {}
    prior = policy.prior(data)
    chosen = "chosen by the evidence" if policy.noise_std is None else "as set"
    return {
        "network": repr(policy.network),
        "prior": f"{_scales_text(prior)}, amplitude {prior.amplitude:.3g}, "
        f"noise {prior.noise_std:.3g} of it (standardised values; {chosen})",
    }


def _scales_text(prior: Prior) -> str:
    if prior.scale is None:
        return "points as they are"
    if isinstance(prior.scale, UnitCube):
        return "points in [0, 1]^d"
    low, high = np.min(prior.scale), np.max(prior.scale)
    return f"input scale {low:.3g}" + ("" if low == high else f" to {high:.3g}")


def _new_draws(snapshot: Snapshot, policy: Policy, data: Data) -> tuple[float, list[Certified]]:
    data = data.successes() if policy.avoids_failures else data
    seconds, certificates = [], []
    for key in make_keys(snapshot.seed, _DRAWS, first=snapshot.next_number):
        start = time.perf_counter()
        draw = policy(key[None], data)
        seconds.append(time.perf_counter() - start)
        if isinstance(draw, NeuralDraw):
            certificate = draw.certificate
            fields = (certificate.decrease, certificate.loss, certificate.iterations)
            decrease, loss, iterations = (np.ravel(field)[0] for field in fields)
            certificates.append(Certified(float(decrease), float(loss), int(iterations)))
    return statistics.median(seconds), certificates  # the first one may have compiled


def _ask_seconds(
    snapshot: Snapshot, space: Space | Pool, policy: Policy, data: Data | MetricData
) -> float:
    exclude = [t.params for t in snapshot.taken]
    seconds = []
    for _ in range(2):  # the first one may compile
        start = time.perf_counter()
        suggest(
            policy, space, data, 1,
            seed=snapshot.seed, number=snapshot.next_number, search=snapshot.search,
            exclude=exclude,
        )  # fmt: skip
        seconds.append(time.perf_counter() - start)
    return min(seconds)

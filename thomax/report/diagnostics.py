"""How the draws are doing: certificates, times, the prior that was chosen, versions."""

import platform
import statistics
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from thomax.keys import make_keys
from thomax.model.data import Data
from thomax.model.prior import Prior
from thomax.policies.sto import STOBNTS, STOBNTSLinear
from thomax.report.run import Run
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.suggest import Policy, default_policy, suggest

_FRESH = 3


@dataclass(frozen=True)
class Certified:
    """How well one draw was trained: its gradient's norm shrank by this factor."""

    relative_gradient: float
    loss: float
    iterations: int


@dataclass(frozen=True)
class Diagnostics:
    """Certificates of fresh draws (none where draws are solved exactly), and facts by name."""

    certificates: list[Certified]
    facts: dict[str, str]


def diagnose(run: Run) -> Diagnostics:
    """Take a few fresh draws and one suggestion with the search's own policy, and time them."""
    facts = {"seed": str(run.seed)}
    certificates: list[Certified] = []
    if run.space is not None:
        policy = default_policy(run.space) if run.policy is None else run.policy
        data = run.data()
        draw_seconds, certificates = _fresh_draws(run, policy, data)
        name = "policy (assumed)" if run.policy is None else "policy"
        facts |= {name: repr(policy), **_prior_facts(policy, data)}
        facts["one draw"] = f"{draw_seconds:.3f} s with {len(data)} values told"
        ask = _ask_seconds(run, run.space, policy, data)
        facts["one suggestion"] = f"{ask:.3f} s with {len(data)} values told"
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
    low, high = np.min(prior.scale), np.max(prior.scale)
    return f"input scale {low:.3g}" + ("" if low == high else f" to {high:.3g}")


def _fresh_draws(run: Run, policy: Policy, data: Data) -> tuple[float, list[Certified]]:
    seconds, certificates = [], []
    for key in make_keys(run.seed, _FRESH, first=_next_number(run)):
        start = time.perf_counter()
        draw = policy(key[None], data)
        seconds.append(time.perf_counter() - start)
        certificate: Any = getattr(draw, "certificate", None)
        if certificate is not None:
            fields = (certificate.relative_gradient, certificate.loss, certificate.iterations)
            gradient, loss, iterations = (np.ravel(field)[0] for field in fields)
            certificates.append(Certified(float(gradient), float(loss), int(iterations)))
    return statistics.median(seconds), certificates  # the first one may have compiled


def _ask_seconds(run: Run, space: Space | Pool, policy: Policy, data: Data) -> float:
    exclude = [t.params for t in run.trials]
    seconds = []
    for _ in range(2):  # the first one may compile
        start = time.perf_counter()
        suggest(
            policy, space, data, 1,
            seed=run.seed, number=_next_number(run), search=run.search, exclude=exclude,
        )  # fmt: skip
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _next_number(run: Run) -> int:
    return max((t.number for t in run.trials), default=-1) + 1

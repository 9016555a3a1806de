from dataclasses import replace

import numpy as np
import pytest
from reading import SMALL, tell_all

from thomax import GPTS, MLP, STOBNTS, Float, Optimizer
from thomax.policies.sto import _Known
from thomax.report.diagnostics import diagnose, prior_of
from thomax.report.run import run_of


def search(policy):
    optimizer = Optimizer({"x": Float(-1, 1)}, policy, seed=5, initial=9)
    tell_all(optimizer, 6, lambda p: p["x"] ** 2)
    return optimizer


def test_trained_draws_show_their_certificates():
    policy = STOBNTS(MLP(width=24), noise_std=0.1)
    optimizer = search(policy)
    found = diagnose(run_of(optimizer))
    again = [policy([5, number], optimizer._data()).certificate for number in (6, 7, 8)]
    for shown, expected in zip(found.certificates, again, strict=True):
        assert shown.iterations == expected.iterations[0]
        assert shown.loss == pytest.approx(expected.loss[0], rel=1e-3)
        assert 0 < shown.relative_gradient < 0.05


@pytest.mark.parametrize("noise_std", [None, 0.3])
def test_the_prior_is_the_one_the_policy_uses(noise_std):
    policy = replace(SMALL, noise_std=noise_std)
    data = search(policy)._data()
    assert prior_of(policy, data) == _Known.of(policy, data).prior


def test_facts_name_seed_policy_times_and_versions():
    found = diagnose(run_of(search(SMALL)))
    assert found.certificates == []
    assert found.facts["seed"] == "5"
    assert found.facts["policy"] == repr(SMALL)
    assert "width=24" in found.facts["network"]
    assert found.facts["prior"].startswith("input scale 1, amplitude 1, noise 0.1")
    assert found.facts["one draw"].endswith("s with 6 values told")
    assert float(found.facts["one suggestion"].split()[0]) > 0
    assert f"numpy {np.__version__}" in found.facts["versions"]


def test_a_policy_without_a_network_has_fewer_facts():
    assert "prior" not in diagnose(run_of(search(GPTS(fit=False)))).facts

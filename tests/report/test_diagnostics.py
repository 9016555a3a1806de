import numpy as np
import pytest
from reading import SMALL, tell_all

from thomax import GPTS, MLP, STOBNTS, Float, Optimizer, Policy
from thomax.model.prior import Prior
from thomax.report.diagnostics import _scales_text, diagnose
from thomax.report.writing import snapshot_of


def search(policy):
    optimizer = Optimizer({"x": Float(-1, 1)}, policy, seed=5, initial=9)
    tell_all(optimizer, 6, lambda p: p["x"] ** 2)
    return optimizer


def test_trained_draws_show_their_certificates():
    policy = STOBNTS(MLP(width=24), noise_std=0.1)
    optimizer = search(policy)
    found = diagnose(snapshot_of(optimizer))
    again = [policy([5, number], optimizer.snapshot().data()).certificate for number in (6, 7, 8)]
    for shown, expected in zip(found.certificates, again, strict=True):
        assert shown.iterations == expected.iterations[0]
        assert shown.loss == pytest.approx(expected.loss[0], rel=1e-3)
        assert shown.decrease == pytest.approx(expected.decrease[0], rel=0.1, abs=1e-3)


def test_the_scales_of_dimensions_are_shown_as_a_range():
    assert _scales_text(Prior(None, 0.1)) == "points as they are"
    assert _scales_text(Prior(2.0, 0.1)) == "input scale 2"
    assert _scales_text(Prior(np.array([0.5, 3.0, 1.0]), 0.1)) == "input scale 0.5 to 3"


def test_facts_name_seed_policy_times_and_versions():
    found = diagnose(snapshot_of(search(SMALL)))
    assert found.certificates == []
    assert found.facts["seed"] == "5"
    assert found.facts["policy"] == repr(SMALL)
    assert "width=24" in found.facts["network"]
    assert found.facts["prior"].startswith("input scale 1, amplitude 1, noise 0.1")
    assert found.facts["one draw"].endswith("s with 6 values told")
    assert float(found.facts["one suggestion"].split()[0]) > 0
    assert f"numpy {np.__version__}" in found.facts["versions"]


def test_a_policy_without_a_network_has_fewer_facts():
    assert "prior" not in diagnose(snapshot_of(search(GPTS(fit=False)))).facts


@pytest.mark.parametrize("avoids", [True, False])
def test_only_a_policy_that_asks_for_failures_is_given_them(avoids):
    seen = []

    class Watching(Policy):
        avoids_failures = avoids

        def __call__(self, keys, data):
            seen.append(data.failed.any())
            return SMALL(keys, data.successes())

    optimizer = search(Watching())
    optimizer.tell(optimizer.ask(), error="no luck")
    facts = diagnose(snapshot_of(optimizer)).facts
    assert set(seen) == {not avoids}
    assert facts["one draw"].endswith("s with 6 values told")

"""The model of a report is the search's own, at the posterior's full deviation."""

from dataclasses import replace

import numpy as np
import pytest
from reading import SMALL, tell_all

from thomax import GPUCB, Float, Optimizer, Random, Sobol
from thomax.policies.base import FunctionPolicy
from thomax.report.belief import belief_of, model_note
from thomax.report.writing import snapshot_of
from thomax.suggest import default_policy


@pytest.fixture
def search():
    optimizer = Optimizer({"x": Float(-1, 1)}, SMALL, seed=0, initial=9, direction="minimize")
    tell_all(optimizer, 5, lambda p: p["x"] ** 2)
    return optimizer


def test_draws_answer_in_the_users_units(search):
    x = search.space.encode([t.params for t in search.trials])
    values = [t.value for t in search.trials]
    np.testing.assert_allclose(belief_of(snapshot_of(search)).values(x).mean(0), values, atol=0.1)


def test_bands_do_not_depend_on_how_boldly_the_search_proposes(search):
    grid = np.linspace(-1, 1, 40)[:, None]
    timid = belief_of(snapshot_of(search)).values(grid).std(0)
    search.policy = replace(SMALL, beta=3.0)
    np.testing.assert_allclose(
        belief_of(snapshot_of(search)).values(grid).std(0), timid, rtol=1e-4
    )


def test_policies_without_draws_are_judged_by_the_default_model(search):
    grid = np.linspace(-1, 1, 40)[:, None]
    search.policy = default_policy(search.space)
    default = belief_of(snapshot_of(search)).values(grid)
    for policy in (GPUCB(), Sobol(), Random()):
        search.policy = policy
        assert np.array_equal(belief_of(snapshot_of(search)).values(grid), default)
    assert model_note(snapshot_of(search)) == (
        "Random has no posterior draws: the model here is the default one."
    )
    search.policy = SMALL
    assert model_note(snapshot_of(search)) == ""


def test_two_values_are_too_few():
    optimizer = Optimizer({"x": Float(-1, 1)}, SMALL, seed=0)
    tell_all(optimizer, 2, lambda p: p["x"])
    assert belief_of(snapshot_of(optimizer)) is None


def test_a_function_of_ones_own_is_a_policy(search):
    search.policy = FunctionPolicy(lambda keys, data: lambda x: np.zeros((len(keys), len(x))))
    belief = belief_of(snapshot_of(search))
    assert belief.values(np.zeros((7, 1))).shape == (belief.count, 7)


def test_a_model_is_given_no_failures(search):
    """As `Policy.avoids_failures` promises, and as the search itself gives it none."""

    def without_failures(keys, data):
        assert not data.failed.any()
        return SMALL(keys, data)

    search.policy = FunctionPolicy(without_failures)
    search.tell(search.ask(), error="no luck")
    assert belief_of(snapshot_of(search)).values(np.zeros((1, 1))).shape[1] == 1

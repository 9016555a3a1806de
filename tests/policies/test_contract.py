"""One contract for every policy: what the optimiser may rely on, whoever wrote the score."""

import math
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
import pytest
from toys import EDGES, toy

import thomax as tx
from thomax import Data, Policy, make_key, make_keys
from thomax.model.evaluation import batch_size, evaluate, evaluator
from thomax.policies import prepared
from thomax.policies.base import as_policy
from thomax.search.maximise import maximise
from thomax.search.settings import Search

SMALL = tx.MLP(1, 32, "erf")
POLICIES = {
    "STOBNTSLinear": tx.STOBNTSLinear(SMALL),
    "STOBNTSLinear fixed": tx.STOBNTSLinear(SMALL, noise_std=0.1),
    "STOBNTS": tx.STOBNTS(SMALL),
    "STOBNTS infinite": tx.STOBNTS(tx.MLP(1, math.inf, "erf"), prior_width=64),
    "GPTS": tx.GPTS(),
    "GPTS se features": tx.GPTS("se", features=200),
    "GPTS ntk": tx.GPTS("ntk", prior_features=64),
    "GPUCB": tx.GPUCB(),
    "NeuralUCB": tx.NeuralUCB(SMALL),
    "NeuralUCB diagonal": tx.NeuralUCB(SMALL, variance="diagonal"),
    "NeuralTS": tx.NeuralTS(SMALL),
    "DeepEnsemble": tx.DeepEnsemble(SMALL),
    "Random": tx.Random(),
    "Sobol": tx.Sobol(),
}
DETERMINISTIC = {"GPUCB", "NeuralUCB", "NeuralUCB diagonal"}
IGNORES_DATA = {"Random", "Sobol"}
everyone = pytest.mark.parametrize("name", POLICIES)
# For what takes long: each algorithm without the ascents that choose its prior.
ONE_OF_A_KIND = (
    "STOBNTSLinear fixed", "STOBNTS", "GPTS se features", "NeuralUCB diagonal", "NeuralTS",
    "DeepEnsemble",
)  # fmt: skip
learners = pytest.mark.parametrize("name", [n for n in POLICIES if n not in IGNORES_DATA])


GRID = np.random.default_rng(9).uniform(-1, 1, (40, 2))
ATTRIBUTES = ("reads_pending", "search_near_best", "is_model", "avoids_failures")


def test_every_exported_policy_is_held_to_the_contract():
    exported = {getattr(tx, name) for name in tx.__all__}
    policies = {c for c in exported if isinstance(c, type) and Policy in c.__mro__} - {Policy}
    assert policies == {type(policy) for policy in POLICIES.values()}


@everyone
def test_a_policy_declares_its_attributes_and_returns_a_score(name):
    policy = POLICIES[name]
    assert [type(getattr(policy, attribute)) for attribute in ATTRIBUTES] == [bool] * 4
    assert as_policy(policy, "Optimizer") is policy
    score = policy(make_keys(1, 3), toy(4))
    assert batch_size(score) == 3
    values, gradients = evaluator(score).own_gradients(np.zeros((3, 5, 2), np.float32))
    assert values.shape == (3, 5)
    assert gradients.shape == (3, 5, 2)


@everyone
def test_a_score_is_a_function_of_key_and_data(name):
    policy, data = POLICIES[name], toy(8)
    first, again = policy(make_keys(1, 2), data)(GRID), policy(make_keys(1, 2), data)(GRID)
    assert first.shape == (2, 40)
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, again)
    assert policy(make_key(1, 0), data)(GRID).shape == (40,)


@everyone
def test_a_score_is_shown_in_a_line_without_its_arrays(name):
    """Row 20."""
    shown = repr(POLICIES[name](make_keys(1, 2), toy(8)))
    assert len(shown) < 200
    assert "batch=2" in shown
    assert "array" not in shown


@everyone
def test_keys_matter_unless_the_policy_is_deterministic(name):
    scores = POLICIES[name](make_keys(1, 2), toy(8))(GRID)
    assert np.allclose(scores[0], scores[1], atol=1e-6) == (name in DETERMINISTIC)


@everyone
def test_order_of_rows_does_not_matter(name):
    policy, data = POLICIES[name], toy(9)
    order = np.random.default_rng(0).permutation(9)
    shuffled = policy(1, Data(data.x[order], data.y[order]))(GRID)
    np.testing.assert_allclose(shuffled, policy(1, data)(GRID), rtol=1e-2, atol=1e-2)


@learners
def test_padding_does_not_matter(name, monkeypatch):
    policy, data = POLICIES[name], toy(9)
    padded = policy(1, data)(GRID)
    monkeypatch.setattr(prepared, "padded_size", lambda n, shape=(): n + 3)
    np.testing.assert_allclose(policy(1, data)(GRID), padded, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_compilation_does_not_matter(name):
    policy, data = POLICIES[name], toy(5)
    compiled = policy(1, data)(GRID[:6])
    with jax.disable_jit():
        np.testing.assert_allclose(policy(1, data)(GRID[:6]), compiled, rtol=2e-2, atol=2e-2)


@everyone
@pytest.mark.parametrize("edge", EDGES)
def test_scores_are_finite_whatever_the_data(name, edge):
    data = EDGES[edge]
    away = np.random.default_rng(9).uniform(-1, 1, (10, data.x.shape[1]))
    points = np.concatenate([away, data.x])
    with np.errstate(over="ignore"):
        assert np.isfinite(POLICIES[name](make_keys(0, 2), data)(points)).all()


@learners
def test_scale_and_shift_of_the_values_change_no_proposal(name):
    policy, data = POLICIES[name], toy(8)
    other = Data(data.x, 1000 * data.y - 7)
    first, second = (policy(3, d)(GRID) for d in (data, other))
    np.testing.assert_allclose((second + 7) / 1000, first, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", sorted(DETERMINISTIC))
def test_pending_points_repel_a_policy_that_cannot_randomise(name):
    policy, data = POLICIES[name], toy(8)
    alone = policy(0, data)(GRID)
    best = GRID[[int(np.argmax(alone))]]
    busy = policy(0, Data(data.x, data.y, pending=best))
    assert busy(best)[0] < alone.max() - 1e-6
    assert policy.reads_pending


@pytest.mark.slow
@learners
def test_growing_data_compiles_once_a_size(name):
    policy, data = POLICIES[name], toy(24)
    for n in (17, 24):
        policy(0, Data(data.x[:n], data.y[:n]))(GRID)
    traces = jax.monitoring  # counting through the public event stream
    events: list[str] = []

    def listen(event: str, duration: float, **_: object) -> None:
        if event.endswith("jaxpr_trace_duration"):
            events.append(event)

    traces.register_event_duration_secs_listener(listen)
    try:
        for n in range(18, 24):
            policy(n, Data(data.x[:n], data.y[:n]))(GRID)
    finally:
        traces.clear_event_listeners()
    assert not events


SPACES = {
    "float": tx.Space({"x": tx.Float(0, 1), "y": tx.Float(1e-3, 1, log=True)}),
    "mixed": tx.Space(
        {"x": tx.Float(0, 1), "c": tx.Categorical(["a", "b", "c"]), "n": tx.Int(1, 5)}
    ),
    "pool": tx.Pool(np.random.default_rng(0).normal(size=(60, 4))),
    "images": tx.Pool(np.random.default_rng(0).uniform(size=(30, 6, 6, 1))),
}


@pytest.mark.slow
@everyone
@pytest.mark.parametrize("kind", SPACES)
def test_every_policy_works_on_every_space(name, kind):
    optimizer = tx.Optimizer(
        SPACES[kind], POLICIES[name], seed=0, initial=4, search=Search(candidates=200)
    )
    for trial in optimizer.ask(4):
        optimizer.tell(trial, float(trial.number))
    batch = optimizer.ask(3)
    assert len({str(t.params) for t in batch}) == 3


@pytest.mark.slow
@learners
def test_a_policy_beats_random_on_a_cheap_problem(name):
    def regret(policy):
        found = []
        for seed in (0, 1, 2):
            optimizer = tx.Optimizer(
                tx.Pool(POOL), policy, seed=seed, initial=5, direction="maximize"
            )
            optimizer.run(lambda p: VALUES[p["index"]], 25, batch=1, progress=False)
            found.append(VALUES.max() - optimizer.best.value)
        return np.mean(found)

    assert regret(POLICIES[name]) < RANDOM_REGRET


POOL = np.random.default_rng(1).uniform(-1, 1, (500, 2)).astype(np.float32)
VALUES = -((POOL - 0.3) ** 2).sum(1)
# The expected best of 25 random candidates, by order statistics of 500 values.
RANDOM_REGRET = float(
    VALUES.max()
    - np.mean([np.random.default_rng(s).choice(VALUES, 25, False).max() for s in range(2000)])
)


def test_maximising_a_score_beats_looking_at_random_points():
    score = POLICIES["STOBNTSLinear"](make_keys(0, 3), toy(10))
    space = tx.Space({"x": tx.Float(-1, 1), "y": tx.Float(-1, 1)})
    points = maximise(np.random.default_rng(0), score, space)
    at = np.diag(evaluate(score, space.encode(points).astype(np.float32)))
    assert (at >= evaluate(score, GRID.astype(np.float32)).max(1) - 1e-3).all()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bowls:
    """The least that a score may be: arrays whose first axis is the batch, and `values`."""

    bottoms: np.ndarray

    def values(self, x):
        return -((x - self.bottoms) ** 2).sum(axis=-1)


@pytest.mark.parametrize("kind", ["float", "mixed", "pool"])
def test_a_score_of_ones_own_needs_only_values(kind, monkeypatch):
    space = SPACES[kind]
    width = space.shape[0]
    optimizer = tx.Optimizer(
        space,
        lambda keys, data: Bowls(np.zeros((len(keys), width), np.float32)),
        seed=0,
        initial=4,
        search=Search(candidates=200),
    )
    for trial in optimizer.ask(4):
        optimizer.tell(trial, float(trial.number))
    assert len(optimizer.ask(3)) == 3
    rows = space.encode([t.params for t in optimizer.trials[:4]])
    nearest = int(np.square(rows).sum(axis=1).argmin())
    monkeypatch.setattr("thomax.suggest.shows_noise", lambda *_: True)
    assert optimizer.recommend().number == nearest


def bowls(keys, data):
    return Bowls(np.zeros((len(keys), data.x.shape[1]), np.float32))


@pytest.mark.parametrize(
    "function",
    [bowls, partial(bowls), jax.tree_util.Partial(bowls), POLICIES["GPTS"].__call__],
    ids=["function", "partial", "tree partial", "method"],
)
def test_a_function_is_a_policy_with_the_default_attributes(function):
    policy = tx.Optimizer(SPACES["float"], function, seed=0).policy
    assert [getattr(policy, a) for a in ATTRIBUTES] == [getattr(Policy, a) for a in ATTRIBUTES]
    score = policy(make_keys(0, 2), toy(4))
    assert batch_size(score) == 2


class Undeclared:
    def __call__(self, keys, data):
        return bowls(keys, data)


class Misdeclared(Undeclared, Policy):
    is_model = "yes"


class Inherited(Undeclared, Policy):
    reads_pending = True


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (Undeclared(), "reads_pending and .* are True or False, got .*Undeclared inherit from"),
        (Misdeclared(), "whose is_model is True or False, got .*Misdeclared inherit from thomax"),
        (Inherited, "needs a policy such as STOBNTSLinear.*pass an instance"),
        ("STOBNTS", "needs a policy such as STOBNTSLinear"),
    ],
    ids=["undeclared", "misdeclared", "class", "name"],
)
def test_what_is_no_policy_is_told_what_one_is(policy, sentence):
    with pytest.raises(TypeError, match=f"^Optimizer .*{sentence}"):
        tx.Optimizer(SPACES["float"], policy, seed=0)


def test_a_class_that_inherits_from_policy_declares_only_what_differs():
    policy = tx.Optimizer(SPACES["float"], Inherited(), seed=0).policy
    assert policy.reads_pending
    assert policy.is_model

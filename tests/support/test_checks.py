"""Row 20: whatever can be set is checked where it is set."""

import math
from dataclasses import fields

import numpy as np
import pytest

import thomax as tx

MADE = [
    tx.STOBNTSLinear(),
    tx.STOBNTS(),
    tx.GPTS(),
    tx.GPUCB(),
    tx.NeuralUCB(),
    tx.NeuralTS(),
    tx.DeepEnsemble(),
    tx.MLP(),
    tx.CNN(),
    tx.NTK(1, "relu", 1.0, 0.0),
    tx.SE(),
    tx.Matern52(),
    tx.Search(),
]
SETTINGS = [(type(made), field.name) for made in MADE for field in fields(made)]


def settings(kind):
    return next(vars(made) for made in MADE if type(made) is kind)


@pytest.mark.parametrize(("kind", "name"), SETTINGS, ids=lambda v: getattr(v, "__name__", v))
def test_every_setting_is_checked_when_it_is_made(kind, name):
    for wrong in ("no such thing", math.nan):
        with pytest.raises(ValueError, match=rf"{kind.__name__} needs .*{name}.*got .*{wrong}"):
            kind(**{**settings(kind), name: wrong})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: tx.STOBNTSLinear(network="mlp"), "needs network to be a network such as MLP"),
        (lambda: tx.STOBNTSLinear(tx.MLP), "needs network to be a network such as MLP"),
        (lambda: tx.STOBNTSLinear(prior_width=0), "prior_width to be a whole number >= 1, got 0"),
        (lambda: tx.STOBNTSLinear(max_observations=1), "max_observations .* >= 2, got 1"),
        (lambda: tx.STOBNTSLinear(beta=math.inf), "beta > 0 or a function of n, got inf"),
        (lambda: tx.STOBNTS(steps=-1), "STOBNTS needs steps to be a whole number >= 0, got -1"),
        (lambda: tx.STOBNTS(steps=True), "steps to be a whole number >= 0, got True"),
        (lambda: tx.STOBNTS(polish=2.5), "polish to be a whole number >= 0, got 2.5"),
        (lambda: tx.STOBNTS(descent=100), "descent to be a pair .steps, learning rate. or None"),
        (lambda: tx.STOBNTS(descent=(100, 0.0)), "descent to be a pair"),
        (lambda: tx.NeuralTS(inputs="ball"), 'inputs to be "sphere" or "cube" or "unit_cube"'),
        (lambda: tx.GPTS(features=2.5), "features to be even and >= 2 .*or None, got 2.5"),
        (lambda: tx.SE(length_scale=np.array([1.0, 0.0])), "SE needs length_scale > 0"),
        (lambda: tx.Search(max_enumerated=-1), "max_enumerated to be a whole number >= 0, got -1"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_in_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    "score",
    [lambda x: x, {"values": np.zeros(2)}, np.zeros((2, 3)), None],
    ids=["function", "dict", "array", "nothing"],
)
def test_a_policy_that_returns_no_score_is_told_what_one_is(score):
    """A function, for example, ended in an error about the length of a leaf."""
    optimizer = tx.Optimizer({"x": tx.Float(0, 1)}, lambda key, data: score, seed=0, initial=0)
    with pytest.raises(TypeError, match=r"policy needs to return a score.*values\(x\), got"):
        optimizer.ask()

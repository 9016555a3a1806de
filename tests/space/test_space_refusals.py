"""Wrong params and spaces that cannot be: what must hold, what was got, what to do."""

import math

import numpy as np
import pytest
from made import is_short, tuning

from thomax.space.parameters import Bool, Categorical, Float
from thomax.space.space import Space, as_space

GOOD = {"optimiser": "sgd", "momentum": 0.25, "layers": 1}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"lr": 1},
            "Unknown parameter 'lr': known are optimiser, momentum, nesterov, layers, width_3.",
        ),
        ({"momentun": 1}, "Unknown parameter 'momentun': did you mean 'momentum'?"),
        ({3: 1}, "Unknown parameter 3: known are optimiser, momentum, nesterov, layers, width_3."),
        ({"layers": ...}, "Parameter 'layers' is missing: give it a value."),
        ({"momentum": 2}, "Parameter 'momentum' needs a number from 0.0 to 1.0, got 2."),
        ({"momentum": math.nan}, "Parameter 'momentum' needs a number from 0.0 to 1.0, got nan."),
        ({"momentum": True}, "Parameter 'momentum' needs a number from 0.0 to 1.0, got True."),
        ({"momentum": "1"}, "Parameter 'momentum' needs a number from 0.0 to 1.0, got '1'."),
        (
            {"momentum": 0.3},
            "Parameter 'momentum' needs 0.0 plus a multiple of 0.25, got 0.3 "
            "(the nearest is 0.25).",
        ),
        ({"layers": 1.5}, "Parameter 'layers' needs a whole number from 1 to 3, got 1.5."),
        ({"layers": 4}, "Parameter 'layers' needs a whole number from 1 to 3, got 4."),
        ({"layers": math.inf}, "Parameter 'layers' needs a whole number from 1 to 3, got inf."),
        ({"optimiser": "lamb"}, "Parameter 'optimiser' needs one of ['adam', 'sgd'], got 'lamb'."),
        (
            {"optimiser": ["sgd"]},
            "Parameter 'optimiser' needs one of ['adam', 'sgd'], got ['sgd'].",
        ),
        ({"width_3": 4}, "Parameter 'width_3' is active only when 'layers' is 3: leave it out."),
        (
            {"nesterov": True},
            "Parameter 'nesterov' is active only when 'momentum' is in [0.5, 0.75]: leave it out.",
        ),
        (
            {"momentum": 0.5, "nesterov": 1},
            "Parameter 'nesterov' needs one of [False, True], got 1.",
        ),
        (
            {"layers": 3, "width_3": 4},
            "The constraint refuses {'optimiser': 'sgd', 'momentum': "
            "0.25, 'layers': 3, 'width_3': 4}: change one of the values.",
        ),
    ],
)
def test_wrong_params_are_named(change, sentence):
    params = {name: value for name, value in (GOOD | change).items() if value is not ...}
    with pytest.raises(ValueError) as caught:
        tuning(constraint=is_short).validate(params)
    assert str(caught.value) == sentence


def test_params_must_be_a_mapping():
    with pytest.raises(TypeError, match="params needs a mapping from names to values, got 'x'"):
        Space({"x": Float(0, 1)}).encode({"x": 1})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Space({}), "Space needs at least one parameter, got none."),
        (lambda: Space([1]), "Space needs a mapping from names to parameters, got [1]."),
        (lambda: Space({1: Bool()}), "Space needs names that are strings, got 1."),
        (
            lambda: Space({"x": (0, 1)}),
            "Space needs a parameter for 'x', got (0, 1): use "
            "one of Float, Int, Categorical, Ordinal, Bool, such as Float(0, 1).",
        ),
        (
            lambda: Space({"x": Bool()}, constraint=1),
            "constraint needs a function of the params, got 1.",
        ),
        (
            lambda: Space({"x": Bool(when={"y": 1})}),
            "The condition of 'x' needs a parameter of the space, got 'y': known are x.",
        ),
        (
            lambda: Space({"x": Bool(when={"y": 1}), "y": Float(0, 1)}),
            "The condition of 'x' needs "
            "a parameter with separate values, got 'y': give it a step.",
        ),
        (
            lambda: Space({"x": Bool(when={"y": "c"}), "y": Categorical(["a", "b"])}),
            "The condition of 'x': 'y' needs one of ['a', 'b'], got 'c'.",
        ),
        (
            lambda: Space({"x": Bool(when={"x": True})}),
            "Conditions must not depend on each other in a circle, got 'x' -> 'x'.",
        ),
        (
            lambda: Space.from_description({"kind": "pool"}),
            "A description of a space has kind 'space', got 'pool'.",
        ),
        (
            lambda: Space.from_description({"kind": "space", "parameters": [{"type": "Real"}]}),
            "A parameter is one of ['Float', 'Int', 'Categorical', 'Ordinal', 'Bool'], "
            "got 'Real'.",
        ),
        (
            lambda: Space.from_description([1]),
            "A description of a space has kind 'space', got [1].",
        ),
        (
            lambda: Space.from_description({"kind": "space", "parameters": [{"type": "Bool"}]}),
            "A space needs the description that `describe` gives, "
            "got {'kind': 'space', 'parameters': [{'type': 'Bool'}]} ('name').",
        ),
        (
            lambda: Space.from_description(
                {"kind": "space", "parameters": [{"name": ["x"], "type": "Bool"}]}
            ),
            "A space needs the description that `describe` gives, got {'kind': 'space', "
            "'parameters': [{'name': ['x'], 'type': 'Bool'}]} (unhashable type: 'list').",
        ),
        (lambda: Space({"x": Bool()}).decode([1.0]), "x needs shape (n, 1), got (1,)."),
        (
            lambda: Space({"x": Bool()}).snap([[math.nan]]),
            "x needs finite numbers, got nan or inf.",
        ),
        (
            lambda: Space({"x": Float(0, 1)}).index([{"x": 0}]),
            "Only finite spaces have positions: give every Float a step.",
        ),
        (
            lambda: next(Space({"x": Float(0, 1)}).chunks(9)),
            "Only finite spaces have positions: give every Float a step.",
        ),
        (
            lambda: as_space(np.zeros((3, 2))),
            "A space is a Space, a Pool or a dictionary of "
            "parameters, got ndarray: wrap arrays and tables in Pool(...).",
        ),
    ],
)
def test_mistakes_are_explained_in_one_sentence(make, sentence):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert str(caught.value) == sentence


def test_circular_conditions_are_shown():
    circle = {"a": Bool(when={"b": True}), "b": Bool(when={"a": True})}
    with pytest.raises(ValueError, match=r"in a circle, got '[ab]' -> '[ab]' -> '[ab]'"):
        Space(circle)


def test_a_constraint_that_raises_is_reported_with_its_params():
    space = tuning(constraint=lambda params: params["momentum"] > 0)
    with pytest.raises(ValueError, match=r"KeyError\('momentum'\) for {'optimiser': 'adam'"):
        space.validate({"optimiser": "adam", "layers": 1})

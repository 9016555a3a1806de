"""Short names lead to the policies, networks and searches they stand for."""

import numpy as np
import pytest

from benchmarks.methods import NAMES, Method, parse_method
from benchmarks.paper.figures import FIGURES
from thomax import (
    CNN,
    MLP,
    Bool,
    Categorical,
    Data,
    Float,
    Ordinal,
    Pool,
    Search,
    Space,
    make_keys,
)
from thomax.policies.sto import STOBNTS
from thomax.suggest import default_policy

SPACE = Space({"x": Float(-1, 1)})
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (12, 3)).astype(np.float32)
DATA = Data(X, 100 * np.sin(2 * X[:, 0]))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_scores_points(name):
    fixed = name.startswith(("random", "sobol", "gp"))
    small = "" if fixed else ":1x8"
    score = parse_method(f"{name}{small}").policy(SPACE)(make_keys(0, 2), DATA)
    assert np.isfinite(score(X)).all()


def test_a_name_gives_network_and_batch():
    assert parse_method("sto-paper:8x64@4") == Method("sto-paper", 4, 8, 64)
    policy = parse_method("sto-paper:8x64@4").policy(SPACE, "erf")
    assert policy.network == MLP(8, 64, "erf", w_std=1.5, b_std=0.05)
    assert parse_method("linear:cnn16").policy(SPACE).network == CNN(width=16)
    paper = parse_method("linear-paper:cnn16").policy(SPACE).network
    assert paper == CNN(width=16, w_std=1.5, b_std=0.05)
    start = parse_method("neural-ts-paper:cnn16").policy(SPACE).network
    assert start.w_std == pytest.approx(3**-0.5)  # deviations 1 / sqrt(3 fan-in)
    assert parse_method("gp-ts@3").batch == 3


@pytest.mark.parametrize("text", ["gp-ts:8x64", "random:1x8", "sobol:cnn8"])
def test_a_network_is_not_chosen_in_vain(text):
    with pytest.raises(ValueError, match="cannot be chosen: leave it out"):
        parse_method(text).policy(SPACE)


def test_our_own_configuration_keeps_its_activation():
    assert parse_method("sto:1x8").policy(SPACE, "relu").network.activation == "erf"
    assert parse_method("sto-paper").policy(SPACE, "relu").network.activation == "relu"


def test_auto_is_what_the_optimiser_takes():
    cube = {name: Float(0, 1) for name in "xyz"}
    choices = {name: Categorical(["a", "b"]) for name in "uvw"}
    levels = {name: Ordinal([1, 2, 5]) for name in "uv"}
    for parameters in (cube, cube | levels, cube | choices):
        usual = parse_method("auto").policy(Space(parameters))
        assert (usual.beta(100), usual.warp_targets) == (0.5, True)
    few = Space({"x": Float(0, 1), "y": Float(0, 1)})
    options = Space({**cube, "c": Categorical(["a", "b"]), "d": Bool()})
    branches = Space({**cube, **choices, "d": Float(0, 1, when={"u": "a"})})
    for space in (few, options, branches, Pool(X)):
        usual = parse_method("auto").policy(space)
        assert (usual.beta(100), usual.warp_targets) == (1.0, False)


def test_both_algorithms_get_the_settings_that_the_optimiser_takes():
    for space in (Space({name: Float(0, 1) for name in "xyz"}), Pool(X)):
        usual = default_policy(space)
        assert parse_method("linear").policy(space) == usual
        trained = parse_method("sto").policy(space)
        assert isinstance(trained, STOBNTS)
        assert (trained.beta, trained.warp_targets) == (usual.beta, usual.warp_targets)


def test_each_configuration_has_its_search():
    assert parse_method("gp-ucb").search() == Search()
    assert parse_method("neural-ts-scaled").search() == Search.paper()
    assert parse_method("sto-paper").search() == Search.paper()
    assert parse_method("sto-released").search() == Search.released()
    assert parse_method("gp-ts-released").search() == Search.paper()


@pytest.mark.parametrize(
    "text", ["", "nothing", "sto:3", "sto@0", "sto:0x8", "sto-paper@x", "STO"]
)
def test_a_wrong_name_is_refused(text):
    with pytest.raises(ValueError, match="A method"):
        parse_method(text)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=lambda f: f.name)
def test_every_method_of_a_figure_exists(figure):
    assert all(parse_method(method) for method in figure.methods)
    assert len(set(figure.methods)) == len(figure.methods)

"""Short names lead to the policies, networks and searches they stand for."""

import numpy as np
import pytest

from benchmarks.methods import NAMES, Method, parse_method
from benchmarks.paper.figures import FIGURES
from benchmarks.paper.released import (
    RELATIVE_RATE,
    FrozenKeys,
    UnconvergedLinear,
    UnitCubeMLP,
    released_linear,
    released_sto,
)
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
from thomax.model.kernels import empirical_ntk
from thomax.policies.sto import STOBNTS, STOBNTSLinear
from thomax.suggest import default_policy

SPACE = Space({"x": Float(-1, 1)})
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (12, 3)).astype(np.float32)
DATA = Data(X, 100 * np.sin(2 * X[:, 0]))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_scores_points(name):
    fixed = name.startswith(("random", "sobol", "gp")) or name.endswith("released")
    small = "" if fixed else ":1x8"
    score = parse_method(f"{name}{small}").policy(SPACE)(make_keys(0, 2), DATA)
    assert np.isfinite(score(X)).all()


def test_a_name_gives_network_and_batch():
    assert parse_method("sto-paper:8x64@4") == Method("sto-paper", 4, 8, 64)
    policy = parse_method("sto-paper:8x64@4").policy(SPACE, "erf")
    assert policy.network == MLP(8, 64, "erf", w_std=1.5, b_std=0.05)
    assert parse_method("linear-paper:cnn16").policy(SPACE).network == CNN(width=16)
    assert parse_method("gp-ts@3").batch == 3


@pytest.mark.parametrize("text", ["gp-ts:8x64", "random:1x8", "sto-released:8x64", "sobol:cnn8"])
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
        assert (usual.beta, usual.warp_targets) == (0.5, True)
    few = Space({"x": Float(0, 1), "y": Float(0, 1)})
    options = Space({**cube, "c": Categorical(["a", "b"]), "d": Bool()})
    branches = Space({**cube, **choices, "d": Float(0, 1, when={"u": "a"})})
    for space in (few, options, branches, Pool(X)):
        usual = parse_method("auto").policy(space)
        assert (usual.beta, usual.warp_targets) == (1.0, False)


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
    assert parse_method("sto-released").search().iterations == 0


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


def test_frozen_keys_give_the_same_draws_in_every_round():
    policy = FrozenKeys(STOBNTSLinear(MLP(1, 16)))
    np.testing.assert_array_equal(
        policy(make_keys(0, 2), DATA)(X), policy(make_keys(5, 2, first=9), DATA)(X)
    )
    assert not np.allclose(*policy(make_keys(0, 2), DATA)(X))


def test_the_unit_cube_network_sees_points_from_zero_to_one():
    network, plain = UnitCubeMLP(1, 16), MLP(1, 16)
    theta = rng.normal(size=network.size((3,))).astype(np.float32)
    np.testing.assert_allclose(network.apply(theta, X), plain.apply(theta, 0.5 * (X + 1)))
    np.testing.assert_allclose(
        empirical_ntk(network, theta, X), empirical_ntk(plain, theta, 0.5 * (X + 1)), rtol=1e-5
    )


def test_unconverged_training_is_so_many_gradient_steps():
    """Descend in the parameters of the same linear model, one step after the other."""
    steps = 40
    policy = UnconvergedLinear(
        MLP(1, 16), noise_std=0.5, perturb=False, lift_to_sphere=False, standardise=False,
        gradient_steps=steps,
    )  # fmt: skip
    draw = policy(make_keys(0, 1), DATA)
    start = UnconvergedLinear(
        MLP(1, 16), noise_std=0.5, perturb=False, lift_to_sphere=False, standardise=False,
        gradient_steps=0,
    )(make_keys(0, 1), DATA)  # fmt: skip
    theta0_prime, theta0 = draw.theta0_prime[0], np.asarray(start.theta[0], np.float64)
    x = DATA.in_canonical_order().x
    y = DATA.in_canonical_order().y
    J = _jacobian(MLP(1, 16), theta0_prime, x)
    rate = RELATIVE_RATE / (np.linalg.eigvalsh(J @ J.T)[-1] + 0.25)
    theta = theta0.copy()
    for _ in range(steps):
        theta -= rate * (J.T @ (J @ theta - y) + 0.25 * (theta - theta0))
    np.testing.assert_allclose(draw(x)[0], J @ theta, rtol=1e-3, atol=1e-2)
    assert not np.allclose(draw(x)[0], y, atol=1.0)


def _jacobian(network, theta, x):
    import jax

    return np.asarray(jax.jacobian(lambda t: network.apply(t, x))(theta), np.float64)


def test_many_steps_end_at_the_minimum():
    settings = {"noise_std": 1.0, "perturb": False, "lift_to_sphere": False, "standardise": False}
    long = UnconvergedLinear(MLP(1, 64), gradient_steps=10**7, **settings)(make_keys(0, 1), DATA)
    exact = STOBNTSLinear(MLP(1, 64), **settings)(make_keys(0, 1), DATA)
    np.testing.assert_allclose(long(X), exact(X), rtol=1e-3, atol=0.05)


def test_as_released_the_linear_model_fits_worse_than_the_neural_one():
    neural, linear = (make()(make_keys(0, 1), DATA) for make in (released_sto, released_linear))
    error = [np.sqrt(np.mean((draw(DATA.x)[0] - DATA.y) ** 2)) for draw in (neural, linear)]
    assert error[0] < error[1]

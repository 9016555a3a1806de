"""Problems with several objectives or limits against BoTorch's and against published optima."""

import math

import numpy as np
import pytest

from benchmarks.metrics.fronts import beam_of, dtlz2, four_bar_truss, zdt3
from benchmarks.metrics.hypervolume import non_dominated
from benchmarks.metrics.learned import coupling_cost, multiplications, network_values
from benchmarks.metrics.limited import keane
from benchmarks.metrics.problem import MetricTask
from benchmarks.metrics.references import random_reference
from benchmarks.metrics.registry import FRONTS, LIMITED, TASKS, metric_task
from benchmarks.tasks.datasets import DownloadError
from thomax import Float, Space


def made(name):
    try:
        return metric_task(name)
    except DownloadError as error:
        pytest.skip(str(error))


def random_params(task, count=5, seed=0):
    return task.space.decode(task.space.sample(np.random.default_rng(seed), count))


def test_there_are_ten_tasks_with_fronts_and_eight_with_limits():
    assert len(FRONTS) >= 10
    assert len(LIMITED) >= 8
    assert {len(made(name).objectives) for name in FRONTS} == {2, 3}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_returns_the_metrics_that_it_names_and_the_same_again(name):
    task = made(name)
    for params in random_params(task, 2):
        values = task.evaluate(params)
        assert {*task.objectives, *task.limits} <= {*values}
        assert all(math.isfinite(v) for v in values.values())
        assert values == task.evaluate(params)
    assert len(task.reference) == (len(task.objectives) if task.has_front else 0)
    assert task.source


# The function of BoTorch, and our parameters in its order.
FUNCTIONS = {
    "zdt1": ("ZDT1", {"dim": 6}), "zdt3": ("ZDT3", {"dim": 8}),
    "dtlz2": ("DTLZ2", {"dim": 6, "num_objectives": 3}),
    "dtlz7": ("DTLZ7", {"dim": 6, "num_objectives": 3}), "branin_currin": ("BraninCurrin", {}),
    "crash": ("VehicleSafety", {}), "disc_brake": ("DiscBrake", {}),
    "welded_beam_2": ("WeldedBeam", {}), "gramacy": ("ConstrainedGramacy", {}),
    "pressure_vessel": ("PressureVessel", {}), "speed_reducer": ("SpeedReducer", {}),
    "spring": ("TensionCompressionString", {}), "welded_beam": ("WeldedBeamSO", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_objectives_of_botorchs(name):
    multi = pytest.importorskip("botorch.test_functions.multi_objective")
    single = pytest.importorskip("botorch.test_functions.synthetic")
    import torch

    kind, settings = FUNCTIONS[name]
    task, module = metric_task(name), multi if metric_task(name).has_front else single
    function = getattr(module, kind)(**settings)
    for params in random_params(task, 20):
        x = np.array([*params.values()], dtype=float)
        if name == "pressure_vessel":
            x[:2] /= 16
        if name == "branin_currin":
            x = np.maximum(x, 1e-9)
        raw = function._evaluate_true(torch.tensor(x)[None]).numpy().ravel()
        tolerance = 1e-3 if name in ("speed_reducer", "welded_beam_2", "welded_beam") else 1e-9
        if name == "zdt3":  # BoTorch leaves out a factor g of Zitzler's, which is 1 on the front
            raw[1] *= 1 + 9 * x[1:].mean()
        np.testing.assert_allclose(task.losses(task.evaluate(params)), raw, rtol=tolerance)


@pytest.mark.parametrize(
    "name",
    ["disc_brake", "gramacy", "pressure_vessel", "speed_reducer", "spring"],
)
def test_a_design_is_feasible_where_botorch_says_so(name):
    multi = pytest.importorskip("botorch.test_functions.multi_objective")
    single = pytest.importorskip("botorch.test_functions.synthetic")
    import torch

    kind, settings = FUNCTIONS[name]
    task, module = metric_task(name), multi if metric_task(name).has_front else single
    function = getattr(module, kind)(**settings)
    ours, theirs = [], []
    for params in random_params(task, 3000, seed=1):
        x = np.array([*params.values()], dtype=float)
        if name == "pressure_vessel":
            x[:2] /= 16
        slack = function._evaluate_slack_true(torch.tensor(x)[None]).numpy()
        ours.append(task.is_feasible(task.evaluate(params)))
        theirs.append(bool((slack >= 0).all()))
    assert np.mean(np.array(ours) == theirs) > 0.999
    assert 0 < sum(ours) < len(ours)


OPTIMA = {
    "gramacy": ({"x1": 0.1954, "x2": 0.4044}, 0.5998),
    "ackley10": ({f"x{i}": 0.0 for i in range(1, 11)}, 0.0),
    "welded_beam": (
        {"weld": 0.205730, "length": 3.470489, "height": 9.036624, "thickness": 0.205730},
        1.724852,
    ),
    "pressure_vessel": (
        {"shell": 13, "head": 7, "radius": 42.098446, "length": 176.636596}, 6059.714335,
    ),
    "speed_reducer": (
        {"width": 3.5, "module": 0.7, "teeth": 17, "length1": 7.3, "length2": 7.715320,
         "diameter1": 3.350215, "diameter2": 5.286655}, 2994.471066,
    ),
    "spring": ({"wire": 0.051689, "coil": 0.356718, "coils": 11.288966}, 0.012665),
    "concrete_beam": ({"area": 6.32, "height": 34, "width": 8.5}, 359.208),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMA)
def test_a_published_optimum_has_its_value_and_keeps_its_limits_up_to_its_digits(name):
    params, best = OPTIMA[name]
    task = metric_task(name)
    values = task.evaluate(task.space.validate(params))
    np.testing.assert_allclose(task.losses(values)[0], best, rtol=1e-4, atol=1e-9)
    assert task.excess(values).max() < 1e-3
    assert task.best == best


def test_keanes_bumps_have_their_published_optimum_in_twenty_dimensions():
    """That of CEC 2006's g02."""
    x = [
        3.16246061572185, 3.12833142812967, 3.09479212988791, 3.06145059523469, 3.02792915885555,
        2.99382606701730, 2.95866871765285, 2.92184227312450, 0.49482511456933, 0.48835711005490,
        0.48231642711865, 0.47664475092742, 0.47129550835493, 0.46623099264167, 0.46142004984199,
        0.45683664767217, 0.45245876903267, 0.44826762241853, 0.44424700958760, 0.44038285956317,
    ]  # fmt: skip
    values = keane(np.array(x))
    assert values["value"] == pytest.approx(-0.80361910412559, abs=1e-9)
    assert values["product"] == pytest.approx(0.75, abs=1e-6)


def test_the_front_of_dtlz2_is_the_sphere():
    x = np.array([0.3, 0.8, 0.5, 0.5, 0.5, 0.5])
    assert np.linalg.norm(dtlz2(x)) == pytest.approx(1)


def test_the_lowest_piece_of_the_front_of_zdt3_ends_where_it_is_published():
    value = zdt3(np.array([0.8518328654] + [0.0] * 7))[1]
    assert value == pytest.approx(-0.7733690, abs=1e-6)


def test_the_truss_has_its_published_extremes():
    light = {"bar1": 1.0, "bar2": math.sqrt(2), "bar3": math.sqrt(2), "bar4": 1.0}
    stiff = {"bar1": 3.0, "bar2": 3.0, "bar3": math.sqrt(2), "bar4": 3.0}
    assert four_bar_truss(light)["volume"] == pytest.approx(1237.8414230005742)
    assert four_bar_truss(stiff)["movement"] == pytest.approx(0.002761423749158419)


def test_a_welded_beam_has_the_stress_of_a_cantilever():
    """6 P L / (b t^2), and P L^3 / (3 E I) with I = b t^3 / 12."""
    values = beam_of({"weld": 0.3, "length": 4.0, "height": 8.0, "thickness": 0.4})
    assert values["stress"] == pytest.approx(6 * 6000 * 14 / (0.4 * 64))
    assert values["deflection"] == pytest.approx(6000 * 14**3 / (3 * 30e6 * 0.4 * 512 / 12))


def test_a_limit_is_exceeded_in_shares_of_its_bound():
    task = MetricTask(
        "t", Space({"x": Float(0, 1)}), dict, {"f": "maximize"},
        {"a": "<= 4", "b": ">= 10", "c": "<= 0"},
    )  # fmt: skip
    values = {"f": 2.0, "a": 5.0, "b": 12.0, "c": -0.5}
    np.testing.assert_allclose(task.excess(values), [0.25, -0.2, -0.5])
    np.testing.assert_allclose(task.losses(values), [-2.0])
    assert not task.is_feasible(values)
    assert task.is_feasible(values | {"a": 4.0})


@pytest.mark.parametrize("name", ["zdt1", "zdt3", "fonseca", "four_bar_truss", "crash"])
def test_a_reference_point_is_what_random_points_say(name):
    task = metric_task(name)
    np.testing.assert_allclose(task.reference, random_reference(task, 2000), rtol=0.15)


@pytest.mark.parametrize("name", FRONTS)
def test_some_random_points_count_and_no_single_one_ends_the_search(name):
    task = made(name)
    values = [task.evaluate(p) for p in random_params(task, 100 if name == "network" else 400)]
    losses = np.array([task.losses(v) for v in values if task.is_feasible(v)])
    inside = losses[(losses < task.reference_losses()).all(axis=1)]
    assert len(inside) > 0
    assert non_dominated(inside).sum() > 1


def test_multiplications_are_those_of_a_networks_weights():
    from sklearn.neural_network import MLPClassifier

    params = {"pixels": 12, "units": 5, "layers": 2}
    model = MLPClassifier((5, 5), max_iter=1)
    rng = np.random.default_rng(0)
    with pytest.warns(Warning, match="iterations"):
        model.fit(rng.normal(size=(50, 12)), np.arange(50) % 10)
    assert multiplications(params) == sum(w.size for w in model.coefs_)


def test_a_larger_network_is_more_accurate_and_takes_more_multiplications():
    rest = {"activation": "relu", "layers": 1, "learning_rate_init": 0.01, "alpha": 1e-3,
            "batch_size": 16}  # fmt: skip
    small, large = (
        network_values(rest | {"units": units, "pixels": pixels})
        for units, pixels in ((3, 6), (64, 64))
    )
    assert small["accuracy"] + 20 < large["accuracy"]
    assert small["multiplications"] * 50 < large["multiplications"]


def test_a_dearer_catalyst_and_more_time_cost_more():
    params = {"catalyst": "tBuXPhos", "base": "DBU", "equivalents": 2.0, "temperature": 60.0,
              "seconds": 600.0}  # fmt: skip
    assert coupling_cost(params) == pytest.approx(2 + 0.6 + 6 / 6)
    assert coupling_cost(params | {"catalyst": "AlPhos"}) == pytest.approx(10.6)

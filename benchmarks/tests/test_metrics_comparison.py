"""Runs, records, ranks, tables and the page of the comparison on several metrics."""

import json

import numpy as np
import pytest

from benchmarks.metrics.command import FOLDER, PAGE
from benchmarks.metrics.hypervolume import hypervolume
from benchmarks.metrics.methods import Session, takes_part
from benchmarks.metrics.page import page
from benchmarks.metrics.registry import metric_task
from benchmarks.metrics.runner import (
    START_POINTS,
    MetricRun,
    curve,
    finished,
    forget,
    infeasible_share,
    perform,
    run_all,
    runs,
    starts,
)
from benchmarks.metrics.summary import comparisons
from benchmarks.metrics.tables import losses, overview, summary
from benchmarks.runner import records
from benchmarks.tasks.datasets import DownloadError


def record(task, method, seed, front, feasible="1" * 100, batch=4):
    return {"task": task, "method": method, "seed": seed, "batch": batch, "evaluations": 100,
            "feasible": feasible, "front": front, "seconds": 9.2}  # fmt: skip


GRAMACY = [
    record("gramacy", "thomax", 0, [[9, 0.9], [50, 0.6]], "0" * 9 + "1" * 91),
    record("gramacy", "random", 0, [[9, 0.8]]),
    record("gramacy", "thomax", 1, [[30, 0.7]]),
    record("gramacy", "random", 1, [], "0" * 100),
    record("spring", "thomax", 0, [[8, 2.0]]),
    record("spring", "random", 0, [[8, 1.0]]),
]


def told(run):
    """Repeat the evaluations of a random run."""
    task = metric_task(run.task)
    session = Session("random", task, 0, START_POINTS)
    points = starts(task, run.seed)
    while len(points) < run.evaluations:
        points += session.ask(run.batch)
    return task, [task.evaluate(p) for p in points]


def test_runs_are_ordered_so_that_any_prefix_is_a_comparison():
    found = runs(["zdt1", "gramacy"], ["random", "scbo"], [4, 1], 2)
    assert [r.seed for r in found] == [0] * 6 + [1] * 6
    assert [(r.task, r.method) for r in found[:3]] == [
        ("zdt1", "random"), ("gramacy", "random"), ("gramacy", "scbo"),
    ]  # fmt: skip


@pytest.mark.parametrize("task", ["disc_brake", "gramacy"])
def test_a_record_has_all_that_its_curve_depends_on(task, monkeypatch):
    monkeypatch.setattr("benchmarks.metrics.runner.stream", lambda *_: np.random.default_rng(0))
    run = MetricRun(task, "random", 4, 0, 40)
    made, values = told(run)
    monkeypatch.setattr(
        "benchmarks.metrics.runner.Session",
        lambda *_: Session("random", made, 0, START_POINTS),
    )
    found = perform(run)
    y = np.array([made.losses(v) for v in values])
    feasible = np.array([made.is_feasible(v) for v in values])
    assert found["feasible"] == "".join(map(str, feasible.astype(int)))
    for k in (8, 20, 40):
        own = y[:k][feasible[:k]]
        best = (hypervolume(own, made.reference_losses()) if made.has_front
                else -own.min(initial=np.inf))  # fmt: skip
        assert curve(found)[k - 1] == pytest.approx(best, rel=1e-5)


def test_the_starts_do_not_count_as_proposals_that_broke_a_limit():
    own = record("gramacy", "random", 0, [], "0" * 8 + "0011" + "1" * 88)
    assert infeasible_share(own, 12) == 0.5
    assert infeasible_share(own, 8) == 0.0


def test_all_methods_start_at_the_same_points():
    task = metric_task("pressure_vessel")
    assert starts(task, 3) == starts(task, 3) != starts(task, 4)
    assert len(starts(task, 3)) == START_POINTS


def test_a_finished_run_is_not_run_again_and_a_forgotten_one_is(tmp_path):
    wanted = runs(["gramacy"], ["random"], [4], 2, evaluations=12)
    run_all(wanted[:1], tmp_path, progress=False)
    first = (tmp_path / "gramacy.jsonl").read_text()
    run_all(wanted, tmp_path, progress=False)
    assert (tmp_path / "gramacy.jsonl").read_text().startswith(first)
    assert finished(tmp_path) == {*wanted}
    forget(tmp_path, ["random"])
    assert finished(tmp_path) == set()


def test_a_run_can_be_repeated():
    run = MetricRun("gramacy", "thomax", 4, 0, 16)
    first, second = perform(run), perform(run)
    timing = {"seconds": 0}
    assert first | timing == second | timing
    assert len(first["feasible"]) == 16


@pytest.mark.parametrize("method", ["optuna-nsga2", "optuna-tpe", "optuna-gp", "scbo",
                                    "botorch-qlognei", "botorch-qlognehvi"])  # fmt: skip
def test_a_rival_takes_part_is_told_everything_and_repeats_itself(method):
    pytest.importorskip("botorch" if method.startswith(("botorch", "scbo")) else "optuna")
    if method == "optuna-gp":
        pytest.importorskip("torch")
    task = "disc_brake" if takes_part(method, "disc_brake") else "concrete_beam"
    run = MetricRun(task, method, 2, 1, 10)
    first, second = perform(run), perform(run)
    assert first["front"] == second["front"]
    assert first["feasible"] == second["feasible"]
    assert len(first["feasible"]) == 10
    assert "package" in first


def test_scbo_keeps_to_its_centre_and_prefers_less_violation_to_a_better_value():
    pytest.importorskip("botorch")
    from benchmarks.metrics.rivals.scbo import Scbo

    rival = Scbo(metric_task("gramacy"), 0, 3)
    for x, loss, excess in [
        (0.1, 0.1, [2.0, 0.0]),
        (0.2, 0.5, [0.5, 0.0]),
        (0.3, 0.9, [1.0, 0.2]),
    ]:
        rival.tell({"x1": x, "x2": x}, np.array([loss]), np.array(excess))
    assert rival._best_of(range(3)) == 1
    rival.tell({"x1": 0.4, "x2": 0.4}, np.array([5.0]), np.array([0.0, -1.0]))
    assert rival._best_of(range(4)) == 3
    assert rival._is_better(3, 1)
    rival.tell({"x1": 0.5, "x2": 0.5}, np.array([4.999]), np.array([0.0, -1.0]))
    assert not rival._is_better(4, 3)  # a tenth of a per cent less is not noticeable


def test_joined_models_have_the_posteriors_of_the_single_ones():
    pytest.importorskip("botorch")
    import torch

    from benchmarks.metrics.rivals.botorch import joined
    from benchmarks.rivals.botorch import fitted, tensor

    rng = np.random.default_rng(0)
    x = rng.uniform(size=(12, 3))
    y = np.column_stack([1e3 * np.sin(5 * x[:, 0]), x[:, 1] ** 2 - 0.1, rng.normal(size=12)])
    single = [fitted(tensor(x), column) for column in y.T]
    at = tensor(rng.uniform(size=(7, 3)))
    with torch.no_grad():
        found = joined(single, tensor(x), y).posterior(at)
        own = [model.posterior(at) for model in single]
    for quantity in ("mean", "variance"):
        expected = torch.cat([getattr(p, quantity) for p in own], dim=-1)
        np.testing.assert_allclose(getattr(found, quantity), expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["scbo", "botorch-qlognei"])
def test_random_points_take_the_place_of_those_that_algebra_fails_to_give(method, monkeypatch):
    errors = pytest.importorskip("linear_operator.utils.errors")

    def fail(*_, **__):
        raise errors.NotPSDError("singular")

    module = "scbo" if method == "scbo" else "botorch"
    monkeypatch.setattr(f"benchmarks.metrics.rivals.{module}.fitted", fail)
    found = perform(MetricRun("gramacy", method, 4, 0, 16))
    assert len(found["feasible"]) == 16


@pytest.mark.parametrize(
    ("name", "variants"),
    [
        ("zdt1", ["thomax-chebyshev", "thomax-hypervolume"]),
        ("gramacy", ["thomax-limits-full", "thomax-limits-half"]),
    ],
)
def test_a_variant_weighs_metrics_up_or_draws_limits_in_another_way(name, variants):
    task = metric_task(name)
    found, digests = [], set()
    for method in ["thomax", *variants]:
        session = Session(method, task, 0, START_POINTS)
        for params in starts(task, 0):
            session.tell(params, task.evaluate(params))
        found.append(session.ask(2))
        digests.add(session.made_by["settings"])
    assert found[0] in found[1:]
    assert found[1] != found[2]
    assert len(digests) == 2


def test_wins_and_ranks_count_a_run_without_a_feasible_point_as_behind():
    (found,) = comparisons(GRAMACY, ["thomax", "random"])
    assert found.ranked == ("thomax", "random")
    assert found.field.wins("thomax", "random", 40) == {"gramacy": [0.0, 1.0], "spring": [0.0]}
    assert found.field.wins("thomax", "random", 100)["gramacy"] == [1.0, 1.0]
    assert found.mean_ranks(100) == {"thomax": 1.5, "random": 1.5}
    assert found.duels(40)["random"].rate == 0.25
    assert found.infeasible("thomax", 100) == pytest.approx((1 / 92 / 2 + 0) / 2)
    assert found.found_feasible("random", 100) == 0.75
    assert found.seconds("random") == pytest.approx(0.1)


def test_losses_are_named_with_their_counts():
    (found,) = comparisons(GRAMACY, ["thomax", "random"])
    assert losses(found) == ["- On spring thomax loses to random (wins 0 of 1)."]
    assert summary(found)["wins"] == {"40": {"random": 0.25}, "100": {"random": 0.5}}
    assert "| thomax | 1.75 | 1.50 |" in "\n".join(overview(found))


def test_a_method_without_runs_of_some_task_has_no_rank_and_harms_nobody():
    more = [*GRAMACY, record("gramacy", "scbo", 0, [[9, 0.1]])]
    (found,) = comparisons(more, ["thomax", "random", "scbo"])
    assert "scbo" not in found.mean_ranks(100)
    assert found.mean_ranks(100)["random"] == 1.5
    assert found.duels(100)["scbo"].rate == 0.0


def test_known_fronts_have_the_volumes_that_regret_is_measured_by():
    x = np.linspace(0, 1, 501)
    zdt1 = np.column_stack([x, 1 - np.sqrt(x)])
    task = metric_task("zdt1")
    assert hypervolume(zdt1, task.reference_losses()) == pytest.approx(task.volume, rel=3e-3)
    angles = np.linspace(0, np.pi / 2, 16)
    a, b = (g.ravel() for g in np.meshgrid(angles, angles))
    sphere = np.column_stack([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)])
    task = metric_task("dtlz2")
    assert hypervolume(sphere, task.reference_losses()) == pytest.approx(task.volume, rel=0.2)
    assert hypervolume(sphere, task.reference_losses()) < task.volume


def test_the_quick_command_ends_with_a_summary_and_says_what_is_unknown(tmp_path, capsys):
    from benchmarks.metrics.__main__ import main

    options = ["--quick", "--methods", "random", "optuna-nsga2", "--tasks", "gramacy", "fonseca",
               "--folder", str(tmp_path), "--no-progress"]  # fmt: skip
    assert main([*options, "--document", str(tmp_path / "page.md")]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["quick"]
    assert [c["mode"] for c in result["comparisons"]] == ["objectives", "limits"]
    assert (tmp_path / "page.md").read_text().startswith("# Several objectives")
    assert main([*options, "--tasks", "nowhere"]) == 2
    assert "A task is one of" in capsys.readouterr().err


def test_the_page_says_what_the_results_say():
    try:
        text = page(records(FOLDER), FOLDER, PAGE)
    except DownloadError as error:
        pytest.skip(str(error))
    assert text == PAGE.read_text("utf-8")

"""Same starts for all, every run repeatable, nothing lost by a kill."""

import json
import multiprocessing
import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import runner
from benchmarks.methods import parse_method
from benchmarks.runner import (
    Run,
    append_record,
    finished,
    journal_path,
    perform,
    records,
    results,
    run_all,
    settings,
)
from benchmarks.statistics import best_by_evaluation
from benchmarks.tasks.problem import Problem, needs
from benchmarks.tasks.synthetic import synthetic
from thomax import Float, Optimizer, Pool, Space

SPACE = Space({"x": Float(-1, 1), "y": Float(0, 10)})


def noisy(params, rng):
    return -(params["x"] ** 2) - params["y"] / 10 + 0.01 * rng.normal()


PROBLEM = Problem(
    "bowl", SPACE, noisy, judge=lambda p: -(p["x"] ** 2) - p["y"] / 10, optimum=0.0, initial=4
)


def make(name, seed):
    return PROBLEM


def test_a_record_holds_the_values_in_order_and_the_judged_best():
    record = perform(Run("bowl", "random@2", 3, 5), PROBLEM)
    assert record["starts"] == 4
    assert len(record["values"]) == 4 + 5 * 2
    assert record["judged"] == pytest.approx(max(record["values"]), abs=0.05)
    assert record["judged"] != max(record["values"])
    assert record["optimum"] == 0.0
    assert "recommended" not in record  # random search has no model


def test_our_record_holds_what_the_recommended_point_is_worth(tmp_path):
    run = Run("bowl", "auto@4", 3, 2)
    record = perform(run, PROBLEM, tmp_path / "journal.jsonl")
    with Optimizer(SPACE, journal=tmp_path / "journal.jsonl") as again:
        seen = [PROBLEM.judge(t.params) for t in again.trials]
    assert any(record["recommended"] == pytest.approx(v, rel=1e-6) for v in seen)
    assert record["recommended"] > np.median(seen)


def test_all_methods_see_the_same_starts_and_the_same_noise():
    constant = replace(PROBLEM, objective=lambda p, rng: rng.normal())
    found = []
    for method, seed in (("random", 1), ("linear:1x8@2", 1), ("random", 2)):
        runner._start_values.cache_clear()
        starts = perform(Run("bowl", method, seed, 2), PROBLEM)["values"][:4]
        found.append((starts, perform(Run("bowl", method, seed, 2), constant)["values"][:6]))
    assert found[0] == found[1]
    assert not set(found[0][0]) & set(found[2][0])
    assert not set(found[0][1]) & set(found[2][1])


def test_a_run_is_a_function_of_its_name():
    once, again = (perform(Run("bowl", "linear:1x8", 0, 3), PROBLEM) for _ in range(2))
    assert once["values"] == again["values"]


def test_named_starts_are_used():
    starts = [{"x": 0.5, "y": 1.0}, {"x": -0.5, "y": 2.0}]
    problem = replace(PROBLEM, objective=lambda p, rng: p["y"], starts=lambda seed: starts)
    assert perform(Run("bowl", "random", 0, 1), problem)["values"][:2] == [1.0, 2.0]


def test_starts_of_a_finite_space_are_distinct_and_an_exhausted_one_ends_the_run():
    pool = Pool(np.arange(12.0)[:, None])
    problem = Problem("line", pool, lambda p, rng: float(p["index"]), initial=10)
    values = perform(Run("line", "random", 0, 50), problem)["values"]
    assert sorted(values) == [float(i) for i in range(12)]


def test_finished_runs_are_not_run_again(tmp_path):
    runs = [Run("bowl", "random", seed, 2) for seed in range(3)]
    run_all(runs, tmp_path, make, progress=False)
    before = (tmp_path / "bowl.jsonl").read_text()
    run_all([*runs, Run("bowl", "random", 3, 2)], tmp_path, make, progress=False)
    after = (tmp_path / "bowl.jsonl").read_text()
    assert after.startswith(before)
    assert len(after.splitlines()) == 4
    assert finished(tmp_path) == {Run("bowl", "random", seed, 2) for seed in range(4)}
    assert not list((tmp_path / "journals").iterdir())


def test_workers_give_the_same_records(tmp_path):
    runs = [Run("bowl", "random", seed, 2) for seed in range(3)]
    run_all(runs, tmp_path / "one", make, progress=False)
    run_all(runs, tmp_path / "two", make, workers=2, progress=False)
    one, two = (
        {r["seed"]: r["values"] for r in records(tmp_path / name)} for name in ("one", "two")
    )
    assert one == two


def test_a_line_cut_short_is_left_out_and_run_again(tmp_path):
    runs = [Run("bowl", "random", seed, 2) for seed in range(2)]
    run_all(runs, tmp_path, make, progress=False)
    path = tmp_path / "bowl.jsonl"
    whole = [json.loads(line)["improvements"] for line in path.read_text().splitlines()]
    path.write_text(path.read_text()[:-30])
    assert finished(tmp_path) == {runs[0]}
    run_all(runs, tmp_path, make, progress=False)
    lines = [line for line in path.read_text().splitlines() if line.endswith("}")]
    assert [json.loads(line)["improvements"] for line in lines] == whole


def slow(params, rng):
    time.sleep(0.02)
    return noisy(params, rng)


def make_slow(name, seed):
    return replace(PROBLEM, objective=slow)


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    run = Run("bowl", "random", 0, 40)
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=run_all, args=([run], tmp_path, make_slow))
    child.start()
    journal = journal_path(tmp_path, run, PROBLEM)
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_text().count("\n") > 30):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert not finished(tmp_path)
    kept = journal.read_text()
    run_all([run], tmp_path, make, progress=False)
    (record,) = records(tmp_path)
    assert kept.count('"tell"') + kept.count('"add"') > 10
    unbroken = perform(run, PROBLEM)
    np.testing.assert_array_equal(best_by_evaluation(record), best_by_evaluation(unbroken))
    assert len(record["values"]) == len(unbroken["values"])


def report_and_wait(folder):
    (folder / str(os.getpid())).touch()
    time.sleep(60)


def wait_in_processes(folder):
    list(runner.in_processes(report_and_wait, [folder, folder], 2))


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_end_with_a_killed_parent(tmp_path):
    child = multiprocessing.get_context("spawn").Process(
        target=wait_in_processes, args=(tmp_path,)
    )
    child.start()
    deadline = time.monotonic() + 50
    while len(pids := [int(path.name) for path in tmp_path.iterdir()]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    while any(map(is_running, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("lines", range(6, 15))
def test_a_kill_inside_a_batch_leaves_it_whole(lines, tmp_path):
    """Cut the journal after any line: the run ends with the same values."""
    run = Run("bowl", "linear-paper:1x8@3", 0, 2)
    whole = perform(run, PROBLEM, tmp_path / "whole.jsonl")["values"]
    journal = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_text("".join(journal[:lines]))
    assert perform(run, PROBLEM, tmp_path / "cut.jsonl")["values"] == whole


def test_of_several_runs_the_longest_counts(tmp_path):
    for iterations in (2, 5, 1):
        run_all([Run("bowl", "random", 0, iterations)], tmp_path, make, progress=False)
    (found,) = results(tmp_path)
    assert found["iterations"] == 5
    with pytest.raises(ValueError, match="There are no results in"):
        results(tmp_path / "elsewhere")


def test_a_missing_package_is_one_sentence():
    assert str(needs("gymnasium", "lunar")) == (
        "The task lunar needs gymnasium: pip install 'thomax[tasks]'"
    )


def test_a_record_keeps_the_best_values_and_forgets_the_others(tmp_path):
    values = [None, 1.0, 0.5, None, 3.0, 3.0, 2.0]
    record = {"task": "t", "method": "random", "seed": 0, "starts": 2, "values": values}
    append_record(tmp_path / "t.jsonl", record)
    assert "0.5" not in (tmp_path / "t.jsonl").read_text()
    (read,) = records(tmp_path)
    assert read["values"] == [None, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0]
    np.testing.assert_array_equal(best_by_evaluation(read), best_by_evaluation(record))


def test_without_starts_our_first_points_are_those_of_a_user():
    free = replace(PROBLEM, initial=0)
    found = perform(Run("bowl", "auto@2", 3, 4), free)
    seed = int(runner._generator(3, runner.OPTIMISER).integers(2**31))
    with Optimizer(SPACE, seed=seed) as user:
        mine = []
        for _ in range(4):
            for trial in user.ask(2):
                value = runner._evaluate(PROBLEM, trial.params, 3, trial.number)
                mine.append(float(f"{user.tell(trial, value).value:.7g}"))
    assert found["starts"] == 0
    assert found["values"] == mine


def test_a_name_says_how_many_first_points_there_are():
    free = replace(PROBLEM, initial=0)
    few, many = (perform(Run("bowl", f"auto+initial={n}", 0, 8), free)["values"] for n in (3, 8))
    assert few[:3] == many[:3]
    assert few[3:] != many[3:]
    starts = [perform(Run("bowl", f"auto+initial={n}", 0, 1), PROBLEM) for n in (3, 8)]
    assert starts[0]["values"] == starts[1]["values"]  # common starts come before all


def untimed(record):
    return {k: v for k, v in record.items() if k not in ("ask_seconds", "asks")}


@pytest.mark.parametrize(
    ("method", "short", "long"),
    # The paper's GP fits its hyperparameters at 20 observations, four of which are starts.
    [("random@2", 2, 5), ("linear-paper:1x8@3", 2, 5), ("gp-ts-paper", 18, 21)],
)
def test_an_extended_run_gives_the_record_of_an_unbroken_one(method, short, long, tmp_path):
    for iterations in (short, long):
        run_all([Run("bowl", method, 0, iterations)], tmp_path, make, progress=False, extend=True)
    run_all([Run("bowl", method, 0, long)], tmp_path / "unbroken", make, progress=False)
    (first, extended), (unbroken,) = records(tmp_path), records(tmp_path / "unbroken")
    assert untimed(extended) == untimed(unbroken)
    assert extended["asks"] == long - short  # the first iterations were not asked for again
    assert extended["values"][: len(first["values"])] == first["values"]


def test_a_longer_record_counts_for_a_shorter_run(tmp_path):
    for iterations in (5, 2):
        run_all(
            [Run("bowl", "random", 0, iterations)], tmp_path, make, progress=False, extend=True
        )
    assert finished(tmp_path) == {Run("bowl", "random", 0, 5)}


def test_the_journal_of_a_longer_run_gives_the_record_of_its_beginning(tmp_path):
    long, short = (Run("bowl", "random@2", 0, n) for n in (5, 2))
    perform(long, PROBLEM, tmp_path / "journal.jsonl")
    assert untimed(perform(short, PROBLEM, tmp_path / "journal.jsonl")) == untimed(
        perform(short, PROBLEM)
    )


def test_other_settings_under_the_same_name_have_another_journal(tmp_path):
    run, method = Run("bowl", "linear-paper:1x8", 0, 2), parse_method("linear-paper:1x8")
    relu, erf = PROBLEM, replace(PROBLEM, activation="erf")
    assert settings(method, relu) != settings(method, erf)
    assert journal_path(tmp_path, run, relu) != journal_path(tmp_path, run, erf)
    assert perform(run, erf)["settings"] == settings(method, erf)


@pytest.mark.parametrize(
    ("method", "repeats"), [("linear:1x8", False), ("linear-paper:1x8", True)]
)
def test_only_methods_of_the_paper_may_repeat_a_point(method, repeats):
    """Both have three points to choose from and four iterations."""
    pool = Pool(np.arange(5.0)[:, None])
    problem = Problem("line", pool, lambda p, rng: float(p["index"]), initial=2)
    values = perform(Run("line", method, 0, 4), problem)["values"]
    assert len(values) == (6 if repeats else 5)
    assert (len(set(values)) < len(values)) == repeats


def test_noise_free_regret_is_never_negative_and_adds_up():
    problem = synthetic(3)
    loud = replace(problem, objective=lambda p, rng: problem.judge(p) + rng.normal())
    run = Run("synthetic", "random@2", 3, 15)
    record = perform(run, loud)
    regrets = record["optimum"] - np.array(record["truth"])
    assert (regrets >= -1e-6).all()
    assert max(record["values"]) > record["optimum"]  # as seen through the noise
    sums = np.cumsum(regrets[record["starts"] :])
    for evaluations, regret in record["regret"]:
        assert regret == pytest.approx(sums[evaluations - 1], rel=1e-4)
    assert record["regret"][-1][0] == 30
    assert len(record["regret"]) == 10


def test_a_record_keeps_the_noise_free_improvements(tmp_path):
    record = {"task": "t", "values": [0.0, 3.0, 2.0], "truth": [0.5, 0.25, 1.0]}
    append_record(tmp_path / "t.jsonl", record)
    append_record(tmp_path / "t.jsonl", record | {"truth": record["values"]})
    first, second = records(tmp_path)
    assert (first["values"], first["truth"]) == ([0.0, 3.0, 3.0], [0.5, 0.5, 1.0])
    assert "truth" not in second  # without noise they are the values


def test_a_record_names_the_code_that_made_it():
    record = perform(Run("bowl", "random", 0, 1), PROBLEM)
    assert record.get("commit", "") == runner.commit()

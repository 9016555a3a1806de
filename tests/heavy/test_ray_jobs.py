"""Real Tune jobs on a local Ray cluster."""

import json
import math
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import ray
from ray import tune
from ray.tune.search import ConcurrencyLimiter
from searching import (
    POLICY,
    QUICK,
    RAYS_OWN_WARNINGS,
    SPACE,
    flat,
    loss,
    plain_optimizer,
)

from thomax.integrations.ray import ThomaxSearch

pytestmark = RAYS_OWN_WARNINGS


@pytest.fixture(scope="module")
def cluster():
    context = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield context.address_info["address"]
    ray.shutdown()


def slow_loss(seconds):
    """Return a trainable that Ray carries to the workers by value, so that they start fast."""

    def trainable(config):
        import time

        start = time.time()
        time.sleep(seconds)
        value = (config["x"] - 0.3) ** 2 + config["net"]["width"] / 100
        if config["x"] > 0.9:
            raise ArithmeticError("too far")
        value = {0.5: float("nan"), -0.5: float("inf")}.get(config["x"], value)
        return {"loss": value, "start": start, "end": time.time(), "epochs": config["epochs"]}

    return trainable


def tuner_of(search, folder, *, trials, seconds=0.3, **config):
    return tune.Tuner(
        slow_loss(seconds),
        param_space={**SPACE, "epochs": 3},
        tune_config=tune.TuneConfig(
            search_alg=search, num_samples=trials, metric="loss", mode="min", **config
        ),
        run_config=tune.RunConfig(storage_path=str(folder), name="job", verbose=0),
    )


def blank_search(**options):
    settings = {"policy": POLICY, "search": QUICK, "seed": 0, "initial": 3} | options
    return ThomaxSearch(**settings)


def test_a_job_runs_two_trials_at_a_time_with_points_and_failures(cluster, tmp_path):
    points = [{"x": x, "net": {"width": 2}} for x in (0.25, 0.5, -0.5, 0.95)]
    search = blank_search(points_to_evaluate=points)
    tuner = tuner_of(
        search, tmp_path, trials=8, seconds=1.0, max_concurrent_trials=2, reuse_actors=True
    )
    results = tuner.fit()
    trials = search.optimizer.trials
    assert [t.params for t in trials[:4]] == [flat(point) for point in points]
    assert [t.state for t in trials[:4]] == ["complete", "failed", "failed", "failed"]
    assert {t.state for t in trials[4:]} <= {"complete", "failed"}
    assert len(trials) == len(results) == 8
    assert len(results.errors) == sum(t.params["x"] > 0.9 for t in trials)
    best = results.get_best_result()
    assert best.metrics["loss"] == search.optimizer.best.value
    assert best.config["epochs"] == best.metrics["epochs"] == 3
    assert most_at_once(results) == 2
    assert flat(best.config) == search.optimizer.best.params


def most_at_once(results):
    spans = [(r.metrics["start"], r.metrics["end"]) for r in results if "start" in r.metrics]
    return max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)


def test_a_job_in_synchronous_batches_is_the_plain_optimisers(cluster, tmp_path):
    """The same draws; Ray asks one by one, where more climbs look for each one's maximum."""
    search = blank_search()
    limiter = ConcurrencyLimiter(search, max_concurrent=2, batch=True)
    tuner_of(limiter, tmp_path, trials=6, seconds=0.05, reuse_actors=True).fit()
    by_hand = plain_optimizer()
    for _ in range(3):
        for trial in by_hand.ask(2):
            tell_as_the_job(by_hand, trial)
    for found, expected in zip(search.optimizer.trials, by_hand.trials, strict=True):
        assert found.state == expected.state
        assert found.params == pytest.approx(expected.params, abs=1e-3)


def tell_as_the_job(optimizer, trial):
    config = {"x": trial.params["x"], "net": {"width": trial.params["net/width"]}}
    optimizer.tell(trial, math.nan if config["x"] > 0.9 else loss(config))


def points_and_values(trials):
    return [(t.params, t.value, t.state) for t in trials]


DRIVER = textwrap.dedent("""
    import sys

    sys.path.insert(0, sys.argv[1])
    import ray
    import test_ray_jobs

    ray.init(address=sys.argv[2], log_to_driver=False)
    test_ray_jobs.tuner_of(
        test_ray_jobs.blank_search(), sys.argv[3], trials=7, seconds=1.5,
        max_concurrent_trials=1, reuse_actors=True,
    ).fit()
""")


def saved_states(folder):
    for path in folder.glob("job/searcher-state-*.pkl"):
        try:
            return [t["state"] for t in json.loads(path.read_text("utf-8"))["trials"]]
        except json.JSONDecodeError:  # Tune is just copying it there
            return []
    return []


def test_a_job_whose_driver_was_killed_continues_as_if_nothing_had_happened(cluster, tmp_path):
    command = [sys.executable, "-c", DRIVER, str(Path(__file__).parent), cluster, str(tmp_path)]
    environment = {**os.environ, "TUNE_GLOBAL_CHECKPOINT_S": "2"}
    driver = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        deadline = time.monotonic() + 120
        while saved_states(tmp_path).count("complete") < 3:
            assert driver.poll() is None, driver.stdout.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)  # Tune copies its own files too, and writes none for two seconds
    finally:
        driver.kill()
        driver.communicate()
    before = saved_states(tmp_path)
    assert 3 <= len(before) < 7

    trainable = slow_loss(0.05)
    results = tune.Tuner.restore(str(tmp_path / "job"), trainable=trainable).fit()

    assert len(results) == 7
    by_hand = plain_optimizer()
    for _ in range(7):
        tell_as_the_job(by_hand, by_hand.ask())
    continued = ThomaxSearch(policy=POLICY)
    continued.restore_from_dir(str(tmp_path / "job"))
    assert points_and_values(continued.optimizer.trials) == points_and_values(by_hand.trials)


def test_a_job_of_two_metrics_and_a_limit_ends_with_a_front(cluster, tmp_path):
    def trainable(config):
        x, width = config["x"], config["net"]["width"]
        return {"loss": (x - 0.3) ** 2, "speed": -width * (x + 0.3) ** 2, "memory": x}

    search = blank_search(
        metric=["loss", "speed"], mode=["min", "max"], limits={"memory": "<= 0.5"}
    )
    tuner = tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(search_alg=search, num_samples=6, max_concurrent_trials=2),
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="job", verbose=0),
    )
    reported = [result.metrics for result in tuner.fit()]
    told = [t.values for t in search.optimizer.trials]
    assert len(told) == len(reported) == 6
    for values in told:
        assert any(all(found[name] == values[name] for name in values) for found in reported)
    assert search.optimizer.front
    assert all(t.values["memory"] <= 0.5 for t in search.optimizer.front)

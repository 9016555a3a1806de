"""The same run, evaluated by threads, by processes and by a Dask cluster."""

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from thomax import MLP, Categorical, Float, Optimizer, Search, STOBNTSLinear

# Dask and its dependencies warn about themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@dataclass(frozen=True)
class Recorded:
    """An objective that writes down where and when it ran."""

    log: str

    def __call__(self, params):
        start = time.time()
        time.sleep(0.2)
        with Path(self.log).open("a") as file:
            file.write(f"{os.getpid()} {start} {time.time()}\n")
        if params["x"] > 0.5:
            raise ArithmeticError("too far")
        return hill(params)


def hill(params):
    return 1 - (params["x"] - 0.3) ** 2 - (params["y"] + 0.5) ** 2


def make_optimizer(space=None, **options):
    policy = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
    settings = {"seed": 0, "initial": 4, "search": Search(candidates=200, restarts=3)} | options
    return Optimizer(space or {"x": Float(-1, 1), "y": Float(-1, 1)}, policy, **settings)


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def dask():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        # Dask takes functions for pure, and would not evaluate a point twice.
        yield client.get_executor(pure=False)


@pytest.fixture(params=["threads", "processes", "dask"])
def executor(request):
    return request.getfixturevalue(request.param)


def runs_of(log):
    """Return the processes of the evaluations, and how many ran at once."""
    runs = [line.split() for line in log.read_text().splitlines()]
    spans = [(float(start), float(end)) for _, start, end in runs]
    most = max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)
    return [int(process) for process, _, _ in runs], most


def test_sixteen_evaluations_run_two_at_a_time(executor, tmp_path):
    log = tmp_path / "log"
    search = make_optimizer(journal=tmp_path / "run.jsonl")
    search.run(Recorded(str(log)), 16, batch=2, executor=executor, progress=False)
    processes, most = runs_of(log)
    assert len(processes) == 16
    assert most == 2
    is_here = isinstance(executor, ThreadPoolExecutor)
    assert (set(processes) == {os.getpid()}) == is_here
    assert [t.number for t in search.trials] == list(range(16))
    for trial in search.trials:
        if trial.params["x"] > 0.5:
            assert (trial.state, trial.error) == ("failed", "ArithmeticError: too far")
        else:
            assert (trial.state, trial.value) == ("complete", hill(trial.params))
    search.close()
    assert make_optimizer(journal=tmp_path / "run.jsonl").trials == search.trials


def test_synchronous_batches_are_the_same_everywhere(executor):
    search, by_hand = make_optimizer(), make_optimizer()
    search.run(hill, 8, batch=2, executor=executor, synchronous=True, progress=False)
    for _ in range(4):
        for trial in by_hand.ask(2):
            by_hand.tell(trial, hill(trial.params))
    assert search.trials == by_hand.trials


def test_a_repeated_point_is_evaluated_again(executor, tmp_path):
    log = tmp_path / "log"
    space = {"x": Categorical([0.0]), "y": Categorical([0.0])}
    search = make_optimizer(space, allow_repeats=True)
    search.run(Recorded(str(log)), 4, batch=2, executor=executor, progress=False)
    assert len(runs_of(log)[0]) == 4

"""Many worker processes on one study through real storages; Optuna's dashboard and plots."""

import contextlib
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

import thomax as tx
from stress.postgres import find_programs, free_port, postgres
from thomax.integrations.optuna_studies import to_study

WORKER = """
import sys, time, optuna, thomax
from pathlib import Path
from thomax.integrations.optuna import ThomaxSampler

where, trials, hang = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])

def opened(where):
    if where.startswith("journal:"):
        from optuna.storages.journal import JournalFileBackend
        return optuna.storages.JournalStorage(JournalFileBackend(where.removeprefix("journal:")))
    wait = {"connect_args": {"timeout": 60}} if where.startswith("sqlite") else {}
    return optuna.storages.RDBStorage(where, engine_kwargs=wait)

def objective(trial):
    a = trial.suggest_int("a", 0, 24)
    c = trial.suggest_categorical("c", list("abcdefgh"))
    if hang.suffix == ".hang" and trial.number > 20:
        hang.touch()
        time.sleep(600)
    time.sleep(0.02)
    return (a - 17) ** 2 / 50 + "hcadgebf".index(c)

optuna.logging.set_verbosity(optuna.logging.ERROR)
policy = thomax.STOBNTSLinear(thomax.MLP(1, 32, "erf"), noise_std=0.1)
study = optuna.create_study(
    storage=opened(where),
    study_name="shared",
    load_if_exists=True,
    sampler=ThomaxSampler(policy=policy, seed=0),
)
study.optimize(objective, n_trials=trials)
print(len(study.trials))
"""


def eventually(condition, seconds=60, message="waited in vain"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError(message)


# Storages


@contextlib.contextmanager
def server():
    programs = find_programs()
    if programs is None:
        pytest.fail("PostgreSQL's programs are missing: apt-get install postgresql")
    with postgres(programs, settings="-c fsync=off") as url:
        yield url


@pytest.fixture(params=["postgresql", "sqlite", "journal"])
def storage(request, tmp_path):
    if request.param == "postgresql":
        with server() as url:
            yield url
    elif request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/study.db"
    else:
        yield f"journal:{tmp_path}/study.log"


def loaded(where):
    if where.startswith("journal:"):
        backend = optuna.storages.journal.JournalFileBackend(where.removeprefix("journal:"))
        return optuna.load_study(
            study_name="shared", storage=optuna.storages.JournalStorage(backend)
        )
    return optuna.load_study(study_name="shared", storage=where)


def worker(where, trials, hang="-"):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, where, str(trials), str(hang)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors


def test_workers_share_a_study_and_survive_one_that_is_killed(storage, tmp_path):
    finish(worker(storage, 1))  # the first trial tells which parameters there are
    hang = tmp_path / "victim.hang"
    victim = worker(storage, 25, hang)
    workers = [worker(storage, 25) for _ in range(4)]
    eventually(hang.exists, 120, "the victim has not started its trial")
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    for process in workers:
        finish(process)

    trials = loaded(storage).trials
    running = [t for t in trials if t.state == TrialState.RUNNING]
    assert len(running) == 1  # the victim's
    complete = [t for t in trials if t.state == TrialState.COMPLETE]
    assert len(complete) == len(trials) - 1 >= 101
    assert [t.number for t in trials] == [*range(len(trials))]

    finish(worker(storage, 5))
    resumed = loaded(storage).trials
    assert [t.number for t in resumed] == [*range(len(trials) + 5)]
    points = [(t.params["a"], t.params["c"]) for t in resumed]
    assert len({*points}) == len(points)  # of 200
    assert not any("thomax:fallback" in t.system_attrs for t in resumed)
    # The best point itself may be what the victim was evaluating.
    assert min(t.value for t in resumed if t.value is not None) < 0.1


# What Optuna shows of a thomax run


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "night.jsonl"
    space = {
        "x": tx.Float(-1, 1),
        "rate": tx.Float(1e-4, 1, log=True),
        "kind": tx.Categorical(["p", "q"]),
        "layers": tx.Int(1, 4, when={"kind": "q"}),
    }
    with tx.Optimizer(space, tx.Random(), seed=0, journal=path, direction="minimize") as optimizer:
        for trial in optimizer.ask(24):
            optimizer.tell(trial, trial.params["x"] ** 2 + trial.params.get("layers", 0) / 10)
        optimizer.tell(optimizer.ask(), error="crash")
        optimizer.ask()
    return path


def answer(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return json.load(response)
    except (urllib.error.URLError, ConnectionError):
        return None


def test_the_dashboard_shows_an_exported_journal(journal, tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    to_study(journal, storage=url)
    port = free_port()
    program = Path(sys.executable).parent / "optuna-dashboard"
    command = [str(program), url, "--host", "127.0.0.1", "--port", str(port)]
    with (tmp_path / "dashboard.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}/api/studies"
        (summary,) = eventually(lambda: answer(address))["study_summaries"]
        assert summary["study_name"] == "night"
        assert summary["directions"] == ["minimize"]
        detail = answer(f"{address}/{summary['study_id']}?after=0")
        states = [t["state"] for t in detail["trials"]]
        assert [states.count(s) for s in ("Complete", "Fail", "Running")] == [24, 1, 1]
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.mark.filterwarnings("ignore")  # of Plotly and Optuna about themselves
def test_importances_and_plots_work_on_an_exported_journal(journal):
    study = to_study(journal)
    importances = optuna.importance.get_param_importances(study)
    assert max(importances, key=importances.get) == "x"
    plots = optuna.visualization
    for plot in (
        plots.plot_optimization_history,
        plots.plot_param_importances,
        plots.plot_parallel_coordinate,
        plots.plot_slice,
        plots.plot_contour,
        plots.plot_timeline,
    ):
        assert len(plot(study).data) > 0, plot.__name__


def test_the_example_of_workers_runs_on_a_server(tmp_path):
    script = Path(__file__).parents[2] / "examples" / "10_optuna_postgresql.py"
    with server() as url:
        command = [sys.executable, str(script), url]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr
        assert run.stdout.startswith("30 trials, best ")

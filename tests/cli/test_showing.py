"""`thomax show`, `thomax report` and `thomax repair` need a journal and nothing else."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from thomax import Categorical, Float, Optimizer
from thomax.storage.journal import Journal


@pytest.fixture
def optimizer(folder):
    space = {"x": Float(0, 1), "value": Categorical(["a\x1b[31m\n", "b" * 99])}
    with Optimizer(space, direction="minimize", seed=3, journal="s.jsonl", initial=50) as found:
        for trial in found.ask(14):
            if trial.number < 12:
                found.tell(trial, abs(trial.number - 5))
        found.tell(12, error="it broke\nbadly")
        yield found


def test_the_best_trials_are_listed_while_another_process_writes(thomax, optimizer):
    with Path("s.jsonl").open("ab") as file:  # a line that is being written just now
        file.write(b'{"crc": "17c7')
    lines = thomax("show", "s.jsonl").out.splitlines()
    assert lines[0] == "s.jsonl: 14 trials (12 complete, 1 failed, 1 pending), minimize"
    assert lines[1] == "best: 0 (trial 5)"
    assert lines[3].split() == ["trial", "state", "value", "x", "value"]
    assert [line.split()[0] for line in lines[4:-1]] == list("5463728190")
    assert lines[-1] == "(4 more: thomax show s.jsonl --all)"


def test_all_trials_are_listed_in_their_order_with_errors(thomax, optimizer):
    lines = thomax("show", "s.jsonl", "--all").out.splitlines()[4:]
    assert [line.split()[0] for line in lines] == [str(n) for n in range(14)]
    assert lines[12].endswith("it broke")
    assert len(thomax("show", "s.jsonl", "--top", "2").out.splitlines()) == 7


def test_what_is_in_a_journal_does_not_move_the_cursor(thomax, optimizer):
    out = thomax("show", "s.jsonl", "--all").out
    assert "\x1b" not in out
    assert "a\\x1b[31m\\n" in out
    assert "b" * 39 + "…" in out


def test_the_json_has_everything(thomax, optimizer):
    found = json.loads(thomax("show", "s.jsonl", "--json", "--all").out)
    assert found["counts"] == {
        "complete": 12,
        "failed": 1,
        "pending": 1,
        "dropped": 0,
        "retracted": 0,
    }
    assert (found["direction"], found["seed"], found["journal"]) == ("minimize", 3, "s.jsonl")
    assert found["best"]["number"] == 5
    assert [t["params"] for t in found["trials"]] == [t.params for t in optimizer.trials]
    assert found["trials"][12]["error"] == "it broke\nbadly"
    assert len(json.loads(thomax("show", "s.jsonl", "--json").out)["trials"]) == 10


def test_a_search_without_trials_is_shown(thomax):
    Optimizer({"x": Float(0, 1)}, journal="new.jsonl").close()
    assert thomax("show", "new.jsonl").out == "new.jsonl: 0 trials, maximize\n"
    assert json.loads(thomax("show", "new.jsonl", "--json").out)["best"] is None


def test_showing_loads_no_numerics(optimizer):
    code = """
import sys
from thomax.cli.main import main
assert main(["show", "s.jsonl"]) == 0
assert not {"jax", "numpy", "scipy", "sklearn", "matplotlib", "tqdm"} & sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", "missing.jsonl"], "missing.jsonl does not exist"),
        (["show", "."], "got the folder"),
        (["show", "other.jsonl"], "needs to be the journal of an Optimizer"),
        (["show", "text.jsonl"], "must be a thomax journal"),
        (["show", "text.jsonl", "--top", "-1"], "--top needs a whole number >= 0, got -1"),
        (["repair", "missing.jsonl"], "missing.jsonl needs to be a file"),
        (["repair", "text.jsonl"], "intact header"),
        (["repair", "text.jsonl", "--space", "space.toml"], "needs the seed"),
        (["repair", "text.jsonl", "--space", "space.toml", "--seed", "0"], "needs the direction"),
        (["repair", "text.jsonl", "--seed", "0"], "needs --space"),
        (["report", "missing.jsonl"], "missing.jsonl does not exist"),
        (["report", "other.jsonl", "--output", "."], "--output needs the path of a file"),
        (["run", "space.toml", "python", "train.py"], "put the program after --"),
    ],
)
def test_a_mistake_is_one_line(thomax, folder, arguments, sentence):
    Journal.open("other.jsonl", {"seed": 0}).close()
    (folder / "text.jsonl").write_text("hello\n\nworld\n")
    (folder / "space.toml").write_text("[parameters]\nx = {type = 'bool'}")
    done = thomax(*arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence.lower() in done.err.lower()
    assert done.err.count("\n") == 1


def test_a_damaged_journal_is_repaired(thomax, optimizer, folder):
    optimizer.close()
    assert thomax("repair", "s.jsonl").out.startswith("s.jsonl is sound: its 27 records")
    path = folder / "s.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:4], b"what?\n", *lines[4:]])
    path.write_bytes(damaged)
    assert thomax("show", "s.jsonl").code == 2
    done = thomax("repair", "s.jsonl")
    assert done.out.splitlines() == [
        "s.jsonl: kept 27 records, dropped 1 broken pieces or copies",
        f"the damaged file is {folder / 's.jsonl.damaged-1'}",
    ]
    assert (folder / "s.jsonl.damaged-1").read_bytes() == damaged
    assert thomax("show", "s.jsonl").code == 0
    assert thomax("repair", "s.jsonl").out.startswith("s.jsonl is sound")


def test_a_lost_first_line_comes_back_from_the_space_file(thomax, space, folder):
    thomax("suggest", "lab.jsonl", "--space", space(direction="minimize"), "-n", "2")
    path = folder / "lab.jsonl"
    sound = path.read_bytes()
    path.write_bytes(sound.partition(b"\n")[2])
    assert thomax("repair", "lab.jsonl", "--space", "space.toml").code == 0
    assert path.read_bytes() == sound


def test_a_report_is_written_beside_the_journal_or_where_it_should_be(thomax, optimizer):
    assert thomax("report", "s.jsonl").out == "wrote s.html\n"
    assert "s.jsonl" in Path("s.html").read_text("utf-8")
    assert thomax("report", "s.jsonl", "--output", "other.html").out == "wrote other.html\n"
    assert Path("other.html").stat().st_size > 1000


@pytest.mark.slow
def test_a_report_follows_a_journal_until_it_is_interrupted(optimizer):
    command = [sys.executable, "-m", "thomax", "report", "s.jsonl", "--follow", "0.2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("writing s.html whenever s.jsonl grows")
        first = _written(Path("s.html"), than=0)
        optimizer.tell(13, -7.25)
        _written(Path("s.html"), than=first)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    assert "-7.25" in Path("s.html").read_text("utf-8")


def _written(path, than):
    """Wait until the file is newer, and return how new it is."""
    for _ in range(1200):
        if path.exists() and path.stat().st_mtime_ns > than:
            return path.stat().st_mtime_ns
        time.sleep(0.1)
    raise AssertionError(f"{path} was not written")

"""An interrupted run leaves no program behind, and the same command goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from thomax.storage.journal import Journal
from thomax.storage.replay import History

# Trial 1 and 2 hang until a file allows them to end; each leaves its process's number.
HANGING = """
number = os.environ['THOMAX_TRIAL']
open(f'pid-{number}.new', 'w').write(str(os.getpid()))
os.rename(f'pid-{number}.new', f'pid-{number}')
while number in '12' and not os.path.exists('go'): time.sleep(0.01)
print(number)
"""


def states():
    found = History(Journal.read("space.jsonl").records).trials.values()
    return {t.number: t.state for t in found}


def until(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def start(arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "thomax", "run", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_running(name):
    pid = int(Path(name).read_text())
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("together", [False, True])
def test_how_a_run_ended_does_not_depend_on_a_reader_that_is_gone(space, program, together):
    """As in `thomax run ... | tee log` after Ctrl-C, which ends tee first."""
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "thomax", "run", space(trials=2)]
    run = subprocess.Popen(
        [*command, *program("sys.exit(3)")],
        stdout=writer,
        stderr=writer if together else subprocess.DEVNULL,
    )
    os.close(writer)
    os.close(reader)
    assert run.wait(timeout=60) == 1


@pytest.mark.parametrize(
    ("number", "jobs"), [(signal.SIGINT, "2"), (signal.SIGTERM, "1"), (signal.SIGHUP, "1")]
)
def test_a_signal_ends_the_programs_and_the_same_command_goes_on(
    thomax, space, program, folder, number, jobs
):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("this signal is ignored here, as a hang-up is under nohup, and so by programs")
    arguments = [space(trials=4), "--jobs", jobs, *program(HANGING)]
    run = start(arguments)
    hanging = ["pid-1", "pid-2"][: int(jobs)]
    until(lambda: all((folder / name).exists() for name in hanging))
    until(lambda: states()[0] == "complete")
    run.send_signal(number)
    out, err = run.communicate(timeout=30)
    assert run.returncode == 130
    words = "with 2 trials pending" if jobs == "2" else "with 1 trial pending"
    assert err == f"thomax: stopped {words}; the same command goes on from here\n"
    assert "best value 0" in out
    assert not any(is_running(name) for name in hanging)
    expected = {0: "complete", 1: "pending", 2: "pending"}
    assert states() == {n: s for n, s in expected.items() if n <= int(jobs)}
    (folder / "go").touch()
    assert thomax("run", *arguments).code == 0
    assert states() == dict.fromkeys(range(4), "complete")


def test_a_killed_run_goes_on_where_it_was(thomax, space, program, folder):
    arguments = [space(trials=3), *program(HANGING)]
    run = start(arguments)
    until((folder / "pid-1").exists)
    done = thomax("run", *arguments)
    assert done.code == 3
    assert "must have one user at a time" in done.err
    assert done.err.count("\n") == 1
    run.kill()
    run.communicate()
    (folder / "go").touch()
    assert thomax("run", *arguments).code == 0
    assert states() == dict.fromkeys(range(3), "complete")
    until(lambda: not is_running("pid-1"))

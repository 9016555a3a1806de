"""Programs end with all that they have started, and their output is kept within bounds."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from thomax.commands.processes import KEPT, Processes


def run(folder, code, timeout=None, processes=None):
    logs = (folder / "out", folder / "err")
    command = [sys.executable, "-S", "-c", f"import os, subprocess, sys, time\n{code}"]
    return (processes or Processes()).run(command, dict(os.environ), logs, timeout)


def is_alive(pid):
    try:
        os.kill(pid, 0)
        return not is_zombie(pid)
    except ProcessLookupError:
        return False


def is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return False


def until(holds, seconds=10):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


# A child, deaf to the polite signal, that lives for long and leaves its number in a file.
CHILD = """
child = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
child += "open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid');"
child += "time.sleep(60)"
subprocess.Popen([sys.executable, "-S", "-c", child])
while not os.path.exists("pid"): time.sleep(0.01)
"""


def test_the_output_and_the_code_are_returned_and_kept(folder):
    ended = run(folder, "print('ü', flush=True); print('no', file=sys.stderr); sys.exit(3)")
    assert (ended.code, ended.output, ended.errors) == (3, "ü\n", "no\n")
    assert (folder / "out").read_text("utf-8") == "ü\n"
    assert (folder / "err").read_text() == "no\n"


def test_a_program_that_runs_out_of_time_takes_its_grandchildren_with_it(folder):
    begin = time.monotonic()
    ended = run(folder, CHILD + "time.sleep(60)", timeout=1.5)
    assert ended.code is None
    assert time.monotonic() - begin < 8
    pid = int((folder / "pid").read_text())
    until(lambda: not is_alive(pid))


def test_a_program_gets_time_to_say_goodbye(folder):
    code = "import signal; signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('bye')))"
    ended = run(folder, code + "\nprint('up', flush=True)\ntime.sleep(60)", timeout=1.5)
    assert ended.output == "up\nbye\n"


def test_what_outlives_a_program_that_ended_by_itself_is_left_alone_and_not_waited_for(folder):
    begin = time.monotonic()
    ended = run(folder, CHILD + "print(5)")
    assert (ended.code, ended.output) == (0, "5\n")
    assert time.monotonic() - begin < 8
    pid = int((folder / "pid").read_text())
    assert is_alive(pid)
    os.kill(pid, 9)


@pytest.mark.parametrize("size", [KEPT - 3, KEPT + 1000, 2 * KEPT - 3, 5 * KEPT])
def test_of_a_long_output_the_beginning_and_the_end_are_kept(folder, size):
    ended = run(folder, f"print('begin' + 'x' * {size} + 'end', end='')")
    kept = (folder / "out").read_text()
    assert ended.output.endswith("end")
    assert kept.startswith("begin")
    assert kept.endswith("end")
    left_out = size + 8 - 2 * KEPT
    if left_out > 0:
        assert kept.count("x") == size - left_out
        assert f"[... {left_out} bytes left out ...]" in kept
    else:
        assert kept == "begin" + "x" * size + "end"


def test_a_program_does_not_read_our_input(folder):
    ours, other_end = os.pipe()
    os.write(other_end, b"for us")
    os.close(other_end)
    before = os.dup(0)
    os.dup2(ours, 0)
    try:
        ended = run(folder, "print(repr(sys.stdin.read()))", timeout=10)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(ours)
    assert ended.output == "''\n"


def test_stopping_ends_what_runs_and_lets_nothing_start(folder):
    processes, ended = Processes(), []
    thread = threading.Thread(
        target=lambda: ended.append(run(folder, CHILD + "time.sleep(60)", None, processes))
    )
    thread.start()
    until((folder / "pid").exists)
    processes.stop()
    thread.join(10)
    assert ended[0].code < 0
    until(lambda: not is_alive(int((folder / "pid").read_text())))
    with pytest.raises(RuntimeError, match="was stopped"):
        run(folder, "pass", processes=processes)

"""Programs end with all that they have started, and their output is kept within bounds."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from thomax.cli.processes import KEPT, Processes


def run(folder, code, timeout=None, processes=None, **options):
    logs = (folder / "out", folder / "err")
    command = [sys.executable, "-S", "-c", f"import os, subprocess, sys, time\n{code}"]
    return (processes or Processes()).run(command, dict(os.environ), logs, timeout, **options)


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


@pytest.mark.parametrize("is_needed", [False, True])
def test_what_outlives_a_program_is_left_alone_and_not_waited_for_without_end(folder, is_needed):
    """Row 2: it may still write, so the output is whole only if nobody looks at it."""
    processes = Processes(patience=0.5)
    ended = run(folder, CHILD + "print(5)", None, processes, needs_output=lambda: is_needed)
    assert (ended.code, ended.output, ended.is_whole) == (0, "5\n", not is_needed)
    pid = int((folder / "pid").read_text())
    assert is_alive(pid)
    os.kill(pid, 9)


# The program ends at once; what it prints comes later, through somebody else.
FILTER = """
subprocess.Popen([sys.executable, "-S", "-c", "import time; print(0.9, flush=True);"
                  "time.sleep({seconds}); print(0.000987)"])
"""


def test_output_that_comes_through_a_slow_filter_is_read_to_its_end(folder):
    """Row 2: 0.9 was taken for the last line."""
    ended = run(folder, FILTER.format(seconds=2))
    assert (ended.code, ended.output, ended.is_whole) == (0, "0.9\n0.000987\n", True)


def test_a_filter_that_takes_longer_than_the_program_may_is_ended(folder):
    """Row 2: the time limit holds for the output too."""
    ended = run(folder, FILTER.format(seconds=60) + CHILD, timeout=3)
    assert (ended.code, ended.output, ended.is_whole) == (0, "0.9\n", False)
    until(lambda: not is_alive(int((folder / "pid").read_text())))


def test_an_output_that_is_cut_off_by_stopping_is_not_whole(folder):
    """Row 2: what was ended by us has not said all."""
    processes, ended = Processes(), []
    thread = threading.Thread(
        target=lambda: ended.append(
            run(folder, FILTER.format(seconds=60) + CHILD, None, processes)
        )
    )
    thread.start()
    until((folder / "pid").exists)
    until(lambda: (folder / "out").read_text() == "0.9\n")
    time.sleep(0.3)  # the program itself has ended by now, or is ended as one that runs
    processes.stop()
    thread.join(10)
    assert (ended[0].code, ended[0].is_whole) in [(0, False), (-15, True)]


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

"""The command `thomax`: help that is true, mistakes in one line, and a page that runs."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module, metadata
from pathlib import Path

import pytest

from thomax import Float, Optimizer
from thomax.cli import COMMANDS
from thomax.cli.main import parse

ROOT = Path(__file__).parents[2]
OURS = [*COMMANDS]
EXAMPLES = [
    line.strip().partition("   (")[0]
    for name in OURS
    for line in import_module(COMMANDS[name][0]).EXAMPLES.splitlines()[1:]
]
PAGE = (ROOT / "docs" / "how-to" / "command-line.md").read_text("utf-8")


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_help_is_understood(example):
    words = shlex.split(example)
    assert words[0] == "thomax"
    assert parse(words[1:]).area == words[1]


@pytest.mark.parametrize("name", OURS)
def test_every_command_has_two_examples_in_its_help(thomax, name):
    done = thomax(name, "--help")
    assert done.code == 0
    assert done.out.count(f"\n  thomax {name} ") >= 2


def test_the_help_lists_the_commands_and_the_version_is_that_of_the_package(thomax):
    done = thomax("--help")
    assert all(f"    {name} " in done.out for name in COMMANDS)
    assert thomax("--version").out == f"thomax {metadata.version('thomax')}\n"


@pytest.mark.parametrize("arguments", [[], ["shwo"], ["show"], ["show", "a", "b"], ["--colour"]])
def test_a_mistyped_command_is_one_line(thomax, arguments):
    done = thomax(*arguments)
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(r"thomax: .*; see thomax.* --help\n", done.err)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["shwo"], "there is no command 'shwo': did you mean 'show'?"),
        (["show", "a", "--jsno"], "unrecognized arguments: --jsno: did you mean '--json'?"),
        (
            ["run", "s", "--trails=3"],
            "unrecognized arguments: --trails=3: did you mean '--trials'",
        ),
        (["run", "s", "python", "a.py"], "python a.py (put the program after --)"),
    ],
)
def test_a_misspelt_command_or_flag_is_explained(thomax, arguments, problem):
    """Row 20."""
    done = thomax(*arguments)
    assert done.code == 2
    assert problem in done.err


def test_only_the_program_of_a_run_is_kept_from_the_parser():
    options = parse(["run", "s.toml", "--jobs", "2", "--", "p", "--jobs", "3", "--", "-h"])
    assert options.program == ["p", "--jobs", "3", "--", "-h"]
    assert options.jobs == 2
    assert parse(["tell", "j", "--", "0", "-5"]).outcome == ["0", "-5"]


def test_a_reader_that_has_seen_enough_is_no_mistake(folder):
    Optimizer({"x": Float(0, 1)}, journal="s.jsonl").close()
    show = f"{shlex.quote(sys.executable)} -m thomax show s.jsonl --all"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {show} | true"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_mistake_stays_one_line_whatever_it_quotes(thomax):
    done = thomax("show", "a\nb")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_names_of_files_do_not_move_the_cursor(thomax):
    """Row 17: whoever named them."""
    Optimizer({"x": Float(0, 1)}, journal="a\x1b[2J.jsonl").close()
    for command in (["show", "a\x1b[2J.jsonl"], ["show", "b\x1b[2J"], ["\x1b[2J"]):
        done = thomax(*command)
        assert "\\x1b[2J" in done.out + done.err
        assert "\x1b" not in done.out + done.err


def test_ctrl_c_ends_any_command_with_130(folder):
    os.mkfifo("pipe")
    command = [sys.executable, "-m", "thomax", "show", "pipe"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        writer = _opened_by_a_reader("pipe")  # who now waits for what is written
        while process.poll() is None:  # a signal just before the waiting would be forgotten
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        os.close(writer)
        assert process.returncode == 130
        assert process.stderr.read() == "thomax: stopped; the same command goes on from here\n"


def _opened_by_a_reader(path):
    for _ in range(600):
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"nobody reads {path}")


@pytest.mark.filterwarnings("default")
def test_a_torn_journal_is_told_in_one_line(thomax, space):
    thomax("suggest", "s.jsonl", "--space", space())
    with Path("s.jsonl").open("ab") as file:
        file.write(b'{"crc": "17c7')
    done = thomax("suggest", "s.jsonl")
    assert done.code == 0
    assert re.fullmatch(r"thomax: Journal s.jsonl ended in a half-written line.*\n", done.err)


BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split()[1])
def test_a_block_of_the_page_runs(thomax, folder, monkeypatch, block):
    """Where the example is, with fewer trials."""
    pytest.importorskip("sklearn")
    for name in ("space.toml", "train.py"):
        shutil.copy(ROOT / "examples" / "command_line" / name, folder)
    file = folder / "space.toml"
    file.write_text(file.read_text("utf-8").replace("trials = 20", "trials = 3"), "utf-8")
    (folder / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (folder / "python").chmod(0o755)
    measured = next(text for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
                    if "[objectives]" in text)  # fmt: skip
    settings = 'trials = 3\ninitial = 9\n[parameters]\nx = {type = "float", low = 0, high = 1}\n'
    (folder / "lab.toml").write_text(settings + measured)
    (folder / "measure").write_text("#!/bin/sh\necho yield=0.5 cost=3 impurity=0.01\n")
    (folder / "measure").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    for line in block.splitlines():
        command, *arguments = shlex.split(line)
        done = thomax(*arguments)
        assert (command, done.code, done.err) == ("thomax", 0, "")
    assert "complete" in done.out

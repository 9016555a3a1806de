import signal
import sys
from typing import NamedTuple

import pytest

from thomax.cli.main import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


# Started in the background, a shell's jobs ignore Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def thomax(capfd, folder):
    """Run the command line in this process; the programs that it starts are real."""

    def run(*arguments):
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code
        return Result(code, *capfd.readouterr())

    return run


@pytest.fixture
def space(folder):
    """Write a space file of a few quasi-random trials, which need no compilation."""

    def write(parameters='x = {type = "float", low = 0, high = 1}', **settings):
        settings = {"trials": 3, "initial": 50, "seed": 0} | settings
        lines = [f"{key} = {value!r}" for key, value in settings.items()]
        text = "\n".join([*lines, "[parameters]", parameters])
        (folder / "space.toml").write_text(text, "utf-8")
        return "space.toml"

    return write


@pytest.fixture
def program(folder):
    """Write a program, and return the words that start it."""

    def write(source):
        (folder / "program.py").write_text(f"import json, os, sys, time\n{source}\n", "utf-8")
        return ["--", sys.executable, "-S", "program.py"]

    return write

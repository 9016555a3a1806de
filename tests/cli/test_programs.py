"""Params reach the program unchanged, by flags, placeholders or the environment."""

import json
import shlex
import subprocess
import sys

import pytest

from thomax.cli.program import Program, require_program

NAMES = ("lr", "act", "deep")
PARAMS = {"lr": 0.1, "act": "relu", "deep": True}


def command(*arguments, params=PARAMS, **options):
    program = Program((sys.executable, *arguments), NAMES, **options)
    return program.command(params, number=7)[1:]


def test_flags_are_appended():
    assert command("a.py", "--fixed", "3") == [
        *["a.py", "--fixed", "3", "--lr", "0.1", "--act", "relu", "--deep", "true"]
    ]


def test_a_value_that_begins_with_a_dash_is_joined_to_its_flag():
    assert command(params={"lr": -1e-5, "act": "-v"}) == ["--lr=-1e-05", "--act=-v"]


def test_placeholders_replace_flags():
    assert command("{lr}", "a={act},{deep}", '{"json": 1}') == [
        "0.1",
        "a=relu,true",
        '{"json": 1}',
    ]


def test_braces_in_a_value_are_not_looked_at_again():
    assert command("{act}-{lr}", params={**PARAMS, "act": "{lr}{trial}"}) == ["{lr}{trial}-0.1"]


def test_the_trials_number_is_a_placeholder_that_leaves_the_flags():
    assert command("out/{trial}")[:2] == ["out/7", "--lr"]


@pytest.mark.parametrize(
    ("arguments", "filled"),
    [
        (["--act", "{act}", "--lr", "{lr}"], ["--lr", "0.1"]),
        (["--act={act}", "x"], ["x"]),
        (["net.act={act}", "x"], ["x"]),
        (["{act}", "x"], ["", "x"]),
        (["{lr}", "{act}"], ["0.1", ""]),
        (["run-{lr}-{act}"], ["run-0.1-"]),
    ],
)
def test_an_inactive_parameter_takes_its_flag_with_it(arguments, filled):
    assert command(*arguments, params={"lr": 0.1}) == filled


def test_the_flag_that_goes_is_never_another_parameters_value():
    assert command("{lr}", "{act}", params={"lr": -2}) == ["-2", ""]


def test_the_environment_replaces_flags():
    program = Program((sys.executable,), ("max-depth", "act"), by_environment=True)
    params = {"max-depth": 3, "act": "a b"}
    assert program.command(params, 0) == [sys.executable]
    found = program.environment(params, 0)
    assert found["THOMAX_MAX_DEPTH"] == "3"
    assert found["THOMAX_ACT"] == "a b"
    assert json.loads(found["THOMAX_PARAMS"]) == params
    assert program.line(params, 0) == shlex.join(
        ["env", "THOMAX_MAX_DEPTH=3", "THOMAX_ACT=a b", sys.executable]
    ).replace("'THOMAX_ACT=a b'", "THOMAX_ACT='a b'")


@pytest.mark.parametrize("by_environment", [False, True])
def test_the_line_to_paste_does_in_a_shell_what_the_run_did(by_environment):
    code = "import os, sys; print(sys.argv[1:], os.environ.get('THOMAX_ACT'))"
    program = Program((sys.executable, "-c", code), ("act",), by_environment)
    params = {"act": "'; echo $(pwd) \"ü\n"}
    direct = subprocess.run(
        program.command(params, 0), env=program.environment(params, 0), capture_output=True
    )
    pasted = subprocess.run(program.line(params, 0), shell=True, capture_output=True)
    assert pasted.stdout == direct.stdout != b""


@pytest.mark.parametrize(
    ("arguments", "names", "sentence"),
    [
        (("env", "{lrr}"), NAMES, "{lrr} is no parameter: did you mean 'lr'"),
        (("env", "{trial}"), ("trial",), "{trial} needs to be unambiguous"),
    ],
)
def test_a_command_that_cannot_work_is_refused(arguments, names, sentence):
    with pytest.raises(ValueError, match=sentence):
        Program(arguments, names)


def test_a_program_must_be_there():
    with pytest.raises(ValueError, match="needs a program after --"):
        require_program([])
    with pytest.raises(ValueError, match="needs to exist and be executable, got 'no-such-one'"):
        require_program(["no-such-one"])
    require_program([sys.executable])


@pytest.mark.parametrize("names", [("lr", "LR"), ("a-b", "a_b"), ("trial",), ("cache",)])
def test_environment_variables_are_never_shared(names):
    with pytest.raises(ValueError, match="needs an environment variable of its own"):
        Program(("env",), names, by_environment=True)


def test_an_inactive_placeholder_takes_only_a_flag_with_it():
    program = Program(("train", "--lr={lr}", "{mode}"), ("lr", "mode"))
    assert program.command({"lr": 0.1}, 0) == ["train", "--lr=0.1", ""]
    both = Program(("python", "train.py", "--a={a}", "{b}"), ("a", "b"))
    assert both.command({}, 0) == ["python", "train.py", ""]
    assert Program(("p", "--a", "{a}"), ("a",)).command({}, 0) == ["p"]

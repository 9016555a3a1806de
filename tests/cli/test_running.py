"""`thomax run` optimises real programs, whatever becomes of them."""

import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from thomax import Optimizer, Space
from thomax.storage.journal import Journal
from thomax.storage.replay import History

PRINT_X = "x = float(sys.argv[sys.argv.index('--x') + 1]); print('working'); print(x)"


def trials(path="space.jsonl"):
    return [*History(Journal.read(path).records).trials.values()]


def test_a_program_is_optimised_and_the_summary_can_be_pasted(thomax, space, program):
    done = thomax("run", space(trials=5), *program(PRINT_X))
    assert done.code == 0
    assert [t.value for t in trials()] == [t.params["x"] for t in trials()]
    best = max(trials(), key=lambda t: t.value)
    assert f"best value {best.value:.6g} (maximize), trial {best.number}" in done.out
    (line,) = [line for line in done.out.splitlines() if line.startswith("again: ")]
    assert shlex.split(line)[1:] == [
        *[sys.executable, "-S", "program.py", "--x", repr(best.params["x"])]
    ]
    assert "next: thomax report space.jsonl" in done.out
    assert done.err == ""


def test_paths_of_the_summary_can_be_pasted(thomax, space, program):
    done = thomax("run", space(), "--journal", "my search.jsonl", *program(PRINT_X))
    assert "next: thomax report 'my search.jsonl'" in done.out
    shown = thomax("show", "my search.jsonl", "--top", "1").out
    assert "(2 more: thomax show 'my search.jsonl' --all)" in shown


def test_the_summary_for_machines_is_json_and_minimising_finds_the_least(thomax, space, program):
    done = thomax("run", space(trials=4), "--minimize", "--json", *program(PRINT_X))
    found = json.loads(done.out)
    assert found["best"]["value"] == min(t.value for t in trials())
    assert found["direction"] == "minimize"
    assert found["stopped"] == "trials"
    assert found["counts"] == {
        "complete": 4,
        "failed": 0,
        "pending": 0,
        "dropped": 0,
        "retracted": 0,
    }
    assert shlex.split(found["command"])[-1] == repr(found["best"]["params"]["x"])


def test_a_terminal_gets_a_bar_with_the_best_value(thomax, space, program, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    command = program(PRINT_X)
    done = thomax("run", space(trials=2), *command)
    assert "2/2" in done.err
    assert f"best {max(t.value for t in trials()):.6g}" in done.err
    quiet = thomax("run", "space.toml", "--no-progress", "--trials", "3", *command)
    assert quiet.err == ""


def test_a_run_proposes_what_an_optimizer_proposes(thomax, space, program):
    """The model included: its journal is that of the Python loop."""
    thomax("run", space(trials=6, initial=3), *program(PRINT_X))
    space_ = Space.from_description(Journal.read("space.jsonl").header["space"])
    optimizer = Optimizer(space_, seed=0, initial=3)
    for _ in range(6):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["x"])
    assert [t.params for t in trials()] == [t.params for t in optimizer.trials]


HOSTILE = [
    "; rm -rf x",
    "$(touch x)",
    "`id`",
    "a b",
    "'\"",
    "ü→\U0001f600",
    "-v",
    "--x",
    "*",
    "",
    "\\",
]
HOSTILE += ["%PATH%", "{c}", "a\nb", "&& false", "#"]


@pytest.mark.parametrize("way", ["flags", "placeholders", "env"])
def test_hostile_values_arrive_unchanged(thomax, space, program, folder, way):
    choices = json.dumps(HOSTILE, ensure_ascii=False)  # JSON's texts are TOML's too
    file = space(f"c = {{type = 'categorical', choices = {choices}}}", trials=len(HOSTILE))
    source = {
        "flags": "got = [a.removeprefix('--c=') for a in sys.argv[1:] if a != '--c']",
        "placeholders": "got = [a.removeprefix('c:') for a in sys.argv[1:]]",
        "env": "assert not sys.argv[1:]; got = [os.environ['THOMAX_C']]",
    }[way]
    source += "\nassert got == [json.loads(os.environ['THOMAX_PARAMS'])['c']], got\nprint(1)"
    extra = ["c:{c}"] if way == "placeholders" else []
    flags = ["--as", "env"] if way == "env" else []
    done = thomax("run", file, *flags, *program(source), *extra)
    assert [t.error for t in trials() if t.error] == []
    assert {t.params["c"] for t in trials()} == set(HOSTILE)
    assert done.code == 0
    assert {p.name for p in folder.iterdir()} == {
        *{"space.toml", "space.jsonl", "space.jsonl.logs", "program.py"}
    }


CONDITIONAL = """
kind = {type = "categorical", choices = ["a", "b"]}
slope = {type = "float", low = 0, high = 1, when = {kind = "a"}}
flag = {type = "bool"}
"""


def test_inactive_parameters_are_left_out_and_bools_are_small_words(
    thomax, space, program, monkeypatch
):
    monkeypatch.setenv("THOMAX_SLOPE", "from somebody else")
    thomax("run", space(CONDITIONAL, trials=8), *program("print(json.dumps(sys.argv)); print(1)"))
    thomax(
        *["run", "space.toml", "--as", "env", "--journal", "env.jsonl"],
        *program("print(json.dumps(dict(os.environ))); print(1)"),
    )
    kinds = set()
    for trial in trials():
        flags, variables = (
            json.loads(Path(f"{name}.jsonl.logs/{trial.number}.out").read_text().splitlines()[0])
            for name in ("space", "env")
        )
        kinds.add(trial.params["kind"])
        assert ("--slope" in flags) == ("THOMAX_SLOPE" in variables) == ("slope" in trial.params)
        assert variables["THOMAX_FLAG"] == flags[-1] == str(trial.params["flag"]).lower()
        assert variables["THOMAX_TRIAL"] == str(trial.number)
    assert kinds == {"a", "b"}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("print('deep', file=sys.stderr); sys.exit(3)", "ended with exit code 3\ndeep"),
        ("print('almost done')", "the last line of the output needs to be a number"),
        ("pass", "the last line of the output needs to be a number .* got ''"),
        ("print('nan')", "the value was nan"),
        ("os.kill(os.getpid(), 9)", "ended by SIGKILL"),
        (
            "open(os.environ['THOMAX_OUTPUT_FILE'], 'w').write('x'); print(1)",
            r"\.json needs to be",
        ),
    ],
)
def test_a_failing_program_fails_its_trial_not_the_run(thomax, space, program, source, reason):
    source = f"if os.environ['THOMAX_TRIAL'] != '0':\n print(1)\n sys.exit()\n{source}"
    done = thomax("run", space(), *program(source))
    assert done.code == 0
    assert [t.state for t in trials()] == ["failed", "complete", "complete"]
    assert re.search(reason, trials()[0].error)
    assert "(see space.jsonl.logs/0.err)" in done.out


def test_the_value_is_read_when_the_output_is_complete(thomax, space, program):
    """Row 2: the program ends at once, what filters its output does not."""
    source = "import subprocess\nprint(0.9, flush=True)\n"
    source += (
        "subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep({}); print(1)'])"
    )
    thomax("run", space(trials=1), *program(source.format(2)))
    assert trials()[0].value == 1
    flags = ["--timeout", "2", "--journal", "late.jsonl"]
    done = thomax("run", "space.toml", *flags, *program(source.format(60)))
    assert done.code == 1
    assert "the output needs to end with the program" in trials("late.jsonl")[0].error
    assert "still held it open after 2 s" in done.err


def test_a_value_in_a_file_needs_no_end_of_the_output(thomax, space, program):
    """Row 2: what the program leaves behind may then hold the output for as long as it likes."""
    source = "import subprocess\nopen(os.environ['THOMAX_OUTPUT_FILE'], 'w').write('3')\n"
    source += "subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(20)'])"
    thomax("run", space(trials=1), *program(source))
    assert trials()[0].value == 3


def test_escape_codes_of_a_program_do_not_reach_the_terminal(thomax, space, program):
    """Row 17: neither when it is given up nor in the summary."""
    source = "print('\\x1b[2J\\x9b31m\\u202e\\x07gone\\rnext', file=sys.stderr); sys.exit(1)"
    done = thomax("run", space(trials=4), *program(source))
    assert done.code == 1
    shown = "\\x1b[2J\\x9b31m\\u202e\\x07gone\nnext"
    assert shown in done.err
    assert all(c.isprintable() for c in (done.out + done.err).replace("\n", ""))
    assert thomax("run", "space.toml", "--give-up", "0", *program(source)).code == 1
    assert "\x1b[2J" in trials()[0].error  # the journal has what was printed
    source = "print('\\x1b[2J') if os.environ['THOMAX_TRIAL'] else 0"
    done = thomax("run", "space.toml", "--journal", "b.jsonl", *program(source))
    assert "\x1b" not in done.out + done.err


def test_choices_with_escape_codes_do_not_reach_the_terminal(thomax, space, program):
    """Row 17: the line to paste shows them, and a shell undoes it."""
    file = space("c = {type = 'categorical', choices = [\"a'\\u001b[2J\\\\\"]}", trials=1)
    done = thomax("run", file, *program("print(repr(sys.argv[-1])); print(1)"))
    assert "\x1b" not in done.out
    (line,) = [x for x in done.out.splitlines() if x.startswith("again: ")]
    again = subprocess.run(
        ["bash", "-c", line.removeprefix("again: ")], capture_output=True, text=True
    )
    assert again.stdout.splitlines()[0] == repr("a'\x1b[2J\\")


@pytest.mark.parametrize("text", ["1_0", "0x10", "١٢"])
def test_what_only_python_takes_for_a_number_is_no_setting(thomax, space, program, text):
    """Row 3: --trials 1_0 was ten trials."""
    for flag in ("--trials", "--seed", "--timeout"):
        done = thomax("run", space(), flag, text, *program("print(1)"))
        assert (done.code, f"{flag} needs" in done.err) == (2, True)


def test_the_end_of_a_long_complaint_is_kept(thomax, space, program):
    source = "print('x' * 5000 + 'the cause', file=sys.stderr); sys.exit(1)"
    thomax("run", space(trials=1), *program(source))
    assert trials()[0].error.startswith("the program ended with exit code 1\nx")
    assert trials()[0].error.endswith("the cause")


def test_a_run_without_a_single_success_ends_with_1(thomax, space, program):
    done = thomax("run", space(trials=2), *program("sys.exit('broken')"))
    assert done.code == 1
    assert "no trial was successful; the last failure: the program ended" in done.err
    assert "broken" in done.err


def test_a_run_that_fails_from_the_start_is_given_up(thomax, space, program):
    failing = program("sys.exit('mistyped')")
    done = thomax("run", space(trials=20), *failing)
    assert done.code == 1
    assert "the first trials of the run all failed" in done.err
    assert "run the same command again, which evaluates them first" in done.err
    assert "The last failure: the program ended with exit code 1\nmistyped" in done.err
    assert [t.state for t in trials()] == ["pending"] * 3
    assert thomax("run", "space.toml", "--give-up", "0", "--trials", "8", *failing).code == 1
    assert len(trials()) == 8


def test_a_mended_program_is_run_where_the_broken_one_failed(thomax, folder, program):
    """Row 18: in a space of four points, none of which may be lost."""
    Path("four.toml").write_text(
        "trials = 4\n[parameters]\nn = {type = 'categorical', choices = [1, 2, 3, 4]}\n"
    )
    assert thomax("run", "four.toml", *program("sys.exit('mistyped')")).code == 1
    source = "print(json.loads(os.environ['THOMAX_PARAMS'])['n'])"
    assert thomax("run", "four.toml", *program(source)).code == 0
    assert sorted(t.value for t in trials("four.jsonl")) == [1, 2, 3, 4]


def test_failures_after_a_success_do_not_end_a_run(thomax, space, program):
    source = "print(1) if os.environ['THOMAX_TRIAL'] == '2' else sys.exit(1)"
    assert thomax("run", space(trials=9), *program(source)).code == 0
    assert len(trials()) == 9


def test_a_program_that_takes_too_long_has_failed(thomax, space, program):
    source = "if os.environ['THOMAX_TRIAL'] == '0': time.sleep(60)\nprint(1)"
    done = thomax("run", space(trials=2), "--timeout", "0.7", *program(source))
    assert done.code == 0
    assert trials()[0].error == "time-out: the program took longer than 0.7 s"


def test_nothing_is_started_after_the_time_limit(thomax, space, program):
    done = thomax("run", space(trials=500), "--time-limit", "0.5", *program("print(1)"))
    assert done.code == 0
    assert "the time limit was reached" in done.out
    assert 0 < len(trials()) < 500
    assert {t.state for t in trials()} == {"complete"}


def test_a_space_that_is_exhausted_ends_the_run(thomax, space, program):
    done = thomax("run", space("b = {type = 'bool'}", trials=9), *program("print(1)"))
    assert (done.code, len(trials())) == (0, 2)
    assert "every point of the space has been tried" in done.out


def test_two_jobs_overlap(thomax, space, program):
    """Each program waits for its neighbour: one by one they would wait in vain."""
    source = """
number = int(os.environ['THOMAX_TRIAL'])
open(f'here-{number}', 'w').close()
deadline = time.monotonic() + 20
while not os.path.exists(f'here-{number ^ 1}'):
    if time.monotonic() > deadline: sys.exit('alone')
    time.sleep(0.01)
print(number)
"""
    thomax("run", space(trials=4), "--jobs", "2", *program(source))
    assert {t.number: t.value for t in trials()} == {0: 0, 1: 1, 2: 2, 3: 3}


def test_values_come_from_files_too(thomax, space, program):
    own = "open(os.environ['THOMAX_OUTPUT_FILE'], 'w').write('{\"value\": 3}'); print(1)"
    thomax("run", space(trials=1), *program(own))
    assert trials()[0].value == 3
    named = "json.dump({'test': {'acc': 4}}, open(sys.argv[1], 'w'))"
    flags = ["--value", "m-{trial}.json:test.acc", "--jobs", "2", "--journal", "b.jsonl"]
    thomax("run", space(trials=2), *flags, *program(named), "m-{trial}.json")
    assert [t.value for t in trials("b.jsonl")] == [4, 4]


def test_a_file_from_before_is_not_this_trials_value(thomax, space, program):
    source = "if os.environ['THOMAX_TRIAL'] == '1': open('m.json', 'w').write('5')"
    thomax("run", space(), "--value", "m.json", *program(source))
    assert [t.value for t in trials()] == [None, 5, None]
    assert trials()[2].error == "m.json needs to be written by the program, but was not"


def test_flags_overrule_the_file_and_paths_in_the_file_are_relative_to_it(
    thomax, space, program, folder
):
    (folder / "sub").mkdir()
    space(trials=1, direction="minimize", journal="kept.jsonl")
    (folder / "space.toml").rename(folder / "sub" / "space.toml")
    thomax("run", "sub/space.toml", "--trials", "2", "--seed", "5", *program(PRINT_X))
    header = Journal.read("sub/kept.jsonl").header
    assert (header["seed"], header["direction"]) == (5, "minimize")
    assert len(trials("sub/kept.jsonl")) == 2
    assert Path("sub/kept.jsonl.logs").is_dir()


def test_running_again_continues_to_the_total(thomax, space, program):
    command = program(PRINT_X)
    thomax("run", space(trials=2), *command)
    before = trials()
    assert "2 trials (2 complete)" in thomax("run", "space.toml", *command).out
    assert trials() == before
    thomax("run", "space.toml", "--trials", "4", *command)
    assert trials()[:2] == before
    assert len(trials()) == 4
    assert all(math.isfinite(t.value) for t in trials())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["space.toml", "--trials", "0"], "--trials needs a whole number >= 1, got 0"),
        (["space.toml", "--trials", "many"], "--trials needs a whole number >= 1, got 'many'"),
        (["space.toml", "--jobs", "1.5"], "--jobs needs a whole number >= 1, got 1.5"),
        (["space.toml", "--timeout", "-1"], "--timeout needs seconds > 0, got -1"),
        (["space.toml", "--time-limit", "nan"], "--time-limit needs seconds > 0, got nan"),
        (["space.toml", "--value", "m.json", "--jobs", "2"], "put {trial} into the name"),
        (["space.toml", "--value", "m.json:"], "needs a key after the colon"),
        (["missing.toml"], "missing.toml needs to be a readable file"),
        (["space.toml", "--journal", "no/folder.jsonl"], "could not be opened"),
        (["space.toml", "--journal", "space.toml"], "must be a thomax journal"),
        (["space.toml", "--colour"], "unrecognized arguments: --colour"),
        (["space.toml", "--minimize", "--maximize"], "not allowed with"),
        ([], "required: SPACE.toml"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(thomax, space, program, arguments, sentence):
    space()
    done = thomax("run", *arguments, *program("print(1)"))
    assert done.code == 2
    assert sentence in done.err
    assert done.err.startswith("thomax: ")
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_a_missing_program_is_one_line_and_leaves_no_journal(thomax, space, folder):
    for rest in ([], ["--"], ["--", "no-such-program"]):
        done = thomax("run", space(), *rest)
        assert (done.code, done.err.count("\n")) == (2, 1)
    assert not (folder / "space.jsonl").exists()


def test_another_direction_than_the_journals_is_a_mistake(thomax, space, program):
    thomax("run", space(trials=1), *program("print(1)"))
    done = thomax("run", "space.toml", "--minimize", *program("print(1)"))
    assert done.code == 2
    assert "belongs to another search: its direction is 'maximize'" in done.err


def test_a_failure_names_no_line_of_python_or_thomax(thomax, space, program):
    """The program is the user's, and what it wrote says where it failed."""
    done = thomax("run", space(trials=1), *program("raise ValueError('no luck')"))
    assert "trial 0 failed: the program ended with exit code 1" in done.err
    assert "thread.py" not in done.err

"""Several metrics on the command line: space files, programs, telling, tables, showing."""

import json
from pathlib import Path

import pytest

from thomax.cli.measured import measured_in, noise_std_in
from thomax.cli.spacefile import read_space_file
from thomax.cli.values import ValueRule
from thomax.storage.journal import Journal
from thomax.storage.metrics import Metrics
from thomax.storage.outcomes import Failure, Result
from thomax.storage.snapshot import Snapshot

X = '[parameters]\nx = {type = "float", low = 0, high = 1}\n'
OBJECTIVES = '[objectives]\nyield = "maximize"\ncost = "minimize"\n'
LIMITS = '[limits]\nimpurity = "<= 0.02"\n'
THREE = Metrics.of({"yield": "maximize", "cost": "minimize"}, {"impurity": "<= 0.02"})


@pytest.fixture
def file(folder):
    def write(text, name="lab.toml"):
        (folder / name).write_text(text, "utf-8")
        return Path(name)

    return write


@pytest.fixture
def asked(thomax, file):
    """A search with two objectives and a limit, and four pending trials."""
    file(f"initial = 50\nseed = 0\n{X}{OBJECTIVES}{LIMITS}", "space.toml")
    assert thomax("suggest", "lab.jsonl", "--space", "space.toml", "-n", "4").code == 0


def trials():
    return Snapshot.read("lab.jsonl").trials


# Space files


def test_a_space_file_names_objectives_and_limits(file):
    found = read_space_file(file(X + OBJECTIVES + LIMITS)).metrics
    assert str(found) == "maximize yield, minimize cost, impurity <= 0.02"
    one = read_space_file(file('direction = "minimize"\n' + X + '[limits]\nms = "<= 5"\n')).metrics
    assert str(one) == "minimize, ms <= 5.0"
    assert read_space_file(file(X)).metrics.is_plain


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("direction = 'minimize'\n" + X + OBJECTIVES, r"either \[objectives\] or a direction"),
        (X + "[objectives]\nyield = 'up'", 'needs "maximize" or "minimize" for .* \'yield\''),
        (X + "[objectives]", "needs one to 4 objectives, got 0"),
        (X + "[limits]\nimpurity = 0.02", '"<=" or ">=" and a number, got 0.02 for \'impurity\''),
        (X + "[limits]\nimpurity = '= 2'", "got '= 2' for 'impurity'"),
        ("objectives = 'yield'\n" + X, r"needs a table \[objectives\], got 'yield'"),
        (X + "[objective]\nyield = 'maximize'", "unknown: did you mean 'objectives'"),
        (X + "[objectives]\nnote = 'maximize'", "another name than 'note'"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_one_sentence_with_the_file(file, text, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        read_space_file(file(text))
    assert "lab.toml" in str(caught.value)


# Programs


RULE = ValueRule(metrics=THREE)


@pytest.mark.parametrize(
    ("output", "values"),
    [
        ('log\n{"yield": 0.8, "cost": 3, "impurity": 0.01}\n', (0.8, 3, 0.01)),
        ('{"yield": 0.8, "epoch": 3, "impurity": null}', (0.8, None, None)),
        ('{"yield": [0.7, 0.9], "cost": "3"}', ([0.7, 0.9], 3, None)),
        ("yield=0.1\nloss=3 of 4\nyield = 0.8\ncost=1e3\ndone", (0.8, 1000, None)),
        ("yield=0.8 cost=3 lr=0.1", (0.8, 3, None)),
        ("yield=0.7,0.9,0.8", ([0.7, 0.9, 0.8], None, None)),
    ],
)
def test_programs_print_an_object_or_lines(output, values):
    named = dict(zip(THREE.names, values, strict=True))
    assert RULE.in_output(output) == {n: v for n, v in named.items() if v is not None}
    assert RULE.in_file(output.split("log\n")[-1], Path("m.json")) == RULE.in_output(output)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("done", r"the output needs values of 'yield' or 'cost' or 'impurity', .* got 'done'"),
        ("0.8", "needs values of 'yield' or"),
        ('{"loss": 3}', "needs values of 'yield' or"),
        ("yield=good", "needs a number as 'yield', got 'good'"),
        ("yield=0,81", "needs a number as 'yield', got '0,81'"),
        ('{"yield": true}', "needs a number as 'yield', got 'True'"),
        ('{"yield": 0.8, "cots": 3}', "value of 'cots', which is no metric: did you mean 'cost'"),
        ("Yield=0.8\ncost=3", "value of 'Yield', which is no metric: did you mean 'yield'"),
        ("yield=0.8\nnoise_std=0.1", "of each metric by its name, .*: call it noise_std_yield"),
        ("yield=0.8\nnoise_std_yield=-1", "a number >= 0 as noise_std, got '-1'"),
        ('{"yield": 0.8, "noise_std": {"yeild": 1}}', "of 'yeild', .*: did you mean 'yield'"),
    ],
)
def test_what_is_no_value_of_a_metric_is_a_failure_in_a_sentence(output, sentence):
    with pytest.raises(Failure, match=sentence):
        RULE.in_output(output)


@pytest.mark.parametrize(
    "output",
    [
        '{"yield": 0.8, "cost": 3, "noise_std": {"yield": 0.1, "cost": null}}',
        '{"yield": 0.8, "cost": 3, "noise_std_yield": 0.1}',
        "noise_std_yield=0.1\nyield=0.8\ncost=3",
        "yield=0.8 cost=3 noise_std_yield=0.1",
    ],
)
def test_programs_know_the_noise_of_each_metric(output):
    assert RULE.in_output(output) == Result({"yield": 0.8, "cost": 3}, {"yield": 0.1})


def test_the_noise_of_the_only_metric_needs_no_name():
    one = ValueRule(metrics=Metrics.of({"yield": "maximize"}))
    assert one.in_output("yield=0.5\nnoise_std=0.1") == Result({"yield": 0.5}, {"yield": 0.1})


def test_a_key_leads_to_the_object_with_the_metrics():
    rule = ValueRule.parse(":test", THREE)
    assert rule.in_output('{"test": {"yield": 1}, "yield": 2}') == {"yield": 1}
    one = ValueRule(metrics=Metrics.of({"yield": "maximize"}))
    assert one.in_output("epoch 3\n0.5") == {"yield": 0.5}


PROGRAM = """
x = float(sys.argv[2])
print(json.dumps({"yield": x, "cost": x ** 2, "impurity": 0.04 * x}))"""


def test_a_search_of_several_metrics_from_the_file_to_the_report(thomax, file, program):
    """From a space file to the page: run, show, report, and the same again."""
    file(f"initial = 50\nseed = 0\ntrials = 6\n{X}{OBJECTIVES}{LIMITS}")
    done = thomax("run", "lab.toml", *program(PROGRAM))
    assert (done.code, done.err) == (0, "")
    kept = [t for t in trials() if t.values["impurity"] <= 0.02]
    assert 0 < len(kept) < 6
    lines = done.out.splitlines()
    assert lines[1:3] == [
        f"{len(kept)} of 6 complete trials keep all limits",
        f"front: {len(kept)} trials that no other one beats",
    ]
    assert lines[3].split() == ["trial", "state", "mark", "yield", "cost", "impurity", "x"]
    shown = thomax("show", "lab.jsonl", "--all").out
    assert shown.splitlines()[0].endswith(
        "6 trials (6 complete), maximize yield, minimize cost, impurity <= 0.02"
    )
    assert [line.split()[2] for line in shown.splitlines()[5:]] == [
        "front" if t in kept else "infeasible" for t in trials()
    ]
    found = json.loads(thomax("show", "lab.jsonl", "--json").out)
    assert found["front"] == [t.number for t in kept] == [t["number"] for t in found["trials"]]
    assert (found["best"], found["feasible"]) == (None, len(kept))
    assert thomax("report", "lab.jsonl").code == 0
    assert 'id="front"' in Path("lab.html").read_text("utf-8")
    assert "6 complete" in thomax("run", "lab.toml", "--trials", "6", *program(PROGRAM)).out


def test_a_run_records_repeats_and_the_noise_that_a_program_knows(thomax, file, program):
    file(f"initial = 50\nseed = 0\ntrials = 2\n{X}")
    printed = """
x = float(sys.argv[2])
print(json.dumps({"value": [x, x + 1], "noise_std": 0.25}))"""
    assert thomax("run", "lab.toml", *program(printed)).code == 0
    for trial in trials():
        x = trial.params["x"]
        assert trial.value == pytest.approx(x + 0.5)
        assert trial.replicates == {"value": (x, x + 1)}
        assert trial.noise_std == {"value": 0.25}


def test_programs_without_a_value_fail_and_a_direction_has_no_place(thomax, file, program):
    file(f"initial = 50\nseed = 0\ntrials = 1\n{X}{OBJECTIVES}")
    done = thomax("run", "lab.toml", "--minimize", *program("print(1)"))
    assert "--minimize is for one objective without a name" in done.err
    done = thomax("run", "lab.toml", *program("print('yield=high')"))
    assert (done.code, done.out.count("needs a number as 'yield'")) == (1, 1)


# Telling


def test_values_are_told_by_name_with_replicates_and_errors(thomax, asked):
    done = thomax("tell", "lab.jsonl", "0", "yield=0.71,0.74,0.69", "cost=3",
                  "--noise-std", "yield=0.02", "--note", "slow")  # fmt: skip
    assert (done.code, done.out) == (0, "recorded trial 0 in lab.jsonl\n")
    first = trials()[0]
    assert first.values == {"yield": pytest.approx(0.71333333), "cost": 3, "impurity": None}
    assert (first.replicates, first.noise_std) == ({"yield": (0.71, 0.74, 0.69)}, {"yield": 0.02})
    assert thomax("tell", "lab.jsonl", "1", "yield=0.7", "yield=0.9", "impurity=0.03").code == 0
    assert thomax("tell", "lab.jsonl", "--params", '{"x": 0.5}', "cost=-1e-3").code == 0
    assert [trials()[1].replicates["yield"], trials()[4].values["cost"]] == [(0.7, 0.9), -1e-3]
    shown = thomax("show", "lab.jsonl").out.splitlines()
    assert shown[1].startswith("no trial keeps all limits yet; the closest is trial 1 (yield 0.8")
    assert shown[2] == "front: 0 trials that no other one beats"
    assert shown[5].split()[:8] == [
        "1",
        "complete",
        "infeasible",
        "0.8",
        "(mean",
        "of",
        "2)",
        "0.03",
    ]
    every = thomax("show", "lab.jsonl", "--all").out
    assert "limit unknown  0.713333 ± 0.02 (mean of 3)  3" in every


def test_one_metric_needs_no_name_and_repeats_are_pooled(thomax, folder, space):
    assert thomax("suggest", "lab.jsonl", "--space", space(), "-n", "2").code == 0
    assert thomax("tell", "lab.jsonl", "0", "0.5,0.7", "--noise-std", "0.1").code == 0
    first = trials()[0]
    assert (first.value, first.replicates) == (0.6, {"value": (0.5, 0.7)})
    assert "0.6 ± 0.1 (mean of 2)" in thomax("show", "lab.jsonl").out
    named = Metrics.of({"yield": "maximize"})
    assert measured_in(["0.5"], named, "tell") == {"yield": 0.5}
    assert noise_std_in(["0.1"], named, "tell") == {"yield": 0.1}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["0", "0.8"], "needs values by name, got '0.8': write yield=VALUE cost=VALUE"),
        (["0", "yeild=0.8"], "got one of 'yeild': did you mean 'yield'?"),
        (["0", "yield=good"], "tell: yield needs a number as value, got 'good'"),
        (["0", "yield=0,81"], "tell: yield needs a number as value, got '0,81'"),
        (["0", "yield=1", "--noise-std", "0.1"], "--noise-std needs values by name"),
        (["0", "yield=1", "--noise-std", "yield=-1"], "noise_std of 'yield' to be a finite"),
        (["0"], "tell needs one yield=VALUE cost=VALUE impurity=VALUE, or --failed"),
        (["0", "yield=1", "--failed"], "or --failed without a VALUE"),
    ],
)  # fmt: skip
def test_what_is_told_wrongly_is_a_sentence_and_records_nothing(thomax, asked, words, sentence):
    before = Path("lab.jsonl").read_bytes()
    done = thomax("tell", "lab.jsonl", *words)
    assert done.code == 2
    assert sentence in done.err
    assert Path("lab.jsonl").read_bytes() == before


def test_one_metric_is_corrected_and_the_others_stay(thomax, asked):
    thomax("tell", "lab.jsonl", "0", "yield=0.8", "cost=32", "impurity=0.01")
    done = thomax("correct", "lab.jsonl", "0", "cost=3.2", "--why", "a comma")
    assert done.out == (
        "corrected trial 0 in lab.jsonl: yield 0.8, cost 3.2, impurity 0.01, "
        "was yield 0.8, cost 32, impurity 0.01\n"
    )
    assert thomax("correct", "lab.jsonl", "0", "impurity=nan").code == 0
    assert trials()[0].values == {"yield": 0.8, "cost": 3.2, "impurity": None}
    assert thomax("retract", "lab.jsonl", "0", "--why", "leak").code == 0
    history = thomax("show", "lab.jsonl", "--history").out.splitlines()
    assert [line.split()[0] for line in history[1:]] == ["6", "7", "8"]
    changes = json.loads(thomax("show", "lab.jsonl", "--history", "--json").out)["changes"]
    assert changes[0]["before"]["values"]["cost"] == 32
    assert changes[0]["after"]["values"]["cost"] == 3.2


# Tables


def test_a_table_has_a_column_for_each_metric_and_comes_back(thomax, asked):
    assert thomax("suggest", "lab.jsonl", "-n", "3", "--csv", "plan.csv").code == 0
    head, *rows = Path("plan.csv").read_text().splitlines()
    assert head == "number,x,yield,cost,impurity"
    filled = [row.rstrip(",") + tail for row, tail in zip(
        rows, [",0.8,3,0.01,0.02,ok", ",,,,,", ',"0.7; 0.9",,0.03,,'], strict=True)]  # fmt: skip
    text = "\n".join([head + ",noise_std_yield,note", *filled])
    Path("plan.csv").write_text(text)
    done = thomax("tell", "lab.jsonl", "--from", "plan.csv")
    assert done.out == "recorded 2 trials in lab.jsonl; skipped 1 row without a value\n"
    first, _, third = trials()[4:]
    assert first.values == {"yield": 0.8, "cost": 3, "impurity": 0.01}
    assert (first.noise_std, first.note) == ({"yield": 0.02}, "ok")
    assert third.replicates == {"yield": (0.7, 0.9)}
    again = thomax("tell", "lab.jsonl", "--from", "plan.csv")
    assert "recorded no trials in lab.jsonl; 2 had been recorded before" in again.out
    Path("plan.csv").write_text(text.replace(",0.02,ok", ",0.5,ok"))
    again = thomax("tell", "lab.jsonl", "--from", "plan.csv")
    assert "the noise_std of 1 stays as it was recorded" in again.out
    Path("plan.csv").write_text(text.replace(",0.8,3,", ",0.8,4,"))
    wrong = thomax("tell", "lab.jsonl", "--from", "plan.csv").err
    assert "thomax correct JOURNAL 4 yield=0.8 cost=4.0 impurity=0.01." in wrong


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("number,Yield\n0,1\n", "no column 'yield' among number, Yield: did you mean 'Yield'?"),
        ("number,x\n0,\n", "there is no column 'yield' or 'cost' or 'impurity' among number, x."),
        ("number,yield,noise_std\n0,1,1\n", "call them noise_std_yield, noise_std_cost"),
        ("number,yield,error\n0,1,broke\n", "needs a value, or an error that is a text"),
        ("number,yield\n0,high\n", "leave `yield` empty and write the reason in the column"),
        ("number,yield,noise_std_yield\n0,1,low\n", "needs a number >= 0 as noise_std, got 'low'"),
        ("x,yield\n0.5,1\n0.7,nan\n2,1\n", "line 4"),
    ],
)
def test_a_table_that_is_not_understood_is_one_sentence(thomax, asked, text, sentence):
    before = Path("lab.jsonl").read_bytes()
    Path("r.csv").write_text(text)
    done = thomax("tell", "lab.jsonl", "--from", "r.csv")
    assert sentence in done.err
    assert Path("lab.jsonl").read_bytes() == before


def test_json_lines_have_metrics_by_name(thomax, asked):
    rows = [
        {"number": 0, "yield": [0.7, 0.9], "cost": 3, "noise_std": {"yield": 0.1}},
        {"number": 1, "yield": None},
        {"params": {"x": 0.5}, "impurity": 0.01, "note": "dry"},
        {"number": 2, "error": "broke"},
    ]
    Path("r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = thomax("tell", "lab.jsonl", "--from", "r.jsonl")
    assert done.out == "recorded 3 trials in lab.jsonl; skipped 1 row without a value\n"
    found = trials()
    assert (found[0].replicates, found[0].noise_std) == ({"yield": (0.7, 0.9)}, {"yield": 0.1})
    assert (found[4].values["impurity"], found[4].note) == (0.01, "dry")
    assert "3 had been recorded before" in thomax("tell", "lab.jsonl", "--from", "r.jsonl").out
    Path("r.jsonl").write_text('{"number": 3, "yeild": 1, "cost": 2}')
    assert "did you mean 'yeild'" in thomax("tell", "lab.jsonl", "--from", "r.jsonl").err


def test_a_plain_table_takes_replicates_and_known_errors(thomax, space, folder):
    assert thomax("suggest", "lab.jsonl", "--space", space(), "-n", "2").code == 0
    Path("r.csv").write_text('number,value,noise_std\n0,"0.5; 0.7",0.1\n1,2,\n')
    assert thomax("tell", "lab.jsonl", "--from", "r.csv").out.startswith("recorded 2 trials")
    assert (trials()[0].value, trials()[0].noise_std) == (0.6, {"value": 0.1})
    again = thomax("tell", "lab.jsonl", "--from", "r.csv").out
    assert again == "recorded no trials in lab.jsonl; 2 had been recorded before\n"
    records = Journal.read("lab.jsonl").records
    assert records[-1]["all"][0]["value"] == [0.5, 0.7]


# Predictions


def test_each_metric_is_predicted_by_its_name(thomax, asked):
    for i, y in enumerate((0.1, 0.4, 0.5, 0.8)):
        assert thomax("tell", "lab.jsonl", str(i), f"yield={y}", f"cost={y**2}",
                      f"impurity={y / 50}").code == 0  # fmt: skip
    words = ["predict", "lab.jsonl", "--params", '{"x": 0.5}']
    lines = thomax(*words).out.splitlines()
    assert [line.split()[0] for line in lines] == ["metric", "yield", "cost", "impurity"]
    found = json.loads(thomax(*words, "--json").out)
    assert [*found["metrics"]] == ["yield", "cost", "impurity"]
    assert found["metrics"]["cost"]["low"] <= found["metrics"]["cost"]["high"]
    assert thomax(*words, "--csv", "p.csv").code == 0
    head, row = (line.split(",") for line in Path("p.csv").read_text().splitlines())
    assert head[:3] == ["x", "yield_mean", "yield_std"]
    assert float(row[1]) == pytest.approx(found["metrics"]["yield"]["mean"])

"""`thomax suggest` and `thomax tell` make a search out of single commands."""

import json
import threading
from pathlib import Path

import pytest

from thomax import Categorical, Float, Optimizer, Pool, Space
from thomax.cli.spacefile import read_space_file
from thomax.storage.journal import Journal
from thomax.storage.replay import History

MIXED = """
x = {type = "float", low = -1, high = 1}
n = {type = "int", low = 1, high = 5}
kind = {type = "categorical", choices = ["a", "b,c", 7]}
size = {type = "ordinal", values = [1, 10]}
on = {type = "bool", when = {kind = "a"}}
"""


def trials():
    return [*History(Journal.read("lab.jsonl").records).trials.values()]


@pytest.fixture
def asked(thomax, space):
    """A journal with three pending trials."""
    done = thomax("suggest", "lab.jsonl", "--space", space(MIXED), "-n", "3", "--json")
    assert done.code == 0
    return [json.loads(line) for line in done.out.splitlines()]


def test_suggestions_are_what_an_optimizer_proposes(thomax, asked):
    optimizer = Optimizer(read_space_file(Path("space.toml")).space, seed=0, initial=50)
    expected = [{"number": t.number, "params": t.params} for t in optimizer.ask(5)]
    assert asked == expected[:3]
    thomax("tell", "lab.jsonl", "0", "0.5")
    table = thomax("suggest", "lab.jsonl", "--space", "space.toml", "-n", "2").out.splitlines()
    assert table[0].split()[:3] == ["trial", "x", "n"]
    assert [line.split()[0] for line in table[1:]] == ["3", "4"]
    assert [t.params for t in trials()] == [e["params"] for e in expected]


def test_later_suggestions_need_no_space(thomax, asked):
    for trial in asked:
        thomax("tell", "lab.jsonl", trial["number"], trial["params"]["x"])
    done = thomax("suggest", "lab.jsonl", "--json")
    assert json.loads(done.out)["number"] == 3
    assert [t.value for t in trials()] == [*(t["params"]["x"] for t in asked), None]


@pytest.mark.parametrize("command", [["suggest"], ["tell", "0", "1"], ["show"]])
def test_a_space_file_in_place_of_a_journal_is_answered_with_its_option(thomax, space, command):
    """Nobody is told to remove it."""
    name, *others = command
    done = thomax(name, space(), *others)
    assert done.code == 2
    assert "got the space file space.toml: give a journal, such as space.jsonl" in done.err
    assert "`thomax suggest space.jsonl --space space.toml` creates one" in done.err
    assert "remove" not in done.err


@pytest.mark.parametrize("value", ["0.5", "-0.5", "-1e-05", "-.5", "7"])
def test_a_value_is_recorded(thomax, asked, value):
    done = thomax("tell", "lab.jsonl", "1", value)
    assert (done.code, done.out) == (0, "recorded trial 1 in lab.jsonl\n")
    assert trials()[1].value == float(value)


def test_failures_are_recorded_with_their_reason(thomax, asked):
    thomax("tell", "lab.jsonl", "0", "--failed")
    thomax("tell", "lab.jsonl", "1", "--failed", "it broke")
    thomax("tell", "lab.jsonl", "2", "nan")
    assert [t.error for t in trials()] == ["failed", "it broke", "the value was nan"]


POINT = {"x": 0.25, "n": 2, "kind": "a", "size": 10, "on": True}


def test_points_of_anybody_are_recorded(thomax, asked):
    done = thomax("tell", "lab.jsonl", "--params", json.dumps(POINT), "-1e-3")
    assert done.out == "recorded trial 3 in lab.jsonl\n"
    assert (trials()[3].params, trials()[3].value) == (POINT, -1e-3)
    thomax("tell", "lab.jsonl", "--params", json.dumps(POINT), "--failed", "no")
    assert (trials()[4].params, trials()[4].error) == (POINT, "no")


def test_a_table_of_values_is_recorded(thomax, asked, folder):
    (folder / "r.csv").write_text("number,value,error,note\n2,0.5,,x\n0,,it broke,\n", "utf-8")
    assert thomax("tell", "lab.jsonl", "--from", "r.csv").out.startswith("recorded 2 trials")
    assert [(t.value, t.error) for t in trials()] == [
        *[(None, "it broke"), (None, None), (0.5, None)]
    ]


def test_a_table_of_points_is_recorded_with_the_types_of_the_space(thomax, asked, folder):
    text = '\ufeffx,n,kind,size,on,value\n0.25,2,a,10,true,1\n1,1,"b,c",1,,2\n0,1,7,1,,3\n'
    (folder / "r.csv").write_text(text, "utf-8")
    assert thomax("tell", "lab.jsonl", "--from", "r.csv").code == 0
    assert [t.params for t in trials()[3:]] == [
        POINT,
        {"x": 1.0, "n": 1, "kind": "b,c", "size": 1},
        {"x": 0.0, "n": 1, "kind": 7, "size": 1},
    ]
    assert [t.value for t in trials()[3:]] == [1, 2, 3]


def test_a_parameter_called_trial_does_not_hide_the_number(thomax, space):
    file = space('trial = {type = "float", low = 0, high = 1}')
    head, row = thomax("suggest", "lab.jsonl", "--space", file).out.splitlines()
    assert head.split() == ["trial", "trial"]
    assert row.split()[0] == "0"


def test_a_separator_of_lines_within_a_text_is_no_end_of_a_line(thomax, asked, folder):
    line = json.dumps({"number": 1, "error": "a\u2028b\u0085c"}, ensure_ascii=False)
    (folder / "r.jsonl").write_text(line + "\r\n", "utf-8")
    assert thomax("tell", "lab.jsonl", "--from", "r.jsonl").code == 0
    assert trials()[1].error == "a\u2028b\u0085c"


def test_a_table_may_come_from_a_spreadsheet(thomax, asked, folder):
    """TRUE and True are true, and in a column with gaps a whole number is written as 10.0."""
    text = "x,n,kind,size,on,value\n0.25,2.0,a,10.0,TRUE,1\n0.25,2,a,1e1,True,2\n1,1,7.0,1.0,,3\n"
    (folder / "r.csv").write_text(text, "utf-8")
    assert thomax("tell", "lab.jsonl", "--from", "r.csv").code == 0
    last = {"x": 1.0, "n": 1, "kind": 7, "size": 1}
    assert [t.params for t in trials()[3:]] == [POINT, POINT, last]
    (folder / "r.csv").write_text("number,value\n1.0,0.5\n", "utf-8")
    thomax("tell", "lab.jsonl", "--from", "r.csv")
    assert trials()[1].value == 0.5


def test_an_empty_cell_is_the_empty_choice_where_there_is_one(thomax, space, folder):
    file = space(
        'mode = {type = "categorical", choices = ["", "fast"]}\n'
        'level = {type = "int", low = 1, high = 3, when = {mode = "fast"}}'
    )
    thomax("suggest", "lab.jsonl", "--space", file)
    (folder / "r.csv").write_text("mode,level,value\n,,1\nfast,2,3\n", "utf-8")
    assert thomax("tell", "lab.jsonl", "--from", "r.csv").code == 0
    assert [t.params for t in trials()[1:]] == [{"mode": ""}, {"mode": "fast", "level": 2}]


def test_json_lines_of_suggest_come_back_with_values(thomax, asked, folder):
    lines = [json.dumps({**asked[1], "value": 4}), "", json.dumps({"params": POINT, "error": "e"})]
    (folder / "r.jsonl").write_text("\n".join(lines), "utf-8")
    assert thomax("tell", "lab.jsonl", "--from", "r.jsonl").code == 0
    assert trials()[1].value == 4
    assert (trials()[3].params, trials()[3].error) == (POINT, "e")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"number": 9, "value": 1}', "line 2: trial 9 needs to be pending"),
        ('{"number": 0, "value": 1}', "line 2: trial 0 needs to be pending, and told once"),
        ('{"number": 1}', "line 2 needs a value, or an error"),
        ('{"number": 1, "error": ""}', "line 2 needs a value, or an error"),
        ('{"number": 1, "value": 0.9, "error": 0.02}', "line 2 needs a value, or an error"),
        ('{"number": 1, "value": 0.9, "error": "boom"}', "line 2 needs a value, or an error"),
        ('{"number": 1, "value": true}', "line 2 needs a number as value, got 'True'"),
        ('{"number": 1, "value": 1' + 400 * "0" + "}", "line 2 needs a number as value, got '1"),
        ('{"number": "1", "value": 1}', "line 2 needs a whole number or params, got '1'"),
        ('{"number": 1, "value": "much"}', "line 2 needs a number as value, got 'much'"),
        ('{"params": {"x": 3}, "value": 1}', "line 2: Parameter "),
        ("no json", "line 2 needs a JSON object, got 'no json'"),
        ("[1]", "line 2 needs a JSON object"),
    ],
)
def test_one_wrong_line_and_nothing_is_recorded(thomax, asked, folder, line, sentence):
    (folder / "r.jsonl").write_text('{"number": 0, "value": 1}\n' + line, "utf-8")
    before = trials()
    done = thomax("tell", "lab.jsonl", "--from", "r.jsonl")
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert trials() == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("number,value\nzero,1\n", "line 2 needs a whole number or params, got 'zero'"),
        ("number,value\n0.5,1\n", "line 2 needs a whole number or params, got '0.5'"),
        ("number,value\ninf,1\n", "line 2 needs a whole number or params, got 'inf'"),
        ("number,value\n0,1,2\n", "line 2 has more cells"),
        ("x,colour,value\n0,red,1\n", "line 2: Unknown parameter 'colour'"),
        (f"number,error\n0,{'x' * 200_000}\n", "line 2 needs to be a line of a table, got: field"),
        ("x,n,kind,size,value\nmuch,1,7,1,1\n", "line 2: Parameter 'x' needs a number"),
    ],
)
def test_a_wrong_table_is_one_line(thomax, asked, folder, text, sentence):
    (folder / "r.csv").write_text(text, "utf-8")
    done = thomax("tell", "lab.jsonl", "--from", "r.csv")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert sentence in done.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tell", "lab.jsonl"], "tell needs one of NUMBER, --params JSON and --from FILE"),
        (["tell", "lab.jsonl", "0"], "needs one VALUE"),
        (["tell", "lab.jsonl", "0", "1", "2"], "needs one VALUE"),
        (["tell", "lab.jsonl", "0", "1", "--failed"], "needs one VALUE, or --failed"),
        (["tell", "lab.jsonl", "0", "1", "--params", "{}"], "tell needs one of"),
        (["tell", "lab.jsonl", "0", "much"], "needs a number as value, got 'much'"),
        (["tell", "lab.jsonl", "zero", "1"], "NUMBER needs to be the whole number"),
        (["tell", "lab.jsonl", "7", "1"], "trial 7 needs to be pending"),
        (["tell", "lab.jsonl", "--params", "[]", "1"], "--params needs a JSON object"),
        (["tell", "lab.jsonl", "--params", "{}", "1"], "'x' is missing"),
        (["tell", "lab.jsonl", "--from", "r.txt"], "ends in .csv or .jsonl"),
        (["tell", "lab.jsonl", "--from", "missing.csv"], "missing.csv"),
        (["tell", "lab.jsonl", "--from", "r.csv", "--failed"], "--from takes no --failed"),
        (["tell", "other.jsonl", "0", "1"], "other.jsonl does not exist"),
        (["suggest", "other.jsonl"], "give --space SPACE.toml to create it"),
        (["suggest", "lab.jsonl", "-n", "0"], "-n needs a whole number >= 1, got 0"),
        (["suggest", "lab.jsonl", "--space", "other.toml"], "its space"),
        (["suggest", "space.toml"], "got the space file space.toml"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(thomax, asked, folder, arguments, sentence):
    (folder / "other.toml").write_text("seed = 0\n[parameters]\nx = {type = 'bool'}")
    before = trials()
    done = thomax(*arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert trials() == before
    assert not (folder / "other.jsonl").exists()


def test_a_journal_in_use_is_one_line(thomax, asked, folder):
    fcntl = pytest.importorskip("fcntl")  # none on Windows
    with (folder / "lab.jsonl").open("rb") as other:  # as another process has it
        fcntl.flock(other, fcntl.LOCK_EX)
        for command in (["suggest", "lab.jsonl"], ["tell", "lab.jsonl", "0", "1"]):
            done = thomax(*command, "--wait", "0")
            assert (done.code, done.err.count("\n")) == (3, 1)
            assert "must have one user at a time" in done.err


def test_a_table_cannot_hold_a_parameter_called_value(thomax, space, folder):
    thomax("suggest", "v.jsonl", "--space", space("value = {type = 'bool'}"))
    (folder / "r.csv").write_text("value,error\ntrue,lost\n", "utf-8")
    done = thomax("tell", "v.jsonl", "--from", "r.csv")
    assert (done.code, "got a parameter called 'value': give numbers" in done.err) == (2, True)
    (folder / "r.csv").write_text("number,value\n0,2.5\n", "utf-8")
    assert thomax("tell", "v.jsonl", "--from", "r.csv").code == 0


@pytest.mark.parametrize(
    ("parameter", "table", "sentence"),
    [
        ("value", "plan.csv", "--csv needs the column 'value' for itself"),
        ("number", "plan.csv", "--csv needs the column 'number' for itself"),
        ("x", "missing/plan.csv", "--csv needs a file in a folder that exists"),
        ("x", "old.csv", "--csv needs a new file"),
    ],
)
def test_a_plan_that_cannot_be_written_makes_no_journal(
    thomax, space, folder, parameter, table, sentence
):
    """Row 21: the journal was there before the table was refused."""
    (folder / "old.csv").write_text("number,x,value\n", "utf-8")
    file = space(f"{parameter} = {{type = 'bool'}}")
    done = thomax("suggest", "new.jsonl", "--space", file, "--csv", table)
    assert (done.code, sentence in done.err) == (2, True)
    assert {p.name for p in folder.iterdir()} == {"old.csv", "space.toml"}
    thomax("suggest", "new.jsonl", "--space", file)
    for way in ([], ["--space", file]):
        assert sentence in thomax("suggest", "new.jsonl", *way, "--csv", table).err
    assert len(Journal.read("new.jsonl").records) == 1


def test_commands_take_their_turn_at_a_journal(thomax, asked, folder):
    """Jobs of a queue that end together tell at the same time."""
    fcntl = pytest.importorskip("fcntl")  # none on Windows
    for command in (["tell", "lab.jsonl", "0", "1"], ["suggest", "lab.jsonl"]):
        other = (folder / "lab.jsonl").open("rb")  # as another process has it
        fcntl.flock(other, fcntl.LOCK_EX)
        timer = threading.Timer(0.05, other.close)
        timer.start()
        done = thomax(*command)
        timer.join()
        assert (done.code, done.err) == (0, "")


def test_an_exhausted_space_is_said(thomax, space):
    done = thomax("suggest", "b.jsonl", "--space", space("b = {type = 'bool'}"), "-n", "3")
    assert len(done.out.splitlines()) == 3
    assert done.err == "thomax: every point of the space has been proposed\n"


def test_labels_stand_for_themselves_on_the_command_line(thomax, folder):
    """Row 20: suggest, tell and drop refused a journal whose choices are objects in Python."""
    objects = {"small": (64,), "large": (64, 64)}
    made = {"net": Categorical(objects), "x": Float(0, 1)}
    with Optimizer(made, direction="minimize", seed=0, initial=9, journal="lab.jsonl") as search:
        search.ask()
    done = thomax("suggest", "lab.jsonl", "-n", "2", "--json")
    assert (done.code, done.err) == (0, "")
    shown = [json.loads(line)["params"]["net"] for line in done.out.splitlines()]
    assert len(shown) == 2
    assert {*shown} <= {*objects}
    assert thomax("tell", "lab.jsonl", "0", "0.5").code == 0
    (folder / "r.csv").write_text("net,x,value\nlarge,0.25,2\n", "utf-8")
    assert thomax("tell", "lab.jsonl", "--from", "r.csv").code == 0
    (folder / "r.csv").write_text("net,x,value\nhuge,0.25,2\n", "utf-8")
    assert "'huge'" in thomax("tell", "lab.jsonl", "--from", "r.csv").err
    assert thomax("drop", "lab.jsonl", "1").code == 0
    assert [t.state for t in trials()] == ["complete", "dropped", "pending", "complete"]
    assert "large" in thomax("show", "lab.jsonl", "--all").out
    with Optimizer(made, direction="minimize", journal="lab.jsonl") as search:
        assert search.trials[3].params == {"net": (64, 64), "x": 0.25}
        assert [t.params["net"] for t in search.trials[1:3]] == [objects[n] for n in shown]


def test_a_space_that_the_header_cannot_describe_is_refused(thomax):
    Optimizer(Pool([[0.0], [1.0]]), journal="pool.jsonl").close()
    bounded = Space({"x": Float(0, 1)}, constraint=lambda p: p["x"] < 0.5)
    Optimizer(bounded, journal="bounded.jsonl").close()
    for name, sentence in [
        (
            "pool.jsonl",
            "the candidates of a pool: give --space SPACE.toml with the pool, or go on",
        ),
        ("bounded.jsonl", "a constraint: go on with it from Python"),
    ]:
        done = thomax("suggest", name)
        assert done.code == 2
        assert f"does not hold {sentence}" in done.err


def test_suggestions_have_what_is_given(thomax, asked):
    done = thomax("suggest", "lab.jsonl", "-n", "2", "--given", "kind=7", "size=10", "--json")
    params = [json.loads(line)["params"] for line in done.out.splitlines()]
    assert [(p["kind"], p["size"]) for p in params] == [(7, 10)] * 2
    assert [t.given for t in trials()][-2:] == [{"kind": 7, "size": 10}] * 2
    thomax("suggest", "lab.jsonl", "--given", "on=true", "--given", "x=-0.5")
    assert trials()[-1].params | {"on": True, "x": -0.5, "kind": "a"} == trials()[-1].params


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["kind"], "--given needs NAME=VALUE, got 'kind'"),
        (["knd=a"], "got 'knd': did you mean 'kind'?"),
        (["kind=z"], "given: parameter 'kind' needs one of"),
        (["kind=7", "on=true"], "'on' is active only when 'kind' is 'a'"),
        (["n=1", "n=2"], "--given needs each name once, got 'n' twice"),
    ],
)
def test_given_values_that_no_point_has_are_refused(thomax, asked, words, sentence):
    done = thomax("suggest", "lab.jsonl", "--given", *words)
    assert done.code == 2
    assert sentence in done.err
    assert len(trials()) == 3

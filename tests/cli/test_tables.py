"""Tables of outcomes: all of a file or nothing, as spreadsheets write them, and told twice."""

import csv
import json
from pathlib import Path

import pytest

from thomax import Categorical, Ordinal, Space
from thomax.cli.journals import open_again
from thomax.cli.points import Points
from thomax.cli.sheets import read_sheet
from thomax.storage.journal import Journal
from thomax.storage.replay import History

SPACE = """
x = {type = "float", low = -1, high = 1}
n = {type = "int", low = 1, high = 5}
kind = {type = "categorical", choices = ["a", "b"]}
on = {type = "bool", when = {kind = "a"}}
"""


def trials(journal="lab.jsonl"):
    return [*History(Journal.read(journal).records).trials.values()]


@pytest.fixture
def asked(thomax, space):
    """A journal with four pending trials; return their params."""
    assert thomax("suggest", "lab.jsonl", "--space", space(SPACE), "-n", "4").code == 0
    return [t.params for t in trials()]


@pytest.fixture
def tell(thomax, folder):
    """Tell a table, or JSON lines."""

    def run(text, *flags, name="r.csv", encoding="utf-8"):
        (folder / name).write_bytes(text.encode(encoding))
        return thomax("tell", "lab.jsonl", "--from", name, *flags)

    return run


# What a row says was run


def test_a_row_that_contradicts_its_trial_is_refused_and_both_are_shown(tell, asked):
    """Row 4: the columns were ignored, and the value recorded for another point."""
    before, x = trials(), asked[0]["x"]
    done = tell("number,x,value\n1,0.5,7\n")
    assert done.code == 2
    assert f"r.csv, line 2: trial 1 was proposed with x = {asked[1]['x']}" in done.err
    assert "but the row has x = 0.5" in done.err
    assert "--as-run" in done.err
    line = json.dumps({"number": 0, "params": {**asked[0], "x": -x}, "value": 1})
    assert f"but the row has x = {-x}" in tell(line, name="r.jsonl").err
    assert trials() == before


def test_a_row_may_show_rounded_numbers_and_have_notes(tell, asked):
    """Row 4: six digits, as `suggest` prints them, contradict nothing."""
    assert tell(f"number,x,note,value\n1,{asked[1]['x']:.6g},why not,7\n").code == 0
    assert (trials()[1].value, trials()[1].params) == (7, asked[1])


@pytest.mark.parametrize("flags", [[], ["--as-run"]])
@pytest.mark.parametrize(("note", "name"), [("X", "x"), ("Kind", "kind"), (" N ", "n")])
def test_a_note_that_is_called_like_a_parameter_is_refused(tell, asked, note, name, flags):
    """Row 4: `X` beside a number was taken for a note, whatever it said of x."""
    before = trials()
    done = tell(f'number,"{note}",value\n1,,7\n0,0.5,8\n', *flags)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"got {note.strip()!r}: did you mean {name!r}?" in done.err
    assert done.err.endswith("Nothing was recorded.\n")
    line = json.dumps({"number": 0, "params": {note: 0.5}, "value": 1})
    done = tell(line, *flags, name="r.jsonl")
    assert (done.code, f"got {note!r}: did you mean {name!r}?" in done.err) == (2, True)
    assert trials() == before


def test_what_was_really_run_is_recorded_when_asked_to(tell, asked):
    """Row 4: the trial keeps its number, and gets the params of the row."""
    kind = "b" if asked[1]["kind"] == "a" else "a"
    on = "true" if kind == "a" else ""
    text = f"number,x,kind,on,value\n1,0.5,{kind},{on},7\n2,,,,5\n"
    assert tell(text, "--as-run").out == "recorded 2 trials in lab.jsonl\n"
    expected = {"x": 0.5, "n": asked[1]["n"], "kind": kind} | ({"on": True} if on else {})
    assert (trials()[1].params, trials()[1].value) == (expected, 7)
    assert (trials()[2].params, trials()[2].value) == (asked[2], 5)
    again = tell(text, "--as-run")
    assert again.out == "recorded no trials in lab.jsonl; 2 had been recorded before\n"
    with open_again(Path("lab.jsonl")) as optimizer:
        assert optimizer.trials[1].params == expected


def test_a_point_that_the_space_has_not_is_refused_also_as_it_was_run(tell, asked):
    """Row 4: nothing of the file is recorded."""
    before = trials()
    done = tell("number,x,value\n0,,1\n1,5,7\n", "--as-run")
    assert "line 3: Parameter 'x' needs a number from -1.0 to 1.0" in done.err
    assert trials() == before


# All of a file, or nothing, and once


def test_on_a_full_disk_nothing_of_a_file_is_recorded(tell, asked):
    """Row 5: told again it gave 72 observations of 40 points."""
    resource = pytest.importorskip("resource")  # none on Windows
    text = "x,n,kind,on,value\n" + "".join(f"{i / 50},3,b,,{i}\n" for i in range(40))
    before = Path("lab.jsonl").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, hard))
    try:
        done = tell(text)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.code == 2
    assert "could not be written" in done.err
    assert Path("lab.jsonl").read_bytes() == before
    assert tell(text).out == "recorded 40 trials in lab.jsonl\n"
    assert tell(text).out == "recorded no trials in lab.jsonl; 40 had been recorded before\n"
    assert len(trials()) == 44


@pytest.mark.filterwarnings("ignore:Journal .* half-written")
def test_a_kill_in_the_midst_of_a_file_leaves_nothing_of_it(thomax, tell, asked):
    """Row 5: at whatever byte the write was cut."""
    before = Path("lab.jsonl").read_bytes()
    text = "number,value,error\n0,1,\n1,,it broke\n2,3,\n"
    assert tell(text).code == 0
    after = Path("lab.jsonl").read_bytes()
    assert after.startswith(before)
    for cut in range(len(before), len(after) - 1, 20):
        Path("lab.jsonl").write_bytes(after[:cut])
        assert [t.state for t in trials()] == ["pending"] * 4
    assert tell(text).out == "recorded 3 trials in lab.jsonl\n"
    assert [(t.value, t.error) for t in trials()[:3]] == [(1, None), (None, "it broke"), (3, None)]


def test_a_file_that_has_grown_is_told_again(tell, asked):
    """Row 5: rows recorded before are skipped and counted, the new ones recorded."""
    text = "number,value,error\n0,1,\n1,,it broke\n2,nan,\n"
    tell(text)
    done = tell(text + "3,4,\n")
    assert done.out == "recorded trial 3 in lab.jsonl; 3 had been recorded before\n"
    assert [t.value for t in trials()] == [1, None, None, 4]


def test_another_value_of_a_recorded_trial_is_refused(thomax, tell, asked):
    """Row 5: only the same value is harmless."""
    tell("number,value\n0,1\n")
    before = trials()
    assert (
        "recorded with the value 1.0, and the row has the value 2.0"
        in tell("number,value\n1,5\n0,2\n").err
    )
    assert "the row has the error 'late'" in tell("number,error\n0,late\n").err
    assert thomax("tell", "lab.jsonl", "0", "1").out.endswith("1 had been recorded before\n")
    assert trials() == before


def test_a_point_measured_again_with_the_same_value_is_recorded_when_asked_to(tell, asked):
    """Row 5: as often as it stands in the file, and once more with --allow-repeats."""
    text = "x,n,kind,value\n0.5,1,b,1\n0.5,1,b,1\n"
    assert tell(text).out == "recorded 2 trials in lab.jsonl\n"
    assert tell(text + "0.5,1,b,1\n").out.startswith("recorded trial 6 in lab.jsonl; 2 had")
    assert tell(text, "--allow-repeats").out == "recorded 2 trials in lab.jsonl\n"
    assert len(trials()) == 4 + 5


def test_a_row_without_a_number_is_the_pending_trial_of_its_point(tell, asked):
    """Row 21: else the trial would be waited for in vain."""
    line = json.dumps({"params": asked[2], "value": 5})
    assert tell(line, name="r.jsonl").out == "recorded trial 2 in lab.jsonl\n"
    assert tell(line, name="r.jsonl").out.startswith("recorded no trials")
    assert tell(line, "--allow-repeats", name="r.jsonl").out.startswith("recorded trial 4")
    number = json.dumps({"number": 1, "value": 6})
    point = json.dumps({"params": asked[1], "value": 6})
    assert "told once" in tell(f"{point}\n{number}", name="r.jsonl").err


# Spreadsheets


def test_a_table_to_be_filled_in_comes_back(thomax, space, folder):
    """Row 21: `suggest --csv` writes an empty column value; rows without one are skipped."""
    done = thomax("suggest", "lab.jsonl", "--space", space(SPACE), "-n", "3", "--csv", "plan.csv")
    assert done.out == (
        "wrote 3 points to plan.csv: fill in the column value, "
        "then thomax tell lab.jsonl --from plan.csv\n"
    )
    with Path("plan.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [*rows[0]] == ["number", "x", "n", "kind", "on", "value"]
    assert {row["value"] for row in rows} == {""}
    assert [float(row["x"]) for row in rows] == [t.params["x"] for t in trials()]
    blank = thomax("tell", "lab.jsonl", "--from", "plan.csv")
    assert blank.out == "recorded no trials in lab.jsonl; skipped 3 rows without a value\n"
    text = Path("plan.csv").read_text().replace(",\n", ",0.5\n", 1)
    Path("plan.csv").write_text(text)
    done = thomax("tell", "lab.jsonl", "--from", "plan.csv")
    assert done.out == "recorded trial 0 in lab.jsonl; skipped 2 rows without a value\n"
    assert [t.value for t in trials()] == [0.5, None, None]


def test_a_choice_that_looks_like_a_formula_is_a_text_in_a_spreadsheet(thomax, space):
    """Row 21: and comes back as it was."""
    file = space("""c = {type = "categorical", choices = ["=1+1", "-x", "'@y", "größe"]}""")
    thomax("suggest", "lab.jsonl", "--space", file, "-n", "4", "--csv", "plan.csv")
    content = Path("plan.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    assert b",'=1+1," in content
    Path("plan.csv").write_bytes(content.replace(b",\r\n", b",1\r\n"))
    assert thomax("tell", "lab.jsonl", "--from", "plan.csv").out.startswith("recorded 4 trials")


def test_a_table_of_european_spreadsheets_comes_back(thomax, space, folder):
    """Row 21: semicolons between cells and commas in numbers."""
    thomax(
        *["suggest", "lab.jsonl", "--space", space(SPACE), "-n", "2"],
        *["--csv", "plan.csv", "--decimal-comma"],
    )
    text = Path("plan.csv").read_text()
    assert str(trials()[0].params["x"]).replace(".", ",") in text
    Path("plan.csv").write_text("sep=;\n" + text.replace(";\n", ";0,25\n"))
    assert thomax("tell", "lab.jsonl", "--from", "plan.csv").out.startswith("recorded 2 trials")
    assert [t.value for t in trials()] == [0.25, 0.25]


def test_a_file_that_exists_is_not_overwritten_and_nothing_is_proposed(thomax, asked, folder):
    """Row 21: it may hold measured values."""
    (folder / "plan.csv").write_text("number,value\n0,1\n")
    for name in ("plan.csv", "missing/plan.csv"):
        assert thomax("suggest", "lab.jsonl", "--csv", name).code == 2
    assert (folder / "plan.csv").read_text() == "number,value\n0,1\n"
    assert len(trials()) == 4


def test_names_of_the_tables_own_columns_are_no_parameters_of_it(thomax, space):
    """Row 21: told in a sentence before anything is proposed or created."""
    file = space("value = {type = 'bool'}")
    done = thomax("suggest", "v.jsonl", "--space", file, "--csv", "plan.csv")
    assert "--csv needs the column 'value' for itself" in done.err
    assert not Path("v.jsonl").exists()
    assert "--decimal-comma needs --csv" in thomax("suggest", "v.jsonl", "--decimal-comma").err


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("number;value\r\n1;0,5\r\n2;-1,5e-1\r\n", "utf-8"),
        ("number\tvalue\n1\t0,5\n2\t-0,15\n", "utf-16"),
        ("number;value;\r\n1;0.5;\r\n2;-0.15;\r\n;;\r\n", "utf-8-sig"),
        ("number , value,\n 1 , 0.5 ,\n2,-.15,,,\n", "utf-8"),
    ],
)
def test_whatever_a_spreadsheet_makes_of_a_table_is_read(tell, asked, text, encoding):
    """Row 21: separators, decimal commas, marks and empty cells at the end."""
    assert tell(text, encoding=encoding).out == "recorded 2 trials in lab.jsonl\n"
    assert [t.value for t in trials()[1:3]] == [0.5, -0.15]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("number,vlaue\n1,2\n", "there is no column 'value' among number, vlaue: did you mean"),
        ("number,Value\n1,2\n", "did you mean 'Value'?"),
        ("number,x\n1,2\n", "there is no column 'value' among number, x."),
        ("number,vlaue,error\n1,2,\n", "there is no column 'value' among"),
        ("number;value\n1;0,5\n2;1.234\n", "got 1.234 beside numbers with a decimal comma"),
        ("number;value\n1;1.234,5\n", "needs a number as value, got '1.234,5'"),
        ('number,value\n1,"1,234"\n', "needs a number as value, got '1,234'"),
        ("number,value,value\n1,2,3\n", "needs distinct columns, got 'value' twice"),
        ("\n\n", "needs a first line with the names of columns"),
        ("", "needs a first line with the names of columns"),
    ],
)
def test_a_table_that_is_not_understood_is_one_sentence(tell, asked, text, sentence):
    """Row 21: with the columns that were found."""
    before = trials()
    done = tell(text)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert sentence in done.err
    assert trials() == before


def test_a_table_in_another_encoding_is_refused_with_its_line(tell, asked):
    """Row 21: and how to save it."""
    done = tell("number,error\n0,x\n1,größer\n", encoding="latin-1")
    assert "r.csv, line 3 needs to be text in UTF-8" in done.err
    assert '"CSV UTF-8"' in done.err


def test_a_line_is_counted_as_an_editor_counts_it(folder):
    (folder / "t.csv").write_text('sep=,\na,b\n"1\n2",3\n\n4,5\n')
    assert [line for line, _ in read_sheet(folder / "t.csv").rows] == [4, 6]


# Numbers


@pytest.mark.parametrize("text", ["2024_05_17", "1_0", "0x10", "١٢", "１２", "1 2", "1,5"])
def test_what_only_python_takes_for_a_number_is_none(thomax, tell, asked, text):
    """Row 3: in a table, in a file of JSON lines, and on the command line."""
    before = trials()
    assert "needs a number as value" in tell(f'number,value\n0,"{text}"\n').err
    line = json.dumps({"number": 0, "value": text})
    assert "needs a number as value" in tell(line, name="r.jsonl").err
    assert "needs a number as value" in thomax("tell", "lab.jsonl", "0", text).err
    assert "NUMBER needs to be" in thomax("tell", "lab.jsonl", text, "1").err
    assert "whole number" in tell(f'number,value\n"{text}",1\n').err
    assert "needs a number" in tell(f'x,n,kind,value\n"{text}",1,b,1\n').err
    for flags in (["suggest", "lab.jsonl", "-n"], ["show", "lab.jsonl", "--top"]):
        assert "needs a whole number" in thomax(*flags, text).err
    assert "needs seconds" in thomax("tell", "lab.jsonl", "0", "1", "--wait", text).err
    assert trials() == before


def test_a_time_that_is_no_number_is_refused(thomax, asked):
    """Row 3: nan seconds would never be over."""
    assert "needs seconds >= 0, got 'nan'" in thomax("suggest", "lab.jsonl", "--wait", "nan").err


# Giving up


def test_trials_are_dropped(thomax, asked):
    """Row 21: so that nobody waits for them."""
    assert thomax("drop", "lab.jsonl", "1", "3").out == "dropped trials 1, 3 in lab.jsonl\n"
    assert [t.state for t in trials()] == ["pending", "dropped", "pending", "dropped"]
    again = thomax("drop", "lab.jsonl", "1", "2")
    assert again.out == "dropped trial 2 in lab.jsonl; 1 had been dropped before\n"


@pytest.mark.parametrize("number", ["7", "0", "-1", "x"])
def test_what_is_not_pending_is_not_dropped(thomax, asked, number):
    """Row 21: and nothing else either."""
    thomax("tell", "lab.jsonl", "0", "1")
    before = trials()
    done = thomax("drop", "lab.jsonl", "1", number)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert trials() == before


def test_json_lines_that_wait_for_their_value_are_skipped_like_empty_cells(tell, asked):
    """Row 21: `null` is what a script writes where nothing was measured yet."""
    lines = [
        {"number": 0, "value": 0.5},
        {"number": 1, "value": None},
        {"number": 2, "value": None, "error": ""},
        {"number": 3, "value": None, "error": "it broke"},
    ]
    done = tell("\n".join(map(json.dumps, lines)), name="r.jsonl")
    assert done.out == "recorded 2 trials in lab.jsonl; skipped 2 rows without a value\n"
    assert [t.state for t in trials()] == ["complete", "pending", "pending", "failed"]
    assert "line 1 needs a value, or an error" in tell('{"number": 1}', name="r.jsonl").err


@pytest.mark.parametrize(
    ("text", "name"),
    [("number,value\n0,n/a\n", "r.csv"), ('{"number": 0, "value": "n/a"}', "r.jsonl")],
)
def test_a_value_in_words_is_answered_with_the_column_of_errors(tell, asked, text, name):
    """Row 21: a person who writes n/a wants to tell a failure."""
    done = tell(text, name=name)
    assert "got 'n/a': to tell that an evaluation failed, leave `value` empty and" in done.err
    assert "write the reason in the column `error`." in done.err
    assert {t.state for t in trials()} == {"pending"}


@pytest.mark.parametrize("kind", [Categorical, Ordinal])
def test_an_empty_cell_is_an_option_where_the_empty_text_is_one(kind):
    points = Points(Space({"suffix": kind(["", "px"]), "unit": kind(["mm", "px"])}))
    assert points.may_be_empty("suffix")
    assert not points.may_be_empty("unit")
    assert points.value("suffix", "", float) == ""

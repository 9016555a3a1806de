"""`thomax correct` and `thomax retract`, notes, and tables told again after them."""

import json

import pytest

from thomax.storage.snapshot import Snapshot


@pytest.fixture
def told(thomax, space):
    """A journal with three told trials and a pending one."""
    thomax("suggest", "lab.jsonl", "--space", space(), "-n", "4")
    for number, value in enumerate(["0.18", "-2", "0.5"]):
        assert thomax("tell", "lab.jsonl", number, value).code == 0


@pytest.fixture
def table(thomax, folder):
    def tell(text, *flags, name="r.csv"):
        (folder / name).write_text(text, "utf-8")
        return thomax("tell", "lab.jsonl", "--from", name, *flags)

    return tell


def trials():
    return Snapshot.read("lab.jsonl").trials


def test_a_value_is_corrected_and_the_history_shows_it(thomax, told):
    done = thomax("correct", "lab.jsonl", "0", "0.81", "--why", "wrong dilution")
    assert (done.code, done.err) == (0, "")
    assert done.out == "corrected trial 0 in lab.jsonl: 0.81, was 0.18\n"
    assert thomax("correct", "lab.jsonl", "1", "-1e-05").out.endswith(": -1e-05, was -2\n")
    done = thomax("correct", "lab.jsonl", "2", "--failed", "the sensor was off")
    assert done.out.endswith(": failed: the sensor was off, was 0.5\n")
    done = thomax("correct", "lab.jsonl", "0", "0.82")
    shown = thomax("show", "lab.jsonl", "--history").out
    assert shown.splitlines() == [
        "record  trial  was   is                          why",
        "8       0      0.18  0.81                        wrong dilution",
        "9       1      -2    -1e-05",
        "10      2      0.5   failed: the sensor was off",
        "11      0      0.81  0.82",
    ]
    found = json.loads(thomax("show", "lab.jsonl", "--history", "--json").out)
    assert found["changes"][0] == {
        "number": 0,
        "before": {
            "record": 8, "state": "complete", "value": 0.18, "error": None,
            "why": "wrong dilution",
        },
        "after": {"state": "complete", "value": 0.81, "error": None},
    }  # fmt: skip


def test_a_history_without_changes_says_so(thomax, told):
    done = thomax("show", "lab.jsonl", "--history")
    assert done.out == "lab.jsonl: nothing was corrected or retracted\n"


def test_trials_are_retracted_once(thomax, told):
    done = thomax("retract", "lab.jsonl", "0", "2", "2", "--why", "leak")
    assert (done.code, done.out) == (0, "retracted trials 0, 2 in lab.jsonl\n")
    again = thomax("retract", "lab.jsonl", "2")
    assert again.out == "retracted nothing in lab.jsonl; 1 had been retracted before\n"
    assert [t.state for t in trials()] == ["retracted", "complete", "retracted", "pending"]
    assert [c.why for c in trials()[0].corrections] == ["leak"]
    back = thomax("correct", "lab.jsonl", "0", "0.3")
    assert back.out == "corrected trial 0 in lab.jsonl: 0.3, was retracted\n"


def test_marks_of_corrections_and_notes_are_shown(thomax, told):
    thomax("tell", "lab.jsonl", "3", "0.7", "--note", "stirrer slow")
    thomax("correct", "lab.jsonl", "0", "0.81")
    thomax("retract", "lab.jsonl", "2")
    shown = thomax("show", "lab.jsonl").out.splitlines()
    assert shown[0] == "lab.jsonl: 4 trials (3 complete, 1 retracted), maximize"
    assert shown[1] == "best: 0.81 (trial 0)"
    assert [line.split()[:3] for line in shown[4:6]] == [
        ["0", "complete", "(corrected)"],
        ["3", "complete", "0.7"],
    ]
    assert shown[5].endswith("stirrer slow")
    assert "retracted" in thomax("show", "lab.jsonl", "--all").out.splitlines()[6]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("correct", "lab.jsonl", "3", "1"), "got trial 3, which is pending"),
        (("correct", "lab.jsonl", "9", "1"), "got 9: trials have the numbers 0 to 3"),
        (("correct", "lab.jsonl", "0"), "correct needs a VALUE, or --failed without a VALUE"),
        (("correct", "lab.jsonl", "0", "1", "--failed"), "got both"),
        (("correct", "lab.jsonl", "0", "high"), "correct needs a number as value, got 'high'"),
        (("correct", "lab.jsonl", "x", "1"), "needs a whole number, got 'x'"),
        (("retract", "lab.jsonl", "0", "3"), "got 3, which is pending. Nothing was retracted"),
        (("retract", "lab.jsonl", "0", "9"), "got 9, which is unknown. Nothing was retracted"),
        (("correct", "none.jsonl", "0", "1"), "The journal none.jsonl does not exist"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_sentence_and_changes_nothing(thomax, told, words, sentence):
    before = trials()
    done = thomax(*words)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert trials() == before


def test_a_contradicting_row_names_the_way_to_correct_it(table, told):
    done = table("number,value\n0,0.81\n")
    assert done.code == 2
    assert "recorded with the value 0.18, and the row has the value 0.81" in done.err
    assert "If the row is right: thomax correct JOURNAL 0 0.81." in done.err
    failed = table("number,value,error\n0,,leak\n").err
    assert "thomax correct JOURNAL 0 --failed ..." in failed


def test_a_table_told_again_does_not_undo_what_was_corrected_since(thomax, table, told):
    thomax("correct", "lab.jsonl", "0", "0.81")
    thomax("retract", "lab.jsonl", "2")
    before = trials()
    done = table("number,value\n0,0.18\n1,-2\n2,0.5\n")
    assert done.out == (
        "recorded no trials in lab.jsonl; 3 had been recorded before; 2 rows have a result that "
        "was corrected or retracted since, which stays so\n"
    )
    assert table("number,value\n0,0.81\n").out.endswith("1 had been recorded before\n")
    refused = table("number,value\n2,0.6\n").err
    assert "it is retracted, and the row has the value 0.6" in refused
    assert trials() == before


def test_rows_without_numbers_are_known_after_a_correction(thomax, table, told):
    points = [t.params["x"] for t in trials()]
    thomax("correct", "lab.jsonl", "0", "0.81")
    thomax("retract", "lab.jsonl", "2")
    before = trials()
    rows = f"x,value\n{points[0]!r},0.18\n{points[1]!r},-2\n{points[2]!r},0.5\n"
    done = table(rows)
    assert "3 had been recorded before; 2 rows have a result that was corrected" in done.out
    assert trials() == before
    done = table(f"x,value\n{points[2]!r},0.5\n", "--allow-repeats")
    assert done.out == "recorded trial 4 in lab.jsonl\n"


def test_notes_of_a_table_are_recorded_and_those_recorded_stay(table, told):
    table("number,value,note\n3,0.7,stirrer slow\n")
    table("x,value,note\n0.5,0.7,\n0.25,0.1,by hand\n")
    table('{"params": {"x": 0.75}, "value": 1, "note": "late"}\n', name="r.jsonl")
    assert [t.note for t in trials()[3:]] == ["stirrer slow", None, "by hand", "late"]
    done = table("number,value,note\n3,0.7,stirrer fast\n")
    assert done.out.endswith(
        "1 had been recorded before; the notes of 1 stay as they were recorded\n"
    )
    assert trials()[3].note == "stirrer slow"
    refused = table('{"params": {"x": 0.8}, "value": 1, "note": 3}\n', name="r.jsonl")
    assert "r.jsonl, line 1 needs a note that is a text, got 3" in refused.err
    assert "--from takes no --note" in table("number,value\n3,0.7\n", "--note", "x").err


def test_a_parameter_called_note_is_a_parameter(thomax, space, table):
    named = space('note = {type = "float", low = 0, high = 1}')
    thomax("suggest", "lab.jsonl", "--space", named, "-n", "1")
    table("note,value\n0.5,1\n")
    assert (trials()[1].params, trials()[1].note) == ({"note": 0.5}, None)
    thomax("tell", "lab.jsonl", "0", "2", "--note", "slow")
    first, second = thomax("show", "lab.jsonl").out.splitlines()[3:5]
    assert first.split() == ["trial", "state", "value", "note", "note"]
    assert second.endswith("slow")

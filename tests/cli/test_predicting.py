"""`thomax predict` says what `Optimizer.predict` does, for points of a file or one of them."""

import csv
import json

import pytest

from thomax import Optimizer

MIXED = """
x = {type = "float", low = -1, high = 1}
kind = {type = "categorical", choices = ["a", "b"]}
n = {type = "int", low = 1, high = 5, when = {kind = "a"}}
"""
POINTS = [{"x": 0.25, "kind": "a", "n": 3}, {"x": -0.5, "kind": "b"}]


@pytest.fixture
def told(thomax, space):
    """A journal with five values."""
    thomax("suggest", "lab.jsonl", "--space", space(MIXED), "-n", "5")
    for number in range(5):
        assert thomax("tell", "lab.jsonl", number, number / 2).code == 0


def expected():
    with Optimizer.open("lab.jsonl") as optimizer:
        return optimizer.predict(POINTS)


def test_rows_of_a_table_are_predicted_and_other_columns_are_notes(thomax, told, folder):
    (folder / "new.csv").write_text("who,x,kind,n\nme,0.25,a,3\nyou,-0.5,b,\n", "utf-8")
    done = thomax("predict", "lab.jsonl", "--from", "new.csv", "--json")
    assert done.code == 0
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [row.pop("params") for row in found] == POINTS
    assert found == expected().rows()
    lines = thomax("predict", "lab.jsonl", "--from", "new.csv").out.splitlines()
    assert lines[0].split() == [
        "x", "kind", "n", "mean", "std", "low", "high", "measurement_low", "measurement_high",
    ]  # fmt: skip
    assert len(lines) == 3


def test_predictions_are_written_to_a_new_table(thomax, told, folder):
    (folder / "new.jsonl").write_text("\n".join(json.dumps({"params": p}) for p in POINTS))
    done = thomax("predict", "lab.jsonl", "--from", "new.jsonl", "--csv", "out.csv")
    assert done.out == "wrote predictions of 2 points to out.csv\n"
    rows = [*csv.DictReader((folder / "out.csv").read_text("utf-8").splitlines())]
    assert [float(row["mean"]) for row in rows] == expected().mean.tolist()
    again = thomax("predict", "lab.jsonl", "--from", "new.jsonl", "--csv", "out.csv")
    assert again.code == 2
    assert "--csv needs a new file" in again.err


def test_a_point_is_predicted_while_another_process_holds_the_journal(thomax, told):
    with Optimizer.open("lab.jsonl"):
        done = thomax("predict", "lab.jsonl", "--params", json.dumps(POINTS[0]), "--json")
    assert json.loads(done.out)["mean"] == pytest.approx(expected().mean[0])


def test_candidates_of_a_pool_come_from_the_space_file_beside_the_journal(thomax, folder):
    (folder / "pool.csv").write_text("metal,load\nPd,1\nNi,2\nPd,3\nNi,4\n", "utf-8")
    (folder / "lab.toml").write_text('initial = 50\n[pool]\nfile = "pool.csv"\n', "utf-8")
    thomax("suggest", "lab.jsonl", "--space", "lab.toml", "-n", "3")
    for number in range(3):
        thomax("tell", "lab.jsonl", number, number)
    (folder / "new.csv").write_text("metal,load\nNi,4\n", "utf-8")
    done = thomax("predict", "lab.jsonl", "--from", "new.csv", "--json")
    assert json.loads(done.out)["params"] == {"index": 3, "metal": "Ni", "load": 4}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--params", "{"], "--params needs a JSON object"),
        (["--params", '{"x": 9, "kind": "b"}'], "Parameter 'x' needs"),
        (["--from", "new.txt"], "--from needs a file that ends in .csv or .jsonl"),
        (["--from", "bad.csv"], "bad.csv, line 2: Parameter 'kind' is missing"),
        ([], "one of the arguments --params --from is required"),
    ],
    ids=str,
)
def test_mistakes_are_sentences(thomax, told, folder, arguments, sentence):
    (folder / "bad.csv").write_text("x,knd\n0.5,a\n", "utf-8")
    done = thomax("predict", "lab.jsonl", *arguments)
    assert done.code == 2
    assert sentence in done.err


def test_too_few_values_are_named(thomax, space):
    thomax("suggest", "lab.jsonl", "--space", space(MIXED))
    done = thomax("predict", "lab.jsonl", "--params", json.dumps(POINTS[0]))
    assert done.code == 2
    assert "predict needs at least 3 trials with a value, got 0" in done.err

"""A pool in a space file: candidates of a table, suggested, told and resumed."""

import json
from pathlib import Path

import pytest

from thomax.cli.spacefile import read_space_file
from thomax.storage.journal import Journal
from thomax.storage.replay import History

pytest.importorskip("pandas")

TABLE = """compound,mass,acid,n,site
aspirin,1.5,TRUE,1.0,a
caffeine,2,false,2,b
menthol,0.5,true,3,a
"""
FILE = 'file = "candidates.csv"'


@pytest.fixture
def pool(folder):
    """Write a table and a space file in a folder of their own."""

    def write(table=TABLE, text=FILE + '\nname = "compound"'):
        (folder / "lab").mkdir(exist_ok=True)
        (folder / "lab" / "candidates.csv").write_text(table, "utf-8")
        (folder / "lab" / "space.toml").write_text(f"seed = 0\ninitial = 9\n[pool]\n{text}\n")
        return Path("lab/space.toml")

    return write


def trials(path="lab/space.jsonl"):
    return [*History(Journal.read(path).records).trials.values()]


def test_a_table_is_a_pool_with_types_and_names(pool):
    """Row 21: its path is relative to the space file."""
    space = read_space_file(pool()).space
    assert space.params([0, 1]) == [
        {"index": 0, "mass": 1.5, "acid": True, "n": 1, "site": "a", "name": "aspirin"},
        {"index": 1, "mass": 2.0, "acid": False, "n": 2, "site": "b", "name": "caffeine"},
    ]
    european = TABLE.replace(",", ";").replace("1.5", "1,5").replace("0.5", "0,5")
    assert read_space_file(pool(european)).space == space


def test_candidates_are_suggested_told_and_resumed(thomax, pool):
    """Row 21: by number, by name, and without --space where space.toml is beside space.jsonl."""
    flags = ["--space", pool(), "--csv", "plan.csv"]
    assert thomax("suggest", "lab/space.jsonl", *flags).code == 0
    head, row = Path("plan.csv").read_text().splitlines()
    assert head == "number,index,mass,acid,n,site,name,value"
    Path("plan.csv").write_text(f"{head}\n{row}7\n")
    assert thomax("tell", "lab/space.jsonl", "--from", "plan.csv").code == 0
    assert trials()[0].value == 7
    Path("more.csv").write_text("name,value\ncaffeine,2\n")
    assert thomax("tell", "lab/space.jsonl", "--from", "more.csv").code == 0
    assert (trials()[1].params["index"], trials()[1].value) == (1, 2)
    again = thomax("tell", "lab/space.jsonl", "--from", "more.csv")
    assert again.out == "recorded no trials in lab/space.jsonl; 1 had been recorded before\n"
    done = thomax("suggest", "lab/space.jsonl", "--json", "-n", "3")
    proposed = [json.loads(line)["params"]["index"] for line in done.out.splitlines()]
    assert len({*proposed, *(t.params["index"] for t in trials())}) == 3
    assert thomax("drop", "lab/space.jsonl", trials()[-1].number).code == 0


def test_a_changed_table_is_noticed(thomax, pool):
    """Row 21: the journal holds a checksum; 2.0 for 2 is no change."""
    thomax("suggest", "lab/space.jsonl", "--space", pool())
    pool(TABLE.replace(",2,", ",2.0,"))
    assert thomax("suggest", "lab/space.jsonl").code == 0
    for changed in (
        TABLE.replace("1.5", "1.6"),
        TABLE + "x,1,true,1,a\n",
        TABLE.replace("b\n", "a\n"),
    ):
        pool(changed)
        done = thomax("suggest", "lab/space.jsonl")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "belongs to another search" in done.err
    assert len(trials()) == 2


def test_swapped_names_in_a_table_are_noticed(thomax, pool):
    """Row 21: also those of candidates that nobody has proposed yet."""
    thomax("suggest", "lab/space.jsonl", "--space", pool())
    asked = trials()[0].params["name"]
    one, other = [n for n in ("aspirin", "caffeine", "menthol") if n != asked]
    swapped = TABLE.replace(one, "?").replace(other, one).replace("?", other)
    assert swapped != TABLE
    pool(swapped)
    done = thomax("suggest", "lab/space.jsonl")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "names or labels of the candidates differ from those of the journal" in done.err
    assert len(trials()) == 1


def test_a_row_that_contradicts_its_candidate_is_refused(thomax, pool):
    """Row 4: and recorded as it was run when asked to."""
    thomax("suggest", "lab/space.jsonl", "--space", pool())
    other = "menthol" if trials()[0].params["name"] != "menthol" else "aspirin"
    Path("r.csv").write_text(f"number,name,value\n0,{other},1\n")
    done = thomax("tell", "lab/space.jsonl", "--from", "r.csv")
    assert f"but the row has name = {other}" in done.err
    assert thomax("tell", "lab/space.jsonl", "--from", "r.csv", "--as-run").code == 0
    assert trials()[0].params["name"] == other


def planned(thomax, pool, change):
    """Return the lines of a plan for one candidate, with some cells changed, and a value."""
    thomax("suggest", "lab/space.jsonl", "--space", pool(), "--csv", "plan.csv")
    head, row = (line.split(",") for line in Path("plan.csv").read_text().splitlines())
    cells = dict(zip(head, row, strict=True)) | {"value": "7"} | change(trials()[0].params)
    Path("plan.csv").write_text(",".join(cells) + "\n" + ",".join(cells.values()) + "\n")
    return ["tell", "lab/space.jsonl", "--from", "plan.csv"]


def others(params):
    return [n for n in ("aspirin", "caffeine", "menthol") if n != params["name"]]


@pytest.mark.parametrize(
    "change",
    [
        lambda params: {"name": others(params)[0]},
        lambda params: {"index": str(["aspirin", "caffeine", "menthol"].index(others(params)[0]))},
    ],
    ids=["name", "index"],
)
def test_a_plan_with_another_name_or_index_is_recorded_as_it_was_run(thomax, pool, change):
    """Row 4: whoever changes one cell leaves those beside it as they were proposed."""
    told = planned(thomax, pool, change)
    meant = others(trials()[0].params)[0]
    assert "but the row has " in thomax(*told).err
    assert thomax(*told, "--as-run").code == 0
    assert (trials()[0].params["name"], trials()[0].value) == (meant, 7)


def test_a_plan_changed_to_no_candidate_says_what_to_correct(thomax, pool):
    """Row 4: a name of one candidate, and the index of another."""
    names = ["aspirin", "caffeine", "menthol"]

    def change(params):
        one, other = others(params)
        return {"index": str(names.index(one)), "name": other}

    told = planned(thomax, pool, change)
    one, other = others(trials()[0].params)
    done = thomax(*told, "--as-run")
    assert (
        f"the candidate with index {names.index(one)} has name = {one}, but the row has "
        f"name = {other}: correct the index, or name." in done.err
    )
    assert trials()[0].state == "pending"


def test_features_that_are_not_those_of_the_index_are_refused(thomax, pool):
    """Row 4: also where no trial is named."""
    thomax("suggest", "lab/space.jsonl", "--space", pool())
    Path("r.csv").write_text("index,mass,value\n0,9,1\n")
    done = thomax("tell", "lab/space.jsonl", "--from", "r.csv")
    assert "index 0 has mass = 1.5, but the row has mass = 9.0: correct the index" in done.err


def test_the_column_of_names_may_be_called_as_in_the_candidates_table(thomax, pool):
    """Row 4: `compound` of candidates.csv is `name`, in tables, JSON lines and --params."""
    thomax("suggest", "lab/space.jsonl", "--space", pool())
    for file, text in [
        ("r.csv", "compound,value\ncaffeine,1\n"),
        ("s.csv", "compound;value\ncaffeine;2,5\n"),
        ("r.jsonl", '{"params": {"compound": "caffeine"}, "value": 3}\n'),
    ]:
        Path(file).write_text(text)
        assert thomax("tell", "lab/space.jsonl", "--from", file).code == 0
    assert thomax("tell", "lab/space.jsonl", "--params", '{"compound": "caffeine"}', "4").code == 0
    assert [t.value for t in trials() if t.params["name"] == "caffeine"][-4:] == [1, 2.5, 3, 4]
    Path("r.csv").write_text("number,compound,value\n0,tea,1\n")
    assert "but the row has name = tea" in thomax("tell", "lab/space.jsonl", "--from", "r.csv").err
    Path("r.csv").write_text("name,compound,value\ncaffeine,caffeine,1\n")
    done = thomax("tell", "lab/space.jsonl", "--from", "r.csv")
    assert "line 2 needs one name of the candidate, got both 'name' and 'compound'" in done.err


def test_a_column_of_names_called_number_stays_the_number_of_a_trial(thomax, pool):
    thomax(
        "suggest", "lab/space.jsonl", "--space",
        pool(TABLE.replace("compound", "number"), FILE + '\nname = "number"'),
    )  # fmt: skip
    Path("r.csv").write_text("number,value\n0,1\n")
    assert thomax("tell", "lab/space.jsonl", "--from", "r.csv").code == 0
    assert trials()[0].value == 1


def test_a_program_is_run_on_candidates(thomax, pool, program):
    """Row 21: it gets what the table says of a candidate."""
    source = "print(json.loads(os.environ['THOMAX_PARAMS'])['mass'])"
    assert thomax("run", pool(), *program(source)).code == 0
    assert sorted(t.value for t in trials()) == [0.5, 1.5, 2]


@pytest.mark.parametrize(
    ("table", "text", "sentence"),
    [
        (TABLE, "", "[pool] needs a file"),
        (TABLE, "file = 3", "[pool] needs a file"),
        (TABLE, 'file = "missing.csv"', "missing.csv needs to be a readable file"),
        (
            TABLE,
            FILE + '\nnames = "x"',
            "unknown key 'names': did you mean 'name'",
        ),
        (TABLE, FILE + '\nname = "compond"', "did you mean 'compound'"),
        (TABLE.replace("1.5", ""), FILE, "line 2 needs something in the column 'mass'"),
        (TABLE.replace("1.5", "nan"), FILE, "finite features"),
        ("a,b\n", FILE, "at least one row"),
        (TABLE.replace("mass", "index"), FILE, "none called 'index'"),
        (TABLE, FILE + '\n[parameters]\nx = {type = "bool"}', "got both"),
    ],
)
def test_a_mistake_is_one_sentence(pool, table, text, sentence):
    """Row 21: with the file and what to do."""
    with pytest.raises(ValueError, match="lab") as caught:
        read_space_file(pool(table, text))
    assert sentence in str(caught.value)


def test_rows_name_one_candidate(thomax, pool):
    """Row 21: several, or none, are refused."""
    thomax("suggest", "lab/space.jsonl", "--space", pool())
    for text, sentence in [
        ("site,value\na,1\n", "got 2: give its index"),
        ("name,value\ntea,1\n", "got 0: give its index"),
        ("colour,value\nred,1\n", "Unknown column 'colour'"),
        ("index,value\n9,1\n", "'index' from 0 to 2"),
    ]:
        Path("r.csv").write_text(text)
        assert sentence in thomax("tell", "lab/space.jsonl", "--from", "r.csv").err


def test_without_the_table_a_sentence_says_what_to_give(thomax, pool):
    """Row 21: a journal elsewhere does not know where its candidates are."""
    thomax("suggest", "other.jsonl", "--space", pool())
    assert "give --space SPACE.toml with the pool" in thomax("tell", "other.jsonl", "0", "1").err
    done = thomax("tell", "other.jsonl", "0", "1", "--space", "lab/space.toml")
    assert done.out == "recorded trial 0 in other.jsonl\n"

import shutil
from pathlib import Path

import pandas as pd
import pytest
from journals import HEADER, LINES, RECORDS, by_hand, full_header, reopened, write_run

from thomax import Categorical, Float, Int, Optimizer, Pool, Space
from thomax.storage.journal import Journal
from thomax.storage.snapshot import Snapshot


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 1}, "its seed is 0, got 1. Pass the same seed, or another path."),
        ({"space": {"x": {"low": -1.0, "high": 2}}}, "its space.x.high is 1.0, got 2. Pass"),
        ({"space": {}}, "its space.x is {'high': 1.0, 'low': -1.0}, got 'absent'."),
        ({"noise": [1, "long" * 50]}, "its noise is 'absent', got [1, 'longlonglong..."),
        ({"space": {"x": 1}}, "its space.x is {'high': 1.0, 'low': -1.0}, got 1. Pass the same s"),
    ],
)
def test_another_search_is_told_what_differs(path, change, sentence):
    write_run(path)
    with pytest.raises(ValueError) as caught:
        Journal.open(path, HEADER | change)
    assert str(caught.value).startswith(f"Journal {path} belongs to another search: {sentence}")
    assert reopened(path) == RECORDS


def test_differing_lists_are_told_by_position(path):
    with Journal.open(path, {"space": [["x", 1], ["y", 2]]}):
        pass
    with pytest.raises(ValueError, match=r"its space\.1\.0 is 'y', got 'z'"):
        Journal.open(path, {"space": [["x", 1], ["z", 2]]})


def test_differing_parameters_are_told_by_name(path):
    space = Space({"y": Int(1, 3), "x": Float(0, 1)})
    with Journal.open(path, {"space": space.describe()}):
        pass
    wider = Space({"y": Int(1, 3), "x": Float(0, 2)})
    sentence = r"its space\.parameters\.x\.high is 1.0, got 2.0. Pass the same space, or another"
    with pytest.raises(ValueError, match=sentence):
        Journal.open(path, {"space": wider.describe()})


@pytest.mark.parametrize("name", [["x"], None, 3])
def test_what_is_no_name_names_nothing(path, name):
    """A file may hold anything."""
    with Journal.open(path, {"space": [{"name": name, "high": 1}]}):
        pass
    with pytest.raises(ValueError, match=r"its space\.0\.high is 1, got 2"):
        Journal.open(path, {"space": [{"name": name, "high": 2}]})


def test_another_pool_is_told_what_is_wanted(path):
    for pool in (Pool([[1.0], [2.0]]), Pool([[2.0], [1.0]])):
        header = {"space": pool.describe()}
        if path.exists():
            with pytest.raises(ValueError, match="Pass the same candidates in the same order"):
                Journal.open(path, header)
        else:
            Journal.open(path, header).close()


def labelled(*labels):
    return Pool(pd.DataFrame({"mass": [1.0, 2.0, 3.0]}, index=labels))


@pytest.mark.parametrize(
    ("pool", "others"),
    [
        (
            Pool([[1.0], [2.0], [3.0]], names=["a", "b", "c"]),
            [
                Pool([[1.0], [2.0], [3.0]], names=["a", "c", "b"]),
                Pool([[1.0], [2.0], [3.0]], names=["a", "b,", "c"]),
                Pool([[1.0], [2.0], [3.0]]),
            ],
        ),
        (labelled("a", "b", "c"), [labelled("b", "a", "c"), labelled(0, 1, 2)]),
    ],
)
def test_swapped_names_or_labels_of_a_pool_are_noticed(path, pool, others):
    """Row 21: the checksum was of the features only, so that values went to other names."""
    Optimizer(pool, seed=0, journal=path).close()
    sentence = "the names or labels of the candidates differ from those of the journal"
    for other in others:
        assert other != pool
        with pytest.raises(ValueError, match=f"{sentence} .* Pass the same names and labels"):
            Optimizer(other, seed=0, journal=path)
    with Optimizer(pool, seed=0, journal=path) as search:
        assert len(search.trials) == 0


def test_a_journal_without_a_checksum_of_names_still_opens(path):
    """Row 21: those of older versions have none, and do not get one."""
    pool = Pool([[1.0], [2.0]], names=["a", "b"])
    known = {k: v for k, v in pool.describe().items() if k != "names_checksum"}
    Journal.open(path, {"space": known}).close()
    with Journal.open(path, {"space": pool.describe()}) as journal:
        assert journal.header["space"] == known


def test_the_pool_of_an_older_journal_is_still_known(path):
    """Row 21: its names are compared where candidates were proposed, as before."""
    shutil.copy(Path(__file__).parents[1] / "fixtures" / "journal-1-pool-before-names.jsonl", path)
    features = [[0.0, 1.5], [1.0, -2.0], [0.0, 3.25], [1.0, 0.5]]
    names = ["aspirin", "caffeine", "β-carotene", "<none>"]
    with Optimizer(Pool(features, names=names), journal=path) as search:
        assert {t.params["name"] for t in search.trials} == {*names}
    with pytest.raises(ValueError, match="is called 'caffeine', got the name 'aspirin'"):
        Optimizer(Pool(features, names=["caffeine", "aspirin", *names[2:]]), journal=path)


def test_what_only_a_new_journal_gets_is_written_once_and_then_kept(path):
    for number in (7, 8):
        with Journal.open(path, HEADER, if_new={"number": number}) as journal:
            assert journal.header["number"] == 7
    with pytest.raises(ValueError, match="its number is 7, got 8"):
        Journal.open(path, HEADER | {"number": 8})


def test_a_header_may_hold_tuples(path):
    for _ in range(2):
        with Journal.open(path, {"choices": ("a", "b")}) as journal:
            assert journal.header["choices"] == ["a", "b"]


def test_a_newer_version_asks_for_an_upgrade(path):
    path.write_bytes(by_hand(0, full_header(version=2)) + b"in a way we cannot read\n" * 2)
    for act in (lambda: Journal.open(path, HEADER), lambda: Journal.read(path)):
        with pytest.raises(
            ValueError,
            match=r"newer thomax \(journal version 2, this one reads up to 1\): upgrade",
        ):
            act()


@pytest.mark.parametrize(
    "content",
    [
        b"notes",
        b"notes\n",
        b"x = 1\ny = 2\n",
        LINES[0][:-9] + b"?",
        by_hand(0, {"format": "other"}),
        b"\0" * 99,
    ],
)
def test_other_files_are_never_overwritten(path, content):
    path.write_bytes(content)
    for opening in (lambda: Journal.open(path, HEADER), lambda: Journal.read(path)):
        with pytest.raises(ValueError, match=r"must be a thomax journal, got .*\. Give another"):
            opening()
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("place", "error"), [("", IsADirectoryError), ("missing/run.jsonl", FileNotFoundError)]
)
def test_a_place_that_cannot_hold_a_journal_gets_a_sentence(tmp_path, place, error):
    with pytest.raises(error, match=r"could not be opened .* Give the path of a file, in a"):
        Journal.open(tmp_path / place, HEADER)


def test_a_device_is_no_journal():
    with pytest.raises(ValueError, match="must be a regular file, got /dev/null"):
        Journal.open("/dev/null", HEADER)


def test_true_is_not_one(tmp_path):
    path = tmp_path / "run.jsonl"
    for choices, others in (([1, 0], [True, False]), ([True, False], [1, 0])):
        with Optimizer({"c": Categorical(choices)}, seed=0, journal=path):
            pass
        with pytest.raises(ValueError, match="belongs to another search: its space"):
            Optimizer({"c": Categorical(others)}, seed=0, journal=path)
        path.unlink()


@pytest.mark.parametrize("seed", [None, "0", 1.5, True])
def test_a_header_without_a_seed_is_refused_by_whoever_reads_it(seed, tmp_path):
    """Another one would be shown, or go on, as if it were 0."""
    path = tmp_path / "run.jsonl"
    space = {"x": Float(0, 1)}
    header = {"space": Space(space).describe(), "direction": "maximize", "seed": seed}
    Journal.open(path, header).close()
    for read in (Snapshot.read, Optimizer.open, lambda path: Optimizer(space, journal=path)):
        with pytest.raises(ValueError, match="needs to be the journal of an Optimizer"):
            read(path)
    Journal.open(path, header).close()  # none of them has kept the journal

import copy
import json
import math
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from thomax.optimizer import Optimizer
from thomax.policies.random import Sobol
from thomax.space.pool import Pool


def everything(pool, rows=1000):
    return np.concatenate([x for _, x in pool.chunks(rows)])


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "temperature": [20.0, 30.0, 40.0, 50.0],
            "count": [1, 2, 3, 4],
            "stirred": [True, False, True, True],
            "solvent": ["water", "ethanol", "water", "ether"],
            "grade": pd.Categorical(["b", "a", "b", "b"]),
        },
        index=[9, 8, 7, 6],
    )


# Scaling ----------------------------------------------------------------------------------


def test_columns_are_centred_and_two_deviations_fill_the_unit_interval():
    raw = np.random.default_rng(0).normal([5, -300], [0.1, 1e4], (20_000, 2))
    x = everything(Pool(raw))
    assert x.dtype == np.float32
    np.testing.assert_allclose(x, (raw - raw.mean(0)) / raw.std(0) / 2, rtol=1e-5, atol=1e-6)


def test_scaling_keeps_digits_that_float32_would_lose():
    raw = 1.7e9 + np.arange(10.0)[:, None]
    x = everything(Pool(raw))
    np.testing.assert_allclose(np.diff(x[:, 0]), 1 / (2 * raw.std()), rtol=1e-5)


def test_scaling_looks_at_all_rows_however_many():
    raw = np.ones((400_000, 2))
    raw[:, 0] = np.arange(400_000)
    raw[0, 1] = 5
    x = everything(Pool(raw), rows=100_000)
    np.testing.assert_allclose(x, (raw - raw.mean(0)) / raw.std(0) / 2, rtol=1e-4)


def test_constant_columns_are_zero_and_codes_stay_codes():
    raw = np.array([[7.7, 0, -1, 1], [7.7, 1, 1, 1], [7.7, 0, 0, 1]])
    expected = [[0, 0, -1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(everything(Pool(raw)), expected)


def test_boolean_arrays_are_zeros_and_ones():
    np.testing.assert_array_equal(everything(Pool([[True, False], [False, True]])), np.eye(2))


@pytest.mark.parametrize("kind", [np.uint8, np.int32])
def test_integer_images_run_from_zero_to_one(kind):
    raw = np.random.default_rng(0).integers(3, 17, (20, 6, 5), dtype=kind)
    x = everything(Pool(raw), rows=7)
    assert x.shape == (20, 6, 5, 1)
    np.testing.assert_allclose(x[..., 0], (raw - 3.0) / 13, rtol=1e-6)


def test_black_and_white_images_stay_zero_and_one():
    raw = np.random.default_rng(0).integers(0, 2, (5, 3, 3), dtype=np.uint8)
    np.testing.assert_array_equal(everything(Pool(raw))[..., 0], raw)


def test_real_images_are_standardised_per_channel():
    raw = np.random.default_rng(0).normal([0, 10], [1, 5], (50, 4, 3, 2))
    x = everything(Pool(raw))
    assert x.shape == (50, 4, 3, 2)
    np.testing.assert_allclose(x.mean((0, 1, 2)), 0, atol=1e-6)
    np.testing.assert_allclose(x.std((0, 1, 2)), 0.5, rtol=1e-5)


def test_changing_the_array_afterwards_changes_nothing():
    for raw in (np.random.default_rng(0).normal(size=(9, 2)), np.ones((4, 2, 2), np.uint8)):
        raw[0] = 3
        pool = Pool(raw)
        before = everything(pool)
        raw[:] = 0
        np.testing.assert_array_equal(everything(pool), before)


# Tables -----------------------------------------------------------------------------------


def test_tables_become_numbers_signs_and_one_hot_columns(table):
    x = everything(Pool(table))
    numbers = np.array([-1.5, -0.5, 0.5, 1.5]) / np.sqrt(1.25) / 2
    np.testing.assert_allclose(x[:, 0], numbers, rtol=1e-6)
    np.testing.assert_allclose(x[:, 1], numbers, rtol=1e-6)
    assert x[:, 2].tolist() == [1, -1, 1, 1]
    solvent = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    np.testing.assert_array_equal(x[:, 3:6], solvent)
    np.testing.assert_array_equal(x[:, 6:], [[1, 0], [0, 1], [1, 0], [1, 0]])


def test_true_in_a_column_of_objects_is_not_one():
    column = pd.Series([1, True, "a", 1.0], dtype=object)
    pool = Pool(pd.DataFrame({"a": column}))
    ones = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    np.testing.assert_array_equal(everything(pool), ones)
    assert pool != Pool(pd.DataFrame({"a": pd.Series([1, 1, "a", 1], dtype=object)}))


def test_features_whose_squares_underflow_are_told_apart():
    x = everything(Pool(np.array([[1e-170], [2e-170], [3e-170]])))
    assert len(np.unique(x)) == 3


def test_numbers_in_columns_of_objects_are_numbers(table):
    """A table made of rows, or of an array with texts in it, has objects in all columns."""
    assert Pool(table.astype(object)).shape == Pool(table).shape == (8,)
    np.testing.assert_array_equal(everything(Pool(table.astype(object))), everything(Pool(table)))
    mixed = Pool(pd.DataFrame({"a": ["low", np.int64(3), 3, 2.5]}))
    assert mixed.shape == (3,)
    assert [p["a"] for p in mixed.params(range(4))] == ["low", 3, 3, 2.5]


def test_names_are_compared_when_a_candidate_is_given_with_one(tmp_path):
    path = tmp_path / "run.jsonl"
    features = np.arange(3.0)[:, None]
    pool = Pool(features, names=["a", "b", "c"])
    assert pool.validate({"index": 1}) == pool.validate({"index": 1, "name": "b"})
    with Optimizer(pool, seed=0, journal=path) as search:
        search.tell({"index": 2}, 1.0)
    other = Pool(features, names=["c", "b", "a"])
    with pytest.raises(ValueError, match="Candidate 2 is called 'a', got the name 'c'"):
        other.validate({"index": 2, "name": "c"})
    with pytest.raises(ValueError, match="names or labels of the candidates differ"):
        Optimizer(other, seed=0, journal=path)
    assert len(Optimizer(pool, seed=0, journal=path).trials) == 1


def test_params_show_the_row_as_python_scalars(table):
    [params] = Pool(table, names=["p", "q", "r", "s"]).params([1])
    assert repr(params) == repr(
        {
            "index": 1,
            "label": 8,
            "temperature": 30.0,
            "count": 2,
            "stirred": False,
            "solvent": "ethanol",
            "grade": "a",
            "name": "q",
        }
    )
    assert json.loads(json.dumps(params)) == params


def test_nullable_columns_without_gaps_are_numbers():
    pool = Pool(
        pd.DataFrame(
            {
                "n": pd.array([1, 2, 3], dtype="Int64"),
                "b": pd.array([True, False, True], dtype="boolean"),
            }
        )
    )
    assert pool.shape == (2,)
    assert everything(pool)[:, 1].tolist() == [1, -1, 1]


# Reading ----------------------------------------------------------------------------------


def test_validation_finds_the_candidate_by_its_index(table):
    pool = Pool(table)
    assert pool.validate({"index": np.int64(2), "solvent": "whatever"}) == pool.params([2])[0]
    assert pool.index([{"index": 3.0}, {"index": 0}]) == [3, 0]
    np.testing.assert_array_equal(pool.encode([{"index": 3}]), pool.at([3]))


def test_samples_cover_the_pool():
    pool = Pool(np.eye(5))
    x = pool.sample(np.random.default_rng(0), 500)
    counts = x.sum(0)
    assert counts.sum() == 500
    assert abs(counts - 100).max() < 4 * np.sqrt(500 * 0.2 * 0.8)


def test_the_checksum_tells_pools_apart(table):
    raw = np.random.default_rng(0).normal(size=(30, 4))
    other = raw.copy()
    other[29, 3] = np.nextafter(other[29, 3], 9)
    assert Pool(raw) == Pool(raw.copy(order="F")) == Pool(raw.tolist())
    assert hash(Pool(raw)) == hash(Pool(raw.copy()))
    assert Pool(raw) != Pool(other)
    assert Pool(raw) != Pool(raw.reshape(60, 2))
    assert Pool(raw) != "a pool"
    renamed = table.replace({"solvent": {"ether": "acetone"}})
    assert Pool(table) == Pool(table.copy())
    assert Pool(table) != Pool(renamed)
    assert Pool(table) != Pool(table.rename(columns={"count": "number"}))


def test_pools_print_their_size():
    assert repr(Pool(np.zeros((3, 4, 4)))) == "Pool(3 candidates of shape (4, 4, 1))"


# Size -------------------------------------------------------------------------------------


def test_large_arrays_are_copied_once_as_float32():
    raw = np.random.default_rng(0).normal(size=(100_000, 64))
    tracemalloc.start()
    pool = Pool(raw)
    seen = sum(len(x) for _, x in pool.chunks(1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen == 100_000
    assert peak < raw.nbytes / 2 + 20e6


@pytest.mark.parametrize("kind", [np.float64, np.uint8])
def test_mapped_arrays_stay_on_disk(tmp_path, kind):
    path = tmp_path / "pool.npy"
    raw = np.random.default_rng(0).integers(0, 256, (60_000, 10, 10)).astype(kind)
    np.save(path, raw)
    mapped = np.load(path, mmap_mode="r")
    tracemalloc.start()
    pool = Pool(mapped)
    walked = [x.mean() for _, x in pool.chunks(500)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15e6  # as float32 the pool takes 24e6
    assert pool == Pool(raw)
    np.testing.assert_allclose(walked, [x.mean() for _, x in Pool(raw).chunks(500)], atol=1e-6)
    np.testing.assert_array_equal(pool.at([5, 59_999]), Pool(raw).at([5, 59_999]))


# Travelling -------------------------------------------------------------------------------


def test_parts_cover_the_pool_in_order():
    pool = Pool(np.random.default_rng(0).normal(size=(23, 2)))
    parts = [*pool.parts(10)]
    assert [(part.start, part.stop) for part in parts] == [(0, 10), (10, 20), (20, 23)]
    pieces = [piece for part in parts for piece in part.chunks(4)]
    assert np.concatenate([i for i, _ in pieces]).tolist() == [*range(23)]
    np.testing.assert_array_equal(np.concatenate([x for _, x in pieces]), everything(pool))
    assert max(len(x) for _, x in pieces) == 4


VIEWS = {
    "whole": lambda a: a,
    "rows": lambda a: a[5:900],
    "rows of rows": lambda a: a[5:][7:],
    "columns": lambda a: a[:, 3:9],
    "every third": lambda a: a[2::3],
    "backwards": lambda a: a[::-1],
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_mapped_pool_travels_without_its_data(tmp_path, view, order):
    path = tmp_path / "pool.npy"
    np.save(path, np.random.default_rng(0).normal(size=(1000, 10)).astype(np.float64, order=order))
    pool = Pool(VIEWS[view](np.load(path, mmap_mode="r")))
    for original in (pool, *pool.parts(300)):
        for _ in range(2):  # what has arrived can travel on
            text = pickle.dumps(original)
            assert len(text) < 3000
            arrived = pickle.loads(text)
            np.testing.assert_array_equal(everything(arrived), everything(original))
            original = arrived
    assert pickle.loads(pickle.dumps(pool)) == pool


def test_a_pool_travels_with_data_that_are_in_no_file(tmp_path):
    path = tmp_path / "pool.npy"
    raw = np.random.default_rng(0).normal(size=(50, 3))
    np.save(path, raw)
    changed = np.load(path, mmap_mode="c")
    changed[7] = 9
    for pool in (Pool(raw), Pool(changed), Pool(np.ones((4, 2, 2), np.uint8))):
        arrived = pickle.loads(pickle.dumps(pool))
        np.testing.assert_array_equal(everything(arrived), everything(pool))
        assert arrived == pool


def test_an_executor_stays_where_it_is():
    with ThreadPoolExecutor(1) as executor:
        pool = Pool(np.eye(3), executor=executor)
        assert pool.executor is executor
        assert copy.deepcopy(pool).executor is None
        assert pool == Pool(np.eye(3)) == pickle.loads(pickle.dumps(pool))
    with pytest.raises(TypeError) as caught:
        Pool(np.eye(3), executor=4)
    assert str(caught.value) == (
        "Pool needs an executor with a `submit` method, got 4: "
        "pass a concurrent.futures executor, or leave it out."
    )


# Mistakes ---------------------------------------------------------------------------------


def with_hole(shape, place, hole=np.nan):
    raw = np.zeros(shape)
    raw[place] = hole
    return raw


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Pool(with_hole((5, 4), (3, 2))),
            "Pool needs finite features; row 3 has nan in column 2: drop or impute it.",
        ),
        (
            lambda: Pool(with_hole((300_000, 2), (299_999, 0), -np.inf)),
            "Pool needs finite features; row 299999 has -inf in column 0: drop or impute it.",
        ),
        (
            lambda: Pool(with_hole((5, 2, 2), (4, 1, 0))),
            "Pool needs finite features; row 4 has nan in column (1, 0): drop or impute it.",
        ),
        (
            lambda: Pool(pd.DataFrame({"a": [1.0, None]})),
            "Pool needs finite features; row 1 has nothing in column 'a': drop or impute it.",
        ),
        (
            lambda: Pool(pd.DataFrame({"a": ["x", None]})),
            "Pool needs finite features; row 1 has nothing in column 'a': drop or impute it.",
        ),
        (
            lambda: Pool(pd.DataFrame({"a": [1.0, np.inf]})),
            "Pool needs finite features; row 1 has inf in column 'a': drop or impute it.",
        ),
        (
            lambda: Pool(pd.DataFrame({"a": pd.to_datetime(["2020-01-01"]).as_unit("ns")})),
            "Pool needs numbers, bools or strings, got datetime64[ns] in column 'a': convert it.",
        ),
        (
            lambda: Pool(pd.DataFrame({"a": [(1,)]})),
            "Pool needs finite numbers, bools or strings, got (1,) in column 'a': convert it.",
        ),
        (
            lambda: Pool(pd.DataFrame({"a": [str(i) for i in range(1001)]})),
            "Pool needs at most "
            "1000 distinct values per column of strings, got 1001 in column 'a': drop it, or "
            "encode it as numbers.",
        ),
        (
            lambda: Pool(pd.DataFrame({"a": ["low", np.inf]})),
            "Pool needs finite numbers, bools or strings, got inf in column 'a': convert it.",
        ),
        (
            lambda: Pool(pd.DataFrame({"index": [1]})),
            "Pool needs distinct columns, none called 'index', got ['index']: rename them.",
        ),
        (
            lambda: Pool(pd.DataFrame([[1, 2]], columns=["a", "a"])),
            "Pool needs distinct columns, none called 'index', got ['a', 'a']: rename them.",
        ),
        (
            lambda: Pool(pd.DataFrame({"a": []})),
            "Pool needs at least one row and one column, got (0, 1).",
        ),
        (
            lambda: Pool([1, 2]),
            "Pool needs an array of shape (N, d), (N, h, w) or (N, h, w, "
            "channels), got (2,): reshape it.",
        ),
        (
            lambda: Pool(np.zeros((0, 3))),
            "Pool needs at least one candidate and one feature, got (0, 3).",
        ),
        (
            lambda: Pool([["a"]]),
            "Pool needs numbers, got an array of <U1: encode the rest as "
            "numbers, or pass a pandas DataFrame.",
        ),
        (
            lambda: Pool([[1e200], [-1e200]]),
            "Pool needs features whose squares are finite: divide the large ones.",
        ),
        (
            lambda: Pool(np.eye(2), names=["a"]),
            "names needs one name for each of 2 candidates, got 1.",
        ),
        (
            lambda: Pool(np.eye(2), names="ab"),
            "names needs one name for each of 2 candidates, got 'ab'.",
        ),
        (
            lambda: Pool(pd.DataFrame({"name": ["a"]}), names=["b"]),
            "names needs a table without a column 'name': rename the column.",
        ),
        (
            lambda: Pool(np.eye(2)).validate({"index": 2}),
            "A candidate needs a whole 'index' from 0 to 1, got 2.",
        ),
        (
            lambda: Pool(np.eye(2)).validate({"index": 0.5}),
            "A candidate needs a whole 'index' from 0 to 1, got 0.5.",
        ),
        (
            lambda: Pool(np.eye(2)).validate({"index": True}),
            "A candidate needs a whole 'index' from 0 to 1, got True.",
        ),
        (
            lambda: Pool(np.eye(2)).validate({}),
            "A candidate needs a whole 'index' from 0 to 1, got None.",
        ),
        (
            lambda: Pool(np.eye(2)).validate({"index": 0, "x": 1}),
            "Unknown parameter 'x' of a candidate: known are index.",
        ),
    ],
)
def test_mistakes_are_explained_in_one_sentence(make, sentence):
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("params", [None, [0], 0])
def test_a_candidate_is_named_by_a_mapping(params):
    with pytest.raises(TypeError, match="params needs a mapping such as"):
        Pool(np.eye(2)).validate(params)


# Labels of rows ---------------------------------------------------------------------------


def compounds(labels):
    return pd.DataFrame({"weight": np.arange(len(labels), dtype=float)}, index=labels)


def test_a_table_keeps_the_labels_of_its_rows(tmp_path):
    """Row 20: in trials, journal, report and the table of trials; also when resumed."""
    path, table = tmp_path / "run.jsonl", compounds(["aspirin", "caffeine", "urea"])
    with Optimizer(Pool(table), Sobol(), seed=0, journal=path) as search:
        trial = search.ask()
        assert table.loc[trial.params["label"], "weight"] == trial.params["weight"]
        search.tell(trial, 1.0)
        search.tell({"label": "urea"}, 2.0)
        assert search.best.params == {"index": 2, "label": "urea", "weight": 2.0}
        assert search.to_dataframe()["label"].tolist() == [trial.params["label"], "urea"]
        assert "urea" in search.report(tmp_path / "report.html").read_text("utf-8")
    assert '"label": "urea"' in path.read_text("utf-8")
    with Optimizer(Pool(table), Sobol(), journal=path) as again:
        assert [t.params for t in again.trials] == [t.params for t in search.trials]
    relabelled = Pool(compounds(["urea", "caffeine", "aspirin"]))
    with pytest.raises(ValueError, match=r"is called 'aspirin', got the label 'urea'"):
        relabelled.validate(search.best.params)
    with pytest.raises(ValueError, match="names or labels of the candidates differ"):
        Optimizer(relabelled, Sobol(), journal=path)


def test_rows_that_are_only_counted_have_no_labels():
    """Row 20: what a table looks like by default."""
    for table in (compounds([0, 1, 2]), compounds(["a", "b"]).reset_index(drop=True)):
        assert [*Pool(table).params([0])[0]] == ["index", "weight"]


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        ([7, 3], [7, 3]),  # as rows that were filtered have them
        ([0.5, math.nan], [0.5, "nan"]),
        (pd.to_datetime(["2024-05-17", "2024-05-18"]), ["2024-05-17 00:00:00"]),
        (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), ["('a', 1)"]),
        ([10**20, True], [10**20, True]),
    ],
)
def test_labels_are_what_a_journal_can_hold(labels, kept):
    pool = Pool(compounds(labels))
    found = [p["label"] for p in pool.params([0, 1])]
    assert repr(found[: len(kept)]) == repr(kept)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert pool.index([{"label": label} for label in found]) == [0, 1]


def test_labels_that_are_not_one_row_are_refused():
    twice = Pool(compounds(["a", "b", "a"]))
    assert twice.validate({"index": 2, "label": "a"})["index"] == 2
    for label, rows in {"a": 2, "x": 0}.items():
        with pytest.raises(ValueError, match=f"label of one row, got '{label}', which {rows} row"):
            twice.validate({"label": label})
    with pytest.raises(ValueError, match=r"as 'label', got a column of that name: rename the col"):
        Pool(pd.DataFrame({"label": [1.0, 2.0]}, index=["a", "b"]))
    assert Pool(pd.DataFrame({"label": [1.0, 2.0]})).params([1]) == [{"index": 1, "label": 2.0}]


def test_a_name_is_enough_to_tell_a_candidate():
    pool = Pool(np.eye(3), names=["a", "b", "c"])
    assert pool.index([{"name": "c"}, {"name": "a"}]) == [2, 0]

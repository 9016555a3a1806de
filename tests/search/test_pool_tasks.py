"""Pools whose parts are scored by the tasks of an executor."""

from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from scores import draws, rng

from thomax import Pool
from thomax.search import exhaustive
from thomax.search.maximise import maximise


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    path = tmp_path_factory.mktemp("pool") / "features.npy"
    np.save(path, rng(3).normal(5, 3, (40_000, 8)).astype(np.float32))
    return np.load(path, mmap_mode="r")


def test_processes_find_what_one_process_finds_bit_by_bit(mapped, monkeypatch):
    monkeypatch.setattr(exhaustive, "_PART", 16_384)
    here = Pool(mapped)
    score = draws(here, 3)
    best = [p["index"] for p in maximise(rng(), score, here)]
    excluded = here.params([best[0], 39_999, 20_000])
    expected = maximise(rng(), score, here, exclude=excluded)
    assert best[0] not in [p["index"] for p in expected]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        there = Pool(mapped, executor=executor)
        assert maximise(rng(), score, there, exclude=excluded) == expected
        part = [*there.parts(16_384)][1]
        none = np.array([], np.int64)
        found = executor.submit(exhaustive._best_of, score, part, none).result()
    again = exhaustive._best_of(score, part, none)
    np.testing.assert_array_equal(found.values, again.values)
    np.testing.assert_array_equal(found.indices, again.indices)
    assert (found.indices >= 16_384).all()


class Recording(ThreadPoolExecutor):
    """Threads, a list of what they were given, and a mishap in one of the tasks."""

    def __init__(self, mishap=None):
        super().__init__(1)
        self.given, self.futures, self.mishap = [], [], mishap

    def submit(self, function, *args):
        self.given.append(args)
        if len(self.given) == self.mishap:
            future = Future()
            future.set_exception(OSError("disk gone"))
        else:
            future = super().submit(function, *args)
        self.futures.append(future)
        return future


def test_a_task_gets_the_draws_a_part_and_what_is_excluded_there(mapped, monkeypatch):
    monkeypatch.setattr(exhaustive, "_PART", 16_384)
    with Recording() as executor:
        pool = Pool(mapped, executor=executor)
        score = draws(pool, 2)
        maximise(rng(), score, pool, exclude=pool.params([39_999, 7, 16_384, 16_383]))
    assert [part.start for _, part, _ in executor.given] == [0, 16_384, 32_768]
    assert [e.tolist() for _, _, e in executor.given] == [[7, 16_383], [16_384], [39_999]]


def test_a_task_that_fails_ends_the_search_and_cancels_the_others(mapped, monkeypatch):
    monkeypatch.setattr(exhaustive, "_PART", 1024)
    with Recording(mishap=1) as executor:
        pool = Pool(mapped, executor=executor)
        with pytest.raises(OSError, match="disk gone"):
            maximise(rng(), draws(pool, 1), pool)
        assert sum(future.cancelled() for future in executor.futures) > 10

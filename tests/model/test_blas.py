"""Threads change how long things take, never what comes out."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

import thomax as tx
from thomax.model import blas
from thomax.model.blas import side_by_side, small_matrices


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(blas, "_cores", lambda: 2)


@pytest.mark.parametrize(("rows", "expected"), [(199, 1), (200, 2), (1499, 2), (1500, 1)])
def test_items_are_worked_on_side_by_side_where_it_pays(two_cores, rows, expected):
    both = threading.Barrier(expected)

    def named(item):
        both.wait(timeout=30)  # passes only if as many threads as expected are here together
        return item, threading.get_ident()

    found = side_by_side(named, [1, 2, 3, 4], rows)
    assert [item for item, _ in found] == [1, 2, 3, 4]
    assert len({thread for _, thread in found}) == expected


def test_what_goes_wrong_in_a_thread_is_raised(two_cores):
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda item: 1 / item, [1, 0, 2], 500)


def test_draws_are_the_same_bits_on_one_core_and_on_two(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (250, 3))
    data = tx.Data(x, np.sin(3 * x).sum(axis=1))
    found = []
    for cores in (1, 2):
        monkeypatch.setattr(blas, "_cores", lambda cores=cores: cores)
        policy = tx.STOBNTSLinear(tx.MLP(1, 64, "erf"), noise_std=0.1)
        found.append(policy(tx.make_keys(0, 3), data).theta)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.fixture
def three_threads():
    """Give BLAS more than one thread, whatever the machine has."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.num_threads for library in libraries]
    _set_threads(libraries, [3] * len(before))
    yield [3] * len(before)
    _set_threads(libraries, before)


def _set_threads(libraries, counts):
    for library, count in zip(libraries, counts, strict=True):
        library.set_num_threads(count)
        # Newer versions of threadpoolctl let the thread that did so keep all others from it.
        getattr(library, "clear_controlling_thread", lambda: None)()


def blas_threads():
    return [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    ]


def test_two_threads_leave_blas_with_the_threads_that_it_had(three_threads):
    """Row 13: BLAS stayed at one thread for the rest of the process."""
    inside, leave = threading.Event(), threading.Event()

    def first():
        with small_matrices(10):
            inside.set()
            assert leave.wait(30)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(30)
    assert set(blas_threads()) == {1}
    with small_matrices(10):
        leave.set()
        thread.join()
    assert blas_threads() == three_threads


def test_the_limit_holds_until_the_outermost_block_ends(three_threads):
    with small_matrices(10):
        with small_matrices(10):
            pass
        assert set(blas_threads()) == {1}
    assert blas_threads() == three_threads


def test_the_limit_ends_with_an_error(three_threads):
    with pytest.raises(ZeroDivisionError), small_matrices(10):
        raise ZeroDivisionError
    assert blas_threads() == three_threads


def test_large_matrices_keep_all_threads(three_threads):
    with small_matrices(1500):
        assert blas_threads() == three_threads

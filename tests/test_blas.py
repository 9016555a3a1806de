"""Threads change how long things take, never what comes out."""

import threading

import numpy as np
import pytest

import thomax as tx
from thomax import blas
from thomax.blas import side_by_side


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

"""Scrambled Sobol points are SciPy's, made without importing it."""

import numpy as np
import pytest
from scipy.stats import qmc

from thomax.model import sobol


@pytest.mark.parametrize(
    ("d", "seed", "block"), [(1, 0, 0), (2, 7, 1), (13, 2**40, 0), (300, 5, 3)]
)
def test_points_are_those_of_scipy(d, seed, block):
    theirs = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(seed))
    expected = theirs.random(64 * (block + 1))[64 * block :]
    ours = [sobol.sobol_point(d, seed, 64 * block + i) for i in range(64)]
    np.testing.assert_array_equal(ours, expected)


def test_directions_are_those_of_scipy_up_to_the_last_dimension():
    theirs = qmc.Sobol(sobol.MOST_DIMENSIONS, scramble=False)
    np.testing.assert_array_equal(sobol._direction_numbers(sobol.MOST_DIMENSIONS), theirs._sv)


def test_without_the_file_of_directions_scipy_makes_the_points(monkeypatch):
    usual = sobol.sobol_point(3, 11, 70)
    monkeypatch.setattr(sobol, "_direction_numbers", lambda dimension: None)
    monkeypatch.setattr(sobol, "_points", sobol._points.__wrapped__)
    np.testing.assert_array_equal(sobol.sobol_point(3, 11, 70), usual)

import numpy as np
import pytest

from thomax.model.data import Data


def test_failures_are_no_values():
    data = Data(np.arange(3.0)[:, None], [1.0, np.nan, 2.0], pending=[[5.0]])
    assert data.failed.tolist() == [False, True, False]
    successes = data.successes()
    assert successes.y.tolist() == [1.0, 2.0]
    assert successes.x.tolist() == [[0.0], [2.0]]
    assert successes.pending.tolist() == [[5.0]]


@pytest.mark.parametrize(
    ("x", "y"), [(np.zeros(3), np.zeros(3)), (np.zeros((2, 1)), [1.0]), ([[np.nan]], [0.0])]
)
def test_data_that_do_not_fit_are_refused(x, y):
    with pytest.raises(ValueError, match="Data needs"):
        Data(x, y)

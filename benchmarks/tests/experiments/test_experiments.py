"""Every experiment of the paper runs, on the real tasks, with tiny budgets."""

import pytest
from experiment_runs import TASKS, TUNING, figure_drawn


@pytest.mark.parametrize("name", [n for n, task in TASKS.items() if task not in TUNING])
def test_an_experiment_runs_and_draws_its_figure(name, folder):
    assert "STO-BNTS" in figure_drawn(name, folder)

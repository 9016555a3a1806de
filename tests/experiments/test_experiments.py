"""Every experiment of the paper runs, on the real tasks, with tiny budgets."""

import pytest
from scripts import FILES, TASKS, TUNING, figure_drawn


def test_there_is_one_file_for_each_figure():
    assert set(FILES) == set(TASKS)


@pytest.mark.parametrize("name", [n for n, task in TASKS.items() if task not in TUNING])
def test_an_experiment_runs_and_draws_its_figure(name, folder):
    assert "STO-BNTS" in figure_drawn(name, folder)

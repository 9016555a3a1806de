"""Every experiment of the paper runs, on the real tasks, with tiny budgets."""

import pytest
from scripts import FILES, TASKS, TUNING, draws_its_figure


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


def test_there_is_one_file_for_each_figure():
    assert set(FILES) == set(TASKS)


@pytest.mark.parametrize("name", [n for n, task in TASKS.items() if task not in TUNING])
def test_an_experiment_runs_and_draws_its_figure(name, folder):
    draws_its_figure(name, folder)

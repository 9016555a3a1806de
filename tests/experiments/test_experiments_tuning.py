"""The paper's experiments on hyperparameters run, on real models, with tiny budgets."""

import pytest
from scripts import TASKS, TUNING, draws_its_figure


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


@pytest.mark.parametrize("name", [n for n, task in TASKS.items() if task in TUNING])
def test_an_experiment_runs_and_draws_its_figure(name, folder):
    draws_its_figure(name, folder)

"""Tasks by name, and what they say where a package is missing."""

import subprocess
import sys

import pytest

from benchmarks.tasks.problem import MissingPackageError, Problem
from benchmarks.tasks.registry import TASKS, task

PAPER = {"synthetic", "forest", "boosting", "convnet", "lunar", "pushing", "rover", "images"}


def test_all_tasks_of_the_paper_have_a_name():
    assert TASKS.keys() > PAPER


@pytest.mark.parametrize(
    "name", sorted(TASKS.keys() - {"forest", "boosting", "convnet", "images"})
)
def test_a_task_makes_a_problem_of_its_name(name):
    problem = task(name, seed=1)
    assert isinstance(problem, Problem)
    assert problem.name == name


def test_the_seed_draws_the_function():
    assert task("synthetic", 1).optimum != task("synthetic", 2).optimum
    assert task("categorical_a", 1).optimum != task("categorical_a", 2).optimum


def test_an_unknown_task_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"A task is one of synthetic, forest, .*; got 'moon'"):
        task("moon", 0)


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("lunar", "gymnasium", "gymnasium[box2d]"),
        ("lunar", "Box2D", "gymnasium[box2d]"),
        ("pushing", "Box2D", "gymnasium[box2d]"),
        ("forest", "sklearn.ensemble", "scikit-learn"),
        ("boosting", "xgboost", "xgboost-cpu and scikit-learn"),
        ("convnet", "optax", "optax"),
        ("images", "optax", "optax"),
    ],
)
def test_a_missing_package_is_one_sentence(name, module, package, monkeypatch, tmp_path):
    from benchmarks.tasks import datasets

    def refuse(requirement, target):
        raise datasets.DownloadError("offline")

    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(datasets, "download", refuse)
    monkeypatch.setenv("THOMAX_DATA", str(tmp_path))
    with pytest.raises(MissingPackageError) as caught:
        task(name, 0)
    assert str(caught.value) == f"The task {name} needs {package}: pip install 'thomax[tasks]'"


def test_naming_the_tasks_imports_no_package_of_theirs():
    heavy = "{'gymnasium', 'Box2D', 'sklearn', 'xgboost', 'optax'}"
    code = f"import sys, benchmarks.tasks.registry; print(sorted({heavy} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"

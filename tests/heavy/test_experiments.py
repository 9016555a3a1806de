"""Every experiment of the paper runs, on the real tasks, with tiny budgets."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "experiments").glob("*.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all: figures of the same task share its runs."""
    return tmp_path_factory.mktemp("bench")


def test_there_is_one_file_for_each_figure():
    from thomax.bench.figures import FIGURES

    names = {f.stem.removeprefix("figure_").replace("_", "-") for f in FILES}
    assert names == {"1abc", *FIGURES}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_an_experiment_runs_and_draws_its_figure(file, folder):
    command = [sys.executable, str(file), "--quick", "--folder", str(folder), "--no-progress"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"wrote {folder}")
    figure = Path(done.stdout.splitlines()[0].removeprefix("wrote "))
    assert "STO-BNTS" in figure.read_text()

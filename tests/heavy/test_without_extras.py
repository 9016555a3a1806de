"""An installation with nothing but the core's own dependencies works."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import importlib
import importlib.util

import thomax as tx

for name in ["optuna", "ray", "sklearn", "dask", "distributed", "pandas", "matplotlib"]:
    assert importlib.util.find_spec(name) is None, name

space = {"x": tx.Float(-1, 1), "kind": tx.Categorical(["a", "b"])}
found = tx.minimize(
    lambda p: p["x"] ** 2 + (p["kind"] == "a"), space, 8, batch=2, seed=0, journal="run.jsonl",
    progress=False,
)
assert [t.state for t in found.trials] == 8 * ["complete"]

for name in ["ray", "sklearn", "optuna"]:
    try:
        importlib.import_module(f"thomax.integrations.{name}")
    except ImportError as error:
        print(error)
try:
    found.to_dataframe()
except ImportError as error:
    print(error)
"""
SENTENCES = """\
thomax.integrations.ray needs Ray Tune: pip install 'thomax[ray]'
thomax.integrations.sklearn needs scikit-learn: pip install 'thomax[sklearn]'
thomax.integrations.optuna needs Optuna: pip install 'thomax[optuna]'
to_dataframe needs pandas: pip install thomax[table]
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Install thomax without extras, and return the interpreter that has it."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    interpreter = folder / "bin" / "python"
    install = [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, ROOT], check=True)
    return interpreter


def test_the_core_alone_optimises_and_says_what_is_missing(python, tmp_path):
    isolated = [python, "-I", "-c", PROGRAM]
    run = subprocess.run(isolated, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == SENTENCES


def test_no_extra_came_along(python):
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = {line.split("==")[0].lower() for line in listed.splitlines()}
    core = {"thomax", "jax", "jaxlib", "numpy", "scipy", "threadpoolctl", "tqdm"}
    assert core <= names
    assert names - core <= {
        "ml-dtypes",
        "ml_dtypes",
        "opt-einsum",
        "opt_einsum",
        "pip",
        "setuptools",
    }

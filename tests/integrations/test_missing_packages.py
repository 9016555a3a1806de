"""What a user reads who lacks a package: one sentence, with the command that brings it."""

import subprocess
import sys

import pytest

MISSING = {
    "ray": ("ray", "thomax.integrations.ray needs Ray Tune: pip install 'thomax[ray]'"),
    "sklearn": (
        "sklearn",
        "thomax.integrations.sklearn needs scikit-learn: pip install 'thomax[sklearn]'",
    ),
    "optuna": ("optuna", "thomax.integrations.optuna needs Optuna: pip install 'thomax[optuna]'"),
}
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def run_without(absent, code):
    """Run code in a Python that does not find some packages."""
    program = WITHOUT.format(absent=absent) + code
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_package_is_named_with_the_command_that_installs_it(name):
    package, sentence = MISSING[name]
    run = run_without({package}, f"import thomax.integrations.{name}")
    assert run.returncode == 1
    assert run.stderr.strip().splitlines()[-1] == f"ImportError: {sentence}"


def test_the_core_needs_none_of_them():
    code = (
        "import thomax as tx\n"
        "optimizer = tx.Optimizer({'x': tx.Float(-1, 1)}, seed=0, initial=3)\n"
        "optimizer.run(lambda p: -(p['x'] ** 2), 4, progress=False)\n"
        "print(len(optimizer.trials))\n"
    )
    absent = {"ray", "sklearn", "optuna", "dask", "distributed", "pandas", "matplotlib"}
    run = run_without(absent, code)
    assert run.stdout == "4\n", run.stderr

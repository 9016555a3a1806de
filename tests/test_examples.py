"""The scripts to copy from run, print something, and draw what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow
PICTURES = {
    "01_posterior_draws.py": ["--output", "draws.png"],
    "02_figure_1.py": ["--output", "figure.png", "--trials", "7", "--draws", "4"],
    "14_yield_against_cost.py": ["--output", "front.png"],
    "demo.py": ["--trials", "12", "--output", "out"],
}
SCRIPTS = sorted(p.name for p in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_runs(script, tmp_path):
    path = ROOT / "examples" / script
    if "from ray" in path.read_text("utf-8"):
        pytest.importorskip("ray", reason="make test-integrations runs this")
    command = [sys.executable, str(path), *PICTURES.get(script, [])]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
    pictures = list(tmp_path.rglob("*.png"))
    assert bool(pictures) == (script in PICTURES)
    assert all(p.stat().st_size > 5000 for p in pictures)


@pytest.mark.parametrize("script", [s for s in SCRIPTS if s[0].isdigit()])
def test_an_example_is_short(script):
    assert len((ROOT / "examples" / script).read_text("utf-8").splitlines()) <= 60

"""Run an experiment of the paper with a tiny budget, as `python -m benchmarks run` does."""

import subprocess
import sys
from pathlib import Path

from benchmarks.paper.figures import FIGURES

ROOT = Path(__file__).parents[3]
TASKS = {"1abc": "exploration"} | {name: figure.task for name, figure in FIGURES.items()}
TUNING = ("forest", "boosting", "convnet")  # half of the time: in a file, so a worker, of its own


def figure_drawn(name, folder):
    """Run a figure and return the text of what it drew."""
    command = [sys.executable, "-m", "benchmarks", "run", name, "--quick", "--no-progress"]
    command += ["--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"wrote {folder}")
    return Path(done.stdout.splitlines()[0].removeprefix("wrote ")).read_text()

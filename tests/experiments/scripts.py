"""Run an experiment of the paper with a tiny budget, as its script does."""

import subprocess
import sys
from pathlib import Path

from thomax.bench.figures import FIGURES

FOLDER = Path(__file__).parents[2] / "experiments"
FILES = {f.stem.removeprefix("figure_").replace("_", "-"): f for f in sorted(FOLDER.glob("*.py"))}
TASKS = {"1abc": "exploration"} | {name: figure.task for name, figure in FIGURES.items()}
TUNING = ("forest", "boosting", "convnet")  # half of the time: in a file, so a worker, of its own


def figure_drawn(name, folder):
    """Run the script of a figure and return the text of what it drew."""
    command = [sys.executable, str(FILES[name]), "--quick", "--folder", str(folder)]
    done = subprocess.run([*command, "--no-progress"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"wrote {folder}")
    return Path(done.stdout.splitlines()[0].removeprefix("wrote ")).read_text()

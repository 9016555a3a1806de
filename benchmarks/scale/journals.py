"""Long journals: what opening one costs, and each command that adds to it."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import thomax as tx
from benchmarks.scale.timing import MB, timed
from thomax.storage.headers import complete_header
from thomax.storage.records import encode

PENDING = 8


def measure_journals(records, d=6):
    """Open a journal in this process, and tell and show by commands, each a new process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        written(path, records, d)
        opened = timed(lambda: tx.Optimizer.open(path, tx.Random()).close(), 3)
        first = records // 2
        numbers = range(first, first + PENDING)
        tells = [commanded("tell", path, number, 0.5) for number in numbers]
        return {
            "size_mb": path.stat().st_size / MB,
            "open_s": opened["cpu_s"],
            "tell_s": float(np.median(tells)),
            "show_s": commanded("show", path),
        }


def written(path, records, d):
    """Write half as many trials as records, asked for and told in turns, and pending ones."""
    rng = np.random.default_rng(0)
    space = tx.Space({f"x{i}": tx.Float(-1, 1) for i in range(d)})
    header = {"space": space.describe(), "direction": "maximize", "seed": 0}
    points = space.decode(space.sample(rng, records // 2 + PENDING))
    with path.open("wb") as file:
        file.write(encode(0, complete_header(header)))
        n = 1
        for number, params in enumerate(points):
            file.write(encode(n, {"ask": number, "params": params}))
            n += 1
            if number < records // 2:
                told = {"tell": number, "value": rng.normal(), "error": None}
                file.write(encode(n, told))
                n += 1


def commanded(*words):
    """Return the CPU-seconds of a command, from its start to its end."""
    before = children_s()
    command = [sys.executable, "-m", "thomax", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return children_s() - before


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

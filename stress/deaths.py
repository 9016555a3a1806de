"""Workers that die, forks at the worst moment, and a compilation cache that was cut short."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import thomax as tx
from stress.part import Part
from stress.workers import answer_of, opened, server

_DEADLY = (3, 11)
_POINTS = {"n": tx.Int(0, 19)}
_DRAW = """
import thomax

image = [[[[0.0]] * 3] * 3]
thomax.STOBNTSLinear(thomax.CNN(width=2))(0, thomax.Data(image, [1.0]))
"""


def lose_workers(part: Part, journal: Path) -> None:
    """Evaluate in processes two of which die: their trials fail, and the run goes on."""
    with (
        ProcessPoolExecutor(2, mp_context=server) as pool,
        opened(journal, space=_POINTS) as search,
    ):
        search.run(_evaluate, 20, batch=3, executor=pool, give_up=0, progress=False)
    with opened(journal, space=_POINTS) as search:
        ends = {t.params["n"]: t.value for t in search.trials}
        errors = [t.error or "" for t in search.trials if t.state == "failed"]
    expected = {n: None if n in _DEADLY else float(n) for n in range(20)}
    part.check(ends == expected, f"two of 20 workers died, and the values are {ends}")
    died = all("the worker died" in error for error in errors)
    part.check(died, f"a worker's death must be said, got {errors}")


def _evaluate(params: dict[str, Any]) -> float:
    if params["n"] in _DEADLY:
        os._exit(1)
    return float(params["n"])


def fork_while_a_thread_asks(part: Part, times: int) -> None:
    """Fork while the optimiser is locked by a thread: the child must be able to tell."""
    hung = answer_of(_count_hung_children, times, seconds=60 + 10 * times)
    part.check(hung == 0, f"{hung} of {times} children forked while a thread asked hung in tell")


def _count_hung_children(times: int) -> int:
    """Return how many children did not come to the end of `tell`."""
    asking, is_over = threading.Event(), threading.Event()

    def is_allowed(params: dict[str, Any]) -> bool:
        asking.set()
        time.sleep(0.002)  # the optimiser is locked meanwhile
        return True

    space = tx.Space({"x": tx.Float(0, 1)}, constraint=is_allowed)
    search = tx.Optimizer(space, tx.Random(), seed=0)

    def ask() -> None:
        while not is_over.is_set():
            search.ask()

    thread = threading.Thread(target=ask)
    thread.start()
    hung = 0
    warnings.simplefilter("ignore")  # that threads and forks are a risk: that is tried here
    for _ in range(times):
        asking.clear()
        asking.wait()
        if (child := os.fork()) == 0:
            signal.alarm(10)
            search.tell({"x": 0.5}, 1.0)
            os._exit(0)
        hung += os.waitpid(child, 0)[1] != 0
    is_over.set()
    thread.join()
    return hung


def truncate_the_cache(part: Part, folder: Path) -> None:
    """Cut off all that was compiled: it is replaced without a word, and then stays."""
    _draw(folder)
    sizes = {path: path.stat().st_size for path in folder.glob("*-cache")}
    part.check(bool(sizes), "nothing was kept of what was compiled")
    for path, size in sizes.items():
        os.truncate(path, size // 2)
    for when in ("first", "second"):
        said = _draw(folder)
        part.check(
            "Error reading" not in said, f"the {when} process after damage said {said[:300]}"
        )
    short = [p.name for p, size in sizes.items() if p.stat().st_size < 0.9 * size]
    part.check(not short, f"{len(short)} of {len(sizes)} damaged entries were left")


def _draw(cache: Path) -> str:
    environment = {**os.environ, "THOMAX_CACHE": str(cache)}
    command = [sys.executable, "-c", _DRAW]
    return subprocess.run(command, env=environment, capture_output=True, text=True).stderr

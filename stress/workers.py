"""Processes that search until they are killed, forked from a server that has imported thomax.

A worker writes a receipt after each call that returned: what must be in the journal is what the
receipts say. The first points of a search are quasi-random; a design that never ends makes
workers that need no JAX.
"""

import contextlib
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scipy.stats import qmc

import thomax as tx
from thomax.optimizer import Optimizer
from thomax.storage.locks import waiting

Facts = list[tuple[bool, str]]  # what a process found, for `Part.check`

_ENDLESS = 10**6
_PATIENCE = 60  # seconds
_write = os.write  # the system's own, whatever a worker does to it later
_LONG = "".join(chr(0x4E00 + i) for i in range(2000))  # 12 kB in a line: killed in its midst
SPACE = {
    "x": tx.Float(-1, 1),
    "rate": tx.Float(1e-6, 1, log=True),
    "k": tx.Int(0, 1000),
    "text": tx.Categorical(['é\u2028\n"\\', "短い", _LONG]),
}

# SciPy reads a table for its first sequence, and a Ctrl-C in these 10 ms goes lost in its C code.
# Here the server reads it, for all workers.
qmc.Sobol(1)
server = multiprocessing.get_context("forkserver")
server.set_forkserver_preload(["stress.workers"])


def also_import(*modules: str) -> None:
    """Import more in the server, if it has not begun."""
    server.set_forkserver_preload(["stress.workers", *modules])


def start(function: Callable[..., Any], *arguments: Any) -> Any:
    """Start a process that calls the function."""
    process = server.Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


def answer_of(function: Callable[..., Any], *arguments: Any, seconds: float = 60) -> Any:
    """Call the function in a process of its own, which may harm itself; return its JSON answer."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        Path(folder).chmod(0o777)  # the process may become another user
        process = start(_answer, answer, function, arguments)
        process.join(seconds)
        process.kill()
        process.join()
        if not answer.exists():
            raise RuntimeError(f"{function.__name__}{arguments} ended by {process.exitcode}")
        return json.loads(answer.read_text())


def _answer(answer: Path, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    answer.write_text(json.dumps(function(*arguments)))


# Opening


def opened(journal: Path, **options: Any) -> Optimizer:
    """Open a journal that other processes use too: wait until it is free."""
    arguments = {"space": SPACE, "policy": tx.Random(), "initial": _ENDLESS, "seed": 0, **options}
    with warnings.catch_warnings(), waiting(_PATIENCE):
        warnings.simplefilter("ignore")  # of half-written lines, which are expected
        return Optimizer(**arguments, journal=journal)


# Receipts


class Receipts:
    """What a worker saw returning, in a file that outlives it."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def add(self, **receipt: Any) -> None:
        """Write a receipt; one call of the system, so that it is there or not."""
        _write(self._fd, json.dumps(receipt).encode() + b"\n")


def receipts_in(folder: Path, names: str = "*.receipts") -> Iterator[dict[str, Any]]:
    """Yield what all workers of a folder saw returning."""
    for path in sorted(folder.glob(names)):
        for line in path.read_bytes().split(b"\n")[:-1]:
            yield json.loads(line)


def receipt_count(path: Path) -> int:
    """Return how many calls of a worker have returned."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def grows(path: Path, count: int, seconds: float) -> bool:
    """Wait until a worker has more receipts than that, and tell whether it came to it."""
    end = time.monotonic() + seconds
    while receipt_count(path) <= count:
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


# Searching


def search(journal: Path, receipts: Path, seed: int, options: dict[str, Any]) -> None:
    """Ask, tell, add and enqueue without end; Ctrl-C ends it as it ends a program."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may have switched it off
    with _dying_of_ctrl_c():
        rng, log = random.Random(seed), Receipts(receipts)
        while True:
            with opened(journal, **options) as optimizer:
                for _ in range(rng.randint(1, 4)):
                    _step(optimizer, log, rng)


def search_and_die(journal: Path, receipts: Path, seed: int, options: dict[str, Any]) -> None:
    """Search, and be killed inside a call of the system that writes."""
    _kill_inside_a_write(random.Random(seed))
    search(journal, receipts, seed, options)


@contextlib.contextmanager
def _dying_of_ctrl_c() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _step(optimizer: Optimizer, log: Receipts, rng: random.Random) -> None:
    value = rng.choice([rng.gauss(0, 1), rng.gauss(0, 1) * 10.0 ** rng.randint(-300, 300)])
    kind = rng.choice(["ask", "ask", "fail", "tell", "add", "enqueue", "correct"])
    if kind == "tell" and optimizer.pending:
        trial = rng.choice(optimizer.pending)  # often one of a worker that is no more
    elif kind == "correct" and (told := [t for t in optimizer.trials if t.value is not None]):
        _change(optimizer, log, rng, rng.choice(told).number, value)
        return
    elif kind == "enqueue":
        x = rng.uniform(-1, 1)
        optimizer.enqueue({"x": x, "rate": 0.5, "k": 7, "text": "短い"})
        log.add(enqueued=x)
        return
    elif kind == "add":
        params = {"x": rng.uniform(-1, 1), "rate": 1e-3, "k": 1, "text": _LONG}
        added = optimizer.tell(params, measured(optimizer, value))
        log.add(asked=added.number, x=added.params["x"])
        log.add(told=added.number, value=value)
        return
    else:
        trial = optimizer.ask()
        log.add(asked=trial.number, x=trial.params["x"])
    optimizer.tell(trial, None if kind == "fail" else measured(optimizer, value))
    log.add(told=trial.number, value=None if kind == "fail" else value)


def measured(optimizer: Optimizer, value: float) -> Any:
    """Return what to tell: where there is a limit, values that belong together."""
    names = optimizer.metrics.names
    return value if len(names) == 1 else {names[0]: value, names[1]: [value / 2, None]}


def _change(
    optimizer: Optimizer, log: Receipts, rng: random.Random, number: int, value: float
) -> None:
    """Correct a trial, some of them again and again, or retract it."""
    if rng.random() < 0.3:
        optimizer.retract(number, why="leak")
        log.add(told=number, value=None, state="retracted")
    else:
        optimizer.correct(number, measured(optimizer, value), why="wrong dilution")
        log.add(told=number, value=value)


def _kill_inside_a_write(rng: random.Random) -> None:
    """Make this process die within one of its next writes, or before or after an fsync."""
    fsync = os.fsync
    moment = rng.choice(["write", "write", "before fsync", "after fsync"])
    left = iter(range(rng.randint(0, 10)))

    def die_at(this: str) -> bool:
        return this == moment and next(left, None) is None

    def last_write(fd: int, data: bytes) -> int:
        if not die_at("write"):
            return _write(fd, data)
        _write(fd, data[: rng.choice([0, 1, len(data) - 1, *rng.choices(range(len(data)), k=6)])])
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def last_fsync(fd: int) -> None:
        if die_at("before fsync"):
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(fd)
        if die_at("after fsync"):
            os.kill(os.getpid(), signal.SIGKILL)

    os.write, os.fsync = last_write, last_fsync

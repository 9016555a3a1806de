"""Ctrl-C at any instruction of a search that then goes on, as it does in a notebook."""

import contextlib
import io
import itertools
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from stress.part import Part
from stress.workers import opened
from thomax import optimizer, proposals
from thomax.running import loop, workers
from thomax.storage import journal, observations
from thomax.storage import replay as history

_FILES = {module.__file__ for module in (optimizer, proposals, journal, history, observations)}
LOOP = {module.__file__ for module in (loop, workers)}
_POINT = {"x": 0.5, "rate": 0.5, "k": 7, "text": "短い"}
_CALLS: dict[str, Callable[[optimizer.Optimizer], Any]] = {
    "enqueue": lambda o: o.enqueue(_POINT),
    "ask": lambda o: o.ask(),
    "ask(3)": lambda o: o.ask(3),
    "tell": lambda o: o.tell(o.pending[0], 1.0),
    "tell of params": lambda o: o.tell({**_POINT, "x": 0.25}, 2.0),
    "drop": lambda o: o.drop(o.pending[0]),
    "correct": lambda o: o.correct(0, 4.0, why="wrong dilution"),
    "retract": lambda o: o.retract(0),
}
_MOST = 1500  # instructions of the longest call, and some


def interrupt_calls(part: Part, folder: Path, once: int, twice: int) -> None:
    """Interrupt each kind of call at random instructions; memory and file must agree."""
    rng, paths = random.Random(0), _paths_in(folder)
    interrupted = 0
    with patch.object(os, "fsync", lambda fd: None):  # this is not about power cuts
        for name, call in _CALLS.items():
            for _ in range(once):
                instruction = rng.randrange(_MOST if "3" in name else _MOST // 3)
                where = f"{name} interrupted at instruction {instruction}"
                interrupted += _interrupt(part, next(paths), call, instruction, where)
        for name, call in _CALLS.items():
            for _ in range(twice):
                first, second = rng.randrange(_MOST // 3), rng.randrange(_MOST // 3)
                where = f"{name} interrupted at instruction {first}, the next call at {second}"
                interrupted += _interrupt(part, next(paths), call, first, where, second)
    part.figures["calls interrupted"] = interrupted


def _paths_in(folder: Path) -> Iterator[Path]:
    return (folder / f"{i}.jsonl" for i in itertools.count())


def _interrupt(
    part: Part,
    path: Path,
    call: Callable[[Any], Any],
    instruction: int,
    where: str,
    second: int | None = None,
) -> bool:
    with opened(path) as search:
        for _ in range(3):
            search.enqueue(_POINT)
        search.tell(search.ask(), 0.0)
        search.ask(4)
        interrupted = interrupted_at(instruction, lambda: call(search), _FILES)
        if second is not None:  # perhaps while what the first has left is being put right
            interrupted_at(second, lambda: search.ask(), _FILES)
        search.tell(search.ask(), 3.0)
        went_on = _state(search)
    with opened(path) as search:
        reopened = _state(search)
    records = journal.Journal.read(path).records
    part.check(went_on == reopened, f"file and memory differ after {where}")
    numbers = Counter(r.get("ask", r.get("add", "none")) for r in records)
    del numbers["none"]
    part.check(max(numbers.values()) == 1, f"a number was given twice after {where}")
    return interrupted


def _state(search: optimizer.Optimizer) -> tuple[Any, Any]:
    return search.trials, [*search._history.queue]


def interrupt_runs(part: Part, folder: Path, times: int) -> None:
    """Interrupt `run` at random instructions; what the objective returned must not be lost."""
    rng, paths = random.Random(1), _paths_in(folder)
    interrupted = 0
    with patch.object(os, "fsync", lambda fd: None):
        for batch in (1, 2):
            for _ in range(times):
                interrupted += _interrupt_run(part, next(paths), batch, rng.randrange(6000))
    part.figures["runs interrupted"] = interrupted


def _interrupt_run(part: Part, path: Path, batch: int, instruction: int) -> bool:
    returned: list[float] = []
    values = iter(range(100))

    def objective(params: dict[str, Any]) -> float:
        returned.append(float(next(values)))
        return returned[-1]

    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), opened(path) as search:
        interrupted = interrupted_at(
            instruction,
            lambda: search.run(objective, 4, batch=batch, progress=False),
            LOOP | _FILES,
        )
    with opened(path) as search:
        recorded = [t.value for t in search.trials]
    lost = [v for v in returned if v not in recorded and f"value {v}" not in shown.getvalue()]
    where = f"batch {batch} interrupted at instruction {instruction}"
    part.check(not lost, f"{lost} of {returned} were lost in a run of {where}")
    return interrupted


def interrupted_at(instruction: int, call: Callable[[], Any], files: set[str | None]) -> bool:
    """Raise KeyboardInterrupt at this instruction of the code in files; tell if it came to it."""
    before = sys.gettrace()
    left = iter(range(instruction))
    hit: list[FrameType] = []

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and next(left, None) is None:
            hit.append(frame)
            sys.settrace(before)
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            call()
    finally:
        sys.settrace(before)
    return bool(hit)

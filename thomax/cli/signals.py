"""Signals that stop a run."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

Handler = Callable[[int, FrameType | None], object] | signal.Handlers

_STOPPING: list[signal.Signals] = [
    getattr(signal, n) for n in ("SIGTERM", "SIGHUP") if hasattr(signal, n)
]


@contextmanager
def stopped_like_by_ctrl_c() -> Iterator[None]:
    """Let a request to end, and a closed terminal, do what Ctrl-C does."""
    unwanted = (signal.SIG_IGN, None)  # nohup, or somebody else's handler
    with _handled([s for s in _STOPPING if signal.getsignal(s) not in unwanted], _interrupt):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Finish what has to be finished, however often somebody presses Ctrl-C."""
    with _handled([signal.SIGINT, *_STOPPING], signal.SIG_IGN):
        yield


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def _handled(numbers: list[signal.Signals], handler: Handler) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # Python allows it only there
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)

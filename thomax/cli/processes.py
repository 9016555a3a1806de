"""Programs in process groups of their own, so that ending one ends all that it has started."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO

KEPT = 512 * 1024  # bytes of the beginning, and of the end, of each output
_GRACE = 2.0  # seconds between asking a program to end and ending it
_DRAIN = 1.0  # seconds to wait for output that nobody needs
_POLL = 0.1  # seconds after which somebody who waits notices that the run was stopped


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Args:
        code: The exit code; None if the program's time was up.
        output: The end of what it printed.
        errors: The end of what it wrote to its error output.
        is_whole: Whether the output has ended too; something that the program started may hold it
            open.
    """

    code: int | None
    output: str
    errors: str
    is_whole: bool = True


class Processes:
    """Run programs, from many threads if need be, until told to stop.

    Args:
        patience: Seconds to wait for the end of the output of a program that has ended and has
            no time limit.
    """

    def __init__(self, patience: float = 30.0) -> None:
        self.patience = patience
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        logs: tuple[Path, Path],
        timeout: float | None,
        needs_output: Callable[[], bool] = lambda: True,
    ) -> Ended:
        """Run a program to its end, or to the end of its time; keep its output in two files.

        A program may end before its output does, which a filter of its own still writes.

        Args:
            command: The program and its arguments.
            environment: All variables that it finds.
            logs: The files for its output and its errors.
            timeout: Seconds for the program and its output.
            needs_output: Whether the end of the output is to be waited for, asked when a
                program has ended well.
        """
        begin = time.monotonic()
        with contextlib.ExitStack() as files:
            targets = [files.enter_context(path.open("wb")) for path in logs]
            process = self._start(command, environment)
            captures = [_Capture(s, t) for s, t in zip(_streams(process), targets, strict=True)]
            is_whole = True
            try:
                code = process.wait(timeout)
                if code == 0 and needs_output():
                    left = self.patience if timeout is None else begin + timeout - time.monotonic()
                    is_whole = self._is_read(captures[0], max(left, _DRAIN))
                    if not is_whole and timeout is not None:
                        end_groups([process])
            except subprocess.TimeoutExpired:
                code = None
                end_groups([process])
            finally:
                self._running.discard(process)
            output, errors = (capture.finish() for capture in captures)
        if code in (-signal.SIGTERM, -signal.SIGINT):
            time.sleep(0.2)  # whoever ended the program may be about to end us: that comes first
        return Ended(code, output, errors, is_whole)

    def stop(self) -> None:
        """End what runs, and start nothing any more."""
        with self._lock:
            self._stopped = True
        end_groups([*self._running])

    def _is_read(self, capture: "_Capture", seconds: float) -> bool:
        """Wait for the end of an output; one that ends because we ended the writer is cut off."""
        end = time.monotonic() + seconds
        while capture.is_open:
            left = end - time.monotonic()
            if left <= 0 or self._stopped:
                return False
            capture.wait(min(left, _POLL))
        return not self._stopped

    def _start(
        self, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise RuntimeError("The run was stopped.")
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(process)
        return process


def end_groups(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """Ask programs to end, and after a while end them with everything in their groups.

    Args:
        processes: The programs, each the first process of its group.
    """
    chosen = [*processes]
    for process in chosen:
        _signal_group(process, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    for process in chosen:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
    for process in chosen:
        _signal_group(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)  # the first process of a session has the group's id
        else:
            process.terminate()


def _streams(process: subprocess.Popen[bytes]) -> tuple[BufferedReader, BufferedReader]:
    assert isinstance(process.stdout, BufferedReader)  # both are pipes
    assert isinstance(process.stderr, BufferedReader)
    return process.stdout, process.stderr


class _Capture:
    """Copy a stream into a file as it comes; of a long one only the beginning and the end."""

    def __init__(self, stream: BufferedReader, target: IO[bytes]) -> None:
        self._stream, self._target = stream, target
        self._total, self._end = 0, bytearray()
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        with self._stream:
            while chunk := self._stream.read1(65536):
                self._write(chunk[: max(0, KEPT - self._total)])
                self._total += len(chunk)
                self._end += chunk
                del self._end[:-KEPT]

    @property
    def is_open(self) -> bool:
        """Whether there may be more to come."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait for the end of the stream, for so long at most."""
        self._thread.join(seconds)

    def finish(self) -> str:
        """Return the end of what was written, and complete the file."""
        self.wait(_DRAIN)
        end, beyond = bytes(self._end), self._total - KEPT
        if beyond > KEPT:
            self._write(b"\n[... %d bytes left out ...]\n" % (beyond - KEPT))
        if beyond > 0:
            self._write(end[-beyond:])
        return end.decode(errors="replace")

    def _write(self, data: bytes) -> None:
        # A full disk must not leave the program waiting for somebody to read its output; and
        # output of what outlives the program comes after the file was closed.
        with contextlib.suppress(OSError, ValueError):
            self._target.write(data)
            self._target.flush()

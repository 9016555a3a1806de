"""One evaluation: the program runs with a trial's params, and leaves a value or a reason."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

from thomax.cli.processes import Ended, Processes
from thomax.cli.program import Program
from thomax.cli.values import ValueRule
from thomax.storage.outcomes import Failure, Value
from thomax.storage.trial import Trial
from thomax.support.types import Params

Stamp = tuple[int, int, int] | None  # what changes when a file is written

_LONGEST_ERROR = 1000  # characters that a journal keeps of an error


@dataclass(frozen=True)
class Evaluation:
    """Evaluate trials by running a program.

    Args:
        program: The program and how params reach it.
        rule: Where the program leaves its value.
        logs: The folder that keeps what programs print.
        timeout: Seconds after which a program is ended.
        processes: Where programs run.
    """

    program: Program
    rule: ValueRule
    logs: Path
    timeout: float | None = None
    processes: Processes = field(default_factory=Processes)

    def __call__(self, trial: Trial) -> Value:
        """Return what a trial came to, or raise Failure with the end of the error output."""
        number, params = trial.number, trial.params
        self.logs.mkdir(parents=True, exist_ok=True)
        own = (self.logs / f"{number}.json").resolve()  # the program may change its folder
        path = self.rule.path(number, own)
        before = _stamp(path)
        ended = self.processes.run(
            self.program.command(params, number),
            self._environment(params, number, own),
            (self.logs / f"{number}.out", self.logs / f"{number}.err"),
            self.timeout,
            needs_output=lambda: self._is_printed(path, before),
        )
        try:
            self._require_success(ended)
            return self._value(ended, path, before)
        except Failure as failure:
            raise Failure(_with_end(str(failure), ended.errors.strip())) from None

    def _environment(self, params: Params, number: int, own: Path) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if k not in self.program.variables}
        ours = self.program.environment(params, number)
        return {**inherited, **ours, "THOMAX_OUTPUT_FILE": str(own)}

    def _require_success(self, ended: Ended) -> None:
        if ended.code is None:
            raise Failure(f"time-out: the program took longer than {self.timeout:g} s")
        if ended.code < 0:
            raise Failure(f"the program was ended by {_signal_name(-ended.code)}")
        if ended.code > 0:
            raise Failure(f"the program ended with exit code {ended.code}")

    def _is_printed(self, path: Path, before: Stamp) -> bool:
        """Return whether the value is in the output: a file from earlier is not of this trial."""
        return self.rule.file is None and _stamp(path) in (None, before)

    def _value(self, ended: Ended, path: Path, before: Stamp) -> Value:
        if _stamp(path) not in (None, before):
            try:
                text = path.read_text("utf-8")
            except (OSError, ValueError) as error:
                raise Failure(f"{path} could not be read ({error})") from None
            return self.rule.in_file(text, path)
        if self.rule.file is not None:
            raise Failure(f"{path} needs to be written by the program, but was not")
        if not ended.is_whole:
            limit = self.processes.patience if self.timeout is None else self.timeout
            way_on = "redirect its output, or set a longer timeout"
            raise Failure(
                "the output needs to end with the program, but something that the program started "
                f"still held it open after {limit:g} s, so that its last line is not known: wait "
                f"for it in the program, {way_on}"
            )
        return self.rule.in_output(ended.output)


def _stamp(path: Path) -> Stamp:
    """Return what changes when a file is written, or None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _with_end(reason: str, errors: str) -> str:
    room = _LONGEST_ERROR - len(reason) - 1
    return f"{reason}\n{errors[-room:]}" if errors and room > 0 else reason


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

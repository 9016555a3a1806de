"""When a run is given up: its first trials have all failed, as they do after a typo.

Failures teach where not to go, and a finite space does not propose their points again. Those of a
mistake in the objective must do neither for ever:

    the search has no value yet   failures are held back till there is one, or the run ends; if it
                                  is given up their trials stay pending, to be evaluated first
    it has worked before          failures are recorded as they come, as without the interruption;
                                  if the run is given up their points are enqueued, once
"""

import os
import traceback
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import NamedTuple

from thomax.storage.metrics import PLAIN, Metrics
from thomax.storage.outcomes import Value, told
from thomax.storage.trial import Trial

_LONGEST = 300  # characters of an error that is shown
_MOST_REASONS = 3
# Whose lines say nothing about the objective, as tracebacks have them.
_OTHERS = tuple(
    f"{folder}{os.sep}" for folder in (Path(__file__).parents[1], Path(futures.__file__).parent)
)


class GivenUpError(RuntimeError):
    """The first trials of a run have all failed."""

    last = ""  # why the last of them did


class Ended(NamedTuple):
    """What came of the evaluation of a trial.

    Args:
        trial: The trial.
        value: What the objective returned.
        error: What it raised, if it did.
    """

    trial: Trial
    value: Value
    error: Exception | None


class FirstFailures:
    """Show the first failure at once; a run that begins with nothing else is given up.

    Args:
        limit: How many first trials may fail before the run is given up; 0 for any number.
        show: Gets what a person should know at once.
        has_worked: Whether the search has a complete trial already.
        metrics: What the objective measures.
    """

    def __init__(
        self,
        limit: int,
        show: Callable[[str], None],
        *,
        has_worked: bool,
        metrics: Metrics = PLAIN,
    ) -> None:
        self.metrics = metrics
        self.is_holding = limit > 0 and not has_worked
        self._limit, self._show, self._has_worked = limit, show, has_worked
        self._held: list[Ended] = []
        self._failed: list[tuple[Ended, str]] = []  # as many as count, or one to be shown
        self._is_any_complete = False

    def recordable(self, ended: Ended) -> list[Ended]:
        """Take note of an outcome, and return those that are to be recorded now.

        Args:
            ended: What came of a trial.
        """
        why = failure_of(ended.value, ended.error, self.metrics)
        self._held.append(ended)
        if why is None:
            self._is_any_complete = True
        else:
            if not self._failed:
                number, shown = ended.trial.number, _in_a_line(why, ended.error)
                self._show(f"thomax: trial {number} failed: {shown}")
            if len(self._failed) < max(self._limit, 1):
                self._failed.append((ended, why))
        return [] if self.is_holding and why is not None else self.release()

    def release(self) -> list[Ended]:
        """Return what was held back, and hold back no more."""
        self.is_holding = False
        released, self._held = self._held, []
        return released

    def require_fewer(self, enqueue: Callable[[Trial], None]) -> None:
        """Raise, if the first trials of the run have all failed.

        Args:
            enqueue: Makes the point of a trial be proposed again.
        """
        if self._is_any_complete or not 0 < self._limit <= len(self._failed):
            return
        self.is_holding = True  # what still runs is of no more use
        if self._has_worked:
            for ended, _ in self._failed:
                enqueue(ended.trial)
        given_up = GivenUpError(self._sentence())
        last, given_up.last = self._failed[-1]
        raise given_up from last.error

    def _sentence(self) -> str:
        numbers: dict[str, list[str]] = {}
        for ended, why in self._failed:
            shown = _in_a_line(why, ended.error)
            numbers.setdefault(shown, []).append(str(ended.trial.number))
        reasons = [
            f"trial{'s' if len(n) > 1 else ''} {', '.join(n)} with {shown}"
            for shown, n in numbers.items()
        ]
        if len(reasons) > _MOST_REASONS:
            reasons = [*reasons[: _MOST_REASONS - 1], "...", reasons[-1]]
        what = (
            "They are recorded as failed, and their points are enqueued"
            if self._has_worked
            else "They are pending"
        )
        return (
            f"The first {len(self._failed)} trials of this run have all failed: "
            f"{'; '.join(reasons)}. {what}: mend the objective and run again, which evaluates "
            "them first. If it is right, set give_up=0 to go on whatever fails."
        )


def failure_of(value: Value, error: Exception | None, metrics: Metrics = PLAIN) -> str | None:
    """Return why an evaluation failed, or None; what is no number is a failure.

    Args:
        value: What the objective returned.
        error: What it raised, if it did.
        metrics: What the objective measures.
    """
    try:
        found = told(value, error, metrics=metrics)
    except ValueError as refused:
        found = told(None, refused, metrics=metrics)
    failure = found["error"]
    assert isinstance(failure, str | None)
    return failure


def _in_a_line(why: str, error: Exception | None) -> str:
    """Return in a line why a trial failed, and where the objective raised, if that is known."""
    text = " ".join(why.split())[:_LONGEST]
    text = text if text.isprintable() else repr(text)[1:-1]  # it may hold a terminal's commands
    frames = traceback.extract_tb(None if error is None else error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_OTHERS)]
    return text + (f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else "")

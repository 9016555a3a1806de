"""What a part of the stress tests found."""

import time
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

_MOST_FAILURES = 20  # of a part that are written down; the rest is only counted


@dataclass
class Part:
    """The record of a part: how many checks held, which did not, and what was measured.

    Example:
        >>> part = Part("kill")
        >>> part.check(2 + 2 == 4, "arithmetic holds")
        >>> part.passed, part.failed
        (1, 0)
    """

    name: str
    passed: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def check(self, holds: bool, sentence: str) -> None:
        """Count a fact that must hold; the sentence says what was expected and what was got."""
        if holds:
            self.passed += 1
            return
        self.failed += 1
        if len(self.failures) < _MOST_FAILURES:
            self.failures.append(sentence)

    def summary(self) -> dict[str, Any]:
        """Return the record as it stands in the results."""
        return {
            "passed": self.passed,
            "failed": self.failed,
            "failures": self.failures,
            "figures": self.figures,
        }


def run(name: str, short: bool) -> Part:
    """Run a part; an exception that it lets through is a failure, not the end of them all."""
    part = Part(name)
    start = time.perf_counter()
    try:
        import_module(f"stress.{name}").run(part, short)
    except Exception as error:
        part.check(False, f"the part {name} was not finished: {type(error).__name__}: {error}")
    part.figures["seconds"] = round(time.perf_counter() - start, 1)
    return part

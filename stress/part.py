"""What a stress test found."""

from dataclasses import dataclass, field
from typing import Any

_MOST_FAILURES = 20  # of a test that are written down; the rest is only counted


@dataclass
class Part:
    """The record of a test: how many checks held, which did not, and what was measured.

    A test makes many checks and goes on after one that fails; the fixture `part` is its record.

    Args:
        passed: How many checks held.
        failed: How many did not.
        failures: A sentence for each that did not, up to twenty.
        figures: What was measured, by name.

    Examples:
        >>> part = Part()
        >>> part.check(2 + 2 == 4, "arithmetic holds")
        >>> part.passed, part.failed
        (1, 0)
    """

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

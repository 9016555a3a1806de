"""Where a program leaves its value: the last line of its output, or a file of JSON."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from thomax.cli.numbers import number_in
from thomax.cli.program import NUMBER
from thomax.storage.outcomes import Failure
from thomax.support.types import Json


@dataclass(frozen=True)
class ValueRule:
    """Read values as `[FILE][:KEY]` says.

    Args:
        file: The file that the program writes its value to, in which {trial} is the trial's
            number. Without it: what the program wrote to $THOMAX_OUTPUT_FILE, else the last line
            it printed.
        key: The key of the value in a JSON object.

    Examples:
        >>> ValueRule.parse("metrics-{trial}.json:test.accuracy")
        ValueRule(file='metrics-{trial}.json', key='test.accuracy')
        >>> ValueRule().number('{"loss": 2, "value": 0.5}', "the last line")
        0.5
    """

    file: str | None = None
    key: str = "value"

    @classmethod
    def parse(cls, text: str) -> "ValueRule":
        """Read a rule; a colon before a path separator belongs to the path.

        Args:
            text: What was written: [FILE][:KEY].
        """
        file, colon, key = text.rpartition(":")
        if not colon or "/" in key or "\\" in key:
            return cls(text)
        if not key:
            raise ValueError(f"A value needs a key after the colon, got {text!r}.")
        return cls(file or None, key)

    def path(self, number: int, own: Path) -> Path:
        """Return the file that a trial's value may be in.

        Args:
            number: The number of the trial.
            own: The path in $THOMAX_OUTPUT_FILE.
        """
        return own if self.file is None else Path(self.file.replace(f"{{{NUMBER}}}", str(number)))

    def check_jobs(self, jobs: int) -> None:
        """Refuse to let programs that run side by side write to one file.

        Args:
            jobs: How many programs run side by side.
        """
        if self.file is not None and jobs > 1 and f"{{{NUMBER}}}" not in self.file:
            raise ValueError(
                f"With several jobs each trial needs a file of its own for its value, got "
                f"{self.file!r}: put {{trial}} into the name, also in the program's arguments."
            )

    def number(self, text: str, where: str) -> float:
        """Return the number that a text is, or that a JSON object has under the key.

        Args:
            text: What the program wrote.
            where: How errors name the place of the text.
        """
        try:
            value = _number_or_object(text.strip())
            if isinstance(value, dict):
                value = _item(value, self.key)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError
            number = float(value)
        except (ValueError, KeyError, OverflowError, RecursionError):
            raise Failure(
                f"{where} needs to be a number or a JSON object with a number as {self.key!r}, "
                f"got {text[:200]!r}"
            ) from None
        if not math.isfinite(number):
            raise Failure(f"the value was {number}")
        return number


def last_line(output: str) -> str:
    """Return the last line that is not empty.

    Args:
        output: What a program printed.
    """
    # Not splitlines: JSON may hold its other ends of lines, such as U+2028.
    lines = re.split(r"[\r\n]", output)
    return next((line for line in reversed(lines) if line.strip()), "")


def _number_or_object(text: str) -> Json:
    number = number_in(text)
    return json.loads(text) if number is None else number


def _item(found: dict[str, Json], key: str) -> Json:
    """Look a key up; test.accuracy may be the accuracy of the object test."""
    if key in found:
        return found[key]
    first, dot, rest = key.partition(".")
    inner = found[first] if dot else None
    if not isinstance(inner, dict):
        raise KeyError(key)
    return _item(inner, rest)

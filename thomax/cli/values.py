"""Where a program leaves its value: the last line of its output, or a file of JSON.

Several metrics are a JSON object in the same places, or lines such as yield=0.81. What is known
of the noise stands beside the values: `noise_std`, or noise_std_yield for one of several.
"""

import difflib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thomax.cli.numbers import number_in, repeated
from thomax.cli.program import NUMBER
from thomax.storage.metrics import PLAIN, Metrics
from thomax.storage.outcomes import Failure, Measured, Result, Value
from thomax.support.spelling import nearest
from thomax.support.types import Json

_DEFAULT_KEY, _NOISE_STD = "value", "noise_std"
_ALIKE = 0.75  # of 1: another name is a slip, where that of a metric is missing


@dataclass(frozen=True)
class ValueRule:
    """Read values as `[FILE][:KEY]` says.

    Args:
        file: The file that the program writes its value to, in which {trial} is the trial's
            number. Without it: what the program wrote to $THOMAX_OUTPUT_FILE, else the last line
            it printed.
        key: The key of the value in a JSON object; of several metrics that of the object that has
            them, unless they are on top.
        metrics: What the search measures.

    Examples:
        >>> ValueRule.parse("metrics-{trial}.json:test.accuracy").key
        'test.accuracy'
        >>> ValueRule().one('{"loss": 2, "value": 0.5}', "the last line")
        0.5
        >>> ValueRule().one('{"value": 0.5, "noise_std": 0.1}', "the last line")
        Result(value=0.5, noise_std=0.1, note=None)
    """

    file: str | None = None
    key: str = _DEFAULT_KEY
    metrics: Metrics = PLAIN

    @classmethod
    def parse(cls, text: str, metrics: Metrics = PLAIN) -> "ValueRule":
        """Read a rule; a colon before a path separator belongs to the path.

        Args:
            text: What was written: [FILE][:KEY].
            metrics: What the search measures.
        """
        file, colon, key = text.rpartition(":")
        if not colon or "/" in key or "\\" in key:
            return cls(text, metrics=metrics)
        if not key:
            raise ValueError(f"A value needs a key after the colon, got {text!r}.")
        return cls(file or None, key, metrics)

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

    def in_file(self, text: str, path: Path) -> Value:
        """Return what was measured, as it stands in a file.

        Args:
            text: All of the file.
            path: The file, for errors.
        """
        if self.metrics.is_plain:
            return self.one(text, str(path))
        return self._values(text, text, str(path))

    def in_output(self, output: str) -> Value:
        """Return what was measured, as a program has printed it.

        Args:
            output: What it printed.
        """
        last = last_line(output)
        if self.metrics.is_plain:
            return self.one(last, "the last line of the output")
        return self._values(last, output, "the output")

    def _values(self, text: str, lines: str, where: str) -> Value:
        """Return values by name, of a JSON object or else of lines."""
        found = self._object(text)
        if found is None:
            found = dict(_pairs(lines))
            if not found and len(names := self.metrics.names) == 1:
                found = {names[0]: text.strip()}
        known = {n: v for n in self.metrics.names if (v := _looked_up(found, n)) is not None}
        missing = [n for n in self.metrics.names if n not in known]
        for other in found:
            close = difflib.get_close_matches(other.lower(), map(str.lower, missing), 1, _ALIKE)
            if close and other not in self.metrics.names:
                hint = nearest(other, missing)
                raise Failure(f"{where} has a value of {other!r}, which is no metric: {hint}")
        if not known:
            wanted = " or ".join(map(repr, self.metrics.names))
            raise Failure(
                f"{where} needs values of {wanted}, in a JSON object or in lines such as "
                f"{self.metrics.names[0]}=0.5, got {text[-200:]!r}"
            )
        values = {name: _measured(where, name, value) for name, value in known.items()}
        stds = self._stds(found, where)
        return Result(values, stds) if stds else values

    def _stds(self, found: dict[str, Json], where: str) -> dict[str, float]:
        """Return what is known of the noise: as `noise_std_yield`, or an object `noise_std`."""
        names = self.metrics.names
        given = found.get(_NOISE_STD)
        if given is not None and not isinstance(given, dict):
            if len(names) > 1:
                raise Failure(
                    f"{where} needs the noise_std of each metric by its name, got "
                    f"{_NOISE_STD}={given!r}: call it {_NOISE_STD}_{names[0]}"
                )
            given = {names[0]: given}
        given = given or {}
        if unknown := [name for name in given if name not in names]:
            hint = nearest(unknown[0], names)
            raise Failure(f"{where} has a noise_std of {unknown[0]!r}, which is no metric: {hint}")
        apart = {name: found.get(f"{_NOISE_STD}_{name}") for name in names}
        known = {n: v for n, v in {**apart, **given}.items() if v is not None}
        return {name: _std(where, value) for name, value in known.items()}

    def _object(self, text: str) -> dict[str, Json] | None:
        try:
            found = json.loads(text)
            if self.key != _DEFAULT_KEY and isinstance(found, dict):
                found = _item(found, self.key)
        except (ValueError, KeyError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def one(self, text: str, where: str) -> Value:
        """Return what a text is, or what a JSON object has under the key: a number or a list.

        Args:
            text: What the program wrote.
            where: How errors name the place of the text.
        """
        std: Json = None
        try:
            value = _number_or_object(text.strip())
            if isinstance(value, dict):
                folder, dot, _ = self.key.rpartition(".")
                std = _looked_up(value, f"{folder}{dot}{_NOISE_STD}")
                value = _item(value, self.key)
            several = [_finite(each) for each in value] if isinstance(value, list) else []
            found: Measured = several or _finite(value)
        except (ValueError, KeyError, OverflowError, RecursionError):
            raise Failure(
                f"{where} needs to be a number or a JSON object with a number as {self.key!r}, "
                f"got {text[:200]!r}"
            ) from None
        return found if std is None else Result(found, _std(where, std))


def last_line(output: str) -> str:
    """Return the last line that is not empty.

    Args:
        output: What a program printed.
    """
    # Not splitlines: JSON may hold its other ends of lines, such as U+2028.
    lines = re.split(r"[\r\n]", output)
    return next((line for line in reversed(lines) if line.strip()), "")


def _pairs(text: str) -> Iterator[tuple[str, Json]]:
    """Yield names and texts of lines such as yield=0.81, or yield=0.81 cost=3.2."""
    for line in re.split(r"[\r\n]", text):
        words = line.split()
        is_list = len(words) > 1 and all("=" in word.strip("=") for word in words)
        for part in words if is_list else [line]:
            name, is_pair, value = part.partition("=")
            if is_pair and name.strip():
                yield name.strip(), value.strip()


def _looked_up(found: dict[str, Json], name: str) -> Json:
    try:
        return _item(found, name)
    except KeyError:
        return None


def _measured(where: str, name: str, value: Json) -> Measured:
    """Return a number, or the list of repeated measurements; NaN is a missing value."""
    parts = repeated(value) if isinstance(value, str) else value
    several = [_number_of(each) for each in parts] if isinstance(parts, list) else []
    found = [number for number in several or [_number_of(value)] if number is not None]
    if len(found) < max(len(several), 1):
        raise Failure(f"{where} needs a number as {name!r}, got {str(value)[:200]!r}")
    return found if several else found[0]


def _finite(value: Json) -> float:
    """Return a number; one that is not finite is a failure."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    if not math.isfinite(number := float(value)):
        raise Failure(f"the value was {number}")
    return number


def _std(where: str, value: Json) -> float:
    std = _number_of(value)
    if std is None or not 0 <= std < math.inf:
        raise Failure(f"{where} needs a number >= 0 as {_NOISE_STD}, got {value!r}")
    return std


def _number_of(value: Json) -> float | None:
    if isinstance(value, str):
        return number_in(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


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

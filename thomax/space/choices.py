"""The options of Categorical and Ordinal: plain values, or objects by label."""

import math
import reprlib
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from thomax.space.values import Scalar, are_equal, copied, identity, python_scalar

PLAIN = (str, int, float, bool, type(None))  # and none of their subclasses


class Labelled(dict[str, object]):
    """Objects by label: what a parameter chooses among when it was given a dict."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labelled) or [*self] != [*other]:
            return False
        return all(are_equal(self[label], other[label]) for label in self)

    def __hash__(self) -> int:  # type: ignore[override]  # nobody changes it
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = [f"{label!r}: {reprlib.repr(value)}" for label, value in [*self.items()][:8]]
        more = [f"... {len(self)} in all"] if len(self) > 8 else []
        return f"{{{', '.join([*shown, *more])}}}"


Options: TypeAlias = tuple[Scalar, ...] | Labelled


def checked_options(kind: str, word: str, given: object) -> Options:
    """Return the options of a parameter, or raise with what is wrong with them.

    Args:
        kind: The name of the parameter's type.
        word: What an option is called, in the singular.
        given: What the user gave.
    """
    unordered = isinstance(given, str | bytes | set | frozenset)
    if unordered or not isinstance(given, Iterable):
        raise ValueError(f"{kind} needs a list of {word}s, got {given!r}.")
    options: Options
    if isinstance(given, Mapping):
        options = _checked_labels(kind, given)
    else:
        options = _checked_scalars(kind, word, given)
    if not options:
        raise ValueError(f"{kind} needs at least one {word}, got none.")
    return options


def _checked_scalars(kind: str, word: str, given: Iterable[object]) -> tuple[Scalar, ...]:
    options: dict[tuple[bool, object], Scalar] = {}
    for option in map(python_scalar, given):
        if not isinstance(option, Scalar) or type(option) not in PLAIN:
            raise ValueError(
                f"{kind} needs str, int, float, bool or None, got {option!r}: give other objects "
                f'labels, as in {kind}({{"a label": {reprlib.repr(option)}, ...}}).'
            )
        if isinstance(option, float) and not math.isfinite(option):
            raise ValueError(f"{kind} needs finite numbers, got {option!r}: use a string for it.")
        if identity(option) in options:
            raise ValueError(f"{kind} needs distinct {word}s, got {option!r} twice.")
        options[identity(option)] = option
    return tuple(options.values())


def _checked_labels(kind: str, given: Mapping[object, object]) -> Labelled:
    labelled = Labelled()
    for label, value in given.items():
        if not isinstance(label, str):
            raise ValueError(
                f"{kind} needs labels that are strings, got {label!r}: write {str(label)!r}."
            )
        if label in labelled:
            raise ValueError(f"{kind} needs distinct labels, got {label!r} twice.")
        twin = next((other for other, known in labelled.items() if are_equal(known, value)), None)
        if twin is not None:
            raise ValueError(
                f"{kind} needs distinct objects, got equal ones for {twin!r} and {label!r}."
            )
        labelled[str(label)] = copied(value)
    for label, value in labelled.items():
        # What is told may be an object or a label: it must be clear which.
        if isinstance(value, str) and value != label and value in labelled:
            raise ValueError(
                f"{kind} needs labels that name one object, got {value!r}, which is the label of "
                f"one and the object of {label!r}: rename a label."
            )
    return labelled

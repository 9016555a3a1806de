"""Numbering: count the points of a finite space from 0 to size - 1, without gaps.

Notation:
    level      a parameter's value as an integer 0, ..., count - 1
    codes      the levels of many points, one array per parameter
    condition  parent → levels: a parameter is active only where each parent has one of these
    group      parameters that conditions link; different groups are independent, like digits
    here       which of the points a part of the numbering is asked about

A group is split by the level of its first parameter, which depends on nothing: given that, the
other parameters fall apart into smaller groups, or are not there at all. Groups that remain the
same are numbered once, so that the work grows with the depth of the conditions and not with the
number of their combinations.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Indices = Sequence[int] | NDArray[np.int64]
Codes = Mapping[str, np.ndarray]
Conditions = Mapping[str, Mapping[str, frozenset[int]]]
_Groups = dict[tuple[object, ...], "_Group"]  # by the conditions of its parameters


class Numbering:
    """The points of a finite space, numbered.

    Args:
        counts: How many levels each parameter has.
        conditions: The levels of other parameters that activate each one, in an order in which
            each parameter follows those it depends on.
        known: Groups that are numbered already, to be shared by the parts of one numbering.

    Examples:
        >>> only_where_on = {"on": {}, "n": {"on": frozenset([1])}}
        >>> numbering = Numbering({"on": 2, "n": 10}, only_where_on)
        >>> numbering.size
        11
        >>> numbering.positions(numbering.codes([0, 7, 10]))
        [0, 7, 10]
    """

    def __init__(
        self, counts: Mapping[str, int], conditions: Conditions, known: _Groups | None = None
    ) -> None:
        known = {} if known is None else known
        self._names = [*conditions]
        self._groups: list[_Group] = []
        for group in _linked(counts, conditions):
            key = tuple((name, *parents.items()) for name, parents in group.items())
            if key not in known:
                known[key] = _Group(counts, group, known)
            self._groups.append(known[key])
        self.size: int = math.prod(group.size for group in self._groups)

    def codes(self, positions: Indices) -> dict[str, NDArray[np.int64]]:
        """Return the levels of points, 0 for inactive parameters.

        Args:
            positions: The positions of the points.
        """
        checked = checked_indices(positions, self.size)
        codes = {name: np.zeros(len(checked), dtype=np.int64) for name in self._names}
        self.write(codes, np.arange(len(checked)), checked)
        return codes

    def positions(self, codes: Codes) -> list[int]:
        """Return the positions of points; levels of inactive parameters do not matter.

        Args:
            codes: The levels of the points, an array for each parameter.
        """
        here = np.arange(len(codes[self._names[0]]))
        positions: list[int] = self.read(codes, here, index_type(self.size)).tolist()
        return positions

    def write(self, codes: Codes, here: NDArray[np.int64], positions: np.ndarray) -> None:
        """Set the levels of active parameters: the positions' digits, the last group's first.

        Args:
            codes: The levels that are set.
            here: Which of the points to set.
            positions: Their positions.
        """
        for group in reversed(self._groups):
            group.write(codes, here, positions % group.size)
            positions = positions // group.size

    def read(self, codes: Codes, here: NDArray[np.int64], kind: type) -> np.ndarray:
        """Return the positions of some points.

        Args:
            codes: The levels of all points.
            here: Which of the points.
            kind: The type of the positions.
        """
        positions: np.ndarray = np.zeros(len(here), dtype=kind)
        for group in self._groups:
            positions = positions * group.size + group.read(codes, here, kind)
        return positions


class _Group:
    """Number the points of linked parameters, option after option of the first one.

    Each level that a condition mentions is an option, and all others, which activate nothing,
    are one together. So there are no gaps for inactive parameters: walking over all positions
    visits every distinct point exactly once.
    """

    def __init__(self, counts: Mapping[str, int], conditions: Conditions, known: _Groups) -> None:
        self._name = next(iter(conditions))
        mentioned = [parents.get(self._name, ()) for parents in conditions.values()]
        levels = sorted({level for some in mentioned for level in some})
        others = counts[self._name] - len(levels)
        self._levels = np.array(levels, dtype=np.int64)
        self._rests = []  # what each option leaves to be numbered
        for level in [*levels, None] if others else levels:
            rest = _given(conditions, self._name, level)
            left = {name: count for name, count in counts.items() if name in rest}
            self._rests.append(Numbering(left, rest, known))
        widths = [1] * len(levels) + [others]
        sizes = (width * rest.size for width, rest in zip(widths, self._rests, strict=False))
        *starts, self.size = accumulate(sizes, initial=0)
        self._starts: np.ndarray = np.array(starts, dtype=index_type(self.size))

    def write(self, codes: Codes, here: NDArray[np.int64], positions: np.ndarray) -> None:
        options = np.searchsorted(self._starts, positions, side="right") - 1
        for option in np.unique(options).tolist():
            chosen, rest = options == option, self._rests[option]
            within = positions[chosen] - self._starts[option]
            codes[self._name][here[chosen]] = self._level(option, within // rest.size)
            rest.write(codes, here[chosen], within % rest.size)

    def read(self, codes: Codes, here: NDArray[np.int64], kind: type) -> np.ndarray:
        levels = codes[self._name][here]
        below = np.searchsorted(self._levels, levels)
        options = np.where(np.isin(levels, self._levels), below, len(self._levels))
        positions: np.ndarray = np.zeros(len(here), dtype=kind)
        for option in np.unique(options).tolist():
            chosen, rest = options == option, self._rests[option]
            within = rest.read(codes, here[chosen], kind) + self._starts[option]
            if option == len(self._levels):
                within = within + (levels - below)[chosen].astype(kind) * rest.size
            positions[chosen] = within
        return positions

    def _level(self, option: int, digits: np.ndarray) -> np.ndarray | np.int64:
        """Return the level that an option is, or the ones with these digits among the others."""
        if option < len(self._levels):
            return self._levels[option]
        skipped = self._levels - np.arange(len(self._levels))
        digits = digits.astype(np.int64)
        return digits + np.searchsorted(skipped, digits, side="right")


def _given(conditions: Conditions, name: str, level: int | None) -> Conditions:
    """Return what remains of the conditions where a parameter has this level (None: another)."""
    rest: dict[str, Mapping[str, frozenset[int]]] = {}
    for child, parents in conditions.items():
        is_possible = name not in parents or level in parents[name]
        if child != name and is_possible and all(p in rest for p in parents if p != name):
            rest[child] = {p: allowed for p, allowed in parents.items() if p != name}
    return rest


def _linked(names: Mapping[str, int], conditions: Conditions) -> Iterator[Conditions]:
    """Split conditions into groups that do not depend on each other."""
    linked = {name: {name} for name in names}
    for name, parents in conditions.items():
        for parent in parents:
            merged = linked[parent] | linked[name]
            linked.update(dict.fromkeys(merged, merged))
    order = {name: place for place, name in enumerate(conditions)}
    for group in {id(group): group for group in linked.values()}.values():
        members = sorted(group & order.keys(), key=order.__getitem__)
        yield {name: conditions[name] for name in members}


def index_type(size: int) -> type:
    """Return the array type that holds indices below a size: Python's integers if need be.

    Args:
        size: The number of points.
    """
    return np.int64 if size < 2**63 else object


def checked_indices(indices: Indices, size: int) -> np.ndarray:
    """Return indices as an array, or raise with the one that lies outside.

    Args:
        indices: Whole numbers.
        size: The number of points.
    """
    array: np.ndarray
    try:
        array = np.asarray(indices, dtype=index_type(size))
    except OverflowError:
        array = np.asarray(indices, dtype=object)
    outside = array[(array < 0) | (array >= size)]
    if len(outside):
        raise ValueError(f"index needs 0 <= index < {size}, got {outside[0]}.")
    return array

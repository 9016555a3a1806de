"""Counting: number the points of a finite space from 0 to size - 1, without gaps.

Notation:
    level      a parameter's value as an integer 0, ..., count - 1
    codes      the levels of many points, one array per parameter
    condition  parent → levels: a parameter is active only where each parent has one of these
    group      parameters that conditions link; different groups are independent, like digits
    branch     the points of a group with the same active parameters, see `_Branch`
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = Sequence[int] | NDArray[np.int64]
Codes = Mapping[str, NDArray[Any]]
Conditions = Mapping[str, Mapping[str, frozenset[int]]]


class Numbering:
    """Number the points of parameters with these counts of levels and these conditions.

    Conditions must come in an order in which each parameter follows those it depends on.

    Example:
        >>> only_where_on = {"on": {}, "n": {"on": frozenset([1])}}
        >>> numbering = Numbering({"on": 2, "n": 10}, only_where_on)
        >>> numbering.size
        11
        >>> numbering.positions(numbering.codes([0, 7, 10]))
        [0, 7, 10]
    """

    def __init__(self, counts: Mapping[str, int], conditions: Conditions) -> None:
        self._groups = [_Group(group, counts) for group in _linked(counts, conditions)]
        self.size = math.prod(group.size for group in self._groups)

    def codes(self, positions: Indices) -> dict[str, NDArray[np.int64]]:
        """Return the levels of the points at these positions, 0 for inactive parameters."""
        rest = checked_indices(positions, self.size)
        codes: dict[str, NDArray[np.int64]] = {}
        for group in reversed(self._groups):
            codes |= group.codes(rest % group.size)
            rest = rest // group.size
        return codes

    def positions(self, codes: Codes) -> list[int]:
        """Return the positions of points; levels of inactive parameters do not matter."""
        kind = index_type(self.size)
        total: Any = 0
        for group in self._groups:
            total = total * group.size + group.positions(codes, kind)
        positions: list[int] = total.tolist()
        return positions


@dataclass(frozen=True)
class _Branch:
    """The points of a group that agree in everything that decides which parameters are active.

    `fixed` parameters have one level; each `free` one takes all its levels but those listed,
    as many as its radix.
    """

    fixed: dict[str, int]
    free: dict[str, NDArray[np.int64]]
    radices: dict[str, int]

    @property
    def size(self) -> int:
        return math.prod(self.radices.values())


class _Group:
    """Number the points of parameters that conditions link, branch after branch.

    Numbering branch by branch instead of digit by digit leaves no gaps for inactive
    parameters, so walking over all positions meets every distinct point exactly once.
    """

    def __init__(self, conditions: Conditions, counts: Mapping[str, int]) -> None:
        self.names = [*conditions]
        self.branches = _branches(conditions, counts)
        *starts, self.size = accumulate((b.size for b in self.branches), initial=0)
        self.starts: NDArray[Any] = np.array(starts, dtype=index_type(self.size))

    def codes(self, positions: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
        levels = {name: np.zeros(len(positions), dtype=np.int64) for name in self.names}
        which = np.searchsorted(self.starts, positions, side="right") - 1
        for number in np.unique(which).tolist():
            branch, here = self.branches[number], np.flatnonzero(which == number)
            rest = positions[here] - self.starts[number]
            for name, level in branch.fixed.items():
                levels[name][here] = level
            for name, excluded in branch.free.items():
                digit = (rest % branch.radices[name]).astype(np.int64)
                rest = rest // branch.radices[name]
                skipped = excluded - np.arange(len(excluded))
                levels[name][here] = digit + np.searchsorted(skipped, digit, side="right")
        return levels

    def positions(self, codes: Codes, kind: type) -> NDArray[Any]:
        # Nobody has to ask what is active: a branch fixes all levels that decide it.
        positions: NDArray[Any] = np.zeros(len(codes[self.names[0]]), dtype=kind)
        for start, branch in zip(self.starts, self.branches, strict=True):
            here = np.ones(len(positions), dtype=bool)
            for name, level in branch.fixed.items():
                here &= codes[name] == level
            for name, excluded in branch.free.items():
                here &= ~np.isin(codes[name], excluded)
            total = np.zeros(here.sum(), dtype=kind)
            for name, excluded in reversed(branch.free.items()):
                digit = codes[name][here] - np.searchsorted(excluded, codes[name][here])
                total = total * branch.radices[name] + digit
            positions[here] = total + start
        return positions


def _branches(conditions: Conditions, counts: Mapping[str, int]) -> list[_Branch]:
    """Split by the levels that conditions mention; any other level activates nothing."""
    mentioned: dict[str, set[int]] = {name: set() for name in conditions}
    for parents in conditions.values():
        for parent, allowed in parents.items():
            mentioned[parent] |= allowed
    branches = [_Branch({}, {}, {})]
    for name, parents in conditions.items():
        levels = np.array(sorted(mentioned[name]), dtype=np.int64)
        others = counts[name] - len(levels)
        grown = []
        for b in branches:
            if not all(b.fixed.get(parent) in allowed for parent, allowed in parents.items()):
                grown.append(b)
                continue
            grown += [_Branch(b.fixed | {name: lv}, b.free, b.radices) for lv in levels.tolist()]
            if others:
                free, radices = b.free | {name: levels}, b.radices | {name: others}
                grown.append(_Branch(b.fixed, free, radices))
        branches = grown
    return branches


def _linked(names: Mapping[str, int], conditions: Conditions) -> Iterator[Conditions]:
    """Split conditions into groups that do not depend on each other."""
    linked = {name: {name} for name in names}
    for name, parents in conditions.items():
        for parent in parents:
            merged = linked[parent] | linked[name]
            linked.update(dict.fromkeys(merged, merged))
    for group in {id(group): group for group in linked.values()}.values():
        yield {name: parents for name, parents in conditions.items() if name in group}


def index_type(size: int) -> type:
    """Return the array type that holds indices below this size: Python's integers if need be."""
    return np.int64 if size < 2**63 else object


def checked_indices(indices: Indices, size: int) -> NDArray[Any]:
    """Return indices as an array, or say which one lies outside."""
    array: NDArray[Any]
    try:
        array = np.asarray(indices, dtype=index_type(size))
    except OverflowError:
        array = np.asarray(indices, dtype=object)
    outside = array[(array < 0) | (array >= size)]
    if len(outside):
        raise ValueError(f"index needs 0 <= index < {size}, got {outside[0]}.")
    return array

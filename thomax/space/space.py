"""Spaces: named parameters as points of the centred cube [-1, 1]^d.

Notation (see `parameters` for the steps between them):
    params  the values of one point by name, inactive parameters left out
    codes   the levels of many points, one array per parameter
    x       the places of many points, one row each           (n, d)

A Space encodes and decodes all parameters together, and decides which of them are active.
Whatever `snap`, `sample`, `encode` and `at` return survives `encode(decode(x)) == x` bit for
bit.
"""

import contextlib
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thomax.space.conditions import condition_text, ordered_conditions, where_active
from thomax.space.encoding import Codes, Places, Scale
from thomax.space.numbering import Conditions, Indices, Numbering
from thomax.space.parameters import (
    PARAMETER_TYPES,
    Listed,
    Parameter,
    parameter_from_description,
)
from thomax.space.perturbation import perturbed
from thomax.space.pool import Pool
from thomax.support.spelling import nearest, spell_checked
from thomax.support.types import Json, Params, ParamsLike

Constraint: TypeAlias = Callable[[Params], object] | None

MOST_LISTED_LEVELS = 1000  # a Block of more levels does not list them
MOST_REJECTIONS = 100_000
MOST_LISTED_POINTS = 10**6  # of a finite space, looked through for those a constraint allows
MOST_NUMBERS = 2**24  # in a chunk of places: 128 MB
MANY_ALIKE = 256  # parameters of one scale, drawn at once: one by one, thousands take seconds
ROWS_AT_ONCE = 4096  # when all points are listed
MOST_KNOWN = 1000  # earlier points, the latest, whose neighbourhood is looked at


@dataclass(frozen=True, eq=False)
class Block:
    """The columns of one parameter, for optimisers that move one parameter at a time.

    Args:
        name: The parameter's name.
        columns: Its columns in the encoded points.
        levels: All places of a discrete parameter, one row each. None for a Float without a step
            and for more than 1,000 levels: move the columns and `snap`.
    """

    name: str
    columns: slice
    levels: Places | None


class _Group(NamedTuple):
    """Parameters that lie in the cube in the same way.

    Args:
        scale: Where their codes lie.
        names: Their names.
        columns: The columns of all of them, one parameter after the other.
    """

    scale: Scale
    names: list[str]
    columns: NDArray[np.int64]


@spell_checked
class Space:
    """Named parameters, encoded as points of the cube [-1, 1]^d.

    Numbers run from -1 (low) to +1 (high), Ordinal values and Bool are equally spaced on
    [-1, 1], and a Categorical has one column per choice, 1 for the chosen one and 0 for the
    others. An inactive parameter is absent from the params and 0 in all its columns. Two spaces
    are equal if their descriptions are.

    Methods take the objects or the labels of labelled choices, and return labels.

    Args:
        parameters: A parameter for each name, such as Float(0, 1).
        constraint: A function of the params of one point, without inactive parameters: points
            where it is false are never proposed. It must always return the same for the same
            params.

    Examples:
        >>> from thomax import Categorical, Float
        >>> space = Space({
        ...     "optimiser": Categorical(["adam", "sgd"]),
        ...     "momentum": Float(0, 1, when={"optimiser": "sgd"}),
        ... })
        >>> space.encode([{"optimiser": "adam"}, {"optimiser": "sgd", "momentum": 0.75}])
        array([[1. , 0. , 0. ],
               [0. , 1. , 0.5]])
        >>> space.decode([[0.2, 0.9, 1.0]])
        [{'optimiser': 'sgd', 'momentum': 1.0}]
    """

    def __init__(
        self, parameters: Mapping[str, Parameter], *, constraint: Constraint = None
    ) -> None:
        if constraint is not None and not callable(constraint):
            raise TypeError(f"constraint needs a function of the params, got {constraint!r}.")
        self.parameters = _checked_parameters(parameters)
        self.constraint = constraint
        self._conditions = ordered_conditions(self.parameters)
        self._columns: dict[str, slice] = {}
        self.dimension = 0
        for name, parameter in self.parameters.items():
            start, self.dimension = self.dimension, self.dimension + parameter.scale.width
            self._columns[name] = slice(start, self.dimension)
        self._labelled: dict[str, Listed] = {
            name: parameter
            for name, parameter in self.parameters.items()
            if isinstance(parameter, Listed) and parameter.is_labelled
        }

    @property
    def conditions(self) -> Conditions:
        """The levels of other parameters that activate each one, which follows those others."""
        return self._conditions

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""
        return (self.dimension,)

    @property
    def is_finite(self) -> bool:
        """Whether the space has finitely many points."""
        return all(math.isfinite(p.scale.count) for p in self.parameters.values())

    @cached_property
    def size(self) -> int | float:
        """The number of distinct points, whether or not they satisfy the constraint."""
        if not self.is_finite:
            return math.inf
        if any(self._conditions.values()):
            return self._numbering.size
        return math.prod(int(p.scale.count) for p in self.parameters.values())

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns of each parameter, in their order."""
        scales = {group.scale for group in self._groups}
        levels = {
            scale: scale.place(np.arange(scale.count))
            for scale in scales
            if scale.count <= MOST_LISTED_LEVELS
        }
        return tuple(
            Block(name, self._columns[name], levels.get(parameter.scale))
            for name, parameter in self.parameters.items()
        )

    def encode(self, params: Sequence[ParamsLike]) -> Places:
        """Return points as rows of the cube.

        Args:
            params: The points, each a mapping from names to values.
        """
        return self._place(self._codes_of(params))

    def decode(self, x: ArrayLike) -> list[Params]:
        """Return the valid points nearest to rows of the cube, parameter by parameter.

        Args:
            x: Rows of the cube.
        """
        codes = self._nearest(x)
        active = where_active(self._conditions, codes)
        rows: list[Params] = [{} for _ in range(_length(codes))]
        for name, parameter in self.parameters.items():
            levels, present = codes[name].tolist(), active[name].tolist()
            for row, level, is_active in zip(rows, levels, present, strict=True):
                if is_active:
                    row[name] = parameter.value_of(level)
        return rows

    def snap(self, x: ArrayLike) -> Places:
        """Return the rows of the valid points nearest to x; equal points get equal rows.

        Args:
            x: Rows of the cube.
        """
        return self._place(self._nearest(x))

    def validate(self, params: ParamsLike) -> Params:
        """Return the params in canonical form.

        Args:
            params: One point.

        Raises:
            ValueError: If the space has no such point, or the constraint refuses it.
        """
        codes = self._checked_codes(params)
        canonical = {
            name: parameter.value_of(codes[name])
            for name, parameter in self.parameters.items()
            if name in codes
        }
        if not self._accepts(canonical):
            raise ValueError(f"The constraint refuses {canonical}: change one of the values.")
        return canonical

    def with_objects(self, params: ParamsLike) -> Params:
        """Return a copy of params with objects in place of labels: what user code gets.

        Args:
            params: A valid point.
        """
        found = dict(params)
        for name, parameter in self._labelled.items():
            if name in found:
                found[name] = parameter.object_of(found[name])
        return found

    def with_labels(self, params: ParamsLike) -> Params:
        """Return a copy of params with labels in place of objects; what has none stays.

        Args:
            params: A point.
        """
        found = dict(params)
        for name, parameter in self._labelled.items():
            label = parameter.label_of(found.get(name))
            if name in found and label is not None:
                found[name] = label
        return found

    def satisfies(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Return for each row whether the constraint allows it.

        Args:
            x: Rows of the cube.
        """
        if self.constraint is None:
            return np.ones(len(np.asarray(x)), dtype=bool)
        return np.array([self._accepts(params) for params in self.decode(x)], dtype=bool)

    def sample(
        self,
        rng: np.random.Generator,
        n: int,
        *,
        tries: float = math.inf,
        known: ArrayLike = (),
    ) -> Places:
        """Draw independent points, uniform on each parameter's scale, within the constraint.

        Where the constraint refuses nearly all random points, the points of a finite space are
        listed, if they are not too many; otherwise points that it allows are perturbed.

        Args:
            rng: The source of random numbers.
            n: How many points; there may be fewer, but not none, after so many `tries`.
            tries: How many random points to look at.
            known: Rows that the constraint may allow, such as those of earlier trials.
        """
        if self.constraint is None:
            return self._draw(rng, n)
        kept = self._accepted(rng, n, tries)
        if len(kept) == n:
            return kept
        if self.can_be_listed:
            return np.concatenate([kept, self._listed(rng, n - len(kept))])
        earlier = np.asarray(known, dtype=np.float64).reshape(-1, self.dimension)[-MOST_KNOWN:]
        found = np.concatenate([kept, self._allowed_among(earlier)])
        if not len(found):  # longer than is reasonable for many points, but it needs one
            found = kept = self._accepted(rng, 1, MOST_REJECTIONS)
        if not len(found):
            raise ValueError(
                f"The constraint refused {MOST_REJECTIONS} random points in a row: loosen it, "
                "choose parameters that satisfy it more often, or enqueue a point that does."
            )
        columns = [*self._columns.values()]
        others = perturbed(
            rng, found, n, columns=columns, draw=self._draw, allowed=self._allowed_among
        )
        return np.concatenate([kept, others])[:n]

    def _accepted(self, rng: np.random.Generator, n: int, tries: float) -> Places:
        """Return up to n of so many random points, unless too many in a row are refused."""
        kept = np.empty((0, self.dimension))
        rejections = 0
        while len(kept) < n and tries > 0 and rejections < MOST_REJECTIONS:
            x = self._draw(rng, max(n, 100))
            tries -= len(x)
            accepted = self.satisfies(x)
            kept = np.concatenate([kept, x[accepted]])
            rejections = 0 if accepted.any() else rejections + len(x)
        return kept[:n]

    def _listed(self, rng: np.random.Generator, n: int) -> Places:
        """Return n random ones of all points that the constraint allows."""
        if not len(self._allowed):
            raise ValueError(
                f"The constraint refused all {self.size} points of the space: loosen it."
            )
        return self.at(self._allowed[rng.integers(len(self._allowed), size=n)])

    def _allowed_among(self, x: Places) -> Places:
        """Return the valid points nearest to x that the constraint allows."""
        snapped = self.snap(x)
        return snapped[self.satisfies(snapped)]

    @property
    def can_be_listed(self) -> bool:
        """Whether the space is finite, and small enough to look at each of its points."""
        return self.size <= MOST_LISTED_POINTS

    @cached_property
    def _allowed(self) -> NDArray[np.int64]:
        """The positions of all points that the constraint allows; it is asked once for each."""
        none = np.empty(0, dtype=np.int64)
        parts = [indices[self.satisfies(x)] for indices, x in self._walk(ROWS_AT_ONCE)]
        return np.concatenate([none, *parts])

    def spread(self, shares: ArrayLike) -> Places:
        """Return the rows of points of [0, 1)^d; even ones fall evenly on a grid's levels.

        To snap them would give a first and last level half of what the others get.

        Args:
            shares: Points of the unit cube, such as those of a Sobol sequence.
        """
        t = np.asarray(shares, dtype=np.float64)
        columns = self._columns.items()
        return self._place({n: self.parameters[n].scale.spread(t[:, c]) for n, c in columns})

    def index(self, params: Sequence[ParamsLike]) -> list[int]:
        """Return the positions of points of a finite space, from 0 to size - 1.

        Args:
            params: The points.
        """
        return self._numbering.positions(self._codes_of(params))

    def at(self, indices: Indices) -> Places:
        """Return the rows of points of a finite space.

        Args:
            indices: Their positions.
        """
        return self._place(self._numbering.codes(indices))

    def params(self, indices: Indices) -> list[Params]:
        """Return the params of points of a finite space.

        Args:
            indices: Their positions.
        """
        return self.decode(self.at(indices))

    def chunks(self, rows: int) -> Iterator[tuple[NDArray[np.int64], Places]]:
        """Yield positions and rows of all points of a finite space that the constraint allows.

        Args:
            rows: How many points at a time; fewer where a row is very long.
        """
        if self.constraint is not None and self.can_be_listed:
            yield from self._walk(rows, self._allowed)
            return
        for indices, x in self._walk(rows):
            accepted = self.satisfies(x)
            if accepted.any():
                yield indices[accepted], x[accepted]

    def _walk(
        self, rows: int, positions: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[NDArray[np.int64], Places]]:
        """Yield positions and places of these points, or of all, whatever the constraint says."""
        rows = max(1, min(rows, MOST_NUMBERS // self.dimension))
        count = self._numbering.size if positions is None else len(positions)
        for start in range(0, count, rows):
            indices = np.arange(start, min(start + rows, count), dtype=np.int64)
            indices = indices if positions is None else positions[indices]
            yield indices, self.at(indices)

    def describe(self) -> dict[str, Json]:
        """Return the space as a JSON-able dictionary; of the constraint only its presence."""
        return {
            "kind": "space",
            "parameters": [{"name": n, **p.describe()} for n, p in self.parameters.items()],
            "constraint": self.constraint is not None,
        }

    @classmethod
    def from_description(
        cls, description: Mapping[str, Any], *, constraint: Constraint = None
    ) -> "Space":
        """Rebuild the space that `describe` described; labels stand for their objects.

        Args:
            description: The dictionary that `describe` returned.
            constraint: The function that the space had, if any: a description has none.
        """
        kind = description.get("kind") if isinstance(description, Mapping) else description
        if kind != "space":
            raise ValueError(
                f"A description of a space has kind 'space', got {reprlib.repr(kind)}."
            )
        try:
            found = [(parameter_from_description(e), e["name"]) for e in description["parameters"]]
            parameters = {name: parameter for parameter, name in found}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                "A space needs the description that `describe` gives, "
                f"got {reprlib.repr(description)} ({error})."
            ) from error
        return cls(parameters, constraint=constraint)

    def __eq__(self, other: object) -> bool:
        # repr, because True == 1 while the spaces of True and of 1 differ.
        return isinstance(other, Space) and repr(self.describe()) == repr(other.describe())

    def __hash__(self) -> int:
        return hash(repr(self.describe()))

    def __repr__(self) -> str:
        entries = ", ".join(f"{name!r}: {p!r}" for name, p in self.parameters.items())
        name = getattr(self.constraint, "__name__", repr(self.constraint))
        constraint = "" if self.constraint is None else f", constraint={name}"
        return f"Space({{{entries}}}{constraint})"

    @cached_property
    def _numbering(self) -> Numbering:
        if not self.is_finite:
            raise ValueError("Only finite spaces have positions: give every Float a step.")
        counts = {name: int(p.scale.count) for name, p in self.parameters.items()}
        return Numbering(counts, self._conditions)

    def _checked_codes(self, params: ParamsLike) -> dict[str, float]:
        """Return the codes of the active parameters; raise where a parameter is wrong."""
        if not isinstance(params, Mapping):
            raise TypeError(f"params needs a mapping from names to values, got {params!r}.")
        for name in params:
            if name not in self.parameters:
                raise ValueError(f"Unknown parameter {name!r}: {nearest(name, self.parameters)}")
        codes: dict[str, float] = {}
        for name, conditions in self._conditions.items():
            is_active = all(codes.get(parent) in levels for parent, levels in conditions.items())
            if is_active and name not in params:
                raise ValueError(f"Parameter {name!r} is missing: give it a value.")
            if name in params and not is_active:
                condition = condition_text(self.parameters[name])
                raise ValueError(
                    f"Parameter {name!r} is active only when {condition}: leave it out."
                )
            if is_active:
                try:
                    codes[name] = self.parameters[name].code_of(params[name])
                except ValueError as error:
                    raise ValueError(f"Parameter {name!r} {error}.") from None
        return codes

    def _codes_of(self, params: Sequence[ParamsLike]) -> dict[str, Codes]:
        with contextlib.suppress(KeyError, TypeError, ValueError):  # rows say better what is wrong
            if not any(self._conditions.values()):
                return self._columns_of(params)
        rows = [self._checked_codes(row) for row in params]
        codes: dict[str, Codes] = {}
        for name, parameter in self.parameters.items():
            column = [row.get(name, 0) for row in rows]
            is_listed = math.isfinite(parameter.scale.count)
            codes[name] = np.array(column, np.int64) if is_listed else np.array(column, np.float64)
        return codes

    def _columns_of(self, params: Sequence[ParamsLike]) -> dict[str, Codes]:
        """Return codes parameter by parameter, or raise if a row is wrong or unusual.

        Where no parameter has a condition this is several times as fast as row by row.
        """
        if any(type(row) is not dict or len(row) != len(self.parameters) for row in params):
            raise ValueError("needs dictionaries with all parameters")
        columns = self.parameters.items()
        return {name: p.codes_of([row[name] for row in params]) for name, p in columns}

    def _nearest(self, x: ArrayLike) -> dict[str, Codes]:
        rows = np.asarray(x, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ValueError(f"x needs shape (n, {self.dimension}), got {rows.shape}.")
        if not np.isfinite(rows).all():
            raise ValueError("x needs finite numbers, got nan or inf.")
        found: dict[str, Codes] = {}
        for group in self._groups:
            shape = len(rows), len(group.names)
            codes = group.scale.nearest(rows[:, group.columns].reshape(-1, group.scale.width))
            found |= zip(group.names, codes.reshape(shape).T, strict=True)
        return {name: found[name] for name in self.parameters}

    def _place(self, codes: Mapping[str, Codes]) -> Places:
        x = np.zeros((_length(codes), self.dimension))
        active = where_active(self._conditions, codes)
        for group in self._groups:
            here = active[group.names[0]]  # a parameter with a condition is alone in its group
            together: Any = np.stack([codes[name][here] for name in group.names], axis=1)
            placed = group.scale.place(together.reshape(-1))
            x[np.ix_(here, group.columns)] = placed.reshape(-1, group.columns.size)
        return x

    @cached_property
    def _groups(self) -> list["_Group"]:
        """The parameters of each scale, which are placed and read at once.

        One that is not always active has a group of its own.
        """
        names: dict[tuple[Scale, str | None], list[str]] = {}
        for name, parameter in self.parameters.items():
            own = name if self._conditions[name] else None
            names.setdefault((parameter.scale, own), []).append(name)
        every = np.arange(self.dimension)
        return [
            _Group(scale, alike, np.concatenate([every[self._columns[name]] for name in alike]))
            for (scale, _), alike in names.items()
        ]

    def _draw(self, rng: np.random.Generator, n: int) -> Places:
        codes: dict[str, Codes] = {}
        for group in self._groups:
            if len(group.names) >= MANY_ALIKE:
                drawn = group.scale.draw(rng, n * len(group.names)).reshape(-1, n)
                codes |= zip(group.names, drawn, strict=True)
        for name, parameter in self.parameters.items():
            if name not in codes:
                codes[name] = parameter.scale.draw(rng, n)
        return self._place(codes)

    def _accepts(self, params: Params) -> bool:
        if self.constraint is None:
            return True
        try:
            return bool(self.constraint(self.with_objects(params)))
        except Exception as error:
            raise ValueError(
                f"The constraint must return True or False, but raised {error!r} for {params}: "
                "inactive parameters are absent, use params.get."
            ) from error


def as_space(space: Space | Pool | Mapping[str, Parameter]) -> Space | Pool:
    """Return a Space or Pool as it is, and a dictionary of parameters as a Space.

    Args:
        space: Where to search.

    Examples:
        >>> from thomax import Float
        >>> as_space({"x": Float(0, 1)})
        Space({'x': Float(0.0, 1.0)})
    """
    if isinstance(space, Space | Pool):
        return space
    if isinstance(space, Mapping):
        return Space(space)
    raise TypeError(
        "A space is a Space, a Pool or a dictionary of parameters, "
        f"got {type(space).__name__}: wrap arrays and tables in Pool(...)."
    )


def _length(codes: Mapping[str, Codes]) -> int:
    return len(next(iter(codes.values())))


def _checked_parameters(given: object) -> dict[str, Parameter]:
    if not isinstance(given, Mapping):
        raise TypeError(f"Space needs a mapping from names to parameters, got {given!r}.")
    if not given:
        raise ValueError("Space needs at least one parameter, got none.")
    for name, parameter in given.items():
        if not isinstance(name, str):
            raise TypeError(f"Space needs names that are strings, got {name!r}.")
        if not isinstance(parameter, Parameter):
            raise TypeError(
                f"Space needs a parameter for {name!r}, got {parameter!r}: use one of "
                f"{', '.join(PARAMETER_TYPES)}, such as Float(0, 1)."
            )
    return dict(given)

"""Spaces: named parameters as points of the centred cube [-1, 1]^d.

Notation (see `parameters` for the steps between them):
    params  the values of one point by name, inactive parameters left out
    codes   the levels of many points, one array per parameter
    x       the places of many points, one row each           (n, d)

A Space encodes and decodes all parameters together, and decides which of them are active.
Whatever `snap`, `sample`, `encode` and `at` return survives `encode(decode(x)) == x` bit for
bit.
"""

import graphlib
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thomax.space.numbering import Indices, Numbering
from thomax.space.parameters import (
    PARAMETER_TYPES,
    Array,
    Categorical,
    Codes,
    Ordinal,
    Parameter,
)
from thomax.space.parameters import Float as Float  # for the examples
from thomax.space.perturbation import perturbed
from thomax.space.pool import Pool
from thomax.spelling import nearest, spell_checked

Params = dict[str, Any]
Constraint = Callable[[Params], Any] | None

MOST_LISTED_LEVELS = 1000  # a Block of more levels does not list them
MOST_REJECTIONS = 100_000
MOST_LISTED_POINTS = 10**6  # of a finite space, looked through for those a constraint allows
MOST_NUMBERS = 2**24  # in a chunk of places: 128 MB
ROWS_AT_ONCE = 4096  # when all points are listed
MOST_KNOWN = 1000  # earlier points, the latest, whose neighbourhood is looked at


@dataclass(frozen=True, eq=False)
class Block:
    """The columns of one parameter, for optimisers that move one parameter at a time.

    `levels` lists all placements of a discrete parameter, one per row. It is None for an
    unstepped Float and for more than 1,000 levels: move the columns and `snap`.
    """

    name: str
    columns: slice
    levels: Array | None


@spell_checked
class Space:
    """Place named parameters in the cube [-1, 1]^d, and read points of the cube.

    Numbers run from -1 (low) to +1 (high), Ordinal values and Bool are equally spaced on
    [-1, 1], and a Categorical has one column per choice, 1 for the chosen one and 0 for the
    others. An inactive parameter is absent from the params and 0 in all its columns. The
    constraint is a function of the active params; points where it is false are never proposed.
    It gets a copy of them, and must always say the same of the same params. Two spaces are equal
    if their descriptions are.

    Of labelled choices (`Categorical({"small": (64,)})`) all methods take objects or labels, and
    return labels; `with_objects` puts the objects in their places.

    Example:
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
        self._conditions = _ordered_conditions(self.parameters)
        self._columns: dict[str, slice] = {}
        self.dimension = 0
        for name, parameter in self.parameters.items():
            start, self.dimension = self.dimension, self.dimension + parameter.scale.width
            self._columns[name] = slice(start, self.dimension)
        self._labelled: dict[str, Categorical | Ordinal] = {
            name: parameter
            for name, parameter in self.parameters.items()
            if isinstance(parameter, Categorical | Ordinal) and parameter.is_labelled
        }

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""
        return (self.dimension,)

    @property
    def is_finite(self) -> bool:
        """Whether the space has finitely many points."""
        return all(math.isfinite(p.scale.count) for p in self.parameters.values())

    @property
    def size(self) -> int | float:
        """The number of distinct points, whether or not they satisfy the constraint."""
        return self._numbering.size if self.is_finite else math.inf

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns of each parameter, in their order."""
        blocks = []
        for name, parameter in self.parameters.items():
            few = parameter.scale.count <= MOST_LISTED_LEVELS
            levels = parameter.scale.place(np.arange(parameter.scale.count)) if few else None
            blocks.append(Block(name, self._columns[name], levels))
        return tuple(blocks)

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Return the places of points, one row each."""
        return self._place(self._codes_of(params))

    def decode(self, x: ArrayLike) -> list[Params]:
        """Return the params of the valid points nearest to x, parameter by parameter."""
        codes = self._nearest(x)
        active = self._active(codes)
        rows: list[Params] = [{} for _ in range(_length(codes))]
        for name, parameter in self.parameters.items():
            levels, present = codes[name].tolist(), active[name].tolist()
            for row, level, is_active in zip(rows, levels, present, strict=True):
                if is_active:
                    row[name] = parameter.value_of(level)
        return rows

    def snap(self, x: ArrayLike) -> Array:
        """Return the places of the valid points nearest to x; equal points get equal rows."""
        return self._place(self._nearest(x))

    def validate(self, params: Mapping[str, Any]) -> Params:
        """Return the params in canonical form, or say what is wrong with them."""
        codes = self._checked_codes(params)
        canonical = {
            name: parameter.value_of(codes[name])
            for name, parameter in self.parameters.items()
            if name in codes
        }
        if not self._accepts(canonical):
            raise ValueError(f"The constraint refuses {canonical}: change one of the values.")
        return canonical

    def with_objects(self, params: Mapping[str, Any]) -> Params:
        """Return a copy of valid params that holds the objects of labels: what user code gets."""
        found = dict(params)
        for name, parameter in self._labelled.items():
            if name in found:
                found[name] = parameter.object_of(found[name])
        return found

    def with_labels(self, params: Mapping[str, Any]) -> Params:
        """Return a copy of params that holds the labels of objects; what has none stays."""
        found = dict(params)
        for name, parameter in self._labelled.items():
            label = parameter.label_of(found.get(name))
            if name in found and label is not None:
                found[name] = label
        return found

    def satisfies(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Say for each row whether its params satisfy the constraint."""
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
    ) -> Array:
        """Draw independent points, uniform on each parameter's scale, within the constraint.

        Where the constraint refuses nearly all random points, the points of a finite space are
        listed, if they are not too many; otherwise points that it allows are perturbed.

        Args:
            rng: Where the random numbers come from.
            n: How many points; there may be fewer, but not none, after so many `tries`.
            tries: How many random points to look at.
            known: Rows that may satisfy the constraint, such as those of earlier trials.
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

    def _accepted(self, rng: np.random.Generator, n: int, tries: float) -> Array:
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

    def _listed(self, rng: np.random.Generator, n: int) -> Array:
        """Return n random ones of all points that the constraint allows."""
        if not len(self._allowed):
            raise ValueError(
                f"The constraint refused all {self.size} points of the space: loosen it."
            )
        return self.at(self._allowed[rng.integers(len(self._allowed), size=n)])

    def _allowed_among(self, x: Array) -> Array:
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

    def spread(self, shares: ArrayLike) -> Array:
        """Return the places of points of [0, 1)^d; even ones fall evenly on a grid's levels.

        To snap them would give a first and last level half of what the others get.
        """
        t = np.asarray(shares, dtype=np.float64)
        columns = self._columns.items()
        return self._place({n: self.parameters[n].scale.spread(t[:, c]) for n, c in columns})

    def index(self, params: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the positions of points of a finite space, from 0 to size - 1."""
        return self._numbering.positions(self._codes_of(params))

    def at(self, indices: Indices) -> Array:
        """Return the places of the points at these positions of a finite space."""
        return self._place(self._numbering.codes(indices))

    def params(self, indices: Indices) -> list[Params]:
        """Return the params of the points at these positions of a finite space."""
        return self.decode(self.at(indices))

    def chunks(self, rows: int) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """Walk over all points of a finite space that satisfy the constraint.

        Yields positions and places, at most `rows` at a time, fewer where a row is very long.
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
    ) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """Yield positions and places of these points, or of all, whatever the constraint says."""
        rows = max(1, min(rows, MOST_NUMBERS // self.dimension))
        count = self._numbering.size if positions is None else len(positions)
        for start in range(0, count, rows):
            indices = np.arange(start, min(start + rows, count), dtype=np.int64)
            indices = indices if positions is None else positions[indices]
            yield indices, self.at(indices)

    def describe(self) -> dict[str, Any]:
        """Return the space as a JSON-able dictionary; of the constraint only its presence."""
        return {
            "kind": "space",
            "parameters": [{"name": n} | p.describe() for n, p in self.parameters.items()],
            "constraint": self.constraint is not None,
        }

    @classmethod
    def from_description(
        cls, description: Mapping[str, Any], *, constraint: Constraint = None
    ) -> "Space":
        """Rebuild the space that `describe` described; labels stand for their objects."""
        kind = description.get("kind") if isinstance(description, Mapping) else description
        if kind != "space":
            raise ValueError(
                f"A description of a space has kind 'space', got {reprlib.repr(kind)}."
            )
        try:
            parameters = dict(map(_described_parameter, description["parameters"]))
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

    def _checked_codes(self, params: Mapping[str, Any]) -> dict[str, float]:
        """Return the codes of the active parameters, or say which parameter is wrong."""
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
                condition = _condition_text(self.parameters[name])
                raise ValueError(
                    f"Parameter {name!r} is active only when {condition}: leave it out."
                )
            if is_active:
                try:
                    codes[name] = self.parameters[name].code_of(params[name])
                except ValueError as error:
                    raise ValueError(f"Parameter {name!r} {error}.") from None
        return codes

    def _codes_of(self, params: Sequence[Mapping[str, Any]]) -> dict[str, Codes]:
        rows = [self._checked_codes(row) for row in params]
        codes: dict[str, Codes] = {}
        for name, parameter in self.parameters.items():
            kind = np.int64 if math.isfinite(parameter.scale.count) else np.float64
            codes[name] = np.array([row.get(name, 0) for row in rows], dtype=kind)
        return codes

    def _nearest(self, x: ArrayLike) -> dict[str, Codes]:
        rows = np.asarray(x, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ValueError(f"x needs shape (n, {self.dimension}), got {rows.shape}.")
        if not np.isfinite(rows).all():
            raise ValueError("x needs finite numbers, got nan or inf.")
        return {
            name: parameter.scale.nearest(rows[:, self._columns[name]])
            for name, parameter in self.parameters.items()
        }

    def _active(self, codes: Mapping[str, Codes]) -> dict[str, NDArray[np.bool_]]:
        active: dict[str, NDArray[np.bool_]] = {}
        for name, conditions in self._conditions.items():
            active[name] = np.ones(_length(codes), dtype=bool)
            for parent, allowed in conditions.items():
                active[name] &= active[parent] & np.isin(codes[parent], [*allowed])
        return active

    def _place(self, codes: Mapping[str, Codes]) -> Array:
        x, active = np.zeros((_length(codes), self.dimension)), self._active(codes)
        for name, parameter in self.parameters.items():
            here = active[name]
            x[here, self._columns[name]] = parameter.scale.place(codes[name][here])
        return x

    def _draw(self, rng: np.random.Generator, n: int) -> Array:
        return self._place({name: p.scale.draw(rng, n) for name, p in self.parameters.items()})

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


def as_space(space: Any) -> Space | Pool:
    """Return a Space or Pool as it is, and a dictionary of parameters as a Space.

    Example:
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


def _described_parameter(entry: Mapping[str, Any]) -> tuple[str, Parameter]:
    """Rebuild a parameter and its name."""
    if entry["type"] not in PARAMETER_TYPES:
        raise ValueError(f"A parameter is one of {[*PARAMETER_TYPES]}, got {entry['type']!r}.")
    options = {k: v for k, v in entry.items() if k not in ("name", "type", "labelled")}
    if entry.get("labelled"):  # a description has no objects: the labels stand for themselves
        for key in options.keys() & {"choices", "values"}:
            options[key] = {label: label for label in options[key]}
    return entry["name"], PARAMETER_TYPES[entry["type"]](**options)


def _length(codes: Mapping[str, Codes]) -> int:
    return len(next(iter(codes.values())))


def _checked_parameters(given: Any) -> dict[str, Parameter]:
    if not isinstance(given, Mapping):
        raise TypeError(f"Space needs a mapping from names to parameters, got {given!r}.")
    if not given:
        raise ValueError("Space needs at least one parameter, got none.")
    for name, parameter in given.items():
        if not isinstance(name, str):
            raise TypeError(f"Space needs names that are strings, got {name!r}.")
        if not isinstance(parameter, Parameter):
            raise TypeError(
                f"Space needs a parameter for {name!r}, got {parameter!r}: use Float(low, high), "
                "Int(low, high), Categorical(choices), Ordinal(values) or Bool()."
            )
    return dict(given)


def _ordered_conditions(
    parameters: Mapping[str, Parameter],
) -> dict[str, dict[str, frozenset[int]]]:
    """Return all conditions, those of each parameter after those of the ones it depends on."""
    conditions = {name: _checked_conditions(name, parameters) for name in parameters}
    try:
        order = [*graphlib.TopologicalSorter(conditions).static_order()]
    except graphlib.CycleError as error:
        circle = " -> ".join(repr(name) for name in error.args[1])
        raise ValueError(
            f"Conditions must not depend on each other in a circle, got {circle}."
        ) from None
    return {name: conditions[name] for name in order}


def _checked_conditions(
    name: str, parameters: Mapping[str, Parameter]
) -> dict[str, frozenset[int]]:
    """Return the levels of other parameters that activate this one."""
    conditions = {}
    for parent, values in (parameters[name].when or {}).items():
        if parent not in parameters:
            raise ValueError(
                f"The condition of {name!r} needs a parameter of the space, got {parent!r}: "
                f"{nearest(parent, parameters)}"
            )
        parameter = parameters[parent]
        if math.isinf(parameter.scale.count):
            raise ValueError(
                f"The condition of {name!r} needs a parameter with separate values, "
                f"got {parent!r}: give it a step."
            )
        try:
            conditions[parent] = frozenset(
                int(parameter.condition_code_of(value)) for value in values
            )
        except ValueError as error:
            raise ValueError(f"The condition of {name!r}: {parent!r} {error}.") from None
    return conditions


def _condition_text(parameter: Parameter) -> str:
    return " and ".join(
        f"{parent!r} is {values[0]!r}" if len(values) == 1 else f"{parent!r} is in {[*values]}"
        for parent, values in (parameter.when or {}).items()
    )

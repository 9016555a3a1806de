"""Regions of a space: where some parameters have given values, and the others are searched.

What is left to search is a space of its own, of the parameters that are not fixed, so that
sampling, climbing and listing its points never touch the fixed ones. The model keeps seeing points
of the whole space, in which the fixed columns stand still.

Notation:
    given    values by name, as the user fixes them
    codes    of the parameters that are fixed: given ones, and those that must have one value
             for the given ones to be active
    x        rows of the whole space   (n, d)
    u        rows of the region        (n, k)
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from thomax.space.conditions import condition_text
from thomax.space.encoding import Places
from thomax.space.parameters import Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.support.spelling import nearest
from thomax.support.types import Params, ParamsLike

_Needed: TypeAlias = dict[str, frozenset[int]]


class Region:
    """A space as a whole: nothing is given.

    Args:
        whole: The space.
    """

    def __init__(self, whole: Space | Pool) -> None:
        self.whole = whole
        self.given: Params = {}
        self.space: Space | Pool | None = whole  # what is left to search; None for one point

    def inside(self, params: Params) -> Params | None:
        """Return a point of the whole space as one of the region; None where it lies elsewhere.

        Args:
            params: A point of the whole space, in canonical form.
        """
        return params

    def completed(self, params: Params) -> Params:
        """Return a point of the region with what is given.

        Args:
            params: A point of the region.
        """
        return params

    def project(self, x: np.ndarray) -> np.ndarray:
        """Return rows of the whole space without the columns of what is given.

        Args:
            x: Rows of the whole space, (..., d).
        """
        return x

    def embed(self, u: np.ndarray) -> np.ndarray:
        """Return rows of the region as rows of the whole space.

        Args:
            u: Rows of the region, (..., k).
        """
        return u

    def require_point(self, known: np.ndarray) -> None:
        """Refuse a region that the constraint leaves no point of.

        Args:
            known: Rows of the whole space that may help to find one.
        """


class PoolRegion(Region):
    """The candidates of a pool that have the given index, name, label or columns.

    Args:
        whole: The pool.
        given: Values by the names of a candidate's params.
    """

    def __init__(self, whole: Pool, given: ParamsLike) -> None:
        super().__init__(whole)
        self._selection, self.given = whole.having(given)
        self.space = self._selection

    def inside(self, params: Params) -> Params | None:
        """Return the candidate where it is one of these."""
        return params if self._selection.holds(params) else None


class SpaceRegion(Region):
    """The points of a space that have the given values.

    A parameter that is active only for some values of another one can be given without that one:
    then the other is searched among these values.

    Args:
        whole: The space.
        given: Values by the names of parameters.

    Examples:
        >>> from thomax import Categorical, Float
        >>> whole = Space({"kind": Categorical(["a", "b"]), "x": Float(0, 1)})
        >>> region = SpaceRegion(whole, {"kind": "b"})
        >>> region.space
        Space({'x': Float(0.0, 1.0)})
        >>> region.completed({"x": 0.75})
        {'kind': 'b', 'x': 0.75}
        >>> region.embed(np.array([[0.5]]))
        array([[0. , 1. , 0.5]])
    """

    def __init__(self, whole: Space, given: ParamsLike) -> None:
        super().__init__(whole)
        self._parameters = whole.parameters
        own = _given_codes(whole, given)
        self.given = {name: whole.parameters[name].value_of(code) for name, code in own.items()}
        self._codes, needed = _with_parents(whole, own)
        parameters = _free_parameters(whole, self._codes)
        columns = {block.name: block.columns for block in whole.blocks}
        every = np.arange(whole.dimension)
        self._free = np.concatenate([every[:0], *(every[columns[name]] for name in parameters)])
        self._base = np.zeros(whole.dimension)
        for name, code in self._codes.items():
            self._base[columns[name]] = whole.parameters[name].scale.place(np.array([code]))[0]
        self._fixed = {n: whole.parameters[n].value_of(code) for n, code in self._codes.items()}
        self.space = None
        if parameters:
            self.space = Space(parameters, constraint=self._constraint(whole, needed))
        else:
            _require_allowed(whole, self.completed({}), self.given)

    def inside(self, params: Params) -> Params | None:
        """Return the values of the parameters that are searched, where the others fit."""
        for name, code in self._codes.items():
            if name not in params or self._parameters[name].code_of(params[name]) != code:
                return None
        free = self.space.parameters if isinstance(self.space, Space) else {}
        return {name: value for name, value in params.items() if name in free}

    def completed(self, params: Params) -> Params:
        """Return all values in the order of the parameters."""
        known = {**self._fixed, **params}
        return {name: known[name] for name in self._parameters if name in known}

    def project(self, x: np.ndarray) -> np.ndarray:
        """Return the columns of the parameters that are searched."""
        return x[..., self._free]

    def embed(self, u: np.ndarray) -> Places:
        """Return rows with the columns of what is given."""
        x = np.broadcast_to(self._base, (*u.shape[:-1], len(self._base))).astype(u.dtype)
        x[..., self._free] = u
        return x

    def _constraint(self, whole: Space, needed: _Needed) -> Callable[[Params], bool] | None:
        """Return the constraint of the whole space, and that given parameters are active."""
        if whole.constraint is None and not needed:
            return None
        parameters, refuses, fixed = (
            whole.parameters, whole.constraint, whole.with_objects(self._fixed),
        )  # fmt: skip

        def allows(params: Params) -> bool:
            for name, levels in needed.items():
                if name not in params or parameters[name].code_of(params[name]) not in levels:
                    return False
            return refuses is None or bool(refuses({**fixed, **params}))

        return allows

    def require_point(self, known: np.ndarray) -> None:
        """Refuse values for which the constraint allows no others."""
        if isinstance(self.space, Space) and self.space.constraint is not None:
            try:
                self.space.sample(np.random.default_rng(0), 1, known=self.project(known))
            except ValueError as error:
                raise ValueError(f"Where given={self.given} holds: {error}") from error


def region_of(space: Space | Pool, given: ParamsLike | None) -> Region:
    """Return the region of a space where some parameters have given values.

    Args:
        space: The space, or a pool.
        given: Values by name; None or nothing for the whole space.

    Raises:
        ValueError: If there is no such region.
    """
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"given needs values by the names of parameters, got {given!r}.")
    if not given:
        return Region(space)
    return PoolRegion(space, given) if isinstance(space, Pool) else SpaceRegion(space, given)


def _given_codes(space: Space, given: ParamsLike) -> dict[str, float]:
    codes = {}
    for name, value in given.items():
        if name not in space.parameters:
            raise ValueError(
                f"given needs names of parameters, got {name!r}: {nearest(name, space.parameters)}"
            )
        try:
            codes[name] = space.parameters[name].code_of(value)
        except ValueError as error:
            raise ValueError(f"given: parameter {name!r} {error}.") from None
    return codes


def _with_parents(space: Space, given: dict[str, float]) -> tuple[dict[str, float], _Needed]:
    """Add what the conditions of given parameters leave no choice for.

    Returns:
        The codes of all fixed parameters, and the levels that others must have.
    """
    codes, needed = dict(given), _Needed()
    for name, parents in reversed([*space.conditions.items()]):
        if name not in codes and name not in needed:
            continue
        for parent, allowed in parents.items():
            levels = needed.pop(parent, allowed) & allowed
            if (parent in codes and codes[parent] not in allowed) or not levels:
                condition = condition_text(space.parameters[name])
                raise ValueError(
                    f"given needs parameters that can be active together, got {[*given]}: "
                    f"{name!r} is active only when {condition}."
                )
            if len(levels) == 1:
                codes.setdefault(parent, *levels)
            elif parent not in codes:
                needed[parent] = levels
    return codes, needed


def _free_parameters(space: Space, codes: Mapping[str, float]) -> dict[str, Parameter]:
    """Return the parameters that are left, with what is left of their conditions.

    Those that the fixed ones make inactive are left out.
    """
    never: set[str] = set()
    for name, parents in space.conditions.items():
        if any(p in never or codes.get(p, min(ok)) not in ok for p, ok in parents.items()):
            never.add(name)
    left = {}
    for name, parameter in space.parameters.items():
        if name not in codes and name not in never:
            conditions = parameter.conditions
            when = {p: values for p, values in conditions.items() if p not in codes}
            left[name] = replace(parameter, when=when or None) if conditions else parameter
    return left


def _require_allowed(space: Space, params: Params, given: Params) -> None:
    try:
        space.validate(params)
    except ValueError as error:
        raise ValueError(f"given needs values that a point has, got {given}: {error}") from None

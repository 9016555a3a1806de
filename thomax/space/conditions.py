"""Conditions: which parameters are active, given the values of others."""

import graphlib
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thomax.space.encoding import Codes
from thomax.space.numbering import Conditions
from thomax.space.parameters import Parameter
from thomax.support.spelling import nearest


def ordered_conditions(parameters: Mapping[str, Parameter]) -> Conditions:
    """Return the conditions of all parameters, each after those that it depends on.

    Args:
        parameters: The parameters of a space by name.

    Raises:
        ValueError: If one depends on a value that there is not, or on itself.
    """
    conditions = {name: _levels_of_parents(name, parameters) for name in parameters}
    try:
        order = [*graphlib.TopologicalSorter(conditions).static_order()]
    except graphlib.CycleError as error:
        circle = " -> ".join(repr(name) for name in error.args[1])
        raise ValueError(
            f"Conditions must not depend on each other in a circle, got {circle}."
        ) from None
    return {name: conditions[name] for name in order}


def where_active(
    conditions: Conditions, codes: Mapping[str, Codes]
) -> dict[str, NDArray[np.bool_]]:
    """Return for each parameter at which points it is active.

    Args:
        conditions: The conditions of all parameters, in order.
        codes: The codes of the points, an array (n,) for each parameter.
    """
    everywhere = np.ones(len(next(iter(codes.values()))), dtype=bool)
    found: dict[str, NDArray[np.bool_]] = {}
    for name, parents in conditions.items():
        found[name] = everywhere
        for parent, allowed in parents.items():
            found[name] = found[name] & found[parent] & np.isin(codes[parent], [*allowed])
    return found


def condition_text(parameter: Parameter) -> str:
    """Return the condition of a parameter in words.

    Args:
        parameter: A parameter with a condition.
    """
    return " and ".join(
        f"{parent!r} is {values[0]!r}" if len(values) == 1 else f"{parent!r} is in {[*values]}"
        for parent, values in parameter.conditions.items()
    )


def _levels_of_parents(
    name: str, parameters: Mapping[str, Parameter]
) -> dict[str, frozenset[int]]:
    """Return the levels of other parameters that activate this one."""
    conditions = {}
    for parent, values in parameters[name].conditions.items():
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

"""Scores on a region of a space: they are evaluated where the region lies in the whole."""

from dataclasses import dataclass

import numpy as np

from thomax.model.evaluation import Evaluator
from thomax.space.given import Region


@dataclass(frozen=True)
class EmbeddedEvaluator(Evaluator):
    """Functions of points of a whole space as functions of points of a region.

    Args:
        functions: The functions of points of the whole space.
        where: The region of the space.
    """

    functions: Evaluator
    where: Region

    @property
    def count(self) -> int:
        """How many functions there are, B."""
        return self.functions.count

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of all functions at the same points."""
        return self.functions.values(self.where.embed(x))

    def own_values(self, x: np.ndarray) -> np.ndarray:
        """Return the values of each function at its own points."""
        return self.functions.own_values(self.where.embed(x))

    def own_gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values and gradients along what is free of each function at its own points."""
        values, gradients = self.functions.own_gradients(self.where.embed(x))
        return values, self.where.project(gradients)

    def part(self, which: slice) -> "EmbeddedEvaluator":
        """Return some of the functions."""
        return EmbeddedEvaluator(self.functions.part(which), self.where)

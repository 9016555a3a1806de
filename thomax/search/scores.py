"""What both ways of maximising a score share: groups of its draws, and an error message."""

import math
from itertools import pairwise

import numpy as np

from thomax.model.evaluation import CHUNK, Evaluator, Score, evaluator

ROWS = 4 * CHUNK  # of a finite space read at once
NO_NUMBER = (
    "A policy's score needs to be a number somewhere, got none at any point: "
    "check the policy's settings."
)
_DRAWS = 16  # evaluated at once: more take memory, and wait for the slowest climb among them


def groups_of_draws(score: Score | Evaluator) -> list[Evaluator]:
    """Split the draws of a batch into groups of nearly the same size, not too large.

    Args:
        score: A batch of functions.
    """
    whole = evaluator(score)
    edges = np.linspace(0, whole.count, math.ceil(whole.count / _DRAWS) + 1).astype(int).tolist()
    return [whole.part(slice(*edge)) for edge in pairwise(edges)]

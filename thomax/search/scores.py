"""What both ways of maximising a score share: groups of its draws, and an error message."""

import math
from itertools import pairwise
from operator import itemgetter

import numpy as np

from thomax.model.draws import CHUNK, Score, batch_size, by_hand
from thomax.support.compilation import own_settings
from thomax.support.lazy_jax import jax

ROWS = 4 * CHUNK  # of a finite space read at once
NO_NUMBER = (
    "A policy's score needs to be a number somewhere, got none at any point: "
    "check the policy's settings."
)
_DRAWS = 16  # evaluated at once: more take memory, and wait for the slowest climb among them


def groups_of_draws(score: Score) -> list[Score]:
    """Split the draws of a batch into groups of nearly the same size, not too large.

    They become JAX's arrays here, once: else each of the many evaluations copies all weights.

    Args:
        score: A batch of functions.
    """
    count = batch_size(score)
    edges = np.linspace(0, count, math.ceil(count / _DRAWS) + 1).astype(int).tolist()
    hand_written = by_hand(score)
    if hand_written is not None:
        return [hand_written.part(slice(*edge)) for edge in pairwise(edges)]
    with own_settings(x64=True):
        groups = [jax.tree.map(itemgetter(slice(*edge)), score) for edge in pairwise(edges)]
        return [jax.device_put(group) for group in groups]

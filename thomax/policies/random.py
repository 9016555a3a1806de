"""Random and Sobol: policies that learn nothing, the baselines of all others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thomax.keys import Key, Stream, as_keys
from thomax.model.data import Data
from thomax.model.draws import DRAW_FIELDS, Draw, Units
from thomax.model.sobol import MOST_DIMENSIONS, sobol_point
from thomax.model.white_noise import noise_words, white_noise
from thomax.policies.base import Policy
from thomax.support.lazy_jax import jnp, pytree
from thomax.support.spelling import spell_checked
from thomax.support.types import Array

_PERIOD = 2**20  # of the Sobol points used: going to a point takes time linear in its index


@pytree(
    data_fields=[*DRAW_FIELDS, "words"],
    meta_fields=["single"],
)
@dataclass(frozen=True, repr=False)
class NoiseScore(Draw):
    """White noise: every point has a standard normal of its own, the same at every call.

    Args:
        words: Seeds of the noise, (B, 2).
    """

    words: np.ndarray

    def values(self, x: Array) -> Array:
        """Evaluate one score."""
        return white_noise(self.words, x)


@pytree(
    data_fields=[*DRAW_FIELDS, "target"],
    meta_fields=["single"],
)
@dataclass(frozen=True, repr=False)
class TargetScore(Draw):
    """Minus the squared distance to a target: the maximum is the nearest point that exists.

    Args:
        target: The targets in the cube, (B, d).
    """

    target: np.ndarray

    def values(self, x: Array) -> Array:
        """Evaluate one score."""
        return -jnp.sum((x.reshape(len(x), -1) - self.target) ** 2, axis=1)


@spell_checked
@dataclass(frozen=True)
class Random(Policy):
    """Score by white noise: the best of some points is one of them, uniformly at random.

    Examples:
        >>> data = Data(np.zeros((0, 2)), np.zeros(0))
        >>> pool = np.random.default_rng(0).uniform(-1, 1, (10, 2))
        >>> Random()(0, data)(pool).shape
        (10,)
    """

    search_near_best: ClassVar[bool] = False
    is_model: ClassVar[bool] = False
    avoids_failures: ClassVar[bool] = False

    def __call__(self, key: Key, data: Data) -> NoiseScore:
        """Return one score for each key."""
        keys, single = as_keys(key)
        return NoiseScore(**_no_units(keys, single), words=noise_words(keys, Stream.RANDOM_SCORE))


@spell_checked
@dataclass(frozen=True)
class Sobol(Policy):
    """Score by closeness to a point of a scrambled Sobol sequence in the cube [-1, 1]^d.

    The key's seed scrambles the sequence and the key's number is the index into it, so that the
    trials of a run fill the cube evenly.

    Examples:
        >>> data = Data(np.zeros((0, 2)), np.zeros(0))
        >>> scores = Sobol()(np.array([[7, 0], [7, 1]]), data)
        >>> bool(np.allclose(scores(scores.target).diagonal(), 0))
        True
    """

    search_near_best: ClassVar[bool] = False
    is_model: ClassVar[bool] = False
    avoids_failures: ClassVar[bool] = False

    def __call__(self, key: Key, data: Data) -> TargetScore:
        """Return one score for each key."""
        keys, single = as_keys(key)
        d = int(np.prod(data.x.shape[1:]))
        if d > MOST_DIMENSIONS:
            raise ValueError(f"Sobol needs <= {MOST_DIMENSIONS} columns, got {d}: use Random.")
        points = [sobol_point(d, int(seed), int(i) % _PERIOD) for seed, i in keys]
        target = (2 * np.stack(points) - 1).astype(np.float32)
        return TargetScore(**_no_units(keys, single), target=target)


def _no_units(keys: np.ndarray, single: bool) -> Units:
    """Return the fields of scores that are no estimate of the objective."""
    return {
        "centre": np.zeros(len(keys)),
        "scale": np.ones(len(keys)),
        "lifting": None,
        "warping": None,
        "single": single,
    }

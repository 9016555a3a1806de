"""Random streams: every random number of thomax is a pure function of a key.

A key is two unsigned 64-bit words, (seed, number), and a batch of B keys is an array (B, 2). What
else one key is used for is told apart by `Stream`. Streams come from NumPy: drawing a million
Gaussians costs a few milliseconds and, unlike `jax.random` under `vmap`, no compilation.
"""

import sys
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:  # importing JAX takes long, and the first points do without
    import jax

Key: TypeAlias = "int | Sequence[int] | np.ndarray | jax.Array"

NO_TRIAL = 2**63  # from here on numbers belong to no trial of a run
_WORD = 2**64


class Stream(IntEnum):
    """What random numbers of a key are for: streams of different numbers are independent.

    A number must never change: it would change the results of every seed. Two purposes may share
    one only if no search uses both with the same key.
    """

    RANDOM_SCORE = 0  # white noise of Random
    THETA0 = 1  # initial parameters of a network, weights of random features
    THETA0_PRIME = 2  # the second draw of parameters in Algorithms 1 and 2
    NEURAL_TS_NOISE = 2  # noise of Neural TS, which has no second draw of parameters
    EPS = 3  # observation noise added to the targets of a draw
    FREQUENCIES = 4  # of random Fourier features
    TAILS = 5  # divisors that give the frequencies of a Matern kernel their tails
    INITIAL_DESIGN = 11  # points before the policy takes over
    SEARCH = 12  # candidates and starts of the search for the maxima
    OPTUNA_CHOICE = 13  # which of several points a process of an Optuna study takes
    REPORT_POINTS = 21  # where the report averages over the space
    REPORT_CANDIDATES = 22  # which candidates of a large pool the report shows
    FAILURES = 31  # chains of the model of failures
    WEIGHTS = 41  # of objectives in a trade-off
    METRICS = 42  # seeds of the draws of further metrics


def make_key(seed: int, number: int = 0) -> np.ndarray:
    """Build the key of one draw.

    Args:
        seed: The seed of the run.
        number: The number of the draw, for example that of the trial it is for.

    Examples:
        >>> make_key(7, 3).tolist()
        [7, 3]
    """
    return np.array([seed % _WORD, number % _WORD], np.uint64)


def make_keys(seed: int, count: int, first: int = 0) -> np.ndarray:
    """Build keys with consecutive numbers, one for each draw of a batch.

    Args:
        seed: The seed of the run.
        count: How many keys.
        first: The number of the first one.

    Examples:
        >>> make_keys(7, 2, first=3).tolist()
        [[7, 3], [7, 4]]
    """
    return np.stack([make_key(seed, first + i) for i in range(count)])


def metric_keys(keys: np.ndarray, metric: int) -> np.ndarray:
    """Return keys for draws of one of several metrics, independent of those of the others.

    The first metric has the keys themselves: with one objective nothing else is drawn.

    Args:
        keys: The keys of the trials, (B, 2).
        metric: The position of the metric.
    """
    if metric == 0:
        return keys
    words = [np.random.SeedSequence([int(s), Stream.METRICS, metric]) for s in keys[:, 0]]
    seeds = [sequence.generate_state(1, np.uint64)[0] for sequence in words]
    return np.column_stack([np.array(seeds, np.uint64), keys[:, 1]])


def as_keys(key: Key) -> tuple[np.ndarray, bool]:
    """Return keys as an array (B, 2), and whether a single one was given.

    Args:
        key: An integer seed, one key (2,), a batch of keys (B, 2), or keys of JAX.
    """
    words = _words_of_jax(key) if "jax" in sys.modules else np.asarray(key)
    if words.dtype.kind not in "ui":
        raise TypeError(f"A key must hold integers, got {words.dtype}: use thomax.make_key(seed).")
    if words.ndim == 0:
        return make_key(int(words))[None], True
    if words.ndim not in (1, 2) or words.shape[-1] != 2 or words.size == 0:
        raise ValueError(
            f"A key must have shape (2,), a batch of keys (B, 2), got {words.shape}: "
            "use thomax.make_key(seed) or thomax.make_keys(seed, batch)."
        )
    return np.atleast_2d(words).astype(np.uint64), words.ndim == 1


def _words_of_jax(key: Key) -> np.ndarray:
    """Return the words of a key that may be JAX's; there are none where JAX is not imported."""
    import jax
    import jax.numpy as jnp

    from thomax.support.compilation import own_settings

    with own_settings():
        if isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            key = jax.random.key_data(key)
        return np.asarray(key)


def stream(key: np.ndarray, purpose: int) -> np.random.Generator:
    """Open a random stream of one key.

    Args:
        key: The key, (2,).
        purpose: A `Stream`, or a number of one's own that is not among them.
    """
    seed, number = (int(word) for word in key)
    # SeedSequence hashes its words; SFC64 is NumPy's fastest generator of normals.
    return np.random.Generator(
        np.random.SFC64(np.random.SeedSequence([seed, number, int(purpose)]))
    )


def normals(keys: np.ndarray, size: int, purpose: int) -> np.ndarray:
    """Draw standard normals for every key, as float32 (B, size).

    Args:
        keys: The keys, (B, 2).
        size: How many numbers for each key.
        purpose: As for `stream`.
    """
    return np.stack([stream(k, purpose).standard_normal(size, np.float32) for k in keys])

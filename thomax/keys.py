"""Random streams: every random number of thomax is a pure function of a key.

A key is two unsigned 64-bit words, (seed, number), and a batch of B keys is an array (B, 2). What
else one key is used for is told apart by `Stream`. Streams come from NumPy: drawing a million
Gaussians costs a few milliseconds and, unlike `jax.random` under `vmap`, no compilation.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from thomax.compilation import own_settings
from thomax.types import Array

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


def as_keys(key: Key) -> tuple[np.ndarray, bool]:
    """Return keys as an array (B, 2), and whether a single one was given.

    Args:
        key: An integer seed, one key (2,), a batch of keys (B, 2), or keys of JAX.
    """
    with own_settings():
        if isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            key = jax.random.key_data(key)
        words = np.asarray(key)
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


def noise_words(keys: np.ndarray, purpose: int) -> np.ndarray:
    """Return two 32-bit words for every key, (B, 2): the seeds of `white_noise`.

    Args:
        keys: The keys, (B, 2).
        purpose: As for `stream`.
    """
    return np.stack([stream(k, purpose).integers(2**32, size=2, dtype=np.uint32) for k in keys])


def white_noise(words: Array, x: Array) -> Array:
    """Return a standard normal for every point: a pure function of a key's words and of x.

    Threefry folds the bits of one coordinate after another into the key. It has no gradient.

    Args:
        words: Two 32-bit words from `noise_words`, (2,).
        x: Points (N, ...).
    """
    flat = jax.lax.stop_gradient(x.reshape(len(x), -1)).astype(jnp.float32)
    bits = jax.lax.bitcast_convert_type(jnp.where(flat == 0, 0.0, flat), jnp.uint32)  # -0 is 0
    key = jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")

    def fold(keys: jax.Array, column: jax.Array) -> tuple[jax.Array, None]:
        return jax.vmap(jax.random.fold_in)(keys, column), None

    keys = jax.lax.scan(fold, jnp.broadcast_to(key, len(x)), bits.T)[0]
    # Box-Muller, from 24 bits of each word, which is what float32 holds.
    u = ((jax.random.key_data(keys) >> 8).astype(jnp.float32) + 0.5) / 2**24
    return jnp.sqrt(-2 * jnp.log(u[:, 0])) * jnp.cos(2 * jnp.pi * u[:, 1])

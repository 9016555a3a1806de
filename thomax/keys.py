"""Random streams: every random number of thomax is a pure function of a key.

A key is two unsigned 64-bit words, (seed, number), and a batch of B keys is an array (B, 2).
Streams come from NumPy: drawing a million Gaussians costs a few milliseconds and, unlike
`jax.random` under `vmap`, no compilation.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from thomax.compilation import own_settings

Key: TypeAlias = "int | Sequence[int] | np.ndarray | jax.Array"

NO_TRIAL = 2**63  # from here on numbers belong to no trial of a run
_WORD = 2**64


def make_key(seed: int, number: int = 0) -> np.ndarray:
    """Build the key of one draw, for example of trial `number` of a run with this seed.

    Example:
        >>> make_key(7, 3).tolist()
        [7, 3]
    """
    return np.array([seed % _WORD, number % _WORD], np.uint64)


def make_keys(seed: int, count: int, first: int = 0) -> np.ndarray:
    """Build `count` keys with consecutive numbers, one for each draw of a batch.

    Example:
        >>> make_keys(7, 2, first=3).tolist()
        [[7, 3], [7, 4]]
    """
    return np.stack([make_key(seed, first + i) for i in range(count)])


def as_keys(key: Key) -> tuple[np.ndarray, bool]:
    """Return keys as an array (B, 2), and whether a single one was given.

    Accepts an integer seed, one key (2,), a batch of keys (B, 2), and JAX's own keys.
    """
    words: Any = key
    with own_settings():
        if isinstance(words, jax.Array) and jnp.issubdtype(words.dtype, jax.dtypes.prng_key):
            words = jax.random.key_data(words)
        words = np.asarray(words)
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


def stream(key: np.ndarray, purpose: int = 0) -> np.random.Generator:
    """Open the random stream of one key; different purposes are independent."""
    seed, number = (int(word) for word in key)
    # SeedSequence hashes its words; SFC64 is NumPy's fastest generator of normals.
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, number, purpose])))


def normals(keys: np.ndarray, size: int, purpose: int = 0) -> np.ndarray:
    """Draw `size` standard normals for every key, as float32 (B, size)."""
    return np.stack([stream(k, purpose).standard_normal(size, np.float32) for k in keys])


def noise_words(keys: np.ndarray, purpose: int = 0) -> np.ndarray:
    """Return two 32-bit words for every key, (B, 2): the seeds of `white_noise`."""
    return np.stack([stream(k, purpose).integers(2**32, size=2, dtype=np.uint32) for k in keys])


def white_noise(words: Any, x: Any) -> Any:
    """Return a standard normal for every point: a pure function of a key's words and of x.

    Threefry folds the bits of one coordinate after another into the key. It has no gradient.
    """
    flat = jax.lax.stop_gradient(x.reshape(len(x), -1)).astype(jnp.float32)
    bits = jax.lax.bitcast_convert_type(jnp.where(flat == 0, 0.0, flat), jnp.uint32)  # -0 is 0
    key = jax.random.wrap_key_data(words, impl="threefry2x32")

    def fold(keys: Any, column: Any) -> tuple[Any, None]:
        return jax.vmap(jax.random.fold_in)(keys, column), None

    keys = jax.lax.scan(fold, jnp.broadcast_to(key, len(x)), bits.T)[0]
    # Box-Muller, from 24 bits of each word, which is what float32 holds.
    u = ((jax.random.key_data(keys) >> 8).astype(jnp.float32) + 0.5) / 2**24
    return jnp.sqrt(-2 * jnp.log(u[:, 0])) * jnp.cos(2 * jnp.pi * u[:, 1])

"""White noise over points, for policies that score by noise.

Notation:
    words   two 32-bit words of a key, the seed of a function    (2,)
    x       points                                               (N, ...)
"""

import numpy as np

from thomax.keys import stream
from thomax.support.lazy_jax import jax, jnp
from thomax.support.types import Array


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

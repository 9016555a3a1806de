"""What the model expects of a pool's candidates, in numbers and, for images, in pictures."""

import base64
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from thomax.report.belief import Belief
from thomax.space.pool import Pool
from thomax.storage.snapshot import Snapshot
from thomax.storage.trial import Trial
from thomax.support.types import Params

_SHOWN = 40
_MOST_NUMBERS = 2**19  # features that are scored, in all
_FEWEST_SCORED, _MOST_SCORED = 256, 4096
_LARGEST_SIDE = 256  # pixels; larger images are thinned out


@dataclass(frozen=True)
class Candidates:
    """The candidates that the model expects most of, the best first, with 5–95 % bands.

    Args:
        params: The candidates.
        mean: What the model expects of each.
        low: The 5 % quantiles of the posterior draws.
        high: The 95 % quantiles of the posterior draws.
        scored: How many candidates of the pool were scored.
    """

    params: list[Params]
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scored: int


def candidates_of(
    snapshot: Snapshot, pool: Pool, belief: Belief, rng: np.random.Generator
) -> Candidates:
    """Score the pool, or the evaluated candidates and a random part of a large one.

    Args:
        snapshot: The search.
        pool: Its pool.
        belief: The posterior draws.
        rng: What chooses the random part.
    """
    most = min(max(_MOST_NUMBERS // pool.dimension, _FEWEST_SCORED), _MOST_SCORED)
    chosen = rng.permutation(pool.size)[:most]
    known = pool.index([t.params for t in snapshot.complete])
    indices = np.unique(np.concatenate([chosen, np.array(known, np.int64)]))
    draws = belief.values(pool.at(indices))
    top = np.argsort(-snapshot.sign * draws.mean(0), kind="stable")[:_SHOWN]
    low, high = np.quantile(draws[:, top], [0.05, 0.95], axis=0)
    return Candidates(pool.params(indices[top]), draws[:, top].mean(0), low, high, len(indices))


def pictures_of(pool: Pool, trials: list[Trial]) -> list[str]:
    """Return the images of trials as data URIs; nothing for candidates that are no images.

    Args:
        pool: The pool of the trials.
        trials: The trials to show.
    """
    if len(pool.shape) != 3 or not trials:
        return []
    images = np.asarray(pool.at(pool.index([t.params for t in trials])), np.float64)
    low, high = images.min((0, 1, 2)), images.max((0, 1, 2))
    images = (images - low) / np.where(high > low, high - low, 1.0)
    every = -(-max(images.shape[1:3]) // _LARGEST_SIDE)
    return [png_uri(np.rint(255 * image[::every, ::every]).astype(np.uint8)) for image in images]


def png_uri(pixels: np.ndarray) -> str:
    """Encode bytes (h, w, channels) as a PNG: colours for 3 or 4 channels, else the first as grey.

    Args:
        pixels: The image.

    Examples:
        >>> png_uri(np.zeros((2, 2, 1), np.uint8))[:30]
        'data:image/png;base64,iVBORw0K'
    """
    height, width, channels = pixels.shape
    kind = {3: 2, 4: 6}.get(channels, 0)
    shown = pixels if kind else pixels[:, :, :1]
    rows = b"".join(b"\0" + row.tobytes() for row in shown)  # each row: no filter, then its bytes
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in chunks)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

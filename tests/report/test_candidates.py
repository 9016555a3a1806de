"""Pools: what the model expects of candidates, and images without an image library."""

import base64
import io

import numpy as np
import pytest
from PIL import Image
from reading import SMALL, tell_all

from thomax import Optimizer, Pool
from thomax.report.belief import belief_of
from thomax.report.candidates import candidates_of, pictures_of, png_uri
from thomax.report.writing import snapshot_of


def decoded(uri):
    head, _, body = uri.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(body))))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_png_holds_the_pixels(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    np.testing.assert_array_equal(decoded(png_uri(pixels)).reshape(pixels.shape), pixels)


def test_other_numbers_of_channels_show_the_first_in_grey():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 2), dtype=np.uint8)
    np.testing.assert_array_equal(decoded(png_uri(pixels)), pixels[:, :, 0])


def test_pictures_run_from_black_to_white_and_are_no_larger_than_needed():
    images = np.zeros((3, 300, 600))
    images[1, :, 300:] = 8.0
    pool = Pool(images)
    optimizer = Optimizer(pool, SMALL, seed=0)
    tell_all(optimizer, 3, lambda p: p["index"])
    black, half, _ = (decoded(uri) for uri in pictures_of(pool, sorted_trials(optimizer)))
    assert black.max() == 0
    assert half.shape == (100, 200)
    assert (half[:, :100] == 0).all()
    assert (half[:, 100:] == 255).all()


def sorted_trials(optimizer):
    return sorted(optimizer.trials, key=lambda t: t.params["index"])


def test_rows_of_numbers_are_no_pictures():
    pool = Pool(np.eye(4))
    optimizer = Optimizer(pool, SMALL, seed=0)
    tell_all(optimizer, 1, lambda p: p["index"])
    assert pictures_of(pool, optimizer.trials) == []
    assert pictures_of(Pool(np.ones((2, 3, 3))), []) == []


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_candidates_expected_to_be_best_come_first(direction):
    pool = Pool(np.linspace(-1, 1, 50)[:, None])
    optimizer = Optimizer(pool, SMALL, seed=0, initial=9, direction=direction)
    tell_all(optimizer, 6, lambda p: float(p["index"]))
    snapshot = snapshot_of(optimizer)
    belief = belief_of(snapshot)
    found = candidates_of(snapshot, pool, belief, np.random.default_rng(0))
    draws = belief.values(pool.at(np.arange(50)))
    order = np.argsort(-snapshot.sign * draws.mean(0))[:40]
    assert [p["index"] for p in found.params] == order.tolist()
    np.testing.assert_allclose(found.mean, draws.mean(0)[order], rtol=1e-4)
    np.testing.assert_allclose(found.high, np.quantile(draws, 0.95, axis=0)[order], rtol=1e-4)
    assert found.scored == 50

"""Find the image that looks most like a zero: the paper's optimisation over images.

Candidates are the 10,000 test images of MNIST. The score of one is the probability of class 0 that
a convolutional network gives it, which was trained on the training images. The paper describes
neither that network nor how many random points come first: here it is a small one, trained for two
epochs to about 98 % accuracy, and there are 5 points, among which a zero is rather the exception.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.convnet import Architecture, fit, optax_for, probabilities, scaled
from benchmarks.tasks.datasets import Dataset, cached, mnist
from benchmarks.tasks.problem import Params, Problem
from thomax.space.pool import Pool

NETWORK = Architecture(channels=16, kernel=3, pooling=3, hidden=64)
IMAGES_SEEN = 120_000  # in training: two epochs of MNIST
BATCH_SIZE, LEARNING_RATE = 64, 2e-3


def images() -> Problem:
    """Return the problem of the probability of class 0; the first call trains for a minute."""
    optax_for("images")
    train, test = mnist("images")
    name = "-".join(["images", *train.name.lower().split()])
    scores = cached(name, lambda: {"scores": probabilities_of_zero(train, test)})["scores"]

    def judge(params: Params) -> float:
        return float(scores[params["index"]])

    return Problem(
        "images",
        Pool(test.x),
        lambda params, rng: judge(params),
        judge,
        float(scores.max()),
        initial=5,
        data=train.name,
    )


def probabilities_of_zero(train: Dataset, test: Dataset) -> NDArray[np.float64]:
    """Train on one set and return the probabilities of class 0 for the other."""
    epochs = round(IMAGES_SEEN / len(train.y))
    w = fit(NETWORK, scaled(train.x), train.y, epochs, BATCH_SIZE, LEARNING_RATE)
    return probabilities(NETWORK, w, scaled(test.x))[:, 0]

"""One score of draws of several metrics: the best where all limits hold, else least violation."""

from dataclasses import dataclass

import numpy as np
import pytest

from thomax.model.constrained import DrawnLimit, MetricScore
from thomax.model.evaluation import Evaluator
from thomax.model.tradeoffs import First, chebyshev


@dataclass(frozen=True)
class Waves(Evaluator):
    """B sines along random directions."""

    w: np.ndarray  # (B, d)

    @property
    def count(self):
        return len(self.w)

    def values(self, x):
        return np.sin(self.w @ x.T)

    def own_values(self, x):
        return np.sin(np.einsum("bd,bnd->bn", self.w, x))

    def own_gradients(self, x):
        slope = np.cos(np.einsum("bd,bnd->bn", self.w, x))
        return self.own_values(x), slope[..., None] * self.w[:, None]

    def part(self, which):
        return Waves(self.w[which])


def made(seed=0, draws=4, limits=2, threshold=0.3):
    rng = np.random.default_rng(seed)
    metrics = [Waves(rng.normal(size=(draws, 2)) * 2) for _ in range(1 + limits)]
    bounds = [DrawnLimit(1 + i, threshold * (-1) ** i, is_lower=i % 2 == 0) for i in range(limits)]
    return MetricScore(metrics, 1, First(), bounds)


def by_hand(score, x):
    """Return each draw's best position, by listing all points."""
    f = [m.values(x) for m in score.metrics]
    chosen = []
    for b in range(score.count):
        missing = [
            max(0.0, (limit.threshold - f[limit.column][b, i]) * (1 if limit.is_lower else -1))
            for i in range(len(x)) for limit in score.limits
        ]  # fmt: skip
        total = np.reshape(missing, (len(x), -1)).sum(axis=1)
        feasible = [i for i in range(len(x)) if total[i] == 0]
        best = max(feasible, key=lambda i: f[0][b, i]) if feasible else int(total.argmin())
        chosen.append(best)
    return chosen


@pytest.mark.parametrize("threshold", [-0.5, 0.3, 0.9, 2.0])
def test_the_best_point_is_that_of_the_rule(threshold):
    """With 2.0 no point is feasible: a sine is never that large."""
    score = made(threshold=threshold)
    x = np.random.default_rng(1).uniform(-1, 1, (300, 2))
    assert score.values(x).argmax(axis=1).tolist() == by_hand(score, x)
    own = score.own_values(np.broadcast_to(x, (score.count, *x.shape)))
    np.testing.assert_allclose(own, score.values(x))
    some = score.part(slice(1, 3))
    assert some.count == 2
    np.testing.assert_array_equal(some.values(x), score.values(x)[1:3])


def test_gradients_are_those_of_finite_differences():
    rng = np.random.default_rng(0)
    metrics = [Waves(rng.normal(size=(3, 2))) for _ in range(3)]
    tradeoff = chebyshev(rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(2), 5))
    limits = [DrawnLimit(2, 0.1, is_lower=True), DrawnLimit(0, 0.5, is_lower=False)]
    score, step = MetricScore(metrics, 2, tradeoff, limits), 1e-6
    x = rng.uniform(-1, 1, (3, 50, 2))
    gradients = score.own_gradients(x)[1]
    for k in range(2):
        moved = step * np.eye(2)[k]
        up, down = (score.own_gradients(x + s * moved)[0] for s in (1, -1))
        np.testing.assert_allclose(
            gradients[..., k], (up - down) / (2 * step), rtol=1e-3, atol=1e-4
        )


def test_a_climb_from_either_side_ends_just_inside_the_border():
    """The objective grows to the right, and the limit allows x <= 0.25."""
    w = np.array([[1.0]])
    score = MetricScore([Waves(w), Waves(w)], 1, First(), [DrawnLimit(1, np.sin(0.25), False)])
    x = np.array([[[-0.9], [0.9]]])
    for _ in range(2000):
        x = np.clip(x + 1e-3 * score.own_gradients(x)[1], -1, 1)
    assert (x <= 0.25).all()
    assert (x > 0.2).all()
    assert (score.own_values(x) > -1).all()

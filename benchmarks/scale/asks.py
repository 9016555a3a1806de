"""Suggestions: ours by size, and what one more observation costs."""

import numpy as np

import thomax as tx
from benchmarks.scale.timing import spent, timed
from thomax.model.blas import small_matrices


def history(n, d):
    """Return a space, and points of it with noisy values."""
    space = {f"x{i}": tx.Float(0, 1) for i in range(d)}
    rng = np.random.default_rng(0)
    x = tx.Space(space).sample(rng, n)
    values = np.sin(3 * x).sum(axis=1) + 0.1 * rng.normal(size=n)
    return space, tx.Space(space).decode(x), values.tolist()


def our_asks(n, d, batch):
    """Return an optimiser with a history, and a function that asks and leaves no trace."""
    space, points, values = history(n, d)
    optimizer = tx.Optimizer(space, seed=0, initial=0)
    optimizer.tell_all([(p, v, None) for p, v in zip(points, values, strict=True)])

    def ask():
        for trial in optimizer.ask(batch):
            optimizer.drop(trial)

    return optimizer, ask


def measure_asks(n, d, batch):
    _, ask = our_asks(n, d, batch)
    return timed(ask, 1 if n > 3000 or batch > 64 else 3)


def measure_update(n, d):
    """Ask on n observations, again on the same, and after one more; time the steps of an ask."""
    optimizer, ask = our_asks(n, d, 1)
    _, other = our_asks(n + 1, d, 1)
    other()
    found = {"first": spent(ask)["cpu_s"], "again": spent(ask)["cpu_s"]}
    _, points, values = history(n + 1, d)
    optimizer.tell(points[-1], values[-1])
    found["one more"] = spent(ask)["cpu_s"]
    data, key = optimizer.snapshot().data(), tx.make_keys(0, 1)
    with small_matrices(n):
        prior = timed(lambda: optimizer.policy.prior(data), 3)["cpu_s"]
        draw = timed(lambda: optimizer.policy(key, data), 3)["cpu_s"]
    rest = {"scales and noise": prior, "draw": draw - prior, "search": found["one more"] - draw}
    return found | rest

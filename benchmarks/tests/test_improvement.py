"""BoTorch's qLogNEI written out, against BoTorch's own and against its definition."""

import numpy as np
import pytest

pytest.importorskip("botorch", exc_type=ImportError)

import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement

from benchmarks.rivals import make_rival
from benchmarks.rivals.botorch import fitted, seeded, tensor
from benchmarks.rivals.improvement import fast_forward
from thomax.space.parameters import Float
from thomax.space.space import Space


def acquisition(n, d, noise):
    """Return qLogNEI after n noisy values of a wave with a large mean."""
    rng = np.random.default_rng(n)
    x = rng.random((n, d))
    y = 100 + 5 * np.sin(3 * x.sum(axis=1)) + noise * rng.normal(size=n)
    return qLogNoisyExpectedImprovement(fitted(tensor(x), y), tensor(x), prune_baseline=True)


def value_and_gradient(function, x):
    x = x.clone().requires_grad_(True)
    value = function(x)
    return value.detach().numpy(), torch.autograd.grad(value.sum(), x)[0].numpy()


@pytest.mark.parametrize(("n", "d", "noise"), [(12, 3, 0.0), (40, 6, 1.0)])
def test_botorch_computes_the_same_values_and_gradients(n, d, noise):
    with seeded(1):
        own = acquisition(n, d, noise)
        x = tensor(np.random.default_rng(0).random((20, 1, d)))
        expected = value_and_gradient(own, x)
        written_out = fast_forward(own)
        found = value_and_gradient(written_out, x)
        old = written_out(own.X_baseline[:, None])
    assert len(own.X_baseline) > 1
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    assert found[1] == pytest.approx(expected[1], rel=1e-6, abs=1e-9)
    assert (old.exp() < 1e-3).all()  # of the baseline itself, where the rest is rounding


def test_it_is_the_expected_improvement_of_joint_samples():
    with seeded(2):
        own = acquisition(12, 2, 2.0)
        x = tensor(np.random.default_rng(1).random((100, 1, 2)))
        x = x[own(x).argmax()][None]
        both = torch.cat([own.X_baseline, x[0]])
        f = own.model.posterior(both).rsample(torch.Size([200_000])).detach().numpy()[..., 0]
        found = float(fast_forward(own)(x).exp())
    improvement = np.maximum(f[:, -1] - f[:, :-1].max(axis=1), 0)
    # BoTorch's 512 quasi-random samples are better than independent ones, which have this error.
    error = improvement.std() / np.sqrt(512)
    assert improvement.mean() > 3 * error
    assert found == pytest.approx(improvement.mean(), abs=3 * error)


def test_a_search_proposes_the_same_first_point_with_either(monkeypatch):
    space = Space({name: Float(-2, 2) for name in "xyz"})
    rng = np.random.default_rng(3)
    told = [(p, -sum(v**2 for v in p.values())) for p in space.decode(space.sample(rng, 8))]

    def proposed():
        rival = make_rival("botorch-qlognei", space, 0)
        for params, value in told:
            rival.tell(params, value)
        return list(rival.ask(1)[0].values())

    found = proposed()
    monkeypatch.setattr("benchmarks.rivals.botorch.fast_forward", lambda own: own.forward)
    assert found == pytest.approx(proposed(), abs=1e-6)

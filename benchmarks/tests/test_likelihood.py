"""BoTorch's loss written out: against SciPy, against differences, and against BoTorch itself."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.rivals.likelihood import fast_loss, log_likelihood, log_normal

rng = np.random.default_rng(0)
X, Y = rng.uniform(size=(12, 3)), rng.normal(size=12)
D = np.square(X[:, None] - X[None])
AT = np.array([0.3, 0.8, 1.7, 0.05, 0.4])  # three length scales, noise, constant


def likelihood(at):
    return log_likelihood(D, Y, at[:3], at[3], at[4])


def test_the_value_is_that_of_a_normal_density():
    covariance = np.exp(-0.5 * (D / AT[:3] ** 2).sum(axis=-1)) + AT[3] * np.eye(len(Y))
    expected = stats.multivariate_normal.logpdf(Y, np.full(len(Y), AT[4]), covariance)
    assert likelihood(AT)[0] == pytest.approx(expected, rel=1e-12)


def test_the_derivatives_are_those_of_the_value():
    steps = 1e-6 * np.eye(len(AT))
    numeric = [(likelihood(AT + h)[0] - likelihood(AT - h)[0]) / 2e-6 for h in steps]
    assert np.concatenate(likelihood(AT)[1:]) == pytest.approx(numeric, rel=1e-6)


def test_priors_arelog_normal():
    at, loc, scale = AT[:3], -0.5, 1.3
    value, slope = log_normal(at, loc, scale)
    assert value == pytest.approx(stats.lognorm.logpdf(at, scale, scale=np.exp(loc)).sum())
    steps = 1e-6 * np.eye(3)
    numeric = [
        (log_normal(at + h, loc, scale)[0] - log_normal(at - h, loc, scale)[0]) / 2e-6
        for h in steps
    ]
    assert slope == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_botorch_computes_the_same_loss_and_gradient(seed):
    pytest.importorskip("botorch", exc_type=ImportError)
    import torch
    from botorch.models import SingleTaskGP
    from botorch.optim.closures import get_loss_closure_with_grads
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(torch.as_tensor(X), torch.as_tensor(3 + 2 * Y)[:, None])
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    mll.train()
    own = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in mll.parameters():
            parameter.copy_(torch.as_tensor(own.uniform(0.1, 1, parameter.shape)))
    value, gradient = get_loss_closure_with_grads(mll, dict(mll.named_parameters()))()
    expected = [float(value.detach()), *(g.numpy().ravel().copy() for g in gradient)]
    value, gradient = fast_loss(mll)()
    found = [float(value), *(g.numpy().ravel() for g in gradient)]
    # BoTorch keeps its priors' numbers in single precision.
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-6)

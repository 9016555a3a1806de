"""The loss by which BoTorch fits its default Gaussian process, and its gradient, written out.

`fit_gpytorch_mll` takes such a closure in place of its own, which spends most of its time on the
way through GPyTorch's layers. Model, priors, bounds and optimiser stay BoTorch's.

Notation:
    D       squared differences of the points, dimension by dimension   (n, n, d)
    scales  of the dimensions; K = exp(-0.5 sum_k D_k / scales_k^2)      (d,)
    A       K + noise
    r       targets less the constant mean                               (n,)
    W       A^-1 r r' A^-1 - A^-1: along dA the log likelihood changes by tr(W dA) / 2
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def fast_loss(mll: Any) -> Callable[[], tuple[Any, list[Any]]]:
    """Return BoTorch's closure for a SingleTaskGP with its default kernel and likelihood."""
    import torch
    from linear_operator.utils.errors import NotPSDError

    kernel, likelihood = mll.model.covar_module, mll.likelihood.noise_covar
    known = (kernel.raw_lengthscale, likelihood.raw_noise, mll.model.mean_module.raw_constant)
    beliefs = kernel.lengthscale_prior, likelihood.noise_prior
    priors = [(float(p.loc), float(p.scale)) for p in beliefs]
    x, y = (t.detach().numpy() for t in (mll.model.train_inputs[0], mll.model.train_targets))
    D = np.square(x[:, None, :] - x[None, :, :])
    parameters = list(mll.parameters())
    order = [next(i for i, k in enumerate(known) if k is p) for p in parameters]

    def closure() -> tuple[Any, list[Any]]:
        scales, noise, constant = (p.detach().numpy().ravel() for p in known)
        try:
            value, *slopes = log_likelihood(D, y, scales, noise[0], constant[0])
        except np.linalg.LinAlgError as error:
            raise NotPSDError(str(error)) from error  # then BoTorch starts from elsewhere
        for i, at in enumerate((scales, noise)):
            density, slope = log_normal(at, *priors[i])
            value, slopes[i] = value + density, slopes[i] + slope
        for parameter, i in zip(parameters, order, strict=True):
            parameter.grad = torch.from_numpy(-slopes[i] / len(y)).reshape(parameter.shape)
        return torch.tensor(-value / len(y)), [p.grad for p in parameters]

    return closure


def log_likelihood(
    D: Array, y: Array, scales: Array, noise: float, constant: float
) -> tuple[float, Array, Array, Array]:
    """Return the log likelihood, and its derivatives by scales, noise and constant."""
    n = len(y)
    K = np.exp(-0.5 * (D @ scales**-2))
    L = np.linalg.cholesky(K + noise * np.eye(n))
    half = np.linalg.inv(L)
    inverse = half.T @ half
    r = y - constant
    solved = inverse @ r
    value = -0.5 * (r @ solved + n * math.log(2 * math.pi)) - np.log(np.diagonal(L)).sum()
    W = np.outer(solved, solved) - inverse
    by_scales = 0.5 * ((W * K).ravel() @ D.reshape(n * n, -1)) / scales**3
    return value, by_scales, np.array([0.5 * np.trace(W)]), np.array([solved.sum()])


def log_normal(at: Array, loc: float, scale: float) -> tuple[float, Array]:
    """Return the log density of independent log-normal numbers, and its derivatives."""
    z = (np.log(at) - loc) / scale
    density = -0.5 * z**2 - np.log(at * scale * math.sqrt(2 * math.pi))
    return float(density.sum()), -(z / scale + 1) / at

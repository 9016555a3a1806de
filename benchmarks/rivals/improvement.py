"""What BoTorch's qLogNEI says of single points, written out.

BoTorch asks GPyTorch for the joint posterior of the baseline and of each new point. Here all that
does not depend on the new point is computed once. Model, baseline, samples and the smoothed
improvement stay BoTorch's.

Notation:
    X, b   observed points; those of them that may be the best, the baseline     (n, d), (m, d)
    e      k(x, [X, b]), which is all that is seen of a new point x              (n + m,)
    C      of the observations: C C' = k(X, X) + noise                           (n, n)
    L      of the baseline's posterior covariance: L L'                          (m, m)
    Z, z   BoTorch's normal numbers for the baseline and for the new point       (S, m), (S,)
    best   the best of the baseline in each sample                               (S,)

    f(x) = mean(x) + Z u + z sqrt(variance(x) - u'u),    u = L^-1 covariance(b, x)
"""

from collections.abc import Callable
from typing import Any


def fast_forward(acquisition: Any) -> Callable[[Any], Any]:
    """Return how a qLogNEI of a default SingleTaskGP judges points of shape (..., 1, d)."""
    import torch
    from botorch.utils.safe_math import fatplus
    from linear_operator.utils.cholesky import psd_safe_cholesky
    from linear_operator.utils.errors import NotPSDError

    own, model, b = acquisition.forward, acquisition.model, acquisition.X_baseline
    with torch.no_grad():
        acquisition(b[:1])  # now BoTorch has drawn z
        Z, z = acquisition.sampler.base_samples.reshape(-1, len(b) + 1).split([len(b), 1], dim=1)
        best = acquisition.baseline_obj.amax(dim=-1)
        X, n = model.train_inputs[0], len(model.train_targets)
        scales, constant = model.covar_module.lengthscale, model.mean_module.constant
        shift, unit = model.outcome_transform.means[0, 0], model.outcome_transform.stdvs[0, 0]
        points = torch.cat([X, b]) / scales
        k = _kernel(points, points[:n])
        C = torch.linalg.cholesky(k[:n] + model.likelihood.noise * torch.eye(n).to(X))
        to_mean = torch.cholesky_solve((model.train_targets - constant)[:, None], C)[:, 0]
        to_white = torch.linalg.inv(C).T
        to_baseline = torch.cat([-torch.cholesky_solve(k[n:].T, C), torch.eye(len(b)).to(X)])
        L = acquisition._baseline_L
        to_u = torch.linalg.solve_triangular(L, unit**2 * to_baseline.T, upper=False).T

    def forward(x: Any) -> Any:
        e = _kernel(x[..., 0, :] / scales, points)
        mean = shift + unit * (constant + e[..., :n] @ to_mean)
        u = e @ to_u
        variance = unit**2 * (1 - (e[..., :n] @ to_white).square().sum(dim=-1))
        left = variance - u.square().sum(dim=-1)
        try:
            root = psd_safe_cholesky(left[..., None, None], max_tries=6)[..., 0]
        except NotPSDError:  # rounding of large values; BoTorch then samples in another way
            return own(x)
        f = mean[..., None] + u @ Z.T + root @ z.T
        return fatplus(f - best, tau=acquisition.tau_relu).mean(dim=-1).log()

    return forward


def _kernel(x: Any, y: Any) -> Any:
    squares = x.square().sum(dim=-1)[..., None] + y.square().sum(dim=-1) - 2 * x @ y.T
    return squares.clamp_min(0).mul(-0.5).exp()

"""Gaussian algebra in n x n form, in float64: solves, means, variances, draws, evidence.

Everything here is NumPy and SciPy on small matrices: no compilation, and double precision whatever
JAX is set to. No p x p matrix appears anywhere.

Notation:
    K      kernel matrix of the observed points            (n, n)
    k      covariances of observed with other points       (n, N)
    A      K + s2 I, s2 = noise_std^2                      (n, n)
           or K + diag(s2), with a variance for each value
    y      observed values                                 (n,)
"""

import math

import numpy as np
import scipy.linalg
import scipy.linalg.lapack

from thomax.model.noise import Noise

SMALLEST_VARIANCE = 1e-12  # under a square root, so that its derivative stays finite
_SMALL = 400  # rows below which a factorisation takes about a millisecond
_JITTERS = (0.0, 1e-12, 1e-9, 1e-6, 1e-3)  # relative to the mean of the diagonal

_SHORT_LENGTHS = (0.003, 0.01, 0.03, 0.1)  # edges of the cube
_ROUNDING = 0.01  # of the noise: what still differs at the same point


class Factor:
    """The Cholesky factor of K + s2 I, with as little jitter as it takes.

    Args:
        K: The kernel matrix, (n, n).
        noise_variance: What is added to the diagonal, s2: one, or one for each point, (n,).

    Examples:
        >>> Factor(3.0 * np.eye(2), noise_variance=1.0).solve(np.array([4.0, 8.0])).tolist()
        [1.0, 2.0]
    """

    def __init__(self, K: np.ndarray, noise_variance: float | np.ndarray) -> None:
        diagonal = np.diag_indices(len(K))
        scale = float(np.mean(K[diagonal])) if len(K) else 1.0
        for jitter in _JITTERS:
            A = np.array(K, np.float64)
            A[diagonal] += noise_variance + jitter * scale
            lower = _cholesky(A)
            if lower is not None:
                self.lower = lower
                return
        raise np.linalg.LinAlgError("K + s2 I is not positive definite: K is not a kernel matrix.")

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return A^-1 b.

        Args:
            b: The right-hand sides, (n,) or (n, N).
        """
        # The transpose is in LAPACK's order: it is not copied.
        return np.asarray(scipy.linalg.cho_solve((self.lower.T, False), b, check_finite=False))

    def half_solve(self, b: np.ndarray) -> np.ndarray:
        """Return L^-1 b, whose columns have the squared norms b^T A^-1 b.

        Args:
            b: The right-hand sides, (n,) or (n, N).
        """
        return np.asarray(
            scipy.linalg.solve_triangular(self.lower.T, b, trans="T", check_finite=False)
        )

    def log_determinant(self) -> float:
        """Return log det A."""
        return 2.0 * float(np.log(np.diag(self.lower)).sum())


def _cholesky(A: np.ndarray) -> np.ndarray | None:
    """Return the lower factor of A, which is overwritten, or None if A is not positive definite.

    SciPy's copies nothing: small matrices take it half the time. But it holds Python's lock;
    beside NumPy's, which large ones take, other threads can run.
    """
    if 0 < len(A) < _SMALL:
        upper, failed = scipy.linalg.lapack.dpotrf(A.T, overwrite_a=True)
        return None if failed else upper.T
    try:
        return np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return None


def mean_and_covariance(
    K: np.ndarray,
    k: np.ndarray,
    prior: np.ndarray,
    y: np.ndarray,
    noise_std: float | np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior mean k^T A^-1 y and covariance prior - k^T A^-1 k at N points.

    Args:
        K: The kernel matrix of the observed points, (n, n).
        k: The covariances of observed with other points, (n, N).
        prior: The prior covariances of the other points, (N, N).
        y: The observed values, (n,).
        noise_std: The standard deviation of the noise: one, or one for each value, (n,).
    """
    factor = Factor(K, noise_std**2)
    half = factor.half_solve(k)
    return half.T @ factor.half_solve(y), prior - half.T @ half


def unperturbed_covariance(
    K: np.ndarray, k: np.ndarray, prior: np.ndarray, noise_std: float | np.ndarray
) -> np.ndarray:
    """Return prior - k^T A^-1 k - k^T A^-1 s2 A^-1 k.

    It is the law of draws whose targets are not perturbed. It is smaller than the posterior's by
    the last term: training on the bare targets, as the paper's loss (1) reads, forgets that they
    are noisy.

    Args:
        K: The kernel matrix of the observed points, (n, n).
        k: The covariances of observed with other points, (n, N).
        prior: The prior covariances of the other points, (N, N).
        noise_std: The standard deviation of the noise: one, or one for each value, (n,).
    """
    factor = Factor(K, noise_std**2)
    solved = factor.solve(k)
    return prior - k.T @ solved - noise_std**2 * solved.T @ solved


def variance(K: np.ndarray, k: np.ndarray, prior: np.ndarray, noise_std: float) -> np.ndarray:
    """Return the posterior variances at N points from their prior variances (N,).

    By the push-through identity this equals s2 J(x) (J^T J + s2 I)^-1 J(x)^T; the formula in the
    paper's appendix on uncertainty sampling lacks the factor s2 (which moves no maximum).

    Args:
        K: The kernel matrix of the observed points, (n, n).
        k: The covariances of observed with other points, (n, N).
        prior: The prior variances of the other points, (N,).
        noise_std: The standard deviation of the observation noise.
    """
    return prior - np.square(Factor(K, noise_std**2).half_solve(k)).sum(axis=0)


def log_evidence(K: np.ndarray, y: np.ndarray, noise_std: float | np.ndarray) -> float:
    """Return log p(y) = -(y^T A^-1 y + log det A + n log 2 pi) / 2.

    Args:
        K: The kernel matrix of the observed points, (n, n).
        y: The observed values, (n,).
        noise_std: The standard deviation of the noise: one, or one for each value, (n,).
    """
    factor = Factor(K, noise_std**2)
    fit = float(np.square(factor.half_solve(y)).sum())
    return -0.5 * (fit + factor.log_determinant() + len(y) * np.log(2 * np.pi))


def evidence_and_gradient(A: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Return minus the log evidence, and its gradient (A^-1 - A^-1 y y^T A^-1) / 2 by A.

    Args:
        A: The covariance of the observed values, noise included, (n, n).
        y: The observed values, (n,).

    Returns:
        Infinity and zeros where A is not positive definite.
    """
    # The transpose, which is the same matrix, is in LAPACK's order: what it works on is a copy at
    # once. Above the diagonal of the factors' transposes there are zeros, and stay there.
    upper, failed = scipy.linalg.lapack.dpotrf(A.T, clean=True)
    if failed:
        return math.inf, np.zeros_like(A)
    a, _ = scipy.linalg.lapack.dpotrs(upper, y)
    loss = 0.5 * (float(y @ a) + len(y) * math.log(2 * math.pi))
    loss += float(np.log(np.diag(upper)).sum())
    half, _ = scipy.linalg.lapack.dpotri(upper, overwrite_c=True)
    half *= 0.5
    by_A = half + half.T
    diagonal = np.diag_indices(len(A))
    by_A[diagonal] = half[diagonal]
    by_A -= np.multiply.outer(0.5 * a, a)
    return loss, by_A


def evidence_of_noise(
    K: np.ndarray,
    distances: np.ndarray,
    y: np.ndarray,
    noise_std: float,
    noise: Noise | None = None,
) -> float:
    """Return by how many nats noise explains y better than a rough function does.

    What a smooth function leaves over may be noise, or a function that changes within a short
    distance. The two differ where points are close together: there a function repeats itself.
    Its covariance is that of the noise times exp(-distance / length), for the most likely of
    some short lengths. Errors that are known are noise either way.

    Args:
        K: The covariances of the smooth function, (n, n).
        distances: The distances between the points, in edges of the cube, (n, n).
        y: The observed values, (n,).
        noise_std: The standard deviation of what the smooth function leaves over.
        noise: What is known of the noise of each value, in units of y.
    """

    def log_likelihood(K: np.ndarray, std: float) -> float:
        if noise is None:
            return log_evidence(K, y, std)
        found = log_evidence(K, y, np.sqrt(noise.variances(std**2)))
        return found - float(noise.scatter_loss(std**2))

    rough = (
        log_likelihood(K + noise_std**2 * np.exp(-distances / length), _ROUNDING * noise_std)
        for length in _SHORT_LENGTHS
    )
    return log_likelihood(K, noise_std) - max(rough)


def joint_draws(
    normals: np.ndarray, mean: np.ndarray, covariance: np.ndarray, jitter: float = 1e-10
) -> np.ndarray:
    """Turn standard normals (B, N) into draws from N(mean, covariance): exact on a finite set.

    Args:
        normals: Independent standard normal numbers, (B, N).
        mean: The mean of the draws, (N,).
        covariance: The covariance of the draws, (N, N).
        jitter: The variance added to the diagonal, relative to its mean.
    """
    scale = max(float(np.mean(np.diag(covariance))), 1e-300)
    return mean + normals @ Factor(covariance, jitter * scale).lower.T

"""The sampler of the paper's appendix with NumPy and SciPy: the reference of `make bench`.

It is straightforward but not slow on purpose: element-wise sums for a and b as the paper advises,
LAPACK for every matrix. Matérn 3/2, one length-scale per component and dimension, the corrected
evidence (deviation D1). Do not change it: the published ratios refer to this code.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

Floats = NDArray[np.float64]

JITTER = 1e-8
LOG_MEAN, LOG_VAR = math.log(0.5), 0.5
NOISE_SHAPE, NOISE_RATE = 1.0, 0.01
WIDTH = math.log(10.0)
LOW, HIGH = math.log(1e-3), math.log(1e3)


def covariance(points: Floats, lengthscale: float) -> Floats:
    """Matérn 3/2 on all points of an axis."""
    x = math.sqrt(3.0) * np.abs(points[:, None] - points[None, :]) / lengthscale
    return np.asarray((1.0 + x) * np.exp(-x) + JITTER * np.eye(points.size))


def posterior_precision(
    points: Floats, lengthscale: float, tau: float, b: Floats
) -> tuple[Floats, float]:
    """Cholesky factor of Λ* = τ diag(b) + K⁻¹, and log det K."""
    L = cholesky(covariance(points, lengthscale), lower=True)
    precision = cho_solve((L, True), np.eye(points.size))
    precision[np.diag_indices(points.size)] += tau * b
    return cholesky(precision, lower=True), 2.0 * float(np.log(np.diag(L)).sum())


def log_posterior(
    log_lengthscale: float, points: Floats, tau: float, a: Floats, b: Floats
) -> float:
    """Log marginal likelihood of a length-scale plus its log prior. Paper: eq. (12), corrected."""
    L, log_det_K = posterior_precision(points, math.exp(log_lengthscale), tau, b)
    u = solve_triangular(L, a, lower=True)
    evidence = 0.5 * float(u @ u) - float(np.log(np.diag(L)).sum()) - 0.5 * log_det_K
    return evidence - 0.5 * (log_lengthscale - LOG_MEAN) ** 2 / LOG_VAR


def slice_update(
    current: float, points: Floats, tau: float, a: Floats, b: Floats, rng: np.random.Generator
) -> float:
    """One slice update of log l."""
    level = log_posterior(current, points, tau, a, b) + math.log(rng.random())
    left = max(current - WIDTH * rng.random(), LOW)
    right = min(left + WIDTH, HIGH)
    for _ in range(100):
        proposal = left + (right - left) * rng.random()
        if log_posterior(proposal, points, tau, a, b) > level:
            return proposal
        left, right = (proposal, right) if proposal < current else (left, proposal)
    return current


def gibbs(
    axes: list[Floats],
    cells: NDArray[np.int64],
    y: Floats,
    rank: int,
    n_sweeps: int,
    rng: np.random.Generator,
) -> Floats:
    """Run the sampler of the appendix and return f at the data for every sweep, (n_sweeps, n)."""
    D, n = len(axes), y.size
    log_lengthscales = np.full((rank, D), LOG_MEAN)
    factors = [
        [cholesky(covariance(p, 0.5), lower=True) @ rng.standard_normal(p.size) for p in axes]
        for _ in range(rank)
    ]
    weights = rng.standard_normal(rank)
    tau = 100.0
    kept = np.empty((n_sweeps, n))
    for sweep in range(n_sweeps):
        for r in range(rank):
            for d in range(D):
                products = np.array(
                    [
                        np.prod([factors[c][e][cells[:, e]] for e in range(D)], axis=0)
                        for c in range(rank)
                    ]
                )
                others = weights @ products - weights[r] * products[r]
                h = (
                    weights[r]
                    * np.prod([factors[r][e][cells[:, e]] for e in range(D) if e != d], axis=0)
                    * np.ones(n)
                )
                m = axes[d].size
                a: Floats = np.asarray(
                    tau * np.bincount(cells[:, d], h * (y - others), m), dtype=float
                )
                b: Floats = np.asarray(np.bincount(cells[:, d], h * h, m), dtype=float)
                log_lengthscales[r, d] = slice_update(
                    log_lengthscales[r, d], axes[d], tau, a, b, rng
                )
                L, _ = posterior_precision(axes[d], math.exp(log_lengthscales[r, d]), tau, b)
                mean = cho_solve((L, True), a)
                factors[r][d] = mean + solve_triangular(L.T, rng.standard_normal(m), lower=False)
        products = np.array(
            [np.prod([factors[c][e][cells[:, e]] for e in range(D)], axis=0) for c in range(rank)]
        )
        residual = y - weights @ products
        tau = rng.gamma(NOISE_SHAPE + n / 2, 1.0 / (NOISE_RATE + float(residual @ residual) / 2))
        L = cholesky(tau * products @ products.T + np.eye(rank), lower=True)
        weights = cho_solve((L, True), tau * products @ y) + solve_triangular(
            L.T, rng.standard_normal(rank), lower=False
        )
        kept[sweep] = weights @ products
    return kept

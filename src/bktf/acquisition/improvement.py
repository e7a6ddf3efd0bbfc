"""Expected improvement over a threshold and over pending points, from the moments of K draws.

There are n points and p pending points. Within a draw f is normal. Given the values at the pending
points, f at the other points is normal too. Its expected excess over a threshold has a closed
form. Only the values at the pending points are sampled.
"""

import math

import numpy as np

from bktf._typing import Floats

N_REPEATS = 64  # joint samples at pending points in each draw
# Of the largest standard deviation at pending points; directions with less have no uncertainty left
MIN_DEVIATION_SHARE = 1e-6
MAX_Z = 40.0  # standard deviations beyond which the normal tail is 0 in double precision


def expected_excess(mean: Floats, std: Floats) -> Floats:
    """E max(z, 0) of normal z; max(mean, 0) where the standard deviation is 0."""
    from scipy.special import ndtr  # heavy: `import bktf` must not pay for it

    mean, std = np.broadcast_arrays(mean, std)
    ratio = np.where(std > 0.0, mean / np.where(std > 0.0, std, 1.0), 0.0).clip(-MAX_Z, MAX_Z)
    excess = mean * ndtr(ratio) + std * np.exp(-0.5 * ratio**2) / math.sqrt(2.0 * math.pi)
    return np.asarray(np.maximum(np.where(std > 0.0, excess, mean), 0.0))


def improvement_beyond(
    mean: Floats, covariance: Floats, p: int, best: float, rng: np.random.Generator
) -> Floats:
    """Mean over draws of E max(f − max(best, f at pending points), 0), (n,).

    mean (K, p + n) and covariance (K, p + n, p + n): moments of f within each draw, the p pending
    points first. With the pending block V·S²·Vᵀ their values are mean + V·S·e for standard normal
    e, and f elsewhere has mean + C·V·S⁻¹·e given e.
    """
    sizes, V = np.linalg.eigh(covariance[:, :p, :p])
    S = np.sqrt(np.maximum(sizes, 0.0))[:, None, :]  # (K, 1, p)
    is_uncertain = MIN_DEVIATION_SHARE * S[:, :, -1:] < S
    numerators = np.where(is_uncertain, covariance[:, p:, :p] @ V, 0.0)
    slopes = numerators / np.where(is_uncertain, S, 1.0)  # (K, n, p)
    e = rng.standard_normal((len(mean), N_REPEATS, p))
    at_pending = mean[:, None, :p] + e @ (V * S).transpose(0, 2, 1)  # (K, repeats, p)
    threshold = np.maximum(best, at_pending.max(axis=2, keepdims=True))
    given = mean[:, None, p:] + e @ slopes.transpose(0, 2, 1)  # (K, repeats, n)
    variance = np.diagonal(covariance, axis1=1, axis2=2)[:, p:] - (slopes**2).sum(axis=2)
    std = np.sqrt(np.maximum(variance, 0.0))[:, None, :]
    return np.asarray(expected_excess(given - threshold, std).mean(axis=(0, 1)))

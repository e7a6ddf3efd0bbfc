"""Log EI of points from the moments of f within each draw, and its derivatives by them.

log EI = log mean_k E max(N(μ_k, v_k) − threshold_k, 0) is defined everywhere. Between axis points f
is smooth, so log EI has a gradient in closed form; `process_scores` puts it together.

Notation: N points, K draws. Arrays over points and draws are (N, K), so that all draws of one point
are contiguous.
"""

import math

import numpy as np

from bktf._compiled import HALF_LOG_2PI, SQRT_HALF, compiled, compiled_part
from bktf.acquisition.component_ascent import log_expected_excess


@compiled_part
def log_improvement(means, variances, thresholds, out):
    """Write log EI at a point of each draw into out (K,); return the logarithm of their mean."""
    largest = -np.inf
    for k in range(out.size):
        deviation = math.sqrt(variances[k])
        out[k] = math.log(deviation) + log_expected_excess((means[k] - thresholds[k]) / deviation)
        largest = max(largest, out[k])
    total = 0.0
    for k in range(out.size):
        total += math.exp(out[k] - largest)
    return largest + math.log(total / out.size)


@compiled
def log_improvements(means, variances, thresholds):
    """Log EI (N,) at points from the draws' moments (N, K)."""
    out, buffer = np.empty(len(means)), np.empty(thresholds.size)
    for i in range(out.size):
        out[i] = log_improvement(means[i], variances[i], thresholds, buffer)
    return out


@compiled_part
def log_improvement_derivatives(gain, deviation, log_gain):
    """The derivatives of log EI of a normal variable by its mean and by its variance."""
    z = gain / deviation
    log_excess = log_gain - math.log(deviation)
    by_deviation = math.exp(-0.5 * z * z - HALF_LOG_2PI - log_excess) / deviation  # φ / EI
    by_mean = 0.5 * math.erfc(-z * SQRT_HALF) * math.exp(-log_gain)  # Φ / EI
    if z < -1.0:
        by_mean = (1.0 / deviation - by_deviation) / z  # the same, because the excess is φ + z·Φ
    return by_mean, 0.5 * by_deviation / deviation


@compiled
def log_improvements_and_derivatives(means, variances, thresholds, by_mean, by_variance):
    """Log EI (N,) at points; writes its derivatives (N, K) by the moments (N, K) of each draw."""
    n_draws = thresholds.size
    out, logs = np.empty(len(means)), np.empty(n_draws)
    for i in range(out.size):
        out[i] = log_improvement(means[i], variances[i], thresholds, logs)
        for k in range(n_draws):
            share = math.exp(logs[k] - out[i]) / n_draws
            first, second = log_improvement_derivatives(
                means[i, k] - thresholds[k], math.sqrt(variances[i, k]), logs[k]
            )
            by_mean[i, k] = share * first
            by_variance[i, k] = share * second
    return out

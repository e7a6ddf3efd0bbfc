"""Log EI under draws of a Gaussian process, and its gradient.

log EI = log mean_k E max(N(μ_k, v_k) − threshold_k, 0) is defined everywhere. Between axis points f
is smooth, so log EI has a gradient in closed form.

Notation: n observations, K draws, D axes. Arrays over observations and draws are (n, K), so that
all draws of one observation are contiguous.
"""

import math

import numpy as np

from bktf._compiled import HALF_LOG_2PI, SQRT_HALF, compiled, compiled_part
from bktf.acquisition.component_ascent import log_expected_excess
from bktf.gaussian_process import exponentiate, moments


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
def multiply_along(
    observed, d, coordinate, rates, shares, exponentials, buffer, out, slope, needs_slope
):
    """Multiply out (n, K) by κ_d between a coordinate and the observations.

    With needs_slope, slope (n, K) becomes −d log κ_d / d distance.
    """
    n, n_draws = out.shape
    for i in range(n):
        row, distance = exponentials[i], abs(coordinate - observed[i, d])
        for k in range(n_draws):
            row[k] = -distance * rates[k]
    exponentiate(exponentials.reshape(exponentials.size), buffer)
    for i in range(n):
        total, row, row_slope, distance = (
            out[i],
            exponentials[i],
            slope[i],
            abs(coordinate - observed[i, d]),
        )
        for k in range(n_draws):
            r = distance * rates[k]
            row[k] *= 1.0 - shares[k]
            total[k] *= shares[k] + row[k] * (1.0 + r + r * r / 3.0)
        if needs_slope:
            for k in range(n_draws):
                r = distance * rates[k]
                correlation = 3.0 * shares[k] + row[k] * (3.0 + 3.0 * r + r * r)
                row_slope[k] = rates[k] * row[k] * (r + r * r) / correlation


@compiled_part
def covariances(
    observed, on_levels, inverse, shares, prior_variances, point, exponentials, buffer, out,
    slopes, needs_slopes,
):  # fmt: skip
    """Write the covariance of h at a point with h at the observations into out (n, K).

    inverse (D, K): √5 / l, or the correlation on levels. With needs_slopes, also writes the slopes
    (D, n, K) of `multiply_along`. exponentials (n, K) and buffer (n·K,) are overwritten.
    """
    n, n_draws = out.shape
    for i in range(n):
        row = out[i]
        for k in range(n_draws):
            row[k] = prior_variances[k]
    for d in range(point.size):
        rates = inverse[d]
        if not on_levels[d]:
            slope = slopes[d if needs_slopes else 0]
            multiply_along(
                observed, d, point[d], rates, shares, exponentials, buffer, out, slope, needs_slopes
            )
            continue
        for i in range(n):
            if point[d] != observed[i, d]:
                row = out[i]
                for k in range(n_draws):
                    row[k] *= rates[k]


@compiled
def log_improvements_at(
    observed, on_levels, inverse, shares, prior_variances, coefficients, roots, thresholds, points,
):  # fmt: skip
    """Log EI (N,) at scaled points (N, D)."""
    n, n_draws = coefficients.shape
    covariance, solved = np.empty((n, n_draws)), np.empty((n, n_draws))
    means, variances, logs = np.empty(n_draws), np.empty(n_draws), np.empty(n_draws)
    exponentials, buffer = np.empty((n, n_draws)), np.empty(n * n_draws)
    no_slopes = np.empty((1, n, n_draws))
    out = np.empty(len(points))
    for i in range(len(points)):
        covariances(
            observed, on_levels, inverse, shares, prior_variances, points[i], exponentials,
            buffer, covariance, no_slopes, False,
        )  # fmt: skip
        moments(covariance, prior_variances, coefficients, roots, means, variances, solved)
        out[i] = log_improvement(means, variances, thresholds, logs)
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
def log_improvement_and_gradient(
    observed, on_levels, inverse, shares, prior_variances, coefficients, roots, thresholds, point,
    gradient,
):  # fmt: skip
    """Log EI at a scaled point (D,); writes its gradient, 0 on axes of levels."""
    n, n_draws = coefficients.shape
    covariance, solved = np.empty((n, n_draws)), np.empty((n, n_draws))
    means, variances, logs = np.empty(n_draws), np.empty(n_draws), np.empty(n_draws)
    exponentials, buffer = np.empty((n, n_draws)), np.empty(n * n_draws)
    slopes = np.empty((point.size, n, n_draws))
    covariances(
        observed, on_levels, inverse, shares, prior_variances, point, exponentials, buffer,
        covariance, slopes, True,
    )  # fmt: skip
    moments(covariance, prior_variances, coefficients, roots, means, variances, solved)
    value = log_improvement(means, variances, thresholds, logs)
    by_mean, by_variance = np.empty(n_draws), np.empty(n_draws)
    for k in range(n_draws):
        share = math.exp(logs[k] - value) / n_draws
        first, second = log_improvement_derivatives(
            means[k] - thresholds[k], math.sqrt(variances[k]), logs[k]
        )
        by_mean[k] = share * first
        by_variance[k] = -2.0 * share * second
    weights = np.empty((n, n_draws))  # derivatives of log EI by the log covariances
    for i in range(n):
        row, coefficient = weights[i], coefficients[i]
        for k in range(n_draws):
            row[k] = 0.0
        for a in range(i, n):
            root, other = roots[a, i], solved[a]
            for k in range(n_draws):
                row[k] += root[k] * other[k]
        for k in range(n_draws):
            row[k] = (by_mean[k] * coefficient[k] + by_variance[k] * row[k]) * covariance[i, k]
    for d in range(point.size):
        gradient[d] = 0.0
        if not on_levels[d]:
            for i in range(n):
                row, slope, total = weights[i], slopes[d, i], 0.0
                for k in range(n_draws):
                    total += row[k] * slope[k]
                gradient[d] -= total if point[d] > observed[i, d] else -total
    return value

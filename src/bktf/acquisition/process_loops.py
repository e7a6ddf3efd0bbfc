"""Log EI under draws that are a Gaussian process, and its gradient: compiled.

log EI = log mean_k E max(N(μ_k, v_k) − threshold_k, 0) is defined everywhere. Between axis points f
is smooth, so log EI has a gradient in closed form.

Notation: n observations, K draws, D axes; arrays over observations and draws are (n, K), so that
all draws of one observation lie together.
"""

import math

import numpy as np

from bktf._compiled import HALF_LOG_2PI, SQRT_HALF, compiled, compiled_part
from bktf.acquisition.component_loops import log_expected_excess
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
def multiply_along(observed, d, coordinate, rates, shares, powers, buffer, out, fall, wants_fall):
    """Multiply out (n, K) by κ_d between a coordinate and the observations.

    Where it is wanted, fall (n, K) becomes the rate at which log κ_d falls with the distance.
    """
    n, n_draws = out.shape
    for i in range(n):
        row, distance = powers[i], abs(coordinate - observed[i, d])
        for k in range(n_draws):
            row[k] = -distance * rates[k]
    exponentiate(powers.reshape(powers.size), buffer)
    for i in range(n):
        total, row, falling, distance = out[i], powers[i], fall[i], abs(coordinate - observed[i, d])
        for k in range(n_draws):
            r = distance * rates[k]
            row[k] *= 1.0 - shares[k]
            total[k] *= shares[k] + row[k] * (1.0 + r + r * r / 3.0)
        if wants_fall:
            for k in range(n_draws):
                r = distance * rates[k]
                correlation = 3.0 * shares[k] + row[k] * (3.0 + 3.0 * r + r * r)
                falling[k] = rates[k] * row[k] * (r + r * r) / correlation


@compiled_part
def covariances(
    observed, on_levels, inverse, shares, sizes, point, powers, buffer, out, falls, wants_falls,
):  # fmt: skip
    """Write the covariance of h at a point with h at the observations into out (n, K).

    inverse (D, K): √5 / l, or the correlation on levels. Where they are wanted, falls (D, n, K) of
    `multiply_along` too. powers (n, K) and buffer (n·K,) are overwritten.
    """
    n, n_draws = out.shape
    for i in range(n):
        row = out[i]
        for k in range(n_draws):
            row[k] = sizes[k]
    for d in range(point.size):
        rates = inverse[d]
        if not on_levels[d]:
            fall = falls[d if wants_falls else 0]
            multiply_along(
                observed, d, point[d], rates, shares, powers, buffer, out, fall, wants_falls
            )  # fmt: skip
            continue
        for i in range(n):
            if point[d] != observed[i, d]:
                row = out[i]
                for k in range(n_draws):
                    row[k] *= rates[k]


@compiled
def log_improvements_at(
    observed, on_levels, inverse, shares, sizes, coefficients, roots, thresholds, points,
):  # fmt: skip
    """Log EI (N,) at scaled points (N, D)."""
    n, n_draws = coefficients.shape
    covariance, solved = np.empty((n, n_draws)), np.empty((n, n_draws))
    means, variances, logs = np.empty(n_draws), np.empty(n_draws), np.empty(n_draws)
    powers, buffer = np.empty((n, n_draws)), np.empty(n * n_draws)
    nothing = np.empty((1, n, n_draws))
    out = np.empty(len(points))
    for i in range(len(points)):
        covariances(
            observed, on_levels, inverse, shares, sizes, points[i], powers, buffer, covariance,
            nothing, False,
        )  # fmt: skip
        moments(covariance, sizes, coefficients, roots, means, variances, solved)
        out[i] = log_improvement(means, variances, thresholds, logs)
    return out


@compiled_part
def slopes(gain, deviation, log_gain):
    """The derivatives of log EI of a normal variable by its mean and by its variance."""
    u = gain / deviation
    log_excess = log_gain - math.log(deviation)
    by_deviation = math.exp(-0.5 * u * u - HALF_LOG_2PI - log_excess) / deviation  # φ / EI
    by_mean = 0.5 * math.erfc(-u * SQRT_HALF) * math.exp(-log_gain)  # Φ / EI
    if u < -1.0:
        by_mean = (1.0 / deviation - by_deviation) / u  # the same, because the excess is φ + u·Φ
    return by_mean, 0.5 * by_deviation / deviation


@compiled
def log_improvement_and_gradient(
    observed, on_levels, inverse, shares, sizes, coefficients, roots, thresholds, point, gradient,
):  # fmt: skip
    """Log EI at a scaled point (D,); writes its gradient, 0 on axes of levels."""
    n, n_draws = coefficients.shape
    covariance, solved = np.empty((n, n_draws)), np.empty((n, n_draws))
    means, variances, logs = np.empty(n_draws), np.empty(n_draws), np.empty(n_draws)
    powers, buffer = np.empty((n, n_draws)), np.empty(n * n_draws)
    falls = np.empty((point.size, n, n_draws))
    covariances(
        observed, on_levels, inverse, shares, sizes, point, powers, buffer, covariance, falls, True
    )  # fmt: skip
    moments(covariance, sizes, coefficients, roots, means, variances, solved)
    value = log_improvement(means, variances, thresholds, logs)
    by_mean, by_variance = np.empty(n_draws), np.empty(n_draws)
    for k in range(n_draws):
        share = math.exp(logs[k] - value) / n_draws
        first, second = slopes(means[k] - thresholds[k], math.sqrt(variances[k]), logs[k])
        by_mean[k] = share * first
        by_variance[k] = -2.0 * share * second
    weights = np.empty((n, n_draws))  # of each covariance's relative change
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
                row, fall, total = weights[i], falls[d, i], 0.0
                for k in range(n_draws):
                    total += row[k] * fall[k]
                gradient[d] -= total if point[d] > observed[i, d] else -total
    return value

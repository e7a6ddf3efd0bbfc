"""Matérn 3/2, the factors of several components together, each with a length-scale of its own.

A simulation smoother (Durbin and Koopman 2002, Biometrika 89, 603–616): a path of the prior and
observations of it are simulated, and the smoothed mean given the difference to the real ones is
added. No covariance is inverted, so points may lie as near to each other as they like. It costs
O(m·q³) where single factors cost O(m·q), and moves what the components share.

Notation
    q factors; the state at a point is (g_1, g_1′/rate_1, …, g_q, g_q′/rate_q)
    directions, precisions, targets: pseudo-observations; see `state_space`
"""

import math

import numpy as np

from bktf._compiled import compiled, compiled_part
from bktf.axis_kernels.matern32_filter import COLUMNS, fill_table


@compiled_part
def simulate_path(tables, steps, out, rng):
    """Write a draw of the prior into out (q, m, ≥ 2)."""
    for k in range(tables.shape[0]):
        for j in range(steps.size):
            m0, m1, d0, l10, d1 = 0.0, 0.0, 1.0, 0.0, 1.0
            if j > 0:
                row = tables[k, steps[j]]
                m0 = row[0] * out[k, j - 1, 0] + row[1] * out[k, j - 1, 1]
                m1 = row[2] * out[k, j - 1, 1] - row[1] * out[k, j - 1, 0]
                d0, l10, d1 = row[3], row[4], row[5]
            deviation = math.sqrt(d0) * rng.standard_normal()
            out[k, j, 0] = m0 + deviation
            out[k, j, 1] = m1 + l10 * deviation + math.sqrt(d1) * rng.standard_normal()


@compiled_part
def predict(tables, gap, mean, P):
    """Move the mean (2q,) and covariance (2q, 2q) of a state over a gap.

    Of the covariance only blocks (k, h) with h ≥ k are kept.
    """
    q = tables.shape[0]
    for k in range(q):
        a, b, c = tables[k, gap, 0], tables[k, gap, 1], tables[k, gap, 2]
        first, second = mean[2 * k], mean[2 * k + 1]
        mean[2 * k] = a * first + b * second
        mean[2 * k + 1] = c * second - b * first
        for h in range(k, q):
            a2, b2, c2 = tables[h, gap, 0], tables[h, gap, 1], tables[h, gap, 2]
            p00, p01 = P[2 * k, 2 * h], P[2 * k, 2 * h + 1]
            p10, p11 = P[2 * k + 1, 2 * h], P[2 * k + 1, 2 * h + 1]
            u0, u1 = a * p00 + b * p10, a * p01 + b * p11
            v0, v1 = c * p10 - b * p00, c * p11 - b * p01
            P[2 * k, 2 * h] = a2 * u0 + b2 * u1
            P[2 * k, 2 * h + 1] = c2 * u1 - b2 * u0
            P[2 * k + 1, 2 * h] = a2 * v0 + b2 * v1
            P[2 * k + 1, 2 * h + 1] = c2 * v1 - b2 * v0
        d0, l10, d1 = tables[k, gap, 3], tables[k, gap, 4], tables[k, gap, 5]
        P[2 * k, 2 * k] += d0
        P[2 * k, 2 * k + 1] += d0 * l10
        P[2 * k + 1, 2 * k] += d0 * l10
        P[2 * k + 1, 2 * k + 1] += d0 * l10 * l10 + d1


@compiled_part
def observe(direction, precision, innovation, mean, P, gain):
    """Condition the state on one pseudo-observation; write its gain (2q,).

    Returns the innovation divided by its variance.
    """
    q = direction.size
    for h in range(2 * q):
        total = 0.0
        for k in range(q):
            # Blocks below the diagonal are those above it, transposed.
            total += direction[k] * (P[2 * k, h] if k < h // 2 else P[h, 2 * k])
        gain[h] = total
    variance = 1.0 / precision
    for k in range(q):
        variance += direction[k] * gain[2 * k]
    scale = 1.0 / variance
    for h in range(2 * q):
        scaled = scale * gain[h]
        for g in range(2 * (h // 2), 2 * q):
            P[h, g] -= scaled * gain[g]
    for h in range(2 * q):
        gain[h] *= scale
        mean[h] += gain[h] * innovation
    return innovation * scale


@compiled
def draw_block(lengthscales, gaps, steps, directions, precisions, targets, out, rng):
    """Write a joint draw of the factors' states given the pseudo-observations into out.

    lengthscales: (q,). out: (q, m, ≥ 2). The others as in `state_space` and `matern32_filter`.
    """
    m, q = targets.shape
    tables = np.empty((q, gaps.size, COLUMNS))
    for k in range(q):
        fill_table(lengthscales[k], gaps, tables[k])
    simulate_path(tables, steps, out, rng)
    gains = np.empty((m, q, 2 * q))
    scaled = np.empty((m, q))  # innovations over their variances
    mean, P = np.zeros(2 * q), np.eye(2 * q)
    for j in range(m):
        if j > 0:
            predict(tables, steps[j], mean, P)
        for k in range(q):
            if precisions[j, k] > 0.0:
                deviation = targets[j, k] - rng.standard_normal() / math.sqrt(precisions[j, k])
                for c in range(k, q):  # a direction has no entries before its own
                    deviation -= directions[j, k, c] * (out[c, j, 0] + mean[2 * c])
                scaled[j, k] = observe(
                    directions[j, k], precisions[j, k], deviation, mean, P, gains[j, k]
                )
    add_smoothed_mean(tables, steps, directions, precisions, gains, scaled, out)


@compiled_part
def add_smoothed_mean(tables, steps, directions, precisions, gains, scaled, out):
    """Add the smoothed mean of the state, given the filter's gains and innovations, to out."""
    m, q = scaled.shape
    later = np.zeros((m, 2 * q))  # what the observations from each point on say of its state
    backward = np.zeros(2 * q)
    for j in range(m - 1, -1, -1):
        for k in range(q - 1, -1, -1):
            if precisions[j, k] > 0.0:
                change = scaled[j, k]
                for h in range(2 * q):
                    change -= gains[j, k, h] * backward[h]
                for c in range(k, q):
                    backward[2 * c] += directions[j, k, c] * change
        for h in range(2 * q):
            later[j, h] = backward[h]
        if j > 0:
            for k in range(q):
                a, b = tables[k, steps[j], 0], tables[k, steps[j], 1]
                first, second = backward[2 * k], backward[2 * k + 1]
                backward[2 * k] = a * first - b * second
                backward[2 * k + 1] = b * first + tables[k, steps[j], 2] * second
    for k in range(q):
        m0 = 0.0
        m1 = 0.0
        for j in range(m):
            first, second = later[j, 2 * k], later[j, 2 * k + 1]
            if j == 0:
                m0, m1 = first, second
            else:
                row = tables[k, steps[j]]
                gradient = first + row[4] * second
                m0, m1 = row[0] * m0 + row[1] * m1, row[2] * m1 - row[1] * m0
                m0 += row[3] * gradient
                m1 += row[3] * row[4] * gradient + row[5] * second
            out[k, j, 0] += m0
            out[k, j, 1] += m1

"""Matérn 3/2, one factor at a time: `statespace` written out for its two-entry state (g, g′/rate).

The default kernel spends its time here. Same recursions, same L·D·Lᵀ form, no arrays: several times faster than
the general code, which the tests hold it to.
"""

import math

import numpy as np

from bktf._jit import kernel

SERIES_BELOW = 0.5


@kernel
def step_noise(step, decay):
    """D₀, L₁₀, D₁ of the process noise Q(step), where decay = exp(−step); see `statespace.transition`."""
    x = 2.0 * step
    e0 = decay * decay
    e1 = x * e0
    q01 = 0.5 * x * e1
    if x < SERIES_BELOW:  # e₀·x³·Σ_k xᵏ/(k+3)!, by Horner's rule; the next term is below 1e-16 of the sum
        total = 1.0 + x * (1.0 / 16.0)
        total = 1.0 + total * x * (1.0 / 15.0)
        total = 1.0 + total * x * (1.0 / 14.0)
        total = 1.0 + total * x * (1.0 / 13.0)
        total = 1.0 + total * x * (1.0 / 12.0)
        total = 1.0 + total * x * (1.0 / 11.0)
        total = 1.0 + total * x * (1.0 / 10.0)
        total = 1.0 + total * x * (1.0 / 9.0)
        total = 1.0 + total * x * (1.0 / 8.0)
        total = 1.0 + total * x * (1.0 / 7.0)
        total = 1.0 + total * x * (1.0 / 6.0)
        total = 1.0 + total * x * (1.0 / 5.0)
        total = 1.0 + total * x * (1.0 / 4.0)
        q00 = q01 * x * (1.0 / 3.0) * total
    else:
        q00 = 1.0 - e0 - e1 - q01
    lower = q01 / q00
    return q00, lower, q00 + 2.0 * e1 - lower * q01


@kernel
def log_evidence(lengthscale, coords, precisions, targets):
    """Log evidence of one observation per point (precision 0: none) with the factor integrated out."""
    rate = math.sqrt(3.0) / lengthscale
    m0 = 0.0
    m1 = 0.0
    d0 = 1.0
    d1 = 1.0
    low = 0.0
    growths = 1.0  # product of the growth factors, so that one logarithm serves many points
    log_growths = 0.0
    squares = 0.0
    for j in range(coords.size):
        if j > 0:
            step = rate * (coords[j] - coords[j - 1])
            decay = math.exp(-step)
            q0, q_low, q1 = step_noise(step, decay)
            a = decay * (1.0 + step)
            b = decay * step
            c = decay * (1.0 - step)
            u0 = a + b * low  # rows of A·L: (u0, b) and (u1, c)
            u1 = c * low - b
            m0, m1 = a * m0 + b * m1, c * m1 - b * m0
            variance = d0 * u0 * u0 + d1 * b * b + q0
            low = (d0 * u0 * u1 + d1 * b * c + q0 * q_low) / variance
            r0 = u1 - low * u0
            r1 = c - low * b
            r2 = q_low - low
            d1 = d0 * r0 * r0 + d1 * r1 * r1 + q0 * r2 * r2 + q1
            d0 = variance
        precision = precisions[j]
        if precision > 0.0:
            growth = 1.0 + precision * d0
            surprise = targets[j] - m0
            weighted = precision * surprise / growth
            squares += weighted * surprise
            gain = d0 * weighted
            m0 += gain
            m1 += low * gain
            d0 /= growth
            growths *= growth
            if growths > 1e150:
                log_growths += math.log(growths)
                growths = 1.0
    return -0.5 * (log_growths + math.log(growths) + squares)


@kernel
def condition_on_next(step, decay, q0, q_low, q1, m0, m1, d0, low, d1, next0, next1):
    """Moments (m0, m1, d0, low, d1) of a state given the state that follows it after `step`, whose noise is (q0, q_low, q1)."""
    a = decay * (1.0 + step)
    b = decay * step
    c = decay * (1.0 - step)
    # Rows over the independent sources (d0, d1, q0, q1): next0 = (u0, b, 1, 0), next1 = (u1, c, q_low, 1),
    # this0 = (1, 0, 0, 0), this1 = (low, 1, 0, 0); orthogonalised in that order.
    u0 = a + b * low
    u1 = c * low - b
    v0 = d0 * u0 * u0 + d1 * b * b + q0
    pull = (d0 * u0 * u1 + d1 * b * c + q0 * q_low) / v0
    r0 = u1 - pull * u0
    r1 = c - pull * b
    r2 = q_low - pull
    v1 = d0 * r0 * r0 + d1 * r1 * r1 + q0 * r2 * r2 + q1
    g00 = d0 * u0 / v0
    s0 = 1.0 - g00 * u0
    s1 = -g00 * b
    s2 = -g00
    g01 = (d0 * s0 * r0 + d1 * s1 * r1 + q0 * s2 * r2) / v1
    s0 -= g01 * r0
    s1 -= g01 * r1
    s2 -= g01 * r2
    s3 = -g01
    g10 = (d0 * low * u0 + d1 * b) / v0
    t0 = low - g10 * u0
    t1 = 1.0 - g10 * b
    t2 = -g10
    g11 = (d0 * t0 * r0 + d1 * t1 * r1 + q0 * t2 * r2) / v1
    t0 -= g11 * r0
    t1 -= g11 * r1
    t2 -= g11 * r2
    t3 = -g11
    new_d0 = d0 * s0 * s0 + d1 * s1 * s1 + q0 * s2 * s2 + q1 * s3 * s3
    new_low = (d0 * s0 * t0 + d1 * s1 * t1 + q0 * s2 * t2 + q1 * s3 * t3) / new_d0 if new_d0 > 0.0 else 0.0
    t0 -= new_low * s0
    t1 -= new_low * s1
    t2 -= new_low * s2
    t3 -= new_low * s3
    new_d1 = d0 * t0 * t0 + d1 * t1 * t1 + q0 * t2 * t2 + q1 * t3 * t3
    i0 = next0 - (a * m0 + b * m1)
    i1 = next1 - (c * m1 - b * m0) - pull * i0
    return m0 + g00 * i0 + g01 * i1, m1 + g10 * i0 + g11 * i1, new_d0, new_low, new_d1


@kernel
def draw_factor(lengthscale, coords, precisions, targets, out, rng):
    """Write a posterior draw of the states (m, ≥ 2) into out: filter forward, draw backward."""
    rate = math.sqrt(3.0) / lengthscale
    m = coords.size
    kept = np.empty((m, 10))  # filtered moments, and the step that led here
    m0 = 0.0
    m1 = 0.0
    d0 = 1.0
    d1 = 1.0
    low = 0.0
    for j in range(m):
        if j > 0:
            step = rate * (coords[j] - coords[j - 1])
            decay = math.exp(-step)
            q0, q_low, q1 = step_noise(step, decay)
            a = decay * (1.0 + step)
            b = decay * step
            c = decay * (1.0 - step)
            u0 = a + b * low
            u1 = c * low - b
            m0, m1 = a * m0 + b * m1, c * m1 - b * m0
            variance = d0 * u0 * u0 + d1 * b * b + q0
            low = (d0 * u0 * u1 + d1 * b * c + q0 * q_low) / variance
            r0 = u1 - low * u0
            r1 = c - low * b
            r2 = q_low - low
            d1 = d0 * r0 * r0 + d1 * r1 * r1 + q0 * r2 * r2 + q1
            d0 = variance
            kept[j, 5] = step
            kept[j, 6] = decay
            kept[j, 7] = q0
            kept[j, 8] = q_low
            kept[j, 9] = q1
        precision = precisions[j]
        if precision > 0.0:
            growth = 1.0 + precision * d0
            gain = precision * d0 / growth * (targets[j] - m0)
            m0 += gain
            m1 += low * gain
            d0 /= growth
        kept[j, 0] = m0
        kept[j, 1] = m1
        kept[j, 2] = d0
        kept[j, 3] = low
        kept[j, 4] = d1
    for j in range(m - 1, -1, -1):
        m0 = kept[j, 0]
        m1 = kept[j, 1]
        d0 = kept[j, 2]
        low = kept[j, 3]
        d1 = kept[j, 4]
        if j < m - 1:
            after = kept[j + 1]
            m0, m1, d0, low, d1 = condition_on_next(
                after[5], after[6], after[7], after[8], after[9], m0, m1, d0, low, d1, out[j + 1, 0], out[j + 1, 1]
            )
        deviation = math.sqrt(d0) * rng.standard_normal()
        out[j, 0] = m0 + deviation
        out[j, 1] = m1 + low * deviation + math.sqrt(d1) * rng.standard_normal()


@kernel
def moments_of(rate, left_gap, left0, left1, right_gap, right0, right1):
    """Moments (m0, m1, d0, low, d1) of the state between two known states; a negative gap means no neighbour there."""
    m0 = 0.0
    m1 = 0.0
    d0 = 1.0
    low = 0.0
    d1 = 1.0
    if left_gap >= 0.0:
        step = rate * left_gap
        decay = math.exp(-step)
        d0, low, d1 = step_noise(step, decay)
        m0 = decay * ((1.0 + step) * left0 + step * left1)
        m1 = decay * ((1.0 - step) * left1 - step * left0)
    if right_gap >= 0.0:
        step = rate * right_gap
        decay = math.exp(-step)
        q0, q_low, q1 = step_noise(step, decay)
        return condition_on_next(step, decay, q0, q_low, q1, m0, m1, d0, low, d1, right0, right1)
    return m0, m1, d0, low, d1


@kernel
def draw_between(lengthscale, coords, states, new_coords, out, rng):
    """Write a joint draw of the states at new_coords given those at coords into out; both increase."""
    rate = math.sqrt(3.0) / lengthscale
    m = coords.size
    right = 0
    left_x = -1.0
    left0 = 0.0
    left1 = 0.0
    has_left = False
    for j in range(new_coords.size):
        x = new_coords[j]
        while right < m and coords[right] <= x:
            left_x = coords[right]
            left0 = states[right, 0]
            left1 = states[right, 1]
            has_left = True
            right += 1
        left_gap = x - left_x if has_left else -1.0
        if right < m:
            m0, m1, d0, low, d1 = moments_of(rate, left_gap, left0, left1, coords[right] - x, states[right, 0], states[right, 1])
        else:
            m0, m1, d0, low, d1 = moments_of(rate, left_gap, left0, left1, -1.0, 0.0, 0.0)
        deviation = math.sqrt(d0) * rng.standard_normal()
        left_x = x
        left0 = m0 + deviation
        left1 = m1 + low * deviation + math.sqrt(d1) * rng.standard_normal()
        has_left = True
        out[j, 0] = left0
        out[j, 1] = left1


@kernel
def moments_between(lengthscale, coords, states, new_coords, out_mean, out_variance):
    """Write mean and variance of the factor at each of new_coords, one at a time, given the states at coords."""
    rate = math.sqrt(3.0) / lengthscale
    m = coords.size
    right = 0
    for j in range(new_coords.size):
        x = new_coords[j]
        while right < m and coords[right] <= x:
            right += 1
        left = max(right - 1, 0)
        next_one = min(right, m - 1)
        left_gap = x - coords[left] if right > 0 else -1.0
        right_gap = coords[next_one] - x if right < m else -1.0
        moments = moments_of(
            rate, left_gap, states[left, 0], states[left, 1], right_gap, states[next_one, 0], states[next_one, 1]
        )
        out_mean[j] = moments[0]
        out_variance[j] = moments[2]

"""Matérn 3/2, one factor at a time: `statespace` written out for its two-entry state (g, g′/rate).

The default kernel spends its time here, so it is written for speed: same recursions and same L·D·Lᵀ form, but in plain numbers
instead of small arrays; transitions are computed once for each different gap between points (a regular axis has few), and
the draw goes on from where the evidence at its length-scale left off. The tests hold it to the general code.

A *table* has a row per gap: decay·(1 + step), decay·step, decay·(1 − step), and D₀, L₁₀, D₁ of the process noise.
"""

import math

import numpy as np

from bktf._compiled import MAX_SHRINKS, compiled, compiled_part, open_slice, propose, shrink

SERIES_BELOW = 0.5
ONE_THIRD = 1.0 / 3.0
C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (6.0 / math.factorial(k + 3) for k in range(1, 13))


@compiled
def step_noise(step, decay):
    """D₀, L₁₀, D₁ of the process noise Q(step), where decay = exp(−step); see `statespace.transition`."""
    x = 2.0 * step
    e0 = decay * decay
    e1 = x * e0
    q01 = 0.5 * x * e1
    if x < SERIES_BELOW:  # e₀·x³·Σ_k xᵏ/(k+3)! to below 1e-16 of the sum, even and odd powers apart
        y = x * x
        even = C2 + y * (C4 + y * (C6 + y * (C8 + y * (C10 + y * C12))))
        odd = C1 + y * (C3 + y * (C5 + y * (C7 + y * (C9 + y * C11))))
        q00 = q01 * x * ONE_THIRD * (1.0 + x * odd + y * even)
    else:
        q00 = 1.0 - e0 - e1 - q01
    lower = q01 / q00
    return q00, lower, q00 + 2.0 * e1 - lower * q01


COLUMNS = 6  # of a table
MOMENTS = 5  # kept for each point: m0, m1, d0, low, d1


@compiled_part
def fill_table(lengthscale, gaps, table):
    """Write the transitions over each gap into table (G, 6)."""
    rate = math.sqrt(3.0) / lengthscale
    for i in range(gaps.size):
        step = rate * gaps[i]
        decay = math.exp(-step)
        table[i, 0] = decay * (1.0 + step)
        table[i, 1] = decay * step
        table[i, 2] = decay * (1.0 - step)
        table[i, 3], table[i, 4], table[i, 5] = step_noise(step, decay)


@compiled
def log_evidence(lengthscale, gaps, steps, precisions, targets, needed, table, kept):
    """Log evidence of one observation per point (precision 0: none) with the factor integrated out.

    steps[j] is the place in gaps of the gap before point j > 0. Writes the transitions into table and the filtered
    moments into kept, (m, 5), where `draw_factor` finds them. Every observation lowers the sum, so it stops and returns −∞
    as soon as it is below `needed`.
    """
    fill_table(lengthscale, gaps, table)
    m0 = 0.0
    m1 = 0.0
    d0 = 1.0
    d1 = 1.0
    low = 0.0
    growths = 1.0  # product of the growth factors, so that one logarithm serves many points
    log_growths = 0.0
    squares = 0.0
    most = -2.0 * needed
    for j in range(precisions.size):
        if j > 0:
            gap = steps[j]
            a = table[gap, 0]
            b = table[gap, 1]
            c = table[gap, 2]
            q0 = table[gap, 3]
            q_low = table[gap, 4]
            u0 = a + b * low  # rows of A·L: (u0, b) and (u1, c)
            u1 = c * low - b
            m0, m1 = a * m0 + b * m1, c * m1 - b * m0
            w0 = d0 * u0
            w1 = d1 * b
            variance = w0 * u0 + (w1 * b + q0)
            low = (w0 * u1 + (w1 * c + q0 * q_low)) / variance
            r0 = u1 - low * u0
            r1 = c - low * b
            r2 = q_low - low
            d1 = (d0 * r0 * r0 + d1 * r1 * r1) + (q0 * r2 * r2 + table[gap, 5])
            d0 = variance
        precision = precisions[j]
        if precision > 0.0:
            growth = 1.0 + precision * d0
            shrinkage = 1.0 / growth
            surprise = targets[j] - m0
            weighted = precision * surprise * shrinkage
            squares += weighted * surprise
            if squares > most:
                return -np.inf
            gain = d0 * weighted
            m0 += gain
            m1 += low * gain
            d0 *= shrinkage
            growths *= growth
            if growths > 1e150:
                log_growths += math.log(growths)
                growths = 1.0
        kept[j, 0] = m0
        kept[j, 1] = m1
        kept[j, 2] = d0
        kept[j, 3] = low
        kept[j, 4] = d1
    return -0.5 * (log_growths + math.log(growths) + squares)


@compiled_part
def draw_lengthscale(current, log_mean, log_var, gaps, steps, precisions, targets, table, kept, rng):
    """A slice update of the length-scale; leaves in table and kept what `draw_factor` goes on from."""
    evidence = log_evidence(current, gaps, steps, precisions, targets, -np.inf, table, kept)
    x, level, left, right = open_slice(current, evidence, log_mean, log_var, rng)
    for _ in range(MAX_SHRINKS):
        proposal, needed = propose(left, right, level, log_mean, log_var, rng)
        lengthscale = math.exp(proposal)
        if log_evidence(lengthscale, gaps, steps, precisions, targets, needed, table, kept) > needed:
            return lengthscale
        left, right = shrink(left, right, x, proposal)
    log_evidence(current, gaps, steps, precisions, targets, -np.inf, table, kept)
    return current


@compiled_part
def condition_on_next(table, gap, m0, m1, d0, low, d1, next0, next1):
    """Moments (m0, m1, d0, low, d1) of a state given the state that follows it after this gap."""
    a = table[gap, 0]
    b = table[gap, 1]
    c = table[gap, 2]
    q0 = table[gap, 3]
    q_low = table[gap, 4]
    q1 = table[gap, 5]
    # Rows over the independent sources (d0, d1, q0, q1): next0 = (u0, b, 1, 0), next1 = (u1, c, q_low, 1),
    # this0 = (1, 0, 0, 0), this1 = (low, 1, 0, 0); orthogonalised in that order.
    u0 = a + b * low
    u1 = c * low - b
    v0 = d0 * u0 * u0 + (d1 * b * b + q0)
    inverse0 = 1.0 / v0
    pull = (d0 * u0 * u1 + (d1 * b * c + q0 * q_low)) * inverse0
    r0 = u1 - pull * u0
    r1 = c - pull * b
    r2 = q_low - pull
    inverse1 = 1.0 / ((d0 * r0 * r0 + d1 * r1 * r1) + (q0 * r2 * r2 + q1))
    g00 = d0 * u0 * inverse0
    s0 = 1.0 - g00 * u0
    s1 = -g00 * b
    s2 = -g00
    g01 = (d0 * s0 * r0 + d1 * s1 * r1 + q0 * s2 * r2) * inverse1
    s0 -= g01 * r0
    s1 -= g01 * r1
    s2 -= g01 * r2
    s3 = -g01
    g10 = (d0 * low * u0 + d1 * b) * inverse0
    t0 = low - g10 * u0
    t1 = 1.0 - g10 * b
    t2 = -g10
    g11 = (d0 * t0 * r0 + d1 * t1 * r1 + q0 * t2 * r2) * inverse1
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


@compiled
def draw_factor(steps, table, kept, out, rng):
    """Write a posterior draw of the states (m, ≥ 2) into out, backward from what `log_evidence` left in table and kept."""
    m = kept.shape[0]
    next0 = 0.0
    next1 = 0.0
    for j in range(m - 1, -1, -1):
        m0 = kept[j, 0]
        m1 = kept[j, 1]
        d0 = kept[j, 2]
        low = kept[j, 3]
        d1 = kept[j, 4]
        if j < m - 1:
            m0, m1, d0, low, d1 = condition_on_next(table, steps[j + 1], m0, m1, d0, low, d1, next0, next1)
        deviation = math.sqrt(d0) * rng.standard_normal()
        next0 = m0 + deviation
        next1 = m1 + low * deviation + math.sqrt(d1) * rng.standard_normal()
        out[j, 0] = next0
        out[j, 1] = next1


@compiled_part
def moments_of(table, left_gap, left0, left1, right_gap, right0, right1):
    """Moments (m0, m1, d0, low, d1) of the state between two known states; a negative gap means no neighbour there."""
    m0 = 0.0
    m1 = 0.0
    d0 = 1.0
    low = 0.0
    d1 = 1.0
    if left_gap >= 0:
        m0 = table[left_gap, 0] * left0 + table[left_gap, 1] * left1
        m1 = table[left_gap, 2] * left1 - table[left_gap, 1] * left0
        d0 = table[left_gap, 3]
        low = table[left_gap, 4]
        d1 = table[left_gap, 5]
    if right_gap >= 0:
        return condition_on_next(table, right_gap, m0, m1, d0, low, d1, right0, right1)
    return m0, m1, d0, low, d1


@compiled
def draw_between(lengthscale, states, gaps, plan, out, rng):
    """Write a joint draw of the states at new points, as `bridges.Plan` lays them out, into out."""
    table = np.empty((gaps.size, COLUMNS))
    fill_table(lengthscale, gaps, table)
    left0 = 0.0
    left1 = 0.0
    for j in range(plan.shape[0]):
        left = plan[j, 0]
        right = plan[j, 1]
        if left >= 0:  # otherwise the point before this one is new itself
            left0 = states[left, 0]
            left1 = states[left, 1]
        m0, m1, d0, low, d1 = moments_of(table, plan[j, 2], left0, left1, plan[j, 3], states[right, 0], states[right, 1])
        deviation = math.sqrt(d0) * rng.standard_normal()
        left0 = m0 + deviation
        left1 = m1 + low * deviation + math.sqrt(d1) * rng.standard_normal()
        out[j, 0] = left0
        out[j, 1] = left1


@compiled
def moments_between(lengthscale, states, gaps, plan, out_mean, out_variance):
    """Write mean and variance of the factor at each new point, one at a time, as `bridges.Plan` lays them out."""
    table = np.empty((gaps.size, COLUMNS))
    fill_table(lengthscale, gaps, table)
    for j in range(plan.shape[0]):
        left = max(plan[j, 0], 0)
        right = plan[j, 1]
        moments = moments_of(table, plan[j, 2], states[left, 0], states[left, 1], plan[j, 3], states[right, 0], states[right, 1])
        out_mean[j] = moments[0]
        out_variance[j] = moments[2]

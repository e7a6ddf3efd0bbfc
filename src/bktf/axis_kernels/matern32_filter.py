"""Matérn 3/2, one factor at a time: `state_space` specialised to its state (g, g′/rate).

Matérn 3/2 is the default kernel and takes most of the time, so this module is written for speed. It
has the recursions and the L·D·Lᵀ form of `state_space`, but with scalars instead of small arrays.
Transitions are computed once for each distinct gap between points, of which a regular axis has few.
The draw reuses the filtered moments of the log evidence. Tests compare it with `state_space`.

Notation
    table         a row per gap: decay·(1 + step), decay·step, decay·(1 − step), and D₀, L₁₀, D₁ of
                  the process noise
    m0, m1        the mean of a state
    d0, l10, d1   its covariance L·diag(D)·Lᵀ: D₀, L₁₀, D₁
"""

import math

import numpy as np

from bktf._compiled import MAX_SHRINKS, compiled, compiled_part, open_slice, propose, shrink

COLUMNS = 6  # of a table
MOMENTS = 5  # stored for each point: m0, m1, d0, l10, d1
MAX_PRODUCT = 1e150  # of variance ratios before their logarithm is taken: far from overflow
SERIES_BELOW = 0.5
ONE_THIRD = 1.0 / 3.0
C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (
    6.0 / math.factorial(k + 3) for k in range(1, 13)
)


@compiled
def step_noise(step, decay):
    """D₀, L₁₀, D₁ of the process noise Q(step), where decay = exp(−step).

    See `matern_transitions.transition`.
    """
    x = 2.0 * step
    e0 = decay * decay
    e1 = x * e0
    q01 = 0.5 * x * e1
    if x < SERIES_BELOW:  # e₀·x³·Σ_k xᵏ/(k+3)!, relative error below 1e-16; even and odd powers
        y = x * x
        even = C2 + y * (C4 + y * (C6 + y * (C8 + y * (C10 + y * C12))))
        odd = C1 + y * (C3 + y * (C5 + y * (C7 + y * (C9 + y * C11))))
        q00 = q01 * x * ONE_THIRD * (1.0 + x * odd + y * even)
    else:
        q00 = 1.0 - e0 - e1 - q01
    lower = q01 / q00
    return q00, lower, q00 + 2.0 * e1 - lower * q01


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
def log_evidence(lengthscale, gaps, steps, precisions, targets, threshold, table, filtered):
    """Log evidence of one observation per point (precision 0: none), up to a constant.

    steps[j] is the index in gaps of the gap before point j > 0. Writes the transitions into table
    and the filtered moments into filtered (m, 5), for `draw_factor`. Every observation lowers the
    sum, so the loop stops and returns −∞ as soon as it is below `threshold`.
    """
    fill_table(lengthscale, gaps, table)
    m0 = 0.0
    m1 = 0.0
    d0 = 1.0
    d1 = 1.0
    l10 = 0.0
    ratio_product = 1.0  # product of variance ratios, so that one logarithm serves many points
    log_ratios = 0.0
    squares = 0.0
    max_squares = -2.0 * threshold
    for j in range(precisions.size):
        if j > 0:
            gap = steps[j]
            a = table[gap, 0]
            b = table[gap, 1]
            c = table[gap, 2]
            q0 = table[gap, 3]
            q_l10 = table[gap, 4]
            u0 = a + b * l10  # rows of A·L: (u0, b) and (u1, c)
            u1 = c * l10 - b
            m0, m1 = a * m0 + b * m1, c * m1 - b * m0
            w0 = d0 * u0
            w1 = d1 * b
            variance = w0 * u0 + (w1 * b + q0)
            l10 = (w0 * u1 + (w1 * c + q0 * q_l10)) / variance
            r0 = u1 - l10 * u0
            r1 = c - l10 * b
            r2 = q_l10 - l10
            d1 = (d0 * r0 * r0 + d1 * r1 * r1) + (q0 * r2 * r2 + table[gap, 5])
            d0 = variance
        precision = precisions[j]
        if precision > 0.0:
            variance_ratio = 1.0 + precision * d0
            shrinkage = 1.0 / variance_ratio
            innovation = targets[j] - m0
            weighted = precision * innovation * shrinkage
            squares += weighted * innovation
            if squares > max_squares:
                return -np.inf
            gain = d0 * weighted
            m0 += gain
            m1 += l10 * gain
            d0 *= shrinkage
            ratio_product *= variance_ratio
            if ratio_product > MAX_PRODUCT:
                log_ratios += math.log(ratio_product)
                ratio_product = 1.0
        filtered[j, 0] = m0
        filtered[j, 1] = m1
        filtered[j, 2] = d0
        filtered[j, 3] = l10
        filtered[j, 4] = d1
    return -0.5 * (log_ratios + math.log(ratio_product) + squares)


@compiled_part
def draw_lengthscale(
    current, log_mean, log_var, gaps, steps, precisions, targets, table, filtered, rng
):
    """A slice update of the length-scale; table and filtered are then those of the result."""
    evidence = log_evidence(current, gaps, steps, precisions, targets, -np.inf, table, filtered)
    x, level, left, right = open_slice(current, evidence, log_mean, log_var, rng)
    for _ in range(MAX_SHRINKS):
        proposal, threshold = propose(left, right, level, log_mean, log_var, rng)
        lengthscale = math.exp(proposal)
        if (
            log_evidence(lengthscale, gaps, steps, precisions, targets, threshold, table, filtered)
            > threshold
        ):
            return lengthscale
        left, right = shrink(left, right, x, proposal)
    log_evidence(current, gaps, steps, precisions, targets, -np.inf, table, filtered)
    return current


@compiled_part
def condition_on_next(table, gap, m0, m1, d0, l10, d1, next0, next1):
    """Moments (m0, m1, d0, l10, d1) of a state given the next state, after this gap."""
    a = table[gap, 0]
    b = table[gap, 1]
    c = table[gap, 2]
    q0 = table[gap, 3]
    q_l10 = table[gap, 4]
    q1 = table[gap, 5]
    # Rows over independent variables with variances (d0, d1, q0, q1), orthogonalised in this order:
    # next0 = (u0, b, 1, 0), next1 = (u1, c, q_l10, 1), this0 = (1, 0, 0, 0), this1 = (l10, 1, 0, 0)
    u0 = a + b * l10
    u1 = c * l10 - b
    v0 = d0 * u0 * u0 + (d1 * b * b + q0)
    inverse0 = 1.0 / v0
    slope = (d0 * u0 * u1 + (d1 * b * c + q0 * q_l10)) * inverse0
    r0 = u1 - slope * u0
    r1 = c - slope * b
    r2 = q_l10 - slope
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
    g10 = (d0 * l10 * u0 + d1 * b) * inverse0
    t0 = l10 - g10 * u0
    t1 = 1.0 - g10 * b
    t2 = -g10
    g11 = (d0 * t0 * r0 + d1 * t1 * r1 + q0 * t2 * r2) * inverse1
    t0 -= g11 * r0
    t1 -= g11 * r1
    t2 -= g11 * r2
    t3 = -g11
    new_d0 = d0 * s0 * s0 + d1 * s1 * s1 + q0 * s2 * s2 + q1 * s3 * s3
    new_l10 = (
        (d0 * s0 * t0 + d1 * s1 * t1 + q0 * s2 * t2 + q1 * s3 * t3) / new_d0
        if new_d0 > 0.0
        else 0.0
    )
    t0 -= new_l10 * s0
    t1 -= new_l10 * s1
    t2 -= new_l10 * s2
    t3 -= new_l10 * s3
    new_d1 = d0 * t0 * t0 + d1 * t1 * t1 + q0 * t2 * t2 + q1 * t3 * t3
    i0 = next0 - (a * m0 + b * m1)
    i1 = next1 - (c * m1 - b * m0) - slope * i0
    return m0 + g00 * i0 + g01 * i1, m1 + g10 * i0 + g11 * i1, new_d0, new_l10, new_d1


@compiled
def draw_factor(steps, table, filtered, out, rng):
    """Write a posterior draw of the states into out (m, ≥ 2), by backward sampling.

    table and filtered are those that `log_evidence` wrote.
    """
    m = filtered.shape[0]
    next0 = 0.0
    next1 = 0.0
    for j in range(m - 1, -1, -1):
        m0 = filtered[j, 0]
        m1 = filtered[j, 1]
        d0 = filtered[j, 2]
        l10 = filtered[j, 3]
        d1 = filtered[j, 4]
        if j < m - 1:
            m0, m1, d0, l10, d1 = condition_on_next(
                table, steps[j + 1], m0, m1, d0, l10, d1, next0, next1
            )
        deviation = math.sqrt(d0) * rng.standard_normal()
        next0 = m0 + deviation
        next1 = m1 + l10 * deviation + math.sqrt(d1) * rng.standard_normal()
        out[j, 0] = next0
        out[j, 1] = next1


@compiled_part
def moments_between_neighbours(table, left_gap, left0, left1, right_gap, right0, right1):
    """Moments (m0, m1, d0, l10, d1) of a state given the states of its neighbours.

    A negative gap means that there is no neighbour on that side.
    """
    m0 = 0.0
    m1 = 0.0
    d0 = 1.0
    l10 = 0.0
    d1 = 1.0
    if left_gap >= 0:
        m0 = table[left_gap, 0] * left0 + table[left_gap, 1] * left1
        m1 = table[left_gap, 2] * left1 - table[left_gap, 1] * left0
        d0 = table[left_gap, 3]
        l10 = table[left_gap, 4]
        d1 = table[left_gap, 5]
    if right_gap >= 0:
        return condition_on_next(table, right_gap, m0, m1, d0, l10, d1, right0, right1)
    return m0, m1, d0, l10, d1


@compiled
def draw_between(lengthscale, states, gaps, plan, out, rng):
    """Write a joint draw of the states at new points into out; plan: `gaps.Plan.neighbours`."""
    table = np.empty((gaps.size, COLUMNS))
    fill_table(lengthscale, gaps, table)
    left0 = 0.0
    left1 = 0.0
    for j in range(plan.shape[0]):
        left = plan[j, 0]
        right = plan[j, 1]
        if left >= 0:  # otherwise the left neighbour is the new point before this one
            left0 = states[left, 0]
            left1 = states[left, 1]
        m0, m1, d0, l10, d1 = moments_between_neighbours(
            table, plan[j, 2], left0, left1, plan[j, 3], states[right, 0], states[right, 1]
        )
        deviation = math.sqrt(d0) * rng.standard_normal()
        left0 = m0 + deviation
        left1 = m1 + l10 * deviation + math.sqrt(d1) * rng.standard_normal()
        out[j, 0] = left0
        out[j, 1] = left1


@compiled
def moments_between(lengthscale, states, gaps, plan, out_mean, out_variance):
    """Write the marginal mean and variance of the factor at each new point; plan as above."""
    table = np.empty((gaps.size, COLUMNS))
    fill_table(lengthscale, gaps, table)
    for j in range(plan.shape[0]):
        left = max(plan[j, 0], 0)
        right = plan[j, 1]
        moments = moments_between_neighbours(
            table,
            plan[j, 2],
            states[left, 0],
            states[left, 1],
            plan[j, 3],
            states[right, 0],
            states[right, 1],
        )
        out_mean[j] = moments[0]
        out_variance[j] = moments[2]

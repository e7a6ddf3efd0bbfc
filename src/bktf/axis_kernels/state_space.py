"""Matérn processes on an ordered axis as Markov chains: log evidence, draws, conditionals.

A Matérn process with ν = p − 1/2 (p = 1, 2, 3) is the first entry of a p-dimensional Markov chain. With
rate = √(2ν)/l and the step measured in x = rate·|t − t′|, the scaled state (g, g′/rate, g″/rate²) obeys

    state(t′) = A(x) state(t) + noise,      noise ~ N(0, Q(x)),      stationary covariance Q(∞).

Notation
    order   p, the size of one factor's state
    q       how many factors move together (1, or all that share a length-scale); the whole state has
            size S = q·p, factor after factor
    L, D    every covariance is kept as L·diag(D)·Lᵀ with L unit lower triangular. All updates are weighted
            Gram–Schmidt orthogonalisations of stacked rows, so variances are sums of squares: nothing is
            subtracted, no jitter is needed, and a nearly exact observation is as safe as a vague one.

Pseudo-observations: at axis point j the likelihood of the factor values v ∈ R^q is
exp(−½ Σ_k precision[j, k]·(target[j, k] − direction[j, k]·v)²).
"""

import math

import numpy as np

from bktf._compiled import MAX_SHRINKS, compiled, compiled_part, open_slice, propose, shrink

STATIONARY_STEP = 1e3  # a step so long that nothing is remembered: exp(−1000) is 0 in double precision
SERIES_TERMS = 24  # enough for double precision below SERIES_BELOW
SERIES_BELOW = 2.0


@compiled_part
def matern_rate(order, lengthscale):
    """√(2ν)/l, the rate at which a Matérn process of this order forgets."""
    return math.sqrt(2.0 * order - 1.0) / lengthscale


@compiled_part
def poisson_tail(first, x):
    """P(N ≥ first) for N ~ Poisson(x), to full relative precision: 1 − e⁻ˣ Σ_{k<first} xᵏ/k!."""
    if x < SERIES_BELOW:
        term = math.exp(-x)
        for k in range(1, first + 1):
            term *= x / k
        total = term
        for k in range(first + 1, first + SERIES_TERMS):
            term *= x / k
            total += term
        return total
    term = math.exp(-x)
    total = term
    for k in range(1, first):
        term *= x / k
        total += term
    return 1.0 - total


@compiled
def transition(order, step, A, L, D):
    """Write A(step) and the factors L, D of Q(step) for one Matérn factor.

    Q = c ∫₀^step e⁻²ˢ p(s) p(s)ᵀ ds with p the last column of eˢA(s); every entry is a combination of the
    Poisson tail P(N ≥ 2p−1) and of single Poisson probabilities e_k at x = 2·step, each free of cancellation
    where the step is small.
    """
    x = 2.0 * step
    decay = math.exp(-step)
    if order == 1:
        A[0, 0] = decay
        L[0, 0] = 1.0
        D[0] = poisson_tail(1, x)
        return
    if order == 2:
        A[0, 0] = decay * (1.0 + step)
        A[0, 1] = decay * step
        A[1, 0] = -decay * step
        A[1, 1] = decay * (1.0 - step)
        e1 = x * decay * decay
        tail = poisson_tail(3, x)
        q01 = 0.5 * x * e1
        L[0, 0] = 1.0
        L[0, 1] = 0.0
        L[1, 0] = q01 / tail
        L[1, 1] = 1.0
        D[0] = tail
        D[1] = tail + 2.0 * e1 - L[1, 0] * q01
        return
    half = 0.5 * step * step
    A[0, 0] = decay * (1.0 + step + half)
    A[0, 1] = decay * (step + 2.0 * half)
    A[0, 2] = decay * half
    A[1, 0] = -decay * half
    A[1, 1] = decay * (1.0 + step - 2.0 * half)
    A[1, 2] = decay * (step - half)
    A[2, 0] = decay * (half - step)
    A[2, 1] = decay * (2.0 * half - 3.0 * step)
    A[2, 2] = decay * (1.0 - 2.0 * step + half)
    e1 = x * decay * decay
    e2 = e1 * x / 2.0
    e3 = e2 * x / 3.0
    e4 = e3 * x / 4.0
    tail = poisson_tail(5, x)
    q02 = (2.0 * e3 - 4.0 * e4 - tail) / 3.0
    q11 = (4.0 * e3 - 2.0 * e4 + tail) / 3.0
    q12 = 4.0 * e2 / 3.0 - 2.0 * e3 + e4
    q22 = 8.0 * (e1 - e2) / 3.0 + 4.0 * e3 + tail
    for i in range(3):
        for j in range(3):
            L[i, j] = 1.0 if i == j else 0.0
    D[0] = tail
    L[1, 0] = e4 / tail
    L[2, 0] = q02 / tail
    D[1] = q11 - L[1, 0] * e4
    L[2, 1] = (q12 - L[2, 0] * e4) / D[1]
    D[2] = q22 - L[2, 0] * q02 - L[2, 1] * L[2, 1] * D[1]


@compiled_part
def orthogonalise(rows, weights, n_rows, n_columns, L, D):
    """Write L, D with rows·diag(weights)·rowsᵀ = L·diag(D)·Lᵀ, by modified Gram–Schmidt; rows is overwritten."""
    for i in range(n_rows):
        for j in range(i):
            overlap = 0.0
            for k in range(n_columns):
                overlap += weights[k] * rows[i, k] * rows[j, k]
            coefficient = overlap / D[j] if D[j] > 0.0 else 0.0
            for k in range(n_columns):
                rows[i, k] -= coefficient * rows[j, k]
            L[i, j] = coefficient
        variance = 0.0
        for k in range(n_columns):
            variance += weights[k] * rows[i, k] * rows[i, k]
        L[i, i] = 1.0
        for j in range(i + 1, n_rows):
            L[i, j] = 0.0
        D[i] = variance


@compiled_part
def stack_next(order, q, A, L_Q, D_Q, L, D, rows, weights):
    """Write the rows of the next state, [A·L, L_Q], over the independent sources (D, D_Q)."""
    size = q * order
    for c in range(q):
        for a in range(order):
            i = c * order + a
            for k in range(size):
                value = 0.0
                for b in range(order):
                    value += A[a, b] * L[c * order + b, k]
                rows[i, k] = value
                rows[i, size + k] = 0.0
            for b in range(order):
                rows[i, size + c * order + b] = L_Q[a, b]
            weights[i] = D[i]
            weights[size + i] = D_Q[a]


@compiled_part
def move_mean(order, q, A, mean, moved):
    """Write A·mean, factor by factor, into moved."""
    for c in range(q):
        for a in range(order):
            value = 0.0
            for b in range(order):
                value += A[a, b] * mean[c * order + b]
            moved[c * order + a] = value


@compiled_part
def observe(order, q, direction, precision, target, mean, L, D, rows, weights, L_joint, D_joint):
    """Condition mean, L, D (overwritten) on one pseudo-observation and return its log density without −½log(2π/precision)."""
    size = q * order
    if q == 1:  # the observed value is the first entry: only its variance changes
        growth = 1.0 + precision * D[0]
        surprise = target - mean[0]
        gain = precision * D[0] / growth * surprise
        for i in range(size):
            mean[i] += L[i, 0] * gain
        log_density = -0.5 * (math.log(growth) + precision * surprise * surprise / growth)
        D[0] /= growth
        return log_density
    surprise = target
    for k in range(size):
        value = 0.0
        for c in range(q):
            value += direction[c] * L[c * order, k]
        rows[0, k] = value
        weights[k] = D[k]
        for i in range(size):
            rows[i + 1, k] = L[i, k]
    for c in range(q):
        surprise -= direction[c] * mean[c * order]
    rows[0, size] = 1.0
    weights[size] = 1.0 / precision
    for i in range(size):
        rows[i + 1, size] = 0.0
    orthogonalise(rows, weights, size + 1, size + 1, L_joint, D_joint)
    for i in range(size):
        mean[i] += L_joint[i + 1, 0] * surprise
        D[i] = D_joint[i + 1]
        for j in range(size):
            L[i, j] = L_joint[i + 1, j + 1]
    return -0.5 * (math.log(precision * D_joint[0]) + surprise * surprise / D_joint[0])


@compiled_part
def filter_forward(order, lengthscale, coords, directions, precisions, targets, means, Ls, Ds):
    """Return the log evidence; write the filtered means (m, S), Ls (m, S, S), Ds (m, S) unless they are empty."""
    m, q = precisions.shape
    size = q * order
    keep = means.shape[0] == m
    rate = matern_rate(order, lengthscale)
    A = np.empty((order, order))
    L_Q = np.empty((order, order))
    D_Q = np.empty(order)
    rows = np.empty((size + 1, 2 * size + 1))
    weights = np.empty(2 * size + 1)
    L_joint = np.empty((size + 1, size + 1))
    D_joint = np.empty(size + 1)
    mean = np.zeros(size)
    moved = np.empty(size)
    L = np.zeros((size, size))
    D = np.zeros(size)
    log_evidence = 0.0
    for j in range(m):
        step = rate * (coords[j] - coords[j - 1]) if j > 0 else STATIONARY_STEP
        transition(order, step, A, L_Q, D_Q)
        move_mean(order, q, A, mean, moved)
        for i in range(size):
            mean[i] = moved[i]
        stack_next(order, q, A, L_Q, D_Q, L, D, rows, weights)
        orthogonalise(rows, weights, size, 2 * size, L, D)
        for k in range(q):
            if precisions[j, k] > 0.0:
                log_evidence += observe(
                    order, q, directions[j, k], precisions[j, k], targets[j, k], mean, L, D, rows, weights, L_joint, D_joint
                )
        if keep:
            for i in range(size):
                means[j, i] = mean[i]
                Ds[j, i] = D[i]
                for k in range(size):
                    Ls[j, i, k] = L[i, k]
    return log_evidence


@compiled_part
def condition_on_next(order, q, A, L_Q, D_Q, mean, L, D, following, rows, weights, L_joint, D_joint):
    """Condition a state N(mean, L·D·Lᵀ), overwritten, on the state that follows it one transition later."""
    size = q * order
    stack_next(order, q, A, L_Q, D_Q, L, D, rows, weights)
    for i in range(size):
        for k in range(size):
            rows[size + i, k] = L[i, k]
            rows[size + i, size + k] = 0.0
    orthogonalise(rows, weights, 2 * size, 2 * size, L_joint, D_joint)
    innovation = np.empty(size)
    move_mean(order, q, A, mean, innovation)
    for i in range(size):
        innovation[i] = following[i] - innovation[i]
        for j in range(i):
            innovation[i] -= L_joint[i, j] * innovation[j]
    for i in range(size):
        for j in range(size):
            mean[i] += L_joint[size + i, j] * innovation[j]
            L[i, j] = L_joint[size + i, size + j]
        D[i] = D_joint[size + i]


@compiled_part
def draw_state(mean, L, D, out, rng):
    """Write one draw of N(mean, L·diag(D)·Lᵀ) into out."""
    size = mean.size
    for i in range(size):
        out[i] = mean[i]
    for j in range(size):
        z = math.sqrt(D[j]) * rng.standard_normal()
        for i in range(j, size):
            out[i] += L[i, j] * z


@compiled
def log_evidence(order, lengthscale, coords, directions, precisions, targets):
    """Log evidence of the pseudo-observations with the factors integrated out, constants left away, in O(m)."""
    size = precisions.shape[1] * order
    return filter_forward(
        order, lengthscale, coords, directions, precisions, targets, np.empty((0, size)), np.empty((0, size, size)), np.empty((0, size))
    )


@compiled_part
def draw_lengthscale(order, current, log_mean, log_var, coords, directions, precisions, targets, rng):
    """A slice update of the length-scale that the factors share, with the factors integrated out."""
    evidence = log_evidence(order, current, coords, directions, precisions, targets)
    x, level, left, right = open_slice(current, evidence, log_mean, log_var, rng)
    for _ in range(MAX_SHRINKS):
        proposal, needed = propose(left, right, level, log_mean, log_var, rng)
        lengthscale = math.exp(proposal)
        if log_evidence(order, lengthscale, coords, directions, precisions, targets) > needed:
            return lengthscale
        left, right = shrink(left, right, x, proposal)
    return current


@compiled
def draw_factors(order, lengthscale, coords, directions, precisions, targets, out, rng):
    """Write a joint posterior draw of the factors' states into out (q, m, ≥ order): filter forward, draw backward."""
    m, q = precisions.shape
    size = q * order
    rate = matern_rate(order, lengthscale)
    means = np.empty((m, size))
    Ls = np.empty((m, size, size))
    Ds = np.empty((m, size))
    filter_forward(order, lengthscale, coords, directions, precisions, targets, means, Ls, Ds)
    A = np.empty((order, order))
    L_Q = np.empty((order, order))
    D_Q = np.empty(order)
    rows = np.empty((2 * size, 2 * size))
    weights = np.empty(2 * size)
    L_joint = np.empty((2 * size, 2 * size))
    D_joint = np.empty(2 * size)
    state = np.empty(size)
    for j in range(m - 1, -1, -1):
        if j < m - 1:
            transition(order, rate * (coords[j + 1] - coords[j]), A, L_Q, D_Q)
            condition_on_next(order, q, A, L_Q, D_Q, means[j], Ls[j], Ds[j], state, rows, weights, L_joint, D_joint)
        draw_state(means[j], Ls[j], Ds[j], state, rng)
        for c in range(q):
            for a in range(order):
                out[c, j, a] = state[c * order + a]


@compiled_part
def conditional(order, rate, left_gap, left, right_gap, right, mean, L, D):
    """Write mean, L, D of one factor's state between two known states; a negative gap means no neighbour there."""
    A = np.empty((order, order))
    L_Q = np.empty((order, order))
    D_Q = np.empty(order)
    transition(order, rate * left_gap if left_gap >= 0.0 else STATIONARY_STEP, A, L, D)
    if left_gap >= 0.0:
        move_mean(order, 1, A, left, mean)
    else:
        for i in range(order):
            mean[i] = 0.0
    if right_gap >= 0.0:
        rows = np.empty((2 * order, 2 * order))
        weights = np.empty(2 * order)
        L_joint = np.empty((2 * order, 2 * order))
        D_joint = np.empty(2 * order)
        transition(order, rate * right_gap, A, L_Q, D_Q)
        condition_on_next(order, 1, A, L_Q, D_Q, mean, L, D, right, rows, weights, L_joint, D_joint)


@compiled
def draw_between(order, lengthscale, coords, states, new_coords, out, rng):
    """Write a joint draw of the states at new_coords given those at coords, (m, order), into out; both increase."""
    rate = matern_rate(order, lengthscale)
    m = coords.size
    mean = np.empty(order)
    L = np.empty((order, order))
    D = np.empty(order)
    right = 0
    for j in range(new_coords.size):
        x = new_coords[j]
        while right < m and coords[right] <= x:
            right += 1
        right_gap = coords[right] - x if right < m else -1.0
        right_state = states[min(right, m - 1)]
        if j > 0 and (right == 0 or new_coords[j - 1] > coords[right - 1]):
            conditional(order, rate, x - new_coords[j - 1], out[j - 1], right_gap, right_state, mean, L, D)
        else:
            left_gap = x - coords[right - 1] if right > 0 else -1.0
            conditional(order, rate, left_gap, states[max(right - 1, 0)], right_gap, right_state, mean, L, D)
        draw_state(mean, L, D, out[j], rng)


@compiled
def moments_between(order, lengthscale, coords, states, new_coords, out_mean, out_variance):
    """Write mean and variance of the factor at each of new_coords, one at a time, given the states at coords."""
    rate = matern_rate(order, lengthscale)
    m = coords.size
    mean = np.empty(order)
    L = np.empty((order, order))
    D = np.empty(order)
    right = 0
    for j in range(new_coords.size):
        x = new_coords[j]
        while right < m and coords[right] <= x:
            right += 1
        left_gap = x - coords[right - 1] if right > 0 else -1.0
        right_gap = coords[right] - x if right < m else -1.0
        conditional(order, rate, left_gap, states[max(right - 1, 0)], right_gap, states[min(right, m - 1)], mean, L, D)
        out_mean[j] = mean[0]
        out_variance[j] = D[0]

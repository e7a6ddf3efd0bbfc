"""Matérn processes on an ordered axis as Markov chains: log evidence and posterior draws.

A Matérn process with ν = p − 1/2 (p = 1, 2, 3) is the first entry of a p-dimensional Markov chain.
With rate = √(2ν)/l and step x = rate·|t − t′|, the scaled state (g, g′/rate, g″/rate²) satisfies

    state(t′) = A(x) state(t) + noise,      noise ~ N(0, Q(x)),      stationary covariance Q(∞).

Notation
    order   p, the size of one factor's state
    q       the number of factors updated together: 1, or all that share a length-scale. The joint
            state has size S = q·p, one factor after the other
    L, D    every covariance is stored as L·diag(D)·Lᵀ with L unit lower triangular. All updates are
            weighted Gram–Schmidt orthogonalisations of stacked rows, so variances are sums of
            squares: there is no cancellation and no jitter, however precise an observation is

Pseudo-observations: at axis point j the likelihood of the factor values v ∈ R^q is
exp(−½ Σ_k precision[j, k]·(target[j, k] − direction[j, k]·v)²).
"""

import math

import numpy as np

from bktf._compiled import MAX_SHRINKS, compiled, compiled_part, open_slice, propose, shrink
from bktf.axis_kernels.matern_transitions import (
    STATIONARY_STEP,
    matern_rate,
    orthogonalise,
    predict_mean,
    stack_transition,
    transition,
)


@compiled_part
def condition_on_observation(
    order, q, direction, precision, target, mean, L, D, rows, weights, L_joint, D_joint
):
    """Condition mean, L, D on one pseudo-observation, in place.

    Return its log density without −½·log(2π/precision).
    """
    size = q * order
    if q == 1:  # the observed value is the first entry, so L does not change
        variance_ratio = 1.0 + precision * D[0]
        innovation = target - mean[0]
        gain = precision * D[0] / variance_ratio * innovation
        for i in range(size):
            mean[i] += L[i, 0] * gain
        log_density = -0.5 * (
            math.log(variance_ratio) + precision * innovation * innovation / variance_ratio
        )
        D[0] /= variance_ratio
        return log_density
    innovation = target
    for k in range(size):
        value = 0.0
        for c in range(q):
            value += direction[c] * L[c * order, k]
        rows[0, k] = value
        weights[k] = D[k]
        for i in range(size):
            rows[i + 1, k] = L[i, k]
    for c in range(q):
        innovation -= direction[c] * mean[c * order]
    rows[0, size] = 1.0
    weights[size] = 1.0 / precision
    for i in range(size):
        rows[i + 1, size] = 0.0
    orthogonalise(rows, weights, size + 1, size + 1, L_joint, D_joint)
    for i in range(size):
        mean[i] += L_joint[i + 1, 0] * innovation
        D[i] = D_joint[i + 1]
        for j in range(size):
            L[i, j] = L_joint[i + 1, j + 1]
    return -0.5 * (math.log(precision * D_joint[0]) + innovation * innovation / D_joint[0])


@compiled_part
def filter_forward(order, lengthscale, coords, directions, precisions, targets, means, Ls, Ds):
    """The log evidence, by a Kalman filter.

    Writes the filtered means (m, S), Ls (m, S, S), Ds (m, S) unless these arrays are empty.
    """
    m, q = precisions.shape
    size = q * order
    stores_moments = means.shape[0] == m
    rate = matern_rate(order, lengthscale)
    A = np.empty((order, order))
    L_Q = np.empty((order, order))
    D_Q = np.empty(order)
    rows = np.empty((size + 1, 2 * size + 1))
    weights = np.empty(2 * size + 1)
    L_joint = np.empty((size + 1, size + 1))
    D_joint = np.empty(size + 1)
    mean = np.zeros(size)
    predicted = np.empty(size)
    L = np.zeros((size, size))
    D = np.zeros(size)
    log_evidence = 0.0
    for j in range(m):
        step = rate * (coords[j] - coords[j - 1]) if j > 0 else STATIONARY_STEP
        transition(order, step, A, L_Q, D_Q)
        predict_mean(order, q, A, mean, predicted)
        for i in range(size):
            mean[i] = predicted[i]
        stack_transition(order, q, A, L_Q, D_Q, L, D, rows, weights)
        orthogonalise(rows, weights, size, 2 * size, L, D)
        for k in range(q):
            if precisions[j, k] > 0.0:
                log_evidence += condition_on_observation(
                    order,
                    q,
                    directions[j, k],
                    precisions[j, k],
                    targets[j, k],
                    mean,
                    L,
                    D,
                    rows,
                    weights,
                    L_joint,
                    D_joint,
                )
        if stores_moments:
            for i in range(size):
                means[j, i] = mean[i]
                Ds[j, i] = D[i]
                for k in range(size):
                    Ls[j, i, k] = L[i, k]
    return log_evidence


@compiled_part
def condition_on_next(
    order, q, A, L_Q, D_Q, mean, L, D, next_state, rows, weights, L_joint, D_joint
):
    """Condition a state N(mean, L·D·Lᵀ) on the state one transition later, in place."""
    size = q * order
    stack_transition(order, q, A, L_Q, D_Q, L, D, rows, weights)
    for i in range(size):
        for k in range(size):
            rows[size + i, k] = L[i, k]
            rows[size + i, size + k] = 0.0
    orthogonalise(rows, weights, 2 * size, 2 * size, L_joint, D_joint)
    innovation = np.empty(size)
    predict_mean(order, q, A, mean, innovation)
    for i in range(size):
        innovation[i] = next_state[i] - innovation[i]
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
    """Log evidence of the pseudo-observations, up to an additive constant, in O(m)."""
    size = precisions.shape[1] * order
    return filter_forward(
        order,
        lengthscale,
        coords,
        directions,
        precisions,
        targets,
        np.empty((0, size)),
        np.empty((0, size, size)),
        np.empty((0, size)),
    )


@compiled_part
def draw_lengthscale(
    order, current, log_mean, log_var, coords, directions, precisions, targets, rng
):
    """A slice update of the shared length-scale, with the factors integrated out."""
    evidence = log_evidence(order, current, coords, directions, precisions, targets)
    x, level, left, right = open_slice(current, evidence, log_mean, log_var, rng)
    for _ in range(MAX_SHRINKS):
        proposal, threshold = propose(left, right, level, log_mean, log_var, rng)
        lengthscale = math.exp(proposal)
        if log_evidence(order, lengthscale, coords, directions, precisions, targets) > threshold:
            return lengthscale
        left, right = shrink(left, right, x, proposal)
    return current


@compiled
def draw_factors(order, lengthscale, coords, directions, precisions, targets, out, rng):
    """Write a joint posterior draw of the factors' states into out (q, m, ≥ order).

    Forward filtering, backward sampling.
    """
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
            condition_on_next(
                order,
                q,
                A,
                L_Q,
                D_Q,
                means[j],
                Ls[j],
                Ds[j],
                state,
                rows,
                weights,
                L_joint,
                D_joint,
            )
        draw_state(means[j], Ls[j], Ds[j], state, rng)
        for c in range(q):
            for a in range(order):
                out[c, j, a] = state[c * order + a]

"""Any covariance matrix on an axis: the same operations as in `state_space`, in O(m³).

A covariance matrix K, singular or not, is factored as K = G·Gᵀ by a pivoted Cholesky factorisation
that stops at rounding error. A factor is then g = G·z with z ~ N(0, I), without an inverse of K and
without jitter. The posterior of z has precision I + Gᵀ·B·G, where B is the precision of the
pseudo-observations of `state_space`; its conditioning depends on the data alone.
"""

import math

import numpy as np

from bktf._compiled import (
    MAX_SHRINKS,
    compiled,
    compiled_part,
    factor_cholesky,
    open_slice,
    pivoted_root,
    propose,
    shrink,
    solve_lower,
    solve_upper,
)

SQUARED_EXPONENTIAL = 4
PERIODIC = 5
GIVEN = 6
EQUAL_CORRELATION = 7  # the odds of the correlation take the length-scale's place
FULL_COVARIANCE = 8  # a learned matrix, read in the same way as a given one

MOMENTS_BLOCK = 32  # new points per factorisation in moments_between


@compiled_part
def covariance(kind, period, given, lengthscale, coords, out):
    """Write the covariance of the factor between coords into out.

    For a given or learned matrix, coords are indices of its rows.
    """
    m = coords.size
    for i in range(m):
        for j in range(i + 1):
            if kind == SQUARED_EXPONENTIAL:
                scaled = (coords[i] - coords[j]) / lengthscale
                value = math.exp(-0.5 * scaled * scaled)
            elif kind == PERIODIC:
                scaled = math.sin(math.pi * (coords[i] - coords[j]) / period) / lengthscale
                value = math.exp(-2.0 * scaled * scaled)
            elif kind == EQUAL_CORRELATION:
                value = 1.0 if i == j else lengthscale / (1.0 + lengthscale)
            else:
                value = given[int(coords[i]), int(coords[j])]
            out[i, j] = value
            out[j, i] = value


@compiled_part
def coefficient_posterior(G, rank, directions, precisions, targets, H, mode):
    """Write the Cholesky factor of the posterior precision of z into H, its mean into mode.

    Return the log evidence up to an additive constant. z stacks the coefficients of the q factors.
    The quadratic form is a sum of squares at the mean, so there is no cancellation.
    """
    m, q = precisions.shape
    n = q * rank
    row = np.empty(n)
    for i in range(n):
        mode[i] = 0.0
        for j in range(n):
            H[i, j] = 1.0 if i == j else 0.0
    for j in range(m):
        for k in range(q):
            precision = precisions[j, k]
            if precision <= 0.0:
                continue
            for c in range(q):
                for a in range(rank):
                    row[c * rank + a] = directions[j, k, c] * G[j, a]
            for i in range(n):
                scaled = precision * row[i]
                mode[i] += scaled * targets[j, k]
                for h in range(i + 1):
                    H[i, h] += scaled * row[h]
    log_det = factor_cholesky(H, n)
    solve_lower(H, n, mode)
    solve_upper(H, n, mode)
    squares = 0.0
    for i in range(n):
        squares += mode[i] * mode[i]
    for j in range(m):
        for k in range(q):
            if precisions[j, k] > 0.0:
                residual = targets[j, k]
                for c in range(q):
                    for a in range(rank):
                        residual -= directions[j, k, c] * G[j, a] * mode[c * rank + a]
                squares += precisions[j, k] * residual * residual
    return -0.5 * (log_det + squares)


@compiled_part
def root_on_axis(kind, period, given, lengthscale, coords, n_first):
    """G, its pivots and its two ranks for the covariance on coords; see `pivoted_root`."""
    m = coords.size
    K = np.empty((m, m))
    G = np.empty((m, m))
    pivots = np.empty(m, np.int64)
    covariance(kind, period, given, lengthscale, coords, K)
    rank_first, rank = pivoted_root(K, n_first, G, pivots)
    return G, pivots, rank_first, rank


@compiled
def log_evidence(kind, period, given, lengthscale, coords, directions, precisions, targets):
    """Log evidence of the pseudo-observations, up to an additive constant."""
    G, _, _, rank = root_on_axis(kind, period, given, lengthscale, coords, coords.size)
    n = precisions.shape[1] * rank
    return coefficient_posterior(
        G, rank, directions, precisions, targets, np.empty((n, n)), np.empty(n)
    )


@compiled_part
def draw_lengthscale(
    kind, period, given, current, log_mean, log_var, coords, directions, precisions, targets, rng
):
    """A slice update of the shared length-scale, with the factors integrated out."""
    evidence = log_evidence(kind, period, given, current, coords, directions, precisions, targets)
    x, level, left, right = open_slice(current, evidence, log_mean, log_var, rng)
    for _ in range(MAX_SHRINKS):
        proposal, threshold = propose(left, right, level, log_mean, log_var, rng)
        lengthscale = math.exp(proposal)
        if (
            log_evidence(kind, period, given, lengthscale, coords, directions, precisions, targets)
            > threshold
        ):
            return lengthscale
        left, right = shrink(left, right, x, proposal)
    return current


@compiled
def draw_factors(
    kind, period, given, lengthscale, coords, directions, precisions, targets, out, rng
):
    """Write a joint posterior draw of the factors into out (q, m, ≥ 1)."""
    m, q = precisions.shape
    G, _, _, rank = root_on_axis(kind, period, given, lengthscale, coords, m)
    n = q * rank
    H = np.empty((n, n))
    mode = np.empty(n)
    coefficient_posterior(G, rank, directions, precisions, targets, H, mode)
    z = np.empty(n)
    for i in range(n):
        z[i] = rng.standard_normal()
    solve_upper(H, n, z)
    for c in range(q):
        for j in range(m):
            value = 0.0
            for a in range(rank):
                value += G[j, a] * (mode[c * rank + a] + z[c * rank + a])
            out[c, j, 0] = value


@compiled_part
def known_coefficients(G, pivots, rank, states):
    """The coefficients z with G·z = states[:, 0] on the pivot rows."""
    z = np.empty(G.shape[1])
    for k in range(rank):
        z[k] = states[pivots[k], 0]
        for a in range(k):
            z[k] -= G[pivots[k], a] * z[a]
        z[k] /= G[pivots[k], k]
    return z


@compiled
def draw_between(kind, period, given, lengthscale, coords, states, new_coords, out, rng):
    """Write a joint draw of the factor at new_coords into out[:, 0].

    states[:, 0] are its values at coords.
    """
    m = coords.size
    all_coords = np.concatenate((coords, new_coords))
    G, pivots, rank_first, rank = root_on_axis(kind, period, given, lengthscale, all_coords, m)
    z = known_coefficients(G, pivots, rank_first, states)
    for k in range(rank_first, rank):
        z[k] = rng.standard_normal()
    for j in range(new_coords.size):
        value = 0.0
        for k in range(rank):
            value += G[m + j, k] * z[k]
        out[j, 0] = value


@compiled
def moments_between(
    kind, period, given, lengthscale, coords, states, new_coords, out_mean, out_variance
):
    """Write the marginal mean and variance of the factor at new_coords.

    states[:, 0] are its values at coords.
    """
    m = coords.size
    # Blocks keep the cost linear in the number of new points, because no joint moments are needed.
    for first in range(0, new_coords.size, MOMENTS_BLOCK):
        block = new_coords[first : first + MOMENTS_BLOCK]
        all_coords = np.concatenate((coords, block))
        G, pivots, rank_first, rank = root_on_axis(kind, period, given, lengthscale, all_coords, m)
        z = known_coefficients(G, pivots, rank_first, states)
        for j in range(block.size):
            mean = 0.0
            variance = 0.0
            for k in range(rank_first):
                mean += G[m + j, k] * z[k]
            for k in range(rank_first, rank):
                variance += G[m + j, k] * G[m + j, k]
            out_mean[first + j] = mean
            out_variance[first + j] = variance

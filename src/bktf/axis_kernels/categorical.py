"""A factor over unordered levels: the same operations as `statespace`, in O(m) for levels with equal correlation.

Equal correlation. Any two of the levels have correlation ρ, each has variance 1, so a factor is g_j = √ρ·z + √(1−ρ)·e_j with independent
standard normal z and e_j. Given z the levels are independent, so everything is a sum over levels. ρ is learned through its odds
ρ / (1 − ρ), which stand where other axes have their length-scale: large odds, levels that resemble each other.

Full covariance. All components of an axis share one covariance matrix Σ, inverse Wishart with m + EXTRA degrees of freedom and scale
(EXTRA − 1)·I, so its mean is I whatever the number m of levels. Given Σ the factors take the dense path; given the factors Σ is conjugate.
Paper: section 6. Differs: D12, D13.
"""

import math

import numpy as np

from bktf._compiled import MAX_SHRINKS, compiled, compiled_part, factor_cholesky, open_slice, propose, shrink

EXTRA = 4  # the smallest whole number at which the entries of Σ have a variance
MAX_LEVELS = 20  # for a full covariance


@compiled_part
def correlation(odds):
    """ρ from its odds."""
    return odds / (1.0 + odds)


@compiled_part
def common_part(odds, precisions, targets):
    """Posterior precision and mean of z, and the log evidence with everything integrated out, constants left away.

    The quadratic form is a sum of squares at the mean, so nothing cancels.
    """
    rho = correlation(odds)
    level_var = 1.0 / (1.0 + odds)  # 1 − ρ
    log_det = 0.0
    total = 0.0
    pull = 0.0
    for j in range(precisions.size):
        growth = 1.0 + level_var * precisions[j]
        log_det += math.log(growth)
        total += precisions[j] / growth
        pull += precisions[j] / growth * targets[j]
    precision = 1.0 + rho * total
    mean = math.sqrt(rho) * pull / precision
    squares = mean * mean
    for j in range(precisions.size):
        residual = targets[j] - math.sqrt(rho) * mean
        squares += precisions[j] / (1.0 + level_var * precisions[j]) * residual * residual
    return precision, mean, -0.5 * (log_det + math.log(precision) + squares)


@compiled
def log_evidence(odds, precisions, targets):
    """Log evidence of pseudo-observations (m,) of a factor with equal correlation, constants left away."""
    return common_part(odds, precisions, targets)[2]


@compiled_part
def draw_odds(current, log_mean, log_var, precisions, targets, rng):
    """A slice update of the odds of the correlation, with the factor integrated out."""
    x, level, left, right = open_slice(current, log_evidence(current, precisions, targets), log_mean, log_var, rng)
    for _ in range(MAX_SHRINKS):
        proposal, needed = propose(left, right, level, log_mean, log_var, rng)
        if log_evidence(math.exp(proposal), precisions, targets) > needed:
            return math.exp(proposal)
        left, right = shrink(left, right, x, proposal)
    return current


@compiled
def draw_factor(odds, precisions, targets, out, rng):
    """Write a posterior draw of a factor with equal correlation into out (m, ≥ 1)."""
    precision, mean, _ = common_part(odds, precisions, targets)
    common = math.sqrt(correlation(odds)) * (mean + rng.standard_normal() / math.sqrt(precision))
    level_var = 1.0 / (1.0 + odds)
    for j in range(precisions.size):
        growth = 1.0 + level_var * precisions[j]
        out[j, 0] = (common + level_var * precisions[j] * targets[j]) / growth + math.sqrt(level_var / growth) * rng.standard_normal()


@compiled_part
def common_given_levels(odds, states):
    """Posterior precision and mean of z given the factor's values states[:, 0] at some of the levels."""
    total = 0.0
    for j in range(states.shape[0]):
        total += states[j, 0]
    precision = 1.0 + states.shape[0] * odds
    return precision, math.sqrt(odds * (1.0 + odds)) * total / precision


@compiled
def draw_between(odds, states, out, rng):
    """Write a joint draw of the factor at further levels given its values states[:, 0] at some into out (u, ≥ 1)."""
    precision, mean = common_given_levels(odds, states)
    common = math.sqrt(correlation(odds)) * (mean + rng.standard_normal() / math.sqrt(precision))
    spread = math.sqrt(1.0 / (1.0 + odds))
    for j in range(out.shape[0]):
        out[j, 0] = common + spread * rng.standard_normal()


@compiled
def moments_between(odds, states, means, variances):
    """Write mean and variance of the factor at further levels given its values states[:, 0] at some."""
    precision, mean = common_given_levels(odds, states)
    for j in range(means.size):
        means[j] = math.sqrt(correlation(odds)) * mean
        variances[j] = correlation(odds) / precision + 1.0 / (1.0 + odds)


@compiled_part
def draw_inverse_wishart(dof, scale, out, rng):
    """Write a draw from the inverse Wishart distribution with this scale matrix (overwritten) into out, both (m, m).

    With scale = C·Cᵀ and Bartlett's lower triangular A, the draw is X·Xᵀ for X = C·A⁻ᵀ.
    """
    m = out.shape[0]
    factor_cholesky(scale, m)
    A = np.zeros((m, m))
    for i in range(m):
        A[i, i] = math.sqrt(2.0 * rng.standard_gamma(0.5 * (dof - i)))
        for j in range(i):
            A[i, j] = rng.standard_normal()
    X = np.zeros((m, m))
    for i in range(m):  # row i of X solves X[i]·Aᵀ = C[i]
        for j in range(m):
            value = scale[i, j] if j <= i else 0.0
            for h in range(j):
                value -= X[i, h] * A[j, h]
            X[i, j] = value / A[j, j]
    for i in range(m):
        for j in range(i + 1):
            value = 0.0
            for h in range(m):
                value += X[i, h] * X[j, h]
            out[i, j] = value
            out[j, i] = value


@compiled
def draw_covariance(factors, used, start, out, rng):
    """Write a draw of an axis's covariance given the factors (R, M, S), from place start on, of the components that are used into out.

    With no component used this is a draw from the prior.
    """
    m = out.shape[0]
    scale = np.zeros((m, m))
    dof = m + EXTRA
    for i in range(m):
        scale[i, i] = EXTRA - 1.0
    for c in range(factors.shape[0]):
        if used[c]:
            dof += 1
            for i in range(m):
                for j in range(i + 1):
                    scale[i, j] += factors[c, start + i, 0] * factors[c, start + j, 0]
    draw_inverse_wishart(dof, scale, out, rng)

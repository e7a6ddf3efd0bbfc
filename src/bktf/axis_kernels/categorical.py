"""A factor over unordered levels: the same operations as in `state_space`.

Equal correlation. Every level has variance 1 and any two have correlation ρ. So a factor is
g_j = √ρ·z + √(1−ρ)·e_j with independent standard normal z and e_j. Given z the levels are
independent, so every operation is a sum over m levels, in O(m). The odds ρ / (1 − ρ) take the place
of a length-scale: the larger they are, the more similar the levels.

Full covariance. All components of an axis share one covariance matrix Σ. Its prior is inverse
Wishart with m + EXTRA_DOF degrees of freedom and scale (EXTRA_DOF − 1)·I. Its mean is then I for
any number m of levels. Given Σ the factors are drawn by `dense`; given the factors Σ is conjugate.

Paper: section 6. Differs: D12, D13.
"""

import math

import numpy as np

from bktf._compiled import (
    MAX_SHRINKS,
    compiled,
    compiled_part,
    factor_cholesky,
    open_slice,
    propose,
    shrink,
)

EXTRA_DOF = 4  # the smallest integer for which the entries of Σ have a finite variance
MAX_LEVELS = 20  # for a full covariance


@compiled_part
def correlation(odds):
    """ρ from its odds."""
    return odds / (1.0 + odds)


@compiled_part
def latent_posterior(odds, precisions, targets):
    """Posterior precision and mean of z, and the log evidence up to an additive constant.

    The quadratic form is a sum of squares at the mean, so there is no cancellation.
    """
    rho = correlation(odds)
    level_var = 1.0 / (1.0 + odds)  # 1 − ρ
    log_det = 0.0
    total = 0.0
    weighted_sum = 0.0
    for j in range(precisions.size):
        variance_ratio = 1.0 + level_var * precisions[j]
        log_det += math.log(variance_ratio)
        total += precisions[j] / variance_ratio
        weighted_sum += precisions[j] / variance_ratio * targets[j]
    precision = 1.0 + rho * total
    mean = math.sqrt(rho) * weighted_sum / precision
    squares = mean * mean
    for j in range(precisions.size):
        residual = targets[j] - math.sqrt(rho) * mean
        squares += precisions[j] / (1.0 + level_var * precisions[j]) * residual * residual
    return precision, mean, -0.5 * (log_det + math.log(precision) + squares)


@compiled
def log_evidence(odds, precisions, targets):
    """Log evidence of pseudo-observations (m,) with equal correlation, up to a constant."""
    return latent_posterior(odds, precisions, targets)[2]


@compiled_part
def draw_odds(current, log_mean, log_var, precisions, targets, rng):
    """A slice update of the odds of the correlation, with the factor integrated out."""
    x, level, left, right = open_slice(
        current, log_evidence(current, precisions, targets), log_mean, log_var, rng
    )
    for _ in range(MAX_SHRINKS):
        proposal, threshold = propose(left, right, level, log_mean, log_var, rng)
        if log_evidence(math.exp(proposal), precisions, targets) > threshold:
            return math.exp(proposal)
        left, right = shrink(left, right, x, proposal)
    return current


@compiled
def draw_factor(odds, precisions, targets, out, rng):
    """Write a posterior draw of a factor with equal correlation into out (m, ≥ 1)."""
    precision, mean, _ = latent_posterior(odds, precisions, targets)
    common = math.sqrt(correlation(odds)) * (mean + rng.standard_normal() / math.sqrt(precision))
    level_var = 1.0 / (1.0 + odds)
    for j in range(precisions.size):
        variance_ratio = 1.0 + level_var * precisions[j]
        out[j, 0] = (common + level_var * precisions[j] * targets[j]) / variance_ratio + math.sqrt(
            level_var / variance_ratio
        ) * rng.standard_normal()


@compiled_part
def latent_given_levels(odds, states):
    """Posterior precision and mean of z given the factor's values states[:, 0] at known levels."""
    total = 0.0
    for j in range(states.shape[0]):
        total += states[j, 0]
    precision = 1.0 + states.shape[0] * odds
    return precision, math.sqrt(odds * (1.0 + odds)) * total / precision


@compiled
def draw_between(odds, states, out, rng):
    """Write a joint draw of the factor at new levels into out (u, ≥ 1).

    states[:, 0] are its values at known levels.
    """
    precision, mean = latent_given_levels(odds, states)
    common = math.sqrt(correlation(odds)) * (mean + rng.standard_normal() / math.sqrt(precision))
    deviation = math.sqrt(1.0 / (1.0 + odds))
    for j in range(out.shape[0]):
        out[j, 0] = common + deviation * rng.standard_normal()


@compiled
def moments_between(odds, states, means, variances):
    """Write the mean and variance of the factor at new levels.

    states[:, 0] are its values at known levels.
    """
    precision, mean = latent_given_levels(odds, states)
    for j in range(means.size):
        means[j] = math.sqrt(correlation(odds)) * mean
        variances[j] = correlation(odds) / precision + 1.0 / (1.0 + odds)


@compiled_part
def draw_inverse_wishart(dof, scale, out, rng):
    """Write a draw from an inverse Wishart distribution into out (m, m); overwrites scale.

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
    """Write a draw of an axis's covariance given the factors of the used components into out.

    factors (R, M, S) has the axis's points from index `start` on. Without used components this is a
    draw from the prior.
    """
    m = out.shape[0]
    scale = np.zeros((m, m))
    dof = m + EXTRA_DOF
    for i in range(m):
        scale[i, i] = EXTRA_DOF - 1.0
    for c in range(factors.shape[0]):
        if used[c]:
            dof += 1
            for i in range(m):
                for j in range(i + 1):
                    scale[i, j] += factors[c, start + i, 0] * factors[c, start + j, 0]
    draw_inverse_wishart(dof, scale, out, rng)

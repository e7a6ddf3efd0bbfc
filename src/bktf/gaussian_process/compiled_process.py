"""Compiled loops of the Gaussian process: sweeps of a chain, and moments given observations.

Arrays over observations and draws are (n, K), so that all draws of one observation are contiguous.
"""

import math

import numpy as np

from bktf._compiled import compiled, compiled_part, solve_transposed
from bktf.gaussian_process.parameter_updates import factor_at, update_parameters

# Of the prior variance; a smaller posterior variance is rounding error
MIN_VARIANCE_SHARE = 1e-14


@compiled
def run_sweeps(problem, logs, noise_precision, chain, n_burn_in, first, count, rng):
    """Do `count` sweeps from sweep number `first`, and store those after burn-in in chain.

    Overwrites logs (D + 2,) and noise_precision (1,).
    """
    model = problem.model
    for sweep in range(first, first + count):
        update_parameters(
            model.separations, model.on_levels, model.log_means, model.log_vars,
            problem.noise_shape, problem.noise_rate, problem.noise_known,
            problem.values, logs, noise_precision, rng,
        )  # fmt: skip
        k = sweep - n_burn_in
        if k >= 0:
            chain.noise_precision[k] = noise_precision[0]
            for p in range(logs.size):
                chain.logs[k, p] = logs[p]


@compiled
def prepare(separations, on_levels, logs, noise_precision, residuals, roots, coefficients):
    """Write U⁻ᵀ of each draw into roots (n, n, K) and C⁻¹·residual into coefficients (n, K).

    C = Uᵀ·U is the covariance of the observations. Return whether every C is positive definite.
    """
    n_draws, n = residuals.shape
    C = np.empty((n, n))
    axis_correlations, product = np.empty(separations.shape), np.empty(separations.shape[1])
    column = np.empty(n)
    for k in range(n_draws):
        log_det = factor_at(
            separations, on_levels, logs[k], noise_precision[k], axis_correlations, product, C
        )
        if not math.isfinite(log_det):
            return False
        for j in range(n):
            for i in range(n):
                column[i] = 0.0
            column[j] = 1.0
            solve_transposed(C, column, j)
            for i in range(n):
                roots[i, j, k] = column[i]
        for i in range(n):
            column[i] = residuals[k, i]
        solve_transposed(C, column, 0)
        for j in range(n):
            total = 0.0
            for i in range(j, n):
                total += roots[i, j, k] * column[i]
            coefficients[j, k] = total
    return True


@compiled_part
def moments(covariance, prior_variances, coefficients, roots, means, variances, solved):
    """Write the mean and variance (K,) of h at a point with these covariances (n, K).

    solved (n, K) becomes U⁻ᵀ·covariance.
    """
    n, n_draws = covariance.shape
    for k in range(n_draws):
        means[k] = 0.0
        variances[k] = prior_variances[k]
    for a in range(n):
        row, row_covariance, coefficient = solved[a], covariance[a], coefficients[a]
        for k in range(n_draws):
            means[k] += coefficient[k] * row_covariance[k]
            row[k] = 0.0
        for i in range(a + 1):
            root, other_covariance = roots[a, i], covariance[i]
            for k in range(n_draws):
                row[k] += root[k] * other_covariance[k]
        for k in range(n_draws):
            variances[k] -= row[k] * row[k]
    for k in range(n_draws):
        variances[k] = max(variances[k], MIN_VARIANCE_SHARE * prior_variances[k])


@compiled
def moments_of_cells(table, starts, cells, prior_variances, coefficients, roots, means, variances):
    """Write the mean and variance (N, K) of h at cells (N, D).

    table (M, n, K) holds the correlations with the observations along all axes; axis d starts at
    starts[d].
    """
    n, n_draws = coefficients.shape
    covariance, solved = np.empty((n, n_draws)), np.empty((n, n_draws))
    for i in range(cells.shape[0]):
        for r in range(n):
            row = covariance[r]
            for k in range(n_draws):
                row[k] = prior_variances[k]
            for d in range(cells.shape[1]):
                factor = table[starts[d] + cells[i, d], r]
                for k in range(n_draws):
                    row[k] *= factor[k]
        moments(covariance, prior_variances, coefficients, roots, means[i], variances[i], solved)

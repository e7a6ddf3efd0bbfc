"""Updates of the parameters of a Gaussian process h, with its values integrated out.

    h ~ GP(0, a·Π_d κ_d)          κ_d and the parameters: see `covariance`
    C = a·Π_d κ_d + I / τ         covariance of n noisy observations of h

C is dense, so an update costs O(n³). Its upper Cholesky factor is U, C = Uᵀ·U; see `cholesky`.
"""

import math

import numpy as np

from bktf._compiled import (
    LOG_LENGTHSCALE_HIGH,
    LOG_LENGTHSCALE_LOW,
    MAX_SHRINKS,
    compiled,
    compiled_part,
    copy_into,
    draw_normal,
    factor_upper,
    inner,
    pivoted_root,
    solve_transposed,
)
from bktf.gaussian_process.covariance import (
    LOG_ODDS_HIGH,
    correlate,
    correlations_along,
    multiply_axes,
    multiply_axis,
    share_of,
)

SLICE_WIDTH = 2.0  # standard deviations of the prior
NOISE_DEVIATION = 1.5  # used for log τ, whose prior is not normal
LOG_SIZE_LOW, LOG_SIZE_HIGH = math.log(1e-8), math.log(1e8)  # of a and τ
MAX_PROPOSALS = 1000  # from a prior, for one inside the bounds


@compiled_part
def write_rows(values, size, nugget, C):
    """Write size·values (P,) into the rows of C's upper triangle, with a nugget on the diagonal."""
    first = 0
    for i in range(C.shape[0]):
        row = C[i, i:]
        for j in range(row.size):
            row[j] = size * values[first + j]
        row[0] += nugget
        first += row.size


@compiled_part
def factor_at(separations, on_levels, logs, noise_precision, along, product, C):
    """Write the Cholesky factor U of C at these parameters into C.

    Return log det C, or NaN where C is not positive definite. along (D, P) and product (P,) are
    overwritten.
    """
    correlate(separations, on_levels, logs, along, product)
    write_rows(product, math.exp(logs[on_levels.size]), 1.0 / noise_precision, C)
    return factor_upper(C)


@compiled
def log_evidence(product, size, nugget, residual, C, solved):
    """Log density N(residual; 0, C) up to an additive constant, C = size·product + nugget·I.

    −∞ where C is not positive definite. Writes U into C and U⁻ᵀ·residual into solved.
    """
    write_rows(product, size, nugget, C)
    log_det = factor_upper(C)
    if not math.isfinite(log_det):
        return -np.inf
    copy_into(residual, solved)
    solve_transposed(C, solved, 0)
    return -0.5 * (log_det + inner(solved, solved))


@compiled_part
def log_prior(index, value, log_means, log_vars, noise_shape, noise_rate):
    """Log prior density of one parameter's logarithm.

    Normal; for the last index, the noise precision, that of the log of a gamma variable.
    """
    if index == log_means.size:
        return noise_shape * value - noise_rate * math.exp(value)
    deviation = value - log_means[index]
    return -0.5 * deviation * deviation / log_vars[index]


@compiled_part
def bounds(index, n_dims):
    """Lower and upper bound of a parameter: log l_d, then log a, the log odds of ρ, log τ."""
    if index < n_dims:
        return LOG_LENGTHSCALE_LOW, LOG_LENGTHSCALE_HIGH
    return (-LOG_ODDS_HIGH, LOG_ODDS_HIGH) if index == n_dims + 1 else (LOG_SIZE_LOW, LOG_SIZE_HIGH)


@compiled_part
def product_at(index, trial, separations, on_levels, along, other_axes, proposed, buffer, out):
    """Write Π_d κ_d into out, with the trial value of the parameter at `index`.

    For a parameter of one axis, also writes its new correlations into proposed.

    along: the correlations before the change. other_axes: the product over all axes but that one.
    """
    n_dims = on_levels.size
    share = share_of(trial[n_dims + 1])
    if index < n_dims:
        correlations_along(separations[index], on_levels[index], trial[index], buffer, proposed)
        copy_into(other_axes, out)
        multiply_axis(proposed, on_levels[index], share, out)
    elif index == n_dims + 1:
        multiply_axes(along, on_levels, share, n_dims, out)
    else:
        copy_into(other_axes, out)


@compiled
def update_parameters(
    separations, on_levels, log_means, log_vars, noise_shape, noise_rate, noise_known, residual,
    logs, noise_precision, rng,
):  # fmt: skip
    """One slice update of each parameter and of the noise precision, with h integrated out.

    Overwrites logs and noise_precision. A parameter affects one axis or none (ρ: all of them), so
    the correlations along the other axes are computed once.
    """
    n_dims, n_pairs = separations.shape
    n, n_logs = residual.size, logs.size
    trial = np.empty(n_logs + 1)
    for index in range(n_logs):
        trial[index] = logs[index]
    trial[n_logs] = math.log(noise_precision[0])
    along, other_axes, proposed = np.empty((n_dims, n_pairs)), np.empty(n_pairs), np.empty(n_pairs)
    product, buffer, C, solved = np.empty(n_pairs), np.empty(n_pairs), np.empty((n, n)), np.empty(n)
    correlate(separations, on_levels, logs, along, product)
    current = log_evidence(
        product, math.exp(trial[n_dims]), math.exp(-trial[n_logs]), residual, C, solved
    )
    for index in range(n_logs + (0 if noise_known else 1)):
        multiply_axes(along, on_levels, share_of(trial[n_dims + 1]), index, other_axes)
        x = trial[index]
        width = SLICE_WIDTH * (math.sqrt(log_vars[index]) if index < n_logs else NOISE_DEVIATION)
        low, high = bounds(index, n_dims)
        level = (
            current
            + log_prior(index, x, log_means, log_vars, noise_shape, noise_rate)
            + math.log(1.0 - rng.random())
        )
        left = x - width * rng.random()
        right = min(left + width, high)
        left = max(left, low)
        for _ in range(MAX_SHRINKS):
            trial[index] = left + (right - left) * rng.random()
            product_at(
                index, trial, separations, on_levels, along, other_axes, proposed, buffer, product
            )
            evidence = log_evidence(
                product, math.exp(trial[n_dims]), math.exp(-trial[n_logs]), residual, C, solved
            )
            if (
                evidence
                + log_prior(index, trial[index], log_means, log_vars, noise_shape, noise_rate)
                > level
            ):
                current = evidence
                if index < n_dims:
                    copy_into(proposed, along[index])
                break
            if trial[index] < x:
                left = trial[index]
            else:
                right = trial[index]
            trial[index] = x
    for index in range(n_logs):
        logs[index] = trial[index]
    noise_precision[0] = math.exp(trial[n_logs])


@compiled
def draw_values(separations, on_levels, logs, noise_precision, residual, out, rng):
    """Write a draw of h at the observations given residual = h + noise into out.

    With the covariance of h as G·Gᵀ, h = G·z and z has the precision I + τ·Gᵀ·G. So no jitter is
    needed, however smooth h is.
    """
    n = residual.size
    along, product = np.empty(separations.shape), np.empty(separations.shape[1])
    K = np.empty((n, n))
    correlate(separations, on_levels, logs, along, product)
    write_rows(product, math.exp(logs[separations.shape[0]]), 0.0, K)
    for i in range(n):
        for j in range(i):
            K[i, j] = K[j, i]
    G = np.empty((n, n))
    pivots = np.empty(n, np.int64)
    _, rank = pivoted_root(K, n, G, pivots)
    H = np.zeros((rank, rank))
    z = np.zeros(rank)
    for i in range(n):
        for a in range(rank):
            scaled = noise_precision * G[i, a]
            z[a] += scaled * residual[i]
            for b in range(a + 1):
                H[a, b] += scaled * G[i, b]
    for a in range(rank):
        H[a, a] += 1.0
    draw_normal(H, rank, z, rng)
    for i in range(n):
        out[i] = 0.0
        for a in range(rank):
            out[i] += G[i, a] * z[a]


@compiled
def draw_parameters(n_dims, log_means, log_vars, logs, rng):
    """Write the parameters of a process, drawn from their priors, into logs (D + 2,)."""
    for index in range(logs.size):
        low, high = bounds(index, n_dims)
        logs[index] = log_means[index]
        for _ in range(MAX_PROPOSALS):
            proposal = log_means[index] + math.sqrt(log_vars[index]) * rng.standard_normal()
            if low < proposal < high:
                logs[index] = proposal
                break


@compiled
def draw_prior(separations, on_levels, log_means, log_vars, logs, out, rng):
    """Write a prior draw of the parameters into logs, and of h at the observations into out."""
    draw_parameters(separations.shape[0], log_means, log_vars, logs, rng)
    draw_values(separations, on_levels, logs, 0.0, np.zeros(out.size), out, rng)

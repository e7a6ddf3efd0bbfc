"""The local component: a Gaussian process h for what a few products of factors cannot say.

    h ~ GP(0, a·Π_d κ_d)          κ_d: Matérn 5/2 in |x_d − x'_d| / l_d, or equal correlation on an axis of levels
    C = a·Π_d κ_d + I / τ         covariance at the n observations of what the components leave over, h integrated out

Unlike a factor, h is no function of one coordinate: its covariance is a dense matrix, and an update costs O(n³). It is meant for
hundreds of observations. Its parameters are kept as logarithms: log l_d (of the odds of the correlation on levels), then log a.

Matrices are held as upper triangles C = Uᵀ·U, row by row, so that the loops of the factorisation run along rows.
"""

import math

import numpy as np

from bktf._jit import kernel, part
from bktf.dense import draw_normal, pivoted_root
from bktf.slice_sampling import LOG_LENGTHSCALE_HIGH, LOG_LENGTHSCALE_LOW, MAX_SHRINKS
from bktf.sums import add_multiple, copy_into, fill, inner

SQRT5 = math.sqrt(5.0)
SLICE_WIDTH = 2.0  # standard deviations of the prior
LOG_SIZE_LOW, LOG_SIZE_HIGH = math.log(1e-8), math.log(1e8)  # of a and τ


@part
def correlations(separations, on_levels, logs, exponents, out):
    """Write Π_d κ_d of each pair of observations into out (P,); exponents (P,) is room.

    separations (D, P): |x_d − x'_d| on scaled axes, on levels 1 where they differ and 0 where they do not, of the pairs i ≤ j row by row.
    """
    fill(1.0, out)
    fill(0.0, exponents)
    for d in range(separations.shape[0]):
        if on_levels[d]:
            weaken(separations[d], 1.0 / (1.0 + math.exp(logs[d])), out)
        else:
            multiply_matern(separations[d], SQRT5 * math.exp(-logs[d]), exponents, out)
    for p in range(out.size):
        out[p] *= math.exp(-exponents[p])


@part
def weaken(apart, loss, out):
    """Multiply out by 1 where levels are the same and by 1 − loss where they differ."""
    for p in range(out.size):
        out[p] *= 1.0 - apart[p] * loss


@part
def multiply_matern(apart, inverse, exponents, out):
    """Multiply out by the polynomial of a Matérn 5/2 correlation and add to its exponents."""
    for p in range(out.size):
        r = inverse * apart[p]
        out[p] *= 1.0 + r + r * r / 3.0
        exponents[p] += r


@part
def factor_upper(C):
    """Overwrite the upper triangle of C with U, C = Uᵀ·U; return the log determinant, NaN where a pivot is not positive.

    Two rows at a time: each entry below is then read and written half as often, which is what the time goes into. The loops stand here and
    not in functions of their own, because handing a piece of a row to a function costs reference counting.
    """
    n = C.shape[0]
    log_det = 0.0
    for k in range(0, n, 2):
        for now in range(k, min(k + 2, n)):
            row = C[now, now:]
            if now > k:
                above, share = C[k, now:], C[k, now]
                for j in range(row.size):
                    row[j] -= share * above[j]
            pivot = row[0]
            if not pivot > 0.0:
                return np.nan
            log_det += math.log(pivot)
            scale = 1.0 / math.sqrt(pivot)
            for j in range(row.size):
                row[j] *= scale
        for i in range(k + 2, n):
            first, second, row = C[k, i:], C[k + 1, i:], C[i, i:]
            a, b = C[k, i], C[k + 1, i]
            for j in range(row.size):
                row[j] -= a * first[j] + b * second[j]
    return log_det


@part
def solve_transposed(U, vector):
    """Overwrite vector with U⁻ᵀ·vector for an upper triangular U."""
    for k in range(U.shape[0]):
        row, rest = U[k, k:], vector[k:]
        share = rest[0] / row[0]
        rest[0] = share
        for j in range(1, row.size):
            rest[j] -= share * row[j]


@part
def write_rows(values, size, nugget, C):
    """Write size·values (P,) into the rows of C's upper triangle, with a nugget on the diagonal."""
    first = 0
    for i in range(C.shape[0]):
        row = C[i, i:]
        for j in range(row.size):
            row[j] = size * values[first + j]
        row[0] += nugget
        first += row.size


@part
def factor_at(separations, on_levels, logs, noise_precision, room, C):
    """Write the factor U of C at these parameters; room is (2, P). Return the log determinant, NaN where C is not positive definite."""
    correlations(separations, on_levels, logs, room[0], room[1])
    write_rows(room[1], math.exp(logs[separations.shape[0]]), 1.0 / noise_precision, C)
    return factor_upper(C)


@kernel
def log_evidence(separations, on_levels, logs, noise_precision, residual, room, C, solved):
    """Log N(residual; 0, C) without its constant; writes U into C and U⁻ᵀ·residual into solved; −∞ where C is not positive definite."""
    log_det = factor_at(separations, on_levels, logs, noise_precision, room, C)
    if not math.isfinite(log_det):
        return -np.inf
    for i in range(residual.size):
        solved[i] = residual[i]
    solve_transposed(C, solved)
    squares = 0.0
    for i in range(residual.size):
        squares += solved[i] * solved[i]
    return -0.5 * (log_det + squares)


@part
def log_prior(place, value, log_means, log_vars, noise_shape, noise_rate):
    """Of one parameter's logarithm: normal, or that of a gamma variable for the noise precision, the last place."""
    if place == log_means.size:
        return noise_shape * value - noise_rate * math.exp(value)
    off = value - log_means[place]
    return -0.5 * off * off / log_vars[place]


@kernel
def update_parameters(
    separations, on_levels, log_means, log_vars, noise_shape, noise_rate, noise_known, residual, logs, noise_precision, room, C, solved, rng
):  # fmt: skip
    """One slice update of each parameter and of the noise precision, h integrated out; overwrites logs and noise_precision.

    Leaves the factor of C at the new parameters in C.
    """
    n_dims = separations.shape[0]
    n_parameters = n_dims + (1 if noise_known else 2)
    trial = np.empty(n_dims + 2)
    for place in range(n_dims + 1):
        trial[place] = logs[place]
    trial[n_dims + 1] = math.log(noise_precision[0])
    current = log_evidence(separations, on_levels, trial, noise_precision[0], residual, room, C, solved)
    for place in range(n_parameters):
        x = trial[place]
        width = SLICE_WIDTH * (math.sqrt(log_vars[place]) if place <= n_dims else 1.5)
        low, high = (LOG_LENGTHSCALE_LOW, LOG_LENGTHSCALE_HIGH) if place < n_dims else (LOG_SIZE_LOW, LOG_SIZE_HIGH)
        level = current + log_prior(place, x, log_means, log_vars, noise_shape, noise_rate) + math.log(1.0 - rng.random())
        left = x - width * rng.random()
        right = min(left + width, high)
        left = max(left, low)
        for _ in range(MAX_SHRINKS):
            trial[place] = left + (right - left) * rng.random()
            evidence = log_evidence(separations, on_levels, trial, math.exp(trial[n_dims + 1]), residual, room, C, solved)
            if evidence + log_prior(place, trial[place], log_means, log_vars, noise_shape, noise_rate) > level:
                current = evidence
                break
            if trial[place] < x:
                left = trial[place]
            else:
                right = trial[place]
            trial[place] = x
    for place in range(n_dims + 1):
        logs[place] = trial[place]
    noise_precision[0] = math.exp(trial[n_dims + 1])
    log_evidence(separations, on_levels, trial, noise_precision[0], residual, room, C, solved)


@kernel
def draw_values(separations, on_levels, logs, noise_precision, residual, out, rng):
    """Write a draw of h at the observations given residual = h + noise into out.

    With the covariance of h as G·Gᵀ, h = G·z and z has the precision I + τ·Gᵀ·G: no jitter, however smooth h is.
    """
    n = residual.size
    room = np.empty((2, separations.shape[1]))
    K = np.empty((n, n))
    correlations(separations, on_levels, logs, room[0], room[1])
    write_rows(room[1], math.exp(logs[separations.shape[0]]), 0.0, K)
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


@kernel
def draw_prior(separations, on_levels, log_means, log_vars, logs, out, rng):
    """Write the parameters and the values of h at the observations, drawn from the prior, into logs and out."""
    n_dims = separations.shape[0]
    for place in range(n_dims + 1):
        low, high = (LOG_LENGTHSCALE_LOW, LOG_LENGTHSCALE_HIGH) if place < n_dims else (LOG_SIZE_LOW, LOG_SIZE_HIGH)
        logs[place] = log_means[place]
        for _ in range(1000):
            proposal = log_means[place] + math.sqrt(log_vars[place]) * rng.standard_normal()
            if low < proposal < high:
                logs[place] = proposal
                break
    draw_values(separations, on_levels, logs, 0.0, np.zeros(out.size), out, rng)


@part
def update_weights(noise_root, weight_vars, values, products, weights, rng):
    """Draw the weights given the factors, h integrated out; noise_root is U of C."""
    n_components = len(products)
    precision = np.zeros((n_components, n_components))
    mean = np.zeros(n_components)
    solved = products.copy()
    target = values.copy()
    solve_transposed(noise_root, target)
    for c in range(n_components):
        solve_transposed(noise_root, solved[c])
        for h in range(c + 1):
            precision[c, h] = inner(solved[c], solved[h])
        precision[c, c] += 1.0 / weight_vars[c]
        mean[c] = inner(solved[c], target)
    draw_normal(precision, n_components, mean, rng)
    for c in range(n_components):
        weights[c] = mean[c]


@kernel
def update(
    separations, on_levels, log_means, log_vars, noise_shape, noise_rate, noise_known, weight_vars, values, products, weights, logs,
    noise_precision, local_values, residual, rng,
):  # fmt: skip
    """Draw the weights, then the parameters and the noise precision, all with h integrated out, then h; writes them and the residual."""
    n_components, n = products.shape
    C = np.empty((n, n))
    room = np.empty((2, separations.shape[1]))
    solved = np.empty(n)
    if n_components > 0 and math.isfinite(factor_at(separations, on_levels, logs, noise_precision[0], room, C)):
        update_weights(C, weight_vars, values, products, weights, rng)
    copy_into(values, residual)
    for c in range(n_components):
        add_multiple(residual, -weights[c], products[c])
    update_parameters(
        separations, on_levels, log_means, log_vars, noise_shape, noise_rate, noise_known, residual, logs, noise_precision, room, C, solved,
        rng,
    )  # fmt: skip
    draw_values(separations, on_levels, logs, noise_precision[0], residual, local_values, rng)
    add_multiple(residual, -1.0, local_values)

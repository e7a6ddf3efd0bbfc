"""Acquisition scores over draws, and coordinate ascent on them.

A *score* turns the values f_k(x) of K draws into one number. With the weights integrated out it
takes K normal distributions instead:

    EI           mean_k max(f_k(x) − threshold_k, 0)
    UCB          u + β·√v with mean u and variance v over draws             (paper: section 3.4)
    EI, weights  mean_k E max(N(μ_k(x), σ_k²(x)) − threshold_k, 0), μ_k and σ_k from the posterior
                 of the weights given the factors of draw k; in logarithms, so it is defined where
                 plain EI is 0

Tables are laid out (M, R, K): all draws of a component at one axis point are contiguous. With the
products of all other axes cached, moving along one axis costs O(K·R) per point.
"""

import math

import numpy as np

from bktf._compiled import HALF_LOG_2PI, INV_SQRT_2PI, SQRT_HALF, compiled, compiled_part

EI = 0
UCB = 1
EI_WEIGHTS = 2

TAIL = -25.0  # below this, four terms of the asymptotic series have an error below 1e-8


@compiled_part
def log_expected_excess(z):
    """log(φ(z) + z·Φ(z)): the log expected excess of a standard normal over −z."""
    if z > TAIL:
        density = math.exp(-0.5 * z * z) * INV_SQRT_2PI
        probability = 0.5 * math.erfc(-z * SQRT_HALF)
        if z > -1.0:
            return math.log(density + z * probability)
        return -0.5 * z * z - HALF_LOG_2PI + math.log1p(z * (probability / density))
    y = 1.0 / (z * z)
    series = y * (-3.0 + y * (15.0 - 105.0 * y))
    return -0.5 * z * z - HALF_LOG_2PI - 2.0 * math.log(-z) + math.log1p(series)


@compiled_part
def score_of(kind, beta, products, weights, roots, thresholds, values):
    """The score of one point from its products (R, K); values (K,) is overwritten.

    weights (R, K): drawn, or their posterior means. roots (R, R, K): with the weights integrated
    out, the inverse Cholesky factors of their posterior precisions (lower triangular), otherwise
    not read.
    """
    n_components, n_draws = products.shape
    for k in range(n_draws):
        values[k] = weights[0, k] * products[0, k]
    for r in range(1, n_components):
        for k in range(n_draws):
            values[k] += weights[r, k] * products[r, k]
    total = 0.0
    if kind == EI:
        for k in range(n_draws):
            total += max(values[k] - thresholds[k], 0.0)
        return total / n_draws
    if kind == UCB:
        squares = 0.0
        for k in range(n_draws):
            total += values[k]
            squares += values[k] * values[k]
        mean = total / n_draws
        return mean + beta * math.sqrt(max(squares / n_draws - mean * mean, 0.0))
    return log_mean_excess(products, roots, thresholds, values)


@compiled_part
def log_mean_excess(products, roots, thresholds, values):
    """Log EI with the weights integrated out, from products (R, K) and mean values (K,)."""
    n_components, n_draws = products.shape
    total = 0.0
    largest = -np.inf
    for k in range(n_draws):
        variance = 0.0
        for a in range(n_components):
            part_a = 0.0
            for r in range(a + 1):
                part_a += roots[a, r, k] * products[r, k]
            variance += part_a * part_a
        gain = values[k] - thresholds[k]
        if variance > 0.0:
            deviation = math.sqrt(variance)
            log_gain = math.log(deviation) + log_expected_excess(gain / deviation)
        else:
            log_gain = math.log(gain) if gain > 0.0 else -np.inf
        if log_gain > largest:  # running log-sum-exp
            total = total * math.exp(largest - log_gain) + 1.0
            largest = log_gain
        elif log_gain > -np.inf:
            total += math.exp(log_gain - largest)
    return largest + math.log(total / n_draws) if total > 0.0 else -np.inf


@compiled_part
def products_without(table, starts, cell, skipped, out):
    """Write the products (R, K) over all axes but one at a cell into out."""
    n_components, n_draws = out.shape
    for r in range(n_components):
        for k in range(n_draws):
            out[r, k] = 1.0
    for d in range(cell.size):
        if d != skipped:
            row = table[starts[d] + cell[d]]
            for r in range(n_components):
                for k in range(n_draws):
                    out[r, k] *= row[r, k]


@compiled_part
def is_excluded(cell, axis, value, excluded):
    """Whether the cell with this value on this axis is among the excluded (E, D)."""
    for e in range(excluded.shape[0]):
        if excluded[e, axis] == value:
            same = True
            for d in range(cell.size):
                if d != axis and excluded[e, d] != cell[d]:
                    same = False
                    break
            if same:
                return True
    return False


@compiled
def score_cells(kind, beta, table, starts, weights, roots, thresholds, cells):
    """Scores (n,) of cells (n, D).

    A cell that differs from the previous one on the last axis only, as in an enumeration, is cheap.
    """
    n_dims = starts.size - 1
    other_axes = np.empty((table.shape[1], table.shape[2]))
    products = np.empty((table.shape[1], table.shape[2]))
    values = np.empty(table.shape[2])
    scores = np.empty(cells.shape[0])
    for i in range(cells.shape[0]):
        same = i > 0
        for d in range(n_dims - 1):
            if same and cells[i, d] != cells[i - 1, d]:
                same = False
        if not same:
            products_without(table, starts, cells[i], n_dims - 1, other_axes)
        row = table[starts[n_dims - 1] + cells[i, n_dims - 1]]
        for r in range(other_axes.shape[0]):
            for k in range(other_axes.shape[1]):
                products[r, k] = other_axes[r, k] * row[r, k]
        scores[i] = score_of(kind, beta, products, weights, roots, thresholds, values)
    return scores


@compiled
def ascend(
    kind, beta, table, starts, weights, roots, thresholds, excluded, max_passes, cells, scores,
):  # fmt: skip
    """Overwrite cells (n, D) and their known scores by where coordinate ascents from them end.

    Excluded cells are skipped. An excluded start has score −∞ and moves to the best allowed
    neighbour, if there is one.
    """
    other_axes = np.empty((table.shape[1], table.shape[2]))
    products = np.empty((table.shape[1], table.shape[2]))
    values = np.empty(table.shape[2])
    n_dims = starts.size - 1
    for i in range(cells.shape[0]):
        cell = cells[i]
        for _ in range(max_passes):
            moved = False
            for d in range(n_dims):
                products_without(table, starts, cell, d, other_axes)
                best = scores[i]
                best_value = cell[d]
                for j in range(starts[d + 1] - starts[d]):
                    if j == cell[d]:
                        continue
                    row = table[starts[d] + j]
                    for r in range(other_axes.shape[0]):
                        for k in range(other_axes.shape[1]):
                            products[r, k] = other_axes[r, k] * row[r, k]
                    value = score_of(kind, beta, products, weights, roots, thresholds, values)
                    if value > best and not is_excluded(cell, d, j, excluded):
                        best = value
                        best_value = j
                if best > scores[i]:
                    scores[i] = best
                    cell[d] = best_value
                    moved = True
            if not moved:
                break

"""Cholesky factors and triangular solves for compiled code.

There are two layouts. Small precision matrices have a lower triangular factor, C·Cᵀ. Covariances of
all observations have an upper triangular factor, Uᵀ·U, because its loops run along rows.
"""

import math

import numpy as np

from bktf._compiled.constants import MACHINE_EPSILON
from bktf._compiled.numba_options import compiled, compiled_part

CHOLESKY_FLOOR = 1e-15  # a pivot below this share of its diagonal entry is rounding error
PIVOT_FLOOR = 4 * MACHINE_EPSILON  # as a share of the largest variance; less is rounding error


@compiled
def pivoted_root(K, n_first, G, pivots):
    """Write G with G·Gᵀ = K and the pivots; K is overwritten.

    Return the rank of the first n_first rows and the rank of K. Pivots are taken among the first
    n_first rows while any is left, so the leading columns of G depend on those rows alone.
    """
    m = K.shape[0]
    largest = 0.0
    for i in range(m):
        largest = max(largest, K[i, i])
        for j in range(m):
            G[i, j] = 0.0
    rank = 0
    rank_first = 0
    for stage in range(2):
        low = 0 if stage == 0 else n_first
        high = n_first if stage == 0 else m
        for _ in range(low, high):
            pivot = -1
            best = PIVOT_FLOOR * largest
            for i in range(low, high):
                if K[i, i] > best:
                    best = K[i, i]
                    pivot = i
            if pivot < 0:
                break
            root = math.sqrt(best)
            for i in range(m):
                G[i, rank] = K[i, pivot] / root
            G[pivot, rank] = root
            for i in range(m):
                for j in range(m):
                    K[i, j] -= G[i, rank] * G[j, rank]
            for i in range(m):  # rounding must not leave a pivot that could be taken again
                K[i, pivot] = 0.0
                K[pivot, i] = 0.0
            pivots[rank] = pivot
            rank += 1
        if stage == 0:
            rank_first = rank
    return rank_first, rank


@compiled_part
def factor_cholesky(H, n):
    """Overwrite the lower triangle of H[:n, :n] with its Cholesky factor; return log det H."""
    log_det = 0.0
    for j in range(n):
        floor = CHOLESKY_FLOOR * H[j, j]
        for k in range(j):
            for i in range(j, n):
                H[i, j] -= H[i, k] * H[j, k]
        root = math.sqrt(max(H[j, j], floor))
        H[j, j] = root * root
        log_det += 2.0 * math.log(root)
        for i in range(j, n):
            H[i, j] /= root
    return log_det


@compiled_part
def solve_lower(C, n, vector):
    """Overwrite vector[:n] with C⁻¹·vector for a lower triangular C."""
    for i in range(n):
        for j in range(i):
            vector[i] -= C[i, j] * vector[j]
        vector[i] /= C[i, i]


@compiled_part
def solve_upper(C, n, vector):
    """Overwrite vector[:n] with C⁻ᵀ·vector for a lower triangular C."""
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            vector[i] -= C[j, i] * vector[j]
        vector[i] /= C[i, i]


@compiled_part
def draw_normal(H, n, z, rng):
    """Overwrite z[:n] = H·mean with a draw of N(mean, H⁻¹), and H with its Cholesky factor."""
    factor_cholesky(H, n)
    solve_lower(H, n, z)
    for i in range(n):
        z[i] += rng.standard_normal()
    solve_upper(H, n, z)


@compiled_part
def factor_upper(C):
    """Overwrite the upper triangle of C with U, C = Uᵀ·U.

    Return log det C, or NaN where a pivot is not positive.

    Two rows are eliminated at a time, because memory access dominates the cost: each entry below is
    then read and written half as often. The loops are inlined, because passing a slice of a row to
    a function costs reference counting.
    """
    n = C.shape[0]
    log_det = 0.0
    for k in range(0, n, 2):
        for pivot_row in range(k, min(k + 2, n)):
            row = C[pivot_row, pivot_row:]
            if pivot_row > k:
                above, multiplier = C[k, pivot_row:], C[k, pivot_row]
                for j in range(row.size):
                    row[j] -= multiplier * above[j]
            pivot = row[0]
            if not pivot > 0.0:
                return np.nan
            log_det += math.log(pivot)
            scale = 1.0 / math.sqrt(pivot)
            for j in range(row.size):
                row[j] *= scale
        for i in range(k + 2, n):
            upper_row, lower_row, row = C[k, i:], C[k + 1, i:], C[i, i:]
            a, b = C[k, i], C[k + 1, i]
            for j in range(row.size):
                row[j] -= a * upper_row[j] + b * lower_row[j]
    return log_det


@compiled_part
def solve_transposed(U, vector, first):
    """Overwrite vector with U⁻ᵀ·vector for an upper triangular U; vector[:first] must be 0."""
    for k in range(first, U.shape[0]):
        row, remaining = U[k, k:], vector[k:]
        solution = remaining[0] / row[0]
        remaining[0] = solution
        for j in range(1, row.size):
            remaining[j] -= solution * row[j]

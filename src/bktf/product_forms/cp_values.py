"""Values and moments of CP forms f = Σ_c weight_c Π_d factor_d^c, for all draws at once.

A *table* holds one axis's factor values (K, R, u) at the u distinct coordinates of the points.
Points are rows of indices into the tables. Blocks of points keep the memory bounded.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bktf._typing import Floats, Ints

Tables = Sequence[Floats]  # D arrays (K, R, u_d)

BLOCK = 4_000_000  # numbers in the largest temporary array: 32 MB


def _blocks(n: int, size: int) -> Iterator[slice]:
    """Slices of at most BLOCK / size points."""
    step = max(1, BLOCK // max(size, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def products(tables: Tables, index: Ints) -> Floats:
    """Π_d table_d[:, :, index_d], (K, R, n)."""
    result = tables[0][:, :, index[:, 0]]
    for d in range(1, len(tables)):
        result *= tables[d][:, :, index[:, d]]
    return result


def values(tables: Tables, weights: Floats, index: Ints) -> Floats:
    """The value of f at each point for each draw, (K, n)."""
    n_draws, n_components = weights.shape
    out = np.empty((n_draws, len(index)))
    for part in _blocks(len(index), n_draws * n_components):
        out[:, part] = np.einsum("kr,krn->kn", weights, products(tables, index[part]))
    return out


class Moments(NamedTuple):
    """Mean and variance over draws."""

    mean: Floats
    variance: Floats


def moments(means: Tables, variances: Tables, weights: Floats, index: Ints) -> Moments:
    """Mean and variance of f at each point over all draws, (n,) each, by the law of total variance.

    means and variances are those of the factor values within each draw.
    """
    n_draws, n_components = weights.shape
    mean, variance = np.empty(len(index)), np.empty(len(index))
    for part in _blocks(len(index), 3 * n_draws * n_components):
        by_draw = moments_by_draw(means, variances, weights, index[part])
        mean[part] = by_draw.mean.mean(axis=0)
        variance[part] = by_draw.mean.var(axis=0) + by_draw.variance.mean(axis=0)
    return Moments(mean, variance)


def moments_by_draw(means: Tables, variances: Tables, weights: Floats, index: Ints) -> Moments:
    """Mean and variance of f at each point within each draw, (K, n) each.

    Within a draw, factors of different axes and components are independent. So E f = Σ w Π μ and
    Var f = Σ w² (Π (μ² + v) − Π μ²).
    """
    first = products(means, index)
    mean = np.einsum("kr,krn->kn", weights, first)
    if all(not v.any() for v in variances):
        return Moments(mean, np.zeros_like(mean))
    squares = [m * m + v for m, v in zip(means, variances, strict=True)]
    extra = np.einsum("kr,krn->kn", weights**2, products(squares, index) - first**2)
    return Moments(mean, np.maximum(extra, 0.0))


def khatri_rao(factors: Sequence[Floats]) -> Floats:
    """Column-wise Kronecker product of (rows, m_d) arrays: (rows, Π m_d), last axis fastest."""
    result = factors[0]
    for factor in factors[1:]:
        result = (result[:, :, None] * factor[:, None, :]).reshape(len(result), -1)
    return result


def split_in_halves(sizes: Sequence[int]) -> int:
    """The number of axes in the first half, so that both halves have about as many cells."""
    logs = np.cumsum(np.log(sizes))
    return int(np.argmin(np.abs(2 * logs[:-1] - logs[-1]))) + 1 if len(sizes) > 1 else 1


def grid_moments(factors: Tables, weights: Floats) -> Moments:
    """Mean and variance of f over the grid, (m_1, …, m_D) each, by matrix products.

    The axes are split into two halves. Over draws and components (or pairs of them), each half is a
    Khatri–Rao product.
    """
    n_draws, n_components = weights.shape
    sizes = [f.shape[2] for f in factors]
    split = split_in_halves(sizes)
    flat = [f.reshape(n_draws * n_components, -1) for f in factors]
    left = khatri_rao(flat[:split])
    right = khatri_rao(flat[split:]) if split < len(sizes) else np.ones((len(left), 1))
    left = left * weights.reshape(-1, 1)
    mean = (left.T @ right) / n_draws
    left = left.reshape(n_draws, n_components, -1)
    right = right.reshape(n_draws, n_components, -1)
    second = np.zeros_like(mean)
    for a in range(n_components):
        for b in range(a + 1):
            pair = (left[:, a] * left[:, b]).T @ (right[:, a] * right[:, b])
            second += pair if a == b else 2 * pair
    variance = np.maximum(second / n_draws - mean * mean, 0.0)
    return Moments(mean.reshape(sizes), variance.reshape(sizes))

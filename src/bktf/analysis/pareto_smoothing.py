"""Pareto-smoothed importance weights, and how far they can be trusted.

The largest weights of a sample are replaced by quantiles of a generalised Pareto distribution that
is fitted to them. Its shape k says how heavy their tail is: from ½ on the variance of the weights
is infinite, from 1 on their mean.

Sources: Vehtari, Simpson, Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling";
Zhang and Stephens (2009), "A new and efficient estimation method for the generalized Pareto
distribution".
"""

import math
from typing import NamedTuple

import numpy as np

from bktf._typing import Floats

MIN_TAIL = 5  # weights; a distribution with two parameters cannot be fitted to fewer
MAX_TAIL_SHARE = 0.2  # of all weights
N_EXTRA_CANDIDATES = 30  # values of the fit's parameter, besides √(tail length)
QUARTILE_PRIOR = 3.0  # Zhang and Stephens: how wide candidates spread around 1 / first quartile
# The shape is estimated as if so many further observations had given k = ½; of a tail of seven
# weights, which a default fit has, the data alone say little.
N_PRIOR, PRIOR_SHAPE = 10, 0.5
MIN_EXCESS = 1e-250  # of the largest weight; with smaller ones the fit would overflow
MIN_SHAPE = 1e-10  # below it in absolute value, quantiles are those of an exponential distribution


class SmoothedWeights(NamedTuple):
    """Normalised weights and the shapes of their tails."""

    weights: Floats  # (K, n) each column sums to 1
    pareto_k: Floats  # (n,) NaN where the tail is too short for an estimate


class ParetoFit(NamedTuple):
    """A generalised Pareto distribution of excesses over 0."""

    shape: float  # k; the tail falls like x^(−1/k)
    scale: float

    def quantiles(self, p: Floats) -> Floats:
        """The values below which a share p lies."""
        log_rest = -np.log1p(-p)
        if abs(self.shape) < MIN_SHAPE:
            return np.asarray(self.scale * log_rest)
        return np.asarray(self.scale * np.expm1(self.shape * log_rest) / self.shape)


def smooth_weights(log_weights: Floats) -> SmoothedWeights:
    """Pareto-smoothed weights of n samples of K log weights (K, n), each column by itself."""
    columns = [_smooth_column(column) for column in log_weights.T]
    weights = np.stack([column for column, _ in columns], axis=1)
    return SmoothedWeights(weights, np.array([k for _, k in columns]))


def _smooth_column(log_weights: Floats) -> tuple[Floats, float]:
    """The normalised weights (K,) of one sample, and k.

    Weights that are no numbers (the two densities are too far from each other for double
    precision) become equal ones with k = ∞.
    """
    if not np.isfinite(log_weights).all():
        return np.full(log_weights.size, 1.0 / log_weights.size), math.inf
    weights = np.exp(log_weights - log_weights.max())
    n_tail = tail_length(weights.size)
    if n_tail < MIN_TAIL:
        return weights / weights.sum(), math.nan
    order = np.argsort(weights, kind="stable")
    tail = order[-n_tail:]
    cutoff = weights[order[-n_tail - 1]]
    excesses = weights[tail] - cutoff
    if excesses[-1] <= np.finfo(float).eps:  # equal weights, to rounding
        return weights / weights.sum(), 0.0
    if excesses[quartile_index(n_tail)] < MIN_EXCESS:  # few weights are everything
        return weights / weights.sum(), math.inf
    fit = fit_pareto(excesses)
    shape = (n_tail * fit.shape + N_PRIOR * PRIOR_SHAPE) / (n_tail + N_PRIOR)
    steps = (np.arange(n_tail) + 0.5) / n_tail
    # No weight exceeds the largest raw one, so that an infinite mean stays bounded.
    smooth = cutoff + ParetoFit(shape, fit.scale).quantiles(steps)
    weights[tail] = np.minimum(smooth, 1.0)
    return weights / weights.sum(), shape


def tail_length(n_weights: int) -> int:
    """How many of the largest weights are smoothed."""
    share = math.ceil(min(MAX_TAIL_SHARE * n_weights, 3.0 * math.sqrt(n_weights)))
    return min(share, n_weights - 1)


def quartile_index(n: int) -> int:
    """The index of the first quartile among n sorted values, n at least 2."""
    return int(n / 4 + 0.5) - 1


def fit_pareto(excesses: Floats) -> ParetoFit:
    """The distribution of positive excesses (M,) in increasing order.

    The density is (1 − bx)^(1/k' − 1) up to a constant, where k' = −k and b = k' / scale. Given b
    the maximum of the likelihood over k is k = mean log(1 − bx). So b has a profile likelihood; its
    mean under that likelihood and a vague prior is a sum over candidates.
    """
    n = excesses.size
    quartile = excesses[quartile_index(n)]
    n_candidates = N_EXTRA_CANDIDATES + int(math.sqrt(n))
    steps = np.arange(1, n_candidates + 1) - 0.5
    b = 1.0 / excesses[-1] + (1.0 - np.sqrt(n_candidates / steps)) / (QUARTILE_PRIOR * quartile)
    b[b == 0] = MIN_SHAPE / excesses[-1]  # an exponential distribution is a limit, not a candidate
    shapes = np.log1p(-b[:, None] * excesses).mean(axis=1)
    log_likelihood = n * (np.log(-b / shapes) - shapes - 1.0)
    weights = np.exp(log_likelihood - log_likelihood.max())
    mean_b = float(weights @ b / weights.sum())
    shape = float(np.log1p(-mean_b * excesses).mean())
    return ParetoFit(shape, -shape / mean_b)

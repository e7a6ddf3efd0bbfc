"""Acquisition scores of cells under draws with a local component: within a draw f is normal, so each score is a closed form.

log EI   log mean_k E max(N(μ_k, v_k) − threshold_k, 0), defined everywhere
UCB      u + β·√v with mean and variance over draws and within them
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf._compiled.numba_options import kernel, part
from bktf.acquisition.cell_scores import log_expected_excess
from bktf.gaussian_process.conditional_process import ConditionalProcess, condition_process
from bktf.product_forms import cp_tensors as cp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DRAWS = 16  # draws that take part; each costs n² for every cell that is looked at


@part
def log_improvement(means, variances, thresholds, out):
    """Write log EI at a point of each draw into out (K,); return the logarithm of their mean."""
    largest = -np.inf
    for k in range(out.size):
        deviation = math.sqrt(variances[k])
        out[k] = math.log(deviation) + log_expected_excess((means[k] - thresholds[k]) / deviation)
        largest = max(largest, out[k])
    total = 0.0
    for k in range(out.size):
        total += math.exp(out[k] - largest)
    return largest + math.log(total / out.size)


@kernel
def log_improvements(means, variances, thresholds):
    """Log EI (N,) at points from the draws' moments (N, K)."""
    out, room = np.empty(len(means)), np.empty(thresholds.size)
    for i in range(out.size):
        out[i] = log_improvement(means[i], variances[i], thresholds, room)
    return out


class LocalScore(NamedTuple):
    """The score of cells on some axes, from the draws that have a local component."""

    local: ConditionalProcess
    local_tables: tuple[Floats, ...]  # per axis (m_d, n, K)
    factors: tuple[Floats, ...]  # per axis (K, R, m_d)
    weights: Floats  # (K, R)
    thresholds: Floats  # (K,)

    def moments(self, cells: Ints) -> cp.Moments:
        """Mean and variance (K, n) of f within each draw at cells (n, D)."""
        own = self.local.moments(self.local_tables, cells)
        return cp.Moments(own.mean + cp.values(self.factors, self.weights, cells), own.variance) if self.weights.any() else own

    def log_improvement(self, cells: Ints) -> Floats:
        """Log EI (n,)."""
        each = self.moments(cells)
        return np.asarray(log_improvements(np.ascontiguousarray(each.mean.T), np.ascontiguousarray(each.variance.T), self.thresholds))


def given_pending(
    local: ConditionalProcess, at_pending: Floats, pending: Floats, mark: float, rng: np.random.Generator
) -> tuple[ConditionalProcess, Floats, Ints]:
    """Some of the draws, what each must exceed, and which they are; pending points (p, D) count as observed where each draws them to be.

    at_pending (K, p) is what the components say of them.
    """
    fewer, kept = local.thinned(MOST_DRAWS)
    thresholds = np.full(len(kept), mark)
    if len(pending):
        drawn = fewer.draw_at(pending, rng)
        thresholds = np.maximum(thresholds, (drawn + at_pending[kept]).max(axis=1))
        observed, residuals = np.concatenate((fewer.observed, pending)), np.concatenate((fewer.residuals, drawn), axis=1)
        fewer = condition_process(observed, fewer.on_levels, fewer.logs, fewer.noise_precision, residuals)
    return fewer, thresholds, kept


def make_score(
    local: ConditionalProcess,
    axes: tuple[Floats, ...],  # scaled points
    factors: tuple[Floats, ...],
    weights: Floats,
    at_pending: Floats,  # (K, p) what the components say of pending points
    pending: Floats,  # (p, D) scaled
    mark: float,
    rng: np.random.Generator,
) -> LocalScore:
    """The score of the cells of `axes`; each draw takes pending points as observed where it draws them to be."""
    fewer, thresholds, kept = given_pending(local, at_pending, pending, mark, rng)
    tables = tuple(fewer.table(d, points) for d, points in enumerate(axes))
    return LocalScore(fewer, tables, tuple(f[kept] for f in factors), weights[kept], thresholds)

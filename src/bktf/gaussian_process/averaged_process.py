"""A process averaged over some axes: normal within each draw, with moments in closed form.

The average of h over axis d has, with observation i, the covariance E κ_d(x, x_i) in place of
κ_d(x, x_i), and with itself E κ_d(x, x') in place of 1, for independent x and x'.
"""

import math
from collections.abc import Mapping

import numpy as np

from bktf._typing import Floats
from bktf.gaussian_process.conditional_process import (
    MIN_VARIANCE_SHARE,
    ConditionalProcess,
    SharedCoordinates,
)
from bktf.gaussian_process.covariance import SQRT5
from bktf.gaussian_process.sample_paths import mean_path
from bktf.product_forms import AxisMeasure, Moments, axis_means, panel_rule

MAX_PAIRS = 2_000_000  # of nodes and draws, whose correlations are in memory together
MIN_RATE = 1.0  # √5 / length-scale; below, the closed form loses digits and quadrature does not


def averaged_moments(
    process: ConditionalProcess,
    n_levels: list[int],
    over: Mapping[int, AxisMeasure],
    points: Floats,
) -> Moments:
    """Mean and variance, (K, N) each, of h averaged over some axes, at scaled points (N, D).

    The coordinates of points on these axes do not matter. n_levels: as `draw_process_paths`.
    """
    covariance = np.repeat(process.prior_variances[:, None], len(process.observed), axis=1)
    prior = process.prior_variances.copy()
    described = process.described_axes
    for d, measure in over.items():
        covariance *= means_with_observed(process, n_levels, d, measure)
        prior *= mean_correlation(process, d, measure)
    axes = frozenset([*over, *(e for d in over for e in described.get(d, ()))])
    seen = process._replace(shared=SharedCoordinates(axes, covariance))
    means, variances = [], []
    for block in process.blocks(len(points)):
        cross = seen.covariances_with_observed(points[block])
        solved = cross @ process.roots.transpose(0, 2, 1)
        means.append((cross @ process.coefficients[:, :, None])[:, :, 0])
        explained = np.einsum("kni,kni->kn", solved, solved)
        least = MIN_VARIANCE_SHARE * process.prior_variances[:, None]
        variances.append(np.maximum(prior[:, None] - explained, least))
    return Moments(np.concatenate(means, axis=1), np.concatenate(variances, axis=1))


def means_with_observed(
    process: ConditionalProcess, n_levels: list[int], d: int, measure: AxisMeasure
) -> Floats:
    """E κ_d(x, x_i) over x, with each observation and draw, (K, n)."""
    paths = mean_path(process, n_levels)
    return np.array([axis_means(paths.terms(k), d, measure)[1] for k in range(paths.n_paths)])


def mean_correlation(process: ConditionalProcess, d: int, measure: AxisMeasure) -> Floats:
    """E κ_d(x, x') over independent x and x', of each draw, (K,)."""
    if measure.coords is None or measure.weights is None:
        rates = SQRT5 * np.exp(-process.logs[:, d])
        matern = np.array([mean_matern(float(rate)) for rate in rates])
        return np.asarray(process.shares + (1.0 - process.shares) * matern)
    coords, weights = measure.coords, measure.weights
    nodes = np.zeros((coords.size, process.n_dims))
    nodes[:, d] = coords
    at_nodes = process._replace(observed=process.in_context(nodes))
    size = max(MAX_PAIRS // coords.size**2, 1)
    found = []
    for first in range(0, len(process.logs), size):
        draws = np.arange(first, min(first + size, len(process.logs)))
        found.append(weights @ (at_nodes.select(draws).table(d, coords) @ weights).T)
    return np.concatenate(found)


def mean_matern(rate: float) -> float:
    """The mean of M(rate·|x − x'|) over independent x and x', both uniform on [0, 1].

    It is 2·∫ (1 − t)·M(rate·t) dt from 0 to 1, with M(r) = (1 + r + r² / 3)·exp(−r).
    """
    if rate < MIN_RATE:
        t, weights = panel_rule(np.array([0.0, 1.0]), 0.5)
        r = rate * t
        return float(2.0 * weights @ ((1.0 - t) * (1.0 + r + r * r / 3.0) * np.exp(-r)))
    decay = math.exp(-rate)
    # ∫ M(r) dr and ∫ r·M(r) dr from 0 to the rate
    first = 8.0 / 3.0 - decay * (8.0 + 5.0 * rate + rate**2) / 3.0
    second = 5.0 - decay * (5.0 + 5.0 * rate + 2.0 * rate**2 + rate**3 / 3.0)
    return 2.0 * (first / rate - second / rate**2)

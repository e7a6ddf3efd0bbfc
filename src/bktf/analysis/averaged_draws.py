"""f averaged over some parameters, within each draw: normal, with moments in closed form.

At infinite rank they are integrals of the kernels along the axes. At finite rank a draw is a sum of
products of factors, and each factor has its average.
"""

from collections.abc import Mapping

import numpy as np

from bktf._typing import Floats
from bktf.acquisition import Draws
from bktf.components import ComponentDraws, ResidualDraws, average_components
from bktf.gaussian_process import ProcessDraws, averaged_moments
from bktf.product_forms import AxisMeasure, Moments
from bktf.surrogate import Posterior, RankDraws


def average_by_draw(draws: Draws, over: Mapping[int, AxisMeasure], points: Floats) -> Moments:
    """Mean and variance within each draw, (K, m) each, of f averaged over some axes.

    points (m, D), in the units of the axes; their coordinates on these axes do not matter. Values
    are in the model's units. At finite rank, what a factor may vary around its conditional mean
    counts on the axes that are left, but not in the averages over the others.
    """
    if isinstance(draws, RankDraws):
        found = [
            (average_by_draw(part.draws, over, points), part.chosen)
            for part in draws.parts
            if part.chosen.size
        ]
        return Moments(
            np.concatenate([moments.mean[chosen] for moments, chosen in found]),
            np.concatenate([moments.variance[chosen] for moments, chosen in found]),
        )
    if isinstance(draws, ResidualDraws):
        first = average_by_draw(draws.components, over, points)
        second = average_by_draw(draws.residual, over, points)
        return Moments(first.mean + second.mean, first.variance + second.variance)
    if isinstance(draws, ProcessDraws):
        n_levels = [axis.size for axis in draws.axes]
        return averaged_moments(draws.process, n_levels, over, draws.scaled(points))
    assert isinstance(draws, ComponentDraws)
    kept = [d for d in range(len(draws.axes)) if d not in over]
    return average_components(draws, over).moments_by_draw(points[:, kept])


def average_over_points(posterior: Posterior, points: Floats) -> Moments:
    """Mean and variance within each draw, (K, 1) each, of the mean of f at points (m, D)."""
    mean = posterior.draws.moments_by_draw(points).mean.mean(axis=1)
    variance = posterior.draws.covariances_by_draw(points).mean(axis=(1, 2))
    return Moments(mean[:, None], np.maximum(variance, 0.0)[:, None])

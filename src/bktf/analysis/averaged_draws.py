"""f averaged over some parameters, within each draw: normal, with moments in closed form.

At infinite rank they are integrals of the kernels along the axes. At finite rank a draw is a sum of
products of factors, and each factor has its average.
"""

import math
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


def average_over_points(posterior: Posterior, repeats: Floats) -> tuple[Moments, float]:
    """Mean and variance within each draw, (K, 1) each, of the mean of f at evenly spread points.

    Also the standard error of the mean of f by the choice of points, in the model's units. repeats
    (r, n, D): independent sets of points. The variance takes those of half of the repeats only,
    because its cost grows with the square of their number.
    """
    n_repeats, n_points, n_dims = repeats.shape
    by_draw = posterior.draws.moments_by_draw(repeats.reshape(-1, n_dims)).mean
    by_repeat = by_draw.mean(axis=0).reshape(n_repeats, n_points)
    fewer = repeats[: (n_repeats + 1) // 2].reshape(-1, n_dims)
    variance = posterior.draws.covariances_by_draw(fewer).mean(axis=(1, 2))
    moments = Moments(by_draw.mean(axis=1)[:, None], np.maximum(variance, 0.0)[:, None])
    return moments, repeat_error(by_repeat)


def repeat_error(values: Floats) -> float:
    """The standard error of the mean of values (repeats, n) of independent repeats."""
    return float(values.mean(axis=1).std(ddof=1)) / math.sqrt(len(values))

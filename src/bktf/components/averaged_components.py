"""Components averaged over some axes: again components, of the other axes."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bktf._typing import Floats
from bktf.components.component_draws import MAX_PIECE, ComponentDraws, ComponentPaths
from bktf.product_forms import AxisMeasure, panel_rule

MIN_PIECE = 1e-3  # of an axis; shorter length-scales than this are not followed
MAX_VALUES = 4_000_000  # of factors that are in memory together


def average_components(draws: ComponentDraws, over: Mapping[int, AxisMeasure]) -> ComponentDraws:
    """The draws of f averaged over some axes, as functions of the others.

    A product of factors has the product of their averages. Between axis points a factor is its
    conditional mean there, so what varies around that mean is left out.
    """
    kept = [d for d in range(len(draws.axes)) if d not in over]
    weights = draws.weights.copy()
    for d, measure in over.items():
        weights = weights * factor_means(draws, d, measure)
    return replace(
        draws,
        axes=tuple(draws.axes[d] for d in kept),
        active=draws.active[:, kept],
        lengthscales=draws.lengthscales[:, :, kept],
        states=tuple(draws.states[d] for d in kept),
        weights=weights,
        offsets=draws.offsets[:, :, kept],
    )


def factor_means(draws: ComponentDraws, d: int, measure: AxisMeasure) -> Floats:
    """The mean of each factor along an axis, (K, R)."""
    if measure.coords is not None and measure.weights is not None:
        coords, masses = measure.coords, measure.weights
    else:
        axis = draws.axes[d]
        ends = np.unique(np.append(np.clip(axis.scale(axis.active_points), 0.0, 1.0), [0.0, 1.0]))
        lengths = draws.lengthscales[:, :, d]
        shortest = float(np.nanmin(lengths)) if np.isfinite(lengths).any() else MAX_PIECE
        coords, masses = panel_rule(ends, min(max(shortest, MIN_PIECE), MAX_PIECE))
    size = max(MAX_VALUES // max(draws.weights.size, 1), 1)
    out, paths = np.zeros_like(draws.weights), ComponentPaths(draws)
    for first in range(0, coords.size, size):
        block = slice(first, first + size)
        out += paths.table(d, coords[block]) @ masses[block]
    return out

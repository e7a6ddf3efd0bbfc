"""The place of the optimum: the densest of its draws, and the smallest sets that hold them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bktf._typing import Floats
from bktf.axis_kernels import Axis


class Inactive:
    """The level of a parameter that has no effect where the optimum is."""

    def __repr__(self) -> str:
        return "inactive"


INACTIVE = Inactive()
MIN_BANDWIDTH = 0.01  # of a kernel density, as a share of the axis
INTERVAL_SHARE = 0.5  # of that bandwidth for intervals, where draws may have several modes
MISMATCH = 3.0  # how much less dense, in nats, another level is
MAX_LISTED = 12  # points of an ordered axis that are looked at one by one
N_NODES = 256  # of an axis on which a density is looked at


@dataclass(frozen=True, eq=False)
class Place:
    """One axis as the place of an optimum."""

    axis: Axis
    is_continuous: bool  # every coordinate between the ends
    values: Floats  # the points of the axis; the last is infinite where it may be inactive

    @classmethod
    def of(cls, axis: Axis, is_free: bool) -> "Place":
        """That of an axis; a grid of many ordered points is as good as continuous."""
        is_fine = not axis.kernel.on_levels and axis.size > MAX_LISTED
        return cls(axis, is_free or is_fine, axis.points)


def densest_draw(places: Sequence[Place], points: Floats) -> int:
    """The index of the draw (N, D) where a kernel density of all draws is largest."""
    n, n_dims = points.shape
    log_kernel = np.zeros((n, n))
    for d, place in enumerate(places):
        column = points[:, d]
        if place.axis.kernel.on_levels:
            log_kernel -= MISMATCH * (column[:, None] != column)
            continue
        is_active = np.isfinite(column)
        scaled = np.zeros(n)
        scaled[is_active] = place.axis.scale(column[is_active])
        h = bandwidth(scaled[is_active], n_dims)
        log_kernel -= 0.5 * ((scaled[:, None] - scaled) / h) ** 2
        log_kernel -= MISMATCH * (is_active[:, None] != is_active)
    return int(np.exp(log_kernel).sum(axis=1).argmax())


def bandwidth(coords: Floats, n_dims: int) -> float:
    """Scott's rule for scaled coordinates (n,), robust to a few far ones."""
    if coords.size < 2:
        return MIN_BANDWIDTH
    low, high = np.quantile(coords, (0.25, 0.75))
    spread = min(float(coords.std()), (high - low) / 1.349 or math.inf)
    return float(max(spread * coords.size ** (-1.0 / (n_dims + 4)), MIN_BANDWIDTH))


def shortest_intervals(
    place: Place, coords: Floats, level: float
) -> tuple[tuple[float, float], ...]:
    """The intervals in the user's units that hold draws (n,) with this probability.

    They are those where a kernel density, reflected at the ends of the axis, is largest.
    """
    if not coords.size:
        return ()
    axis = place.axis
    scaled = axis.scale(coords)
    h = max(INTERVAL_SHARE * bandwidth(scaled, 1), MIN_BANDWIDTH)
    nodes = (np.arange(N_NODES) + 0.5) / N_NODES
    reflected = np.concatenate((scaled, -scaled, 2.0 - scaled))
    density = np.exp(-0.5 * ((nodes[:, None] - reflected) / h) ** 2).sum(axis=1)
    order = np.argsort(-density, kind="stable")
    mass = np.cumsum(density[order]) / density.sum()
    kept = np.zeros(N_NODES, dtype=bool)
    kept[order[: int(np.searchsorted(mass, level)) + 1]] = True
    edges = np.flatnonzero(np.diff(np.concatenate(([False], kept, [False]))))
    ends = axis.unscale(edges.reshape(-1, 2).ravel() / N_NODES).reshape(-1, 2)
    return tuple((float(low), float(high)) for low, high in ends)

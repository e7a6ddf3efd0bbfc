"""Points spread over what parameters may take, for averages that have no closed form.

Also the points of conditional spaces, where a parameter is active for some values of others only.
"""

import numpy as np

from bktf._typing import Floats
from bktf.axis_kernels import Axis
from bktf.product_forms import AxisMeasure
from bktf.surrogate import Posterior, usual_measure

N_REPEATS, N_SPREAD = 4, 64  # independent sets of points, and points of each
SPREAD_STREAM = 6  # spawn key of the fit's seed


def spread_units(posterior: Posterior) -> Floats:
    """Shares in [0, 1) of the parameters' values, (N_REPEATS, N_SPREAD, D); always the same.

    Additive sequences with the generalised golden ratio (Roberts 2018), each moved by a random
    shift. The scatter of averages over the repeats gives their error.
    """
    n_dims = len(posterior.grid)
    rng = np.random.default_rng(np.random.SeedSequence(posterior.seed, spawn_key=(SPREAD_STREAM,)))
    ratio = 2.0
    for _ in range(60):  # the root of ratio^(D + 1) = ratio + 1
        ratio = (1.0 + ratio) ** (1.0 / (n_dims + 1))
    steps = ratio ** -np.arange(1.0, n_dims + 1)
    shifts = rng.random((N_REPEATS, 1, n_dims))
    return np.asarray((shifts + np.arange(1.0, N_SPREAD + 1)[None, :, None] * steps) % 1.0)


def points_at_units(
    posterior: Posterior, measures: list[AxisMeasure], units: Floats, fixed: dict[int, float]
) -> Floats:
    """Points (m, D) at shares (m, D) of the parameters' values.

    fixed: coordinates by axis, which parameters have wherever they are active.
    """
    units, point_at = units.copy(), posterior.meaning.point_at
    for d, coordinate in fixed.items():
        axis = posterior.grid[d]
        units[:, d] = _units_of(axis, posterior.meaning.measure(d), np.array([coordinate]))
    if point_at is not None:
        points = np.array([point_at(row) for row in units])
    else:
        columns = [
            axis.unscale(_quantiles(measure, units[:, d]))
            for d, (axis, measure) in enumerate(zip(posterior.grid, measures, strict=True))
        ]
        points = np.stack(columns, axis=1)
    for d, coordinate in fixed.items():
        points[:, d] = np.where(np.isinf(points[:, d]), np.inf, coordinate)
    return points


def _quantiles(measure: AxisMeasure, units: Floats) -> Floats:
    """The scaled coordinates at shares of a measure."""
    if measure.coords is None or measure.weights is None:
        return units
    index = np.searchsorted(np.cumsum(measure.weights), units, side="right")
    return measure.coords[np.minimum(index, measure.coords.size - 1)]


def respect_conditions(posterior: Posterior, points: Floats, moved: tuple[int, ...]) -> Floats:
    """Points (m, D) with coordinates of infinity where a parameter is inactive, and only there.

    A parameter that becomes active, because the parameters `moved` have other values, is at the
    middle of its range. Without conditions points stay as they are.
    """
    point_at = posterior.meaning.point_at
    if point_at is None:
        return points
    units = np.empty_like(points)
    for d, axis in enumerate(posterior.grid):
        units[:, d] = _units_of(axis, posterior.meaning.measure(d), points[:, d])
    wanted = np.array([point_at(row) for row in units])
    found = np.where(np.isinf(points), wanted, points)
    for d in moved:
        found[:, d] = points[:, d]
    return np.where(np.isinf(wanted), np.inf, found)


def _units_of(axis: Axis, stated: AxisMeasure, column: Floats) -> Floats:
    """The share of a parameter's values below each coordinate, (m,); ½ where it is inactive."""
    is_active, measure = np.isfinite(column), usual_measure(axis, stated)
    units = np.full(column.shape, 0.5)
    scaled = axis.scale(column[is_active])
    if measure.coords is None or measure.weights is None:
        units[is_active] = np.clip(scaled, 0.0, 1.0)
        return units
    order = np.argsort(measure.coords)
    coords, weights = measure.coords[order], measure.weights[order]
    nearest = np.abs(scaled[:, None] - coords).argmin(axis=1)
    units[is_active] = np.cumsum(weights)[nearest] - 0.5 * weights[nearest]
    return units

"""Axes that adapt, so that a grid is not a prison: a base grid, every observed coordinate, and finer points around the incumbents."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

N_BASE = 65  # points of the base grid
SCALES = 12  # halvings of the base spacing around each incumbent; on an axis with steps, down to one step
MAX_POINTS = 512


@dataclass(frozen=True, eq=False)
class RefinedAxis:
    """The points of an axis, and the observed coordinates moved onto them where there was no room for all."""

    points: Floats  # (m,) increasing
    observed: Floats  # (n,)


def refine_axis(
    low: float,
    high: float,
    observed: ArrayLike,
    incumbents: ArrayLike,
    *,
    step: float | None = None,
    n_base: int = N_BASE,
    max_points: int = MAX_POINTS,
) -> RefinedAxis:
    """An axis over [low, high] for one suggestion.

    Args:
        low: lower end.
        high: upper end.
        observed: coordinates tried so far, oldest first.
        incumbents: coordinates of the best points, best first; the axis is refined around each, at distances of 1, ½, ¼, … base spacings.
        step: the parameter takes low, low + step, low + 2·step, … only; None for a continuous one. With more values than max_points
            the axis is coarse and refines like a continuous one, always on the parameter's own values; values closer than 2e-9 of the
            range, as with billions of them, count as one.
        n_base: points of the base grid.
        max_points: never more than this. The base grid and the incumbents' neighbourhoods come first, then observed coordinates, the
            latest first; coordinates that found no room are moved to the nearest point.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError(f"low and high must be finite and low ≤ high; got {low!r} and {high!r}")
    if step is not None and not (np.isfinite(step) and step > 0):
        raise ValueError(f"step must be a positive number or None; got {step!r}")
    if not 2 <= n_base <= max_points:
        raise ValueError(f"n_base must lie in [2, max_points]; got {n_base} with max_points={max_points}")
    tried: Floats = np.atleast_1d(np.asarray(observed, dtype=np.float64))
    best: Floats = np.atleast_1d(np.asarray(incumbents, dtype=np.float64))
    if low == high:
        return RefinedAxis(np.array([float(low)]), np.full(tried.size, float(low)))
    if step is not None and np.floor((high - low) / step + 1e-9) + 1 <= max_points:
        points: Floats = np.minimum(low + step * np.arange(int(np.floor((high - low) / step + 1e-9)) + 1), high)
        return RefinedAxis(points, points[_nearest(points, tried)])

    spacing = (high - low) / (n_base - 1)
    halvings = SCALES if step is None else int(np.ceil(np.log2(max(spacing / step, 1.0))))
    distances = spacing / 2.0 ** np.arange(halvings + 1)
    around = (best[:, None] + np.concatenate((-distances, distances))).ravel() if best.size else np.zeros(0)
    wanted = np.concatenate((np.linspace(low, high, n_base), best, around[(around > low) & (around < high)], tried[::-1]))
    on_values = _on_values(np.clip(wanted, low, high), low, high, step)
    kept: list[float] = []
    seen: set[float] = set()
    closest = 2e-9 * (high - low)
    for value in on_values.tolist():  # in order of importance
        if len(kept) == max_points:
            break
        key = round(value / closest)
        if key not in seen:
            seen |= {key - 1, key, key + 1}
            kept.append(value)
    points = np.sort(np.array(kept, dtype=np.float64))
    return RefinedAxis(points, points[_nearest(points, tried)])


def _on_values(values: Floats, low: float, high: float, step: float | None) -> Floats:
    """Values moved onto low, low + step, …; unchanged for a continuous parameter."""
    if step is None:
        return values
    last = np.floor((high - low) / step + 1e-9)
    return np.asarray(np.minimum(low + step * np.clip(np.rint((values - low) / step), 0, last), high))


def _nearest(points: Floats, values: Floats) -> NDArray[np.int64]:
    """Index of the point nearest to each value."""
    right = np.clip(np.searchsorted(points, values), 1, max(points.size - 1, 1))
    right = np.minimum(right, points.size - 1)
    left = np.maximum(right - 1, 0)
    return np.where(values - points[left] <= points[right] - values, left, right).astype(np.int64)

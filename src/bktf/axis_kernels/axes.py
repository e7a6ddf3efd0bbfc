"""Axes: ordered points in the user's units, scaled to [0, 1] for the model.

Maps points of X to indices on the axes, and checks both.

A parameter that is inactive at a point has the coordinate infinity there. Where that may happen,
the last point of the axis is infinite. On the scaled axis it lies so far away (INACTIVE) that its
correlation with all other points is 0, and a Markov chain starts anew there.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Floats, Ints
from bktf.axis_kernels.kernel_spec import AxisKernel

SAME_POINT = 1e-9  # coordinates closer than this share of the axis are one point
# Scaled coordinate of an inactive parameter: length-scales are at most 1000, and exp(−1000) is 0
INACTIVE = 1e7


@dataclass(frozen=True, eq=False)
class Axis:
    """The ordered points of one dimension and the kernel on them."""

    points: Floats  # (m,) in the user's units, increasing
    kernel: AxisKernel
    log: bool = False  # whether distances are measured on a logarithmic scale

    @property
    def size(self) -> int:
        """Number of points."""
        return self.points.size

    @property
    def has_inactive(self) -> bool:
        """Whether the parameter may be inactive; then the last point is infinite."""
        return self.points.size > 1 and bool(np.isinf(self.points[-1]))

    @property
    def active_points(self) -> Floats:
        """The points at which the parameter is active, all finite."""
        return self.points[:-1] if self.has_inactive else self.points

    @cached_property
    def length(self) -> float:
        """Distance from the first active point to the last on its scale; 1 for a single one."""
        low, high = self.on_scale(self.active_points[[0, -1]])
        return float(high - low) or 1.0

    @property
    def period(self) -> float:
        """The period on the scaled axis; the length of the axis where none was given."""
        return 1.0 if self.kernel.period is None else self.kernel.period / self.length

    def on_scale(self, values: Floats) -> Floats:
        """Values on the scale on which distances are measured: themselves, or their logarithms."""
        return np.log(values) if self.log else values

    def scale(self, values: Floats) -> Floats:
        """Coordinates as the model sees them: in [0, 1], or the index on an axis of levels."""
        if self.kernel.on_levels:
            return self.locate(values).astype(float)
        scaled = (self.on_scale(values) - self.on_scale(self.points[:1])) / self.length
        return np.minimum(scaled, INACTIVE) if self.has_inactive else np.asarray(scaled)

    def unscale(self, coordinates: Floats) -> Floats:
        """The values at scaled coordinates: the inverse of `scale`, clipped to the axis."""
        if self.kernel.on_levels:
            return self.points[coordinates.astype(np.int64)]
        is_inactive = coordinates >= INACTIVE if self.has_inactive else None
        if is_inactive is not None:
            coordinates = np.where(is_inactive, 0.0, coordinates)
        values = self.on_scale(self.points[:1]) + coordinates * self.length
        low, high = self.active_points[[0, -1]]
        active = np.clip(np.exp(values) if self.log else values, low, high)
        return np.asarray(active if is_inactive is None else np.where(is_inactive, np.inf, active))

    def locate(self, values: Floats) -> Ints:
        """The index of the axis point that equals each value, −1 where there is none."""
        points, values = self.on_scale(self.points), self.on_scale(values)
        if self.has_inactive:
            far = points[0] + INACTIVE * self.length
            points, values = np.minimum(points, far), np.minimum(values, far)
        right = np.minimum(np.maximum(np.searchsorted(points, values), 1), max(self.size - 1, 1))
        left = right - 1
        right = np.minimum(right, self.size - 1)
        nearest = np.where(values - points[left] <= points[right] - values, left, right)
        on_point = np.abs(values - points[nearest]) <= SAME_POINT * self.length
        return np.where(on_point, nearest, -1).astype(np.int64)

    def with_coordinates(self, values: Floats) -> "Axis":
        """The same axis with a point added for every value that is not on one."""
        new_values = np.unique(values[self.locate(values) < 0])
        if new_values.size == 0:
            return self
        added = [new_values[0]]
        for value in new_values[1:]:
            # Compared with the last added point, so that a chain of tiny steps cannot drift away.
            previous, current = self.on_scale(np.array([added[-1], value]))
            if current - previous > SAME_POINT * self.length:
                added.append(value)
        return Axis(np.union1d(self.points, added), self.kernel, self.log)


def check_log(log: bool | Sequence[bool], n_dims: int) -> tuple[bool, ...]:
    """Whether each axis is logarithmic, from one flag for all axes or one per axis."""
    given: object = log
    flags = list(given) if isinstance(given, Sequence | np.ndarray) else [given] * n_dims
    if len(flags) != n_dims or not all(isinstance(flag, bool | np.bool_) for flag in flags):
        raise ValueError(
            f"log must be True or False, or a list with one of them per axis ({n_dims}); "
            f"got {log!r}"
        )
    return tuple(bool(flag) for flag in flags)


def check_axes(axes: Sequence[ArrayLike], log: bool | Sequence[bool] = False) -> tuple[Floats, ...]:
    """The points of each axis as arrays.

    They must be finite and increase, and be positive on a logarithmic axis.
    """
    given: object = axes
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype != object:
        raise ValueError(
            "axes must be a list with one array of points per dimension; "
            "got a single array (write [axis] for D = 1)"
        )
    if not isinstance(given, Iterable):
        raise ValueError(
            "axes must be a list with one array of points per dimension; "
            f"got {type(given).__name__}"
        )
    checked = []
    for d, axis in enumerate(axes):
        try:
            points = np.array(axis, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"axis {d} must be numbers; got {axis!r}") from None
        if points.ndim != 1 or points.size == 0:
            raise ValueError(
                f"axis {d} must be a 1-D array with at least one point; got shape {points.shape}"
            )
        inactive = points[-1:][points[-1:] == np.inf]  # the last point, where it is infinite
        points = points[: points.size - inactive.size]
        if points.size == 0 or not np.all(np.isfinite(points)):
            raise ValueError(
                f"axis {d} must be finite; it has NaN or infinite points. Only the last of several "
                "may be infinity, which stands for an inactive parameter"
            )
        if points[-1] / 2 - points[0] / 2 > np.finfo(float).max / 2:
            raise ValueError(
                f"axis {d} is too long for double precision: from {points[0]:g} to {points[-1]:g}"
            )
        gaps = np.diff(points)
        if np.any(gaps <= 0):
            j = int(np.argmax(gaps <= 0))
            raise ValueError(
                f"axis {d} must increase; got {points[j]:g} followed by {points[j + 1]:g} "
                f"at index {j}. Sort it and drop repeats"
            )
        checked.append(np.concatenate((points, inactive)))
    if not checked:
        raise ValueError("axes must hold at least one axis; got none")
    for d, (points, is_log) in enumerate(zip(checked, check_log(log, len(checked)), strict=True)):
        if is_log and points[0] <= 0:
            raise ValueError(
                f"axis {d} is logarithmic, so its points must be positive; got {points[0]:g}"
            )
        active = points[np.isfinite(points)]
        on_scale = np.log(active) if is_log else active
        if active.size > 1 and np.diff(on_scale).min() <= 0.99 * SAME_POINT * (
            on_scale[-1] - on_scale[0]
        ):
            raise ValueError(
                f"axis {d} has points closer than {SAME_POINT:g} of its length, which count as "
                "one; drop one of them, or use log=True for an axis that spans many orders of "
                "magnitude"
            )
    return tuple(checked)


def check_points(X: ArrayLike, axes: Sequence[Axis], what: str = "X") -> Floats:
    """X as an (n, D) array; every point must lie inside the box of the axes."""
    n_dims = len(axes)
    try:
        points = np.array(X, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{what} must be an array of numbers of shape (n, {n_dims}); got {type(X).__name__}"
        ) from None
    if points.ndim == 1 and n_dims == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[1] != n_dims:
        raise ValueError(
            f"{what} must have shape (n, {n_dims}), one column per axis; got {points.shape}"
        )
    may_be_inactive = np.array([axis.has_inactive for axis in axes])
    is_inactive = (points == np.inf) & may_be_inactive
    is_wrong = ~(np.isfinite(points) | is_inactive)
    if np.any(is_wrong):
        i, d = np.argwhere(is_wrong)[0]
        hint = ""
        if points[i, d] == np.inf:
            hint = f". Where the parameter may be inactive, add infinity to the end of axis {d}"
        raise ValueError(f"{what} must be finite; {what}[{i}, {d}] is {points[i, d]}{hint}")
    for d, axis in enumerate(axes):
        low, high = axis.active_points[[0, -1]]
        slack = SAME_POINT * axis.length
        below, above = (
            (low - slack * low, high + slack * high) if axis.log else (low - slack, high + slack)
        )
        outside = ((points[:, d] < below) | (points[:, d] > above)) & ~is_inactive[:, d]
        if np.any(outside):
            i = int(np.argmax(outside))
            raise ValueError(
                f"{what} must lie inside the box of the axes; {what}[{i}, {d}] = {points[i, d]:g} "
                f"is outside [{low:g}, {high:g}]. Extend axis {d}"
            )
        if axis.kernel.on_levels and np.any(axis.locate(points[:, d]) < 0):
            i = int(np.argmax(axis.locate(points[:, d]) < 0))
            reason = "levels" if axis.kernel.covariance is None else "a given covariance matrix"
            raise ValueError(
                f"axis {d} has {reason}, so {what}[:, {d}] must be points of that axis; "
                f"{what}[{i}, {d}] = {points[i, d]:g} is none"
            )
        points[:, d] = np.where(is_inactive[:, d], np.inf, np.clip(points[:, d], low, high))
    return points


def check_grid_size(axes: Sequence[Axis], max_cells: int) -> None:
    """Raise an error if the grid has too many cells to hold in memory."""
    cells = math.prod(axis.size for axis in axes)
    if cells > max_cells:
        raise ValueError(
            f"grid_moments holds every cell, so the grid may have at most {max_cells:,} cells; "
            f"it has {cells:.3g}. Ask mean(X) and std(X) at the points you need"
        )

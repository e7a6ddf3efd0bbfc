"""The axes of one suggestion, and which points of a history lie on them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bktf._typing import Bools, Floats
from bktf.engine.history import History
from bktf.engine.settings import EngineSettings
from bktf.gaussian_process import Descriptors
from bktf.spaces import INACTIVE, Parameter, division_ends
from bktf.surrogate import Posterior, make_axes

AWAY = 2.0  # scaled coordinate of an inactive parameter where distances are compared


def move_onto_axes(
    parameters: tuple[Parameter, ...],
    history: History,
    fixed: Mapping[int, float],
    incumbents: Floats,
) -> tuple[list[Floats], History]:
    """The axes for one suggestion, and the history moved onto their points.

    Axes are refined around incumbents (m, D) and have fixed coordinates among their points.
    """
    n, n_tried, n_pending = len(history.X), len(history.tried), len(history.pending)
    kept = np.array([[fixed.get(d, math.nan) for d in range(len(parameters))]])
    wanted = np.concatenate((kept, history.pending, history.tried, history.X))
    axes, moved = [], np.empty_like(wanted)
    for d, parameter in enumerate(parameters):
        first = 0 if d in fixed else 1
        # Ends of the parts that conditions divide an axis into must be points of it, too.
        ends = division_ends(parameters, d)
        refined = parameter.axis(np.concatenate((wanted[first:, d], ends)), incumbents[:, d])
        axes.append(refined.points)
        moved[first:, d] = refined.observed[: len(wanted) - first]
    tried = moved[1 + n_pending : 1 + n_pending + n_tried]
    pending = moved[1 : 1 + n_pending]
    return axes, history._replace(X=moved[len(moved) - n :], pending=pending, tried=tried)


def points_inside(posterior: Posterior, points: Floats) -> Floats:
    """The points in the box of the posterior, and on a level where an axis has levels."""
    keep = np.ones(len(points), dtype=bool)
    for d, axis in enumerate(posterior.grid):
        low, high = axis.active_points[[0, -1]]
        is_inside = (points[:, d] >= low) & (points[:, d] <= high)
        keep &= is_inside | (axis.has_inactive & (points[:, d] == INACTIVE))
        if axis.kernel.on_levels:
            keep[keep] &= axis.locate(points[keep, d]) >= 0
    return points[keep]


def on_levels(parameters: Sequence[Parameter]) -> Bools:
    """Which parameters are unordered categories, (D,)."""
    return np.array([p.is_unordered for p in parameters])


def scaled_points(parameters: Sequence[Parameter], settings: EngineSettings, X: Floats) -> Floats:
    """Points (n, D) with ordered coordinates scaled to [0, 1]; a level is its index."""
    nothing = np.empty(0)
    kernels = [p.kernel(settings.categorical) for p in parameters]
    log = [p.log for p in parameters]
    points = [p.axis(nothing, nothing).points for p in parameters]
    # Coordinates are scaled alike at every rank, so the model of finite rank serves here.
    grid = make_axes(replace(settings.components, kernel=kernels, log=log), points)
    scaled = np.stack([axis.scale(X[:, d]) for d, axis in enumerate(grid)], axis=1)
    # An inactive coordinate is as far from an active one as the ends of an axis, or farther.
    is_inactive = (X == INACTIVE) & ~on_levels(parameters)
    return np.where(is_inactive, AWAY, scaled)


def descriptors_of(parameters: Sequence[Parameter]) -> tuple[Descriptors, ...]:
    """What describes the levels of categories; the last level of a conditional one is inactive."""
    found = []
    for d, p in enumerate(parameters):
        if p.descriptors is not None and p.is_unordered:
            values = np.array(p.descriptors)
            if p.activations is not None:
                values = np.concatenate((values, np.full((1, values.shape[1]), np.inf)))
            found.append(Descriptors(d, values))
    return tuple(found)

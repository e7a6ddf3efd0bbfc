"""The gaps of an axis, and the neighbours of new points: found once, used for every draw."""

from typing import NamedTuple

import numpy as np

from bktf._typing import Floats, Ints

SAME_GAP = 1e-12  # gaps with a smaller relative difference are one; far below axes.SAME_POINT


class Gaps(NamedTuple):
    """The distinct gaps, and the index of each point's gap among them."""

    values: Floats  # (G,)
    gap_of: Ints  # (·,)


def different_gaps(gaps: Floats) -> Gaps:
    """Group gaps that are equal up to rounding; a regular axis has a single one."""
    if gaps.size == 0:
        return Gaps(np.zeros(0), np.zeros(0, dtype=np.int64))
    order = np.argsort(gaps, kind="stable")
    sorted_gaps = gaps[order]
    starts_group = np.concatenate(([True], np.diff(sorted_gaps) > SAME_GAP * sorted_gaps[1:]))
    group = np.cumsum(starts_group) - 1
    index = np.empty(gaps.size, dtype=np.int64)
    index[order] = group
    return Gaps(sorted_gaps[starts_group], index)


def steps_along(coords: Floats) -> Gaps:
    """The gap before each point of an increasing sequence; the first point gets index 0."""
    gaps = different_gaps(np.diff(coords))
    return Gaps(gaps.values, np.concatenate((np.zeros(1, dtype=np.int64), gaps.gap_of)))


class Plan(NamedTuple):
    """The known neighbours of new points."""

    gaps: Floats  # (G,) the distinct gaps
    neighbours: Ints  # (u, 4) left known point or −1, right known point, left and right gap or −1


def plan_between(coords: Floats, new_coords: Floats, joint: bool) -> Plan:
    """The neighbours of new_coords among coords; both increase.

    For a joint draw the left neighbour is the previous new point where that is nearer than the
    known one (left −1, gap ≥ 0). Otherwise only known points are neighbours. A side without a
    neighbour has gap −1.
    """
    right = np.searchsorted(coords, new_coords, side="right")
    left = right - 1
    left_x = np.where(left >= 0, coords[np.maximum(left, 0)], -np.inf)
    if joint and new_coords.size:
        previous = np.concatenate(([-np.inf], new_coords[:-1]))
        left = np.where(previous > left_x, -1, left)
        left_x = np.maximum(left_x, previous)
    has_left, has_right = np.isfinite(left_x), right < coords.size
    right = np.minimum(right, coords.size - 1)
    gaps = different_gaps(
        np.concatenate(
            (
                new_coords[has_left] - left_x[has_left],
                coords[right[has_right]] - new_coords[has_right],
            )
        )
    )
    neighbours = np.full((new_coords.size, 4), -1, dtype=np.int64)
    neighbours[:, 0] = left
    neighbours[:, 1] = right
    neighbours[has_left, 2] = gaps.gap_of[: has_left.sum()]
    neighbours[has_right, 3] = gaps.gap_of[has_left.sum() :]
    return Plan(gaps.values, neighbours)

"""Which gaps an axis has, and how new points lie between known ones: worked out once, used for every draw."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SAME_GAP = (
    1e-12  # gaps that differ by less than this share are one: far below what tells two points apart
)


class Gaps(NamedTuple):
    """The different gaps, and which of them each of some points has."""

    values: Floats  # (G,)
    gap_of: NDArray[np.int64]  # (·,)


def different_gaps(gaps: Floats) -> Gaps:
    """Group gaps that are the same up to rounding; a regular axis has one, however many points."""
    if gaps.size == 0:
        return Gaps(np.zeros(0), np.zeros(0, dtype=np.int64))
    order = np.argsort(gaps, kind="stable")
    ranked = gaps[order]
    begins = np.concatenate(([True], np.diff(ranked) > SAME_GAP * ranked[1:]))
    group = np.cumsum(begins) - 1
    index = np.empty(gaps.size, dtype=np.int64)
    index[order] = group
    return Gaps(ranked[begins], index)


def steps_along(coords: Floats) -> Gaps:
    """The gap before each point of an increasing sequence; the first point has none and gets 0."""
    gaps = different_gaps(np.diff(coords))
    return Gaps(gaps.values, np.concatenate((np.zeros(1, dtype=np.int64), gaps.gap_of)))


class Plan(NamedTuple):
    """How new points lie between known ones."""

    gaps: Floats  # (G,) the different gaps
    neighbours: NDArray[
        np.int64
    ]  # (u, 4): left known point or −1, right known point, gap to the left and right or −1


def plan_between(coords: Floats, new_coords: Floats, joint: bool) -> Plan:
    """Lay out new_coords among coords (both increase).

    Joint: each new point leans on the new point before it where that is nearer than the known one
    (left −1, gap ≥ 0). Otherwise each leans on known points only. A side without a neighbour has
    gap −1.
    """
    right = np.searchsorted(coords, new_coords, side="right")
    left = right - 1
    left_x = np.where(left >= 0, coords[np.maximum(left, 0)], -np.inf)
    if joint and new_coords.size:
        before = np.concatenate(([-np.inf], new_coords[:-1]))
        left = np.where(before > left_x, -1, left)
        left_x = np.maximum(left_x, before)
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

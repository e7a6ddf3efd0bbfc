"""Climbs of many paths to local maxima in one box.

Paths of a process have gradients: ordered coordinates move jointly (`climb_path`). Coordinates with
certain values then move one axis at a time, for all paths together. The ends of other paths' climbs
are further starts, because paths of one posterior have much in common.
"""

import math

import numpy as np

from bktf._typing import Bools, Floats, Ints
from bktf.acquisition.box_search import Box
from bktf.gaussian_process import ProcessPaths, climb_path, local_path
from bktf.product_forms import ProductPaths

N_LINE_STARTS = 3  # of paths without gradients
N_STARTS = 12  # candidates from which each path climbs; docs/analysis.md has what they miss
MIN_DISTANCE = 0.1  # between starts, on at least one axis
N_EXCHANGES = 4  # rounds in which paths climb from the ends of others
MAX_PASSES = 4  # over the axes with certain values

Best = tuple[Floats, Floats]  # a scaled point of each path (N, D), and its value (N,)


def climb_paths(paths: ProductPaths, box: Box, candidates: Floats, values: Floats) -> Best:
    """The best scaled point (N, D) and value (N,) that climbs of N paths reach.

    candidates (m, D): scaled points of the box; values (N, m): those of the paths there.
    """
    starts = [spread_starts(candidates, row) for row in values]
    points, level = candidates[values.argmax(axis=1)], values.max(axis=1)
    is_open = np.array([axis.size > 1 for axis in box.axes])
    moves = is_open & box.is_ordered
    if isinstance(paths, ProcessPaths) and moves.any():
        # Certain values are ignored at first: a gradient moves all ordered axes at once.
        best: Best = points, level
        for i in range(N_STARTS):
            at = np.array([candidates[chosen[min(i, len(chosen) - 1)]] for chosen in starts])
            is_new = np.array([i < len(chosen) for chosen in starts])
            best = _climb_some(paths, box, best, at, np.flatnonzero(is_new), moves)
        for _ in range(N_EXCHANGES):
            at_ends = paths.values(best[0])  # (N, N)
            other = at_ends.argmax(axis=1)
            is_better = at_ends[np.arange(len(other)), other] > best[1]
            if not is_better.any():
                break
            at = best[0][other]
            best = _climb_some(paths, box, best, at, np.flatnonzero(is_better), moves)
        if np.all(box.is_continuous | ~is_open):
            return best
        snapped = box.snap(best[0])
        points, level = _better(points, level, snapped, _own_values(paths, snapped))
        return _climb_lines(paths, box, points, level)
    ends = [_climb_lines(paths, box, points, level)]
    for i in range(1, N_LINE_STARTS):
        at = np.array([candidates[chosen[min(i, len(chosen) - 1)]] for chosen in starts])
        ends.append(_climb_lines(paths, box, at, _own_values(paths, at)))
    for other_points, other_level in ends[1:]:
        ends[0] = _better(*ends[0], other_points, other_level)
    return ends[0]


def spread_starts(candidates: Floats, values: Floats) -> list[int]:
    """The best candidates of a path that are not next to each other."""
    chosen: list[int] = []
    n_top = min(len(values), 30 * N_STARTS)
    top = np.argpartition(-values, n_top - 1)[:n_top]
    for i in top[np.argsort(-values[top], kind="stable")].tolist():
        distances = np.abs(candidates[chosen] - candidates[i]).max(axis=1)
        if distances.min(initial=math.inf) > MIN_DISTANCE:
            chosen.append(i)
            if len(chosen) == N_STARTS:
                break
    return chosen


def _climb_some(
    paths: ProcessPaths, box: Box, best: Best, starts: Floats, climbers: Ints, moves: Bools
) -> Best:
    """The best points and values, after some paths have climbed from starts (N, D)."""
    points, level = best[0].copy(), best[1].copy()
    if climbers.size:
        ends, reached = _climb_gradients(paths.select(climbers), box, starts[climbers], moves)
        points[climbers], level[climbers] = _better(
            points[climbers], level[climbers], ends, reached
        )
    return points, level


def _better(points: Floats, level: Floats, others: Floats, other_level: Floats) -> Best:
    """The better one of two points of each path, (N, D), and its value (N,)."""
    is_better = other_level > level
    return np.where(is_better[:, None], others, points), np.where(is_better, other_level, level)


def _own_values(paths: ProductPaths, points: Floats) -> Floats:
    """Each path at a point of its own, (N, D): (N,)."""
    return paths.own_values(points[:, None, :])[:, 0]


def _climb_lines(paths: ProductPaths, box: Box, points: Floats, values: Floats) -> Best:
    """Where paths end that move along axes with certain values, and along free ones, in turn."""
    is_open = np.array([axis.size > 1 for axis in box.axes])
    finite = np.flatnonzero(is_open & ~box.is_continuous)
    free = is_open & box.is_continuous
    rng = np.random.default_rng(0)  # for axes with many levels: which of them are looked at
    for _ in range(MAX_PASSES):
        before = values
        for d in finite.tolist():
            points, values = _climb_line(paths, box, points, values, d, rng)
        if isinstance(paths, ProcessPaths) and free.any():
            ends, reached = _climb_gradients(paths, box, points, free)
            points, values = _better(points, values, ends, reached)
        if np.all(values <= before):
            break
    return points, values


def _climb_line(
    paths: ProductPaths,
    box: Box,
    points: Floats,
    values: Floats,
    d: int,
    rng: np.random.Generator,
) -> Best:
    """Every path at its best value of one axis."""
    lines = np.array([box.line(d, float(point[d]), rng) for point in points])  # (N, m)
    moved = np.repeat(points[:, None, :], lines.shape[1], axis=1)
    moved[:, :, d] = lines
    along = paths.own_values(moved)
    best = along.argmax(axis=1)
    rows = np.arange(len(points))
    is_better = along[rows, best] > values
    points = np.where(is_better[:, None], moved[rows, best], points)
    return points, np.where(is_better, along[rows, best], values)


def _climb_gradients(paths: ProcessPaths, box: Box, starts: Floats, moves: Bools) -> Best:
    """Local maxima (N, D) along ordered axes, one for each path, and the values there."""
    moving = np.flatnonzero(moves).tolist()
    ends, values = starts.copy(), np.empty(len(starts))
    low = np.array([box.axes[d].min() for d in moving])
    high = np.array([box.axes[d].max() for d in moving])
    for p in range(paths.n_paths):
        at = np.clip(ends[p, moving], low, high)
        values[p] = climb_path(local_path(paths, p, ends[p], moving), low, high, at)
        ends[p, moving] = at
    return ends, values

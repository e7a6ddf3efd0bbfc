"""The maximum of forms over a grid with cells excluded: exact, or with a certified upper bound.

Best-first over disjoint boxes, all draws in one heap. A box enters with an upper bound; when it
comes to the top it is solved (or split), and when a solved box comes to the top its cell is the
answer, unless it is excluded: then the box without that cell is partitioned into disjoint boxes
(Lawler 1972) and the search goes on.

How a box is bounded and solved depends on the number of coordinates C of the form (`forms.Forms`):
    C ≤ 2   planar hull: the bound is the solution
    C = 3   bound by planar hulls of two coordinates plus the best of the third; solved by hulls in space, only when on top
    C ≥ 4   bound by planar hulls of pairs; split until bound and best cell meet, or the budget is spent
"""

import heapq
import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf.product_forms import hull
from bktf.product_forms.axis_ascent import MAX_PASSES, climb_once
from bktf.product_forms.cp_forms import Floats, Forms, Ints

Mask = NDArray[np.bool_]

FLAT = (
    1e-13  # a direction in which points differ by less than this share of the largest is rounding
)
BUDGET = 3000  # boxes that may be opened for forms with four or more coordinates


class FormMaximum(NamedTuple):
    """A cell, what it is worth, and the most that any allowed cell can be worth."""

    cell: Ints  # (D,)
    value: float
    bound: float
    draw: int


def planar(forms: Forms, draws: Ints, a: int, b: int, allowed: Mask) -> tuple[Floats, Ints]:
    """Maxima (n,) and cells (n, D) of two coordinates of some draws over a box.

    B = −1: the first alone.
    """
    first = np.ascontiguousarray(forms.coordinates[draws, a])
    alone = b < 0
    second = np.zeros_like(first) if alone else np.ascontiguousarray(forms.coordinates[draws, b])
    last = forms.coordinates.shape[1] - 1
    if forms.additive and a == last:  # a sum by itself: products of zeros beside it
        first, second, alone = np.zeros_like(first), first, True
    cells = np.empty((len(draws), forms.n_dims), dtype=np.int64)
    additive = alone or (forms.additive and b == last)
    return hull.maximise_all(first, second, additive, forms.starts, allowed, cells), cells


def bound_boxes(forms: Forms, draws: Ints, allowed: Mask) -> tuple[Floats, Ints]:
    """Upper bounds (n,) of some draws over a box, and for each the cell of the largest part, (n, D); exact when C ≤ 2."""
    n_coordinates = forms.coordinates.shape[1]
    if n_coordinates <= 2:
        return planar(forms, draws, 0, 1 if n_coordinates == 2 else -1, allowed)
    best, cells = np.full(len(draws), np.inf), np.zeros((len(draws), forms.n_dims), dtype=np.int64)
    for pairing in _pairings(n_coordinates):
        parts = [planar(forms, draws, a, b, allowed) for a, b in pairing]
        total = np.sum([value for value, _ in parts], axis=0)
        largest = np.argmax([value for value, _ in parts], axis=0)
        better = total < best
        best = np.where(better, total, best)
        chosen = np.stack([c for _, c in parts])[largest, np.arange(len(draws))]
        cells = np.where(better[:, None], chosen, cells)
    return best, cells


def _pairings(n: int) -> Iterable[list[tuple[int, int]]]:
    """Ways to split coordinates into pairs: all three for 3, neighbours in two rotations for more."""
    if n == 3:
        return [[(0, 1), (2, -1)], [(0, 2), (1, -1)], [(1, 2), (0, -1)]]
    orders = [list(range(n)), [0, *range(2, n), 1]]
    return [
        [(min(o[i : i + 2]), max(o[i : i + 2]) if i + 1 < n else -1) for i in range(0, n, 2)]
        for o in orders
    ]


def solve_in_space(forms: Forms, draw: int, allowed: Mask) -> tuple[float, Ints]:
    """The exact maximum of one draw with three coordinates over a box, by convex hulls in space axis after axis."""
    starts, points = forms.starts, forms.coordinates[draw].T  # (M, 3)
    partial = np.ones((1, 3))
    if forms.additive:
        partial[0, 2] = 0.0
    trail: list[tuple[Ints, Ints]] = []
    for d in range(forms.n_dims):
        place = np.flatnonzero(allowed[starts[d] : starts[d + 1]])
        own = points[starts[d] + place]
        corners = hull_in_space(own)
        own, place = own[corners], place[corners]
        combined = partial[:, None, :] * own[None, :, :]
        if forms.additive:
            combined[:, :, 2] = partial[:, None, 2] + own[None, :, 2]
        combined = combined.reshape(-1, 3)
        kept = (
            hull_in_space(combined)
            if d < forms.n_dims - 1
            else np.array([combined.sum(axis=1).argmax()])
        )
        trail.append((kept // len(own), place[kept % len(own)]))
        partial = combined[kept]
    cell, vertex = np.empty(forms.n_dims, dtype=np.int64), 0
    for d in range(forms.n_dims - 1, -1, -1):
        parents, choices = trail[d]
        cell[d] = choices[vertex]
        vertex = int(parents[vertex])
    return float(partial[0].sum()), cell


def hull_in_space(points: Floats) -> Ints:
    """Places of points that include every vertex of the convex hull.

    All of them where Qhull cannot help.

    A flat set is projected onto the plane or line it lies in first, which keeps its vertices.
    """
    from scipy.spatial import ConvexHull, QhullError  # heavy, and only needed here

    points, unique = np.unique(points, axis=0, return_index=True)
    if len(points) <= 4:
        return unique
    centred = points - points.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    centred = centred / np.where(scale > 0, scale, 1.0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    rank = int(np.sum(sizes > FLAT * sizes[0]))
    projected = centred @ directions[:rank].T
    if rank == 1:
        return unique[[int(projected[:, 0].argmin()), int(projected[:, 0].argmax())]]
    try:
        return np.asarray(unique[ConvexHull(projected).vertices])
    except QhullError:
        return unique


class Box(NamedTuple):
    """A box in the heap; sorted by its bound, highest first."""

    negative_bound: float
    order: int
    draw: int
    solved: bool
    cell: Ints
    allowed: Mask


def maximum_over_draws(
    forms: Forms, excluded: set[tuple[int, ...]], draws: Ints | None = None
) -> FormMaximum | None:
    """The best cell that is not excluded, over all given draws; None where nothing is left."""
    draws = np.arange(len(forms.coordinates)) if draws is None else draws
    n_coordinates = forms.coordinates.shape[1]
    counter = itertools.count()
    everything = np.ones(forms.starts[-1], dtype=bool)
    heap: list[Box] = []
    best: FormMaximum | None = None
    opened = 0

    def push(draw: int, allowed: Mask) -> None:
        bounds, cells = bound_boxes(forms, np.array([draw]), allowed)
        heapq.heappush(
            heap, Box(-float(bounds[0]), next(counter), draw, n_coordinates <= 2, cells[0], allowed)
        )

    bounds, cells = bound_boxes(forms, draws, everything)
    for k, draw in enumerate(draws):
        heapq.heappush(
            heap,
            Box(
                -float(bounds[k]),
                next(counter),
                int(draw),
                n_coordinates <= 2,
                cells[k],
                everything,
            ),
        )
    while heap:
        box = heapq.heappop(heap)
        if best is not None and -box.negative_bound <= best.value:
            return best._replace(bound=best.value)
        if n_coordinates >= 4:
            opened += 1
            best = _better(forms, draws, box, excluded, best)
            if opened > BUDGET and best is not None:
                return best._replace(bound=-box.negative_bound)
            for part in _halves(forms, box):
                push(box.draw, part)
        elif not box.solved:
            value, cell = solve_in_space(forms, box.draw, box.allowed)
            heapq.heappush(heap, Box(-value, next(counter), box.draw, True, cell, box.allowed))
        elif tuple(box.cell) not in excluded:
            return FormMaximum(box.cell, -box.negative_bound, -box.negative_bound, box.draw)
        else:
            for part in _without(forms.starts, box.allowed, box.cell):
                push(box.draw, part)
    return None if best is None else best._replace(bound=best.value)


def _without(starts: Ints, allowed: Mask, cell: Ints) -> Iterable[Mask]:
    """The box without one cell, as disjoint boxes: part d equals the cell before axis d and differs from it on axis d."""
    fixed = allowed.copy()
    for d in range(cell.size):
        here = slice(starts[d], starts[d + 1])
        part = fixed.copy()
        part[starts[d] + cell[d]] = False
        if part[here].any():
            yield part
        fixed[here] = False
        fixed[starts[d] + cell[d]] = True


def _halves(forms: Forms, box: Box) -> Iterable[Mask]:
    """Two boxes from one, cut along the axis on which the form varies most.

    Nothing for a single cell.
    """
    starts = forms.starts
    spread, axis = -1.0, -1
    for d in range(forms.n_dims):
        inside = np.flatnonzero(box.allowed[starts[d] : starts[d + 1]])
        if inside.size > 1:
            values = forms.coordinates[box.draw][:, starts[d] + inside]
            width = float(np.sum(np.ptp(values, axis=1) / (np.abs(values).max(axis=1) + 1e-300)))
            if width > spread:
                spread, axis = width, d
    if axis < 0:
        return
    inside = starts[axis] + np.flatnonzero(box.allowed[starts[axis] : starts[axis + 1]])
    leading = forms.coordinates[box.draw][:, inside]
    ranked = inside[np.argsort(leading[np.argmax(np.ptp(leading, axis=1))], kind="stable")]
    for half in (ranked[: ranked.size // 2], ranked[ranked.size // 2 :]):
        part = box.allowed.copy()
        part[starts[axis] : starts[axis + 1]] = False
        part[half] = True
        yield part


def _better(
    forms: Forms, draws: Ints, box: Box, excluded: set[tuple[int, ...]], best: FormMaximum | None
) -> FormMaximum | None:
    """The best cell so far after climbing from the box's own cell, one coordinate at a time.

    Its value is the best of all draws.
    """
    one = Forms(forms.coordinates[box.draw : box.draw + 1], forms.additive, forms.starts)
    cell = box.cell
    value = -math.inf if tuple(cell) in excluded else float(one.values(cell[None])[0, 0])
    inside = [np.flatnonzero(box.allowed[a:b]) for a, b in itertools.pairwise(forms.starts)]
    lines = list(enumerate(inside))
    for _ in range(MAX_PASSES):
        before = value
        cell, value = climb_once(
            lambda line: one.values(line)[0],
            lines,
            (cell, value),
            lambda c: tuple(c) not in excluded,
        )
        if value <= before:
            break
    if value == -math.inf:
        return best
    over_draws = forms.values(cell[None])[draws, 0]
    draw = int(over_draws.argmax())
    if best is None or over_draws[draw] > best.value:
        return FormMaximum(cell, float(over_draws[draw]), math.inf, int(draws[draw]))
    return best

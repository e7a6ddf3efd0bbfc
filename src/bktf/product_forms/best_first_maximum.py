"""The maximum of forms over a grid with excluded cells: exact, or with a certified upper bound.

Best-first search over disjoint boxes, with all draws in one heap. A box is pushed with an upper
bound, and solved or split when it is popped. When a solved box is popped, its cell is the maximum.
If that cell is excluded, the rest of the box is partitioned into disjoint boxes (Lawler 1972).

How a box is bounded and solved depends on the number of coordinates C (`maximum_forms.Forms`):
    C ≤ 2   planar hull: the bound is the solution
    C = 3   bound by planar hulls of two coordinates plus the maximum of the third; solved by hulls
            in space when the box is popped
    C ≥ 4   bound by planar hulls of pairs; split until the bound equals the best value, or the
            budget is spent
"""

import heapq
import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bktf._typing import Bools, Floats, Ints
from bktf.product_forms import hull_maximum
from bktf.product_forms.axis_ascent import MAX_PASSES, climb_once
from bktf.product_forms.maximum_forms import Forms

FLAT = 1e-13  # a singular value below this share of the largest is rounding error
MIN_MAGNITUDE = 1e-300  # added to a divisor that may be 0
BUDGET = 3000  # boxes that may be opened for forms with four or more coordinates


class FormMaximum(NamedTuple):
    """The best cell that was found, its value, and an upper bound over all allowed cells."""

    cell: Ints  # (D,)
    value: float
    bound: float
    draw: int


def planar(forms: Forms, draws: Ints, a: int, b: int, allowed: Bools) -> tuple[Floats, Ints]:
    """Maxima (n,) and cells (n, D) of coordinates a + b of the given draws over a box.

    b = −1: of coordinate a.
    """
    first = np.ascontiguousarray(forms.coordinates[draws, a])
    is_single = b < 0
    second = (
        np.zeros_like(first) if is_single else np.ascontiguousarray(forms.coordinates[draws, b])
    )
    last = forms.coordinates.shape[1] - 1
    if forms.additive and a == last:  # only a sum: the products beside it are 0
        first, second, is_single = np.zeros_like(first), first, True
    cells = np.empty((len(draws), forms.n_dims), dtype=np.int64)
    additive = is_single or (forms.additive and b == last)
    return hull_maximum.maximise_all(first, second, additive, forms.starts, allowed, cells), cells


def bound_boxes(forms: Forms, draws: Ints, allowed: Bools) -> tuple[Floats, Ints]:
    """Upper bounds (n,) of the given draws over a box; exact when C ≤ 2.

    Also the cells (n, D) of the maxima, when C ≥ 3 those of the largest part.
    """
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
    """Ways to pair n coordinates: all three for n = 3, neighbours in two orders for more."""
    if n == 3:
        return [[(0, 1), (2, -1)], [(0, 2), (1, -1)], [(1, 2), (0, -1)]]
    orders = [list(range(n)), [0, *range(2, n), 1]]
    return [
        [(min(o[i : i + 2]), max(o[i : i + 2]) if i + 1 < n else -1) for i in range(0, n, 2)]
        for o in orders
    ]


def solve_in_space(forms: Forms, draw: int, allowed: Bools) -> tuple[float, Ints]:
    """The exact maximum of one draw with three coordinates over a box, by hulls in space."""
    starts, points = forms.starts, forms.coordinates[draw].T  # (M, 3)
    partial = np.ones((1, 3))
    if forms.additive:
        partial[0, 2] = 0.0
    levels: list[tuple[Ints, Ints]] = []
    for d in range(forms.n_dims):
        indices = np.flatnonzero(allowed[starts[d] : starts[d + 1]])
        axis_points = points[starts[d] + indices]
        vertices = hull_in_space(axis_points)
        axis_points, indices = axis_points[vertices], indices[vertices]
        combined = partial[:, None, :] * axis_points[None, :, :]
        if forms.additive:
            combined[:, :, 2] = partial[:, None, 2] + axis_points[None, :, 2]
        combined = combined.reshape(-1, 3)
        chosen = (
            hull_in_space(combined)
            if d < forms.n_dims - 1
            else np.array([combined.sum(axis=1).argmax()])
        )
        levels.append((chosen // len(axis_points), indices[chosen % len(axis_points)]))
        partial = combined[chosen]
    cell, vertex = np.empty(forms.n_dims, dtype=np.int64), 0
    for d in range(forms.n_dims - 1, -1, -1):
        parents, choices = levels[d]
        cell[d] = choices[vertex]
        vertex = int(parents[vertex])
    return float(partial[0].sum()), cell


def hull_in_space(points: Floats) -> Ints:
    """Indices of points that include every vertex of the convex hull; all where Qhull fails.

    A flat set is first projected onto its plane or line, which keeps its vertices.
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
    allowed: Bools


def maximum_over_draws(
    forms: Forms, excluded: set[tuple[int, ...]], draws: Ints | None = None
) -> FormMaximum | None:
    """The best cell that is not excluded, over the given draws; None where all are excluded."""
    draws = np.arange(len(forms.coordinates)) if draws is None else draws
    n_coordinates = forms.coordinates.shape[1]
    counter = itertools.count()
    everything = np.ones(forms.starts[-1], dtype=bool)
    heap: list[Box] = []
    best: FormMaximum | None = None
    opened = 0

    def push(draw: int, allowed: Bools) -> None:
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


def _without(starts: Ints, allowed: Bools, cell: Ints) -> Iterable[Bools]:
    """The box without one cell, as disjoint boxes.

    Part d agrees with the cell on the axes before d and differs from it on axis d.
    """
    fixed = allowed.copy()
    for d in range(cell.size):
        axis = slice(starts[d], starts[d + 1])
        part = fixed.copy()
        part[starts[d] + cell[d]] = False
        if part[axis].any():
            yield part
        fixed[axis] = False
        fixed[starts[d] + cell[d]] = True


def _halves(forms: Forms, box: Box) -> Iterable[Bools]:
    """Two halves of a box, split along the axis on which the form varies most.

    A single cell has none.
    """
    starts = forms.starts
    spread, axis = -1.0, -1
    for d in range(forms.n_dims):
        allowed_points = np.flatnonzero(box.allowed[starts[d] : starts[d + 1]])
        if allowed_points.size > 1:
            values = forms.coordinates[box.draw][:, starts[d] + allowed_points]
            width = float(
                np.sum(np.ptp(values, axis=1) / (np.abs(values).max(axis=1) + MIN_MAGNITUDE))
            )
            if width > spread:
                spread, axis = width, d
    if axis < 0:
        return
    allowed_points = starts[axis] + np.flatnonzero(box.allowed[starts[axis] : starts[axis + 1]])
    columns = forms.coordinates[box.draw][:, allowed_points]
    sorted_points = allowed_points[
        np.argsort(columns[np.argmax(np.ptp(columns, axis=1))], kind="stable")
    ]
    for half in (
        sorted_points[: sorted_points.size // 2],
        sorted_points[sorted_points.size // 2 :],
    ):
        part = box.allowed.copy()
        part[starts[axis] : starts[axis + 1]] = False
        part[half] = True
        yield part


def _better(
    forms: Forms, draws: Ints, box: Box, excluded: set[tuple[int, ...]], best: FormMaximum | None
) -> FormMaximum | None:
    """The best cell so far, after a coordinate ascent from the box's cell.

    Its value is the largest of all draws.
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

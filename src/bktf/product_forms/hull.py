"""The exact maximum of a CP form over a grid, without the grid.

A form with two coordinates per axis point, (a, b), starts at (1, 1) or (1, 0) and takes in axis after axis: the first coordinate is
multiplied by a, the second multiplied by b (two components) or increased by b (one component and main effects). The final
value is the sum of the two. With all other coordinates fixed, that value is linear in the partial result (p, q), and also in
(a, b); so only vertices of the convex hull of the partial results, and of the axis's own points, can lead to the maximum. Multiply
in one axis, take the hull, go on: the hulls stay small, so the cost is linear in the number of axes.

Notation
    first, second   (M,) the coordinates a and b of every axis point, axis after axis; weights are already in them
    starts          (D + 1,) where each axis begins
    allowed         (M,) which points of each axis the box contains
"""

import numpy as np

from bktf._compiled import compiled, compiled_part


@compiled_part
def hull_vertices(x, y, n, chosen):
    """Write the places of the hull's vertices among n planar points into chosen and return how many there are.

    Points inside an edge are left out. Ties in x keep their lowest and highest y.
    """
    order = np.argsort(x[:n])
    low = np.empty(n, np.int64)
    high = np.empty(n, np.int64)
    n_columns = 0
    i = 0
    while i < n:
        lowest = order[i]
        highest = order[i]
        j = i + 1
        while j < n and x[order[j]] == x[order[i]]:
            if y[order[j]] < y[lowest]:
                lowest = order[j]
            if y[order[j]] > y[highest]:
                highest = order[j]
            j += 1
        low[n_columns] = lowest
        high[n_columns] = highest
        n_columns += 1
        i = j
    n_low = chain(x, y, low, n_columns, 1.0)
    n_high = chain(x, y, high, n_columns, -1.0)
    count = 0
    for i in range(n_low):
        chosen[count] = low[i]
        count += 1
    for i in range(n_high):
        v = high[i]
        if v != low[0] and v != low[n_low - 1]:
            chosen[count] = v
            count += 1
    return count


@compiled_part
def chain(x, y, points, n, side):
    """Keep in points (in order of x, overwritten) those on the lower (side 1) or upper (side −1) hull; return how many."""
    count = 0
    for i in range(n):
        p = points[i]
        while count >= 2:
            a = points[count - 2]
            b = points[count - 1]
            turn = (x[b] - x[a]) * (y[p] - y[a]) - (y[b] - y[a]) * (x[p] - x[a])
            if side * turn > 0.0:
                break
            count -= 1
        points[count] = p
        count += 1
    return count


@compiled_part
def maximise(first, second, additive, starts, allowed, cell):
    """Write the best cell of the box into cell (D,) and return its value; every axis must have an allowed point."""
    n_dims = starts.size - 1
    px = np.ones(1)
    py = np.zeros(1) if additive else np.ones(1)
    n_partial = 1
    room = 64 * n_dims
    parents = np.empty(room, np.int64)  # for each vertex of each level: the vertex before it, and the axis point taken
    choices = np.empty(room, np.int64)
    level_starts = np.zeros(n_dims + 1, np.int64)
    best = -np.inf
    best_vertex = 0
    for d in range(n_dims):
        size = starts[d + 1] - starts[d]
        ax = np.empty(size)
        ay = np.empty(size)
        place = np.empty(size, np.int64)
        n_points = 0
        for j in range(starts[d], starts[d + 1]):
            if allowed[j]:
                ax[n_points] = first[j]
                ay[n_points] = second[j]
                place[n_points] = j - starts[d]
                n_points += 1
        vertices = np.empty(n_points, np.int64)
        n_vertices = hull_vertices(ax, ay, n_points, vertices)
        total = n_partial * n_vertices
        x = np.empty(total)
        y = np.empty(total)
        for i in range(n_partial):
            for k in range(n_vertices):
                v = vertices[k]
                x[i * n_vertices + k] = px[i] * ax[v]
                y[i * n_vertices + k] = py[i] + ay[v] if additive else py[i] * ay[v]
        kept = np.empty(total, np.int64)
        if d < n_dims - 1:
            n_kept = hull_vertices(x, y, total, kept)
        else:
            n_kept = 1
            for i in range(total):
                if x[i] + y[i] > best:
                    best = x[i] + y[i]
                    kept[0] = i
        begin = level_starts[d]
        level_starts[d + 1] = begin + n_kept
        if begin + n_kept > room:
            room = 2 * (begin + n_kept)
            more_parents = np.empty(room, np.int64)
            more_choices = np.empty(room, np.int64)
            for i in range(begin):
                more_parents[i] = parents[i]
                more_choices[i] = choices[i]
            parents = more_parents
            choices = more_choices
        px = np.empty(n_kept)
        py = np.empty(n_kept)
        for i in range(n_kept):
            v = kept[i]
            px[i] = x[v]
            py[i] = y[v]
            parents[begin + i] = v // n_vertices
            choices[begin + i] = place[vertices[v % n_vertices]]
        n_partial = n_kept
    vertex = best_vertex
    for d in range(n_dims - 1, -1, -1):
        entry = level_starts[d] + vertex
        cell[d] = choices[entry]
        vertex = parents[entry]
    return best


@compiled
def maximise_all(first, second, additive, starts, allowed, cells):
    """Write the best cell of each of K forms, given as (K, M) coordinates, into cells (K, D); return their values (K,)."""
    values = np.empty(first.shape[0])
    for k in range(first.shape[0]):
        values[k] = maximise(first[k], second[k], additive, starts, allowed, cells[k])
    return values

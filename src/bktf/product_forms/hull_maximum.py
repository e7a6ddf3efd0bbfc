"""The exact maximum of a CP form over a grid, without enumerating its cells.

A form has two coordinates (a, b) per axis point. The partial result (p, q) starts at (1, 1) or
(1, 0). For each axis p is multiplied by a, and q is multiplied by b (two components) or increased
by b (one component and main effects). The value of a cell is the final p + q.

With all other axes fixed, that value is linear in (p, q), and also in (a, b). So only vertices of
the convex hull of the partial results, and of the axis's points, can lead to the maximum. The hull
is taken after each axis. Hulls stay small, so the cost is linear in the number of axes.

Notation
    first, second   (M,) the coordinates a and b of all axis points, weights included
    starts          (D + 1,) where each axis begins
    allowed         (M,) which points of each axis the box contains
"""

import numpy as np

from bktf._compiled import compiled, compiled_part


@compiled_part
def hull_vertices(x, y, n, vertices):
    """Write the indices of the hull's vertices among n planar points; return their number.

    Points inside an edge are left out. Of points with equal x the lowest and highest y remain.
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
    n_low = monotone_chain(x, y, low, n_columns, 1.0)
    n_high = monotone_chain(x, y, high, n_columns, -1.0)
    count = 0
    for i in range(n_low):
        vertices[count] = low[i]
        count += 1
    for i in range(n_high):
        v = high[i]
        if v != low[0] and v != low[n_low - 1]:
            vertices[count] = v
            count += 1
    return count


@compiled_part
def monotone_chain(x, y, points, n, side):
    """Keep the points on the lower (side 1) or upper (side −1) hull; return their number.

    points holds indices in order of x and is overwritten.
    """
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
    """Write the best cell of the box into cell (D,) and return its value.

    Every axis must have an allowed point.
    """
    n_dims = starts.size - 1
    px = np.ones(1)
    py = np.zeros(1) if additive else np.ones(1)
    n_partial = 1
    capacity = 64 * n_dims
    # For each vertex of each level: the vertex of the level before, and the axis point.
    parents = np.empty(capacity, np.int64)
    choices = np.empty(capacity, np.int64)
    level_starts = np.zeros(n_dims + 1, np.int64)
    best = -np.inf
    best_vertex = 0
    for d in range(n_dims):
        size = starts[d + 1] - starts[d]
        ax = np.empty(size)
        ay = np.empty(size)
        axis_index = np.empty(size, np.int64)
        n_points = 0
        for j in range(starts[d], starts[d + 1]):
            if allowed[j]:
                ax[n_points] = first[j]
                ay[n_points] = second[j]
                axis_index[n_points] = j - starts[d]
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
        chosen = np.empty(total, np.int64)
        if d < n_dims - 1:
            n_chosen = hull_vertices(x, y, total, chosen)
        else:
            n_chosen = 1
            for i in range(total):
                if x[i] + y[i] > best:
                    best = x[i] + y[i]
                    chosen[0] = i
        begin = level_starts[d]
        level_starts[d + 1] = begin + n_chosen
        if begin + n_chosen > capacity:
            capacity = 2 * (begin + n_chosen)
            new_parents = np.empty(capacity, np.int64)
            new_choices = np.empty(capacity, np.int64)
            for i in range(begin):
                new_parents[i] = parents[i]
                new_choices[i] = choices[i]
            parents = new_parents
            choices = new_choices
        px = np.empty(n_chosen)
        py = np.empty(n_chosen)
        for i in range(n_chosen):
            v = chosen[i]
            px[i] = x[v]
            py[i] = y[v]
            parents[begin + i] = v // n_vertices
            choices[begin + i] = axis_index[vertices[v % n_vertices]]
        n_partial = n_chosen
    vertex = best_vertex
    for d in range(n_dims - 1, -1, -1):
        entry = level_starts[d] + vertex
        cell[d] = choices[entry]
        vertex = parents[entry]
    return best


@compiled
def maximise_all(first, second, additive, starts, allowed, cells):
    """Write the best cell of each of K forms, given as (K, M) coordinates, into cells (K, D).

    Return their values (K,).
    """
    values = np.empty(first.shape[0])
    for k in range(first.shape[0]):
        values[k] = maximise(first[k], second[k], additive, starts, allowed, cells[k])
    return values

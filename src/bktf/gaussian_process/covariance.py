"""The covariance of the process along one axis, and over all of them.

    κ_d = ρ + (1 − ρ)·M(|x_d − x'_d| / l_d)    on an ordered axis; M: Matérn 5/2
    κ_d = 1, or the correlation of the axis    for equal, or different, levels of a category
    κ_d = ρ + (1 − ρ)·w·M(|x_d − ½| / l_d)     on an ordered axis where one of the two is inactive

An inactive parameter is, with the weight w, at the middle of its axis, and otherwise infinitely far
away. So κ_d = w·(covariance with the middle) + (1 − w)·(covariance with infinity) is positive
semi-definite. Two inactive ones have κ_d = 1. A small w would let branches with parameters of their
own share little. With w = 1 an inactive parameter could not be told from one at the middle.

ρ is the constant share of every ordered axis. It makes the product of κ_d a sum over all subsets of
axes. With a large ρ the sum is mostly a constant and main effects; with ρ = 0 only the interaction
of all axes is left.

The parameters are stored as *logs* (D + 2,): log l_d of each axis (on levels the log odds of the
correlation), the log of the variance a, and the log odds of ρ.
"""

import math

import numpy as np

from bktf._compiled import compiled, compiled_part, fill

SQRT5 = math.sqrt(5.0)
# An inactive coordinate stands at ½ + FAR_SHIFT. So differences from it name the pair, because
# others are at most 1, and the difference from the middle.
FAR_SHIFT = 2.0
FAR = 0.5 + FAR_SHIFT
FROM_FAR = 1.25  # of a difference: one of the two is inactive
LOG_ODDS_HIGH = 8.0  # of ρ
MIDDLE_WEIGHT = 0.95  # w; docs/spaces.md has the measurements
MIN_EXPONENT = -700.0  # smaller arguments of exp are replaced by this one
LOG2_E = 1.4426950408889634  # log₂ e
# Their sum is log 2. The first has few significant bits, so that n·LN2_HIGH is exact.
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
TO_INTEGER = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the last bits
# 1 / k!
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12 = (1.0 / math.factorial(k) for k in range(2, 13))


@compiled
def exponentiate(x, buffer):
    """Overwrite x ≤ 0 with exp(x) to the last bit or two; buffer is as long as x.

    The library's exp takes one number at a time, and most of a suggestion was spent there. The
    compiler vectorises these loops. exp(x) = 2ⁿ·exp(r), where n is the integer nearest to
    x / log 2. exp(r) is a polynomial, and 2ⁿ is an addition to the bits of the exponent.
    """
    for i in range(x.size):
        v = x[i] if x[i] > MIN_EXPONENT else MIN_EXPONENT
        shifted = v * LOG2_E + TO_INTEGER
        buffer[i] = shifted
        n = shifted - TO_INTEGER
        r = (v - n * LN2_HIGH) - n * LN2_LOW
        tail = E6 + r * (E7 + r * (E8 + r * (E9 + r * (E10 + r * (E11 + r * E12)))))
        x[i] = 1.0 + r * (1.0 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * tail)))))
    bits, powers = x.view(np.int64), buffer.view(np.int64)
    for i in range(x.size):
        bits[i] += powers[i] << 52


@compiled_part
def has_inactive(distances):
    """Whether one of two coordinates is inactive in some of the pairs.

    A loop without a branch: it costs little beside the exponentials, and most spaces have none.
    """
    count = 0
    for p in range(distances.size):
        count += distances[p] > FROM_FAR
    return count > 0


@compiled_part
def from_middle(distance):
    """The distance of the active one of two coordinates from the middle, the other inactive."""
    return abs(distance - FAR_SHIFT)


@compiled_part
def share_of(log_odds):
    """ρ from its log odds."""
    return 1.0 / (1.0 + math.exp(-log_odds))


@compiled_part
def correlations_along(distances, on_levels, log, buffer, out):
    """Write the correlation along one axis, without ρ, into out (P,).

    distances (P,): |x_d − x'_d| on the scaled axis, inactive coordinates at FAR; on levels 1 where
    they differ and 0 where they do not. buffer (P,) is overwritten.
    """
    if on_levels:
        loss = 1.0 / (1.0 + math.exp(log))
        for p in range(out.size):
            out[p] = 1.0 - distances[p] * loss
        return
    inverse = SQRT5 * math.exp(-log)
    is_partly = has_inactive(distances)
    for p in range(out.size):
        out[p] = -inverse * distances[p]
    if is_partly:
        for p in range(out.size):
            if distances[p] > FROM_FAR:
                out[p] = -inverse * from_middle(distances[p])
    exponentiate(out, buffer)
    if is_partly:
        for p in range(out.size):
            x, weight = distances[p], 1.0
            if x > FROM_FAR:
                x, weight = from_middle(x), MIDDLE_WEIGHT
            r = inverse * x
            out[p] *= weight * (1.0 + r + r * r / 3.0)
        return
    for p in range(out.size):
        r = inverse * distances[p]
        out[p] *= 1.0 + r + r * r / 3.0


@compiled_part
def multiply_axis(along, on_levels, share, out):
    """Multiply out by κ_d, given the correlations along the axis."""
    constant = 0.0 if on_levels else share
    for p in range(out.size):
        out[p] *= constant + (1.0 - constant) * along[p]


@compiled_part
def multiply_axes(along, on_levels, share, skipped, out):
    """Write the product of κ_d over all axes except `skipped` into out (P,).

    along (D, P): the correlations along the axes. With skipped = D no axis is left out.
    """
    fill(1.0, out)
    for d in range(on_levels.size):
        if d != skipped:
            multiply_axis(along[d], on_levels[d], share, out)


@compiled
def correlate(separations, on_levels, logs, along, out):
    """Write the correlations along each axis into along (D, P) and Π_d κ_d into out (P,).

    separations (D, P): the distances of `correlations_along`.
    """
    n_dims = on_levels.size
    for d in range(n_dims):
        correlations_along(separations[d], on_levels[d], logs[d], out, along[d])
    multiply_axes(along, on_levels, share_of(logs[n_dims + 1]), n_dims, out)


@compiled
def write_separations(points, on_levels, out):
    """Write the distances between points (n, D), pairs i ≤ j row by row, into out (D, P).

    On levels 1 where they differ, else 0.
    """
    n, n_dims = points.shape
    column = np.empty(n)
    for d in range(n_dims):
        for i in range(n):
            column[i] = points[i, d] if on_levels[d] else min(points[i, d], FAR)
        first, row = 0, out[d]
        for i in range(n):
            for j in range(i, n):
                distance = abs(column[i] - column[j])
                if on_levels[d]:
                    distance = 1.0 if distance > 0.0 else 0.0
                row[first + j - i] = distance
            first += n - i


@compiled
def multiply_correlations(distances, on_levels, inverse, shares, exponentials, buffer, out):
    """Multiply out (K, P) by κ_d of every draw at distances (P,) along one axis.

    inverse (K,): √5 / l, or on levels the correlation. On an ordered axis exponentials (K, P)
    becomes (1 − ρ)·exp(−√5·distance / l), times w where one of the two is inactive. buffer (P,) is
    overwritten.
    """
    is_partly = not on_levels and has_inactive(distances)
    for k in range(out.shape[0]):
        row, rate, share = out[k], inverse[k], shares[k]
        if on_levels:
            for p in range(row.size):
                row[p] *= rate if distances[p] > 0.0 else 1.0
            continue
        decay = exponentials[k]
        for p in range(row.size):
            decay[p] = -rate * distances[p]
        if is_partly:
            for p in range(row.size):
                if distances[p] > FROM_FAR:
                    decay[p] = -rate * from_middle(distances[p])
        exponentiate(decay, buffer)
        if is_partly:
            for p in range(row.size):
                x, weight = distances[p], 1.0 - share
                if x > FROM_FAR:
                    x, weight = from_middle(x), weight * MIDDLE_WEIGHT
                r = rate * x
                decay[p] *= weight
                row[p] *= share + decay[p] * (1.0 + r + r * r / 3.0)
            continue
        for p in range(row.size):
            r = rate * distances[p]
            decay[p] *= 1.0 - share
            row[p] *= share + decay[p] * (1.0 + r + r * r / 3.0)


@compiled
def log_slopes(differences, inverse, shares, exponentials, out):
    """Write d log κ_d / d x_d of every draw into out (K, P), for differences (P,) x_d − x'_d.

    exponentials (K, P): as `multiply_correlations` leaves them.
    """
    moved = np.empty(differences.size)  # from the middle, where one of the two is inactive
    for p in range(moved.size):
        x = differences[p]
        if abs(x) > FROM_FAR:
            x += FAR_SHIFT if x < 0.0 else -FAR_SHIFT
        moved[p] = x
    for k in range(out.shape[0]):
        row, decay, rate, share = out[k], exponentials[k], inverse[k], shares[k]
        for p in range(row.size):
            x = moved[p]
            r = rate * abs(x)
            correlation = 3.0 * share + decay[p] * (3.0 + 3.0 * r + r * r)
            slope = rate * decay[p] * (r + r * r) / correlation
            row[p] = -slope if x > 0.0 else slope


@compiled
def multiply_rows(table, cells, out):
    """Multiply out (K, N, n) by the rows of a table (K, m, n) that cells (N,) name."""
    for k in range(out.shape[0]):
        for i in range(cells.size):
            row, factor = out[k, i], table[k, cells[i]]
            for j in range(row.size):
                row[j] *= factor[j]

"""The covariance of the local component along one axis, and over all of them.

    κ_d = ρ + (1 − ρ)·M(|x_d − x'_d| / l_d)      M: Matérn 5/2, on an axis whose coordinates have an order
    κ_d = 1 or the correlation of the axis       on an axis of levels, where they are the same or differ

ρ, the share of every axis that is constant, makes the product of κ_d a sum over all subsets of axes: with a large ρ it is a constant, main
effects and little else; with ρ = 0 everything depends on all axes at once.

Parameters are kept as *logs*: log l_d (of the odds of the correlation on levels) of each axis, log a, and the log odds of ρ.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bktf._compiled import compiled, compiled_part, fill

Floats = NDArray[np.float64]

SQRT5 = math.sqrt(5.0)
LOG_ODDS_HIGH = 8.0  # of ρ
MIN_EXPONENT = -700.0  # exp of less is not told from 0 here
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # their sum is log 2; the first has few bits, so n·LN2_HIGH is exact
TO_WHOLE = 1.5 * 2.0**52  # added to a number it leaves the nearest whole one in the last bits
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12 = (1.0 / math.factorial(k) for k in range(2, 13))


def n_logs(n_dims: int) -> int:
    """How many parameters there are."""
    return n_dims + 2


@compiled
def exponentiate(x, buffer):
    """Overwrite x ≤ 0 with exp(x) to the last bit or two; buffer is as long as x.

    The library's exp takes one number at a time, and most of a suggestion went into it. These loops the compiler turns into instructions
    for several numbers: exp(x) = 2ⁿ·exp(r), n the whole number nearest to x / log 2, exp(r) a polynomial, and 2ⁿ an addition to the
    exponent's bits.
    """
    for i in range(x.size):
        v = x[i] if x[i] > MIN_EXPONENT else MIN_EXPONENT
        shifted = v * LOG2_E + TO_WHOLE
        buffer[i] = shifted
        n = shifted - TO_WHOLE
        r = (v - n * LN2_HIGH) - n * LN2_LOW
        tail = E6 + r * (E7 + r * (E8 + r * (E9 + r * (E10 + r * (E11 + r * E12)))))
        x[i] = 1.0 + r * (1.0 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * tail)))))
    bits, powers = x.view(np.int64), buffer.view(np.int64)
    for i in range(x.size):
        bits[i] += powers[i] << 52


@compiled_part
def share_of(log_odds):
    """ρ."""
    return 1.0 / (1.0 + math.exp(-log_odds))


@compiled_part
def correlations_along(distances, on_levels, log, buffer, out):
    """Write the correlation along one axis, without ρ, into out (P,); buffer is as long.

    distances (P,): |x_d − x'_d| on the scaled axis; on levels 1 where they differ and 0 where they do not.
    """
    if on_levels:
        loss = 1.0 / (1.0 + math.exp(log))
        for p in range(out.size):
            out[p] = 1.0 - distances[p] * loss
        return
    inverse = SQRT5 * math.exp(-log)
    for p in range(out.size):
        out[p] = -inverse * distances[p]
    exponentiate(out, buffer)
    for p in range(out.size):
        r = inverse * distances[p]
        out[p] *= 1.0 + r + r * r / 3.0


@compiled_part
def multiply_axis(along, on_levels, share, out):
    """Multiply out by κ_d, from the correlations along the axis."""
    constant = 0.0 if on_levels else share
    for p in range(out.size):
        out[p] *= constant + (1.0 - constant) * along[p]


@compiled_part
def multiply_axes(along, on_levels, share, but, out):
    """Write the product of κ_d over all axes but one (all where `but` is no axis) into out, from the correlations along them (D, P)."""
    fill(1.0, out)
    for d in range(on_levels.size):
        if d != but:
            multiply_axis(along[d], on_levels[d], share, out)


@compiled
def correlate(separations, on_levels, logs, along, out):
    """Write the correlations along each axis into along (D, P) and Π_d κ_d into out (P,); separations (D, P) as in `correlations_along`."""
    n_dims = on_levels.size
    for d in range(n_dims):
        correlations_along(separations[d], on_levels[d], logs[d], out, along[d])
    multiply_axes(along, on_levels, share_of(logs[n_dims + 1]), n_dims, out)


def correlations(distances: Floats, on_levels: bool, logs: Floats, shares: Floats) -> Floats:
    """κ_d at distances, in a last dimension for each of K draws with these parameters of the axis and these ρ, (K,) both."""
    if on_levels:
        return np.where((distances > 0.0)[..., None], 1.0 / (1.0 + np.exp(-logs)), 1.0)
    r = distances[..., None] * (SQRT5 * np.exp(-logs))
    return np.asarray(shares + (1.0 - shares) * (1.0 + r + r * r / 3.0) * np.exp(-r))

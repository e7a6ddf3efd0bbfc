"""The operations on one axis, whichever kernel it has: log evidence, factor draw, draws and moments in between.

Matérn kinds are numbered by the size of their state; levels with equal correlation have a path of their own; every other kind is dense.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf._compiled import CUBE, FLOAT, GRID, INT, INTS, MATRIX, RNG, VECTOR, VOID, compiled, compiled_part, operation
from bktf.axis_kernels import categorical as levels
from bktf.axis_kernels import dense, matern32
from bktf.axis_kernels import state_space as statespace

Floats = NDArray[np.float64]

MATERN12 = 1
MATERN32 = 2
MATERN52 = 3

_AXIS = (INT, FLOAT, MATRIX, FLOAT, VECTOR)  # kind, period, given, lengthscale, coords
_UPDATE = (
    *_AXIS, VECTOR, INTS,  # gaps, steps: see `bridges.steps_along`
    FLOAT, FLOAT,  # log_mean, log_var of the length-scale prior; log_var 0: keep the length-scale as it is
    CUBE, MATRIX, MATRIX,  # directions, precisions, targets: see `statespace`
    CUBE, RNG,  # out
)  # fmt: skip


def state_size(kind: int) -> int:
    """How many numbers a factor of this kind carries at each axis point."""
    return kind if kind <= MATERN52 else 1


@operation(FLOAT, *_UPDATE)
def _update_matern32(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
):  # fmt: skip
    m = coords.size
    table = np.empty((gaps.size, matern32.COLUMNS))
    kept = np.empty((m, matern32.MOMENTS))
    b, t = precisions.reshape(m), targets.reshape(m)
    if log_var > 0.0:
        lengthscale = matern32.draw_lengthscale(lengthscale, log_mean, log_var, gaps, steps, b, t, table, kept, rng)
    else:
        matern32.log_evidence(lengthscale, gaps, steps, b, t, -np.inf, table, kept)
    matern32.draw_factor(steps, table, kept, out[0], rng)
    return lengthscale


@operation(FLOAT, *_UPDATE)
def _update_markov(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
):  # fmt: skip
    if log_var > 0.0:
        lengthscale = statespace.draw_lengthscale(kind, lengthscale, log_mean, log_var, coords, directions, precisions, targets, rng)
    statespace.draw_factors(kind, lengthscale, coords, directions, precisions, targets, out, rng)
    return lengthscale


@operation(FLOAT, *_UPDATE)
def _update_dense(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
):  # fmt: skip
    if log_var > 0.0:
        lengthscale = dense.draw_lengthscale(
            kind, period, given, lengthscale, log_mean, log_var, coords, directions, precisions, targets, rng
        )
    dense.draw_factors(kind, period, given, lengthscale, coords, directions, precisions, targets, out, rng)
    return lengthscale


@operation(FLOAT, *_UPDATE)
def _update_levels(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
):  # fmt: skip
    b, t = precisions.reshape(coords.size), targets.reshape(coords.size)
    if log_var > 0.0:
        lengthscale = levels.draw_odds(lengthscale, log_mean, log_var, b, t, rng)
    levels.draw_factor(lengthscale, b, t, out[0], rng)
    return lengthscale


@operation(FLOAT, *_UPDATE)
def _update_nothing(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
):  # fmt: skip
    return lengthscale


_COVARIANCE = (CUBE, INTS, INT, MATRIX, RNG)  # factors, whether each component is used, start, out


@operation(VOID, *_COVARIANCE)
def _draw_covariance(factors, used, start, out, rng):
    levels.draw_covariance(factors, used, start, out, rng)


@operation(VOID, *_COVARIANCE)
def _draw_no_covariance(factors, used, start, out, rng):
    pass


class AxisOperations(NamedTuple):
    """What the Gibbs sampler calls without knowing the kernel: draw the length-scale, then the factors of one axis.

    Pointers of one signature: the arguments of _UPDATE, writing a joint draw of the factors' states into out (q, m, ≥ state size)
    and returning the length-scale. Where a problem does not need one of them, it points to nothing and is never compiled.
    """

    alone: Any  # Matérn 3/2, one factor at a time
    markov: Any  # any Matérn, any number of factors
    dense: Any  # any covariance, any number of factors
    levels: Any  # equal correlation, one factor at a time
    covariance: Any  # the covariance of an axis given its factors: the arguments of _COVARIANCE, writing into out


def axis_operations(kinds: NDArray[np.int64], shared: bool) -> AxisOperations:
    """The operations for axes of these kinds, with one length-scale per component or shared ones."""
    matern = kinds <= MATERN52
    default = kinds == MATERN32
    equal = kinds == dense.EQUAL_CORRELATION
    return AxisOperations(
        _update_matern32() if np.any(default) else _update_nothing(),
        _update_markov() if np.any(matern & ~default) or (shared and np.any(default)) else _update_nothing(),
        _update_dense() if np.any(~matern & ~equal) or (shared and np.any(equal)) else _update_nothing(),
        _update_levels() if np.any(equal) else _update_nothing(),
        _draw_covariance() if np.any(kinds == dense.FULL_COVARIANCE) else _draw_no_covariance(),
    )


@compiled_part
def update_factors(
    operations, kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
):  # fmt: skip
    """Draw a length-scale and then its factors given pseudo-observations (see `AxisOperations`), whichever the kernel."""
    if kind == MATERN32 and precisions.shape[1] == 1:
        return operations.alone(
            kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
        )
    if kind <= MATERN52:
        return operations.markov(
            kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
        )
    if kind == dense.EQUAL_CORRELATION and precisions.shape[1] == 1:
        return operations.levels(
            kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
        )
    return operations.dense(
        kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions, precisions, targets, out, rng
    )


_KNOWN = (MATRIX, VECTOR, VECTOR, GRID)  # states (m, size) at coords, new_coords, and how they lie: gaps, neighbours of `bridges.Plan`


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_matern32(kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng):
    matern32.draw_between(lengthscale, states, gaps, neighbours, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_markov(kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng):
    statespace.draw_between(kind, lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_dense(kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng):
    dense.draw_between(kind, period, given, lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_levels(kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng):
    levels.draw_between(lengthscale, states, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_matern32(kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, means, variances):
    matern32.moments_between(lengthscale, states, gaps, neighbours, means, variances)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_markov(kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, means, variances):
    statespace.moments_between(kind, lengthscale, coords, states, new_coords, means, variances)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_dense(kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, means, variances):
    dense.moments_between(kind, period, given, lengthscale, coords, states, new_coords, means, variances)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_levels(kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, means, variances):
    levels.moments_between(lengthscale, states, means, variances)


class Between(NamedTuple):
    """What can be asked of a factor between the points where it is known, as pointers."""

    draw: Any  # (kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng); writes a joint draw
    moments: Any  # (…, gaps, neighbours, means, variances); writes each point's own mean and variance


def between(kind: int) -> Between:
    """The operations between known points for an axis of this kind."""
    if kind == MATERN32:
        return Between(_draw_between_matern32(), _moments_between_matern32())
    if kind <= MATERN52:
        return Between(_draw_between_markov(), _moments_between_markov())
    if kind == dense.EQUAL_CORRELATION:
        return Between(_draw_between_levels(), _moments_between_levels())
    return Between(_draw_between_dense(), _moments_between_dense())


@compiled
def draw_all_between(draw, kind, period, given, lengthscales, coords, states, new_coords, gaps, neighbours, out, first, last, rng):
    """Write states at new_coords for draws first ≤ k < last, given states (K, R, m, size) at coords, into out.

    A length-scale that is not a number marks a component that is not active here: its factor is 1.
    """
    for k in range(first, last):
        for r in range(states.shape[1]):
            if np.isnan(lengthscales[k, r]):
                for j in range(new_coords.size):
                    out[k, r, j, 0] = 1.0
            else:
                draw(kind, period, given, lengthscales[k, r], coords, states[k, r], new_coords, gaps, neighbours, out[k, r], rng)


@compiled
def all_moments_between(
    moments, kind, period, given, lengthscales, coords, states, new_coords, gaps, neighbours, means, variances, first, last
):  # fmt: skip
    """Write mean and variance (K, R, u) of the factors at each of new_coords, for draws first ≤ k < last, given states at coords."""
    for k in range(first, last):
        for r in range(states.shape[1]):
            if np.isnan(lengthscales[k, r]):
                for j in range(new_coords.size):
                    means[k, r, j] = 1.0
                    variances[k, r, j] = 0.0
            else:
                moments(
                    kind,
                    period,
                    given,
                    lengthscales[k, r],
                    coords,
                    states[k, r],
                    new_coords,
                    gaps,
                    neighbours,
                    means[k, r],
                    variances[k, r],
                )

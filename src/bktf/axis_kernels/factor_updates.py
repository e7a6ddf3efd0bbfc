"""Updates of a length-scale and of the factors that share it, one typed pointer for each kernel.

`operations.AxisOperations` holds the pointers. They have one signature, so the Gibbs sampler calls
them without knowing the kernel.
"""

import numpy as np

from bktf._compiled import (
    CUBE,
    FLOAT,
    INT,
    INTS,
    MATRIX,
    RNG,
    VECTOR,
    VOID,
    compiled_part,
    operation,
)
from bktf.axis_kernels import categorical, dense, matern32_block, matern32_filter, state_space

MATERN12 = 1  # Matérn kinds are numbered by the size of their state
MATERN32 = 2
MATERN52 = 3

_UPDATE = (
    INT, FLOAT, MATRIX, FLOAT, VECTOR,  # kind, period, given, lengthscale, coords
    VECTOR, INTS,  # gaps, steps: see `gaps.steps_along`
    FLOAT, FLOAT,  # log_mean, log_var of the length-scale prior; log_var 0: no update of it
    CUBE, MATRIX, MATRIX,  # directions, precisions, targets: see `state_space`
    CUBE, RNG,  # out
)  # fmt: skip


@operation(FLOAT, *_UPDATE)
def update_matern32(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
    precisions, targets, out, rng,
):  # fmt: skip
    m = coords.size
    table = np.empty((gaps.size, matern32_filter.COLUMNS))
    filtered = np.empty((m, matern32_filter.MOMENTS))
    b, t = precisions.reshape(m), targets.reshape(m)
    if log_var > 0.0:
        lengthscale = matern32_filter.draw_lengthscale(
            lengthscale, log_mean, log_var, gaps, steps, b, t, table, filtered, rng
        )
    else:
        matern32_filter.log_evidence(lengthscale, gaps, steps, b, t, -np.inf, table, filtered)
    matern32_filter.draw_factor(steps, table, filtered, out[0], rng)
    return lengthscale


@operation(FLOAT, *_UPDATE)
def update_markov(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
    precisions, targets, out, rng,
):  # fmt: skip
    if log_var > 0.0:
        lengthscale = state_space.draw_lengthscale(
            kind, lengthscale, log_mean, log_var, coords, directions, precisions, targets, rng
        )
    state_space.draw_factors(kind, lengthscale, coords, directions, precisions, targets, out, rng)
    return lengthscale


@operation(FLOAT, *_UPDATE)
def update_dense(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
    precisions, targets, out, rng,
):  # fmt: skip
    if log_var > 0.0:
        lengthscale = dense.draw_lengthscale(
            kind, period, given, lengthscale, log_mean, log_var, coords, directions, precisions,
            targets, rng,
        )  # fmt: skip
    dense.draw_factors(
        kind, period, given, lengthscale, coords, directions, precisions, targets, out, rng
    )
    return lengthscale


@operation(FLOAT, *_UPDATE)
def update_categorical(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
    precisions, targets, out, rng,
):  # fmt: skip
    b, t = precisions.reshape(coords.size), targets.reshape(coords.size)
    if log_var > 0.0:
        lengthscale = categorical.draw_odds(lengthscale, log_mean, log_var, b, t, rng)
    categorical.draw_factor(lengthscale, b, t, out[0], rng)
    return lengthscale


@operation(FLOAT, *_UPDATE)
def no_update(
    kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
    precisions, targets, out, rng,
):  # fmt: skip
    return lengthscale


_BLOCK = (VECTOR, VECTOR, INTS, CUBE, MATRIX, MATRIX, CUBE, RNG)  # as `matern32_block.draw_block`


@operation(VOID, *_BLOCK)
def draw_together(lengthscales, gaps, steps, directions, precisions, targets, out, rng):
    matern32_block.draw_block(lengthscales, gaps, steps, directions, precisions, targets, out, rng)


@operation(VOID, *_BLOCK)
def draw_none(lengthscales, gaps, steps, directions, precisions, targets, out, rng):
    pass


_COVARIANCE = (CUBE, INTS, INT, MATRIX, RNG)  # factors, whether each component is used, start, out


@operation(VOID, *_COVARIANCE)
def draw_covariance(factors, used, start, out, rng):
    categorical.draw_covariance(factors, used, start, out, rng)


@operation(VOID, *_COVARIANCE)
def no_covariance(factors, used, start, out, rng):
    pass


@compiled_part
def update_factors(
    operations, kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var,
    directions, precisions, targets, out, rng,
):  # fmt: skip
    """Draw a length-scale and its factors given pseudo-observations; return the length-scale.

    Writes a joint draw of the factors' states into out; see `operations.AxisOperations`.
    """
    if kind == MATERN32 and precisions.shape[1] == 1:
        return operations.matern32(
            kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
            precisions, targets, out, rng,
        )  # fmt: skip
    if kind <= MATERN52:
        return operations.markov(
            kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
            precisions, targets, out, rng,
        )  # fmt: skip
    if kind == dense.EQUAL_CORRELATION and precisions.shape[1] == 1:
        return operations.categorical(
            kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
            precisions, targets, out, rng,
        )  # fmt: skip
    return operations.dense(
        kind, period, given, lengthscale, coords, gaps, steps, log_mean, log_var, directions,
        precisions, targets, out, rng,
    )  # fmt: skip

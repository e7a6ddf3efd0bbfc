"""Factors at new points given their values at known ones: draws and moments for each kernel.

The operations are typed pointers of one signature; see `operations.Between`.
"""

import numpy as np

from bktf._compiled import FLOAT, GRID, INT, MATRIX, RNG, VECTOR, VOID, compiled, operation
from bktf.axis_kernels import categorical, dense, matern32_filter, state_space_between

_KNOWN = (
    INT, FLOAT, MATRIX, FLOAT, VECTOR,  # kind, period, given, lengthscale, coords
    MATRIX, VECTOR,  # states (m, size) at coords, new_coords
    VECTOR, GRID,  # gaps, neighbours: see `gaps.Plan`
)  # fmt: skip


@operation(VOID, *_KNOWN, MATRIX, RNG)
def draw_matern32(
    kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng
):
    matern32_filter.draw_between(lengthscale, states, gaps, neighbours, out, rng)


@operation(VOID, *_KNOWN, MATRIX, RNG)
def draw_markov(
    kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng
):
    state_space_between.draw_between(kind, lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_KNOWN, MATRIX, RNG)
def draw_dense(
    kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng
):
    dense.draw_between(kind, period, given, lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_KNOWN, MATRIX, RNG)
def draw_categorical(
    kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, out, rng
):
    categorical.draw_between(lengthscale, states, out, rng)


@operation(VOID, *_KNOWN, VECTOR, VECTOR)
def moments_matern32(
    kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, means, variances
):
    matern32_filter.moments_between(lengthscale, states, gaps, neighbours, means, variances)


@operation(VOID, *_KNOWN, VECTOR, VECTOR)
def moments_markov(
    kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, means, variances
):
    state_space_between.moments_between(
        kind, lengthscale, coords, states, new_coords, means, variances
    )


@operation(VOID, *_KNOWN, VECTOR, VECTOR)
def moments_dense(
    kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, means, variances
):
    dense.moments_between(
        kind, period, given, lengthscale, coords, states, new_coords, means, variances
    )


@operation(VOID, *_KNOWN, VECTOR, VECTOR)
def moments_categorical(
    kind, period, given, lengthscale, coords, states, new_coords, gaps, neighbours, means, variances
):
    categorical.moments_between(lengthscale, states, means, variances)


@compiled
def draw_all_between(
    draw, kind, period, given, lengthscales, coords, states, new_coords, gaps, neighbours, out,
    first, last, rng,
):  # fmt: skip
    """Write states at new_coords into out (K, R, u, size), for draws first ≤ k < last.

    states (K, R, m, size) are those at coords. A length-scale of NaN stands for a component that
    does not use this axis: its factor is 1.
    """
    for k in range(first, last):
        for r in range(states.shape[1]):
            if np.isnan(lengthscales[k, r]):
                for j in range(new_coords.size):
                    out[k, r, j, 0] = 1.0
            else:
                draw(
                    kind, period, given, lengthscales[k, r], coords, states[k, r], new_coords, gaps,
                    neighbours, out[k, r], rng,
                )  # fmt: skip


@compiled
def all_moments_between(
    moments, kind, period, given, lengthscales, coords, states, new_coords, gaps, neighbours, means,
    variances, first, last,
):  # fmt: skip
    """Write the factors' marginal moments (K, R, u) at new_coords, for draws first ≤ k < last.

    Arguments as for `draw_all_between`.
    """
    for k in range(first, last):
        for r in range(states.shape[1]):
            if np.isnan(lengthscales[k, r]):
                for j in range(new_coords.size):
                    means[k, r, j] = 1.0
                    variances[k, r, j] = 0.0
            else:
                moments(
                    kind, period, given, lengthscales[k, r], coords, states[k, r], new_coords, gaps,
                    neighbours, means[k, r], variances[k, r],
                )  # fmt: skip

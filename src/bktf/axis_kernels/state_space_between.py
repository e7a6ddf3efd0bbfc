"""The state of a Matérn process at new points given its states at known ones; see `state_space`."""

import numpy as np

from bktf._compiled import compiled, compiled_part
from bktf.axis_kernels.matern_transitions import (
    STATIONARY_STEP,
    matern_rate,
    predict_mean,
    transition,
)
from bktf.axis_kernels.state_space import condition_on_next, draw_state


@compiled_part
def state_between(order, rate, left_gap, left, right_gap, right, mean, L, D):
    """Write mean, L, D of one factor's state given the states of its neighbours.

    A negative gap means that there is no neighbour on that side.
    """
    A = np.empty((order, order))
    L_Q = np.empty((order, order))
    D_Q = np.empty(order)
    transition(order, rate * left_gap if left_gap >= 0.0 else STATIONARY_STEP, A, L, D)
    if left_gap >= 0.0:
        predict_mean(order, 1, A, left, mean)
    else:
        for i in range(order):
            mean[i] = 0.0
    if right_gap >= 0.0:
        rows = np.empty((2 * order, 2 * order))
        weights = np.empty(2 * order)
        L_joint = np.empty((2 * order, 2 * order))
        D_joint = np.empty(2 * order)
        transition(order, rate * right_gap, A, L_Q, D_Q)
        condition_on_next(order, 1, A, L_Q, D_Q, mean, L, D, right, rows, weights, L_joint, D_joint)


@compiled
def draw_between(order, lengthscale, coords, states, new_coords, out, rng):
    """Write a joint draw of the states at new_coords given those at coords, (m, order).

    Both coordinate arrays increase.
    """
    rate = matern_rate(order, lengthscale)
    m = coords.size
    mean = np.empty(order)
    L = np.empty((order, order))
    D = np.empty(order)
    right = 0
    for j in range(new_coords.size):
        x = new_coords[j]
        while right < m and coords[right] <= x:
            right += 1
        right_gap = coords[right] - x if right < m else -1.0
        right_state = states[min(right, m - 1)]
        if j > 0 and (right == 0 or new_coords[j - 1] > coords[right - 1]):
            state_between(
                order, rate, x - new_coords[j - 1], out[j - 1], right_gap, right_state, mean, L, D
            )
        else:
            left_gap = x - coords[right - 1] if right > 0 else -1.0
            state_between(
                order, rate, left_gap, states[max(right - 1, 0)], right_gap, right_state, mean, L, D
            )
        draw_state(mean, L, D, out[j], rng)


@compiled
def moments_between(order, lengthscale, coords, states, new_coords, out_mean, out_variance):
    """Write the marginal mean and variance of the factor at new_coords given states at coords."""
    rate = matern_rate(order, lengthscale)
    m = coords.size
    mean = np.empty(order)
    L = np.empty((order, order))
    D = np.empty(order)
    right = 0
    for j in range(new_coords.size):
        x = new_coords[j]
        while right < m and coords[right] <= x:
            right += 1
        left_gap = x - coords[right - 1] if right > 0 else -1.0
        right_gap = coords[right] - x if right < m else -1.0
        state_between(
            order,
            rate,
            left_gap,
            states[max(right - 1, 0)],
            right_gap,
            states[min(right, m - 1)],
            mean,
            L,
            D,
        )
        out_mean[j] = mean[0]
        out_variance[j] = D[0]

"""The factors of all components along an axis, drawn together given their length-scales.

The Gibbs sampler draws one factor at a time. Where the noise is small, components that together
explain an observation then hold each other fast. A joint draw moves what they share.
"""

import numpy as np

from bktf._compiled import compiled_part, multiply
from bktf.components.gibbs import (
    enter_block,
    gather_block,
    leave_block,
    store_factor,
    update_noise_and_weights,
)


@compiled_part
def update_axis_jointly(problem, state, work, d, rng):
    """Draw the factors of axis d of all components that use it; writes state and work."""
    n_components = problem.active.shape[0]
    members = np.empty(n_components, np.int64)
    q = 0
    for c in range(n_components):
        if problem.active[c, d]:
            members[q] = c
            q += 1
    start, end = problem.starts[d], problem.starts[d + 1]
    m = end - start
    directions = np.ones((m, q, q))
    precisions = np.empty((m, q))
    targets = np.empty((m, q))
    gather_block(
        problem, state, work, members, np.int64(0), n_components, d, directions, precisions, targets
    )
    lengthscales = np.empty(q)
    for k in range(q):
        lengthscales[k] = state.lengthscales[members[k], d]
    if problem.offset[d]:
        for j in range(m):
            for k in range(q):
                for h in range(q):
                    targets[j, k] -= directions[j, k, h] * state.offsets[members[h], d]
    drawn = np.empty((q, m, state.factors.shape[2]))
    problem.operations.together(
        lengthscales,
        problem.gaps[problem.gap_starts[d] : problem.gap_starts[d + 1]],
        problem.steps[start:end],
        directions,
        precisions,
        targets,
        drawn,
        rng,
    )
    for k in range(q):
        c = members[k]
        for j in range(m):
            for a in range(2, drawn.shape[2]):
                drawn[k, j, a] = 0.0
        store_factor(drawn[k], state.offsets[c, d], start, state.factors[c])


@compiled_part
def take_joint_step(problem, state, work, d, rng):
    """Draw the factors of axis d, all components together; after the last axis the weights too.

    Writes state and work. The steps of a sweep belong together: the first fills the buffers.
    """
    n_components, n_dims = problem.active.shape
    first = np.int64(0)  # typed as in other calls; a literal would compile what is called again
    if d == 0:
        enter_block(problem, state, work, first, n_components)
    if problem.joint[d]:
        update_axis_jointly(problem, state, work, d, rng)
    for c in range(n_components):
        multiply(
            work.prefixes[c],
            state.factors[c],
            problem.starts[d],
            problem.cells[d],
            work.prefixes[c],
        )
    if d == n_dims - 1:
        leave_block(state, work, first, n_components)
        update_noise_and_weights(problem, state, rng)

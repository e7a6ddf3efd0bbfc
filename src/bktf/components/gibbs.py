"""The Gibbs sampler: updates → sweep → run.

The updates of the paper's appendix in the order of its algorithm. For each component and dimension:
the length-scale (with the factor integrated out), the offset if there is one, and the factor. Then
the noise precision, the weights and their shrinkage, and last the learned covariances.

A *block* is a set of components that are updated together: a single one, or all of them when they
share length-scales. Within a block, the product of the factors of all other axes is a running
prefix times a stored suffix. So a sweep costs O(n·D·R) and needs no division. During a run the
factors are stored at observed coordinates only; `between_points` adds the other axis points.
"""

import math

import numpy as np

from bktf._compiled import (
    add_multiple,
    compiled,
    compiled_part,
    copy_into,
    fill,
    gather_evidence,
    gather_single_factor,
    multiply,
    scaled_product,
    to_pseudo_observations,
)
from bktf.axis_kernels import update_factors
from bktf.components.conjugate_updates import (
    draw_log_normal,
    draw_size,
    shrinkage_shape,
    update_offset,
    update_shrinkage,
    update_size,
    write_weight_vars,
)


@compiled_part
def draw_prior_lengthscale(problem, d, rng):
    """A length-scale from its prior, 0 where the axis has none."""
    if not problem.learned[d]:
        return 0.0
    return draw_log_normal(problem.log_means[d], problem.log_vars[d], rng)


@compiled_part
def update_on_axis(
    problem, state, d, lengthscale, log_var, directions, precisions, targets, out, rng
):
    """Draw the length-scale (unless log_var is 0) and factors of axis d; return the former.

    See `axis_kernels.AxisOperations`.
    """
    start = problem.starts[d]
    end = problem.starts[d + 1]
    return update_factors(
        problem.operations,
        problem.kinds[d],
        problem.periods[d],
        state.covariances[problem.covariance_index[d]],
        lengthscale,
        problem.coords[start:end],
        problem.gaps[problem.gap_starts[d] : problem.gap_starts[d + 1]],
        problem.steps[start:end],
        problem.log_means[d],
        log_var,
        directions,
        precisions,
        targets,
        out,
        rng,
    )


@compiled_part
def store_factor(drawn, offset, start, factor):
    """Write the states (m, S) of one axis plus an offset into the factors of a component."""
    for j in range(drawn.shape[0]):
        for a in range(drawn.shape[1]):
            factor[start + j, a] = drawn[j, a] + (offset if a == 0 else 0.0)


@compiled
def update_covariances(problem, state, from_prior, rng):
    """Draw the learned covariances given the factors, or from the prior; writes state."""
    n_components = problem.active.shape[0]
    for d in range(problem.full.size):
        if problem.full[d]:
            start = problem.starts[d]
            m = problem.starts[d + 1] - start
            used = np.zeros(n_components, np.int64)
            for c in range(n_components):
                if problem.active[c, d] and not from_prior:
                    used[c] = 1
            drawn = np.empty((m, m))
            problem.operations.covariance(state.factors, used, start, drawn, rng)
            covariance = state.covariances[problem.covariance_index[d]]
            for i in range(m):
                for j in range(m):
                    covariance[i, j] = drawn[i, j]


@compiled
def draw_prior(problem, state, rng):
    """Write a draw from the prior into state, except products and residual; see `refresh`.

    A length-scale is NaN where a component is not active, and 0 on an axis without one.
    """
    n_components, n_dims = problem.active.shape
    update_covariances(problem, state, True, rng)
    for d in range(n_dims):
        start = problem.starts[d]
        m = problem.starts[d + 1] - start
        drawn = np.zeros((1, m, state.factors.shape[2]))
        no_data = np.zeros((m, 1))
        common = draw_prior_lengthscale(problem, d, rng)
        for c in range(n_components):
            if problem.active[c, d]:
                lengthscale = common if problem.shared else draw_prior_lengthscale(problem, d, rng)
                update_on_axis(
                    problem,
                    state,
                    d,
                    lengthscale,
                    0.0,
                    np.ones((m, 1, 1)),
                    no_data,
                    no_data,
                    drawn,
                    rng,
                )
            else:
                lengthscale = np.nan
                for j in range(m):
                    drawn[0, j, 0] = 1.0
            state.lengthscales[c, d] = lengthscale
            state.offsets[c, d] = 0.0
            if problem.active[c, d] and problem.offset[d]:
                state.offsets[c, d] = (
                    problem.offset_mean + math.sqrt(problem.offset_var) * rng.standard_normal()
                )
            store_factor(drawn[0], state.offsets[c, d], start, state.factors[c])
    for c in range(n_components):
        state.shrinkage[c] = 1.0
        if problem.shrunk[c]:
            state.shrinkage[c] = rng.standard_gamma(shrinkage_shape(problem, c))
    write_weight_vars(problem, state)
    draw_size(problem, state, rng)
    for c in range(n_components):
        state.weights[c] = math.sqrt(state.weight_vars[c]) * rng.standard_normal()
    if not problem.noise_known:
        state.noise_precision[0] = rng.standard_gamma(problem.noise_shape) / problem.noise_rate
    process = problem.process
    problem.noise_operations.draw_process_prior(
        process.separations,
        process.on_levels,
        process.log_means,
        process.log_vars,
        state.process_logs,
        state.process_values,
        rng,
    )


@compiled
def refresh(problem, state):
    """Recompute state.products and state.residual from the rest of the state."""
    copy_into(problem.values, state.residual)
    add_multiple(state.residual, -1.0, state.process_values)
    for c in range(problem.active.shape[0]):
        product = state.products[c]
        fill(1.0, product)
        for d in range(problem.active.shape[1]):
            multiply(product, state.factors[c], problem.starts[d], problem.cells[d], product)
        add_multiple(state.residual, -state.weights[c], product)


@compiled_part
def enter_block(problem, state, work, first, last):
    """Write the block's suffix products, initial prefixes and partial residual into work."""
    n_dims = problem.cells.shape[0]
    copy_into(state.residual, work.remainder)
    for c in range(first, last):
        b = c - first
        add_multiple(work.remainder, state.weights[c], state.products[c])
        fill(1.0, work.prefixes[b])
        fill(1.0, work.suffixes[b, n_dims])
        for d in range(n_dims - 1, 0, -1):  # the suffix from axis 0 is never used
            multiply(
                work.suffixes[b, d + 1],
                state.factors[c],
                problem.starts[d],
                problem.cells[d],
                work.suffixes[b, d],
            )


@compiled_part
def leave_block(state, work, first, last):
    """Write the block's products and the residual back into state."""
    copy_into(work.remainder, state.residual)
    for c in range(first, last):
        copy_into(work.prefixes[c - first], state.products[c])
        add_multiple(state.residual, -state.weights[c], state.products[c])


@compiled_part
def gather_block(problem, state, work, members, first, last, d, directions, precisions, targets):
    """Write pseudo-observations of the factors of axis d, jointly for the block's members.

    Also writes work.sensitivities.
    """
    m, q = precisions.shape
    partial_residual = work.remainder
    if q < last - first:  # subtract the components of the block that do not use this axis
        partial_residual = work.remainder.copy()
        contribution = np.empty(partial_residual.size)
        for c in range(first, last):
            if not problem.active[c, d]:
                scaled_product(
                    state.weights[c],
                    work.prefixes[c - first],
                    work.suffixes[c - first, d + 1],
                    contribution,
                )
                add_multiple(partial_residual, -1.0, contribution)
    for k in range(q):
        b = members[k] - first
        scaled_product(
            state.weights[members[k]],
            work.prefixes[b],
            work.suffixes[b, d + 1],
            work.sensitivities[k],
        )
    information = np.zeros((m, q))
    matrices = np.zeros((m, q, q))
    gather_evidence(
        problem.cells[d],
        work.sensitivities,
        partial_residual,
        state.noise_precision[0],
        information,
        matrices,
    )
    to_pseudo_observations(information, matrices, directions, precisions, targets)


@compiled_part
def update_axis(problem, state, work, first, last, d, rng):
    """Draw the length-scale and then the factors of axis d for the block's components.

    Writes state and work.

    Paper: appendix, "Sampling kernel hyperparameters" and "Sampling latent functions". Differs: D1,
    D2, D3.
    """
    members = np.empty(last - first, np.int64)
    q = 0
    for c in range(first, last):
        if problem.active[c, d]:
            members[q] = c
            q += 1
    if q == 0:
        return
    start = problem.starts[d]
    m = problem.starts[d + 1] - start
    cells = problem.cells[d]
    directions = np.ones((m, q, q))
    precisions = np.empty((m, q))
    targets = np.empty((m, q))
    if last - first == 1:
        gather_single_factor(
            state.weights[first],
            work.prefixes[0],
            work.suffixes[0, d + 1],
            work.remainder,
            cells,
            state.noise_precision[0],
            precisions,
            targets,
        )
    else:
        gather_block(problem, state, work, members, first, last, d, directions, precisions, targets)

    if problem.offset[d]:
        update_offset(problem, state, first, d, precisions, targets, rng)
    drawn = np.zeros((q, m, state.factors.shape[2]))
    log_var = problem.log_vars[d] if problem.learned[d] else 0.0
    lengthscale = state.lengthscales[members[0], d]
    lengthscale = update_on_axis(
        problem, state, d, lengthscale, log_var, directions, precisions, targets, drawn, rng
    )
    for k in range(q):
        c = members[k]
        state.lengthscales[c, d] = lengthscale
        store_factor(drawn[k], state.offsets[c, d], start, state.factors[c])
        multiply(work.prefixes[c - first], state.factors[c], start, cells, work.prefixes[c - first])


@compiled_part
def update_noise_and_weights(problem, state, rng):
    """Draw noise precision and weights, and the residual process if there is one.

    See `residual_process`. With the likelihood raised to a power b, the state holds t = b·τ. Given
    all else t has the density that b = 1 would give under another prior: with the shape
    a + (b − 1)·n / 2, which may be negative, and the rate divided by b.
    """
    process, power = problem.process, state.power[0]
    problem.noise_operations.update(
        process.separations, process.on_levels, process.log_means, process.log_vars,
        problem.noise_shape + 0.5 * (power - 1.0) * problem.values.size,
        problem.noise_rate / power,
        1 if problem.noise_known else 0, state.weight_vars, problem.values, state.products,
        state.weights, state.process_logs,
        state.noise_precision, state.process_values, state.residual, rng,
    )  # fmt: skip


@compiled_part
def take_step(problem, state, work, position, rng):
    """Do the step at this position of a sweep; writes state and work."""
    n_components, n_dims = problem.active.shape
    size = n_components if problem.shared else 1
    first = size * (position // n_dims)
    if first >= n_components:
        update_noise_and_weights(problem, state, rng)
        update_shrinkage(problem, state, rng)
        update_size(problem, state, rng)
        update_covariances(problem, state, False, rng)
        return
    d = position % n_dims
    if d == 0:
        enter_block(problem, state, work, first, first + size)
    update_axis(problem, state, work, first, first + size, d, rng)
    if d == n_dims - 1:
        leave_block(state, work, first, first + size)


@compiled
def run(problem, state, work, draws, n_burn_in, per_sweep, step, n_steps, rng):
    """Do n_steps steps from step number `step`; store each sweep after burn-in in draws.

    Step 0 first computes the state's products and residual.
    """
    if step == 0:
        refresh(problem, state)
    for step_number in range(step, step + n_steps):
        take_step(problem, state, work, step_number % per_sweep, rng)
        k = step_number // per_sweep - n_burn_in
        if k >= 0 and step_number % per_sweep == per_sweep - 1:
            record(state, draws, k)


@compiled_part
def record(state, draws, k):
    """Write the state into draw k."""
    draws.noise_precision[k] = state.noise_precision[0]
    for p in range(state.process_logs.size):
        draws.process_logs[k, p] = state.process_logs[p]
    for c in range(state.weights.size):
        draws.weights[k, c] = state.weights[c]
        draws.weight_vars[k, c] = state.weight_vars[c]
        for d in range(state.lengthscales.shape[1]):
            draws.offsets[k, c, d] = state.offsets[c, d]
            draws.lengthscales[k, c, d] = state.lengthscales[c, d]
        for j in range(state.factors.shape[1]):
            for a in range(state.factors.shape[2]):
                draws.factors[k, c, j, a] = state.factors[c, j, a]

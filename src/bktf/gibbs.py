"""The Gibbs sampler: updates → sweep → run.

The updates of the paper's appendix in the order of its algorithm: for each component and dimension the length-scale
(the factor integrated out) and the factor, then the noise precision, then the weights.

A *block* is a set of components that move together: each component by itself, or all of them when they share
length-scales. Within a block, axis after axis, the products of the factors of all other axes are a running prefix
times a stored suffix, so a sweep costs O(n·D·R) and nothing is ever divided. Factors live only at coordinates that were
observed; `processes.draw_between` fills the axes of kept draws later.

Notation (docs/notation.md)
    n observations, D dimensions, R components, K kept draws, M observed coordinates over all axes,
    S numbers in the largest state, q components in a block
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf import matern32
from bktf._jit import kernel
from bktf.dense import factor_cholesky, solve_lower, solve_upper
from bktf.matern32 import COLUMNS, MOMENTS
from bktf.processes import AxisView, Operations, draw_factors, log_evidence, make_seen
from bktf.slice_sampling import (
    LOG_LENGTHSCALE_HIGH,
    LOG_LENGTHSCALE_LOW,
    MAX_SHRINKS,
    SLICE_WIDTH,
    bracket,
    log_uniform,
    shrink,
)

Floats = NDArray[np.float64]

PRECISION_FLOOR = 1e-200  # an observation that says less than this about a factor value says nothing
PIVOT_FLOOR = 1e-13  # information below this share of a coordinate's own is rounding


class Problem(NamedTuple):
    """Everything that stays the same during a run."""

    values: Floats  # (n,) standardised observations
    cells: NDArray[np.uint32]  # (D, n) place of each observation among its axis's observed coordinates
    coords: Floats  # (M,) observed coordinates, axis after axis, increasing
    starts: NDArray[np.int64]  # (D + 1,) where each axis begins in coords
    steps: NDArray[np.int64]  # (M,) which of its axis's gaps lies before each coordinate
    gaps: Floats  # the different gaps, axis after axis
    gap_starts: NDArray[np.int64]  # (D + 1,) where each axis begins in gaps
    kinds: NDArray[np.int64]  # (D,) kernel of each axis, numbered in `processes`
    periods: Floats  # (D,) period of a periodic axis
    given: Floats  # (≥ 1, ·, ·) covariance matrices given by the user
    given_index: NDArray[np.int64]  # (D,) which of them an axis has
    operations: Operations  # log evidence and factor draw for these kernels
    learned: NDArray[np.bool_]  # (D,) whether the axis has a length-scale
    active: NDArray[np.bool_]  # (R, D) which dimensions each component uses
    shared: bool  # one length-scale per dimension for all components
    log_mean: float  # of the length-scale prior
    log_var: float
    noise_shape: float
    noise_rate: float
    noise_known: bool
    weight_var: float


class State(NamedTuple):
    """Where a chain is; the updates write into it."""

    lengthscales: Floats  # (R, D)
    factors: Floats  # (R, M, S) factor and scaled derivatives; 1 where the component is not active
    weights: Floats  # (R,)
    noise_precision: Floats  # (1,)
    products: Floats  # (R, n) product of the factors at each observation
    residual: Floats  # (n,) values − Σ weight·product


class Work(NamedTuple):
    """Room for the block that is being updated."""

    suffixes: Floats  # (q, D + 1, n)
    prefixes: Floats  # (q, n)
    sensitivities: Floats  # (q, n) derivative of f by the factor value
    remainder: Floats  # (n,) what the block has to explain


class Draws(NamedTuple):
    """What a run keeps."""

    lengthscales: Floats  # (K, R, D)
    factors: Floats  # (K, R, M, S)
    weights: Floats  # (K, R)
    noise_precision: Floats  # (K,)


@kernel
def view_axis(problem, d):
    """Axis d as the operations see it."""
    start = problem.starts[d]
    end = problem.starts[d + 1]
    return AxisView(
        problem.kinds[d],
        problem.periods[d],
        problem.given[problem.given_index[d]],
        problem.coords[start:end],
        problem.gaps[problem.gap_starts[d] : problem.gap_starts[d + 1]],
        problem.steps[start:end],
    )


@kernel
def draw_prior_lengthscale(problem, d, rng):
    """A length-scale from its prior, 0 where the axis has none."""
    if not problem.learned[d]:
        return 0.0
    for _ in range(1000):
        proposal = problem.log_mean + math.sqrt(problem.log_var) * rng.standard_normal()
        if LOG_LENGTHSCALE_LOW < proposal < LOG_LENGTHSCALE_HIGH:
            return math.exp(proposal)
    return math.exp(problem.log_mean)


@kernel
def draw_prior(problem, state, rng):
    """Write a draw of everything from the prior into state (products and residual are left stale; see `refresh`).

    A length-scale is NaN where a component is not active, and 0 on an axis that has none to learn.
    """
    n_components, n_dims = problem.active.shape
    for d in range(n_dims):
        start = problem.starts[d]
        m = problem.starts[d + 1] - start
        axis = view_axis(problem, d)
        nothing = make_seen(axis, 1)
        drawn = np.zeros((1, m, state.factors.shape[2]))
        common = draw_prior_lengthscale(problem, d, rng)
        for c in range(n_components):
            if not problem.active[c, d]:
                state.lengthscales[c, d] = np.nan
                for j in range(m):
                    state.factors[c, start + j, 0] = 1.0
                continue
            lengthscale = common if problem.shared else draw_prior_lengthscale(problem, d, rng)
            state.lengthscales[c, d] = lengthscale
            log_evidence(problem.operations, axis, lengthscale, nothing, -np.inf)
            draw_factors(problem.operations, axis, lengthscale, nothing, drawn, rng)
            for j in range(m):
                for a in range(state.factors.shape[2]):
                    state.factors[c, start + j, a] = drawn[0, j, a]
    for c in range(n_components):
        state.weights[c] = math.sqrt(problem.weight_var) * rng.standard_normal()
    if not problem.noise_known:
        state.noise_precision[0] = rng.standard_gamma(problem.noise_shape) / problem.noise_rate


# Loops over observations stand in kernels of their own that take plain arrays: reaching into a record inside a loop costs
# reference counting in every turn.


@kernel
def multiply(left, factor, start, cells, out):
    """Write left·factor(cell) for each observation into out, which may be left itself."""
    for i in range(cells.size):
        out[i] = left[i] * factor[start + cells[i], 0]


@kernel
def add_multiple(total, coefficient, terms):
    """Add coefficient·terms to total, in place."""
    for i in range(total.size):
        total[i] += coefficient * terms[i]


@kernel
def scaled_product(coefficient, left, right, out):
    """Write coefficient·left·right into out."""
    for i in range(out.size):
        out[i] = coefficient * left[i] * right[i]


@kernel
def copy_into(values, out):
    """Write values into out."""
    for i in range(out.size):
        out[i] = values[i]


@kernel
def fill(value, out):
    """Write one value everywhere into out."""
    for i in range(out.size):
        out[i] = value


@kernel
def inner(left, right):
    """Σ left·right."""
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@kernel
def refresh(problem, state):
    """Recompute state.products and state.residual from factors and weights."""
    copy_into(problem.values, state.residual)
    for c in range(problem.active.shape[0]):
        product = state.products[c]
        fill(1.0, product)
        for d in range(problem.active.shape[1]):
            multiply(product, state.factors[c], problem.starts[d], problem.cells[d], product)
        add_multiple(state.residual, -state.weights[c], product)


@kernel
def enter_block(problem, state, work, first, last):
    """Write the block's suffix products, empty prefixes, and what the block has to explain into work."""
    n_dims = problem.cells.shape[0]
    copy_into(state.residual, work.remainder)
    for c in range(first, last):
        b = c - first
        add_multiple(work.remainder, state.weights[c], state.products[c])
        fill(1.0, work.prefixes[b])
        fill(1.0, work.suffixes[b, n_dims])
        for d in range(n_dims - 1, 0, -1):  # the suffix from axis 0 on is never asked for
            multiply(work.suffixes[b, d + 1], state.factors[c], problem.starts[d], problem.cells[d], work.suffixes[b, d])


@kernel
def leave_block(state, work, first, last):
    """Write the block's products and the residual back into state."""
    copy_into(work.remainder, state.residual)
    for c in range(first, last):
        copy_into(work.prefixes[c - first], state.products[c])
        add_multiple(state.residual, -state.weights[c], state.products[c])


@kernel
def gather_evidence(cells, sensitivities, remainder, noise_precision, information, matrices):
    """Add up, per coordinate, information (m, q) and matrices (m, q, q) of the block's factor values.

    Paper: the vectors a and b of the appendix, here for q factors at once.
    """
    q = information.shape[1]
    if q == 1:
        for i in range(cells.size):
            j = cells[i]
            scaled = noise_precision * sensitivities[0, i]
            information[j, 0] += scaled * remainder[i]
            matrices[j, 0, 0] += scaled * sensitivities[0, i]
        return
    for i in range(cells.size):
        j = cells[i]
        for a in range(q):
            scaled = noise_precision * sensitivities[a, i]
            information[j, a] += scaled * remainder[i]
            for b in range(q):
                matrices[j, a, b] += scaled * sensitivities[b, i]


@kernel
def to_pseudo_observations(information, matrices, directions, precisions, targets):
    """Turn information and matrices (overwritten) into independent scalar observations, by L·D·Lᵀ at each coordinate."""
    m, q = information.shape
    for j in range(m):
        for k in range(q):
            original = matrices[j, k, k]
            pivot = original
            target = information[j, k]
            for h in range(k):  # columns before k hold L; precisions hold D
                pivot -= directions[j, h, k] * directions[j, h, k] * precisions[j, h]
                target -= directions[j, h, k] * precisions[j, h] * targets[j, h]
            for c in range(q):
                directions[j, k, c] = 1.0 if c == k else 0.0
            if pivot <= PRECISION_FLOOR or pivot <= PIVOT_FLOOR * original:
                precisions[j, k] = 0.0
                targets[j, k] = 0.0
                continue
            precisions[j, k] = pivot
            targets[j, k] = target / pivot
            for c in range(k + 1, q):
                value = matrices[j, c, k]
                for h in range(k):
                    value -= directions[j, h, c] * directions[j, h, k] * precisions[j, h]
                directions[j, k, c] = value / pivot


@kernel
def draw_lengthscale(problem, axis, seen, current, rng):
    """A slice update of one length-scale with the factors integrated out. Paper: appendix, eq. (12). Differs: D1, D2."""
    x = math.log(current)
    off = x - problem.log_mean
    level = log_evidence(problem.operations, axis, current, seen, -np.inf) + log_uniform(rng) - 0.5 * off * off / problem.log_var
    left, right = bracket(x, SLICE_WIDTH, LOG_LENGTHSCALE_LOW, LOG_LENGTHSCALE_HIGH, rng)
    for _ in range(MAX_SHRINKS):
        proposal = left + (right - left) * rng.random()
        lengthscale = math.exp(proposal)
        off = proposal - problem.log_mean
        needed = level + 0.5 * off * off / problem.log_var
        if log_evidence(problem.operations, axis, lengthscale, seen, needed) > needed:
            return lengthscale
        left, right = shrink(left, right, x, proposal)
    log_evidence(problem.operations, axis, current, seen, -np.inf)
    return current


@kernel
def gather_alone(weight, prefix, suffix, remainder, cells, noise_precision, precisions, targets):
    """Write what the data say about one factor: its precision and target at each coordinate; no observation, precision 0.

    Paper: the vectors b·τ and a of the appendix; the target is a / (b·τ).
    """
    for j in range(precisions.size):
        precisions[j] = 0.0
        targets[j] = 0.0
    for i in range(cells.size):
        j = cells[i]
        sensitivity = weight * prefix[i] * suffix[i]
        targets[j] += sensitivity * remainder[i]
        precisions[j] += sensitivity * sensitivity
    for j in range(precisions.size):
        if noise_precision * precisions[j] > PRECISION_FLOOR:
            targets[j] /= precisions[j]
            precisions[j] *= noise_precision
        else:
            precisions[j] = 0.0
            targets[j] = 0.0


@kernel
def update_axis_fast(problem, state, work, c, d, rng):
    """`update_axis` for one component alone with the fast kernel: the same draws, without the machinery of a block."""
    if not problem.active[c, d]:
        return
    start = problem.starts[d]
    m = problem.starts[d + 1] - start
    axis = view_axis(problem, d)
    precisions = np.empty(m)
    targets = np.empty(m)
    table = np.empty((axis.gaps.size, COLUMNS))
    kept = np.empty((m, MOMENTS))
    prefix = work.prefixes[0]
    cells = problem.cells[d]
    gather_alone(
        state.weights[c], prefix, work.suffixes[0, d + 1], work.remainder, cells, state.noise_precision[0], precisions, targets
    )
    state.lengthscales[c, d] = matern32.draw_lengthscale(
        state.lengthscales[c, d], problem.log_mean, problem.log_var, axis.gaps, axis.steps, precisions, targets, table, kept, rng
    )
    factor = state.factors[c]
    matern32.draw_factor(axis.steps, table, kept, factor, start, rng)
    multiply(prefix, factor, start, cells, prefix)


@kernel
def update_axis(problem, state, work, first, last, d, rng):
    """Draw the length-scale and then the factors of axis d for the block's components; writes state and work.

    Paper: appendix, "Sampling kernel hyperparameters" and "Sampling latent functions". Differs: D1, D2, D3.
    """
    if problem.operations.fast:
        update_axis_fast(problem, state, work, first, d, rng)
    else:
        update_axis_block(problem, state, work, first, last, d, rng)


@kernel
def update_axis_block(problem, state, work, first, last, d, rng):
    """`update_axis` for any kernel and any number of components at once."""
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
    explained = work.remainder
    if q < last - first:  # components of the block without this axis keep their share
        explained = work.remainder.copy()
        share = np.empty(explained.size)
        for c in range(first, last):
            if not problem.active[c, d]:
                scaled_product(state.weights[c], work.prefixes[c - first], work.suffixes[c - first, d + 1], share)
                add_multiple(explained, -1.0, share)
    for k in range(q):
        b = members[k] - first
        scaled_product(state.weights[members[k]], work.prefixes[b], work.suffixes[b, d + 1], work.sensitivities[k])

    information = np.zeros((m, q))
    matrices = np.zeros((m, q, q))
    axis = view_axis(problem, d)
    seen = make_seen(axis, q)
    gather_evidence(cells, work.sensitivities, explained, state.noise_precision[0], information, matrices)
    to_pseudo_observations(information, matrices, seen.directions, seen.precisions, seen.targets)

    lengthscale = state.lengthscales[members[0], d]
    if problem.learned[d]:
        lengthscale = draw_lengthscale(problem, axis, seen, lengthscale, rng)
    drawn = np.empty((q, m, state.factors.shape[2]))
    draw_factors(problem.operations, axis, lengthscale, seen, drawn, rng)
    for k in range(q):
        c = members[k]
        state.lengthscales[c, d] = lengthscale
        for j in range(m):
            for a in range(state.factors.shape[2]):
                state.factors[c, start + j, a] = drawn[k, j, a]
        multiply(work.prefixes[c - first], drawn[k], 0, cells, work.prefixes[c - first])


@kernel
def update_noise(problem, state, rng):
    """Draw the noise precision given everything else. Paper: appendix, "Sampling model noise precision"."""
    if problem.noise_known:
        return
    squares = inner(state.residual, state.residual)
    shape = problem.noise_shape + 0.5 * problem.values.size
    state.noise_precision[0] = rng.standard_gamma(shape) / (problem.noise_rate + 0.5 * squares)


@kernel
def update_weights(problem, state, rng):
    """Draw all weights given everything else and refresh the residual. Paper: appendix, "Sampling weight vector"."""
    n_components = state.weights.size
    noise_precision = state.noise_precision[0]
    precision = np.zeros((n_components, n_components))
    mean = np.zeros(n_components)
    for c in range(n_components):
        for h in range(c + 1):
            precision[c, h] = noise_precision * inner(state.products[c], state.products[h])
        precision[c, c] += 1.0 / problem.weight_var
        mean[c] = noise_precision * inner(state.products[c], problem.values)
    factor_cholesky(precision, n_components)
    solve_lower(precision, n_components, mean)
    for c in range(n_components):
        mean[c] += rng.standard_normal()
    solve_upper(precision, n_components, mean)
    copy_into(problem.values, state.residual)
    for c in range(n_components):
        state.weights[c] = mean[c]
        add_multiple(state.residual, -mean[c], state.products[c])


def steps_per_sweep(problem: Problem) -> int:
    """A sweep is one step for each block and axis, and one for noise and weights together."""
    n_components, n_dims = problem.active.shape
    return (1 if problem.shared else n_components) * n_dims + 1


@kernel
def take_step(problem, state, work, position, rng):
    """Do the step at this position of a sweep; writes state and work."""
    n_components, n_dims = problem.active.shape
    size = n_components if problem.shared else 1
    first = size * (position // n_dims)
    if first >= n_components:
        update_noise(problem, state, rng)
        update_weights(problem, state, rng)
        return
    d = position % n_dims
    if d == 0:
        enter_block(problem, state, work, first, first + size)
    update_axis(problem, state, work, first, first + size, d, rng)
    if d == n_dims - 1:
        leave_block(state, work, first, first + size)


@kernel
def run(problem, state, work, draws, n_burn_in, per_sweep, step, n_steps, rng):
    """Take n_steps steps from step number `step` of a run; write each finished sweep after burn-in into draws.

    Step 0 first brings the state's products and residual up to date.
    """
    if step == 0:
        refresh(problem, state)
    for now in range(step, step + n_steps):
        take_step(problem, state, work, now % per_sweep, rng)
        k = now // per_sweep - n_burn_in
        if k >= 0 and now % per_sweep == per_sweep - 1:
            record(state, draws, k)


@kernel
def record(state, draws, k):
    """Write the state into place k of draws."""
    draws.noise_precision[k] = state.noise_precision[0]
    for c in range(state.weights.size):
        draws.weights[k, c] = state.weights[c]
        for d in range(state.lengthscales.shape[1]):
            draws.lengthscales[k, c, d] = state.lengthscales[c, d]
        for j in range(state.factors.shape[1]):
            for a in range(state.factors.shape[2]):
                draws.factors[k, c, j, a] = state.factors[c, j, a]

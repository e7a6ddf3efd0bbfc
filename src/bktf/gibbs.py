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

from bktf._jit import kernel
from bktf.dense import factor_cholesky, solve_lower, solve_upper
from bktf.processes import Operations
from bktf.slice_sampling import MAX_SHRINKS, bracket, log_uniform, shrink

Floats = NDArray[np.float64]

SLICE_WIDTH = math.log(10.0)
LOG_LENGTHSCALE_LOW = math.log(1e-3)
LOG_LENGTHSCALE_HIGH = math.log(1e3)
PRECISION_FLOOR = 1e-200  # an observation that says less than this about a factor value says nothing
PIVOT_FLOOR = 1e-13  # information below this share of a coordinate's own is rounding


class Problem(NamedTuple):
    """Everything that stays the same during a run."""

    values: Floats  # (n,) standardised observations
    cells: NDArray[np.int32]  # (D, n) place of each observation among its axis's observed coordinates
    coords: Floats  # (M,) observed coordinates, axis after axis, increasing
    starts: NDArray[np.int64]  # (D + 1,) where each axis begins in coords
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
        coords = problem.coords[start : start + m]
        given = problem.given[problem.given_index[d]]
        nothing = np.zeros((m, 1))
        directions = np.ones((m, 1, 1))
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
            problem.operations.draw_factors(
                problem.kinds[d], problem.periods[d], given, lengthscale, coords, directions, nothing, nothing, drawn, rng
            )
            for j in range(m):
                for a in range(state.factors.shape[2]):
                    state.factors[c, start + j, a] = drawn[0, j, a]
    for c in range(n_components):
        state.weights[c] = math.sqrt(problem.weight_var) * rng.standard_normal()
    if not problem.noise_known:
        state.noise_precision[0] = rng.standard_gamma(problem.noise_shape) / problem.noise_rate


@kernel
def refresh(problem, state):
    """Recompute state.products and state.residual from factors and weights."""
    n_components, n_dims = problem.active.shape
    n = problem.values.size
    for i in range(n):
        state.residual[i] = problem.values[i]
    for c in range(n_components):
        for i in range(n):
            product = 1.0
            for d in range(n_dims):
                product *= state.factors[c, problem.starts[d] + problem.cells[d, i], 0]
            state.products[c, i] = product
            state.residual[i] -= state.weights[c] * product


@kernel
def enter_block(problem, state, work, first, last):
    """Write the block's suffix products, empty prefixes, and what the block has to explain into work."""
    n_dims = problem.cells.shape[0]
    n = problem.values.size
    for i in range(n):
        work.remainder[i] = state.residual[i]
    for c in range(first, last):
        b = c - first
        weight = state.weights[c]
        for i in range(n):
            work.remainder[i] += weight * state.products[c, i]
            work.prefixes[b, i] = 1.0
            work.suffixes[b, n_dims, i] = 1.0
        for d in range(n_dims - 1, -1, -1):
            factor = state.factors[c]
            start = problem.starts[d]
            for i in range(n):
                work.suffixes[b, d, i] = work.suffixes[b, d + 1, i] * factor[start + problem.cells[d, i], 0]


@kernel
def leave_block(problem, state, work, first, last):
    """Write the block's products and the residual back into state."""
    n = problem.values.size
    for i in range(n):
        state.residual[i] = work.remainder[i]
    for c in range(first, last):
        for i in range(n):
            state.products[c, i] = work.prefixes[c - first, i]
            state.residual[i] -= state.weights[c] * work.prefixes[c - first, i]


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
def draw_lengthscale(problem, d, current, coords, directions, precisions, targets, rng):
    """A slice update of one length-scale with the factors integrated out. Paper: appendix, eq. (12). Differs: D1, D2."""
    kind = problem.kinds[d]
    period = problem.periods[d]
    given = problem.given[problem.given_index[d]]
    x = math.log(current)
    off = x - problem.log_mean
    level = problem.operations.log_evidence(kind, period, given, current, coords, directions, precisions, targets)
    level += log_uniform(rng) - 0.5 * off * off / problem.log_var
    left, right = bracket(x, SLICE_WIDTH, LOG_LENGTHSCALE_LOW, LOG_LENGTHSCALE_HIGH, rng)
    for _ in range(MAX_SHRINKS):
        proposal = left + (right - left) * rng.random()
        lengthscale = math.exp(proposal)
        off = proposal - problem.log_mean
        height = problem.operations.log_evidence(kind, period, given, lengthscale, coords, directions, precisions, targets)
        if height - 0.5 * off * off / problem.log_var > level:
            return lengthscale
        left, right = shrink(left, right, x, proposal)
    return current


@kernel
def update_axis(problem, state, work, first, last, d, rng):
    """Draw the length-scale and then the factors of axis d for the block's components; writes state and work.

    Paper: appendix, "Sampling kernel hyperparameters" and "Sampling latent functions". Differs: D1, D2, D3.
    """
    members = np.empty(last - first, np.int64)
    q = 0
    for c in range(first, last):
        if problem.active[c, d]:
            members[q] = c
            q += 1
    if q == 0:
        return
    n = problem.values.size
    start = problem.starts[d]
    m = problem.starts[d + 1] - start
    coords = problem.coords[start : start + m]
    cells = problem.cells[d]
    explained = work.remainder
    if q < last - first:  # components of the block without this axis keep their share
        explained = work.remainder.copy()
        for c in range(first, last):
            if not problem.active[c, d]:
                for i in range(n):
                    explained[i] -= state.weights[c] * work.prefixes[c - first, i] * work.suffixes[c - first, d + 1, i]
    for k in range(q):
        b = members[k] - first
        weight = state.weights[members[k]]
        for i in range(n):
            work.sensitivities[k, i] = weight * work.prefixes[b, i] * work.suffixes[b, d + 1, i]

    information = np.zeros((m, q))
    matrices = np.zeros((m, q, q))
    directions = np.empty((m, q, q))
    precisions = np.empty((m, q))
    targets = np.empty((m, q))
    gather_evidence(cells, work.sensitivities, explained, state.noise_precision[0], information, matrices)
    to_pseudo_observations(information, matrices, directions, precisions, targets)

    lengthscale = state.lengthscales[members[0], d]
    if problem.learned[d]:
        lengthscale = draw_lengthscale(problem, d, lengthscale, coords, directions, precisions, targets, rng)
    drawn = np.empty((q, m, state.factors.shape[2]))
    given = problem.given[problem.given_index[d]]
    problem.operations.draw_factors(
        problem.kinds[d], problem.periods[d], given, lengthscale, coords, directions, precisions, targets, drawn, rng
    )
    for k in range(q):
        c = members[k]
        state.lengthscales[c, d] = lengthscale
        for j in range(m):
            for a in range(state.factors.shape[2]):
                state.factors[c, start + j, a] = drawn[k, j, a]
        for i in range(n):
            work.prefixes[c - first, i] *= drawn[k, cells[i], 0]


@kernel
def update_noise(problem, state, rng):
    """Draw the noise precision given everything else. Paper: appendix, "Sampling model noise precision"."""
    if problem.noise_known:
        return
    squares = 0.0
    for i in range(problem.values.size):
        squares += state.residual[i] * state.residual[i]
    shape = problem.noise_shape + 0.5 * problem.values.size
    state.noise_precision[0] = rng.standard_gamma(shape) / (problem.noise_rate + 0.5 * squares)


@kernel
def update_weights(problem, state, rng):
    """Draw all weights given everything else and refresh the residual. Paper: appendix, "Sampling weight vector"."""
    n_components, n = state.products.shape
    noise_precision = state.noise_precision[0]
    precision = np.zeros((n_components, n_components))
    mean = np.zeros(n_components)
    for c in range(n_components):
        for h in range(c + 1):
            total = 0.0
            for i in range(n):
                total += state.products[c, i] * state.products[h, i]
            precision[c, h] = noise_precision * total
        precision[c, c] += 1.0 / problem.weight_var
        total = 0.0
        for i in range(n):
            total += state.products[c, i] * problem.values[i]
        mean[c] = noise_precision * total
    factor_cholesky(precision, n_components)
    solve_lower(precision, n_components, mean)
    for c in range(n_components):
        mean[c] += rng.standard_normal()
    solve_upper(precision, n_components, mean)
    for i in range(n):
        state.residual[i] = problem.values[i]
    for c in range(n_components):
        state.weights[c] = mean[c]
        for i in range(n):
            state.residual[i] -= mean[c] * state.products[c, i]


@kernel
def steps_per_sweep(problem):
    """A sweep is one step for each block and axis, and one for noise and weights together."""
    n_components, n_dims = problem.active.shape
    return (1 if problem.shared else n_components) * n_dims + 1


@kernel
def take_step(problem, state, work, position, rng):
    """Do the step at this position of a sweep; writes state and work."""
    n_components, n_dims = problem.active.shape
    if position == steps_per_sweep(problem) - 1:
        update_noise(problem, state, rng)
        update_weights(problem, state, rng)
        return
    first = 0 if problem.shared else position // n_dims
    last = n_components if problem.shared else first + 1
    d = position % n_dims
    if d == 0:
        enter_block(problem, state, work, first, last)
    update_axis(problem, state, work, first, last, d, rng)
    if d == n_dims - 1:
        leave_block(problem, state, work, first, last)


@kernel
def run(problem, state, work, draws, n_burn_in, step, n_steps, rng):
    """Take n_steps steps from step number `step` of a run; write each finished sweep after burn-in into draws."""
    per_sweep = steps_per_sweep(problem)
    for now in range(step, step + n_steps):
        take_step(problem, state, work, now % per_sweep, rng)
        k = now // per_sweep - n_burn_in
        if k >= 0 and now % per_sweep == per_sweep - 1:
            draws.noise_precision[k] = state.noise_precision[0]
            for c in range(state.weights.size):
                draws.weights[k, c] = state.weights[c]
                for d in range(problem.active.shape[1]):
                    draws.lengthscales[k, c, d] = state.lengthscales[c, d]
                for j in range(state.factors.shape[1]):
                    for a in range(state.factors.shape[2]):
                        draws.factors[k, c, j, a] = state.factors[c, j, a]

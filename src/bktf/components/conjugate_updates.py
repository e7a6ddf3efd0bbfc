"""Conjugate updates: noise precision, weights and their shrinkage, offsets of factors.

Each is drawn from its full conditional distribution; `gibbs` defines the order.
"""

import math

import numpy as np

from bktf._compiled import (
    LOG_LENGTHSCALE_HIGH,
    LOG_LENGTHSCALE_LOW,
    MAX_SHRINKS,
    add_multiple,
    compiled_part,
    copy_into,
    draw_normal,
    inner,
    open_slice,
    propose,
    shrink,
)

MAX_PROPOSALS = 1000  # from a prior, for one inside the bounds


@compiled_part
def draw_log_normal(log_mean, log_var, rng):
    """A draw whose logarithm is normal, inside the bounds of a length-scale."""
    for _ in range(MAX_PROPOSALS):
        proposal = log_mean + math.sqrt(log_var) * rng.standard_normal()
        if LOG_LENGTHSCALE_LOW < proposal < LOG_LENGTHSCALE_HIGH:
            return math.exp(proposal)
    return math.exp(log_mean)


@compiled_part
def update_noise(noise_shape, noise_rate, noise_known, residual, noise_precision, rng):
    """Draw the noise precision (1,) from its full conditional.

    Paper: appendix, "Sampling model noise precision".
    """
    if noise_known:
        return
    squares = inner(residual, residual)
    shape = noise_shape + 0.5 * residual.size
    noise_precision[0] = rng.standard_gamma(shape) / (noise_rate + 0.5 * squares)


@compiled_part
def update_weights(weight_vars, values, products, weights, noise_precision, residual, rng):
    """Draw all weights from their joint full conditional and update the residual.

    Paper: appendix, "Sampling weight vector".
    """
    n_components = weights.size
    precision = np.zeros((n_components, n_components))
    mean = np.zeros(n_components)
    for c in range(n_components):
        for h in range(c + 1):
            precision[c, h] = noise_precision[0] * inner(products[c], products[h])
        precision[c, c] += 1.0 / weight_vars[c]
        mean[c] = noise_precision[0] * inner(products[c], values)
    draw_normal(precision, n_components, mean, rng)
    copy_into(values, residual)
    for c in range(n_components):
        weights[c] = mean[c]
        add_multiple(residual, -mean[c], products[c])


@compiled_part
def shrinkage_shape(problem, c):
    """The shape of the gamma variable that shrinks component c and the shrunk ones after it."""
    for previous in range(c):
        if problem.shrunk[previous]:
            return problem.shrinkage_rest
    return problem.shrinkage_first


@compiled_part
def write_weight_vars(problem, state):
    """Write the prior variances of the weights.

    Each is weight_var divided by the product of all gamma variables up to its component.
    """
    precision = 1.0 / problem.weight_var
    for c in range(state.weights.size):
        precision *= state.shrinkage[c]
        state.weight_vars[c] = 1.0 / precision if problem.shrunk[c] else problem.weight_var


@compiled_part
def update_shrinkage(problem, state, rng):
    """Draw the variables of the multiplicative gamma process in turn, given the weights.

    Paper: section 6, the prior it proposes for learning the rank (Bhattacharya and Dunson 2011).
    """
    n_components = state.weights.size
    for c in range(n_components):
        if problem.shrunk[c]:
            squares = 0.0
            n_after = 0
            for later in range(c, n_components):
                if problem.shrunk[later]:
                    n_after += 1
                    squares += (
                        state.weights[later] * state.weights[later] / state.weight_vars[later]
                    )
            rate = 1.0 + 0.5 * squares / state.shrinkage[c]
            state.shrinkage[c] = (
                rng.standard_gamma(shrinkage_shape(problem, c) + 0.5 * n_after) / rate
            )
            write_weight_vars(problem, state)


@compiled_part
def draw_size(problem, state, rng):
    """Draw the components' total variance from its prior, where it is learned."""
    if problem.size_log_var > 0.0:
        size = draw_log_normal(problem.size_log_mean, problem.size_log_var, rng)
        for c in range(problem.n_sized):
            state.weight_vars[c] = size / problem.n_sized


@compiled_part
def update_size(problem, state, rng):
    """Slice update of the components' total variance σ², weights ~ N(0, σ²/R), given the weights.

    So the prior variance of f does not depend on R, and ranks can be compared.
    """
    if problem.size_log_var == 0.0:
        return
    n_components = problem.n_sized
    squares = inner(state.weights[:n_components], state.weights[:n_components])
    size = state.weight_vars[0] * n_components
    evidence = -0.5 * n_components * (math.log(size) + squares / size)
    x, level, left, right = open_slice(
        size, evidence, problem.size_log_mean, problem.size_log_var, rng
    )
    for _ in range(MAX_SHRINKS):
        proposal, threshold = propose(
            left, right, level, problem.size_log_mean, problem.size_log_var, rng
        )
        if -0.5 * n_components * (proposal + squares * math.exp(-proposal)) > threshold:
            for c in range(n_components):
                state.weight_vars[c] = math.exp(proposal) / n_components
            return
        left, right = shrink(left, right, x, proposal)


@compiled_part
def update_offset(problem, state, c, d, precisions, targets, rng):
    """Draw the offset of one factor given the factor's deviations from it.

    The offset is subtracted from targets.
    """
    start = problem.starts[d]
    factor, old = state.factors[c], state.offsets[c, d]
    precision = 1.0 / problem.offset_var
    information = problem.offset_mean / problem.offset_var
    for j in range(targets.shape[0]):
        precision += precisions[j, 0]
        information += precisions[j, 0] * (targets[j, 0] - (factor[start + j, 0] - old))
    offset = information / precision + rng.standard_normal() / math.sqrt(precision)
    state.offsets[c, d] = offset
    for j in range(targets.shape[0]):
        targets[j, 0] -= offset

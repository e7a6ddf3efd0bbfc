"""Loops over observations: products of factors, and the likelihood of a factor's values.

They take plain arrays, because access to a field of a record costs reference counting in every
iteration.
"""

from bktf._compiled.numba_options import compiled, compiled_part

PRECISION_FLOOR = 1e-200  # a factor value with less precision than this counts as not observed
PIVOT_FLOOR = 1e-13  # a pivot below this share of its diagonal entry is rounding error


@compiled_part
def multiply(left, factor, start, cells, out):
    """Write left·factor(cell) for each observation into out, which may be `left`."""
    for i in range(cells.size):
        out[i] = left[i] * factor[start + cells[i], 0]


@compiled_part
def add_multiple(total, coefficient, terms):
    """Add coefficient·terms to total, in place."""
    for i in range(total.size):
        total[i] += coefficient * terms[i]


@compiled_part
def scaled_product(coefficient, left, right, out):
    """Write coefficient·left·right into out."""
    for i in range(out.size):
        out[i] = coefficient * left[i] * right[i]


@compiled_part
def copy_into(values, out):
    """Write values into out."""
    for i in range(out.size):
        out[i] = values[i]


@compiled_part
def fill(value, out):
    """Write one value into every entry of out."""
    for i in range(out.size):
        out[i] = value


@compiled_part
def inner(left, right):
    """Σ left·right."""
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@compiled
def gather_evidence(cells, sensitivities, remainder, noise_precision, information, matrices):
    """Add each observation to the information (m, q) and precision matrices (m, q, q).

    Both describe the likelihood of the q factor values at each of m coordinates.

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


@compiled
def to_pseudo_observations(information, matrices, directions, precisions, targets):
    """Write the likelihoods (m, q) as independent scalar pseudo-observations.

    At each coordinate the precision matrix is factored as L·D·Lᵀ. information and matrices are
    overwritten.
    """
    m, q = information.shape
    for j in range(m):
        for k in range(q):
            original = matrices[j, k, k]
            pivot = original
            target = information[j, k]
            for h in range(k):  # directions[j, h] is column h of L, precisions[j] is D
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


@compiled
def gather_single_factor(
    weight, prefix, suffix, remainder, cells, noise_precision, precisions, targets
):
    """Write the precision and target (m, 1) of one factor at each coordinate.

    The precision is 0 at a coordinate without observations.

    Paper: the vectors b·τ and a of the appendix; the target is a / (b·τ).
    """
    for j in range(precisions.shape[0]):
        precisions[j, 0] = 0.0
        targets[j, 0] = 0.0
    for i in range(cells.size):
        j = cells[i]
        sensitivity = weight * prefix[i] * suffix[i]
        targets[j, 0] += sensitivity * remainder[i]
        precisions[j, 0] += sensitivity * sensitivity
    for j in range(precisions.shape[0]):
        if noise_precision * precisions[j, 0] > PRECISION_FLOOR:
            targets[j, 0] /= precisions[j, 0]
            precisions[j, 0] *= noise_precision
        else:
            precisions[j, 0] = 0.0
            targets[j, 0] = 0.0

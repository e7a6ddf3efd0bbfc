"""A repulsive prior on the factors of an axis: components that are alike are less probable.

The prior of all factors of an axis is multiplied by Π (1 − cosine²)^strength over pairs of
components, with cosines over the observed coordinates. Draws from the conditionals without it are
proposals, accepted or refused by the ratio of these products. On an axis with no more coordinates
than components factors cannot be orthogonal, so nothing is changed there.
"""

import math

from bktf._compiled import compiled_part

MIN_DISTANCE = 1e-12  # of 1 − cosine², so that its logarithm is finite


@compiled_part
def log_repulsion(problem, factors, first, last, d):
    """The log of the product over pairs with one member in [first, last), up to a constant."""
    start, end = problem.starts[d], problem.starts[d + 1]
    n_components = problem.active.shape[0]
    total = 0.0
    if end - start <= n_components:
        return total
    for c in range(first, last):
        for h in range(n_components):
            if first <= h <= c or not problem.active[c, d] or not problem.active[h, d]:
                continue
            across, one, two = 0.0, 0.0, 0.0
            for j in range(start, end):
                across += factors[c, j, 0] * factors[h, j, 0]
                one += factors[c, j, 0] ** 2
                two += factors[h, j, 0] ** 2
            cosine2 = across * across / (one * two) if one * two > 0.0 else 1.0
            total += math.log(max(1.0 - cosine2, MIN_DISTANCE))
    return problem.repulsion * total


@compiled_part
def is_refused(problem, state, before, first, last, d, rng):
    """Whether new factors of axis d of components [first, last) are refused.

    Then those before, (last − first, m, S), are written back into state.
    """
    start, end = problem.starts[d], problem.starts[d + 1]
    change = log_repulsion(problem, state.factors, first, last, d)
    after = state.factors[first:last, start:end].copy()
    state.factors[first:last, start:end] = before
    change -= log_repulsion(problem, state.factors, first, last, d)
    if math.log(rng.random()) < change:
        state.factors[first:last, start:end] = after
        return False
    return True

"""Compiled loops of the gradient of the log evidence by the parameters of a process.

With α = C⁻¹·residual and G = α·αᵀ − C⁻¹, the derivative of the log evidence by a parameter is
½·tr(G·dC). All parameters but the noise act on C through log κ_d, so one pass over the P pairs
i ≤ j of observations serves each axis.
"""

import math

from bktf._compiled import compiled
from bktf.gaussian_process.covariance import FROM_FAR, SQRT5, from_middle, has_inactive, share_of


@compiled
def pair_weights(inverse, alpha, size, product, out):
    """Write dL / d log C_ij of the part of C without noise into out (P,), both halves of C.

    inverse (n, n): C⁻¹ in its upper triangle. product (P,): Π_d κ_d.
    """
    first = 0
    for i in range(alpha.size):
        row, others = inverse[i, i:], alpha[i:]
        for j in range(row.size):
            p = first + j
            out[p] = (alpha[i] * others[j] - row[j]) * size * product[p]
        out[first] *= 0.5
        first += row.size


@compiled
def slopes_along(distances, on_levels, log, share_odds, along, out, share_out):
    """Write d log κ_d / d(parameter of the axis) into out (P,), and add that by the odds of ρ.

    along (P,): the correlations along the axis, without ρ; see `covariance.correlations_along`.
    The derivative by the log odds of ρ is added to share_out (P,).
    """
    if on_levels:
        loss = 1.0 / (1.0 + math.exp(log))
        for p in range(out.size):
            out[p] = distances[p] * loss * (1.0 - loss) / along[p]
        return
    share = share_of(share_odds)
    inverse = SQRT5 * math.exp(-log)
    is_partly = has_inactive(distances)
    for p in range(out.size):
        x = distances[p]
        if is_partly and x > FROM_FAR:
            x = from_middle(x)
        r = inverse * x
        correlation = share + (1.0 - share) * along[p]
        slope = along[p] * r * r * (1.0 + r) / (3.0 + 3.0 * r + r * r)
        out[p] = (1.0 - share) * slope / correlation
        share_out[p] += share * (1.0 - share) * (1.0 - along[p]) / correlation

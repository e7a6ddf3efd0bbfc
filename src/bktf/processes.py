"""The operations on one axis, whichever kernel it has: log evidence, factor draw, draws and moments in between.

Matérn kinds are numbered by the size of their state; every other kind takes the dense path.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf import dense, matern32, statespace
from bktf._jit import CUBE, FLOAT, INT, MATRIX, RNG, VECTOR, VOID, kernel, operation

Floats = NDArray[np.float64]

MATERN12 = 1
MATERN32 = 2
MATERN52 = 3

_AXIS = (INT, FLOAT, MATRIX, FLOAT, VECTOR)  # kind, period, given, lengthscale, coords
_SEEN = (CUBE, MATRIX, MATRIX)  # directions, precisions, targets: see `statespace`


def state_size(kind: int) -> int:
    """How many numbers a factor of this kind carries at each axis point."""
    return kind if kind <= MATERN52 else 1


class Operations(NamedTuple):
    """The two operations the Gibbs sampler needs, as pointers that it calls without knowing the kernel."""

    log_evidence: Any  # (kind, period, given, lengthscale, coords, directions, precisions, targets) → float
    draw_factors: Any  # the same and (out (q, m, ≥ state size), rng); writes a joint posterior draw into out


@operation(FLOAT, *_AXIS, *_SEEN)
def _log_evidence_matern32(kind, period, given, lengthscale, coords, directions, precisions, targets):
    return matern32.log_evidence(lengthscale, coords, precisions.reshape(coords.size), targets.reshape(coords.size))


@operation(VOID, *_AXIS, *_SEEN, CUBE, RNG)
def _draw_factors_matern32(kind, period, given, lengthscale, coords, directions, precisions, targets, out, rng):
    matern32.draw_factor(lengthscale, coords, precisions.reshape(coords.size), targets.reshape(coords.size), out[0], rng)


@operation(FLOAT, *_AXIS, *_SEEN)
def _log_evidence_any(kind, period, given, lengthscale, coords, directions, precisions, targets):
    if kind <= MATERN52:
        return statespace.log_evidence(kind, lengthscale, coords, directions, precisions, targets)
    return dense.log_evidence(kind, period, given, lengthscale, coords, directions, precisions, targets)


@operation(VOID, *_AXIS, *_SEEN, CUBE, RNG)
def _draw_factors_any(kind, period, given, lengthscale, coords, directions, precisions, targets, out, rng):
    if kind <= MATERN52:
        statespace.draw_factors(kind, lengthscale, coords, directions, precisions, targets, out, rng)
    else:
        dense.draw_factors(kind, period, given, lengthscale, coords, directions, precisions, targets, out, rng)


def operations(kinds: NDArray[np.int64], shared: bool) -> Operations:
    """The operations for these axes: the fast pair where every axis is Matérn 3/2 and factors move one at a time."""
    if np.all(kinds == MATERN32) and not shared:
        return Operations(_log_evidence_matern32(), _draw_factors_matern32())
    return Operations(_log_evidence_any(), _draw_factors_any())


_KNOWN = (MATRIX, VECTOR)  # states (m, size) at coords, new_coords; both increase


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_matern32(kind, period, given, lengthscale, coords, states, new_coords, out, rng):
    matern32.draw_between(lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_markov(kind, period, given, lengthscale, coords, states, new_coords, out, rng):
    statespace.draw_between(kind, lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_dense(kind, period, given, lengthscale, coords, states, new_coords, out, rng):
    dense.draw_between(kind, period, given, lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_matern32(kind, period, given, lengthscale, coords, states, new_coords, means, variances):
    matern32.moments_between(lengthscale, coords, states, new_coords, means, variances)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_markov(kind, period, given, lengthscale, coords, states, new_coords, means, variances):
    statespace.moments_between(kind, lengthscale, coords, states, new_coords, means, variances)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_dense(kind, period, given, lengthscale, coords, states, new_coords, means, variances):
    dense.moments_between(kind, period, given, lengthscale, coords, states, new_coords, means, variances)


class Between(NamedTuple):
    """What can be asked of a factor between the points where it is known, as pointers."""

    draw: Any  # (kind, period, given, lengthscale, coords, states, new_coords, out, rng); writes a joint draw
    moments: Any  # (…, new_coords, means, variances); writes each point's own mean and variance


def between(kind: int) -> Between:
    """The operations between known points for an axis of this kind."""
    if kind == MATERN32:
        return Between(_draw_between_matern32(), _moments_between_matern32())
    if kind <= MATERN52:
        return Between(_draw_between_markov(), _moments_between_markov())
    return Between(_draw_between_dense(), _moments_between_dense())


@kernel
def draw_all_between(draw, kind, period, given, lengthscales, coords, states, new_coords, out, first, last, rng):
    """Write states at new_coords for draws first ≤ k < last, given states (K, R, m, size) at coords, into out.

    A length-scale that is not a number marks a component that is not active here: its factor is 1.
    """
    for k in range(first, last):
        for r in range(states.shape[1]):
            if np.isnan(lengthscales[k, r]):
                for j in range(new_coords.size):
                    out[k, r, j, 0] = 1.0
            else:
                draw(kind, period, given, lengthscales[k, r], coords, states[k, r], new_coords, out[k, r], rng)


@kernel
def all_moments_between(moments, kind, period, given, lengthscales, coords, states, new_coords, means, variances):
    """Write mean and variance (K, R, u) of the factors at each of new_coords given states (K, R, m, size) at coords."""
    for k in range(states.shape[0]):
        for r in range(states.shape[1]):
            if np.isnan(lengthscales[k, r]):
                for j in range(new_coords.size):
                    means[k, r, j] = 1.0
                    variances[k, r, j] = 0.0
            else:
                moments(kind, period, given, lengthscales[k, r], coords, states[k, r], new_coords, means[k, r], variances[k, r])

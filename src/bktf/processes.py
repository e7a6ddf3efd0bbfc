"""The operations on one axis, whichever kernel it has: log evidence, factor draw, draws and moments in between.

Matérn kinds are numbered by the size of their state; every other kind takes the dense path.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf import dense, matern32, statespace
from bktf._jit import CUBE, FLOAT, GRID, INT, MATRIX, RNG, VECTOR, VOID, kernel, operation

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
    """The two operations the Gibbs sampler needs, for all axes of a problem; called through `log_evidence` and `draw_factors`.

    The fast kernel is compiled into the sampler, all others are reached by pointer and compiled only when they are used.
    """

    fast: bool  # every axis is Matérn 3/2 and factors move one at a time
    log_evidence: Any  # pointer: (kind, period, given, lengthscale, coords, directions, precisions, targets) → float
    draw_factors: Any  # pointer: the same and (out, rng)


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


@operation(FLOAT, *_AXIS, *_SEEN)
def _no_log_evidence(kind, period, given, lengthscale, coords, directions, precisions, targets):
    return 0.0


@operation(VOID, *_AXIS, *_SEEN, CUBE, RNG)
def _no_draw_factors(kind, period, given, lengthscale, coords, directions, precisions, targets, out, rng):
    pass


def operations(kinds: NDArray[np.int64], shared: bool) -> Operations:
    """The operations for axes of these kinds, with length-scales of their own or shared."""
    if np.all(kinds == MATERN32) and not shared:
        return Operations(True, _no_log_evidence(), _no_draw_factors())
    return Operations(False, _log_evidence_any(), _draw_factors_any())


class AxisView(NamedTuple):
    """One axis as the operations see it."""

    kind: int
    period: float
    given: Floats  # (·, ·) covariance matrix given by the user, if any
    coords: Floats  # (m,) observed coordinates
    gaps: Floats  # (G,) the different gaps between them
    steps: NDArray[np.int64]  # (m,) which gap lies before each


class Seen(NamedTuple):
    """What the data say about the q factors of one axis (see `statespace`), and room for the operations on it."""

    directions: Floats  # (m, q, q)
    precisions: Floats  # (m, q)
    targets: Floats  # (m, q)
    table: Floats  # (G, 6): see `matern32`
    kept: Floats  # (m, 5)


@kernel
def make_seen(axis, q):
    """Pseudo-observations of q factors that say nothing yet."""
    m = axis.coords.size
    return Seen(
        np.zeros((m, q, q)), np.zeros((m, q)), np.zeros((m, q)), np.empty((axis.gaps.size, matern32.COLUMNS)), np.empty((m, matern32.MOMENTS))
    )


@kernel
def log_evidence(operations, axis, lengthscale, seen, needed):
    """Log evidence of the pseudo-observations with the factors integrated out; leaves in seen what a draw goes on from.

    Where it is certain to end below `needed`, −∞ may be returned instead.
    """
    if operations.fast:
        m = axis.coords.size
        return matern32.log_evidence(
            lengthscale, axis.gaps, axis.steps, seen.precisions.reshape(m), seen.targets.reshape(m), needed, seen.table, seen.kept
        )
    return operations.log_evidence(
        axis.kind, axis.period, axis.given, lengthscale, axis.coords, seen.directions, seen.precisions, seen.targets
    )


@kernel
def draw_factors(operations, axis, lengthscale, seen, out, rng):
    """Write a joint posterior draw of the factors' states into out (q, m, ≥ state size).

    The last call of `log_evidence` with this seen must have been at the same length-scale.
    """
    if operations.fast:
        matern32.draw_factor(axis.steps, seen.table, seen.kept, out[0], 0, rng)
    else:
        operations.draw_factors(
            axis.kind, axis.period, axis.given, lengthscale, axis.coords, seen.directions, seen.precisions, seen.targets, out, rng
        )


_KNOWN = (MATRIX, VECTOR, VECTOR, GRID)  # states (m, size) at coords, new_coords, and how they lie: gaps, places of `bridges.Plan`


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_matern32(kind, period, given, lengthscale, coords, states, new_coords, gaps, places, out, rng):
    matern32.draw_between(lengthscale, states, gaps, places, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_markov(kind, period, given, lengthscale, coords, states, new_coords, gaps, places, out, rng):
    statespace.draw_between(kind, lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, MATRIX, RNG)
def _draw_between_dense(kind, period, given, lengthscale, coords, states, new_coords, gaps, places, out, rng):
    dense.draw_between(kind, period, given, lengthscale, coords, states, new_coords, out, rng)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_matern32(kind, period, given, lengthscale, coords, states, new_coords, gaps, places, means, variances):
    matern32.moments_between(lengthscale, states, gaps, places, means, variances)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_markov(kind, period, given, lengthscale, coords, states, new_coords, gaps, places, means, variances):
    statespace.moments_between(kind, lengthscale, coords, states, new_coords, means, variances)


@operation(VOID, *_AXIS, *_KNOWN, VECTOR, VECTOR)
def _moments_between_dense(kind, period, given, lengthscale, coords, states, new_coords, gaps, places, means, variances):
    dense.moments_between(kind, period, given, lengthscale, coords, states, new_coords, means, variances)


class Between(NamedTuple):
    """What can be asked of a factor between the points where it is known, as pointers."""

    draw: Any  # (kind, period, given, lengthscale, coords, states, new_coords, gaps, places, out, rng); writes a joint draw
    moments: Any  # (…, gaps, places, means, variances); writes each point's own mean and variance


def between(kind: int) -> Between:
    """The operations between known points for an axis of this kind."""
    if kind == MATERN32:
        return Between(_draw_between_matern32(), _moments_between_matern32())
    if kind <= MATERN52:
        return Between(_draw_between_markov(), _moments_between_markov())
    return Between(_draw_between_dense(), _moments_between_dense())


@kernel
def draw_all_between(draw, kind, period, given, lengthscales, coords, states, new_coords, gaps, places, out, first, last, rng):
    """Write states at new_coords for draws first ≤ k < last, given states (K, R, m, size) at coords, into out.

    A length-scale that is not a number marks a component that is not active here: its factor is 1.
    """
    for k in range(first, last):
        for r in range(states.shape[1]):
            if np.isnan(lengthscales[k, r]):
                for j in range(new_coords.size):
                    out[k, r, j, 0] = 1.0
            else:
                draw(kind, period, given, lengthscales[k, r], coords, states[k, r], new_coords, gaps, places, out[k, r], rng)


@kernel
def all_moments_between(moments, kind, period, given, lengthscales, coords, states, new_coords, gaps, places, means, variances):
    """Write mean and variance (K, R, u) of the factors at each of new_coords given states (K, R, m, size) at coords."""
    for k in range(states.shape[0]):
        for r in range(states.shape[1]):
            if np.isnan(lengthscales[k, r]):
                for j in range(new_coords.size):
                    means[k, r, j] = 1.0
                    variances[k, r, j] = 0.0
            else:
                moments(
                    kind, period, given, lengthscales[k, r], coords, states[k, r], new_coords, gaps, places, means[k, r], variances[k, r]
                )

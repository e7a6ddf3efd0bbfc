"""Expected improvement at points, beyond pending points where there are some."""

import numpy as np

from bktf._typing import Floats
from bktf.acquisition import Draws, expected_excess, improvement_beyond

PENDING_STREAM = 4  # spawn key of the fit's seed
BLOCK = 100  # points whose covariances with pending points are found together


def improvement_at(draws: Draws, seed: int, points: Floats, pending: Floats, best: float) -> Floats:
    """E max(f − best, 0) at points (n, D), (n,), all in the model's units.

    With pending points (p, D), improvement counts only beyond them. In the model's units, because
    squares of values near 1e±300 are no numbers.
    """
    mean, variance = draws.moments_by_draw(points)
    alone: Floats = expected_excess(mean - best, np.sqrt(variance)).mean(axis=0)
    if not len(pending):
        return alone
    starts = range(0, len(points), BLOCK)
    found = [_beyond(draws, seed, points[i : i + BLOCK], pending, best) for i in starts]
    # Pending points never add improvement; the Monte-Carlo error alone could.
    return np.minimum(np.concatenate((np.empty(0), *found)), alone)


def _beyond(draws: Draws, seed: int, points: Floats, pending: Floats, best: float) -> Floats:
    """The same from joint draws of points and pending points."""
    together = np.concatenate((pending, points))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PENDING_STREAM,)))
    mean = draws.moments_by_draw(together).mean
    covariance = draws.covariances_by_draw(together)
    return np.asarray(improvement_beyond(mean, covariance, len(pending), best, rng))

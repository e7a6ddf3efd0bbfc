"""Local turns: in long studies every second suggestion stays near the best point.

EI over the whole box goes where the model knows least. After some hundred trials a model has its
best points in a small part of the box, and outside there is always more that it does not know. So
EI keeps exploring, and the best point is hardly improved. On a local turn the same EI is maximised
inside a box around the best point, as trust-region methods do. Its widths follow the length-scales:
an axis along which the function changes slowly has a wide range. The size of the box alternates.

Which turn it is depends on the number of the trial alone. docs/model_choices.md has the
measurements.
"""

import math

import numpy as np

from bktf._typing import Floats
from bktf.spaces import INACTIVE
from bktf.surrogate import Posterior

LOCAL_POINTS = 100  # observations from which on there are local turns
LOCAL_PERIOD = 2  # suggestions of which one is local
HALF_WIDTHS = (0.1, 0.025)  # of the box, by turns, as shares of an axis of medium length-scale
MAX_HALF_WIDTH, MIN_HALF_WIDTH = 0.5, 0.005
N_COMPARED = 20  # best observations, among which the one with the best posterior mean is the centre


def local_region(posterior: Posterior, number: int) -> Floats | None:
    """The box of suggestion `number`, (2, D) in the user's units; None on a turn without one."""
    is_local = len(posterior.y) >= LOCAL_POINTS and number % LOCAL_PERIOD != 0
    if not is_local or posterior.rank < math.inf:
        return None
    process = posterior.draws.process
    assert process is not None
    on_levels = process.axis_levels
    if on_levels.all():
        return None
    best_first = np.argsort(-posterior.y, kind="stable")[:N_COMPARED]
    candidates = posterior.X[best_first]
    centre = candidates[int(posterior.mean(candidates).argmax())]
    log_lengths = process.axis_logs.mean(axis=0)
    relative = np.exp(log_lengths - log_lengths[~on_levels].mean())
    size = HALF_WIDTHS[number // LOCAL_PERIOD % len(HALF_WIDTHS)]
    half_widths = np.clip(size * relative, MIN_HALF_WIDTH, MAX_HALF_WIDTH)
    region = np.repeat(centre[None], 2, axis=0)
    for d, axis in enumerate(posterior.grid):
        if not on_levels[d] and centre[d] != INACTIVE:
            scaled = axis.scale(centre[d : d + 1]) + half_widths[d] * np.array([-1.0, 1.0])
            region[:, d] = axis.unscale(np.clip(scaled, 0.0, 1.0))
    return region

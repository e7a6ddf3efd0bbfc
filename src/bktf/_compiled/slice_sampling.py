"""One univariate slice update of a log length-scale: an interval of fixed width, shrinkage only (Neal 2003, figures 3 and 5).

The caller owns the loop, because it owns the evidence:

    x, level, left, right = open_slice(current, log_evidence(current), log_mean, log_var, rng)
    for _ in range(MAX_SHRINKS):
        proposal, needed = propose(left, right, level, log_mean, log_var, rng)
        if log_evidence(exp(proposal)) > needed: return exp(proposal)
        left, right = shrink(left, right, x, proposal)
    return current

Paper: the length-scale update of the appendix. Differs: D2.
"""

import math

from bktf._compiled.numba_options import compiled

SLICE_WIDTH = math.log(10.0)
LOG_LENGTHSCALE_LOW = math.log(1e-3)
LOG_LENGTHSCALE_HIGH = math.log(1e3)
MAX_SHRINKS = 100  # the bracket is then 1e-12 of its width or less: the update keeps the current value


@compiled
def open_slice(current, log_evidence, log_mean, log_var, rng):
    """The current log length-scale, the level of the slice, and an interval placed at random around it, cut to the bounds."""
    x = math.log(current)
    off = x - log_mean
    level = log_evidence - 0.5 * off * off / log_var + math.log(1.0 - rng.random())
    left = x - SLICE_WIDTH * rng.random()
    return x, level, max(left, LOG_LENGTHSCALE_LOW), min(left + SLICE_WIDTH, LOG_LENGTHSCALE_HIGH)


@compiled
def propose(left, right, level, log_mean, log_var, rng):
    """A log length-scale from the interval, and the log evidence that puts it on the slice."""
    proposal = left + (right - left) * rng.random()
    off = proposal - log_mean
    return proposal, level + 0.5 * off * off / log_var


@compiled
def shrink(left, right, x, rejected):
    """Cut the interval at a rejected proposal, keeping x inside."""
    if rejected < x:
        return rejected, right
    return left, rejected

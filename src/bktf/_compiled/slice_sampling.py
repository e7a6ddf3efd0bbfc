"""One univariate slice update of a log length-scale.

The interval has a fixed width and is only shrunk (Neal 2003, figures 3 and 5). The loop is the
caller's, because the evidence differs between kernels:

    x, level, left, right = open_slice(current, log_evidence(current), log_mean, log_var, rng)
    for _ in range(MAX_SHRINKS):
        proposal, threshold = propose(left, right, level, log_mean, log_var, rng)
        if log_evidence(exp(proposal)) > threshold: return exp(proposal)
        left, right = shrink(left, right, x, proposal)
    return current

Paper: the length-scale update of the appendix. Differs: D2.
"""

import math

from bktf._compiled.numba_options import compiled

SLICE_WIDTH = math.log(10.0)
LOG_LENGTHSCALE_LOW = math.log(1e-3)
LOG_LENGTHSCALE_HIGH = math.log(1e3)
MAX_SHRINKS = 100  # the interval is then below 1e-12 of its width; the current value stays


@compiled
def open_slice(current, log_evidence, log_mean, log_var, rng):
    """The current log length-scale, the log level of the slice, and the ends of the interval.

    The interval is placed at random around the current value and clipped to the bounds.
    """
    x = math.log(current)
    deviation = x - log_mean
    level = log_evidence - 0.5 * deviation * deviation / log_var + math.log(1.0 - rng.random())
    left = x - SLICE_WIDTH * rng.random()
    return x, level, max(left, LOG_LENGTHSCALE_LOW), min(left + SLICE_WIDTH, LOG_LENGTHSCALE_HIGH)


@compiled
def propose(left, right, level, log_mean, log_var, rng):
    """A log length-scale from the interval, and the log evidence that it must exceed."""
    proposal = left + (right - left) * rng.random()
    deviation = proposal - log_mean
    return proposal, level + 0.5 * deviation * deviation / log_var


@compiled
def shrink(left, right, x, rejected):
    """Shrink the interval to a rejected proposal; x stays inside."""
    if rejected < x:
        return rejected, right
    return left, rejected

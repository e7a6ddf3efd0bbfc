"""One univariate slice update with an interval of fixed width and shrinkage only (Neal 2003, figures 3 and 5).

The caller owns the loop, because it owns the density:

    left, right = bracket(x, width, low, high, rng)
    level = log_density(x) + log_uniform(rng)
    for _ in range(MAX_SHRINKS):
        proposal = left + (right - left) * rng.random()
        if log_density(proposal) > level: return proposal
        left, right = shrink(left, right, x, proposal)

Paper: the length-scale update of the appendix. Differs: D2.
"""

import math

from bktf._jit import kernel

SLICE_WIDTH = math.log(10.0)  # of the interval on log l
LOG_LENGTHSCALE_LOW = math.log(1e-3)
LOG_LENGTHSCALE_HIGH = math.log(1e3)
MAX_SHRINKS = 100  # the bracket is then 1e-12 of its width or less: the update keeps the current value


@kernel
def bracket(x, width, low, high, rng):
    """An interval of the given width placed at random around x, cut to [low, high]."""
    left = x - width * rng.random()
    return max(left, low), min(left + width, high)


@kernel
def log_uniform(rng):
    """The logarithm of a uniform draw, never log 0."""
    return math.log(1.0 - rng.random())


@kernel
def shrink(left, right, x, rejected):
    """Cut the bracket at a rejected proposal, keeping x inside."""
    if rejected < x:
        return rejected, right
    return left, rejected
